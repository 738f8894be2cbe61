"""Counts of bin pairs per group of rows, from which squared loss is boosted where rows are many (`kernels/tables.py`).

Whether they pay depends on the rows, features, bins, loss and ensemble alone, never on the machine: groups are fewer
then, and so the model is another one.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import N_CODES, tables
from gamcore.kernels.layout import CodedTable, aligned
from gamcore.kernels.tables import Tables
from gamcore.model.losses import Loss
from gamcore.types import Floats, Ints

FEWEST_ROWS: Final = 100_000
ROWS_PER_FEATURE: Final = 10_000
"""Rows per feature from which tables of `TABLE_GROUPS` groups pay; of more groups, as many times more rows."""

TABLE_GROUPS: Final = 8
ROW_GROUPS: Final = 32
"""Groups that rows are dealt into, with tables and without."""

MOST_BYTES: Final = 2**30
"""Most bytes of tables."""

MOST_COUNTED: Final = 2**16 - 1
"""Most rows that a number of 16 bits can count."""

VECTOR: Final = 32
"""Codes are padded to a multiple of this many."""


Scratch = tuple[Floats, Floats, Floats]
"""Cells, a line, and cells with their codes exchanged."""


def pitches(sizes: Sequence[int] | Ints) -> Ints:
    """Return the places per group of features with so many codes, the unseen one left out."""
    return -(-np.asarray(sizes, np.int64) // VECTOR) * VECTOR


def table_bytes(sizes: Sequence[int], n_groups: int, wide: bool) -> int:
    """Return the bytes of the tables of features with so many codes. wide : whether lines are float32."""
    codes, padded = np.asarray(sizes, np.int64), pitches(sizes)
    return int(n_groups * (codes.sum() * padded.sum() - (codes * padded).sum())) * (4 if wide else 2)


def pays(n_rows: int, sizes: Sequence[int], n_groups: int, loss: Loss, ensemble: str) -> bool:
    """Return whether rows are so many that tables of features with so many codes take less time, and fit."""
    varied = [size for size in sizes if size > 1]
    enough = n_rows * TABLE_GROUPS >= max(FEWEST_ROWS, ROWS_PER_FEATURE * len(varied)) * max(n_groups, TABLE_GROUPS)
    suitable = loss.is_additive and ensemble == "grouped" and len(varied) > 1
    return suitable and enough and table_bytes(varied, n_groups, wide=False) <= MOST_BYTES


def groups_for(n_rows: int, sizes: Sequence[int], loss: Loss, ensemble: str) -> int:
    """Return how many groups rows are dealt into where nobody asks for a number."""
    return TABLE_GROUPS if pays(n_rows, sizes, TABLE_GROUPS, loss, ensemble) else ROW_GROUPS


class Counting:
    """Counts the tables of a fit once; every thread that asks for them helps until they are done."""

    def __init__(self, table: CodedTable, target: Floats, weight: Floats) -> None:
        """Prepare to count rows in group order. target : (n,), about 0. weight : (n,), or empty for 1 each."""
        self._table, self._target, self._weight = table, target, weight
        self._lock, self._turn, self._done = threading.Lock(), itertools.count(), threading.Semaphore(0)
        self._pairs = list(itertools.combinations(table.active.tolist(), 2))
        self._made: Tables | None = None
        self._ready = threading.Event()

    def tables(self) -> Tables:
        """Return the tables, after a share of the work."""
        with self._lock:
            if self._made is None:
                self._made = self._begin()
        made = self._made
        scratch: Scratch = np.empty(N_CODES**2), np.empty(N_CODES), np.empty(N_CODES**2)
        while (turn := next(self._turn)) < len(self._pairs):
            self._count(made, self._pairs[turn], scratch)
            self._done.release()
        if not self._ready.is_set():
            with self._lock:
                for _ in range(0 if self._ready.is_set() else len(self._pairs)):
                    self._done.acquire()
                self._ready.set()
        return made

    def _begin(self) -> Tables:
        """Return tables with counts and sums per bin, and room for the lines."""
        table, n_groups = self._table, self._table.starts.size - 1
        pitch = pitches(table.last + 1)
        place = np.concatenate([[0], np.cumsum(pitch * n_groups)]).astype(np.int64)
        count, sums = np.zeros(place[-1]), np.zeros(place[-1])
        for m, g in itertools.product(table.active, range(n_groups)):
            rows, mine = slice(table.starts[g], table.starts[g + 1]), slice(place[m] + g * pitch[m], place[m + 1])
            tables.sum_targets(table.codes[m, rows], self._target[rows], self._weight_of(rows),
                               count=count[mine], sums=sums[mine])  # fmt: skip
        heaviest = np.array([count[place[m] : place[m + 1]].max(initial=0.0) for m in range(pitch.size)])
        is_wide = (heaviest > MOST_COUNTED) | bool(self._weight.size)
        sizes, first = [0, 0], np.zeros((pitch.size, pitch.size), np.int64)
        for j, m in itertools.permutations(table.active, 2):
            wide_one = int(is_wide[m])
            first[j, m] = sizes[wide_one]
            sizes[wide_one] += int(table.last[j] + 1) * n_groups * int(pitch[m])
        narrow, wide = aligned((sizes[0],), np.uint16), aligned((sizes[1],), np.float32)
        return Tables(narrow, wide, is_wide, first, pitch, place=place, weight=count, target=sums,
                      group=self._sum_groups())  # fmt: skip

    def _weight_of(self, rows: slice) -> Floats:
        return self._weight[rows] if self._weight.size else self._weight

    def _sum_groups(self) -> Floats:
        """Return the weight of each group, and the sums of targets and of their squares."""
        sums = []
        for start, end in itertools.pairwise(self._table.starts):
            y = self._target[start:end]
            w = self._weight[start:end] if self._weight.size else np.ones(y.size)
            sums.append((w.sum(), np.sum(w * y), np.sum(w * y * y)))
        return np.array(sums)

    def _count(self, made: Tables, pair: tuple[int, int], scratch: Scratch) -> None:
        """Count the rows of both blocks of a pair, group by group."""
        table, (j, m) = self._table, pair
        sizes, n_groups = table.last + 1, table.starts.size - 1
        cells = scratch[0][: sizes[j] * made.pitch[m]]
        for g in range(n_groups):
            rows = slice(table.starts[g], table.starts[g + 1])
            cells[:] = 0.0
            tables.add_cells(table.codes[j, rows], table.codes[m, rows], self._weight_of(rows), made.pitch[m], cells)
            shape, pitch = (int(sizes[j]), int(sizes[m])), int(made.pitch[m])
            at, skip, lines = self._block(made, j, m, g)
            tables.add_lines(cells, pitch, shape, run=scratch[1], at=at, skip=skip, lines=lines)
            at, skip, lines = self._block(made, m, j, g)
            tables.turn(cells, pitch, shape, scratch[2])
            tables.add_lines(scratch[2], shape[0], shape[::-1], run=scratch[1], at=at, skip=skip, lines=lines)

    @staticmethod
    def _block(made: Tables, j: int, m: int, g: int) -> tuple[int, int, NDArray[Any]]:
        """Return where group g of a block begins, the distance of its lines, and the array that has them."""
        pitch = int(made.pitch[m])
        lines = made.wide if made.is_wide[m] else made.narrow
        return int(made.first[j, m]) + g * pitch, made.group.shape[0] * pitch, lines


def squares(tables: Tables, groups: NDArray[np.int64], base: float) -> float:
    """Return the sum of squared targets about a base, over the rows of some groups."""
    weight, first, second = tables.group[groups].sum(axis=0)
    return float(second - 2.0 * base * first + base * base * weight)
