"""The rows of a fit on disk, for tables far larger than memory.

Each row, or each whole cluster, is assigned a random bucket. If the rows do not fit into memory, each refit learns from
the rows in a run of buckets. The runs are laid end to end around the circle of all buckets: each is a random part of
the rows, and together they cover as many rows as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.problem import Problem, Share, Shares
from gamcore.boosting.row_files import Files
from gamcore.boosting.rows import Dealing, Part, alike, filled, in_range, learning, room_for
from gamcore.boosting.table_counts import HALF_GROUPS, groups_for, pays
from gamcore.boosting.tables_on_disk import CountedOnDisk, are_even, counting_bytes
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.sampling import BUCKETS, BucketRun, Deal, deal, runs_of_buckets, splits
from gamcore.model.additive import Given
from gamcore.model.losses import Loss
from gamcore.types import Floats, Ints

Absent = TypeVar("Absent")

TOO_LARGE: Final = (
    "A group has as many rows as a refit may have in memory, so none would be left to validate on: leave the groups "
    "out, or give the training more memory."
)


@dataclass(frozen=True)
class Spilled:
    """Training rows on disk as a `Source`.

    sizes : (BUCKETS,) rows of each bucket. most : rows that a refit may have in memory. weighted, clustered : whether
    rows have weights, and clusters (as 64-bit keys). exposed : whether rows have exposures, whose logs are kept.
    room : bytes that counts of bin pairs may take. chosen : the features that are learnt, or None for all.
    """

    files: Files
    bins: tuple[Bins, ...]
    sizes: Ints
    most: int
    loss: Loss
    weighted: bool = False
    clustered: bool = False
    exposed: bool = False
    room: int = 0
    chosen: Ints | None = None

    @property
    def whole(self) -> bool:
        """Whether all rows fit into memory, so that every refit learns from all of them."""
        return self.files.n_rows <= self.most

    @property
    def n_rows(self) -> int:
        """Rows that a refit learns from."""
        return min(self.most, self.files.n_rows)

    def covered(self, n_refits: int) -> int:
        """Return how many distinct rows `n_refits` refits learn from in total."""
        if self.whole:
            return self.files.n_rows
        runs = runs_of_buckets(self.sizes, self.most, n_refits)
        seen = np.zeros(BUCKETS, bool)
        for run in runs:
            seen |= run.holds(np.arange(BUCKETS))
        return int(self.sizes[seen].sum())

    def shares(self, dealing: Dealing) -> Shares:
        """Return all rows for every refit if they fit into memory; else its run of buckets, read on demand."""
        if self.whole:
            everything = np.arange(self.files.n_rows)
            dealt = self.deal(everything, dealing.n_groups, dealing.groups)
            return alike(self.problem(everything, dealt), dealt.n_groups, dealing)
        seeds = zip(dealing.groups.spawn(dealing.n_refits), dealing.splits.spawn(dealing.n_refits), strict=True)
        runs = runs_of_buckets(self.sizes, self.most, dealing.n_refits)
        return [
            ShareOnDisk(self, run, replace(dealing, groups=for_groups, splits=for_splits))
            for run, (for_groups, for_splits) in zip(runs, seeds, strict=True)
        ]

    def usual_groups(self, ensemble: str, halves: bool) -> int:
        """Return the groups that rows are dealt into; with `halves` as many as these need, if so many fit."""
        if halves and self.is_counted(HALF_GROUPS, ensemble):
            return HALF_GROUPS
        sizes = [of_feature.n_values + 1 for of_feature in self.bins]
        return groups_for(self.files.n_rows, sizes, self.loss, ensemble, self.weighted)

    def counted(self, dealing: Dealing, ensemble: str) -> Shares | None:
        """Return shares of all rows, boosted from counts of bin pairs, where refits would have a part each and counts
        pay."""
        if not self.is_counted(dealing.n_groups, ensemble):
            return None
        return alike(CountedOnDisk.of(self, dealing.n_groups), dealing.n_groups, dealing)

    def is_counted(self, n_groups: int, ensemble: str) -> bool:
        """Return whether refits learn from all rows although these do not fit into memory."""
        sizes = [of_feature.n_values + 1 for of_feature in self.bins]
        fits = counting_bytes(sizes, n_groups, self.weighted) <= self.room
        pay = pays(self.files.n_rows, sizes, n_groups, self.loss, ensemble, is_weighted=self.weighted, most=self.room)
        return not self.whole and fits and pay and are_even(self.sizes, n_groups)

    @cached_property
    def evenness(self) -> float:
        """Share of the rows that they are effectively worth: see `AdditiveModel`."""
        sums = np.zeros(2)
        for first, end in pairwise(self.files.chunks):
            if (weight := self.weight_of(first, end)) is not None:
                sums += weight.sum(), np.square(weight).sum()
        return min(float(sums[0] ** 2 / (sums[1] * self.files.n_rows)), 1.0) if sums[1] else 1.0

    def counts(self) -> list[Floats]:
        """Return the rows (their weights) of each bin of each feature, all training rows together."""
        rows_per_bin = [np.zeros(of_feature.size) for of_feature in self.bins]
        for first, codes in self.files.codes():
            weight = self.weight_of(first, first + codes.shape[1])
            for line, sums in zip(codes, rows_per_bin, strict=True):
                _add(sums, line, weight)
        return rows_per_bin

    def cells(self, pair: tuple[int, int]) -> Floats:
        """Return the rows (their weights) of each cell of two features, (size_1, size_2)."""
        i, j = pair
        shape = self.bins[i].size, self.bins[j].size
        sums = np.zeros(shape[0] * shape[1])
        for first, codes in self.files.codes():
            place = codes[i].astype(np.int64) * shape[1] + codes[j]
            _add(sums, place, self.weight_of(first, first + codes.shape[1]))
        return sums.reshape(shape)

    def base(self) -> float:
        """Return the score of the mean target, or of its mean per unit of exposure; of quantiles, the best constant."""
        if self.whole or self.exposed or not self.loss.is_of_mean:  # the columns of one refit's rows fit into memory
            end = self.n_rows if self.loss.is_of_mean else self.files.n_rows  # as they do in `parts`, of all rows
            y, weight = self.files.column("y", np.float64, 0, end), self.weight_of(0, end)
            return self.loss.base_score(y, np.ones(end) if weight is None else weight, self._offset(0, end, 0.0))
        total = np.zeros(2)
        for first, end in pairwise(self.files.chunks):
            y, weight = self.files.column("y", np.float64, first, end), self.weight_of(first, end)
            total += (y.sum(), y.size) if weight is None else (np.sum(y * weight), weight.sum())
        return self.loss.base_score(np.array([total[0] / total[1]]), np.ones(1))

    @property
    def given(self) -> tuple[Given, ...]:
        """What is given per row beside the features."""
        return ("exposure",) if self.exposed else ()

    def parts(self) -> Iterator[Part]:
        """Yield all rows, a chunk at a time."""
        for first, codes in self.files.codes():
            end = first + codes.shape[1]
            y = self.files.column("y", np.float64, first, end)
            yield Part(codes, y, self.weight_of(first, end), self._offset(first, end, None))

    def with_loss(self, loss: Loss) -> Self:
        """Return the same rows for another loss."""
        return replace(self, loss=loss)

    def _offset(self, first: int, end: int, none: Absent) -> Floats | Absent:
        """Return the offsets of some rows, or `none` if they have none."""
        return self.files.column("log_exposure", np.float64, first, end) if self.exposed else none

    def weight_of(self, first: int, end: int) -> Floats | None:
        """Return the weights of some rows, scaled as they would be in memory."""
        if not self.weighted:
            return None
        weight = self.files.column("weight", np.float64, first, end)
        return in_range(weight, self._mean_weight)

    @cached_property
    def _mean_weight(self) -> float:
        if self.whole:  # the same bits as in memory
            return float(self.files.column("weight", np.float64, 0, self.files.n_rows).mean())
        chunks = pairwise(self.files.chunks)
        total = sum(float(self.files.column("weight", np.float64, first, end).sum()) for first, end in chunks)
        return total / self.files.n_rows

    def rows(self, run: BucketRun) -> Ints:
        """Return the rows of a run of buckets, ascending."""
        rows_of_chunks = [first + np.flatnonzero(run.holds(self.files.column("bucket", np.uint16, first, end)))
                 for first, end in pairwise(self.files.chunks)]  # fmt: skip
        return np.concatenate(rows_of_chunks)

    def deal(self, rows: Ints, n_groups: int, seed: np.random.SeedSequence) -> Deal:
        """Deal some rows into groups: by whole clusters if there are any, else stratified by class if binary."""
        if not self.clustered:
            y = self.files.some("y", np.float64, rows)
            strata = y.astype(np.int64) if self.loss.is_binary else None
            return deal(rows.size, n_groups, seed, strata)
        names = self.files.some("cluster", np.uint64, rows)
        clusters = _by_appearance(names)
        if clusters.max(initial=0) == 0:
            raise TableError(TOO_LARGE)
        return deal(rows.size, n_groups, seed, None, clusters)

    def problem(self, rows: Ints, dealt: Deal) -> Problem:
        """Return some rows in group order, read straight into their places: the codes are never copied."""
        place = np.empty(rows.size, np.int64)
        place[dealt.order] = np.arange(rows.size)
        table = room_for(self.bins, dealt.starts)
        y, weight = np.empty(rows.size), np.empty(rows.size if self.weighted else 0)
        offset = np.empty(rows.size if self.exposed else 0)
        for (first, lines), (_, end, part) in zip(self.files.codes(), self.files.parts(rows), strict=True):
            inside, here = rows[part] - first, place[part]
            for j, line in enumerate(lines):
                table.of(j)[here] = line[inside]
            y[here] = self.files.column("y", np.float64, first, end)[inside]
            if (weights := self.weight_of(first, end)) is not None:
                weight[here] = weights[inside]
            if self.exposed:
                offset[here] = self.files.column("log_exposure", np.float64, first, end)[inside]
        return Problem(learning(filled(table), self.chosen), y, weight, self.loss, offset, whole=self.whole)


@dataclass(frozen=True)
class ShareOnDisk:
    """The rows of one refit if not all rows fit into memory: a run of buckets, read when the refit begins."""

    source: Spilled
    run: BucketRun
    dealing: Dealing

    def load(self) -> Share:
        """Read the rows, deal them, and draw the validation groups."""
        rows = self.source.rows(self.run)
        if not rows.size:
            raise TableError(TOO_LARGE)
        dealt = self.source.deal(rows, self.dealing.n_groups, self.dealing.groups)
        split = splits(dealt.n_groups, self.dealing.validation_fraction, 1, self.dealing.splits)[0]
        return Share(self.source.problem(rows, dealt), split)


def _add(sums: Floats, codes: NDArray[Any], weight: Floats | None) -> None:
    """Add rows (their weights) to the sums of their codes, one by one, so that sums do not depend on the chunks."""
    if weight is None:
        sums += np.bincount(codes, minlength=sums.size)
    else:
        np.add.at(sums, codes, weight)


def _by_appearance(names: NDArray[np.uint64]) -> Ints:
    """Return the codes (n,) of clusters, numbered by first appearance."""
    _, first, codes = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes].astype(np.int64)
