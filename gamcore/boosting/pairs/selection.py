"""Choice of the pairs of a model, and what each is worth on validation rows.

All pairs are ranked on the residuals of the main effects, and the strongest are boosted on top of them. With "auto"
their number doubles while the validation loss falls. Pairs that the best of these fits shows to be worthless are then
dropped, unless that raises the loss noticeably.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.pairs.ranking import Ranking, Scored, lines_of, merge_all, rank
from gamcore.boosting.pairs.ranking_in_parts import mean_of_refits, rank_by_parts
from gamcore.boosting.pairs.smooth import smooth_surfaces
from gamcore.boosting.pairs.stage import MOST_BINS, PairRefit, PairState, Start, main_score, worth_of
from gamcore.boosting.refit.learners import Learner
from gamcore.boosting.refit.loop import boost
from gamcore.boosting.refit.problem import LazyShare, Parameters, Problem, Shares, rows_of
from gamcore.boosting.refit.state import Refit
from gamcore.boosting.rows.source import Source
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Loop, Progress, Watcher
from gamcore.common.types import Floats, Ints
from gamcore.model.additive import AdditiveModel, add_pair

Pair = tuple[int, int]

GROWTH: Final = 0.001
"""Share by which more pairs must lower the validation loss; the search ends after two failures in a row."""

BEYOND: Final = 0.02
"""The same for pairs below chance, as a share of what pairs have taken off the loss: else they mend what a strong pair
has left over."""

MOST_TRIED: Final = 256
"""Most pairs that "auto" tries."""

SEARCHED: Final = 4
"""Refits used in the search for the number of pairs; the chosen pairs are fitted in all refits."""

WORTH: Final = 1.0
LEAST_WORTH: Final = 0.0005
"""A pair is kept if its worth exceeds WORTH standard errors over refits, and LEAST_WORTH of the validation loss."""


@dataclass(frozen=True)
class Options:
    """How pairs are ranked and fitted.

    joint : also boost main effects and pairs together, and keep the fit with the lower validation loss. learners : how
    the curve of each feature is learnt; empty if all are steps.
    """

    parameters: Parameters
    refined: bool = False
    pure: bool = True
    joint: bool = False
    n_jobs: int = 1
    learners: tuple[Learner | None, ...] = ()


@dataclass(frozen=True)
class PairTask:
    """One refit of the pair stage, as data that can be pickled.

    counts : training rows per bin of each feature. offset : shift of the merged bins, as a share of a bin:
    the cuts of refits differ, so their mean is finer than any of them.
    """

    share: LazyShare
    main: Refit
    pairs: Sequence[Pair]
    counts: list[Floats]
    offset: float
    options: Options
    seed: int
    watch: bool = False

    def merges(self, problem: Problem) -> NDArray[np.uint8]:
        """Return the merged bins (p, V) of each feature."""
        return merge_all(self.counts, lines_of(problem.table, self.main.curves), MOST_BINS, self.offset)

    def run(self, within: Executor | None) -> Loop[PairRefit]:
        """Boost the refit; see `boost`."""
        share, options = self.share.load(), self.options
        pairs = np.array(self.pairs, np.int64).reshape(-1, 2)
        merges = self.merges(share.problem)
        start = Start(
            main=self.main,
            split=share.split,
            pairs=pairs,
            merges=merges,
            joint=options.joint,
            refined=options.refined,
            seed=self.seed,
            smooth=smooth_surfaces(
                self.pairs,
                options.learners,
                options.parameters.signs,
                self.counts,
                merges,
                n_rows=share.problem.n_rows,
            ),
        )
        state = PairState(share.problem, start, options.parameters)
        yield from boost(state, within, self.watch)
        refit, problem = state.best_pairs(), share.problem
        valid = rows_of(problem.table, share.split.valid)
        score, parts = state.shown(refit, valid)
        worth = worth_of(score, parts, partial(problem.loss.loss, problem.y[valid]), problem.row_weight[valid])
        return replace(refit, worth=worth)


@dataclass(frozen=True)
class Chosen:
    """The result of the pair stage.

    path : numbers of pairs tried, each with its validation loss; 0 pairs first. In a search, all losses but the last
        are means over some of the refits.
    refits : `PairRefit`s, or those of several classes.
    joint : whether the refits' main effects were boosted together with the pairs.
    """

    pairs: tuple[Pair, ...]
    refits: list[Any]
    path: tuple[tuple[int, float], ...]
    joint: bool = False

    @property
    def loss(self) -> float:
        """Mean validation loss over refits."""
        return float(np.mean([refit.valid_loss for refit in self.refits]))

    @property
    def each_worth(self) -> Floats:
        """Worth of each pair in each refit, (refits, K)."""
        return np.array([refit.worth for refit in self.refits]).reshape(len(self.refits), -1)

    @property
    def worth(self) -> Floats:
        """Rise of the validation loss without each interaction (K,), a mean over refits."""
        return np.asarray(self.each_worth.mean(axis=0))


@dataclass(frozen=True)
class Mains:
    """The main effects that pairs are added to: refits, their shares of the rows of a source, and rows per bin.

    stage : what boosts pairs on top of one refit.
    """

    stage: ClassVar[Any] = PairTask
    source: Source
    shares: Shares
    refits: list[Any]
    counts: list[Floats]
    seeds: list[int]

    def first(self, n_refits: int) -> Self:
        """Return the first `n_refits` refits."""
        return replace(self, refits=self.refits[:n_refits], seeds=self.seeds[:n_refits])

    def after(self, n_refits: int) -> Self:
        """Return all refits but the first `n_refits`."""
        return replace(self, shares=self.shares[n_refits:], refits=self.refits[n_refits:], seeds=self.seeds[n_refits:])

    @property
    def n_active(self) -> int:
        """Features that are not constant."""
        return sum(int(np.count_nonzero(count) > 1) for count in self.counts)

    def scored(self) -> list[Scored]:
        """Return the rows of the first share with the mean score of the refits."""
        problem = self.shares[0].load().problem
        return [Scored(problem, mean_score(problem, self.refits))]

    def lines(self) -> Floats:
        """Return the mean curves (p, V) of the refits."""
        return np.asarray(np.mean([refit.curves for refit in self.refits], axis=0))

    def tasks(self, pairs: Sequence[Pair], options: Options, watch: bool) -> list[Any]:
        """Return the refits of a pair stage."""
        return [
            self.stage(
                share=self.shares[k],
                main=refit,
                pairs=pairs,
                counts=self.counts,
                offset=k / len(self.refits),
                options=options,
                seed=self.seeds[k],
                watch=watch,
            )
            for k, refit in enumerate(self.refits)
        ]


def mean_score(problem: Problem, refits: Sequence[Refit]) -> Floats:
    """Return the mean scores (n,) of the refits' main effects."""
    score = np.zeros(problem.y.size)
    for refit in refits:  # one at a time: together they would be the largest arrays of a fit
        score += main_score(problem, refit)
    score /= len(refits)
    return score


def rank_on(mains: Mains, options: Options, watcher: Watcher) -> Ranking:
    """Rank all pairs given the mean of the refits: on the rows of the first, or on all where they are in parts."""
    part, started = watcher.next_part(), time.monotonic()

    def tell(done: int, n_pairs: int) -> None:
        if watcher.callback:
            watcher.callback(Progress.of_step("ranking", done, n_pairs, time.monotonic() - started, part))

    if mains.source.ranks_by_parts:
        about = mains.source.bins, mains.counts, mains.source.loss
        score = mean_of_refits(mains.refits)
        return rank_by_parts(
            mains.source.parts, score, about, mains.lines(), options.parameters, pure=options.pure, progress=tell
        )
    return rank(
        mains.scored(), mains.lines(), mains.counts, options.parameters,
        pure=options.pure, n_jobs=options.n_jobs, progress=tell,
    )  # fmt: skip


def fit_pairs(mains: Mains, pairs: Sequence[Pair], options: Options, watcher: Watcher) -> Chosen:
    """Boost `pairs` in every refit: on frozen main effects, or jointly with them if `joint`."""
    chosen = as_pairs(np.array(pairs, np.int64).reshape(-1, 2))
    tasks = mains.tasks(chosen, options, watcher.callback is not None)
    about = {"stage": "pairs", "n_pairs": len(chosen), "part": watcher.next_part()}
    refits = mains.source.refit(tasks, options.n_jobs, watcher.callback, about)
    first = float(np.mean([refit.first_loss for refit in refits]))
    last = float(np.mean([refit.valid_loss for refit in refits]))
    return Chosen(chosen, refits, ((0, first), (len(chosen), last)), options.joint)


def fit_best(mains: Mains, pairs: Sequence[Pair], options: Options, watcher: Watcher) -> Chosen:
    """Fit pairs on frozen main effects, and if `joint` also jointly with them; return the better fit.

    The comparison is needed: if main effects need thousands of steps, pairs overfit before these are made. Without
    validation rows the fits cannot be compared, and main effects stay frozen.
    """
    frozen = fit_pairs(mains, pairs, replace(options, joint=False), watcher)
    if not (options.joint and pairs and np.isfinite(frozen.loss)) or watcher.stopped:
        return frozen
    joint = fit_pairs(mains, pairs, options, watcher)
    better = joint.loss < frozen.loss and not watcher.stopped
    return replace(joint, path=(frozen.path[0], joint.path[1])) if better else frozen


def choose_pairs(mains: Mains, ranking: Ranking, options: Options, watcher: Watcher) -> Chosen:
    """Choose and fit as many of the strongest pairs as lower the validation loss.

    First those that beat chance; if any of them lower it, weaker ones, too: a pair may be lost among all that chance
    could have brought forth, and many such pairs be worth much. If stopped, return the best pairs so far if all refits
    have them, else none.
    """
    candidates = as_pairs(ranking.pairs)[:MOST_TRIED]
    clear = most = min(int(np.count_nonzero(ranking.strengths > ranking.chance)), MOST_TRIED)
    some, frozen = mains.first(SEARCHED), replace(options, joint=False)
    best = fit_pairs(some, [], frozen, watcher)
    path, failed, number = list(best.path[:1]), 0, max(4, mains.n_active // 2)
    while failed < 2 and path[-1][0] < most:
        tried = fit_pairs(some, candidates[: min(number, most)], frozen, watcher)
        if watcher.stopped:
            return best if len(best.refits) == len(mains.refits) else fit_pairs(mains, [], frozen, watcher)
        path.append(tried.path[1])
        weak = len(tried.pairs) > clear
        better = is_better(tried, best, least=BEYOND * (path[0][1] - best.loss) if weak else 0.0)
        failed = 0 if better else failed + 1
        best = tried if better or (tried.loss < best.loss and not weak) else best
        number *= 2
        most = len(candidates) if best.pairs and path[-1][0] == most else most
    worthy = _worthy(best)
    if len(worthy) < len(best.pairs):
        judges = mains.after(SEARCHED) if len(mains.refits) > SEARCHED else some  # others than those that chose
        kept, fewer = (fit_pairs(judges, pairs, frozen, watcher) for pairs in (best.pairs, worthy))
        path.append(fewer.path[1])
        best = fewer if fewer.loss < (1 + GROWTH) * kept.loss else best
    chosen = fit_best(mains, best.pairs, options, watcher)
    return replace(chosen, path=(*path, chosen.path[1]))


def is_better(more: Chosen, best: Chosen, least: float) -> bool:
    """Return whether more pairs lower the validation loss: noticeably, and by more than it varies over refits."""
    gains = np.array([a.valid_loss - b.valid_loss for a, b in zip(best.refits, more.refits, strict=True)])
    error = gains.std(ddof=1) / np.sqrt(gains.size) if gains.size > 1 else 0.0
    return bool(gains.mean() > max(GROWTH * best.loss, error, least))


def _worthy(chosen: Chosen) -> tuple[Pair, ...]:
    """Return the pairs whose worth is large enough and consistent over refits."""
    each = chosen.each_worth
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros(each.shape[1])
    least = np.maximum(WORTH * error, LEAST_WORTH * chosen.loss)
    return tuple(pair for pair, mean, bar in zip(chosen.pairs, each.mean(axis=0), least, strict=True) if mean > bar)


def as_pairs(pairs: Ints) -> tuple[Pair, ...]:
    return tuple((int(i), int(j)) for i, j in pairs)


def interact(
    mains: Mains, wanted: int | str | Sequence[Pair], options: Options, watcher: Watcher
) -> tuple[Ranking, Chosen]:
    """Rank all pairs, and fit those wanted: a number of the strongest, as many as help ("auto"), or given ones.

    Return the ranking and the fitted pairs. If stopped during the ranking, no pairs are fitted.
    """
    ranking = rank_on(mains, options, watcher)
    if watcher.stopped:
        return ranking, fit_pairs(mains, [], replace(options, joint=False), watcher)
    if isinstance(wanted, str):
        return ranking, choose_pairs(mains, ranking, options, watcher)
    pairs = as_pairs(ranking.pairs[:wanted]) if isinstance(wanted, int) else wanted
    return ranking, fit_best(mains, pairs, options, watcher)


def add_pairs(
    model: AdditiveModel, pairs: Sequence[Pair], refits: Sequence[PairRefit], cells: Sequence[Floats], purify: bool
) -> AdditiveModel:
    """Return the model with the pairs of its refits; cells : training rows in each pair's cells (`count_cells`)."""
    for k, (pair, counts) in enumerate(zip(pairs, cells, strict=True)):
        surfaces = np.stack([refit.surfaces[k] for refit in refits])
        first, second = (np.stack([refit.merges[j, : model.bins[j].size] for refit in refits]) for j in pair)
        model = add_pair(model, pair, surfaces, (first, second), counts, purify)
    return model
