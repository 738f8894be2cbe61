"""All rows on disk, counted a piece at a time: so squared loss learns from every row, whatever the memory.

A row's group follows from its bucket, so the rows of a cluster share one, and it does not depend on the pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.problem import Parameters, Problem
from gamcore.boosting.table_counts import Counting, table_bytes
from gamcore.boosting.whole_numbers import Piece
from gamcore.data.sampling import BUCKETS
from gamcore.kernels import CODE
from gamcore.kernels.layout import CodedTable
from gamcore.types import Codes, Floats, Ints

if TYPE_CHECKING:
    from gamcore.boosting.rows_on_disk import Spilled

PIECE_ROWS: Final = 2**19
"""Rows that are read before they are counted: every piece also costs a pass over the tables."""

LEAST_SHARE: Final = 0.5
"""Rows that a group must have, of what it would have if all were alike: few clusters fill groups unevenly."""


PIECE_BYTES: Final = 64
"""Bytes of a row of a piece beside its codes, which are there twice."""


def counting_bytes(sizes: list[int], n_groups: int, weighted: bool) -> int:
    """Return the bytes that counting takes, for features with so many codes."""
    return table_bytes(sizes, n_groups, wide=weighted) + PIECE_ROWS * (2 * len(sizes) + PIECE_BYTES)


def group_of(bucket: NDArray[Any], n_groups: int) -> Ints:
    """Return the groups of buckets."""
    return bucket.astype(np.int64) * n_groups // BUCKETS


def are_even(sizes: Ints, n_groups: int) -> bool:
    """Return whether every group has rows enough. sizes : (BUCKETS,) rows per bucket."""
    rows = np.bincount(group_of(np.arange(BUCKETS), n_groups), sizes, n_groups)
    return bool(rows.min() * n_groups >= LEAST_SHARE * rows.sum())


@dataclass(frozen=True)
class CountedOnDisk(Problem):
    """All rows on disk as a problem that knows their counts alone: it has no rows, and is boosted from tables."""

    source: Spilled | None = None

    @classmethod
    def of(cls, source: Spilled, n_groups: int) -> CountedOnDisk:
        """Return the rows of a source, dealt into groups by their buckets."""
        active = [j for j, rows in enumerate(source.counts()) if np.count_nonzero(rows) > 1]
        table = CodedTable(
            codes=np.empty((len(source.bins), 0), CODE),
            starts=np.zeros(n_groups + 1, np.int64),
            last=np.array([of_feature.n_values for of_feature in source.bins], np.int64),
            nominal=np.array([of_feature.feature.is_category for of_feature in source.bins]),
            active=np.array(active, np.int64),
        )
        return cls(table, y=np.empty(0), weight=np.empty(0), loss=source.loss, source=source)

    def on_tables(self, parameters: Parameters) -> bool:
        """Return True: there are no rows."""
        return True

    @cached_property
    def _counting(self) -> Counting:
        return Counting(self._pieces, self.table.last, self.table.active, self.table.starts.size - 1)

    def _targets(self) -> Iterator[Floats]:
        assert self.source is not None
        for first, end in pairwise(self.source.files.chunks):
            yield self.source.files.column("y", np.float64, first, end)

    @cached_property
    def centre(self) -> float:
        """The mean of all targets."""
        return sum(float(y.sum()) for y in self._targets()) / sum(y.size for y in self._targets())

    @cached_property
    def spread(self) -> float:
        """What targets are divided by before they are summed, so that squares neither overflow nor vanish."""
        largest = max(float(np.max(np.abs(y - self.centre))) for y in self._targets() if y.size) or 1.0
        squares = sum(float(np.square((y - self.centre) / largest).sum()) for y in self._targets())
        return largest * float(np.sqrt(squares / sum(y.size for y in self._targets()))) or 1.0

    def _pieces(self) -> Iterator[Piece]:
        """Yield all rows, each piece in the order of its groups."""
        assert self.source is not None
        waiting: list[tuple[int, Codes]] = []
        n_waiting = 0
        for first, codes in self.source.files.codes():
            waiting.append((first, codes))
            n_waiting += codes.shape[1]
            if n_waiting >= PIECE_ROWS:
                yield self._piece(waiting)
                waiting, n_waiting = [], 0
        if waiting:
            yield self._piece(waiting)

    def _piece(self, chunks: list[tuple[int, Codes]]) -> Piece:
        """Return the rows of neighbouring chunks. chunks : the first row and the codes of each."""
        assert self.source is not None
        first, n_groups = chunks[0][0], self.table.starts.size - 1
        end = chunks[-1][0] + chunks[-1][1].shape[1]
        codes = np.concatenate([codes for _, codes in chunks], axis=1)
        group = group_of(self.source.files.column("bucket", np.uint16, first, end), n_groups)
        y, weight = self.source.files.column("y", np.float64, first, end), self.source.weight_of(first, end)
        return Piece.of(codes, group, n_groups, (y - self.centre) / self.spread, weight)
