"""What is said of two models on the same rows, as data: sentences are made of it, and rows can refute it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gamcore.additions.two_models.parts import Part
from gamcore.common.numbers import alike, factor, fixed, percent
from gamcore.data.labels import cut, cut_apart
from gamcore.explain.gap import DECIMALS, POINTS, Difference
from gamcore.explain.seen import Means

CLOSE: Final = 1e-6
LONGEST_NAME: Final = 40

Row = tuple[float, float, float, float]


@dataclass(frozen=True)
class BetterClaim:
    """Which of two models predicts rows better. values : of the metric, in the order of the models. gap : the second
    less the first. is_ranking : whether the metric is the AUC, else it is the share of the loss that is explained."""

    names: tuple[str, str]
    values: tuple[float, float]
    gap: Difference
    rows: int
    is_ranking: bool

    def words(self) -> str:
        """Return the claim as a sentence without its full stop."""
        first, second = cut_apart(self.names, LONGEST_NAME)
        value, other = self._values()
        what = "AUC" if self.is_ranking else "share explained"
        if not math.isfinite(self.gap.upper):
            return f"one cluster of rows is too few to compare {first} and {second} ({what} {value} and {other})"
        if not self.gap.is_clear:
            between = self.gap.ends_in_points()
            return f"neither {first} nor {second} is clearly better: {what} {value} and {other} ({between} points)"
        better, worse = (second, first) if self.gap.value > 0 else (first, second)
        value, other = (other, value) if self.gap.value > 0 else (value, other)
        size, between = self.gap.size.in_points(), self.gap.size.ends_in_points()
        verb = "ranks rows better" if self.is_ranking else "explains more"
        return f"{better} {verb} than {worse}: {what} {value} against {other}, {size} points more ({between})"

    def _values(self) -> list[str]:
        """Return the metric of both, with as many decimals as tell them apart."""
        apart = abs(self.gap.value)
        least = -math.floor(math.log10(apart)) if apart > 0 else 0
        if self.is_ranking:
            return [fixed(value, min(max(3, least), 6)) for value in self.values]
        return [percent(value, min(max(1, least - 2), 4)) for value in self.values]

    def holds(self, rows: Iterable[Row]) -> bool:
        """Return whether rows bear the claim out: the metric of both, their difference, and which is the larger.

        rows : of a ranking, whether it happened (1 or 0), the weight, and what both models predict; else the loss of
        the best constant, the weight, and the losses of both models.
        """
        known = list(rows)
        again = [_area(known, k) if self.is_ranking else _explained(known, k) for k in (2, 3)]
        if len(known) != self.rows or not all(
            math.isclose(value, own, rel_tol=CLOSE, abs_tol=CLOSE)
            for value, own in zip(again, self.values, strict=True)
        ):
            return False
        gap = again[1] - again[0]
        inside = not math.isfinite(self.gap.upper) or self.gap.lower - CLOSE <= gap <= self.gap.upper + CLOSE
        return inside and math.isclose(gap, self.gap.value, rel_tol=CLOSE, abs_tol=CLOSE)


def _explained(rows: list[Row], k: int) -> float:
    usual = math.fsum(row[0] * row[1] for row in rows)
    return 1 - math.fsum(row[k] * row[1] for row in rows) / usual


def _area(rows: list[Row], k: int) -> float:
    """Return the weighted share of pairs of what happened and what did not that column k has in the right order."""
    ordered = sorted(rows, key=lambda row: row[k])
    below = right = 0.0
    place = 0
    while place < len(ordered):
        end = place
        while end < len(ordered) and ordered[end][k] == ordered[place][k]:
            end += 1
        hits, misses = (sum(row[1] for row in ordered[place:end] if row[0] == is_hit) for is_hit in (1, 0))
        right += hits * (below + misses / 2)
        below += misses
        place = end
    happened = sum(row[1] for row in rows if row[0] == 1)
    return right / (happened * below)


@dataclass(frozen=True)
class _OfTenth:
    """A claim about the tenth of the rows where the second model predicts most beyond the first (is_last), or least.

    place : of the tenth. by_ratio : whether models are compared by factors.
    """

    names: tuple[str, str]
    place: int
    is_last: bool
    part: Part
    by_ratio: bool

    def _begin(self, is_share: bool) -> tuple[str, str, str]:
        """Return how the claim begins, and the names of both models in words."""
        first, second = cut_apart(self.names, LONGEST_NAME)
        apart = factor(self.part.ratio) if self.by_ratio else change_in_words(self.part.change, is_share)
        return f"where {second} is {way(self.part.change, self.is_last)} {first} ({apart})", first, second

    def _bear_out(self, rows: Sequence[Any], counted: Sequence[float], claimed: Iterable[float]) -> bool:
        """Return whether the tenth has as many rows, and what is counted of them is what is claimed."""
        return len(rows) == self.part.rows and all(
            math.isclose(value, claim, rel_tol=CLOSE, abs_tol=1e-12)
            for value, claim in zip(counted, claimed, strict=True)
        )


@dataclass(frozen=True)
class TenthClaim(_OfTenth):
    """What is observed in such a tenth, and what either model predicts."""

    is_share: bool

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        where, first, second = self._begin(self.is_share)
        values = [self.part.observed, *self.part.interval, *self.part.predicted]
        observed, low, high, mine, other = means(values, self.is_share)
        between = f" ({low} to {high})" if math.isfinite(self.part.interval[1] - self.part.interval[0]) else ""
        return f"{where}, {observed}{between} is observed, {first} predicts {mine} and {second} {other}"

    def holds(self, rows: Iterable[tuple[int, float, float, float, float]]) -> bool:
        """Return whether rows bear the claim out.

        rows : of each the place of its tenth, the outcome, what either model predicts, all of its whole exposure, and
        the exposure, all four times the row's weight.
        """
        mine = [row[1:] for row in rows if row[0] == self.place]
        sums = [math.fsum(column) for column in zip(*mine, strict=True)]
        counted = [total / sums[3] for total in sums[:3]]
        return self._bear_out(mine, counted, (self.part.observed, *self.part.predicted))


@dataclass(frozen=True)
class BelowClaim(_OfTenth):
    """How many rows of such a tenth are below either prediction of a quantile. level : how many should be."""

    level: float

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        where, first, second = self._begin(False)
        mine, other = map(_share_in_words, self.part.checks)
        return (
            f"{where}, {mine} of the rows are below what {first} predicts and {other} below what {second} does, and "
            f"{percent(self.level, 0)} should be"
        )

    def holds(self, rows: Iterable[tuple[int, float, float, float, float]]) -> bool:
        """Return whether rows bear the claim out.

        rows : of each the place of its tenth, the outcome, what either model predicts, and the weight.
        """
        mine = [row[1:] for row in rows if row[0] == self.place]
        weight = math.fsum(row[3] for row in mine)
        shares = [math.fsum(row[3] for row in mine if row[0] <= row[k]) / weight for k in (1, 2)]
        return self._bear_out(mine, shares, (check.observed for check in self.part.checks))


def _share_in_words(share: Means) -> str:
    low, high = share.interval
    between = f" ({percent(low)} to {percent(high)})" if math.isfinite(high - low) else ""
    return f"{percent(share.observed)}{between}"


@dataclass(frozen=True)
class GroupClaim:
    """That a second model predicts more or less of a group of a column than the first. money : what that comes to;
    None where no worth is given."""

    column: str
    name: str
    part: Part
    is_share: bool
    money: float | None

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        size = change_in_words(self.part.change, self.is_share)
        worth = "" if self.money is None else f", {alike([self.money], signed=True)[0]} in money"
        return f"where {cut(self.column, LONGEST_NAME)} is {cut(self.name, LONGEST_NAME)} ({size}{worth})"

    def holds(self, rows: Iterable[tuple[str, float, float, float]]) -> bool:
        """Return whether rows bear the claim out.

        rows : of each the name of its group, what either model predicts of its whole exposure, and the exposure, all
        three times the row's weight.
        """
        mine = [row[1:] for row in rows if row[0] == self.name]
        first, second, size = (math.fsum(column) for column in zip(*mine, strict=True))
        change = (second - first) / size
        return len(mine) == self.part.rows and math.isclose(change, self.part.change, rel_tol=CLOSE, abs_tol=1e-12)


def way(change: float, is_most: bool) -> str:
    """Return how a second prediction stands to the first where it is the highest beside it (is_most), or the lowest."""
    if is_most:
        return "furthest above" if change > 0 else "least below"
    return "furthest below" if change < 0 else "least above"


def means(values: list[float], is_share: bool) -> list[str]:
    """Return means that stand together."""
    return [percent(value) for value in values] if is_share else alike(values)


def change_in_words(change: float, is_share: bool) -> str:
    """Return by how much more is predicted, with its unit."""
    if is_share:
        return f"{fixed(POINTS * change, 1 if abs(change) >= 0.001 else DECIMALS, True)} points"
    return alike([change], signed=True)[0]
