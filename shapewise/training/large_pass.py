"""One pass over a table larger than memory, which selects the training rows and writes their codes to disk.

The held-out rows of the table follow from those of its sample, which the pages show: the same rows, all rows of the
sample's held-out groups, or all rows at least as late as its earliest held-out row. All other rows are trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.boosting.row_files import Files
from gamcore.data.binning import MOST_RARE_NAMES, Bins, fit_bins, most_levels
from gamcore.data.columns import UNSEEN, TableError, read_dates, read_numbers, read_texts
from gamcore.data.own_bins import OwnBins
from gamcore.data.sampling import BUCKETS, buckets
from gamcore.data.table import Feature, Table, Values, as_table, read_feature
from gamcore.data.targets import read_numeric_target
from gamcore.types import Bools, Codes, Floats
from shapewise.store.batches import Matching, hash_texts
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
    made, max_levels = [], most_levels(max_bins)
    for feature, chosen in zip(features, own, strict=True):
        values = read_feature(table, feature)
        bins = fit_bins(feature, values, weight, max_bins, max_levels=max_levels, own=chosen)
        full = bins.n_values == max_levels - 2
        if partial and full and feature.kind == "category" and feature.part == "value" and not bins.pooled:
            bins = fit_bins(feature, values, weight, max_bins, max_levels=max_levels - 1, own=chosen)
        made.append(bins)
    return tuple(made)


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


class Spilling:
    """Reads a table batch by batch and writes its training rows to files.

    counts : training rows, held-out rows, and rows without a target; sizes : (BUCKETS,) rows of each bucket.
    """

    def __init__(
        self,
        spec: Spec,
        sample: pd.DataFrame,
        held: HeldOutOfTable,
        bins: tuple[Bins, ...],
        files: Files,
        classes: tuple[str, ...] = (),
    ) -> None:
        self.spec, self.files, self.counts, self._classes = spec, files, Counter[str](), pd.Index(classes)
        self.sizes = np.zeros(BUCKETS, np.int64)
        self._held, self._matching, self._bins = held, Matching(sample), bins
        self._new: list[Counter[str]] = [Counter() for _ in bins]
        self._ends = np.array([[of_feature.low, of_feature.high] for of_feature in bins])
        self._read = 0

    @property
    def complete(self) -> bool:
        """Whether all rows of the sample were found."""
        return self._matching.complete

    def take(self, frame: pd.DataFrame) -> None:
        """Process the next rows of the table."""
        spec, table = self.spec, as_table(frame)
        inside, belongs, values = choose(table, spec)
        held = self._held.rows(table, self._matching.find(frame))
        self.counts["without_target"] += int((inside & ~belongs).sum())
        self.counts["set_aside"] += int((inside & belongs & held).sum())
        fitted = inside & belongs & ~held
        self.counts["training"] += int(fitted.sum())
        numbers = np.arange(self._read, self._read + len(frame), dtype=np.uint64)
        self._read += len(frame)
        columns: dict[str, NDArray[Any]] = {}
        if spec.weight and fitted.any():
            weight = np.zeros(len(frame))
            weight[fitted] = read_weights(table.take(fitted, [spec.weight]), spec.weight)
            fitted &= weight > 0
            columns["weight"] = weight[fitted]
        if spec.exposure and fitted.any():
            columns["log_exposure"] = np.log(read_exposure(table.take(fitted, [spec.exposure]), spec.exposure))
        if fitted.any():
            self._keep(frame[fitted], values[fitted], numbers[fitted], columns)

    def _keep(
        self, frame: pd.DataFrame, values: pd.Series, numbers: NDArray[np.uint64], columns: dict[str, NDArray[Any]]
    ) -> None:
        if self.spec.group:
            numbers = columns["cluster"] = hash_texts(read_groups(frame[self.spec.group]))
        y = self._target(values)
        bucket = buckets(numbers, self.spec.seed)
        self.sizes += np.bincount(bucket, minlength=BUCKETS)
        codes: Codes = np.empty((len(self._bins), len(frame)), self.files.code)
        for j, of_feature in enumerate(self._bins):
            read = read_feature(as_table(frame), of_feature.feature)
            self._note(j, frame, read)
            codes[j] = of_feature.encode_training(read)
        self.files.write(codes, y=y, bucket=bucket, **columns)

    def _target(self, values: pd.Series) -> Floats:
        """Return the target as numbers: of several classes, their places."""
        kind = self.spec.kind_of_target
        if kind != "classes":
            return values.to_numpy(np.float64) if kind == "binary" else read_numeric_target(values)
        codes = self._classes.get_indexer(pd.Index(values))
        if (codes < 0).any():
            strange = values[codes < 0].iloc[0]
            raise TableError(
                f"The class {strange!r} is too rare to be in the table's sample: leave it out, or join it with another."
            )
        return np.asarray(codes, np.float64)

    def _note(self, j: int, frame: pd.DataFrame, values: Values) -> None:
        """Record what the sample lacks of a feature: its full range, and names of unseen levels."""
        if not self._bins[j].feature.is_category:
            known = values[~np.isnan(values)]
            if known.size:
                self._ends[j] = np.fmin(self._ends[j, 0], known.min()), np.fmax(self._ends[j, 1], known.max())
            return
        unseen = values == UNSEEN
        if unseen.any():
            codes, names = read_texts(frame.loc[unseen, self._bins[j].feature.column])
            self._new[j].update({names[k]: int(n) for k, n in enumerate(np.bincount(codes, minlength=len(names))) if n})
            if len(self._new[j]) > MOST_NEW_NAMES:
                self._new[j] = Counter(dict(self._new[j].most_common(MOST_RARE_NAMES)))

    def bins(self) -> tuple[Bins, ...]:
        """Return the bins, extended by the ranges and levels of the whole table; unseen levels join the pool."""
        return tuple(
            _grown(bins, ends, new) for bins, ends, new in zip(self._bins, self._ends.tolist(), self._new, strict=True)
        )


def _grown(bins: Bins, ends: list[float], new: Counter[str]) -> Bins:
    if not bins.feature.is_category:
        return replace(bins, low=ends[0], high=ends[1])
    room = max(0, MOST_RARE_NAMES - len(bins.pooled))
    names = tuple(sorted(name for name, _ in new.most_common(room)))
    feature = replace(bins.feature, levels=bins.feature.levels + names)
    return replace(bins, feature=feature, pooled=bins.pooled + names)
