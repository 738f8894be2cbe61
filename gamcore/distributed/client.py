"""A connection to a Dask cluster: it starts tasks, waits for them, and says in a sentence what went wrong."""

from __future__ import annotations

import asyncio
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from typing import Any, Final

from gamcore.common.extras import extra
from gamcore.common.version import __version__
from gamcore.distributed.crew import StoppedError, Tell

POLL_SECONDS: Final = 0.5
"""Seconds between two looks at whether there still are workers."""

GRACE_SECONDS: Final = 15.0
"""Seconds without any worker before a fit ends: a lost one may be replaced."""

ANSWER_SECONDS: Final = 30.0
"""Seconds that the scheduler has to answer a question; a worker may first have to import the library."""

UNLIMITED: Final = 2.0**33
"""Bytes that a worker counts as having where it has no limit."""


NO_ANSWER: Final = "The cluster does not answer: see that its scheduler runs, then try again."
NO_SCHEDULER: Final = "The cluster's scheduler is gone, or has dropped the work: see that it runs, then train again."
NO_WORKERS: Final = "All workers of the cluster are gone: start some again, then train again."


class ClusterError(RuntimeError):
    """A cluster that does not do its work; the message says what to do."""


class Connection:
    """A Dask client, and the tasks that were started through it."""

    def __init__(self, client: Any) -> None:
        with extra("cluster"):
            import distributed
        self._distributed: Any = distributed
        self.client = client
        self._started: list[weakref.ref[Any]] = []  # a result is kept as long as somebody holds its future
        self._alone_since: float | None = None
        self._is_answered = False  # by the scheduler, since there were workers
        self._looked = 0.0
        self._check_versions()

    def _check_versions(self) -> None:
        """Raise ClusterError where workers cannot run our tasks: without this version of the library."""
        here = _version()
        try:
            there = self.client.run(_version, on_error="return", callback_timeout=ANSWER_SECONDS)
        except TimeoutError as error:  # it was connected to, and hangs
            raise ClusterError(NO_ANSWER) from error
        except OSError as error:
            raise ClusterError(f"The cluster does not answer ({error}): check that its scheduler runs.") from error
        if not there:
            raise ClusterError("The cluster has no workers: start some, then try again.")
        for worker, version in there.items():
            if version != here:
                raise ClusterError(
                    f"The worker {worker} has shapewise {version}, and this process {here}: install the same on both."
                )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task, and return its future."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # frames that were given as they are
            return self._noted(self.client.submit(function, *arguments, pure=False))

    def _noted(self, future: Any) -> Any:
        self._started.append(weakref.ref(future))
        return future

    def shared(self, value: Any) -> Any:
        """Return a future of a value that many tasks need: each worker gets it once, and again if it was lost."""
        return self.submit(_same, value)

    def compute(self, delayed: list[Any]) -> list[Any]:
        """Start what is delayed, and return its futures."""
        return [self._noted(future) for future in self.client.compute(delayed)]

    def finish(self, futures: Sequence[Any], tell: Tell | None = None) -> list[Any]:
        """Return the results of tasks; raise the first error, or ClusterError where nobody is left to do them."""
        waiting = list(futures)
        while waiting:
            self.check_alive()
            self._wait(waiting)
            for future in waiting:
                if future.done() and future.status != "finished":
                    self.raise_for(future)
            waiting = [future for future in waiting if not future.done()]
            if tell and tell(len(futures) - len(waiting), len(futures)):
                raise StoppedError
        return self._results(futures)

    def ready(self, futures: Sequence[Any]) -> list[Any]:
        """Wait until some tasks are done, and return them; errors are raised as by `finish`."""
        while True:
            done = [future for future in futures if future.done()]
            for future in done:
                if future.status != "finished":
                    self.raise_for(future)
            if done:
                return done
            self.check_alive()
            self._wait(list(futures))

    def _wait(self, futures: list[Any]) -> None:
        """Wait until one more task is done, but not for long."""
        try:
            with self.client.as_current():  # it need not be the program's usual one
                self._distributed.wait(futures, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        except self._distributed.CancelledError:
            pass  # raised again where the future is looked at

    def _results(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks that were done; they are made again if their worker was lost since.

        They are asked for once, however long that takes: asking again would have them sent again.
        """

        async def gather() -> list[Any]:
            return list(await self.client.gather(list(futures), asynchronous=True))

        gathering = asyncio.run_coroutine_threadsafe(gather(), self.client.loop.asyncio_loop)
        try:
            while not gathering.done():
                wait([gathering], POLL_SECONDS)
                self.check_alive()
            return gathering.result()
        except self._distributed.CancelledError as error:
            raise ClusterError(NO_SCHEDULER) from error
        except self._distributed.KilledWorker as error:
            raise ClusterError(_lost(error)) from error
        finally:
            gathering.cancel()

    def raise_for(self, future: Any) -> None:
        """Raise what ended a task."""
        if future.status in ("cancelled", "lost"):
            raise ClusterError(NO_SCHEDULER)
        error = future.exception()
        if isinstance(error, self._distributed.KilledWorker):
            raise ClusterError(_lost(error)) from error
        if isinstance(error, MemoryError):
            raise ClusterError("A worker ran out of memory: make the pieces of the table smaller.") from error
        raise error

    def check_alive(self) -> None:
        """Raise ClusterError where the scheduler, or all workers, have been gone for a while."""
        now = time.monotonic()
        if now - self._looked < POLL_SECONDS:
            return
        self._looked = now
        there = self._answered()
        if there:
            self._alone_since, self._is_answered = None, False
            return
        self._is_answered |= there is not None  # a scheduler that has just lost its workers may be slow to say so
        self._alone_since = self._alone_since or now
        if now - self._alone_since > GRACE_SECONDS:
            raise ClusterError(NO_WORKERS if self._is_answered else NO_SCHEDULER)

    @property
    def is_connected(self) -> bool:
        """Whether the scheduler answers, as far as is known."""
        return bool(self.client.status == "running")

    def threads(self) -> dict[str, int]:
        """Return the threads of each worker; none where nobody answers."""
        return self._answered() or {}

    def _answered(self) -> dict[str, int] | None:
        """Return the threads of each worker; None where the scheduler does not answer, also before that is known."""
        if not self.is_connected:
            return None
        try:
            return dict(self.client.sync(self.client.scheduler.ncores, callback_timeout=GRACE_SECONDS))
        except (OSError, TimeoutError):
            return None

    def workers(self) -> list[tuple[int, float]]:
        """Return the threads and the bytes of memory of each worker; ClusterError where there is none for a while."""
        end = time.monotonic() + GRACE_SECONDS
        while not (known := self._asked(self.client.scheduler.identity, n_workers=-1)["workers"]):
            if time.monotonic() > end:
                raise ClusterError(NO_WORKERS if self.is_connected else NO_SCHEDULER)
            time.sleep(POLL_SECONDS)
        return [(int(worker["nthreads"]), float(worker["memory_limit"] or UNLIMITED)) for worker in known.values()]

    def who_has(self, futures: Sequence[Any]) -> dict[Any, Sequence[str]]:
        """Return the workers that have each result; ClusterError where the scheduler does not answer."""
        held: dict[Any, Sequence[str]] = self._asked(
            self.client.scheduler.who_has, keys=list({future.key for future in futures})
        )
        return held

    def _asked(self, question: Callable[..., Any], **arguments: Any) -> Any:
        """Return what the scheduler answers; ClusterError where it does not: Dask would wait for ever."""
        try:
            return self.client.sync(question, **arguments, callback_timeout=ANSWER_SECONDS)
        except (OSError, TimeoutError) as error:
            raise ClusterError(NO_ANSWER) from error

    def stop(self, name: str) -> None:
        """Set an event that tasks look at, if there still is a scheduler."""
        if self.is_connected:
            with suppress(OSError, TimeoutError):
                self.client.sync(self.client.scheduler.event_set, name=name, callback_timeout=GRACE_SECONDS)

    def listen(self, name: str, hear: Callable[[Any], None]) -> None:
        """Call `hear` with each message of a topic."""
        self.client.subscribe_topic(name, lambda logged: hear(logged[1]))

    def leave(self, name: str) -> None:
        """No longer hear of a topic."""
        if self.is_connected:
            self.client.unsubscribe_topic(name)

    def close(self) -> None:
        """Let go of all results; what nobody waits for is dropped, or ends when it looks whether to stop.

        Nothing is cancelled: told to cancel a task and those that depend on it, the scheduler of Dask 2026.8 fails.
        """
        for reference in self._started:
            if (future := reference()) is not None:
                future.release()
        self._started.clear()


def _lost(error: Any) -> str:
    return (
        f"{error.allowed_failures + 1} workers were lost at the same piece of work: give them more memory, or make the "
        "pieces of the table smaller."
    )


def _same(value: Any) -> Any:
    return value


def _version() -> str:
    return __version__
