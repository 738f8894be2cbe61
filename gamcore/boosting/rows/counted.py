"""All rows of a table in parts, counted where they are: so squared loss learns from every row, whatever the memory.

A row's group follows from its bucket, so the rows of a cluster share one, and it does not depend on the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import Counting, CountPlan, Tell, measured, table_bytes
from gamcore.boosting.counts.whole_numbers import Piece
from gamcore.boosting.refit.problem import Counted
from gamcore.boosting.rows.source import room_for
from gamcore.boosting.rows.sums import Part, Rows, squares_about, targets_left, weight_moments
from gamcore.common.types import Ints
from gamcore.data.sampling import BUCKETS
from gamcore.kernels.layout import CodedTable
from gamcore.kernels.tables import Tables
from gamcore.stats.exact import Moments, as_float, counted, grain, whole_weights

if TYPE_CHECKING:
    from gamcore.boosting.rows.in_parts import RowsInParts

LEAST_SHARE: Final = 0.5
"""Rows that a group must have, of what it would have if all were alike: few clusters fill groups unevenly."""

PART_ROWS: Final = 2**19
"""Most rows of a part that is counted."""

PART_BYTES: Final = 64
"""Bytes of a row of a part beside its codes, which are there twice."""


def counting_bytes(sizes: list[int], n_groups: int, weighted: bool) -> int:
    """Return the bytes that counting takes, for features with so many codes."""
    return table_bytes(sizes, n_groups, wide=weighted) + PART_ROWS * (2 * len(sizes) + PART_BYTES)


def group_of(bucket: NDArray[Any], n_groups: int) -> Ints:
    """Return the groups of buckets."""
    return bucket.astype(np.int64) * n_groups // BUCKETS


def are_even(sizes: Ints, n_groups: int) -> bool:
    """Return whether every group has rows enough. sizes : (BUCKETS,) rows per bucket."""
    rows = np.bincount(group_of(np.arange(BUCKETS), n_groups), sizes, n_groups)
    return bool(rows.min() * n_groups >= LEAST_SHARE * rows.sum())


def counted_parts(rows: RowsInParts, n_groups: int) -> Counted:
    """Return all rows of a source, dealt into groups by their buckets, as a problem that knows their counts alone."""
    varied = [j for j, of_bins in enumerate(rows.counts()) if np.count_nonzero(of_bins) > 1]
    table = room_for(rows.bins, np.zeros(n_groups + 1, np.int64))._replace(active=np.array(varied, np.int64))
    return Counted(table=table, loss=rows.loss, count=partial(_counting_of, rows, table))


def _counting_of(rows: RowsInParts, table: CodedTable) -> Counting:
    """Return what counts the rows where they are."""
    targets, n_groups = rows.parts.sum(targets_left), table.starts.size - 1
    plan = CountPlan(
        table.last, table.active, n_groups, rows.parts.n_rows, centre=targets.mean,
        spread=spread_about(rows.parts, targets),
    )  # fmt: skip
    return _CountingParts(tuple, measured_by_parts(rows, plan), rows=rows)


def spread_about(rows: Rows, targets: Moments) -> float:
    """Return the standard deviation of targets; 1 where they are all equal."""
    squares = rows.sum(partial(squares_about, targets.mean, targets.reach))
    return targets.reach * float(np.sqrt(as_float(squares, targets.n_rows))) or 1.0


def measured_by_parts(rows: RowsInParts, plan: CountPlan) -> CountPlan:
    """Return a plan with the scale of the rows, and the room that their counts need."""
    moments = rows.parts.sum(weight_moments)
    unit = grain(moments.sum) if rows.weighted else 1.0
    sizes = tuple(int(last) + 1 for last in plan.last)
    sums = rows.parts.sum(partial(_group_counts, sizes, plan.n_groups, unit)) * unit
    ends = np.cumsum(sizes)[:-1]
    heaviest = np.array([feature_sums.max() for feature_sums in np.split(sums, ends, axis=1)])
    heaviest[np.setdiff1d(np.arange(heaviest.size), plan.active)] = 0.0
    return measured(plan, heaviest, moments.sum, rows.weighted, spare=0)


def _group_counts(sizes: Sequence[int], n_groups: int, unit: float, part: Part) -> NDArray[np.int64]:
    """Return the rows (their weights in units) of each group and code, (G, codes of all features end to end)."""
    assert part.bucket is not None
    group, weight = group_of(part.bucket, n_groups), whole_weights(part.weight, unit)[1]
    lines = [
        counted(group * size + line, n_groups * size, weight).reshape(n_groups, size)
        for line, size in zip(part.codes, sizes, strict=True)
    ]
    return np.concatenate(lines, axis=1)


def piece_of(plan: CountPlan, part: Part) -> Piece:
    """Return a part in the order of its groups."""
    assert part.bucket is not None
    group, codes = group_of(part.bucket, plan.n_groups), np.array(part.codes, order="C")
    return Piece.of(codes, group, plan.n_groups, (part.y - plan.centre) / plan.spread, part.weight)


def count_part(plan: CountPlan, n_threads: int, part: Part) -> Tables:
    """Return the counts of one part."""
    piece = piece_of(plan, part)
    return Counting(lambda: (piece,), plan).whole(n_threads)


@dataclass(kw_only=True)
class _CountingParts(Counting):
    """Counts made where the parts are."""

    rows: RowsInParts

    def whole(self, n_threads: int = 1, tell: Tell | None = None) -> Tables:
        """Return the counts in whole numbers."""
        return self.rows.parts.count(self.plan, n_threads, tell)
