"""Bins: a feature's values as codes, of one byte where 254 bins will do, else of two.

    code    0         1 .. K                              K + 1
            missing   values left to right, or levels     unseen

Numbers: K - 1 cuts, x >= cut goes right, so bin k holds cuts[k-2] <= x < cuts[k-1]. Each bin is about equally heavy,
except that a value that fills a bin by itself keeps one of its own (the rule of Lou's MLTK).
Categories: a bin per level, the rare ones pooled into the last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.columns import MISSING, UNSEEN
from gamcore.data.numbers_in_order import code_type, codes_of, distinct_values
from gamcore.data.own_bins import LEARNT, OwnBins
from gamcore.data.sentinels import sentinels
from gamcore.data.table import Feature, Table, Values, as_table, read_feature
from gamcore.kernels import CODE, MOST_CODES, N_CODES

MAX_VALUES = MOST_CODES - 2
"""Most bins of values, or levels, of a feature."""

RARE_ROWS = 10
"""A level with fewer rows is pooled; in tables under 500 rows, one with fewer than a fiftieth of the rows."""

FEWEST_ROWS = 2
"""Rows that a level needs where there are more levels than a byte has codes: see `kernels.shrunken_levels`."""

MOST_RARE_NAMES = 10_000
"""Pooled levels a model remembers by name, the most frequent first; the others count as unseen at prediction."""


@dataclass(frozen=True)
class Bins:
    """The bins of one feature.

    cuts : (K - 1,) ascending, numbers and dates; empty for categories.
    display : (K,) a typical value of each bin (its weighted median), numbers and dates.
    levels : the level of each bin, or the first of several, for categories; a last bin of pooled levels has no name
        here.
    pooled : names of the levels in the last bin.
    merged : by the level of a bin, the others that share it by choice (`data.own_bins`).
    low, high : range of the values seen, numbers and dates.
    beside : (2, K - 1) for each cut, the training values next to it below and above: any number between them, or the
        upper one, cuts the same rows. Empty where it is not known.
    sentinels : values of a number that stand for no amount (`data.sentinels`).
    """

    feature: Feature
    cuts: Floats
    display: Floats
    levels: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    low: float = np.nan
    high: float = np.nan
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    beside: Floats = field(default_factory=lambda: np.empty((2, 0)))
    sentinels: tuple[float, ...] = ()

    @property
    def members(self) -> tuple[tuple[str, ...], ...]:
        """The levels of each value bin, for categories."""
        of_levels = tuple((level, *self.merged.get(level, ())) for level in self.levels)
        return (*of_levels, self.pooled) if self.pooled else of_levels

    @property
    def codes_of_levels(self) -> dict[str, int]:
        """The code of each level that is known by name, for categories."""
        return {level: k + 1 for k, levels in enumerate(self.members) for level in levels}

    @property
    def n_values(self) -> int:
        """Number K of value bins, without the missing and the unseen bin."""
        if self.feature.is_category:
            return len(self.levels) + bool(self.pooled)
        return self.display.size

    @property
    def unseen(self) -> int:
        """Code of values never seen in training."""
        return self.n_values + 1

    @property
    def size(self) -> int:
        """Number of codes: values, missing and unseen."""
        return self.n_values + 2

    @property
    def dtype(self) -> type:
        """The type of its codes."""
        return code_type(self.size)

    @property
    def of_sentinels(self) -> NDArray[np.bool_]:
        """Which codes (size,) hold a sentinel."""
        marks = np.zeros(self.size, bool)
        marks[codes_of(np.array(self.sentinels, np.float64), self.cuts)] = bool(self.sentinels)
        return marks

    def encode(self, values: Values) -> Codes:
        """Return the codes (n,) of values read by `table.read_feature`."""
        if not self.feature.is_category:
            return codes_of(values.astype(np.float64, copy=False), self.cuts if self.n_values else None)
        place = self.codes_of_levels
        lookup: Codes = np.array([place.get(level, self.unseen) for level in self.feature.levels] + [0, 0], self.dtype)
        lookup[UNSEEN], lookup[MISSING] = self.unseen, 0  # negative codes count from the end
        return np.asarray(lookup[values.astype(np.int32, copy=False)])

    def encode_training(self, values: Values) -> Codes:
        """Return the codes (n,) of the values that the bins were learnt from.

        A rare level beyond those remembered by name gets the pooled bin. Nothing is unseen in training.
        """
        codes = self.encode(values)
        if self.pooled:
            codes[codes == self.unseen] = self.n_values
        return codes


@dataclass(frozen=True)
class Binned:
    """A table as codes, one contiguous row per feature: all of the type that its widest feature needs."""

    codes: Codes  # (p, n)
    bins: tuple[Bins, ...]


def _heavy_atom_ends(running: Floats, n_bins: int) -> NDArray[np.int64]:
    """Return the index of the last distinct value of each bin, given running sums (n + 1,) of their weights from 0 on.

    The target of a bin is the remaining weight divided by the remaining bins. A bin closes before or after the value
    that reaches its target, whichever is nearer, but holds at least one value.
    """
    total, n_values = running.data, running.size - 1  # of which plain numbers are read fast
    ends: list[int] = []
    start = 0
    while start < n_values and len(ends) < n_bins - 1:
        target = (total[-1] - total[start]) / (n_bins - len(ends))
        reach = bisect_left(total, total[start] + target)  # values start .. reach - 1 reach it
        if reach > n_values:
            break
        over = total[reach] - total[start] - target
        under = target - (total[reach - 1] - total[start])
        end = reach - 1 if reach - 1 == start or over < under else reach - 2
        ends.append(end)
        start = end + 1
    if start < n_values:
        ends.append(n_values - 1)
    return np.array(ends, np.int64)


def _midpoints(lower: Floats, upper: Floats) -> Floats:
    """Return cuts between neighbouring values, above the lower one even where they are adjacent floats."""
    middle = lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)


def _bin_numbers(feature: Feature, values: Floats, weights: Floats | None, max_values: int, own: Floats) -> Bins:
    missing = np.isnan(values)
    if missing.all():
        return Bins(feature, np.empty(0), np.empty(0))
    if missing.any():
        values, weights = values[~missing], None if weights is None else weights[~missing]
    distinct, heavy = distinct_values(values, weights)
    low, high = float(distinct[0]), float(distinct[-1])
    running = np.concatenate([[0.0], np.cumsum(heavy)])
    if own.size:  # cuts beyond the values would leave bins that no row can reach
        cuts = own[(own > low) & (own <= high)]
        ends = np.append(np.searchsorted(distinct, cuts), distinct.size) - 1
    else:
        few = distinct.size <= max_values
        ends = np.arange(distinct.size) if few else _heavy_atom_ends(running, max_values)
        cuts = _midpoints(distinct[ends[:-1]], distinct[ends[:-1] + 1])
    before = running[np.concatenate([[0], ends[:-1] + 1])]
    median = np.searchsorted(running[1:], (before + running[ends + 1]) / 2)
    edges = np.concatenate([[low], cuts, [high]])
    has_rows = running[ends + 1] > before
    display = np.where(has_rows, distinct[median.clip(max=distinct.size - 1)], edges[:-1] / 2 + edges[1:] / 2)
    beside = np.stack([distinct[ends[:-1]], distinct[ends[:-1] + 1]])
    alone = sentinels(distinct, heavy) if feature.kind == "number" else np.zeros(0, bool)
    codes = tuple(distinct[: alone.size][alone].tolist())
    return Bins(feature, cuts, display, low=low, high=high, beside=beside, sentinels=codes)


def _bin_levels(
    feature: Feature, counts: Ints, n_rows: int, max_values: int, merged: Mapping[str, tuple[str, ...]]
) -> Bins:
    """Return the bins of a category, given the rows of each level and of all."""
    place = {level: k for k, level in enumerate(feature.levels)}
    names = [level for others in merged.values() for level in others]
    first, others = [place[level] for level in merged], [place[level] for level in names if level in place]
    counts[first], counts[others] = n_rows, 0  # merged bins are kept however few rows they have
    if feature.part != "value" or feature.kind == "boolean":
        return Bins(feature, np.empty(0), np.empty(0), levels=feature.levels)
    often = counts >= max(1, min(RARE_ROWS, n_rows // 50))
    if min(often.sum(), max_values) > N_CODES - 2:  # the effects of so many are shrunken
        often = counts >= FEWEST_ROWS
    if often.sum() + (often.sum() + len(others) < often.size) > max_values:
        heaviest = np.argsort(-counts, kind="stable")[: max_values - 1]
        often &= np.isin(np.arange(counts.size), heaviest)
    rare = np.setdiff1d(np.flatnonzero(~often), others)
    rare = rare[np.argsort(-counts[rare], kind="stable")][:MOST_RARE_NAMES]
    kept = tuple(feature.levels[i] for i in np.flatnonzero(often))
    pooled = tuple(feature.levels[i] for i in np.sort(rare))
    feature = replace(feature, levels=feature.levels + tuple(level for level in names if level not in place))
    return Bins(feature, np.empty(0), np.empty(0), levels=kept, pooled=pooled, merged=merged)


def fit_bins(
    feature: Feature,
    values: Values,
    weights: Floats | None,
    max_bins: int,
    max_levels: int | None = None,
    own: OwnBins = LEARNT,
) -> Bins:
    """Return the bins of one feature from its training values.

    max_bins : the missing and the unseen bin included. max_levels : the same of a category, if not as many. own : those
    that were chosen, which no limit touches.
    """
    if feature.is_category:
        codes = values.astype(np.int64)
        counts = np.bincount(codes[codes >= 0], minlength=len(feature.levels))
        return fit_levels(feature, counts, codes.size, max_bins if max_levels is None else max_levels, own)
    return _bin_numbers(feature, values.astype(np.float64), weights, min(max_bins - 2, MAX_VALUES), own.cuts)


def fit_levels(feature: Feature, counts: Ints, n_rows: int, max_levels: int, own: OwnBins = LEARNT) -> Bins:
    """Return the bins of a category, given the training rows of each of its levels (L,), and of all.

    max_levels, own : as in `fit_bins`.
    """
    return _bin_levels(feature, counts.copy(), n_rows, min(max_levels - 2, MAX_VALUES), own.merged)


def most_levels(max_bins: int) -> int:
    """Return how many codes a category may have beside numbers with `max_bins`: all, unless few bins are wanted."""
    return MOST_CODES if max_bins >= N_CODES else max_bins


def bin_table(
    frame: pd.DataFrame | Table,
    features: tuple[Feature, ...],
    weights: Floats | None = None,
    max_bins: int = N_CODES,
    max_levels: int | None = None,
    own: Sequence[OwnBins] = (),
) -> Binned:
    """Learn the bins of a training table and encode it.

    weights : (n,) make heavier rows count more in the cuts. own : those that were chosen, for each feature, or none.
    """
    table = as_table(frame)
    codes: Codes = np.empty((len(features), len(table)), CODE)
    bins = []
    for j, feature in enumerate(features):
        values = read_feature(table, feature)
        chosen = own[j] if own else LEARNT
        bins.append(fit_bins(feature, values, weights, max_bins, max_levels=max_levels, own=chosen))
        codes = codes.astype(np.promote_types(codes.dtype, bins[-1].dtype), copy=False)
        codes[j] = bins[-1].encode_training(values)
    return Binned(codes, tuple(bins))


def type_of_all(bins: Sequence[Bins]) -> type:
    """Return the type that holds the codes of all features."""
    return code_type(max((of_feature.size for of_feature in bins), default=0))


def encode_table(frame: pd.DataFrame | Table, bins: tuple[Bins, ...], in_training: bool = False) -> Codes:
    """Return the codes (p, n) of a table by learnt bins; `in_training`: it is the table they were learnt from."""
    table = as_table(frame)
    codes: Codes = np.empty((len(bins), len(table)), type_of_all(bins))
    for j, of_feature in enumerate(bins):
        values = read_feature(table, of_feature.feature)
        codes[j] = of_feature.encode_training(values) if in_training else of_feature.encode(values)
    return codes


def columns_of(bins: Sequence[Bins]) -> list[str]:
    """Return the columns that features are read from, each once."""
    return list(dict.fromkeys(of_feature.feature.column for of_feature in bins))


def merge_bins(count: Floats, line: NDArray[np.int64], most: int, offset: float) -> NDArray[np.uint8]:
    """Return the codes (V,) of about `most` (at most 254) bins of equal weight, merged from neighbouring codes.

    count : (size,) rows per code; line : (K,) the codes of values in order; offset : share of a bin,
    in [0, 1), by which all borders move. A code heavier than a bin counts as one bin; the others share the rest. Codes
    not in `line` (missing, unseen) become 0.
    """
    merged = np.zeros(max(N_CODES, count.size), np.uint8)
    if line.size <= most:
        merged[line] = np.arange(1, line.size + 1)
        return merged
    weight = np.maximum(count[line].astype(np.float64), 1e-9)
    for _ in range(20):  # codes heavier than a bin count as one bin
        weight = np.minimum(weight, weight.sum() / most)
    middle = np.cumsum(weight) - weight / 2
    bins = np.floor(middle / weight.sum() * most + offset).astype(np.int64)
    merged[line] = 1 + np.unique(bins, return_inverse=True)[1]
    return merged
