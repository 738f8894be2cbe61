"""Reasons for a decision: what pushed a row's score across a line, or kept it from crossing, against a stated base.

A row at or above the line is told what raised its score, a row below it what lowered it, the largest push first. A push
is the difference of a part of the score from that of the base; those under a hundredth of the row's largest are too
small to be told. A sensitive feature is never told as a reason; where it
would have been among them, it is named for review.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from gamcore.common.types import Bools, Floats, Ints

Base = Literal["average", "best", "line"]
BASES: Final[tuple[Base, ...]] = get_args(Base)
BASE_WORDS: Final[dict[Base, str]] = {
    "average": "the average row",
    "best": "the best that each feature could be; of a row above the line, the worst",
    "line": "the usual row at the line",
}
MOST: Final = 4
LEAST: Final = 0.01
"""Least push that is told, as a share of the largest of the row."""

NO_REASON: Final = -1
"""Where there are no more reasons."""


@dataclass(frozen=True)
class Reason:
    """A feature, or an interaction, that may be a reason.

    up, down : what is told where it raised or lowered the score. terms, joint : the parts of the score that count to
    it, by their places in a formula; interactions, the pairs first, with the share that counts. above, below : the sum
    of these parts in the base of a row at or above the line, and of one below it.
    """

    name: str
    up: str
    down: str
    sensitive: bool
    terms: tuple[int, ...]
    joint: tuple[tuple[int, float], ...]
    above: float
    below: float


@dataclass(frozen=True)
class Reasons:
    """What may be told. line : the score at which the decision turns. most : reasons per row. base : see
    `BASE_WORDS`."""

    line: float
    most: int
    base: Base
    each: tuple[Reason, ...]

    def pushes(self, parts: Floats, score: Floats) -> Floats:
        """Return by how much each part (n, m) pushed the decision of a row with a score (n,)."""
        above, below = (np.array([getattr(reason, side) for reason in self.each]) for side in ("above", "below"))
        return np.where((score >= self.line)[:, None], parts - above, below - parts)

    def choose(self, pushes: Floats) -> tuple[Ints, Bools]:
        """Return the reasons (n, most) of rows, by their places, and which sensitive features (n, m) are for review."""
        n, m = pushes.shape
        order = np.argsort(-pushes, axis=1, kind="stable")
        place = np.empty((n, m), np.int64)
        np.put_along_axis(place, order, np.broadcast_to(np.arange(m), (n, m)), axis=1)
        sensitive = np.array([reason.sensitive for reason in self.each], bool)
        large = (pushes > 0) & (pushes >= LEAST * pushes.max(axis=1, initial=0.0)[:, None])
        review = sensitive & large & (place < self.most)
        open_ones = np.where(sensitive | ~large, -np.inf, pushes)
        chosen = np.full((n, self.most), NO_REASON)
        best = np.argsort(-open_ones, axis=1, kind="stable")[:, : self.most]
        pushed = np.take_along_axis(open_ones, best, axis=1) > 0
        chosen[:, : best.shape[1]] = np.where(pushed, best, NO_REASON)
        return chosen, review

    def text(self, place: int, above: bool) -> str:
        """Return what is told of a reason to a row at or above the line, or below it."""
        return self.each[place].up if above else self.each[place].down
