"""All pairs of features by the strength of their interaction (FAST; Lou et al., KDD 2013, section 4)."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.executor import Executor, make_executor
from gamcore.boosting.problem import Parameters, Problem
from gamcore.boosting.rows import Encoded
from gamcore.data.binning import merge_bins
from gamcore.data.sampling import Deal
from gamcore.kernels import N_CODES, SUM
from gamcore.kernels.layout import CodedTable
from gamcore.kernels.pair_grid import make_board
from gamcore.kernels.pair_rounds import rank_pairs
from gamcore.model.additive import AdditiveModel, count_bins
from gamcore.types import Floats, Ints

RANK_BINS: Final = 31
"""Bins of values on an axis of a grid that is ranked; code 0 is the missing bin."""

BLOCK: Final = 512
"""Most pairs that are ranked between two reports of progress."""

MOST_RANKED: Final = 1000
"""Features whose pairs are all ranked, the strongest by main effect; a pair of two features without any main effect
that are not among them is missed."""

SHUFFLE_SEED: Final = 0


@dataclass(frozen=True)
class Ranking:
    """All pairs (m, 2) with their strengths (m,), strongest first.

    chance : the largest strength once the rows' gradients are shuffled, which leaves no interaction; NaN where it was
        not asked for.
    """

    pairs: Ints
    strengths: Floats
    chance: float


def merge_all(counts: list[Floats], lines: list[Ints], most: int, offset: float) -> NDArray[np.uint8]:
    """Merged codes (p, V) of every feature."""
    return np.stack([merge_bins(count, line, most, offset) for count, line in zip(counts, lines, strict=True)])


def lines_of(table: CodedTable, curves: Floats) -> list[Ints]:
    """Return the codes of each feature's values in the order they are cut: levels by their main effect, others as they
    are."""
    made = []
    for j, (last, nominal) in enumerate(zip(table.last, table.nominal, strict=True)):
        codes = np.arange(1, int(last) + 1)
        made.append(codes[np.argsort(curves[j, codes], kind="stable")] if nominal else codes)
    return made


def rank(
    problem: Problem,
    score: Floats,
    curves: Floats,
    counts: list[Floats],
    parameters: Parameters,
    pure: bool = True,
    n_jobs: int = 1,
    chance: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Ranking:
    """Return all pairs by what they take off the loss of the rows, on top of main effects `curves` (p, V) of sum
    `score` (n,).

    pure : only what is beyond main effects. Otherwise the drop in RSS of Lou et al. 2013, which also rewards what the
    main effects have left over.
    chance : also tell what chance alone gives, for the same time again.
    progress : is told how many grids are done, and of how many.
    """
    merges = merge_all(counts, lines_of(problem.table, curves), RANK_BINS, 0.0)
    codes = np.empty(problem.table.codes.shape, np.uint8)
    for merge, line, out in zip(merges, problem.table.codes, codes, strict=True):
        np.take(merge, line, out=out, mode="clip")  # other modes make a copy first
    pairs = np.array(list(itertools.combinations(_strongest(problem, curves, counts), 2)), np.int64).reshape(-1, 2)
    floor = parameters.min_node_hessian if problem.loss.has_hessian else parameters.min_node_weight
    stats, unit = _statistics(problem, score)
    statistics = [stats, np.random.default_rng(SHUFFLE_SEED).permutation(stats)] if chance else [stats]
    grids = _Grids(codes, merges.max(axis=1).astype(np.int64), pairs, floor, pure)
    executor = make_executor(n_jobs)
    try:
        strengths, *by_chance = grids.strengths(statistics, executor, progress) * unit
    finally:
        executor.close()
    order = np.argsort(-strengths, kind="stable")
    return Ranking(pairs[order], strengths[order], float(np.max(by_chance, initial=0.0)) if chance else math.nan)


def rank_without_pairs(data: Encoded, model: AdditiveModel, parameters: Parameters, **options: Any) -> Ranking:
    """Return all pairs on some rows of a fitted model, without the pairs it has; `options` as those of `rank`."""
    codes, n_rows = data.binned.codes, data.y.size
    curves = np.zeros((len(model.terms), N_CODES))
    for term in model.terms:
        curves[term.feature, : term.scores.size] = term.scores
    problem = data.problem(Deal(np.arange(n_rows), np.array([0, n_rows])))
    score = replace(model, pairs=()).score(codes)
    return rank(problem, score, curves, count_bins(codes, model.bins, data.weight), parameters, **options)


@dataclass(frozen=True)
class _Grids:
    codes: NDArray[np.uint8]  # (p, n) merged
    ends: Ints  # (p,) the largest
    pairs: Ints  # (m, 2)
    floor: float  # of the weight of a quarter
    pure: bool

    def strengths(
        self, statistics: list[NDArray[np.complex64]], executor: Executor, progress: Callable[[int, int], None] | None
    ) -> Floats:
        """Return what the best cross of each pair takes off the loss, for each of these (n,) gradients + i weights."""
        size = max(1, min(BLOCK, math.ceil(len(self.pairs) / executor.n_workers)))
        blocks = [(s, k) for s in statistics for k in range(0, len(self.pairs), size)]
        done, of, lock = 0, len(self.pairs) * len(statistics), threading.Lock()

        def one(block: tuple[NDArray[np.complex64], int]) -> Floats:
            stats, first = block
            pairs = self.pairs[first : first + size]
            out = np.empty(len(pairs))
            rank_pairs(self.codes, self.ends, stats, pairs, self.floor, self.pure, make_board(SUM), out)
            if progress:
                nonlocal done
                with lock:  # told one at a time, in order
                    done += len(pairs)
                    progress(done, of)
            return out

        return np.concatenate([np.empty(0), *executor.map(one, blocks)]).reshape(len(statistics), -1)


def _statistics(problem: Problem, score: Floats) -> tuple[NDArray[np.complex64], float]:
    """Return the weighted negative gradient + i hessian (n,) at a score, and what turns a strength into units of the
    loss."""
    weight, loss = problem.row_weight, problem.loss
    descent, hessian = -loss.gradient(problem.y, score), loss.hessian(problem.y, score)
    scale = float(np.std(descent)) or 1.0 if loss.is_scaled else 1.0
    statistics = (descent / scale * weight + 1j * (hessian * weight)).astype(np.complex64)
    return statistics, loss.newton_drop * scale**2 / float(weight.sum())


def _strongest(problem: Problem, curves: Floats, counts: list[Floats]) -> list[int]:
    """Return the features whose pairs are ranked: those with bins, at most MOST_RANKED of them, by mean |main
    effect|."""
    active = problem.table.active
    if active.size <= MOST_RANKED:
        return [int(j) for j in active]
    importance = []
    for j in active:
        curve, count = curves[j, : counts[j].size], counts[j]
        importance.append(np.average(np.abs(curve - np.average(curve, weights=count)), weights=count))
    return sorted(int(j) for j in active[np.argsort(-np.array(importance), kind="stable")[:MOST_RANKED]])


def elbow(strengths: Floats) -> int:
    """Return how many of some descending strengths stand out: those before the point farthest below the line from the
    first to the last; where none is below, those before the largest drop."""
    if strengths.size < 2 or not strengths[0] > strengths[-1]:
        return int(strengths.size)
    line = np.linspace(strengths[0], strengths[-1], strengths.size)
    return int(np.argmax(line - strengths)) or 1 + int(np.argmax(-np.diff(strengths)))
