"""One pass over a table whose rows are not in memory, which selects the training rows and codes them.

The held-out rows of the table follow from those of its sample, which the pages show: the same rows, all rows of the
sample's held-out groups, or all rows at least as late as its earliest held-out row. All other rows are trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.boosting.rows.sums import PartInMemory
from gamcore.common.types import Bools, Codes, Floats, Ints
from gamcore.data.binning import MOST_RARE_NAMES, Bins, fit_bins, most_levels, type_of_all
from gamcore.data.columns import UNSEEN, TableError, hash_texts, read_dates, read_numbers, read_texts
from gamcore.data.own_bins import OwnBins
from gamcore.data.sampling import buckets
from gamcore.data.table import Feature, Table, Values, as_table, read_feature
from gamcore.data.targets import read_numeric_target
from gamcore.stats.exact import Moments
from shapewise.training.dataset import choose, read_exposure, read_groups, read_weights
from shapewise.training.spec import Spec

MOST_NEW_NAMES: Final = 5 * MOST_RARE_NAMES
"""Levels missing from the sample that are counted at a time; beyond this, the rarest are dropped."""


def learn_bins(
    table: Table,
    features: tuple[Feature, ...],
    weight: Floats | None,
    max_bins: int,
    partial: bool,
    own: Sequence[OwnBins],
) -> tuple[Bins, ...]:
    """Return the bins of the training rows of a sample, (n, p) with weights (n,).

    own : the bins that were chosen, for each feature. partial : whether the table has more rows than the sample. Levels
    found only in those are pooled, so a category whose levels already fill all its bins gets a pool.
    """
    learned, max_levels = [], most_levels(max_bins)
    for feature, chosen in zip(features, own, strict=True):
        values = read_feature(table, feature)
        bins = fit_bins(feature, values, weight, max_bins, max_levels=max_levels, own=chosen)
        full = bins.n_values == max_levels - 2
        if partial and full and feature.kind == "category" and feature.part == "value" and not bins.pooled:
            bins = fit_bins(feature, values, weight, max_bins, max_levels=max_levels - 1, own=chosen)
        learned.append(bins)
    return tuple(learned)


class HeldOutOfTable:
    """The held-out rows of a table, derived from those (n,) of its sample.

    basis : what they are held out by: {"group": column}, {"time": column} or {}.
    """

    def __init__(self, sample: pd.DataFrame, held: Bools, basis: dict[str, str]) -> None:
        self._held, self._basis = held, basis
        group, when = basis.get("group"), basis.get("time")
        if group:
            self._groups = set(read_groups(sample.loc[held, group]).tolist())
        elif when:
            order = _in_order(as_table(sample), when)
            self._first = order[held & order.notna().to_numpy(bool)].min()

    def rows(self, table: Table, place: NDArray[np.int64]) -> Bools:
        """Return whether each row (m,) is held out; `place` is its position in the sample, or -1."""
        held = self._elsewhere(table).copy()
        inside = place >= 0
        held[inside] = self._held[place[inside]]
        return held

    def _elsewhere(self, table: Table) -> Bools:
        frame = table.frame
        if "group" in self._basis:
            return np.asarray(pd.Series(read_groups(frame[self._basis["group"]])).isin(self._groups), bool)
        if "time" in self._basis:
            order = _in_order(table, self._basis["time"])
            return np.asarray((order >= self._first).fillna(False), bool)
        return np.zeros(len(frame), bool)


def _in_order(table: Table, column: str) -> pd.Series:
    """Return a time column as comparable values."""
    series, kind = table.frame[column], table.kind(column)
    if kind == "category":
        return series.astype("string")
    return pd.Series(read_dates(series) if kind == "date" else read_numbers(series))


@dataclass
class Noted:
    """What is noted of some rows beside their codes; sums do not depend on the parts that rows come in.

    counts : training rows, held-out rows, and rows without a target. ends : (p, 2) the least and the greatest number of
    each feature. new : rows of the levels that the bins lack, by feature. weights : of the training rows.
    """

    counts: Counter[str]
    ends: Floats
    new: list[Counter[str]]
    weights: Moments = field(default_factory=Moments)

    @classmethod
    def nothing(cls, n_features: int) -> Self:
        """Return what is noted of no rows."""
        return cls(Counter(), np.full((n_features, 2), np.nan), [Counter() for _ in range(n_features)])

    def __add__(self, other: Self) -> Self:
        ends = np.stack(
            [np.fmin(self.ends[:, 0], other.ends[:, 0]), np.fmax(self.ends[:, 1], other.ends[:, 1])], axis=1
        )
        new = [_fewer(mine + theirs) for mine, theirs in zip(self.new, other.new, strict=True)]
        return type(self)(self.counts + other.counts, ends, new, self.weights + other.weights)

    def grown(self, bins: tuple[Bins, ...]) -> tuple[Bins, ...]:
        """Return bins that know the ranges and levels of these rows, too; levels that they lacked join the pool."""
        return tuple(
            _grown(of_feature, ends, new)
            for of_feature, ends, new in zip(bins, self.ends.tolist(), self.new, strict=True)
        )


@dataclass(frozen=True)
class RowCoder:
    """Selects the training rows of a table and codes them, some at a time. It is plain data, so it works anywhere."""

    spec: Spec
    held: HeldOutOfTable
    bins: tuple[Bins, ...]
    classes: tuple[str, ...] = ()

    def code(self, frame: pd.DataFrame, first: int, place: Ints) -> tuple[PartInMemory, Noted]:
        """Return the training rows among some rows of the table, and what is noted of these.

        first : number of the first row in the table. place : position (m,) of each row in the sample, or -1. Weights
        are as the table has them.
        """
        spec, table = self.spec, as_table(frame)
        inside, belongs, values = choose(table, spec)
        held = self.held.rows(table, place)
        noted = Noted.nothing(len(self.bins))
        noted.counts["without_target"] = int((inside & ~belongs).sum())
        noted.counts["set_aside"] = int((inside & belongs & held).sum())
        fitted = inside & belongs & ~held
        noted.counts["training"] = int(fitted.sum())
        columns: dict[str, NDArray[Any]] = {}
        if spec.weight and fitted.any():
            weight = np.zeros(len(frame))
            weight[fitted] = read_weights(table.take(fitted, [spec.weight]), spec.weight)
            fitted &= weight > 0
            columns["weight"] = weight[fitted]
        if not fitted.any():
            return self._nothing(), noted
        if spec.exposure:
            columns["log_exposure"] = np.log(read_exposure(table.take(fitted, [spec.exposure]), spec.exposure))
        numbers = first + np.flatnonzero(fitted).astype(np.uint64)
        if spec.group:
            numbers = columns["cluster"] = hash_texts(read_groups(frame.loc[fitted, spec.group]))
        noted.weights = Moments.of(columns.get("weight", np.ones(numbers.size)))
        codes, y = self._codes(frame[fitted], noted), self._target(values[fitted])
        return PartInMemory(codes, y, bucket=buckets(numbers, spec.seed), **columns), noted

    def _nothing(self) -> PartInMemory:
        """Return a part without rows, which has the columns that the others have."""
        spec, nothing = self.spec, np.empty(0)
        return PartInMemory(
            np.empty((len(self.bins), 0), type_of_all(self.bins)),
            nothing,
            weight=nothing if spec.weight else None,
            log_exposure=nothing if spec.exposure else None,
            cluster=np.empty(0, np.uint64) if spec.group else None,
            bucket=buckets(np.empty(0, np.uint64), spec.seed),
        )

    def _codes(self, frame: pd.DataFrame, noted: Noted) -> Codes:
        codes: Codes = np.empty((len(self.bins), len(frame)), type_of_all(self.bins))
        for j, of_feature in enumerate(self.bins):
            values = read_feature(as_table(frame), of_feature.feature)
            codes[j] = of_feature.encode_training(values)
            if of_feature.feature.is_category:
                noted.new[j] = _unseen(frame[of_feature.feature.column], values)
            elif (known := values[~np.isnan(values)]).size:
                noted.ends[j] = known.min(), known.max()
        return codes

    def _target(self, values: pd.Series) -> Floats:
        """Return the target as numbers: of several classes, their places."""
        kind = self.spec.kind_of_target
        if kind != "classes":
            return values.to_numpy(np.float64) if kind == "binary" else read_numeric_target(values)
        codes = pd.Index(self.classes).get_indexer(pd.Index(values))
        if (codes < 0).any():
            strange = values[codes < 0].iloc[0]
            raise TableError(
                f"The class {strange!r} is too rare to be in the table's sample: leave it out, or join it with another."
            )
        return np.asarray(codes, np.float64)


def _unseen(column: pd.Series, values: Values) -> Counter[str]:
    """Return the rows of each level of a column that its bins lack."""
    unseen = values == UNSEEN
    if not unseen.any():
        return Counter()
    codes, names = read_texts(column[unseen])
    return _fewer(Counter({names[k]: int(n) for k, n in enumerate(np.bincount(codes, minlength=len(names))) if n}))


def _fewer(new: Counter[str]) -> Counter[str]:
    """Return new levels without the rarest, if they are too many."""
    return new if len(new) <= MOST_NEW_NAMES else Counter(dict(new.most_common(MOST_RARE_NAMES)))


def _grown(bins: Bins, ends: list[float], new: Counter[str]) -> Bins:
    if not bins.feature.is_category:
        return replace(bins, low=float(np.fmin(bins.low, ends[0])), high=float(np.fmax(bins.high, ends[1])))
    room = max(0, MOST_RARE_NAMES - len(bins.pooled))
    names = tuple(sorted(name for name, _ in new.most_common(room)))
    feature = replace(bins.feature, levels=bins.feature.levels + names)
    return replace(bins, feature=feature, pooled=bins.pooled + names)
