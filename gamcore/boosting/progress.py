"""Where a fit stands: what each round tells, who listens, and how a fit is stopped."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

Stage = Literal[
    "reading the table", "main effects", "ranking", "pairs", "bands", "tuning", "common trees", "specific trees",
    "comparison",
]  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after a round. Losses are means per row; NaN where there is no such row, or not measured yet.

    Rounds are reported some at a time, when all of them are done: `term` is that of the last, and `train_loss`,
    measured now and then, comes with it.
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
    part: int = 0  # counts the fits and rankings that a training is made of
    quits: tuple[tuple[str, int], ...] = ()  # tasks that left the common trees in this round, and the round they keep

    @classmethod
    def of_step(cls, stage: Stage, done: int, of: int, seconds: float, part: int = 0) -> Progress:
        """Work that has no losses: `done` of so many steps."""
        nothing = math.nan
        return cls(
            refit=0, n_refits=1, round=done, max_rounds=of, term=0, train_loss=nothing, valid_loss=nothing,
            best_round=0, seconds=seconds, stage=stage, part=part,
        )  # fmt: skip

    @classmethod
    def of_reading(cls, done: int, of: int, seconds: float) -> Progress:
        """`round` thousands of rows of `max_rounds` are read."""
        thousand = 1000
        return cls.of_step("reading the table", done // thousand, max(of // thousand, 1), seconds)


Callback = Callable[[Progress], bool | None]

Made = TypeVar("Made")
Loop = Generator[Progress, bool | None, Made]
"""A refit as it is boosted: it yields its progress, is sent True to be stopped, and returns what it made."""


class Watcher:
    """Passes the progress of all parts of a training to a callback, and remembers a stop: nothing begins after it."""

    def __init__(self, callback: Callback | None = None) -> None:
        self._callback, self.stopped, self._parts = callback, False, 0
        self.callback = self._pass_on if callback else None

    def next_part(self) -> int:
        """Return the number of the part that begins."""
        self._parts += 1
        return self._parts - 1

    def _pass_on(self, progress: Progress) -> bool:
        self.stopped = bool(self._callback and self._callback(progress)) or self.stopped
        return self.stopped


class Relay:
    """Passes the progress of refits that run side by side to one callback, one call at a time; remembers a stop.

    about : fields of every `Progress`.
    """

    def __init__(self, callback: Callback | None, n_refits: int, about: dict[str, Any]) -> None:
        self._callback = callback
        self._about = {"n_refits": n_refits, **about}
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.stopped = False

    def tell(self, refit: int, progress: Progress) -> bool:
        """Report a round of a refit; whether it is to stop."""
        if self._callback is not None:
            with self._lock:
                seconds = time.monotonic() - self._started
                passed_on = replace(progress, refit=refit, seconds=seconds, **self._about)
                if self._callback(passed_on):
                    self.stopped = True  # never back to False: another thread may have set it meanwhile
        return self.stopped
