"""Progress of a fit as a line that grows, in terminals and notebooks, for `callback="progress"`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from gamcore.boosting.running.progress import Callback, Progress, Watcher
from gamcore.common.extras import extra
from gamcore.common.numbers import number

PROGRESS: Final = "progress"
Listener = Callable[[Progress], bool | None] | Literal["progress"] | None
"""What estimators take as `callback`."""


@contextmanager
def listening(listener: Listener) -> Iterator[Callback | None]:
    """Give the callback that an estimator's `callback` stands for, which is not called after it said stop; a bar ends
    with the fit."""
    if isinstance(listener, str):
        if listener != PROGRESS:
            raise ValueError(f'callback is {listener!r}: it must be a callable, "{PROGRESS}" or None.')
        bar = ProgressBar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield Watcher(listener).callback


class ProgressBar:
    """A callback that draws a line for each stage of a fit: the rounds so far, and the refit that they are of.

    Refits stop early, long before `max_rounds`, so a share of all rounds would mislead; stages without refits have one.
    """

    def __init__(self) -> None:
        with extra(PROGRESS), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in a notebook without widgets, it would advise to install them
            from tqdm.auto import tqdm
        self._new: Callable[..., Any] = tqdm
        self._bar: Any = None
        self._stage: tuple[str, int] = ("", -1)
        self._rounds: dict[int, int] = {}

    def __call__(self, progress: Progress) -> None:
        """Move the line to where the refits are; a new stage has a new line."""
        boosts = math.isfinite(progress.valid_loss)
        if (progress.stage, progress.part) != self._stage:
            self.close()
            self._stage, self._rounds = (progress.stage, progress.part), {}
            unit, total = (" rounds", None) if boosts else (" steps", progress.max_rounds)
            self._bar = self._new(desc=progress.stage, unit=unit, total=total)
        self._rounds[progress.refit] = progress.round
        if boosts:
            words = (
                f"refit {max(self._rounds) + 1} of {progress.n_refits}, validation loss {number(progress.valid_loss)}"
            )
            self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(sum(self._rounds.values()) - self._bar.n)

    def close(self) -> None:
        """End the line of the current stage."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
