"""The progress of a fit: what each round reports, who receives it, and how a fit is stopped."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

Stage = Literal[
    "reading the table", "choosing features", "counting", "main effects", "ranking", "pairs", "triples", "bands",
    "tuning", "common trees", "specific trees", "comparison",
]  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """Progress of a fit after a round. Losses are means per row; NaN if there are no such rows or it was not measured.

    Rounds are reported in batches, when a batch is done: `term` is that of its last round, and only that round has a
    `train_loss`, measured from time to time.
    """

    refit: int
    n_refits: int
    round: int
    max_rounds: int
    term: int
    train_loss: float
    valid_loss: float
    best_round: int
    seconds: float
    stage: Stage = "main effects"
    n_pairs: int = 0
    part: int = 0  # number of the fit or ranking within the training
    quits: tuple[tuple[str, int], ...] = ()  # tasks that left the common trees in this round, and the round they keep

    @classmethod
    def of_step(cls, stage: Stage, done: int, n_steps: int, seconds: float, part: int = 0) -> Progress:
        """Return the progress of work without losses: `done` of `n_steps` steps."""
        nothing = math.nan
        return cls(
            refit=0, n_refits=1, round=done, max_rounds=n_steps, term=0, train_loss=nothing, valid_loss=nothing,
            best_round=0, seconds=seconds, stage=stage, part=part,
        )  # fmt: skip

    @classmethod
    def of_counting(cls, done: int, n_rows: int, seconds: float, part: int = 0) -> Progress:
        """Return the progress of counting bin pairs; `round` and `max_rounds` count thousands of rows."""
        return cls.of_step("counting", done // 1000, max(n_rows // 1000, 1), seconds, part)

    @classmethod
    def of_reading(cls, done: int, n_rows: int, seconds: float) -> Progress:
        """Return the progress of reading a table; `round` and `max_rounds` count thousands of rows."""
        thousand = 1000
        return cls.of_step("reading the table", done // thousand, max(n_rows // thousand, 1), seconds)


Callback = Callable[[Progress], bool | None]

Made = TypeVar("Made")
Loop = Generator[Progress, bool | None, Made]
"""A refit as a generator: it yields its progress, stops when sent True, and returns its result."""


class Watcher:
    """Passes the progress of all parts of a training to a callback until it says stop: no part begins after that, and
    it is not called again."""

    def __init__(self, callback: Callback | None = None) -> None:
        self._callback, self.stopped, self._parts = callback, False, 0
        self.callback = self._pass_on if callback else None

    def next_part(self) -> int:
        """Count a part that begins, and return its number."""
        self._parts += 1
        return self._parts - 1

    def _pass_on(self, progress: Progress) -> bool:
        if self._callback is not None and not self.stopped:
            self.stopped = bool(self._callback(progress))
        return self.stopped


class Relay:
    """Passes the progress of concurrent refits to one callback, one call at a time, until it says stop.

    about : fields of every `Progress`.
    """

    def __init__(self, callback: Callback | None, n_refits: int, about: dict[str, Any]) -> None:
        self._callback = callback
        self._about = {"n_refits": n_refits, **about}
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.stopped = False

    def tell(self, refit: int, progress: Progress) -> bool:
        """Report a round of a refit; return whether to stop."""
        if self._callback is not None:
            with self._lock:
                if self.stopped:  # rounds of a batch, and of other refits, may be done already
                    return True
                seconds = time.monotonic() - self._started
                passed_on = replace(progress, refit=refit, seconds=seconds, **self._about)
                if self._callback(passed_on):
                    self.stopped = True  # never back to False: another thread may have set it meanwhile
        return self.stopped
