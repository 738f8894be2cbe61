"""The rows of a fit in parts that are elsewhere: on disk, or with the workers of a cluster.

Each row, or each whole cluster, is assigned a random bucket. If the rows do not fit into memory, each refit learns from
the rows in a run of buckets. The runs are laid end to end around the circle of all buckets: each is a random part of
the rows, and together they cover as many rows as possible. What is additive is summed over all rows, part by part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import HALF_GROUPS, CountPlan, Tell, groups_for, pays
from gamcore.boosting.refit.problem import Shares
from gamcore.boosting.rows.counted import are_even, counted_parts, counting_bytes
from gamcore.boosting.rows.share import Recipe, ShareOfParts, rows_of_refits
from gamcore.boosting.rows.source import Dealing, alike
from gamcore.boosting.rows.sums import Part, Rows, base_of, squared_weights, weight_moments
from gamcore.boosting.running.executor import Task
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.sampling import BUCKETS, runs_of_buckets
from gamcore.kernels.tables import Tables
from gamcore.model.additive import Given, cells_of
from gamcore.model.losses import Loss
from gamcore.stats.exact import as_float, counted, grain, whole_weights

Made = TypeVar("Made")


class Parts(Rows, Protocol):
    """Coded training rows in parts that are elsewhere, and those who work on them there.

    Only functions go there, which can be pickled; what comes back is small. Nothing depends on how many parts or
    workers there are.
    """

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether this process can read the parts, so that refits may share what they read."""
        ...

    @property
    def handles(self) -> Sequence[Any]:
        """The parts, or what stands for them until a refit runs where they are."""
        ...

    def count(self, plan: CountPlan, n_threads: int, tell: Tell | None) -> Tables:
        """Return the counts of bin pairs in whole numbers."""
        ...

    def refit(
        self, tasks: Sequence[Task[Made]], n_rows: int, n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits of about `n_rows` rows; see `run_all`."""
        ...


@dataclass(frozen=True)
class RowsInParts:
    """Training rows in parts as a `Source`.

    sizes : (BUCKETS,) rows of each bucket. most : rows that a refit may have in memory. weighted, clustered : whether
    rows have weights, and clusters (as 64-bit keys). exposed : whether rows have exposures. room : bytes that counts of
    bin pairs may take. parts_first : whether rows are counted and pairs ranked by parts, even if they would fit.
    chosen : the features that are learnt, or None for all.
    """

    parts: Parts
    bins: tuple[Bins, ...]
    sizes: Ints
    most: int
    loss: Loss
    weighted: bool = False
    clustered: bool = False
    exposed: bool = False
    room: int = 0
    parts_first: bool = False
    chosen: Ints | None = None

    @property
    def whole(self) -> bool:
        """Whether all rows fit into memory, so that every refit learns from all of them."""
        return self.parts.n_rows <= self.most

    @property
    def n_rows(self) -> int:
        """Rows that a refit learns from."""
        return min(self.most, self.parts.n_rows)

    def covered(self, n_refits: int) -> int:
        """Return how many distinct rows `n_refits` refits learn from in total."""
        if self.whole:
            return self.parts.n_rows
        runs = runs_of_buckets(self.sizes, self.most, n_refits)
        seen = np.zeros(BUCKETS, bool)
        for run in runs:
            seen |= run.holds(np.arange(BUCKETS))
        return int(self.sizes[seen].sum())

    @property
    def _recipe(self) -> Recipe:
        return Recipe(
            self.bins, self.loss, weighted=self.weighted, clustered=self.clustered, exposed=self.exposed,
            whole=self.whole, chosen=self.chosen,
        )  # fmt: skip

    def shares(self, dealing: Dealing) -> Shares:
        """Return all rows for every refit if they fit into memory; else its run of buckets, read on demand."""
        recipe, most = self._recipe, None if self.whole else self.most
        shares = [ShareOfParts(recipe, rows) for rows in rows_of_refits(self.parts.handles, self.sizes, most, dealing)]
        if not (self.whole and self.parts.is_here):
            return shares
        first = shares[0].load()
        return alike(first.problem, first.problem.table.starts.size - 1, dealing)

    def usual_groups(self, ensemble: str, halves: bool) -> int:
        """Return the groups that rows are dealt into; with `halves` as many as these need, if so many fit."""
        if halves and self.is_counted(HALF_GROUPS, ensemble):
            return HALF_GROUPS
        sizes = [of_feature.n_values + 1 for of_feature in self.bins]
        return groups_for(self.parts.n_rows, sizes, self.loss, ensemble, self.weighted)

    def counted(self, dealing: Dealing, ensemble: str) -> Shares | None:
        """Return shares of all rows, boosted from counts of bin pairs, where refits would have a part each and counts
        pay."""
        if not self.is_counted(dealing.n_groups, ensemble):
            return None
        return alike(counted_parts(self, dealing.n_groups), dealing.n_groups, dealing)

    def is_counted(self, n_groups: int, ensemble: str) -> bool:
        """Return whether refits learn from all rows although these do not fit into memory."""
        sizes = [of_feature.n_values + 1 for of_feature in self.bins]
        fits = counting_bytes(sizes, n_groups, self.weighted) <= self.room
        pay = pays(self.parts.n_rows, sizes, n_groups, self.loss, ensemble, is_weighted=self.weighted, most=self.room)
        return (self.parts_first or not self.whole) and fits and pay and are_even(self.sizes, n_groups)

    @cached_property
    def evenness(self) -> float:
        """Share of the rows that they are effectively worth: see `AdditiveModel`."""
        if not self.weighted:
            return 1.0
        moments, squares = self.parts.sum(weight_moments), as_float(self.parts.sum(squared_weights))
        return min(moments.sum**2 / (squares * moments.n_rows), 1.0) if squares else 1.0

    @cached_property
    def _unit(self) -> float:
        """The unit of which weights are whole numbers."""
        return grain(self.parts.sum(weight_moments).sum) if self.weighted else 1.0

    def counts(self) -> list[Floats]:
        """Return the rows (their weights) of each bin of each feature, all training rows together."""
        sizes = tuple(of_feature.size for of_feature in self.bins)
        counts = self.parts.sum(partial(_counts, sizes, self._unit)).astype(np.float64) * self._unit
        return np.split(counts, np.cumsum(sizes)[:-1])

    def cells(self, pair: tuple[int, int]) -> Floats:
        """Return the rows (their weights) of each cell of two features, (size_1, size_2)."""
        sizes = self.bins[pair[0]].size, self.bins[pair[1]].size
        cells = self.parts.sum(partial(_cells, pair, sizes, self._unit))
        return (cells.astype(np.float64) * self._unit).reshape(sizes)

    @property
    def ranks_by_parts(self) -> bool:
        """Whether refits do not share all rows."""
        return self.parts_first or not self.whole

    def base(self) -> float:
        """Return the score of the mean target, or of its mean per unit of exposure; of quantiles, the best constant."""
        return base_of(self.parts, self.loss)

    @property
    def given(self) -> tuple[Given, ...]:
        """What is given per row beside the features."""
        return ("exposure",) if self.exposed else ()

    def refit(
        self, tasks: Sequence[Task[Made]], n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits where the rows are."""
        return self.parts.refit(tasks, self.n_rows, n_jobs, callback, about)

    def with_loss(self, loss: Loss) -> Self:
        """Return the same rows for another loss."""
        return replace(self, loss=loss)


def _counts(sizes: Sequence[int], unit: float, part: Part) -> NDArray[np.int64]:
    """Return the rows (their weights in units) of each code, those of all features end to end."""
    weight = whole_weights(part.weight, unit)[1]
    return np.concatenate([counted(line, size, weight) for line, size in zip(part.codes, sizes, strict=True)])


def _cells(pair: tuple[int, int], sizes: tuple[int, int], unit: float, part: Part) -> NDArray[np.int64]:
    """Return the rows (their weights in units) of each cell of two features."""
    weight = whole_weights(part.weight, unit)[1]
    return counted(cells_of(part.codes, pair, sizes[1]), sizes[0] * sizes[1], weight)
