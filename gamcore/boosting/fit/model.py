"""From rows to a model: deal them, boost the refits, add pairs, and take the mean."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gamcore.boosting.bands.halves import HalfRecipe, fit_halves
from gamcore.boosting.calibration.balance import balanced
from gamcore.boosting.calibration.credibility import credible
from gamcore.boosting.features.entry import Entries, enter
from gamcore.boosting.fit.classes import fit_class_halves, model_of
from gamcore.boosting.pairs.classes import ClassMains
from gamcore.boosting.pairs.ranking import MOST_CELLS, Ranking
from gamcore.boosting.pairs.selection import Chosen, Mains, Options, Pair, add_pairs, interact
from gamcore.boosting.refit.class_turns import ClassRefit, ClassTask
from gamcore.boosting.refit.learners import shapes_of
from gamcore.boosting.refit.loop import RefitTask
from gamcore.boosting.refit.problem import Parameters, Problem, Share, Shares
from gamcore.boosting.refit.state import Refit
from gamcore.boosting.rows.source import Dealing, Encoded, Source, with_features
from gamcore.boosting.rows.sums import Part
from gamcore.boosting.running.progress import Callback, Progress, Watcher
from gamcore.boosting.triples.selection import ChosenTriples, Triple, add_triples, check_triples, interact_three
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.model.additive import AdditiveModel, assemble
from gamcore.model.classes import ClassesModel
from gamcore.model.losses import Loss
from gamcore.stats.exact import exact_sum

MOST_BANDED_PAIRS = 200
"""Most pairs of a model with bands: the halves of each take about a megabyte of the model file."""


@dataclass(frozen=True)
class FitPlan:
    """The settings of a fit.

    interactions : pairs of feature indices, the number of strongest pairs, or "auto"; triples : the same of three
    features. pairs : how both are fitted.
    """

    loss: Loss
    parameters: Parameters
    n_refits: int
    n_groups: int
    validation_fraction: float
    interactions: int | str | Sequence[Pair]
    pairs: Options
    purify: bool
    n_jobs: int
    n_classes: int = 2  # more have a curve each
    triples: int | str | Sequence[Triple] = 0


@dataclass(frozen=True)
class Seeds:
    """Sources of randomness, one per purpose."""

    groups: np.random.SeedSequence
    splits: np.random.SeedSequence
    bags: np.random.SeedSequence
    halves: np.random.SeedSequence

    @classmethod
    def of(cls, random_state: int | np.random.RandomState | None) -> Seeds:
        """Return all seeds from one `random_state` as in scikit-learn."""
        number = check_random_state(random_state).randint(2**31 - 1)
        groups, splits, bags, halves = np.random.SeedSequence(number).spawn(4)
        return cls(groups=groups, splits=splits, bags=bags, halves=halves)


@dataclass(frozen=True)
class Fitted:
    """The result of a fit. best_rounds, validation_losses : (refits,). counted : the rows that all refits know by their
    counts alone, if that is what they learnt from. entries : in greedy order, which features entered."""

    model: AdditiveModel | ClassesModel
    best_rounds: NDArray[np.int64]
    validation_losses: Floats
    ranking: Ranking | None = None
    pairs: Chosen | None = None
    triples: ChosenTriples | None = None
    counted: Problem | None = None
    entries: Entries | None = None


def fit(source: Source, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> Fitted:
    """Boost the main effects, then the requested pairs and triples; in greedy order only of the features that beat
    chance."""
    if plan.triples != 0:
        check_triples(source, plan.parameters, plan.n_classes, plan.purify)
    if not isinstance(plan.interactions, int | str):
        check_pairs(source.bins, plan.interactions)
    about = {"part": watcher.next_part()}
    dealing = Dealing(plan.n_refits, plan.n_groups, plan.validation_fraction, seeds.groups, seeds.splits)
    entries = _entries(source, dealing, plan, seeds, watcher) if plan.parameters.order == "greedy" else None
    if entries:
        source = with_features(source, entries.chosen)
    shares = source.shares(dealing)
    counted = None if entries else source.counted(dealing, plan.parameters.ensemble)
    learnt = counted or shares
    count_first(learnt, plan, watcher.callback, about)
    bag_seeds = [int(seed.generate_state(1)[0]) for seed in seeds.bags.spawn(plan.n_refits)]
    several, tasks = plan.n_classes > 2, tasks_of(learnt, plan, bag_seeds, watcher.callback is not None)
    mains: list[Any] = source.refit(tasks, plan.n_jobs, watcher.callback, about)
    counts, ranking, pairs = source.counts(), None, None
    if plan.interactions != 0 and not watcher.stopped:
        fitted = (ClassMains if several else Mains)(source, shares, mains, counts, bag_seeds)
        ranking, pairs = interact(fitted, plan.interactions, plan.pairs, watcher)
    triples = None
    if plan.triples != 0 and not watcher.stopped:
        mains_of = Mains(source, shares, mains, counts, bag_seeds)
        triples = interact_three(mains_of, pairs, plan.triples, plan.pairs, watcher)
        pairs = triples.pairs
    if pairs and pairs.joint:
        mains = [refit.main for refit in pairs.refits]
    model = (
        _class_model(source, plan, counts, mains, pairs)
        if several
        else _model(source, plan, counts, mains, pairs=pairs, triples=triples)
    )
    best_rounds = np.array([refit.best_round for refit in mains])
    last: list[Any] = (triples.refits if triples else []) or (pairs.refits if pairs else mains)
    losses = np.array([refit.valid_loss for refit in last])
    problem = counted[0].load().problem if counted else None
    return Fitted(
        model, best_rounds, losses, ranking=ranking, pairs=pairs, triples=triples, counted=problem, entries=entries
    )


def _entries(source: Source, dealing: Dealing, plan: FitPlan, seeds: Seeds, watcher: Watcher) -> Entries:
    """Choose the features of a model, by the rows of the first refit. They are let go before the refits have theirs."""
    began, part = time.monotonic(), watcher.next_part()

    def tell(inside: int, n_steps: int) -> bool:
        progress = Progress.of_step("choosing features", inside, n_steps, time.monotonic() - began, part)
        return bool(watcher.callback and watcher.callback(progress))

    first = source.shares(replace(dealing, groups=copy(dealing.groups), splits=copy(dealing.splits)))[0].load()
    return enter(first.problem, plan.parameters, int(seeds.bags.generate_state(1)[0]), plan.n_jobs, tell)


def tasks_of(shares: Shares, plan: FitPlan, bag_seeds: Sequence[int], watch: bool = False) -> list[Any]:
    """Return the refits of main effects as tasks, one per share. watch : whether the training loss is measured."""
    if plan.n_classes > 2:
        of_classes = zip(shares, bag_seeds, strict=True)
        return [ClassTask(share, plan.parameters, seed, plan.n_classes, watch) for share, seed in of_classes]
    return [RefitTask(share, plan.parameters, seed, watch) for share, seed in zip(shares, bag_seeds, strict=True)]


def check_pairs(bins: Sequence[Bins], pairs: Sequence[Pair]) -> None:
    """Raise TableError for a pair of features with too many bins."""
    for i, j in pairs:
        if bins[i].size * bins[j].size > MOST_CELLS:
            names = " and ".join(repr(bins[k].feature.name) for k in (i, j))
            raise TableError(f"The pair of {names} has more cells than a model can keep: lower max_bins.")


def count_first(shares: Shares, plan: FitPlan, callback: Callback | None, about: dict[str, Any]) -> None:
    """Count bin pairs with all threads, where refits of the same rows are to be boosted from them."""
    share, began = shares[0], time.monotonic()

    def tell(done: int, n_rows: int) -> None:
        if callback and done < n_rows:
            callback(Progress.of_counting(done, n_rows, time.monotonic() - began, **about))

    if isinstance(share, Share) and share.problem.on_tables(plan.parameters):
        share.problem.counting.tables(plan.n_jobs, tell)


def _model(
    source: Source,
    plan: FitPlan,
    counts: list[Floats],
    mains: list[Refit],
    pairs: Chosen | None,
    triples: ChosenTriples | None,
) -> AdditiveModel:
    curves, base_scores = np.stack([refit.curves for refit in mains]), np.array([refit.base_score for refit in mains])
    parameters, shapes = plan.parameters, shapes_of(plan.parameters.learners)
    model = assemble(source.bins, curves, base_scores, counts, plan.loss, signs=parameters.signs, shapes=shapes)
    model = replace(model, base=source.base(), given=source.given)
    if pairs:
        model = add_pairs(model, pairs.pairs, pairs.refits, [source.cells(pair) for pair in pairs.pairs], plan.purify)
    if triples:
        cells = [source.parts.sum(grid.rows_in) for grid in triples.grids]
        model = add_triples(model, triples.grids, triples.refits, cells)
    if model.loss.has_log_link:
        model = credible(model, source.parts)
    return balanced(model, source.parts) if model.loss.is_balanced else model


def _class_model(
    source: Source, plan: FitPlan, counts: list[Floats], mains: list[ClassRefit], pairs: Chosen | None
) -> ClassesModel:
    chosen, refits = (pairs.pairs, pairs.refits) if pairs else ((), [])
    sums = source.parts.sum(partial(_class_sums, plan.n_classes))
    shares = np.array([weight / sums.sum() for weight in sums])
    return model_of(source, counts, mains, shares, pairs=chosen, refits=refits, purify=plan.purify)


def _class_sums(n_classes: int, part: Part) -> NDArray[Any]:
    """Return the exact sum of the weights (K,) of each class."""
    weight = np.ones(part.y.size) if part.weight is None else part.weight
    return np.array([exact_sum(weight[part.y == k]) for k in range(n_classes)], object)


def with_halves(
    data: Encoded,
    model: AdditiveModel | ClassesModel,
    recipe: HalfRecipe,
    n_refits: int,
    seeds: Seeds,
    watcher: Watcher,
) -> AdditiveModel | ClassesModel:
    """Return the model with half-sample refits, which measure its uncertainty; if stopped, return it unchanged."""
    n_surfaces = len(model.pairs) * (model.n_classes if isinstance(model, ClassesModel) else 1)
    if n_surfaces > MOST_BANDED_PAIRS:
        raise TableError(
            f"Bands of {n_surfaces} pairs would not fit into a model file: use at most {MOST_BANDED_PAIRS} "
            "pairs (a pair counts once per class), or no bands."
        )
    about = {"part": watcher.next_part()}
    if isinstance(model, ClassesModel):
        banded = fit_class_halves(data, model, recipe, n_refits, seeds.halves, callback=watcher.callback, about=about)
        return model if watcher.stopped else banded
    halves = fit_halves(data, model, recipe, n_refits, seeds.halves, callback=watcher.callback, about=about)
    return model if watcher.stopped else replace(model, halves=halves)
