"""What is said of a curve, as data: sentences are made from claims, and rows can refute a claim.

A claim has what is said (a rise, a level that differs, no clear effect), where (a printed place), how much with its
interval, and of how many of the training rows. Its words are a function of it. `holds` checks it by brute force: the
rows in the place as printed, and the effects of those rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from gamcore.common.numbers import MOST_DECIMALS, count, counted, decimals_of, fixed, percent, read, within
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.labels import cut, listed, set_apart
from gamcore.explain.places import Place
from gamcore.model.scales import LARGEST_FACTOR, Scale, beyond, no_effect

Kind = Literal[
    "rises", "falls", "lowest", "highest", "steepest", "above", "below", "differs", "rises overall", "falls overall",
    "somewhere", "shared", "no clear effect",
]  # fmt: skip
"""A rise or fall; the ends of a curve of many; its steepest step; neighbours clearly above or below the average; a
level or missing cells that differ from it; a direction whose size is open; an effect of which only that is known;
one that it has only together with columns that say nearly the same; or nothing of this."""

NO_CLEAR_EFFECT: Final = "no clear effect"
SOMEWHERE: Final = "some effect, but where is unclear"
LONGEST_LEVEL: Final = 24
CLOSE: Final = 1e-6
NEARLY_THE_SAME: Final = 0.8
"""Least share of a column's differences between rows that others tell, if they say nearly the same."""

PARTS: Final = 10
FEWEST_IN_PART: Final = 30
"""Parts of the rows of a stretch, and the fewest rows of one, that show whether a rise or fall turns back there, or
what moves as much as a step."""

N_RANGES: Final = 64
"""Ranges of a number whose means a curve is checked by."""


@dataclass(frozen=True)
class Claim:
    """One thing that is said of a feature, or of a pair, from the training rows.

    where : the place, as printed; None for all. value : how far a curve moves (a factor on the ratio scale), or an
    effect; NaN where none is said. interval : its ends, by the band of the whole curve. decimals : most that are
    written. rows, n_rows : training rows in the place, and all; NaN where they were not counted. says_share : whether
    the share of rows is said, if they are not all. ends : where a rise or fall begins and ends; of the steepest
    step, its two sides. also : the places of the other features of a pair or triple; all then name their feature.
    others : columns that say nearly the same, of which `n_named` are named.
    """

    kind: Kind
    where: Place | None
    value: float
    interval: tuple[float, float]
    scale: Scale
    rows: float = math.nan
    n_rows: float = math.nan
    says_share: bool = False
    decimals: int = 1
    ends: tuple[Place, Place] | None = None
    also: tuple[Place, ...] = ()
    others: tuple[str, ...] = ()
    n_named: int = 0

    def without_share(self) -> Claim:
        """Return the claim without the share of rows."""
        return replace(self, says_share=False)

    @property
    def share(self) -> float:
        """Share of the training rows that are in the place; NaN where they were not counted."""
        return self.rows / self.n_rows

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        place = "" if self.where is None else self.where.words
        share = f", where {percent(self.share, 0)} of rows are" if self.says_share and self.share < 1 else ""
        match self.kind:
            case "rises" | "falls":
                return f"{self.kind} {self._size()} {self._from()}{share}"
            case "lowest" | "highest":
                return f"{self.kind} {self._from().replace('around', 'at')} ({self.effect()})"
            case "steepest":
                return f"steepest at {place}"
            case "above" | "below":
                return f"{self.kind} average ({self.effect()}) {self._from()}{share}"
            case "differs" if self.also:
                places = listed([place, *[other.words for other in self.also]])
                return f"{self.effect()}{' points' * (self.scale == 'points')} where {places}"
            case "differs":
                return f"{self._level()} {self.effect()}"
            case "rises overall" | "falls overall":
                return f"{self.kind}, by how much is unclear"
            case "somewhere":
                return SOMEWHERE
            case "shared":
                return f"cannot be told apart from {self._others()}; together they have an effect"
        return NO_CLEAR_EFFECT

    def _level(self) -> str:
        """Return the level, cut; where it is several, and that is cut off, how many."""
        assert self.where is not None
        words, n = self.where.words, len(self.where.levels)
        if n < 2 or len(words) <= LONGEST_LEVEL:
            return set_apart(cut(words, LONGEST_LEVEL)) if self.where.levels == (words,) else cut(words, LONGEST_LEVEL)
        return f"{cut(words.partition(', … (')[0], LONGEST_LEVEL)} ({counted(n, 'level')})"

    def _others(self) -> str:
        named = [cut(name, LONGEST_LEVEL) for name in self.others[: self.n_named]]
        n_more = len(self.others) - len(named)
        if not named:
            return "another column" if n_more == 1 else f"{count(n_more)} others"
        return listed([*named, *([f"{count(n_more)} more"] if n_more else [])])

    def _from(self) -> str:
        assert self.where is not None
        words = self.where.words
        if self.ends is not None and words == f"{self.ends[0].words} and {self.ends[1].words}":
            return f"between {words}"
        if words.endswith((" or more", " or less", " or later", " or earlier")) and " to " not in words:
            return f"at {words}"
        single = self.where.low == self.where.high or not math.isfinite(self.where.high - self.where.low)
        return f"{'around' if single or ' to ' not in words else 'from'} {words}"

    def _size(self) -> str:
        if self.scale == "ratio":
            if self.value > LARGEST_FACTOR:
                return f"by a factor of over {fixed(LARGEST_FACTOR, 0)}"
            decimals = max(decimals_of([self.value], 2), decimals_of([self.value - 1], 1))  # 1.02 is not 1.0
            return f"by a factor of {self._factor(decimals)}"
        if self.scale == "points":
            return f"{within(self.value, self.interval, 0 if self.value >= 10 else 1)} points"
        return f"by {within(self.value, self.interval, decimals_of([self.value]))}"

    def effect(self) -> str:
        """Return the effect as it is written, with the digits that its interval leaves."""
        if self.scale != "ratio":
            return within(self.value, self.interval, self.decimals, signed=True)
        return beyond(self.value) or f"×{self._factor(self.decimals)}"

    def _factor(self, decimals: int) -> str:
        """Return the value as a factor; one that is clear of 1 is not written as 1."""
        low, high = self.interval
        text = within(self.value, self.interval, decimals)
        if read(text) != 1 or self.value == 1 or low <= 1 <= high:
            return text
        return fixed(self.value, min(-math.floor(math.log10(abs(self.value - 1))), MOST_DECIMALS))

    def holds(
        self, cells: Any, effects: Floats, weight: Floats | None = None, shown: Callable[[Floats], Floats] | None = None
    ) -> bool:
        """Return whether training rows bear the claim out.

        cells : (n,) the feature's values: numbers, days since 1970-01-01, or texts; NaN, or an empty text, where
        missing; of a pair, those of both; of a shared effect, those of the feature and of each other. effects : (n,) of
        the feature on each row, on the claim's scale; of a shared effect, of all of them together, on the link scale.
        weight : (n,) where rows have some. shown : what a mean of effects is on the claim's scale, where these are on
        another (cells of a pair are means of scores).
        """
        zero = no_effect(self.scale)
        low, high = self.interval
        if self.kind == "somewhere" and math.isnan(low):  # shown by a test of the rows
            return float(np.ptp(effects)) > 0
        if self.kind in ("no clear effect", "somewhere"):
            return (low <= zero <= high) == (self.kind == "no clear effect")
        if self.kind == "shared":
            return (
                low <= zero <= high and float(np.ptp(effects)) > 0 and told_by_others(cells, effects) > NEARLY_THE_SAME
            )
        if self.kind in ("rises overall", "falls overall"):
            known = ~pd.isna(pd.Series(cells))
            weights = np.ones(known.sum()) if weight is None else weight[known]
            heights = np.log(effects[known]) if self.scale == "ratio" else effects[known]
            together = _rank_covariance(np.asarray(cells)[known], heights, weights)
            return together > 0 if self.kind == "rises overall" else together < 0
        if self.where is None:
            return False
        if self.kind == "steepest":
            return bool(self.where.holds(cells).any()) and self._is_steepest(np.asarray(cells), effects, weight)
        columns, places = (cells, (self.where, *self.also)) if self.also else ([cells], [self.where])
        inside = np.all([place.holds(column) for place, column in zip(places, columns, strict=True)], axis=0)
        if not math.isnan(self.share) and not math.isclose(inside.mean(), self.share, abs_tol=1e-9):
            return False
        if self.ends is not None:
            start, end = (self._mean(effects, place.holds(cells), weight) for place in self.ends)
            moved = math.log(end / start) if self.scale == "ratio" else end - start
            moved = moved if self.kind == "rises" else -moved
            size = math.log(self.value) if self.scale == "ratio" else self.value
            is_so = math.isclose(moved, size, rel_tol=CLOSE, abs_tol=CLOSE) and size > 0
            return is_so and self._turned_back(cells, effects, weight) <= size
        if self.kind in ("lowest", "highest") and not inside.any():
            return True  # a typical value that is rounded, between the rows
        mean = (
            self._mean(effects, inside, weight)
            if shown is None
            else float(shown(np.array(np.average(effects[inside], weights=None if weight is None else weight[inside]))))
        )
        sides = {"above": mean > zero, "below": mean < zero, "differs": not low <= zero <= high}
        return math.isclose(mean, self.value, rel_tol=CLOSE, abs_tol=CLOSE) and sides.get(self.kind, True)

    def _turned_back(self, cells: Any, effects: Floats, weight: Floats | None) -> float:
        """Return how far the effects go the other way between the ends of a rise or fall: most, from one of some parts
        of as many rows to a later one."""
        assert self.ends is not None
        column = np.asarray(cells)
        between = (column >= self.ends[0].low) & (column <= self.ends[1].high)
        way = np.array([self._height(effects, part, weight) for part in _parts(column, between)] or [0.0])
        way = way if self.kind == "rises" else -way
        return float((np.maximum.accumulate(way) - way).max())

    def _is_steepest(self, cells: Any, effects: Floats, weight: Floats | None) -> bool:
        """Return whether effects move as said between the ends of a step, and no two parts of the rows before it, or
        behind it, that are as near to each other differ by more."""
        assert self.ends is not None
        column = np.asarray(cells)
        start, end = (place.holds(column) for place in self.ends)
        moved = self._height(effects, end, weight) - self._height(effects, start, weight)
        long, most = float(column[end].mean() - column[start].mean()), 0.0
        for side in (column <= self.ends[0].high, column >= self.ends[1].low):
            parts = _parts(column, side)
            at = np.array([column[part].mean() for part in parts])
            heights = np.array([self._height(effects, part, weight) for part in parts])
            near = np.abs(at[:, None] - at) <= long
            most = max(most, float((np.abs(heights[:, None] - heights) * near).max(initial=0.0)))
        return math.isclose(moved, self.value, rel_tol=CLOSE, abs_tol=CLOSE) and most <= abs(moved)

    def _mean(self, effects: Floats, inside: Bools | Ints, weight: Floats | None) -> float:
        mean = self._height(effects, inside, weight)
        return math.exp(mean) if self.scale == "ratio" else mean

    def _height(self, effects: Floats, inside: Bools | Ints, weight: Floats | None) -> float:
        """Return the mean effect of some rows, on a scale on which effects add up: of factors, their logs."""
        heights = np.log(effects[inside]) if self.scale == "ratio" else effects[inside]
        return float(np.average(heights, weights=None if weight is None else weight[inside]))


def _parts(column: Any, inside: Bools) -> list[Ints]:
    """Return some rows in parts of as many rows, in order of their values; those of rows enough."""
    rows = np.flatnonzero(inside)
    parts = np.array_split(rows[np.argsort(column[rows], kind="stable")], PARTS)
    return [part for part in parts if part.size >= FEWEST_IN_PART]


def told_by_others(cells: Sequence[Any], effects: Floats) -> float:
    """Return the share of a column that others tell, by least squares on their cells: as a number, or as what its cells
    say of effects (n,), whichever is more. cells : those of the column, then of each other."""
    own, *others = (_indicators(column) for column in cells)
    numbers = pd.Series(cells[0])
    shapes = [own @ np.linalg.lstsq(own, effects, rcond=None)[0]]
    if numbers.dtype.kind in "fiu":
        shapes.append(numbers.fillna(numbers.mean()).to_numpy(float))
    by = np.hstack([np.ones((effects.size, 1)), *others])
    shares = [0.0]
    for shape in shapes:
        left = shape - by @ np.linalg.lstsq(by, shape, rcond=None)[0]
        shares.append(1 - float(left.var() / shape.var()) if np.ptp(shape) > CLOSE * np.abs(shape).max() else 0.0)
    return max(shares)


def _indicators(cells: Any) -> Floats:
    """Return a column as columns (n, q) that a curve of it is made from: itself where it is a number, and its levels or
    ranges."""
    column = pd.Series(cells)
    if column.dtype.kind not in "fiu":
        return np.asarray(pd.get_dummies(column.fillna("").astype(str)), np.float64)
    ranges = pd.get_dummies(pd.qcut(column, N_RANGES, duplicates="drop") if column.nunique() > N_RANGES else column)
    filled = column.fillna(column.mean()).to_numpy(float)
    return np.column_stack([(filled - filled.mean()) / (filled.std() or 1.0), ranges.to_numpy(float)])


def _rank_covariance(cells: Any, effects: Floats, weights: Floats) -> float:
    """Return the covariance of effects and ranks of cells (n,), which share a rank where they are equal."""
    _, places = np.unique(cells, return_inverse=True)
    rows = np.bincount(places, weights)
    ranks = (np.cumsum(rows) - rows / 2)[places]
    return float(np.sum(weights * (ranks - np.average(ranks, weights=weights)) * effects))
