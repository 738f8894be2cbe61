"""Counts of rows that outlast a fit: rows are added to them, and models boosted from them, without the earlier rows.

They add up to the bit, whatever came first: targets and weights are whole numbers on the scale of the first fit, and a
row's group follows from its number (or its cluster), not from the other rows. What they hold are sums of rows per cell
of two features; a cell with few rows says much about these, so counts are as personal as the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import MOST_COUNTED, Counting, CountPlan, block, empty_tables
from gamcore.boosting.counts.whole_numbers import Piece, Scale
from gamcore.boosting.refit.loop import run_all
from gamcore.boosting.refit.problem import Counted, Shares
from gamcore.boosting.rows.counted import group_of, spread_about
from gamcore.boosting.rows.source import Dealing, Encoded, alike, room_for
from gamcore.boosting.rows.sums import Rows, targets_left
from gamcore.boosting.running.executor import Task
from gamcore.boosting.running.progress import Callback
from gamcore.boosting.updating.origin import Origin, check_range, refuse_size
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.sampling import buckets
from gamcore.kernels.tables import Tables
from gamcore.model.additive import Given
from gamcore.model.losses import LOSSES, Loss

Made = TypeVar("Made")

MOST_PARTS: Final = 12
"""Parts of the smallest weight that are tried as the unit of all."""

MOST_UNITS: Final = 1000.0
"""Units of the mean weight: sums of more would leave too few bits for rows."""

FEW: Final = 1000
"""Weights that tell most units from others."""

SPARE: Final = {False: 10, True: 4}
"""Doublings of the rows that the scale leaves room for, without weights and with them."""


@dataclass(frozen=True)
class KeptTables:
    """Counts of bin pairs per group of rows, in whole numbers: a `Source` without rows.

    n_rows : rows that were counted. squared_weight : the sum of their squared weights. fixed : features
    whose scores are taken off the targets, so that a model leaves them alone.
    """

    origin: Origin = field(repr=False)
    whole: Tables = field(repr=False)
    n_rows: int
    squared_weight: float
    fixed: tuple[int, ...] = ()

    @classmethod
    def of(cls, data: Encoded, seed: int, n_groups: int, keys: NDArray[np.uint64] | None = None,
           n_threads: int = 1) -> KeptTables:  # fmt: skip
        """Count the rows of a fit, which sets the scale. Weights are as they were given: whole ones stay whole.

        keys : (n,) of clusters, whose rows stay together.
        """
        weight_by = 1.0 if data.weight is None else unit_of_weights(data.weight)
        data = data if data.weight is None else replace(data, weight=data.weight / weight_by)
        targets = data.parts.sum(targets_left)
        bins = tuple(replace(column, beside=np.empty((2, 0))) for column in data.bins)  # new rows may be beside any cut
        empty = Origin(
            bins, Scale(1.0, 1.0, is_weighted=False), centre=targets.mean,
            spread=spread_about(data.parts, targets),
            weight_by=weight_by, seed=seed, n_groups=n_groups, given=data.given,
        )  # fmt: skip
        refuse_size(empty.last, n_groups, data.weight is not None)
        return _count(empty, data, first=0, keys=keys, n_threads=n_threads, is_first=True)

    def count(self, data: Encoded, keys: NDArray[np.uint64] | None = None, n_threads: int = 1) -> KeptTables:
        """Return the counts of more rows, to be added to these; their numbers go on from those of these.

        The arguments are those of `of`. TableError where rows are of another kind than those of the first fit.
        """
        if data.given != self.origin.given:
            raise TableError("Rows can be added only with what the first had: init_score for all of them, or for none.")
        if data.weight is not None and not self.origin.scale.is_weighted:
            raise TableError("The rows counted so far have no weights: leave sample_weight out, or fit anew.")
        if data.weight is not None:
            data = replace(data, weight=data.weight / self.origin.weight_by)
        elif self.origin.scale.is_weighted:
            data = replace(data, weight=np.full(data.y.size, 1.0 / self.origin.weight_by))
        return _count(self.origin, data, first=self.n_rows, keys=keys, n_threads=n_threads)

    def add(self, other: KeptTables, reuse: bool = False) -> KeptTables:
        """Return the counts of the rows of both, equal to the bit to those of all rows at once.

        reuse : write them over the other counts, which saves memory, and time.
        TableError where the other counts have other bins, another scale or other groups; or where the sums leave the
        range of whole numbers.
        """
        if self.fixed or other.fixed or not self.origin.is_same(other.origin):
            raise TableError(
                "These counts have other bins or another scale: count the rows by the bins of the model that they are "
                "added to."
            )
        sums = {name: getattr(self.whole, name) + getattr(other.whole, name) for name in ("weight", "target", "group")}
        scale, a, b = self.origin.scale, self.whole, other.whole
        check_range(sums, scale)
        heaviest = np.array([sums["weight"][here:to].max(initial=0.0) for here, to in itertools.pairwise(a.place)])
        is_wide = (heaviest > MOST_COUNTED) | scale.is_weighted
        are_alike = np.array_equal(is_wide, a.is_wide) and np.array_equal(is_wide, b.is_wide)
        tables = b
        if not (reuse and are_alike):
            tables = empty_tables(self.origin.last, self.origin.counted, self.origin.n_groups, is_wide, scale)
        if are_alike:
            np.add(a.narrow, b.narrow, out=tables.narrow)
            np.add(a.wide, b.wide, out=tables.wide)
        else:
            for j, m in itertools.permutations(self.origin.counted.tolist(), 2):
                first, second, out = (block(summed, self.origin.last, j, m) for summed in (a, b, tables))
                np.add(first, second, out=out, dtype=out.dtype)
        tables = tables._replace(**sums)
        return KeptTables(self.origin, tables, self.n_rows + other.n_rows, self.squared_weight + other.squared_weight)

    def emptied(self) -> KeptTables:
        """Return counts of no rows, of the same bins and scale: with them another site counts rows of its own."""
        origin, is_wide = self.origin, np.full(len(self.bins), self.origin.scale.is_weighted)
        tables = empty_tables(origin.last, origin.counted, origin.n_groups, is_wide, origin.scale)
        return KeptTables(origin, tables, 0, 0.0)

    @cached_property
    def tables(self) -> Tables:
        """The counts as boosting reads them."""
        return self.origin.scale.read(self.whole)

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return self.whole.narrow.nbytes + self.whole.wide.nbytes

    @property
    def bins(self) -> tuple[Bins, ...]:
        """The bins of the features."""
        return self.origin.bins

    @property
    def loss(self) -> Loss:
        """Squared loss: no other is boosted from counts."""
        return LOSSES["squared"]

    def usual_groups(self, ensemble: str, halves: bool) -> int:
        """Return the groups that the rows were counted in."""
        return self.origin.n_groups

    @property
    def evenness(self) -> float:
        """Share of the rows that they are effectively worth: see `AdditiveModel`."""
        total = float(self.tables.group[:, 0].sum())
        return min(total * total / (self.squared_weight * self.n_rows), 1.0) if self.squared_weight else 1.0

    def counted(self, dealing: Dealing, ensemble: str) -> Shares | None:
        """Return None: all shares are boosted from the counts."""
        return None

    @cached_property
    def problem(self) -> Counted:
        """All rows, known by their counts alone."""
        origin, counts = self.origin, enumerate(self.counts())
        varied = [j for j, rows in counts if np.count_nonzero(rows) > 1 and j not in self.fixed]
        table = room_for(self.bins, np.zeros(origin.n_groups + 1, np.int64))
        table = table._replace(last=origin.last, active=np.array(varied, np.int64))
        mean_weight = float(self.tables.group[:, 0].sum()) / max(self.n_rows, 1)
        return Counted(table=table, loss=self.loss, count=self._counting, mean_weight=mean_weight)

    def _counting(self) -> Counting:
        origin = self.origin
        plan = CountPlan(
            origin.last, origin.counted, origin.n_groups, self.n_rows, centre=origin.centre, spread=origin.spread
        )
        return Counting(tuple, plan, counted=self.tables)

    def shares(self, dealing: Dealing) -> Shares:
        """Return all rows for each refit, with its own validation groups."""
        return alike(self.problem, self.origin.n_groups, replace(dealing, n_groups=self.origin.n_groups))

    def counts(self) -> list[Floats]:
        """Return the rows (their weights) of each bin of each feature."""
        return [_by_code(self, self.tables.weight, j) for j in range(len(self.bins))]

    def cells(self, pair: tuple[int, int]) -> Floats:
        """Return the rows (their weights) of each cell of two features, (size_1, size_2)."""
        j, m = pair
        out = np.zeros((self.bins[j].size, self.bins[m].size))
        if {j, m} <= set(self.origin.counted.tolist()):
            lines = block(self.whole, self.origin.last, j, m).sum(axis=1, dtype=np.float64)
            inside = np.diff(lines, axis=0, prepend=0.0)[:, : int(self.origin.last[m]) + 1]
            out[: inside.shape[0], : inside.shape[1]] = inside * self.origin.scale.unit
        return out

    def base(self) -> float:
        """Return the mean of all targets."""
        weight, target, _ = self.tables.group.sum(axis=0)
        return self.origin.centre + self.origin.spread * float(target / weight)

    @property
    def given(self) -> tuple[Given, ...]:
        """What was given per row beside the features."""
        return self.origin.given

    @property
    def parts(self) -> Rows:
        """Refuse: there are no rows, and squared loss asks for none."""
        raise NotImplementedError

    ranks_by_parts = False

    def refit(
        self, tasks: Sequence[Task[Made]], n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits in threads."""
        return run_all(tasks, self.n_rows, n_jobs, callback, about)

    def with_loss(self, loss: Loss) -> Self:
        """Return the same counts, which are for squared loss."""
        assert loss.is_additive
        return self


def unit_of_weights(weight: Floats) -> float:
    """Return what weights (n,) are divided by before they are counted: what all are whole multiples of, else the mean.

    So whole weights are counted without rounding, whatever they are measured in.
    """
    least, mean = float(weight.min()), float(weight.mean())
    for parts in range(1, MOST_PARTS + 1):
        unit = least / parts
        if mean / unit > MOST_UNITS:
            break
        if all(_are_whole(some / unit) for some in (weight[:FEW], weight)):
            return unit
    return mean


def _are_whole(numbers: Floats) -> bool:
    return bool((np.abs(numbers - np.rint(numbers)) < 1e-9 * numbers).all())


def _by_code(kept: KeptTables, sums: Floats, j: int) -> Floats:
    """Return the sums (size,) of a feature by code, over all groups."""
    out = np.zeros(kept.bins[j].size)
    mine = sums[kept.tables.place[j] : kept.tables.place[j + 1]].reshape(kept.origin.n_groups, -1).sum(axis=0)
    used = int(kept.origin.last[j]) + 1
    out[:used] = mine[:used]
    return out


def _count(
    origin: Origin, data: Encoded, first: int, keys: NDArray[np.uint64] | None, n_threads: int, is_first: bool = False
) -> KeptTables:
    """Count rows by their numbers from `first` on, or by their clusters' keys; the first rows set the scale."""
    keys = np.arange(first, first + data.y.size, dtype=np.uint64) if keys is None else keys
    group = group_of(buckets(keys, origin.seed), origin.n_groups)
    target = data.y if data.offset is None else data.y - data.offset
    codes = np.array(data.binned.codes, order="C")
    piece = Piece.of(codes, group, origin.n_groups, (target - origin.centre) / origin.spread, data.weight)
    plan = CountPlan(origin.last, origin.counted, origin.n_groups, scale=None if is_first else origin.scale)
    counting = Counting(lambda: (piece,), plan, spare=SPARE[data.weight is not None])
    whole = counting.whole(n_threads)
    assert counting.plan.scale is not None
    scale = counting.plan.scale
    squared = float(np.square(data.weight).sum()) if data.weight is not None else float(data.y.size)
    tables = KeptTables(replace(origin, scale=scale), whole, data.y.size, squared)
    check_range({"weight": whole.weight, "target": whole.target, "group": whole.group}, scale)
    return tables
