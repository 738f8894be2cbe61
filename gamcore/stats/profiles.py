"""What a column holds: its range, quantiles and levels, and how a target goes along with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.numbers import decimals_of, number, percent, within
from gamcore.common.types import Floats, Ints
from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.columns import MISSING, Kind, TableError, read_dates, read_numbers, read_texts
from gamcore.data.cuts import Run, beside_edges, names_of_bars, range_in_words, slack_of_bars
from gamcore.data.dates import as_date
from gamcore.data.years import are_years
from gamcore.stats.histograms import BARS, MOST_LEVELS, OTHERS, edges_of
from gamcore.stats.intervals import student, wilson
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

ROWS_PER_BAR: Final = 60
FEWEST_BARS: Final = 6
"""A small table has fewer bars: a mean needs some rows."""

FEWEST_NAMED: Final = 20
"""Fewest rows of a bar that the sentence names."""

OUTSIDE: Final = -2
"""The code of a value beyond the bars."""

QUANTILES: Final = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Target:
    """What is observed beside a column: y (n,), NaN where unknown; its name; whether it is 0 or 1."""

    y: Floats
    name: str
    binary: bool


@dataclass(frozen=True)
class Means:
    """How a target goes along with a column.

    name : of the target. binary : whether means are shares of ones.
    of_all, of_missing : its mean over all rows, and where the column is missing.
    values, lower, upper : (K,) its mean per bar, with the 95% interval.
    """

    name: str
    binary: bool
    of_all: float
    of_missing: float
    values: Floats
    lower: Floats
    upper: Floats

    @property
    def title(self) -> str:
        """What the means are of."""
        return f"share of {self.name}" if self.binary else f"mean of {self.name}"

    def mean_words(self, k: int) -> str:
        """Return the mean of a bar, with the digits that its interval leaves."""
        value, ends = float(self.values[k]), (float(self.lower[k]), float(self.upper[k]))
        return percent(value) if self.binary else within(value, ends, decimals_of([value]))


@dataclass(frozen=True)
class Profile(Explanation):
    """What a column holds.

    quantiles : (9,) of numbers and dates (in days since 1970-01-01), at QUANTILES. counts : (K,) rows per bar; edges :
    (K + 1,) of numbers and dates, beside : (2, K + 1) the values next to these, as in `cuts.beside_edges`; labels :
    (K,) of levels, the most frequent first. middle : the values from the first quartile to the third, which
    `middle_share` of the rows with a value have. means : those of a target, if one was given. outside : rows with a
    value beyond the bars. measure : unit and form of its values.
    """

    name: str
    kind: Kind
    rows: int
    missing: int
    distinct: int
    counts: Ints
    edges: Floats = field(default_factory=lambda: np.empty(0))
    beside: Floats = field(default_factory=lambda: np.empty((2, 0)))
    labels: tuple[str, ...] = ()
    quantiles: Floats = field(default_factory=lambda: np.empty(0))
    middle: Run | None = None
    middle_share: float = float("nan")
    mean: float = float("nan")
    deviation: float = float("nan")
    outside: int = 0
    means: Means | None = None
    measure: Measure = PLAIN

    def describe(self, detail: str = "", **words: Any) -> Plot:
        """Return the plot of the column's distribution, and of the target's mean along it."""
        from gamcore.stats.plots.profiles import profile

        return profile(self, detail, **words)

    def words(self) -> str:
        """Return in a sentence what is most worth knowing: how far the target moves, or where most rows are."""
        enough, means = np.flatnonzero(self.counts >= FEWEST_NAMED), self.means
        if means is not None and np.isfinite(means.values[enough]).sum() > 1:
            low, high = (int(enough[pick(means.values[enough])]) for pick in (np.nanargmin, np.nanargmax))
            if not means.upper[low] < means.lower[high]:
                return f"{means.name} does not clearly differ along {self.name}: the intervals overlap"
            ends, parts = [means.mean_words(k) for k in (low, high)], self.parts
            least = f"{means.name}{':' if means.binary else ' is'} {ends[0]} where {self.name} is {parts[low]}"
            return f"{least}, {ends[1]} where it is {parts[high]}"
        if self.middle is None:
            share = self.counts[0] / max(self.counts.sum(), 1)
            return f"{percent(share, 0)} of the rows with a value are {self.labels[0]}"
        where = range_in_words(self.middle, slack_of_bars(self.edges), self.kind, self._written_as)
        rows = f"{percent(self.middle_share, 0)} of the rows with a value are"
        return f"{rows} {where}" if self.middle.first == self.middle.last else f"{rows} from {where}"

    @property
    def parts(self) -> Sequence[str]:
        """The bars in words (K,): levels, or ranges of which each has the rows of its bar and no other."""
        return self.labels or names_of_bars(self.edges, self.beside, self.kind, self.measure)

    def say(self, *ends: float) -> str:
        """Return one of its values, or a range of them, in words."""
        if self.kind == "date":
            return " to ".join(str(as_date(end).date()) for end in ends)
        measure = self._written_as
        return measure.dress(" to ".join(measure.number(end, number(end, 4)) for end in ends))

    @property
    def _written_as(self) -> Measure:
        """Unit and form of its numbers; years are known by its values."""
        return self.measure.of_years(self.kind == "number" and are_years(self.beside[np.isfinite(self.beside)]))

    def frame(self) -> pd.DataFrame:
        """Return one row per bar; missing cells come last."""
        n = np.append(self.counts, self.missing)
        frame = pd.DataFrame({"value": [*self.parts, "(missing)"], "rows": n, "share": n / max(self.rows, 1)})
        if (means := self.means) is None:
            return frame
        unknown = [np.nan]
        return frame.assign(
            mean=[*means.values, means.of_missing], lower=[*means.lower, *unknown], upper=[*means.upper, *unknown]
        ).rename(columns={"mean": means.title})


def profile(series: pd.Series, kind: Kind, target: Target | None = None) -> Profile:
    """Return what a column holds, by the target if one is given; TableError where it has no value."""
    filled = series.notna().to_numpy()
    name, rows = str(series.name), len(series)
    if not filled.any():
        raise TableError(f"Column {name!r} has no value in these rows: choose another column, or other rows.")
    if kind in ("category", "boolean"):
        codes, labels, distinct = _levels(series)
        parts = Profile(
            name, kind, rows, missing=int((~filled).sum()), distinct=distinct,
            counts=np.bincount(codes[codes >= 0], minlength=len(labels)), labels=labels,
        )  # fmt: skip
    else:
        parts, codes = _numbers(series, kind, filled)
    return parts if target is None else _by_target(parts, np.where(filled, codes, MISSING), target)


def _numbers(series: pd.Series, kind: Kind, filled: np.ndarray) -> tuple[Profile, Ints]:
    values = read_dates(series) if kind == "date" else read_numbers(series)
    known = values[filled]
    edges = edges_of([known], int(np.clip(known.size // ROWS_PER_BAR, FEWEST_BARS, BARS)))
    codes = np.searchsorted(edges, values, side="right") - 1
    codes[values == edges[-1]] = edges.size - 2
    codes = np.where(filled & (codes >= 0) & (codes < edges.size - 1), codes, OUTSIDE).astype(np.int64)
    with np.errstate(over="ignore"):
        mean, deviation = float(np.mean(known)), float(np.std(known))
    counts = np.bincount(codes[codes >= 0], minlength=edges.size - 1)
    middle = _middle(known)
    return Profile(
        str(series.name), kind, len(series), missing=int((~filled).sum()), distinct=len(np.unique(known)),
        counts=counts, edges=edges, beside=beside_edges(known, edges), quantiles=np.quantile(known, QUANTILES),
        middle=middle, middle_share=float(np.mean((known >= middle.first) & (known <= middle.last))), mean=mean,
        deviation=deviation, outside=int(known.size - counts.sum()),
    ), codes  # fmt: skip


def _middle(values: Floats) -> Run:
    """Return the values (n,) from the first quartile to the third, and those next to them."""
    first, last = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
    before, after = (values[values < first].max(initial=-np.inf), values[values > last].min(initial=np.inf))
    return Run(*map(float, (before, first, last, after)))


def _levels(series: pd.Series) -> tuple[Ints, tuple[str, ...], int]:
    """Return the place of each row among the most frequent levels (-1 missing), their names, and how many there are."""
    codes, names = read_texts(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    shown = order if order.size <= MOST_LEVELS + 1 else order[:MOST_LEVELS]
    place = np.full(len(names) + 1, shown.size, np.int64)
    place[shown], place[-1] = np.arange(shown.size), -1
    labels = tuple(names[k] for k in shown) + ((OTHERS,) if shown.size < order.size else ())
    return place[codes], labels, int(order.size)


def _by_target(parts: Profile, codes: Ints, target: Target) -> Profile:
    """Return a profile with the mean of a target per bar."""
    known = np.isfinite(target.y)
    values, lower, upper = (np.full(parts.counts.size, np.nan) for _ in range(3))
    for k in range(parts.counts.size):
        y = target.y[known & (codes == k)]
        if y.size:
            values[k] = y.mean()
            lower[k], upper[k] = wilson(values[k], y.size) if target.binary else student(y)
    whole, gone = (
        float(y.mean()) if y.size else float("nan") for y in (target.y[known], target.y[known & (codes == MISSING)])
    )
    return replace(parts, means=Means(target.name, target.binary, whole, gone, values=values, lower=lower, upper=upper))
