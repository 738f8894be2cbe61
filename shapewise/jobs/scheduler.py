"""Start and watch jobs, in a thread of the server that runs while there is something to start or watch.

Several servers may serve one workspace: each claims jobs in a transaction that counts the running ones, so that no job
is started twice and no slot is filled twice. A server watches the workers that it started itself.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import psutil
import sqlalchemy as sa

from shapewise import processes
from shapewise.access.quotas import Limits
from shapewise.errors import GoneError
from shapewise.jobs import process as child
from shapewise.store.atomic_files import read_json
from shapewise.store.database import job
from shapewise.store.process_names import is_alive, own_name
from shapewise.store.workspace import Workspace

log = logging.getLogger(__name__)
TICK: Final = 0.2
RECOVER_SECONDS: Final = 5.0
MODULES: Final = {"runs": "shapewise.workers.train", "packs": "shapewise.workers.files"}


def _here() -> str:
    """Return a name for this process that no other process of any machine has."""
    return f"{socket.gethostname()}:{own_name()}"


def _is_gone(server: str, alone: bool) -> bool:
    """Return whether a server has ended; servers on other machines count as alive.

    alone : whether all servers are on this machine, as with an embedded database. A different host name is then that of
    an earlier container, which has ended."""
    host, _, name = server.partition(":")
    return not is_alive(name) if host == socket.gethostname() else alone


class Keeper:
    """Starts and watches one workspace's jobs from this process."""

    def __init__(self, space: Workspace) -> None:
        self._space = space
        self._limits: Limits = space.limits
        self._own: dict[str, subprocess.Popen[bytes]] = {}
        self._began: dict[str, float] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._recovered = -RECOVER_SECONDS

    def wake(self) -> None:
        """Start what can be started now, and keep watching while jobs are queued or running."""
        with self._lock:
            busy = self._try(self._step)
            if busy and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._watch, daemon=True, name=f"keeper-{self._space.root.name}")
                self._thread.start()

    def _watch(self) -> None:
        while True:
            time.sleep(TICK)
            with self._lock:
                if not (self._space.root.is_dir() and self._try(self._step)):
                    self._thread = None
                    return

    def _try(self, act: Callable[[], bool | None]) -> bool:
        """Call `act`; return whether to call again. True after a failure: busy records or a full disk may recover."""
        try:
            return bool(act())
        except GoneError as error:
            log.error("The jobs of %s are not looked after any more: %s", self._space.root, error)
            return False
        except Exception:
            log.exception("The jobs of %s could not be looked after", self._space.root)
            time.sleep(TICK)
            return True

    def _step(self) -> bool:
        """Check workers, then start queued jobs; return whether jobs are left to start or watch."""
        for identifier, process in list(self._own.items()):
            if process.poll() is None:
                self._try(partial(self._look_at, identifier, process))
            if process.poll() is not None:
                self._try(partial(self._end, identifier))
        if time.monotonic() - self._recovered >= RECOVER_SECONDS:
            self._recovered = time.monotonic()
            self._recover()
        while (claimed := self._claim()) is not None:
            self._start(claimed)
        with self._space.meta.reading() as connection:
            waits = sa.select(sa.func.count()).where(job.c.state == "queued")
            return bool(self._own) or int(connection.execute(waits).scalar_one()) > 0

    def _claim(self) -> str | None:
        """Claim the first queued job that may start; return its id, None if there is none."""
        with self._space.meta.reading() as connection:  # the queue is usually empty: do not wait for writers then
            if connection.execute(sa.select(job.c.id).where(job.c.state == "queued").limit(1)).first() is None:
                return None
        with self._space.meta.writing() as connection:
            running: dict[str, int] = {}
            for owner in connection.execute(sa.select(job.c.owner).where(job.c.state == "running")).scalars():
                running[owner] = running.get(owner, 0) + 1
            if self._limits.slots and sum(running.values()) >= self._limits.slots:
                return None
            waiting = sa.select(job.c.id, job.c.owner).where(job.c.state == "queued").order_by(job.c.created, job.c.id)
            for identifier, owner in connection.execute(waiting).all():
                if self._limits.slots_each and running.get(owner, 0) >= self._limits.slots_each:
                    continue
                taken = sa.update(job).where(job.c.id == identifier).values(state="running", server=_here())
                connection.execute(taken)
                return str(identifier)
        return None

    def _folder(self, identifier: str) -> Path:
        return self._space.root / "jobs" / identifier

    def _start(self, identifier: str) -> None:
        folder = self._folder(identifier)
        try:
            record = read_json(folder / "about.json")
            self._own[identifier] = child.begin(folder, MODULES[record["kind"]], self._limits)
            self._began[identifier] = time.monotonic()
        except (OSError, ValueError, KeyError, psutil.Error) as error:
            log.exception("Job %s could not be started", identifier)
            try:
                child.write_end(folder, {"state": "failed", "message": f"The work could not be started ({error})."})
            finally:  # its slot is free even where the disk is full
                self._set_ended(identifier)

    def _look_at(self, identifier: str, process: subprocess.Popen[bytes]) -> None:
        """Stop a worker that uses more memory or time than a job may."""
        most, seconds = self._limits.memory, self._limits.seconds
        if most and processes.resident(process.pid) > most:
            self._kill(identifier, process, f"The work used more than the {most / 1e9:.1f} GB of memory that a job may "
                       "use here: use fewer rows, features or pairs.")  # fmt: skip
        elif seconds and time.monotonic() - self._began[identifier] > seconds:
            self._kill(identifier, process, f"The work took more than the {seconds / 3600:.1f} hours that a job may "
                       "take here: use fewer rows or features, or a faster preset.")  # fmt: skip

    def _kill(self, identifier: str, process: subprocess.Popen[bytes], message: str) -> None:
        log.warning("Job %s is stopped: %s", identifier, message)
        folder = self._folder(identifier)
        model = read_json(folder / "model.json") if (folder / "model.json").is_file() else {}
        child.write_end(folder, {"state": "failed", "message": message} | model)  # else nobody would learn why it died
        process.kill()
        process.wait()

    def _end(self, identifier: str) -> None:
        folder = self._folder(identifier)
        self._set_ended(identifier)
        del self._own[identifier], self._began[identifier]
        if folder.is_dir():  # last, as this may fail on a full disk, and other jobs must go on
            child.write_end(folder, child.end_of(folder))

    def _set_ended(self, identifier: str) -> None:
        with self._space.meta.writing() as connection:
            connection.execute(sa.update(job).where(job.c.id == identifier).values(state="ended"))

    def _recover(self) -> None:
        """End jobs that were running when their server went away."""
        with self._space.meta.reading() as connection:
            rows = connection.execute(sa.select(job.c.id, job.c.server).where(job.c.state == "running")).all()
        for identifier, server in rows:
            folder = self._folder(identifier)
            gone = server == _here() or _is_gone(server, self._space.meta.embedded)
            if identifier in self._own or not gone:
                continue
            if folder.is_dir() and child.process_of(folder) is not None:
                continue  # it will notice that its server is gone and exit
            child.write_end(folder, {"state": "interrupted", "message": child.ORPHANED})
            self._set_ended(identifier)


_keepers: dict[str, Keeper] = {}
_lock = threading.Lock()


def keeper(space: Workspace) -> Keeper:
    """Return the keeper of a workspace in this process."""
    with _lock:
        return _keepers.setdefault(str(space.root.resolve()), Keeper(space))


def look_again(space: Workspace) -> None:
    """Start what can be started now if this process looks after the workspace's jobs: one that only reads them, such as
    a script, would start them with its own settings."""
    with _lock:
        own = _keepers.get(str(space.root.resolve()))
    if own is not None:
        own.wake()


def forget(root: Path) -> None:
    """Stop managing a workspace's jobs; its folder may then be deleted."""
    with _lock:
        _keepers.pop(str(root.resolve()), None)
