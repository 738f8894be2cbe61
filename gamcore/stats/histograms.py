"""The distribution of a column in two versions of a table, on the same bars."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.columns import Kind, TableError, read_dates, read_numbers, read_texts
from gamcore.data.cuts import beside_edges, names_of_bars
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

BARS: Final = 30
MOST_LEVELS: Final = 12
OTHERS: Final = "(all others)"
TAIL: Final = 0.005
"""Share of the rows at either end of each version that the bars may leave out."""
LARGEST_WHOLE: Final = 2.0**50
"""Size from which halves between whole numbers lose precision."""


@dataclass(frozen=True)
class Overlay(Explanation):
    """Shares (K,) of the rows with a value, then and now.

    edges : (K + 1,) of numbers and dates (in days since 1970-01-01); beside : (2, K + 1) the values of both versions
    next to these, as in `cuts.beside_edges`; labels : (K,) of levels. missing : shares of all rows, then and now.
    measure : unit and form of its values.
    """

    name: str
    kind: Kind
    then: Floats
    now: Floats
    missing: tuple[float, float]
    edges: Floats = field(default_factory=lambda: np.empty(0))
    beside: Floats = field(default_factory=lambda: np.empty((2, 0)))
    labels: tuple[str, ...] = ()
    measure: Measure = PLAIN

    def describe(self, title: str = "", **words: Any) -> Plot:
        """Return the plot of both distributions, one over the other."""
        from gamcore.stats.plots.overlays import moved

        return moved(self, title or f"{self.name} then and now", **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per bar; missing cells come last, with their shares of all rows."""
        places = self.labels or names_of_bars(self.edges, self.beside, self.kind, self.measure)
        return pd.DataFrame({
            "value": [*places, "(missing)"], "then": [*self.then, self.missing[0]],
            "now": [*self.now, self.missing[1]],
        })  # fmt: skip


def overlay(then: pd.Series, now: pd.Series, kind: Kind) -> Overlay:
    """Return the overlay of two versions of a column; TableError where one of them has no value."""
    name, missing = str(now.name), (float(then.isna().mean()), float(now.isna().mean()))
    if max(missing) == 1.0:
        raise TableError(f"Column {name!r} has no value in one of the two versions: choose another.")
    if kind in ("category", "boolean"):
        labels, old, new = _levels(then, now)
        return Overlay(name, kind, old, new, missing, labels=labels)
    read = read_dates if kind == "date" else read_numbers
    values = [cells[np.isfinite(cells)] for cells in (read(then), read(now))]
    edges = edges_of(values)
    old, new = (np.histogram(cells, edges)[0] / cells.size for cells in values)
    beside = beside_edges(np.concatenate(values), edges)
    return Overlay(name, kind, then=old, now=new, missing=missing, edges=edges, beside=beside)


def edges_of(values: list[Floats], bars: int = BARS) -> Floats:
    """Return the edges of equal bars that cover one or several sets of values (n,) except their tails."""
    ends = [np.quantile(cells, (TAIL, 1 - TAIL), method="nearest") for cells in values]
    low, high = float(min(low for low, _ in ends)), float(max(high for _, high in ends))
    whole = all(np.all(cells == np.floor(cells)) for cells in values)
    if whole and max(abs(low), abs(high)) < LARGEST_WHOLE:  # a whole number of values per bar, else some look empty
        width = max(float(np.ceil((high - low + 1) / bars)), 1.0)
        bars = int(np.ceil((high - low + 1) / width))
        return np.asarray(low - 0.5 + width * np.arange(bars + 1))
    narrowest = bars * 2.0**-50 * max(abs(low), abs(high), 1.0)
    if high / 2 - low / 2 < narrowest:
        low, high = low - narrowest, high + narrowest
    return np.asarray(2 * np.linspace(low / 2, high / 2, bars + 1))  # halved, as high - low may overflow


def _levels(then: pd.Series, now: pd.Series) -> tuple[tuple[str, ...], Floats, Floats]:
    """Return the most frequent levels and their shares in both versions; all other levels are pooled, last."""
    shares = []
    for series in (then, now):
        codes, names = read_texts(series)
        counts = pd.Series(np.bincount(codes[codes >= 0], minlength=len(names)), names, float)
        shares.append(counts / counts.sum())
    both = pd.concat(shares, axis=1).fillna(0.0)
    both = both[both.sum(axis=1) > 0]
    both = both.iloc[np.argsort(-both.max(axis=1).to_numpy(), kind="stable")]
    shown, rest = both.iloc[:MOST_LEVELS], both.iloc[MOST_LEVELS:]
    labels = [*shown.index, OTHERS] if len(rest) else [*shown.index]
    columns = [shown.iloc[:, k].tolist() + ([float(rest.iloc[:, k].sum())] if len(rest) else []) for k in (0, 1)]
    return tuple(map(str, labels)), np.array(columns[0]), np.array(columns[1])
