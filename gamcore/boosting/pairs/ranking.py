"""Ranking of all pairs of features by interaction strength (FAST; Lou et al., KDD 2013, section 4)."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.problem import Parameters, Problem
from gamcore.boosting.rows.source import Encoded
from gamcore.boosting.running.executor import Executor, make_executor
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import merge_bins
from gamcore.data.sampling import Deal
from gamcore.kernels import N_CODES, SUM
from gamcore.kernels.layout import CodedTable
from gamcore.kernels.pair_grid import make_board
from gamcore.kernels.pair_rounds import rank_pairs
from gamcore.model.additive import AdditiveModel, count_bins
from gamcore.model.classes import ClassesModel, against_rest

RANK_BINS: Final = 31
"""Most bins of values on an axis of a ranked grid; code 0 is the missing bin."""

BLOCK: Final = 512
"""Most pairs ranked between two reports of progress."""

MOST_RANKED: Final = 1000
"""Most features whose pairs are ranked, chosen by strength of main effect; pairs of any other feature are missed."""

SHUFFLE_SEED: Final = 0

LEAST_SCALE: Final = 1e-150
"""Smallest spread of residuals whose square is above 0."""


MOST_CELLS: Final = 2**21
"""Most cells of a pair's features: a model keeps a score and a weight for each of them, 32 MiB in all."""


@dataclass(frozen=True)
class Ranking:
    """All pairs (m, 2) with their strengths (m,), strongest first.

    chance : the largest strength after shuffling the gradients over rows, which leaves no interaction; NaN if not
        requested.
    """

    pairs: Ints
    strengths: Floats
    chance: float


def merge_all(counts: list[Floats], lines: list[Ints], most: int, offset: float) -> NDArray[np.uint8]:
    """Return the merged code (p, V) of each code of every feature."""
    merged = [merge_bins(count, line, most, offset) for count, line in zip(counts, lines, strict=True)]
    tables = np.zeros((len(merged), max(map(len, merged))), np.uint8)
    for line, of_feature in zip(tables, merged, strict=True):
        line[: of_feature.size] = of_feature
    return tables


def lines_of(table: CodedTable, curves: Floats) -> list[Ints]:
    """Return the codes of each feature's values in cutting order: levels by their main effect, others ascending."""
    return lines_in_order(table.last, table.nominal, curves)


def lines_in_order(last_codes: Ints, is_nominal: Bools, curves: Floats) -> list[Ints]:
    """Return the same, given the largest code of each feature and whether it has levels, (p,)."""
    orders = []
    for j, (last, nominal) in enumerate(zip(last_codes, is_nominal, strict=True)):
        codes = np.arange(1, int(last) + 1)
        orders.append(codes[np.argsort(curves[j, codes], kind="stable")] if nominal else codes)
    return orders


@dataclass(frozen=True)
class Scored:
    """Rows with the score that pairs are added to: (n,). Several classes have one each, against the others."""

    problem: Problem
    score: Floats


def rank(
    scored: Sequence[Scored],
    curves: Floats,
    counts: list[Floats],
    parameters: Parameters,
    pure: bool = True,
    n_jobs: int = 1,
    chance: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Ranking:
    """Rank all pairs by how much they lower the loss, given main effects `curves` (p, V) and the rows' scores.

    scored : one, or one per class, whose strengths are added; their rows and features are the same.
    pure : count only what is beyond main effects. Otherwise the drop in RSS of Lou et al. 2013, which also counts what
    the main effects have left unfitted.
    chance : also compute the largest strength due to chance; doubles the time.
    progress : called with the number of grids done, and of all grids.
    """
    problem = scored[0].problem
    merges = merge_all(counts, lines_of(problem.table, curves), RANK_BINS, 0.0)
    codes = np.empty((problem.table.last.size, problem.table.n_rows), np.uint8)
    for merge, line, out in zip(merges, problem.table.lines(), codes, strict=True):
        np.take(merge, line, out=out, mode="clip")  # the default mode copies first
    pairs = candidates(problem.table.active, problem.table.last, curves, counts)
    floor = problem.least_node(replace(parameters, mart=False))
    grids = _Grids(codes, merges.max(axis=1).astype(np.int64), pairs, floor, pure)
    total = np.zeros((1 + chance, len(pairs)))
    executor = make_executor(n_jobs)
    try:
        for k, rows in enumerate(scored):
            stats, unit = _statistics(rows.problem, rows.score)
            shuffled = [np.random.default_rng(SHUFFLE_SEED).permutation(stats)] if chance else []
            tell = _part_of(progress, k, len(scored)) if progress else None
            total += grids.strengths([stats, *shuffled], executor, tell) * unit
    finally:
        executor.close()
    return in_order(pairs, total[0], float(np.max(total[1], initial=0.0)) if chance else math.nan)


def in_order(pairs: Ints, strengths: Floats, chance: float) -> Ranking:
    """Return the ranking of pairs (m, 2) with strengths (m,)."""
    order = np.argsort(-strengths, kind="stable")
    return Ranking(pairs[order], strengths[order], chance)


def candidates(active: Ints, last: Ints, curves: Floats, counts: list[Floats]) -> Ints:
    """Return the pairs (m, 2) that are ranked: of the strongest features, if a model can keep them.

    active : the features that vary. last : (p,) their largest codes.
    """
    pairs: Ints = np.array(list(itertools.combinations(_strongest(active, curves, counts), 2)), np.int64).reshape(-1, 2)
    kept: Ints = pairs[np.prod(last[pairs] + 2, axis=1) <= MOST_CELLS]
    return kept


def _part_of(progress: Callable[[int, int], None], k: int, parts: int) -> Callable[[int, int], None]:
    """Return what tells the progress of the k-th of some parts of the same size."""
    return lambda done, n_pairs: progress(k * n_pairs + done, parts * n_pairs)


def rank_without_pairs(
    data: Encoded, model: AdditiveModel | ClassesModel, parameters: Parameters, **options: Any
) -> Ranking:
    """Rank all pairs on some rows, given a fitted model's main effects without its pairs; `options` as for `rank`."""
    codes, n_rows = data.binned.codes, data.y.size
    problem = data.problem(Deal(np.arange(n_rows), np.array([0, n_rows])))
    models = (model,) if isinstance(model, AdditiveModel) else model.models
    score = np.stack([replace(alone, pairs=()).score(codes) for alone in models], axis=1)
    if problem.offset.size:
        score += problem.offset.reshape(score.shape)
    lines = strongest_lines([curves_of(alone) for alone in models])
    counts = count_bins(codes, model.bins, data.weight)
    return rank(scored_by(problem, score), lines, counts, parameters, **options)


def scored_by(problem: Problem, score: Floats) -> list[Scored]:
    """Return the rows with their score (n, 1), or with that of each class against the others, given scores (n, K)."""
    if score.shape[1] == 1:
        return [Scored(problem, score[:, 0])]
    rest = against_rest(score)
    return [Scored(problem.of_class(k), rest[:, k]) for k in range(score.shape[1])]


def curves_of(model: AdditiveModel) -> Floats:
    """Return the main effects of a model as curves (p, V)."""
    curves = np.zeros((len(model.terms), max(N_CODES, *(of_feature.size for of_feature in model.bins))))
    for term in model.terms:
        curves[term.feature, : term.scores.size] = term.scores
    return curves


def strongest_lines(curves: Sequence[Floats]) -> Floats:
    """Return, for every feature, the curve (V,) of the class that it moves most: levels are ordered by it."""
    stacked = np.stack(curves)
    return np.asarray(stacked[np.ptp(stacked, axis=2).argmax(axis=0), np.arange(stacked.shape[1])])


@dataclass(frozen=True)
class _Grids:
    codes: NDArray[np.uint8]  # (p, n) merged
    ends: Ints  # (p,) largest merged codes
    pairs: Ints  # (m, 2)
    floor: float  # least weight of a quadrant
    pure: bool

    def strengths(
        self, statistics: list[NDArray[np.complex64]], executor: Executor, progress: Callable[[int, int], None] | None
    ) -> Floats:
        """Return how much the best cross of each pair lowers the loss, for each (n,) array of gradient + i weight."""
        size = max(1, min(BLOCK, math.ceil(len(self.pairs) / executor.n_workers)))
        blocks = [(s, k) for s in statistics for k in range(0, len(self.pairs), size)]
        done, n_pairs, lock = 0, len(self.pairs) * len(statistics), threading.Lock()

        def drops(block: tuple[NDArray[np.complex64], int]) -> Floats:
            stats, first = block
            pairs = self.pairs[first : first + size]
            out = np.empty(len(pairs))
            rank_pairs(self.codes, self.ends, stats, pairs, self.floor, self.pure, make_board(SUM), out)
            if progress:
                nonlocal done
                with lock:  # one report at a time, in order
                    done += len(pairs)
                    progress(done, n_pairs)
            return out

        return np.concatenate([np.empty(0), *executor.map(drops, blocks)]).reshape(len(statistics), -1)


def _statistics(problem: Problem, score: Floats) -> tuple[NDArray[np.complex64], float]:
    """Return the weighted negative gradient + i hessian (n,) at a score, and the unit of strengths in the loss."""
    weight, loss = problem.row_weight, problem.loss
    descent, curvature = -loss.gradient(problem.y, score), loss.curvature(problem.y, score)
    scale = 1.0
    if loss.is_scaled:
        scale = max(loss.scale_of(loss.response(problem.y, score, problem.unit), weight), LEAST_SCALE)
    unit = loss.loss_unit(scale, problem.unit) / scale**2
    statistics = (descent / scale / unit * weight + 1j * (curvature / unit * weight)).astype(np.complex64)
    return statistics, loss.newton_drop * scale**2 * unit / float(weight.sum())


def _strongest(active: Ints, curves: Floats, counts: list[Floats]) -> list[int]:
    """Return the features whose pairs are ranked: the MOST_RANKED active ones with the largest mean |main effect|."""
    if active.size <= MOST_RANKED:
        return [int(j) for j in active]
    importance = []
    for j in active:
        curve, count = curves[j, : counts[j].size], counts[j]
        importance.append(np.average(np.abs(curve - np.average(curve, weights=count)), weights=count))
    return sorted(int(j) for j in active[np.argsort(-np.array(importance), kind="stable")[:MOST_RANKED]])


def elbow(strengths: Floats) -> int:
    """Return how many of some descending strengths stand out.

    These are the ones before the point farthest below the line from the first to the last strength; if no point is
    below it, the ones before the largest drop.
    """
    if strengths.size < 2 or not strengths[0] > strengths[-1]:
        return int(strengths.size)
    line = np.linspace(strengths[0], strengths[-1], strengths.size)
    return int(np.argmax(line - strengths)) or 1 + int(np.argmax(-np.diff(strengths)))
