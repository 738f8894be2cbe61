"""Places on a feature's axis as they are printed: a range that has the same rows as the bins that it names.

An end is written as the roundest number that cuts the same training rows as the border of the bins: anything above the
last value before it, up to the first value behind it. So a share of rows is true of the printed range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gamcore.common.numbers import exact, read, roundest
from gamcore.common.types import Bools, Ints
from gamcore.data.cuts import FINEST, End, day_between, slack_of, window
from gamcore.data.labels import levels_in_words, set_apart
from gamcore.data.years import is_axis_of_years

if TYPE_CHECKING:
    from gamcore.explain.curves import Curve
    from gamcore.explain.surfaces import SurfaceAxis

CLOSE: Final = 1e-6
"""Relative distance at which a border is written where the values beside it are not known: six digits."""


@dataclass(frozen=True)
class Place:
    """Cells of a column that are named together.

    words : as printed. low, high : the printed range, both ends included, in the column's units or in days. levels :
    those of a category.
    """

    words: str
    low: float = -math.inf
    high: float = math.inf
    levels: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """It as it stands in a sentence: a level set apart where it would not be read as one."""
        return levels_in_words(self.levels) if self.levels == (self.words,) else self.words

    def holds(self, cells: Any) -> Bools:
        """Return which cells (n,) are here: numbers, days since 1970-01-01, or levels."""
        column = np.asarray(cells)
        if not self.levels:
            return (column >= self.low) & (column <= self.high)
        named = [exact(value) for value in column.tolist()] if column.dtype.kind in "fiu" else column
        return np.isin(np.asarray(named, object).astype(str), self.levels)


MISSING: Final = Place("missing", levels=("",))


def place_of(curve: Curve | SurfaceAxis, bins: Ints, is_move: bool = False) -> Place:
    """Return some neighbouring bins of a curve as they are printed; levels by their names, and a long end as open.
    is_move : whether it is told what the curve does from the first to the last of them."""
    first, last = int(bins.min()), int(bins.max())
    if curve.labels:
        members = curve.members or tuple((label,) for label in curve.labels)
        levels = tuple(level for k in bins for level in members[k])
        label, is_level = curve.labels[bins[0]], len(members[bins[0]]) == 1
        if bins.size > 1:
            label = f"{set_apart(label) if is_level else label}, … ({len(levels)} levels)"
        return Place(label, levels=levels)
    low, high = _end(curve, first, upper=False), _end(curve, last + 1, upper=True)
    if curve.values:
        return Place(" to ".join(dict.fromkeys((curve.values[first], curve.values[last]))), low.value, high.value)
    less, more = _open_ends(curve, first, last)
    less_or_more = ("earlier", "later") if curve.kind == "date" else ("less", "more")
    if not is_move and (less is None) != (more is None):
        inner = high if more is None else low
        return Place(f"{curve.measure.dress(inner.text)} or {less_or_more[less is None]}", low.value, high.value)
    start = low if less is None else _end(curve, less, upper=True)
    end = high if more is None else _end(curve, more, upper=False)
    ends = curve.measure.dress(" to ".join(dict.fromkeys((start.text, end.text)))).split(" to ")
    ends[0] += f" or {less_or_more[0]}" * (less is not None)
    ends[-1] += f" or {less_or_more[1]}" * (more is not None)
    return Place(" to ".join(ends), low.value, high.value)


def _open_ends(curve: Curve | SurfaceAxis, first: int, last: int) -> tuple[int | None, int | None]:
    """Return the borders by which the ends of some bins are named instead of their outer ones: where the few lowest or
    highest rows that can be read are on a longer stretch than all others. One row far out would be the end else, and
    say nothing of where the others are."""
    edges = curve.edges
    low, high = curve.tails
    inner = float(edges[high] - edges[low])
    is_less = first == 0 and last >= low - 1 and 0 < inner < float(edges[low] - edges[0])
    is_more = last == edges.size - 2 and first <= high and 0 < inner < float(edges[-1] - edges[high])
    return low if is_less else None, high if is_more else None


def border_of(curve: Curve | SurfaceAxis, k: int) -> Place:
    """Return where bin k begins, as it is printed: all that is at least there."""
    end = _end(curve, k, upper=False)
    return Place(curve.values[k] if curve.values else curve.measure.dress(end.text), end.value)


def cell_of(axis: SurfaceAxis, k: int) -> Place:
    """Return a bin of an axis of a pair, named with its feature; the last one of numbers is open."""
    where = place_of(axis, np.array([k]))
    is_open = not (axis.labels or axis.values or axis.kind == "date" or axis.size < 2 or where.low == where.high)
    if is_open and k == axis.size - 1:
        where = border_of(axis, k)
        return replace(where, words=f"{axis.feature} is at least {where.words}")
    return replace(where, words=f"{axis.feature} is {where.spoken}")


def typical_of(curve: Curve, bins: Ints) -> Place:
    """Return a run of bins by the typical value of its only bin; else by its range."""
    whole = place_of(curve, bins)
    if bins.size > 1 or curve.labels or curve.values or curve.kind == "date":
        return whole
    near, slack = float(curve.display[bins[0]]), _slack(curve)
    low, high = max(whole.low, near - slack), min(whole.high, near + slack)
    by = _by(curve)
    text = _written(curve, roundest(by * low, by * high, by * near))
    return Place(curve.measure.dress(text), read(text) / by, read(text) / by)


def _slack(curve: Curve | SurfaceAxis) -> float:
    """Return by how much a number may be rounded where no other value is near."""
    return slack_of(curve.display, float(curve.edges[0]), float(curve.edges[-1]))


def _written(curve: Curve | SurfaceAxis, text: str) -> str:
    """Return a number as people write it in its column: years have no mark between thousands."""
    measure = curve.measure.of_years(is_axis_of_years(curve.edges, curve.between, curve.display))
    return measure.number(read(text), text) if measure.form == "year" else text


def _by(curve: Curve | SurfaceAxis) -> float:
    """Return what numbers are multiplied by when they are written."""
    return 100.0 if curve.measure.form == "percent" else 1.0


def _end(curve: Curve | SurfaceAxis, border: int, upper: bool) -> End:
    """Return border `border` (K + 1) as the first number after it, or (upper) as the last before it."""
    low, high = _between(curve, border)
    if curve.kind == "date":
        return day_between(low, high, upper)
    slack, by = _slack(curve), _by(curve)
    low, near, high = window(low, high, slack, upper)
    if low > high:  # the values beside are not known
        edge = float(curve.edges[border])
        narrowest = float(np.diff(curve.edges[max(border - 1, 0) : border + 2]).min())
        slack = min(CLOSE * abs(edge), narrowest / FINEST)  # days as 20240131 are millionths apart
        near, low, high = edge, edge - slack, edge + slack
    text = _written(curve, roundest(by * low, by * high, by * near))
    if curve.measure.form in ("whole number", "two decimals", "money"):  # as chosen, where that cuts the same rows
        chosen = curve.measure.number(read(text), text)
        text = chosen if low <= read(chosen) <= high else text
    return End(text, read(text) / by)


def _between(curve: Curve | SurfaceAxis, border: int) -> tuple[float, float]:
    """Return the training values next to a border, below and above; at an outer one, nothing is beyond."""
    if border == 0:
        return -np.inf, float(curve.edges[0])
    if border == curve.edges.size - 1:
        return float(curve.edges[-1]), np.inf
    known = curve.between
    edge = float(curve.edges[border])
    return (float(known[0, border - 1]), float(known[1, border - 1])) if known.size else (edge, edge)
