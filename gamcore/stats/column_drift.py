"""Drift between two versions of a table: columns added and removed, and the distributions of those in both.

Two versions may share rows. The tests assume that they do not, so shared rows make drift look smaller, never larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, ks_2samp

from gamcore.common.numbers import count, counted, number, percent
from gamcore.common.types import Floats
from gamcore.data.columns import Kind, TableError, read_dates, read_numbers, read_texts
from gamcore.data.dates import as_date
from gamcore.data.labels import levels_in_words
from gamcore.data.table import Table
from gamcore.stats.intervals import ALPHA, FEWEST_EXPECTED, adjusted_by_holm, p_of_rates
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

Verdict = Literal["moved", "moved little", "no change", "too few rows", "dates", "unusable"]

VERDICTS: Final[dict[Verdict, str]] = {
    "moved": "moved",
    "moved little": "moved a little",
    "no change": "no significant change",
    "too few rows": "too few rows to tell",
    "dates": "see the ranges",
    "unusable": "cannot be compared",
}
MOST_ROWS: Final = 100_000
"""Most rows of a version that are compared; larger versions are sampled."""
LITTLE: Final = 0.05
"""Distance below which a significant move counts as little."""
BLUNT: Final = 0.25
"""Where only distances above this could be significant, a test without a finding is inconclusive."""
MOST_NAMED: Final = 3


@dataclass(frozen=True)
class ColumnMove:
    """How one column moved.

    distance : 0 where nothing moved, 1 where the two have nothing in common. Numbers: the Kolmogorov-Smirnov distance;
        levels: the total variation distance; dates: NaN, as they are described by their ranges.
    p, p_missing : p values of no change in the values and in the missing share, adjusted by Holm over all columns; NaN
        where untested.
    detectable : the smallest distance that is significant with this number of rows.
    came, went : levels added and removed. words : what moved, in words.
    """

    name: str
    kind: Kind | None
    verdict: Verdict
    distance: float
    p: float
    p_missing: float
    missing_then: float
    missing_now: float
    detectable: float
    came: tuple[str, ...]
    went: tuple[str, ...]
    words: str

    @property
    def size(self) -> float:
        """The larger of the distance and the change of the missing share."""
        return float(np.fmax(self.distance, abs(self.missing_now - self.missing_then)))

    @property
    def has_moved(self) -> bool:
        """Whether the column moved significantly, by much or by little."""
        return self.verdict in ("moved", "moved little")


@dataclass(frozen=True)
class Moved(Explanation):
    """What moved between two versions of a table.

    came, went : columns added and removed. retyped : (column, type then, type now); these are not compared.
    columns : those in both versions, the most moved first.
    """

    came: tuple[str, ...]
    went: tuple[str, ...]
    retyped: tuple[tuple[str, str, str], ...]
    columns: tuple[ColumnMove, ...]

    def describe(self, **words: Any) -> Plot:
        """Return a bar per column: how far it moved."""
        from gamcore.stats.plots.drifts import columns_moved

        return columns_moved(self, **words)

    def words(self) -> str:
        """Summarize the moves of the distributions in one or two sentences."""
        moved = [move for move in self.columns if move.has_moved]
        few = sum(move.verdict == "too few rows" for move in self.columns)
        if not self.columns:
            return "No column is in both versions with the same type, so no distribution can be compared."
        sentence = "No column changed significantly."
        if moved:
            little = sum(move.verdict == "moved little" for move in moved)
            sentence = f"{len(moved)} of {len(self.columns)} columns changed significantly"
            sentence += f", {little} of them only a little" if little else ""
            sentence += f"; {moved[0].name} moved most." if len(moved) > 1 else f": {moved[0].name}."
        return f"{sentence} For {few} column{'s' * (few > 1)} there are too few rows to tell." if few else sentence

    def frame(self) -> pd.DataFrame:
        """Return one row per column in both versions, the most moved first."""
        rows = [
            (move.name, move.kind or "unusable", VERDICTS[move.verdict], move.words, move.distance, move.p,
             move.missing_then, move.missing_now, move.p_missing)
            for move in self.columns
        ]  # fmt: skip
        names = ["column", "type", "verdict", "how", "distance", "p", "missing then", "missing now", "p of missing"]
        return pd.DataFrame(rows, columns=names)


def what_moved(then: pd.DataFrame, now: pd.DataFrame) -> Moved:
    """Compare the newer version of a table with the older one; row order does not matter."""
    older, newer = Table.of(then), Table.of(now)
    then, now = older.frame, newer.frame
    came = tuple(name for name in now.columns if name not in then.columns)
    went = tuple(name for name in then.columns if name not in now.columns)
    retyped, moves = [], []
    for name in (name for name in now.columns if name in then.columns):
        old, new = kinds(older, newer, name)
        if old != new:
            retyped.append((name, old or "unusable", new or "unusable"))
        else:
            moves.append(_compared(then[name], now[name], new))
    moves = sorted(_judged(moves), key=lambda move: (not move.has_moved, -move.size))
    return Moved(came=came, went=went, retyped=tuple(retyped), columns=tuple(moves))


def kinds(then: Table, now: Table, name: str) -> tuple[Kind | None, Kind | None]:
    """Return the kinds of a column in two versions, None where it cannot be used.

    A version without any value takes the kind of the other.
    """
    old, new = then.usable_kind(name), now.usable_kind(name)
    if then.frame[name].isna().all():
        old = new
    elif now.frame[name].isna().all():
        new = old
    return old, new


def _compared(then: pd.Series, now: pd.Series, kind: Kind | None) -> ColumnMove:
    """Return the move of a column, with p values not yet adjusted and the verdict still open."""
    before, after = float(then.isna().mean()), float(now.isna().mean())
    p_missing = p_of_rates(before, len(then), after, len(now)) if 0 < before + after < 2 else math.nan
    start = ColumnMove(
        name=str(now.name), kind=kind, verdict="no change", distance=math.nan, p=math.nan, p_missing=p_missing,
        missing_then=before, missing_now=after, detectable=math.nan, came=(), went=(), words="",
    )  # fmt: skip
    try:
        if kind == "number":
            return _numbers(start, _or_missing(then, read_numbers), _or_missing(now, read_numbers))
        if kind == "date":
            return replace(
                start, verdict="dates", words=ranges(_or_missing(then, read_dates), _or_missing(now, read_dates))
            )
        if kind is not None:
            return _levels(start, then, now)
    except TableError as error:
        return replace(start, verdict="unusable", words=str(error))
    return replace(start, verdict="unusable", words="mixes or nests values")


def _or_missing(series: pd.Series, read: Callable[[pd.Series], Floats]) -> Floats:
    """Return the values of a column, all NaN where it has none: an empty column may be stored as text."""
    return np.full(len(series), np.nan) if series.isna().all() else read(series)


def _sample(values: NDArray[np.generic]) -> NDArray[np.generic]:
    if values.size <= MOST_ROWS:
        return values
    return np.random.default_rng(0).choice(values, MOST_ROWS, replace=False)


def _numbers(start: ColumnMove, then: Floats, now: Floats) -> ColumnMove:
    old, new = (np.asarray(_sample(values[np.isfinite(values)]), np.float64) for values in (then, now))
    if not (old.size and new.size):
        return start
    with np.errstate(divide="ignore", invalid="ignore"):  # a handful of rows gives no p value
        test = ks_2samp(old, new, method="asymp")
    least = _least(old.size, new.size)
    middle = [number(float(np.quantile(values, 0.5, method="nearest")), 4) for values in (old, new)]
    return replace(start, distance=float(test.statistic), p=float(test.pvalue) if least < 1 else 1.0, detectable=least,
                   words=f"median {middle[0]} then, {middle[1]} now")  # fmt: skip


def _levels(start: ColumnMove, then: pd.Series, now: pd.Series) -> ColumnMove:
    """Compare the shares of levels; those too rare to be tested are pooled."""
    names, old, new = _counts(then, now)
    if not (old.sum() and new.sum()):
        return start
    came = tuple(name for name, a, b in zip(names, old, new, strict=True) if not a and b)
    went = tuple(name for name, a, b in zip(names, old, new, strict=True) if a and not b)
    shares = old / old.sum(), new / new.sum()
    most = int(np.abs(shares[1] - shares[0]).argmax())
    level = levels_in_words(names[most : most + 1])
    words = f"{level}: {percent(shares[0][most])} then, {percent(shares[1][most])} now" if names else ""
    moved = {verb: levels_in_words(part, most=MOST_NAMED) for verb, part in (("came", came), ("went", went)) if part}
    words += "".join(f"; {named} {verb}" for verb, named in moved.items())
    sizes = min(old.sum(), MOST_ROWS), min(new.sum(), MOST_ROWS)
    old, new = shares[0] * sizes[0], shares[1] * sizes[1]  # no more rows than are compared for numbers
    rare = (old + new) * min(sizes) / sum(sizes) < FEWEST_EXPECTED
    if old.size > 2 and rare.any():
        old, new = (np.append(counts[~rare], counts[rare].sum()) for counts in (old, new))
        if old[-1] > old.sum() / 2 or new[-1] > new.sum() / 2:  # an ID, say: no level has enough rows
            summary = f"{count(len(names))} levels, most of them rare; {count(len(came))} came, {count(len(went))} went"
            return replace(start, verdict="too few rows", came=came, went=went, words=summary)
    distance = float(np.abs(old / old.sum() - new / new.sum()).sum() / 2)
    return replace(start, distance=distance, p=_p_of_levels(old, new), came=came, went=went, words=words,
                   detectable=_least(*sizes))  # fmt: skip


def _counts(then: pd.Series, now: pd.Series) -> tuple[list[str], Floats, Floats]:
    """Return all levels of two columns, and the number of rows of each in either."""
    (old, old_names), (new, new_names) = read_texts(then), read_texts(now)
    place = {name: i for i, name in enumerate(dict.fromkeys([*old_names, *new_names]))}
    counted = []
    for codes, names in ((old, old_names), (new, new_names)):
        counts = np.zeros(len(place))
        counts[[place[name] for name in names]] = np.bincount(codes[codes >= 0], minlength=len(names))
        counted.append(counts)
    return list(place), counted[0], counted[1]


def _p_of_levels(old: Floats, new: Floats) -> float:
    """Return the p value of equal shares; levels with too few rows are left out."""
    if old.size == 2:
        return p_of_rates(float(old[0] / old.sum()), float(old.sum()), float(new[0] / new.sum()), float(new.sum()))
    n, m = old.sum(), new.sum()
    enough = (old + new) * min(n, m) / (n + m) >= FEWEST_EXPECTED
    if enough.sum() < 2:
        return 1.0
    return float(chi2_contingency(np.stack([old[enough], new[enough]]), correction=False).pvalue)


def _least(n: float, m: float) -> float:
    """Return the smallest distance with p under 5% in a single test (Smirnov's limit)."""
    return math.sqrt(-math.log(ALPHA / 2) / 2 * (n + m) / (n * m))


def _judged(moves: list[ColumnMove]) -> list[ColumnMove]:
    """Return the moves with p values adjusted over all columns, and their verdicts."""
    p = np.array([[move.p, move.p_missing] for move in moves]).reshape(-1, 2)
    tested = np.isfinite(p)
    p[tested] = adjusted_by_holm(p[tested])
    wider = math.sqrt(1 + math.log(max(int(tested.sum()), 1)) / -math.log(ALPHA / 2))  # for all tests together
    judged = []
    for move, (own, of_missing) in zip(moves, p, strict=True):
        one_judged = replace(move, p=float(own), p_missing=float(of_missing), detectable=move.detectable * wider)
        judged.append(replace(one_judged, verdict=_verdict(one_judged), words=_with_missing(one_judged)))
    return judged


def _verdict(move: ColumnMove) -> Verdict:
    if move.verdict == "unusable":
        return move.verdict
    sizes = [size for size, p in ((move.distance, move.p), (abs(move.missing_now - move.missing_then), move.p_missing))
             if p < ALPHA]  # fmt: skip
    if sizes:
        return "moved" if max(sizes) >= LITTLE else "moved little"
    if move.verdict != "no change":
        return move.verdict
    return "too few rows" if not move.detectable <= BLUNT else "no change"


def _with_missing(move: ColumnMove) -> str:
    if not move.p_missing < ALPHA:
        return move.words
    words = f"missing in {percent(move.missing_then)} then, {percent(move.missing_now)} now"
    return f"{move.words}; {words}" if move.words else words


def ranges(then: Floats, now: Floats) -> str:
    """Describe the date ranges (in days since 1970-01-01) of two versions, and their overlap."""
    old, new = then[np.isfinite(then)], now[np.isfinite(now)]
    if not (old.size and new.size):
        return "no dates in one of the two"
    (a, b), (c, d) = ((int(np.floor(days.min())), int(np.floor(days.max()))) for days in (old, new))
    periods = f"{as_date(a).date()} to {as_date(b).date()} then, {as_date(c).date()} to {as_date(d).date()} now"
    gap, shared = max(a, c) - min(b, d) - 1, min(b, d) - max(a, c) + 1
    if (a, b) == (c, d):
        return f"{as_date(a).date()} to {as_date(b).date()} in both"
    if gap < 0:
        return f"{periods}: {_of_days(shared)} in both"
    return f"{periods}: none in both, {_of_days(gap)} between" if gap else f"{periods}: one follows the other"


def _of_days(number: int) -> str:
    return counted(number, "day")
