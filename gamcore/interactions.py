"""Which pairs a model gets, and what each is worth on rows that it was not trained on.

All pairs are ranked on the residuals of the main effects (FAST), and the strongest are boosted on top of them. With
"auto" their number doubles while the validation loss falls; what the last fit shows to be worth nothing is then left
out, and the rest is fitted once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting import Callback, boost_all
from gamcore.executor import make_executor
from gamcore.groups import Split
from gamcore.pairs import (
    MOST_BINS,
    RANK_BINS,
    PairRefit,
    PairState,
    lines_of,
    main_score,
    merge_all,
    strengths,
)
from gamcore.refit import Parameters, Problem, Refit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[int, int]

MOST_RANKED: Final = 1000
"""Features whose pairs are all ranked, the strongest by main effect; a pair of two features without any main effect
that are not among them is missed."""

GROWTH: Final = 0.001
"""Share of the validation loss that twice as many pairs must take off it."""

WORTH: Final = 2.0
"""Standard errors over refits that a pair's worth must be above 0."""


@dataclass(frozen=True)
class Ranking:
    """All pairs (m, 2) with their strengths (m,), strongest first."""

    pairs: Ints
    strengths: Floats


@dataclass(frozen=True)
class Options:
    """How pairs are ranked and fitted."""

    parameters: Parameters
    refined: bool = False
    pure: bool = True
    most_bins: int = MOST_BINS
    n_jobs: int = 1


@dataclass(frozen=True)
class Chosen:
    """What the pair stage leaves.

    worth : (K,) mean over refits of what the validation loss would rise by without the pair.
    path : numbers of pairs that were tried, and the validation loss of each; 0 pairs first.
    """

    pairs: tuple[Pair, ...]
    refits: list[PairRefit]
    worth: Floats
    path: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Mains:
    """The main effects that pairs are added to: their refits, the refits' splits, and the training rows a bin."""

    problem: Problem
    refits: list[Refit]
    splits: list[Split]
    counts: list[Floats]
    seeds: list[int]


def rank(
    problem: Problem,
    score: Floats,
    curves: Floats,
    counts: list[Floats],
    options: Options,
    progress: Callable[[float], None] | None = None,
) -> Ranking:
    """All pairs by what they take off the loss on all rows, on top of the main effects `curves` (p, V), whose sum is
    `score` (n,); `progress` is told the share that is done."""
    merges = merge_all(counts, lines_of(problem.table, curves), RANK_BINS, 0.0)
    pairs = np.array(list(combinations(_strongest(problem, curves, counts), 2)), np.int64).reshape(-1, 2)
    floor = _floor(problem, options.parameters)
    executor = make_executor(options.n_jobs)
    try:
        found = strengths(problem, score, merges, pairs, floor, options.pure, executor, progress)
    finally:
        executor.close()
    order = np.argsort(-found, kind="stable")
    return Ranking(pairs[order], found[order])


def rank_on(mains: Mains, options: Options) -> Ranking:
    """The ranking on top of the mean of the refits."""
    score = np.mean([main_score(mains.problem, refit) for refit in mains.refits], axis=0)
    curves = np.mean([refit.curves for refit in mains.refits], axis=0)
    return rank(mains.problem, score, curves, mains.counts, options)


def _floor(problem: Problem, parameters: Parameters) -> float:
    return parameters.min_node_weight if problem.needs_weight(parameters) else parameters.min_node_hessian


def _strongest(problem: Problem, curves: Floats, counts: list[Floats]) -> list[int]:
    """Features whose pairs are ranked: those with bins, at most MOST_RANKED of them, by mean |main effect|."""
    active = problem.table.active
    if active.size <= MOST_RANKED:
        return [int(j) for j in active]
    importance = []
    for j in active:
        curve, count = curves[j, : counts[j].size], counts[j]
        importance.append(np.average(np.abs(curve - np.average(curve, weights=count)), weights=count))
    return sorted(int(j) for j in active[np.argsort(-np.array(importance), kind="stable")[:MOST_RANKED]])


def fit_pairs(mains: Mains, pairs: Sequence[Pair], options: Options, callback: Callback | None = None) -> Chosen:
    """Boost these pairs on frozen main effects, in every refit."""
    problem, n_refits = mains.problem, len(mains.refits)
    chosen = np.array(pairs, np.int64).reshape(-1, 2)

    def make(k: int) -> PairState:
        refit = mains.refits[k]
        lines = lines_of(problem.table, refit.curves)
        merges = merge_all(mains.counts, lines, options.most_bins, k / n_refits)
        told = (options.parameters, options.refined, mains.seeds[k])
        return PairState(problem, refit, mains.splits[k], chosen, merges, *told)

    refits = boost_all(make, PairState.found, n_refits, problem.y.size, options.n_jobs, callback)
    first = float(np.mean([refit.first_loss for refit in refits]))
    last = float(np.mean([refit.valid_loss for refit in refits]))
    worth = np.mean([refit.worth for refit in refits], axis=0)
    return Chosen(tuple((int(i), int(j)) for i, j in chosen), refits, worth, ((0, first), (len(chosen), last)))


def choose_pairs(mains: Mains, ranking: Ranking, options: Options, callback: Callback | None = None) -> Chosen:
    """As many of the strongest pairs as lower the validation loss."""
    most, number = len(ranking.pairs), max(4, mains.problem.table.active.size // 2)
    best = fit_pairs(mains, [], options)
    path = list(best.path[:1])
    while True:
        number = min(number, most)
        tried = fit_pairs(mains, _as_pairs(ranking.pairs[:number]), options, callback)
        path.append(tried.path[1])
        if not tried.path[1][1] < (1 - GROWTH) * best.path[1][1]:
            break
        best = tried
        if number == most:
            break
        number *= 2
    worthy = _worthy(best)
    if len(worthy) < len(best.pairs):
        best = fit_pairs(mains, worthy, options, callback)
        path.append(best.path[1])
    return replace(best, path=tuple(path))


def _worthy(found: Chosen) -> list[Pair]:
    """Pairs without which the validation loss rises in refit after refit."""
    each = np.array([refit.worth for refit in found.refits]).reshape(len(found.refits), -1)
    spread = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros(each.shape[1])
    return [
        pair for pair, mean, error in zip(found.pairs, each.mean(axis=0), spread, strict=True) if mean > WORTH * error
    ]


def _as_pairs(pairs: Ints) -> list[Pair]:
    return [(int(i), int(j)) for i, j in pairs]


def interact(
    mains: Mains, wanted: int | str | Sequence[Pair], options: Options, callback: Callback | None = None
) -> tuple[Ranking, Chosen]:
    """The ranking of all pairs, and the fitted ones: so many of the strongest, as many as help ("auto"), or these."""
    ranking = rank_on(mains, options)
    if wanted == "auto":
        return ranking, choose_pairs(mains, ranking, options, callback)
    pairs = _as_pairs(ranking.pairs[:wanted]) if isinstance(wanted, int) else list(wanted)
    return ranking, fit_pairs(mains, pairs, options, callback)
