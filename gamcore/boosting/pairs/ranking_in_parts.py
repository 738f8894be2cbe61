"""The ranking of pairs by all rows of a table in parts: grids are summed where the parts are, and searched here.

What is summed are whole numbers, so the ranking does not depend on the parts. Rows cannot be shuffled to see what
chance does, as they are in memory. What shuffled rows would sum to in a cell follows from how many there are, nearly:
normal numbers with the mean and the variance of a row, so many times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.pairs.ranking import (
    LEAST_SCALE,
    RANK_BINS,
    Ranking,
    candidates,
    in_order,
    lines_in_order,
    merge_all,
)
from gamcore.boosting.refit.problem import Parameters
from gamcore.boosting.rows.sums import Part, Rows, offset_of, weighed, weighted_targets
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Bins
from gamcore.kernels.pair_grid import SIDE, make_board
from gamcore.kernels.pair_sums import rank_grids, sum_pairs
from gamcore.model.classes import against_rest
from gamcore.model.losses import Loss
from gamcore.stats.exact import Moments, as_float, exact_sum

AT_ONCE: Final = 512
"""Pairs whose grids are summed in one pass: they take 16 MiB."""

CHANCE_SEED: Final = 0

WHOLE_BITS: Final = 51
"""Bits of the sum of all statistics, as whole numbers."""


@dataclass(frozen=True)
class MeanScore:
    """The mean of the refits' main effects: bases (K,) and curves (K, p, V), one per class where there are several."""

    bases: Floats
    curves: Floats

    def of(self, part: Part) -> Floats:
        """Return the scores (K, m) of some rows, those of classes against all others."""
        score = np.repeat(self.bases[:, None], part.y.size, axis=1)
        if (offset := offset_of(part)) is not None:
            score += offset.T if offset.ndim == 2 else offset
        for j, line in enumerate(part.codes):
            score += self.curves[:, j][:, line]
        return score if self.bases.size == 1 else np.ascontiguousarray(against_rest(score.T).T)


@dataclass(frozen=True)
class Statistics:
    """Weighted gradients and hessians of rows. spread : mean |response|, see `Loss`."""

    score: MeanScore
    loss: Loss
    target_unit: float
    n_rows: int = 0
    spread: float = 1.0

    @property
    def scale(self) -> float:
        """What scores are divided by."""
        return max(self.spread, LEAST_SCALE) if self.loss.is_scaled else 1.0

    @property
    def unit(self) -> float:
        """What both statistics are divided by."""
        return self.loss.loss_unit(self.scale, self.target_unit) / self.scale**2

    def targets(self, part: Part, k: int) -> Floats:
        """Return the targets (m,) for class k, or for the only score."""
        return part.y if self.score.bases.size == 1 else (part.y == k).astype(np.float64)

    def of(self, part: Part, score: Floats, k: int) -> tuple[Floats, Floats]:
        """Return the negative gradients and hessians (m,) of some rows for class k, or for the only score."""
        y, weight = self.targets(part, k), np.ones(part.y.size) if part.weight is None else part.weight
        curvature = self.loss.curvature_among(y, score[k], self.n_rows, self.spread)
        descent = -self.loss.gradient(y, score[k]) / self.scale
        return descent / self.unit * weight, curvature / self.unit * weight


@dataclass(frozen=True)
class Extent:
    """How large statistics are, of each class: exact sums (4, K) of the sizes of both, of gradients, of their squares,
    and of hessians; the sum of weights; rows, and those with a target above 0."""

    sums: NDArray[Any]
    weight: int
    n_rows: int
    events: int

    def __add__(self, other: Extent) -> Extent:
        both = self.sums + other.sums, self.weight + other.weight
        return Extent(*both, self.n_rows + other.n_rows, self.events + other.events)


def rank_by_parts(
    rows: Rows,
    score: MeanScore,
    about: tuple[tuple[Bins, ...], list[Floats], Loss],
    lines: Floats,
    parameters: Parameters,
    pure: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Ranking:
    """Rank all pairs by all rows; see `ranking.rank`.

    about : bins, rows per bin, and loss. lines : (p, V), by which levels are ordered.
    """
    bins, counts, loss = about
    last = np.array([of_feature.n_values for of_feature in bins], np.int64)
    nominal = np.array([of_feature.feature.is_category for of_feature in bins], bool)
    merges = merge_all(counts, lines_in_order(last, nominal, lines), RANK_BINS, 0.0)
    active = np.flatnonzero([np.count_nonzero(feature_counts) > 1 for feature_counts in counts])
    pairs = candidates(active, last, lines, counts)
    statistics = _measured(rows, score, loss)
    extent = rows.sum(partial(_extent, statistics))
    grain = 2.0 ** (WHOLE_BITS - math.frexp(max(as_float(sum(extent.sums[0])), 1.0))[1])
    floor = loss.least_node(parameters.min_node_weight, parameters.min_node_hessian, extent.events / extent.n_rows)
    ends, total = merges.max(axis=1).astype(np.int64), np.zeros((2, len(pairs)))
    for first in range(0, len(pairs), AT_ONCE):
        some = pairs[first : first + AT_ONCE]
        *grids, cells = rows.sum(partial(_grids, statistics, merges, some, grain))
        for k, grid in enumerate(grids):
            by_chance = _by_chance(cells, extent, k, np.random.default_rng([CHANCE_SEED, k, first]))
            for values, out in zip((grid / grain, by_chance), total[:, first : first + AT_ONCE], strict=True):
                out += _strengths(values, ends, some, floor, pure)
        if progress:
            progress(min(first + AT_ONCE, len(pairs)), len(pairs))
    unit = loss.newton_drop * statistics.scale**2 * statistics.unit / as_float(extent.weight)
    return in_order(pairs, total[0] * unit, float(np.max(total[1], initial=0.0)) * unit)


def _measured(rows: Rows, score: MeanScore, loss: Loss) -> Statistics:
    """Return what statistics are measured in."""
    targets = rows.sum(weighted_targets)
    statistics = Statistics(score, loss, loss.unit_of(np.array([targets.mean]), np.ones(1)), targets.n_rows)
    if not loss.is_scaled:
        return statistics
    return replace(statistics, spread=rows.sum(partial(_responses, statistics)).mean)


def _responses(statistics: Statistics, part: Part) -> Moments:
    """Return the moments of the sizes of the rows' responses."""
    score = statistics.score.of(part)[0]
    return Moments.of(np.abs(statistics.loss.response(part.y, score, statistics.target_unit)), part.weight)


def _extent(statistics: Statistics, part: Part) -> Extent:
    """Return how large the statistics of some rows are."""
    score, sums = statistics.score.of(part), np.zeros((4, statistics.score.bases.size), object)
    for k in range(len(score)):
        descent, curvature = statistics.of(part, score, k)
        sums[:, k] = [
            exact_sum(np.abs(descent)) + exact_sum(np.abs(curvature)),
            *map(exact_sum, (descent, np.square(descent), curvature)),
        ]
    weight = weighed(np.ones(part.y.size), part.weight)
    return Extent(sums, weight, n_rows=part.y.size, events=int(np.count_nonzero(part.y > 0)))


def _grids(statistics: Statistics, merges: NDArray[np.uint8], pairs: Ints, grain: float, part: Part) -> Floats:
    """Return the sums of some rows over the cells of pairs in whole numbers, (K + 1, m, cells): of the statistics of
    each class, and the rows."""
    codes = np.empty((len(part.codes), part.y.size), np.uint8)
    for merge, line, out in zip(merges, part.codes, codes, strict=True):
        np.take(merge, line, out=out, mode="clip")
    score, board = statistics.score.of(part), make_board(np.float64)
    sums = np.zeros((len(score) + 1, len(pairs), 2 * SIDE * (RANK_BINS + 1)))
    for k in range(len(score)):
        descent, curvature = (np.rint(values * grain) for values in statistics.of(part, score, k))
        sum_pairs(codes, descent + 1j * curvature, pairs, board, sums[k])
    sum_pairs(codes, np.ones(part.y.size, np.complex128), pairs, board, sums[-1])
    return sums


def _by_chance(cells: Floats, extent: Extent, k: int, rng: np.random.Generator) -> Floats:
    """Return grids (m, cells) as they would be if statistics fell on rows at random, given the rows of each cell."""
    gradient, square, hessian = (as_float(total, extent.n_rows) for total in extent.sums[1:, k])
    n_rows, drawn = cells[:, ::2], np.empty(cells.shape)
    drawn[:, ::2] = gradient * n_rows + math.sqrt(max(square - gradient**2, 0.0)) * np.sqrt(n_rows) * rng.normal(
        size=n_rows.shape
    )
    drawn[:, 1::2] = hessian * n_rows
    return drawn


def _strengths(grids: Floats, ends: Ints, pairs: Ints, floor: float, pure: bool) -> Floats:
    """Return the strengths (m,) of pairs with these grids."""
    out = np.empty(len(pairs))
    rank_grids(np.ascontiguousarray(grids), ends, pairs, floor, pure, make_board(np.float64), out)
    return out


def mean_of_refits(refits: Any) -> MeanScore:
    """Return the mean score of refits of one score, or of several classes each."""
    each = [getattr(refit, "classes", [refit]) for refit in refits]
    bases = np.mean([[model.base_score for model in classes] for classes in each], axis=0)
    return MeanScore(bases, np.mean([[model.curves for model in classes] for classes in each], axis=0))
