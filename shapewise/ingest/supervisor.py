"""Reading of a table in a monitored child process, which is ended if it takes too much memory, time or disk."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from gamcore.common.numbers import count, size
from shapewise import processes
from shapewise.ingest.common import ReaderError, kind_of_name
from shapewise.ingest.writer import Written
from shapewise.store.atomic_files import keep_spare, size_of, write_json

log = logging.getLogger(__name__)
POLL_SECONDS: Final = 0.05
START_SECONDS: Final = 60.0
WAITING: Final = 10
"""Wall time that a child may take, as a multiple of the time it may compute: a busy machine is not the file's fault."""

PROGRAM: Final = processes.READER.format("shapewise.ingest.child")


@dataclass(frozen=True)
class ReadLimits:
    """What reading a file may take.

    memory: bytes of resident memory above what the imports take. Address space is no measure, as imports map far more
        than they use. 2 GiB reads text of 128 MiB and Parquet of a table of 340 MiB whole; larger ones go by batches.
    seconds: time that it computes; ten times as much may pass while it does.
    table: bytes of a table as a DataFrame above which it counts as big and gets a sample.
    disk: bytes of what is stored, 0 for as many as there is room for.
    """

    memory: int = 2 * 2**30
    seconds: float = 3600.0
    table: int = 2 * 2**30
    disk: int = 0


@dataclass(frozen=True)
class Loading(Written):
    """A table that was read, and the changes made on the way."""

    notes: list[str]


def kind_of_file(source: Path, name: str) -> str:
    """Return the suffix that says how to read a file, such as .csv.gz; "folder" for a folder."""
    if source.is_dir():
        return "folder"
    if source.exists() and not source.is_file():  # a pipe or a device would block its reader
        raise ReaderError(f"{name[:60]!r} is not a regular file: choose another.")
    return kind_of_name(name)


def load(
    source: Path,
    name: str,
    into: Path,
    limits: ReadLimits | None = None,
    tell: Callable[[float, str], None] | None = None,
) -> Loading:
    """Read a file, or a folder of Parquet files, into the folder `into` as table.parquet.

    A table above the limits gets sample.parquet beside it: at most 500,000 of its rows, in order. `name` is what the
    user calls the file; only its suffix is used. ReaderError if the file cannot be read or takes too much; `into` is
    then left as it was."""
    return Reading(source, name, into, limits or ReadLimits(), tell or (lambda share, words: None)).finish()


class TableInChild:
    """A table that a child process makes: the child, its reports, and the peak memory seen.

    A kind of it says which program the child runs, with which job, and what people are told of it."""

    doing: ClassVar[str]
    stopped: ClassVar[str]
    repair: ClassVar[str]
    smaller: ClassVar[str]
    fewer: ClassVar[str]
    _stdin: ClassVar[int] = subprocess.DEVNULL

    def __init__(self, into: Path, limits: ReadLimits, tell: Callable[[float, str], None]) -> None:
        self._limits, self._tell, self._into = limits, tell, into
        self._staging = into / f".loading.{secrets.token_hex(4)}.tmp"
        self.base = self.peak = 0  # bytes: when the child was ready, and the peak
        self.seconds = self._began = 0.0  # seconds since it was ready, and when that was
        self._worked = self._before = 0.0  # seconds that it computed, and those before it was ready

    def _program(self) -> str:
        """Return the child's program."""
        raise NotImplementedError

    def _job(self) -> dict[str, Any]:
        """Return what the child is to do, in values of JSON."""
        raise NotImplementedError

    def finish(self) -> Loading:
        """Read to the end; see `load`."""
        is_new = not self._into.exists()
        self._staging.mkdir(parents=True)
        try:
            loading = self._watch(self._begin())
            self._keep()
            return loading
        except BaseException:
            shutil.rmtree(self._into if is_new else self._staging, ignore_errors=True)
            raise

    def _keep(self) -> None:
        for name in ("sample.parquet", "table.parquet"):  # once the table exists, so does its sample
            if (self._staging / name).exists():
                (self._staging / name).replace(self._into / name)
        shutil.rmtree(self._staging)

    def _begin(self) -> subprocess.Popen[bytes]:
        limits = {"memory": self._limits.memory, "table": self._limits.table, "server": os.getpid()}
        write_json(self._staging / processes.ABOUT, self._job() | limits)
        keep_spare(self._staging)
        return processes.launch_reader(self._staging, self._program(), self._stdin)

    def _watch(self, process: subprocess.Popen[bytes]) -> Loading:
        """Watch the child and return what it reports to have written. The child does not outlive this call."""
        self._began, last = time.monotonic(), (0.0, "")
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
                progress, loading = self._hear(process)
                if loading is not None:
                    return loading
                if process.returncode is not None:
                    raise self._crash(process.returncode)
                if progress != last:
                    last = progress
                    self._tell(*last)
                self._check()
        finally:
            self._leave(process)
            process.kill()
            process.wait()

    def _leave(self, process: subprocess.Popen[bytes]) -> None:
        """Let the child end by itself what is not its own, before it is killed."""

    def _hear(self, process: subprocess.Popen[bytes]) -> tuple[tuple[float, str], Loading | None]:
        """Return the child's last report, and its result once it is done.

        An invalid report, as a hostile file may cause, counts as a crash."""
        try:
            progress, end = processes.read_progress(self._staging), processes.read_end(self._staging)
            held = processes.resident(process.pid)  # after the report, whose base is no more than this
            self._worked = max(self._worked, processes.worked(process.pid))
            if progress and not self.base:  # what it held before it began to read, by its own measure
                self.base, self._began = min(int(progress.get("base", held)), held or 2**62), time.monotonic()
                self._before = self._worked
            self.seconds = time.monotonic() - self._began
            self.peak = max(self.peak, held, int(end.get("peak", 0)) if end else 0)
            heard = float(progress.get("share", 0.0)), str(progress.get("words", ""))
            return heard, self._ended(end) if end is not None else None
        except ReaderError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise self._crash(process.returncode or 0) from error

    def _ended(self, end: dict[str, Any]) -> Loading:
        if end["state"] != "done":
            raise ReaderError(str(end["message"]))
        self._check_disk()
        return Loading(**end["table"])

    def _crash(self, code: int) -> ReaderError:
        """Return the error for a child that crashed; the log has the details under the same number."""
        number = secrets.token_hex(4)
        words = processes.tail(self._staging, 20_000)
        log.error("%s failed (error %s, exit code %d): %s", self.doing, number, code, words)
        return ReaderError(f"{self.stopped} (error {number} in the log): {self.repair}")

    def _check(self) -> None:
        if self.base and self.peak - self.base > self._limits.memory:
            raise ReaderError(
                f"{self.doing} took more than {count(self._limits.memory >> 20)} MiB of memory: {self.smaller}"
            )
        self._check_disk()
        allowed = self._limits.seconds if self.base else START_SECONDS
        if self.seconds > WAITING * allowed:
            raise ReaderError(
                f"{self.doing} took more than {count(WAITING * allowed)} seconds, as the server is busy: "
                "try again later."
            )
        if self._worked - self._before > allowed:
            raise ReaderError(f"{self.doing} took more than {count(allowed)} seconds: {self.fewer}")

    def _check_disk(self) -> None:
        files = (path for path in self._staging.iterdir() if path.name not in processes.FILES)
        if self._limits.disk and sum(map(size_of, files)) > self._limits.disk:
            raise ReaderError(
                f"The table needs more than the {size(self._limits.disk)} that you may still keep: delete what "
                "you no longer need, or load fewer rows or columns."
            )


class Reading(TableInChild):
    """A file being read."""

    doing = "Reading the file"
    stopped = "The file could not be read because its reader stopped"
    repair = "save the table again, as CSV in UTF-8 or as Parquet."
    smaller = "save it as Parquet, or keep fewer rows, fewer columns or shorter cells."
    fewer = "load fewer rows or columns."

    def __init__(
        self, source: Path, name: str, into: Path, limits: ReadLimits, tell: Callable[[float, str], None]
    ) -> None:
        super().__init__(into, limits, tell)
        self._kind, self._source = kind_of_file(source, name), source

    def _program(self) -> str:
        return PROGRAM

    def _job(self) -> dict[str, Any]:
        return {"source": str(self._source.resolve()), "kind": self._kind}
