"""Refits on the workers of a cluster: a task each, on the rows that its share takes from every part.

Rounds are told through the scheduler's log of events, and a stop through an event that tasks look at now and then.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np

from gamcore.boosting.refit.loop import THREADED_ROWS
from gamcore.boosting.rows.share import RowsOfRefit, rows_in
from gamcore.boosting.rows.sums import PartInMemory
from gamcore.boosting.running.executor import Task, run_task
from gamcore.boosting.running.progress import Callback, Progress, Relay
from gamcore.data.sampling import BucketRun
from gamcore.distributed.client import Connection

Made = TypeVar("Made")

TELL_SECONDS: Final = 0.2
"""Least time between two messages of a refit."""

LOOK_SECONDS: Final = 1.0
"""Time between two looks at whether to stop; each is a round trip to the scheduler."""

LET_GO: Final = "cancelled"
"""State of a task that runs although nobody waits for it any more, as when its driver was killed."""


@dataclass(frozen=True)
class RemotePart:
    """Coded rows that a worker has. future : of a `PartInMemory`."""

    future: Any


def refit_all(
    connection: Connection, tasks: Sequence[Any], n_rows: int, callback: Callback | None, about: dict[str, Any]
) -> list[Any]:
    """Run refits, and return their results in order; see `boosting.loop.run_all`."""
    relay, name = Relay(callback, len(tasks), about), f"shapewise-{uuid.uuid4().hex}"
    heard: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
    if callback:
        connection.listen(name, lambda message: heard.put(tuple(message)))
    threads = sum(connection.threads().values())
    inside = max(1, threads // len(tasks)) if n_rows >= THREADED_ROWS else 1
    taken: dict[tuple[Any, Any], Any] = {}
    futures = [_start(connection, task, (name, number, inside), taken) for number, task in enumerate(tasks)]

    def tell(done: int, total: int) -> bool:
        with suppress(queue.Empty):
            while True:
                number, fields = heard.get_nowait()
                if relay.tell(number, Progress(**fields)):
                    connection.stop(name)
        return False

    try:
        results = connection.finish(futures, tell)
        tell(0, 0)
        return results
    except BaseException:
        connection.stop(name)
        raise
    finally:
        if callback:
            connection.leave(name)


def is_of_parts(task: Any) -> bool:
    """Return whether a refit learns from rows that workers have."""
    return isinstance(getattr(task.share, "refit_rows", None), RowsOfRefit)


def _start(connection: Connection, task: Any, about: tuple[str, int, int], taken: dict[tuple[Any, Any], Any]) -> Any:
    """Start a refit: its share's rows come from the parts, taken where these are. taken : what was so far."""
    rows, parts = task.share.refit_rows, []
    for remote in rows.parts:
        key = remote.future.key, rows.run
        if key not in taken:
            taken[key] = remote.future if rows.run is None else connection.submit(_take, rows.run, remote.future)
        parts.append(taken[key])
    return connection.submit(_run_on, _with_parts(task, ()), about, *parts)  # its rows are the other arguments


def _take(run: BucketRun, part: PartInMemory) -> PartInMemory:
    """Return the rows of a part that are in a run of buckets."""
    rows = rows_in(part, run)
    given = part._asdict().items()
    columns = {name: values if values is None or name == "codes" else values[rows] for name, values in given}
    return PartInMemory(**columns | {"codes": np.ascontiguousarray(part.codes[:, rows])})


def _run_on(task: Any, about: tuple[str, int, int], *parts: PartInMemory) -> Any:
    return _run(_with_parts(task, parts), about)


def _with_parts(task: Any, parts: Sequence[Any]) -> Any:
    """Return a refit with the same rows of other parts."""
    return replace(task, share=replace(task.share, refit_rows=replace(task.share.refit_rows, parts=parts)))


def _run(task: Task[Made], about: tuple[str, int, int]) -> Made:
    """Run a refit on a worker. about : the name of topic and event, the number of the refit, its threads."""
    name, number, n_threads = about
    return run_task(task, _Teller(name, number), n_threads)


class _Teller:
    """Tells of a refit's rounds, and looks whether it is to stop."""

    def __init__(self, name: str, number: int) -> None:
        import distributed

        library: Any = distributed
        self._worker, self._event, self._name, self._number = library.get_worker(), library.Event(name), name, number
        self._task = self._worker.state.tasks.get(self._worker.get_current_task())
        self._told, self._looked = -TELL_SECONDS, time.monotonic()  # the first round is told at once
        self._stop = False

    def __call__(self, progress: Progress) -> bool:
        now = time.monotonic()
        if now - self._told > TELL_SECONDS:
            self._worker.log_event(self._name, (self._number, asdict(progress)))
            self._told = now
        if now - self._looked > LOOK_SECONDS:
            let_go = self._task is not None and self._task.state == LET_GO
            self._stop = self._stop or let_go or bool(self._event.is_set())
            self._looked = now
        return self._stop
