"""The triple stage of one refit: boosts chosen triples on top of its main effects and pairs.

A triple is boosted as a pair, by the kernel that pairs have: the parts of the two features that have the fewest, taken
together, are one of its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from gamcore.boosting.pairs.selection import Options, Pair
from gamcore.boosting.pairs.stage import PairRefit, PairState, Start, main_score, worth_of
from gamcore.boosting.refit.loop import boost
from gamcore.boosting.refit.problem import LazyShare, Problem, rows_of
from gamcore.boosting.refit.state import Refit
from gamcore.boosting.rows.sums import Part
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Loop
from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins, merge_bins
from gamcore.kernels import N_CODES
from gamcore.kernels.layout import CodedTable
from gamcore.model.grids import split_off

MOST_PARTS: Final = (6, 8, 24)
"""Most ranges, or levels, of the features of a triple: of the one that has the fewest, of the next, and of the other.
The parts of the first two, missing included, have to fit on one axis of a pair."""


@dataclass(frozen=True)
class Grid:
    """The parts of a triple's features; fields as in `GridTerm`."""

    features: tuple[int, ...]
    parts: tuple[Codes, ...]

    @classmethod
    def of(
        cls, features: tuple[int, ...], bins: Sequence[Bins], counts: Sequence[Floats], lines: Sequence[Ints]
    ) -> Grid:
        """Return the grid of some features. counts : training rows per code of each feature of the table. lines : the
        codes of its values in order (`pairs.ranking.lines_of`)."""
        by_size = sorted(features, key=lambda j: int(_parts(bins[j], counts[j], lines[j], max(MOST_PARTS)).max()))
        most = dict(zip(by_size, MOST_PARTS, strict=True))
        return cls(features, tuple(_parts(bins[j], counts[j], lines[j], most[j]) for j in features))

    @property
    def shape(self) -> tuple[int, ...]:
        """Parts of each feature; training rows are in all but the last."""
        return tuple(int(part.max()) + 1 for part in self.parts)

    @property
    def axes(self) -> tuple[int, int, int]:
        """The places of its features by the number of their parts, the fewest first: the first two share an axis."""
        shortest, middle, longest = np.argsort(self.shape, kind="stable")
        return int(shortest), int(middle), int(longest)

    def lines(self, codes: Sequence[Codes]) -> tuple[Codes, Codes]:
        """Return the codes (n,) of rows on both axes of a pair, from 1, given those of the features of the table."""
        first, second, third = (self.parts[axis][codes[self.features[axis]]] for axis in self.axes)
        across = self.shape[self.axes[1]] - 1
        return (1 + first.astype(np.intp) * across + second).astype(np.uint8), (1 + third).astype(np.uint8)

    def cells(self, surface: Floats) -> Floats:
        """Return a pair's surface over these axes as the table (a, b, c) of a triple."""
        a, b, c = (self.shape[axis] - 1 for axis in self.axes)
        table = np.pad(surface[1 : 1 + a * b, 1 : 1 + c].reshape(a, b, c), (0, 1))
        return np.moveaxis(table, (0, 1, 2), self.axes)

    def count(self, codes: Sequence[Codes], weight: Floats | None) -> Floats:
        """Return the rows (sum of weights) of each cell, given codes (p, n)."""
        where = tuple(part[codes[j]] for part, j in zip(self.parts, self.features, strict=True))
        places = np.ravel_multi_index(where, self.shape)
        return np.bincount(places, weight, int(np.prod(self.shape))).astype(np.float64).reshape(self.shape)

    def rows_in(self, part: Part) -> Floats:
        """Return the rows (sum of weights) of each cell in some rows."""
        return self.count(list(part.codes), part.weight)


def _parts(bins: Bins, counts: Floats, line: Ints, most: int) -> Codes:
    """Return the part of each code (size,): at most `most` of values, 0 for missing, the last for codes without
    rows."""
    parts = merge_bins(counts, line, most, 0.0)[: bins.size]
    empty = counts == 0
    empty[1:-1] &= bins.feature.is_category
    empty[-1] = True  # never seen
    parts[empty] = parts.max() + 1
    return parts


@dataclass(frozen=True)
class TripleRefit:
    """The result of one refit of the triple stage.

    cells : of each triple the table (a, b, c), as it was boosted. worth : (T,) see `worth_of`, on the validation rows.
    first_loss : on the validation rows, before the stage.
    """

    cells: tuple[Floats, ...]
    best_round: int
    valid_loss: float
    first_loss: float
    worth: Floats


@dataclass(frozen=True)
class TripleTask:
    """One refit of the triple stage, as data that can be pickled. before : its main effects and `pairs`."""

    share: LazyShare
    before: PairRefit
    pairs: Sequence[Pair]
    grids: Sequence[Grid]
    options: Options
    seed: int
    watch: bool = False

    def run(self, within: Executor | None) -> Loop[TripleRefit]:
        """Boost the refit; see `boost`."""
        share, parameters = self.share.load(), replace(self.options.parameters, signs=())
        problem, split = share.problem, share.split
        codes, score = problem.table.lines(), score_after(problem, self.before, self.pairs)
        flat = replace(problem, table=_axes(problem.table, self.grids), offset=score)
        last = flat.table.last[:, None]
        merges = np.where(np.arange(N_CODES) <= last, np.arange(N_CODES), 0).astype(np.uint8)
        start = Start(
            main=Refit(np.zeros((last.size, N_CODES)), 0.0, 0, self.before.valid_loss),
            split=split,
            pairs=np.arange(last.size).reshape(-1, 2),
            merges=merges,
            joint=False,
            refined=self.options.refined,
            seed=self.seed,
        )
        state = PairState(flat, start, parameters)
        yield from boost(state, within, self.watch)
        boosted = state.best_pairs()
        cells = tuple(grid.cells(surface) for grid, surface in zip(self.grids, boosted.surfaces, strict=True))
        train, valid = rows_of(problem.table, split.train), rows_of(problem.table, split.valid)
        added, parts = score[valid].copy(), np.zeros((len(cells), valid.size))
        for part, grid, table in zip(parts, self.grids, cells, strict=True):
            weight = grid.count([line[train] for line in codes], problem.row_weight[train])
            where = tuple(part[codes[j][valid]] for part, j in zip(grid.parts, grid.features, strict=True))
            added += table[where]
            part[:] = split_off(table[None], weight)[0][0][where]
        worth = worth_of(added, parts, partial(problem.loss.loss, problem.y[valid]), problem.row_weight[valid])
        return TripleRefit(cells, boosted.best_round, boosted.valid_loss, boosted.first_loss, worth)


def score_after(problem: Problem, refit: PairRefit, pairs: Sequence[Pair]) -> Floats:
    """Return the scores (n,) of a refit's main effects and pairs, the offset included."""
    score, lines = main_score(problem, refit.main), problem.table.lines()
    for (i, j), surface in zip(pairs, refit.surfaces, strict=True):
        score += surface[refit.merges[i][lines[i]], refit.merges[j][lines[j]]]
    return score


def _axes(table: CodedTable, grids: Sequence[Grid]) -> CodedTable:
    """Return a table with both axes of each triple as its features, (2 T, n)."""
    lines = table.lines()
    codes = np.stack([axis for grid in grids for axis in grid.lines(lines)])
    last = codes.max(axis=1, initial=0).astype(np.int64)
    return CodedTable(codes, table.starts, last, np.zeros(last.size, bool), np.flatnonzero(last > 1))
