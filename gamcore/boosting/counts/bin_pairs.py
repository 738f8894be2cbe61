"""Counts of bin pairs per group of rows, from which squared loss is boosted where rows are many (`kernels/tables.py`).

Whether they pay depends on the rows, features, bins, loss and ensemble alone, never on the machine: groups are fewer
then, and so the model is another one.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.whole_numbers import Piece, Rounded, Scale
from gamcore.boosting.running.executor import Executor, make_executor
from gamcore.common.types import Bools, Floats, Ints
from gamcore.kernels import N_CODES, tables
from gamcore.kernels.layout import aligned
from gamcore.kernels.tables import Tables
from gamcore.model.losses import Loss

FEWEST_ROWS: Final = 100_000
ROWS_PER_PAIR: Final = 2_000
"""Rows, and rows per pair of features, from which tables of `TABLE_GROUPS` groups pay (docs/benchmarks/index.md); of
more groups, as many times more rows."""

TABLE_GROUPS: Final = 8
ROW_GROUPS: Final = 32
"""Groups that rows are dealt into, with tables and without."""

HALF_GROUPS: Final = 32
"""Groups of counted rows whose halves show how certain curves are."""

MOST_BYTES: Final = 2**30
"""Most bytes of tables."""

MOST_COUNTED: Final = 2**16 - 1
"""Most rows that a number of 16 bits can count."""

Tell = Callable[[int, int], None]

VECTOR: Final = 32
"""Codes are padded to a multiple of this many."""


def pitches(sizes: Sequence[int] | Ints) -> Ints:
    """Return the places per group of features with so many codes, the unseen one left out."""
    return -(-np.asarray(sizes, np.int64) // VECTOR) * VECTOR


def table_bytes(sizes: Sequence[int], n_groups: int, wide: bool) -> int:
    """Return the bytes of the tables of features with so many codes. wide : whether their numbers have 32 bits."""
    codes, padded = np.asarray(sizes, np.int64), pitches(sizes)
    return int(n_groups * (codes.sum() * padded.sum() - (codes * padded).sum())) * (4 if wide else 2)


def pays(
    n_rows: int, sizes: Sequence[int], n_groups: int, loss: Loss, ensemble: str, is_weighted: bool = False,
    most: int = MOST_BYTES,
) -> bool:  # fmt: skip
    """Return whether rows are so many that tables of features with so many codes take less time, and fit.

    most : bytes that tables may take.
    """
    varied = [size for size in sizes if size > 1]
    n_pairs = len(varied) * (len(varied) - 1) // 2
    enough = n_rows * TABLE_GROUPS >= max(FEWEST_ROWS, ROWS_PER_PAIR * n_pairs) * max(n_groups, TABLE_GROUPS)
    suitable = loss.is_additive and ensemble == "grouped" and len(varied) > 1 and max(varied) <= N_CODES
    return suitable and enough and table_bytes(varied, n_groups, wide=is_weighted) <= most


def groups_for(n_rows: int, sizes: Sequence[int], loss: Loss, ensemble: str, is_weighted: bool = False) -> int:
    """Return how many groups rows are dealt into where nobody asks for a number."""
    return TABLE_GROUPS if pays(n_rows, sizes, TABLE_GROUPS, loss, ensemble, is_weighted=is_weighted) else ROW_GROUPS


@dataclass(frozen=True)
class CountPlan:
    """How rows are counted.

    last, active : as those of a `CodedTable`. n_rows : all rows, for those who hear of progress. centre, spread : where
    targets are counted from, and in which unit. scale : what whole numbers stand for, None before it is measured.
    is_wide : (p,) whether numbers of a feature have 32 bits.
    """

    last: Ints
    active: Ints
    n_groups: int
    n_rows: int = 0
    centre: float = 0.0
    spread: float = 1.0
    scale: Scale | None = None
    is_wide: Bools | None = None

    def empty(self) -> Tables:
        """Return tables in which nothing is counted yet."""
        assert self.scale is not None
        assert self.is_wide is not None
        return empty_tables(self.last, self.active, self.n_groups, self.is_wide, self.scale)


def measured(plan: CountPlan, heaviest: Floats, total: float, is_weighted: bool, spare: int) -> CountPlan:
    """Return a plan with a scale, if it has none, and the bits that its numbers need.

    heaviest : (p,) the most rows (the largest weight) of a code of each feature in a group. total : that of all rows.
    spare : doublings of the rows for which the scale leaves room.
    """
    scale = plan.scale or Scale.of(float(heaviest.max(initial=1.0)), total, is_weighted, spare)
    return replace(plan, scale=scale, is_wide=(heaviest > MOST_COUNTED) | scale.is_weighted)


def sum_of(first: Tables, second: Tables) -> Tables:
    """Return the counts of the rows of both, which are of the same plan; they are written over the first."""
    for name in ("narrow", "wide", "weight", "target", "group"):
        np.add(getattr(first, name), getattr(second, name), out=getattr(first, name))
    return first


@dataclass
class Counting:
    """Counts the tables of a fit once, a piece of the rows at a time.

    Weights and targets become whole numbers (`whole_numbers`), so tables do not depend on the order of pieces.

    pieces : yields all rows at each call. spare : see `measured`.
    """

    pieces: Callable[[], Iterable[Piece]]
    plan: CountPlan
    spare: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)
    _own: Any = field(default_factory=threading.local, repr=False)
    counted: Tables | None = None

    def tables(self, n_threads: int = 1, tell: Tell | None = None) -> Tables:
        """Return the tables; the first call counts them. tell : hears of the rows done, and of those there are."""
        with self._lock:
            if self.counted is None:
                whole = self.whole(n_threads, tell)
                assert self.plan.scale is not None
                self.counted = self.plan.scale.read(whole)
            return self.counted

    def whole(self, n_threads: int = 1, tell: Tell | None = None) -> Tables:
        """Return the counts in whole numbers; the plan then has what these stand for."""
        if self.plan.is_wide is None:
            self.plan = self._measured()
        assert self.plan.scale is not None
        counted, done = self.plan.empty(), 0
        executor = make_executor(n_threads)
        try:
            for piece in self.pieces():
                rows = self.plan.scale.round(piece)
                self._add_sums(counted, rows, executor)
                pairs = itertools.combinations(self.plan.active.tolist(), 2)
                executor.map(partial(self._add_pair, counted, rows), pairs)
                done += rows.target.size
                if tell:
                    tell(done, self.plan.n_rows)
        finally:
            executor.close()
        return counted

    def _measured(self) -> CountPlan:
        """Return the plan with what the rows need."""
        plan, weighted = self.plan, False
        sums = [np.zeros((plan.n_groups, width)) for width in pitches(plan.last + 1)]
        for piece in self.pieces():
            weighted = weighted or bool(piece.weight.size)
            for m, g in itertools.product(plan.active, range(plan.n_groups)):
                rows = slice(piece.starts[g], piece.starts[g + 1])
                weight = piece.weight[rows] if piece.weight.size else None
                sums[m][g] += np.bincount(piece.codes[m, rows], weight, sums[m].shape[1])
        heaviest, total = np.array([line.max() for line in sums]), float(sums[plan.active[0]].sum())
        return measured(plan, heaviest, total, weighted, self.spare)

    def _add_sums(self, counted: Tables, rows: Rounded, executor: Executor) -> None:
        """Add weights and targets by code, and by group."""

        def add(m: int) -> None:
            for g in range(self.plan.n_groups):
                here, mine = rows.of_group(g), slice(counted.place[m] + g * counted.pitch[m], counted.place[m + 1])
                tables.sum_targets(rows.codes[m, here], rows.target[here], rows.weights(here),
                                   weight_sums=counted.weight[mine], target_sums=counted.target[mine])  # fmt: skip

        executor.map(add, self.plan.active.tolist())
        for g in range(self.plan.n_groups):
            here = rows.of_group(g)
            weight = rows.weights(here)
            counted.group[g] += (
                weight.sum() if weight.size else rows.target[here].size,
                *(values[here].sum() for values in (rows.target, rows.square)),
            )

    def _scratch(self) -> tuple[Floats, Floats, Floats]:
        """Return this thread's cells, cells with their codes exchanged, and a line."""
        if not hasattr(self._own, "scratch"):
            self._own.scratch = np.empty(N_CODES**2), np.empty(N_CODES**2), np.empty(N_CODES)
        scratch: tuple[Floats, Floats, Floats] = self._own.scratch
        return scratch

    def _add_pair(self, counted: Tables, rows: Rounded, pair: tuple[int, int]) -> None:
        """Add the rows of both blocks of a pair, group by group."""
        j, m = pair
        shape, pitch = (int(self.plan.last[j]) + 1, int(self.plan.last[m]) + 1), int(counted.pitch[m])
        cells, turned, run = self._scratch()
        cells = cells[: shape[0] * pitch]
        for g in range(self.plan.n_groups):
            here = rows.of_group(g)
            cells[:] = 0.0
            tables.add_cells(rows.codes[j, here], rows.codes[m, here], rows.weights(here), pitch, cells)
            at, skip, lines = _block(counted, j, m, g)
            tables.add_lines(cells, pitch, shape, run=run, at=at, skip=skip, lines=lines)
            tables.turn(cells, pitch, shape, turned)
            at, skip, lines = _block(counted, m, j, g)
            tables.add_lines(turned, shape[0], shape[::-1], run=run, at=at, skip=skip, lines=lines)


def empty_tables(last: Ints, active: Ints, n_groups: int, is_wide: Bools, scale: Scale) -> Tables:
    """Return tables in which nothing is counted yet. is_wide : (p,) whether numbers of a feature have 32 bits."""
    pitch = pitches(last + 1)
    place = np.concatenate([[0], np.cumsum(pitch * n_groups)]).astype(np.int64)
    sizes, first = [0, 0], np.zeros((pitch.size, pitch.size), np.int64)
    for j, m in itertools.permutations(active, 2):
        kind = int(is_wide[m])
        first[j, m] = sizes[kind]
        sizes[kind] += int(last[j] + 1) * n_groups * int(pitch[m])
    return Tables(
        narrow=aligned((sizes[0],), np.uint16), wide=aligned((sizes[1],), np.int32), is_wide=is_wide, unit=scale.unit,
        first=first, pitch=pitch, place=place, weight=np.zeros(place[-1]), target=np.zeros(place[-1]),
        group=np.zeros((n_groups, 3)),
    )  # fmt: skip


def block(counted: Tables, last: Ints, j: int, m: int) -> NDArray[Any]:
    """Return the lines (codes of j, groups, places of m) of a pair, as a view."""
    shape = int(last[j]) + 1, counted.group.shape[0], int(counted.pitch[m])
    lines = counted.wide if counted.is_wide[m] else counted.narrow
    return lines[counted.first[j, m] :][: shape[0] * shape[1] * shape[2]].reshape(shape)


def _block(counted: Tables, j: int, m: int, g: int) -> tuple[int, int, NDArray[Any]]:
    """Return where group g of a block begins, the distance of its lines, and the array that has them."""
    pitch = int(counted.pitch[m])
    lines = counted.wide if counted.is_wide[m] else counted.narrow
    return int(counted.first[j, m]) + g * pitch, counted.group.shape[0] * pitch, lines


def squares(tables: Tables, groups: NDArray[np.int64], base: float) -> float:
    """Return the sum of squared targets about a base, over the rows of some groups."""
    weight, first, second = tables.group[groups].sum(axis=0)
    return float(second - 2.0 * base * first + base * base * weight)
