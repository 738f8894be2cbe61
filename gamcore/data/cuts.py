"""Cuts between bins as people say them: as round as the training rows allow, and never read as another number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from gamcore.common.numbers import exact, read, roundest
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.columns import Kind
from gamcore.data.dates import as_date, stamp
from gamcore.data.years import are_years, is_axis_of_years, is_year_of

FEW_DIGITS: Final = 5
"""Digits of a value that people say in full."""

FINEST: Final = 200
"""A cut is moved by at most this part of the axis where no value is near."""

CLOSE: Final = 1e-12
"""Relative distance at which two computed cuts are one."""

PARTS_OF_DAY: Final = (24, 1440, 86_400)


def cut_of(bins: Bins, k: int) -> float:
    """Return where value bin k of a number or date begins, as a person would say it.

    A cut that was learnt is halfway between two training values. In its place stands the roundest number near it that
    cuts the same training rows, of whole numbers a whole one; of dates, the nearest day. One that somebody chose stays.
    """
    cut = float(bins.cuts[k - 1])
    if not bins.beside.size:  # not known, in files from before
        whole = bool((np.mod(bins.display, 1) == 0).all()) and bool((np.mod(bins.cuts, 0.5) == 0).all())
        return float(math.ceil(cut)) if whole else cut
    return _rounded(cut, bins.beside[:, k - 1], slack_of(bins.display, bins.low, bins.high), bins.feature.kind)


def _rounded(cut: float, beside: Floats, slack: float, kind: Kind) -> float:
    """Return a cut as in `cut_of`. beside : (2,) the training values below and above it. slack : most that it moves."""
    low, high = (float(value) for value in beside)
    if not (low < cut <= high and _is_learnt(cut, low, high)):
        return cut
    if kind == "date":
        return _day(low, cut, high)
    near = float(math.ceil(cut)) if low.is_integer() and high.is_integer() else cut
    first, last = max(float(np.nextafter(low, np.inf)), near - slack), min(high, near + slack)
    return read(roundest(first, last, near))


def halfway(cuts: Floats, low: Floats, high: Floats) -> Bools:
    """Return whether cuts (n,) are halfway between the values beside them, as those are that were learnt."""
    return np.isclose(cuts, low / 2 + high / 2, rtol=CLOSE, atol=0)


def _is_learnt(cut: float, low: float, high: float) -> bool:
    return math.isclose(cut, low / 2 + high / 2, rel_tol=CLOSE)


def names_of_bins(edges: Floats, beside: Floats, display: Floats, kind: Kind, measure: Measure) -> tuple[str, ...]:
    """Return the bins of a number or date in words: each by a range, both ends included, that has its training rows and
    no other; by its value, where it has one.

    edges : (K + 1,) the cuts between the lowest and the highest value. beside : (2, K - 1), as in `binning.Bins`; empty
    where it is not known. display : (K,) a typical value of each.
    """
    cuts, measure = edges.tolist(), measure.of_years(kind == "number" and is_axis_of_years(edges, beside, display))
    if beside.shape != (2, edges.size - 2):
        return tuple(_unknown(low, high, kind, measure) for low, high in pairwise(cuts))
    slack = slack_of(display, cuts[0], cuts[-1])
    lows, highs = [cuts[0], *beside[1].tolist()], [*beside[0].tolist(), cuts[-1]]
    before, after, names = [-math.inf, *highs[:-1]], [*lows[1:], math.inf], []
    for k, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low > high:  # cuts that somebody chose, without a value between them
            names.append(_unknown(cuts[k], cuts[k + 1], kind, measure))
            continue
        chosen = k > 0 and not _is_learnt(cuts[k], before[k], low)
        start = cuts[k] if chosen else None
        names.append(range_in_words(Run(before[k], low, high, after[k]), slack, kind, measure=measure, start=start))
    return tuple(names)


def values_in_words(bins: Bins, k: int, measure: Measure) -> str:
    """Return values of value bin k of a number or date in words, each of which the model has in this bin, also where it
    is between training values. An inner one that is narrower than a number may be rounded by has one
    number."""
    known, measure = bins.beside.size > 0, measure.of_years(bins.feature.kind == "number" and are_years(bins.display))
    first = bins.low if k == 0 else float(bins.beside[1, k - 1] if known else bins.display[k])
    last = bins.high if k + 1 == bins.n_values else float(bins.beside[0, k] if known else bins.display[k])
    is_empty, is_inner = first > last, 0 < k < bins.n_values - 1
    if is_empty:  # cuts that somebody chose, without a value between them
        first = last = float(bins.display[k])
    elif first == last and (bins.feature.kind == "date" or read(exact(first, FEW_DIGITS)) == first):
        return f"is {cut_in_words(first, measure, bins.feature.kind == 'date')}"
    low = float(np.nextafter(bins.cuts[k - 1], -np.inf)) if k else -math.inf
    high = float(bins.cuts[k]) if k + 1 < bins.n_values else math.inf
    if bins.feature.kind == "date":
        start, end = day_between(low, first, upper=False).text, day_between(last, high, upper=True).text
        end = end.removesuffix(" 00:00:00")  # of whole days, the last one
        more, less = "or later", "or earlier"
    else:
        slack = slack_of(bins.display, bins.low, bins.high)
        if not is_empty and (first == last or (is_inner and last - first < slack)):
            least = max(float(np.nextafter(low, np.inf)), bins.low, first - slack)
            about = roundest(least, min(float(np.nextafter(high, -np.inf)), bins.high, last + slack), first)
            return f"is about {measure.dress(measure.in_full(read(about)))}"
        ends = (window(low, first, math.inf, upper=False), window(last, high, math.inf, upper=True))
        start, end = (measure.in_full(read(roundest(least, most, near))) for least, near, most in ends)
        more, less = "or more", "or less"
    if k == 0:
        return f"{measure.dress(end)} {less}"
    if k + 1 == bins.n_values:
        return f"{measure.dress(start)} {more}"
    return f"is {measure.dress(start)}" if start == end else f"between {measure.dress(start)} and {measure.dress(end)}"


def ranges_in_words(values: Floats, parts: Ints, kind: Kind) -> list[str]:
    """Return neighbouring parts of some numbers as ranges, both ends included, each of which has the values (n,) of its
    part and no other.

    parts : (n,) from 0 on, ascending with the values; of dates, these are days since 1970-01-01.
    """
    n, slack = int(parts.max()) + 1, slack_of(values, float(values.min()), float(values.max()))
    lows, highs = ([float(pick(values[parts == k])) for k in range(n)] for pick in (np.min, np.max))
    runs = map(Run, [-math.inf, *highs[:-1]], lows, highs, [*lows[1:], math.inf])
    return [range_in_words(run, slack, kind) for run in runs]


def beside_edges(values: Floats, edges: Floats) -> Floats:
    """Return the values (2, K + 1) below, and at or above, each edge of bars that begin at their lower edges; the last
    bar has its upper edge, too. Infinite where there is none. values : (n,) finite."""
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    above = np.searchsorted(ordered, edges, side="left")
    above[-1] = np.searchsorted(ordered, edges[-1], side="right")
    return np.stack([ordered[above - 1], ordered[above]])


def names_of_bars(edges: Floats, beside: Floats, kind: Kind, measure: Measure) -> list[str]:
    """Return bars of a number or date in words: each by a range near its edges, both ends included, that has its values
    and no other.

    edges : (K + 1,) ascending. beside : (2, K + 1), as in `beside_edges`.
    """
    known = beside[np.isfinite(beside)]
    whole = 0.5 * bool((edges % 1 == 0.5).all() and (known % 1 == 0).all())  # bars begin between whole numbers
    slack, names, measure = slack_of_bars(edges), [], measure.of_years(kind == "number" and are_years(known))
    for (low, high), (before, last), (first, after) in zip(*map(pairwise, (edges, *beside)), strict=True):
        start, end, has_values = float(low + whole), float(high - whole), first <= last
        if kind == "date":
            if not whole:  # moments, which are said to the microsecond, and edges are finer
                start, end = (float(first), float(last)) if has_values else (start / 2 + end / 2,) * 2
            days = day_between(float(before), start, upper=False), day_between(end, float(after), upper=True)
            names.append(" to ".join(dict.fromkeys(day.text for day in days)))
            continue
        beyond, within = float(np.nextafter(before, np.inf)), float(np.nextafter(after, -np.inf))
        ends = (
            (max(beyond, start - slack), min(float(first) if has_values else within, start + slack), start),
            (max(float(last) if has_values else beyond, end - slack), min(within, end + slack), min(end, within)),
        )
        texts = (measure.in_full(read(roundest(least, most, near))) for least, most, near in ends)
        names.append(measure.dress(" to ".join(dict.fromkeys(texts))))
    return names


def slack_of_bars(edges: Floats) -> float:
    """Return by how much an end may be rounded where bars have these edges (K + 1,)."""
    return float(edges[-1] / FINEST - edges[0] / FINEST)  # their difference may overflow


class Run(NamedTuple):
    """Neighbouring values: the last one before them, the first, the last, and the first one after them."""

    before: float
    first: float
    last: float
    after: float


def range_in_words(run: Run, slack: float, kind: Kind, measure: Measure = PLAIN, start: float | None = None) -> str:
    """Return the roundest range that has the values of a run. slack : by which an end may be rounded. start : the lower
    one, if that was chosen."""
    if kind == "date":
        days = day_between(run.before, run.first, upper=False).text, day_between(run.last, run.after, upper=True).text
        return " to ".join(dict.fromkeys(days))
    if run.first == run.last:
        return cut_in_words(run.first, measure)
    ends = (window(run.before, run.first, slack, upper=False), window(run.last, run.after, slack, upper=True))
    low, high = (read(roundest(first, last, near)) for first, near, last in ends)
    return measure.dress(f"{measure.in_full(low if start is None else start)} to {measure.in_full(high)}")


def _unknown(low: float, high: float, kind: Kind, measure: Measure) -> str:
    """Return a range of which nobody knows the values beside its ends, to six digits."""
    if kind == "date":
        return " to ".join(dict.fromkeys(str(as_date(end).date()) for end in (low, high)))
    return measure.dress(" to ".join(dict.fromkeys(measure.number(end, exact(end, 6)) for end in (low, high))))


def is_two_valued(bins: Bins) -> bool:
    """Return whether a number has two values in training."""
    ends = np.array([bins.low, bins.high])
    both = np.array_equal(bins.display, ends) and np.array_equal(bins.beside, ends[:, None])
    return bins.feature.kind == "number" and both


def slack_of(display: Floats, low: float, high: float) -> float:
    """Return by how much a number may be rounded where no other value is near. display : typical values along the axis,
    which is from `low` to `high`."""
    return (float(np.ptp(np.quantile(display, [0.05, 0.95]))) or high - low) / FINEST


def _day(low: float, cut: float, high: float) -> float:
    """Return a moment above one and up to another: the nearest day to a cut, or what of a day is between them."""
    for parts in (1, *PARTS_OF_DAY):
        for moment in (round(cut * parts) / parts, math.floor(high * parts) / parts):
            if low < moment <= high:
                return moment
    return cut


@dataclass(frozen=True)
class End:
    """One end of a printed range: as text, and the number that it says."""

    text: str
    value: float


def window(below: float, above: float, slack: float, upper: bool) -> tuple[float, float, float]:
    """Return the lowest, the nearest and the highest number that may be printed as the end of a range next to a border
    between two values: the first one after it, or (upper) the last before it. slack : by which it may be moved."""
    if upper:
        return below, below, min(float(np.nextafter(above, -np.inf)), below + slack)
    return max(float(np.nextafter(below, np.inf)), above - slack), above, above


def day_between(below: float, above: float, upper: bool) -> End:
    """Return the end of a range next to a border between two moments as a day, or as a moment where both are on one
    day."""
    own, other = (below, above) if upper else (above, below)
    if math.isfinite(other) and math.floor(own) == math.floor(other):
        for parts in PARTS_OF_DAY:
            moment = (math.ceil(own * parts) if upper else math.floor(own * parts)) / parts
            if below <= moment < above if upper else below < moment <= above:
                return End(stamp(moment), moment)
        return End(stamp(own), own)
    day = math.floor(own)
    return End(str(as_date(day).date()), float(np.nextafter(day + 1.0, day)) if upper else float(day))


def cut_in_words(end: float, measure: Measure, date: bool = False, column: str = "") -> str:
    """Return a cut in words that read back as itself: in its column's form where that is the same number, else with all
    its digits. end : in days since 1970-01-01 for dates. column : whose name may say that it holds years."""
    measure = measure.of_years(is_year_of(column, end))
    if date:
        return stamp(end).removesuffix(" 00:00:00")
    return measure.dress(measure.in_full(end))
