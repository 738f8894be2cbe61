"""Complete refits on halves of the rows; their spread measures the uncertainty of a model (`bands`).

Each refit draws its own half, by whole clusters if rows are clustered, and deals it into its own groups: refits that
shared one deal would have only as many degrees of freedom as it has groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gamcore.boosting.calibration.credibility import credible_halves
from gamcore.boosting.pairs.selection import Options, Pair, PairTask, add_pairs
from gamcore.boosting.refit.loop import RefitTask, run_all
from gamcore.boosting.refit.problem import Parameters, Share
from gamcore.boosting.rows.source import Encoded
from gamcore.boosting.running.executor import Executor, Task
from gamcore.boosting.running.progress import Callback, Loop
from gamcore.boosting.triples.selection import add_triples
from gamcore.boosting.triples.stage import Grid, TripleRefit, TripleTask
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.sampling import splits
from gamcore.model.additive import AdditiveModel, Term, assemble, count_bins

FEW_KNOWN: Final = 30
"""Rows that a bin needs for its half-sample refits to show its uncertainty."""

FEWEST: Final = 4
"""Fewest rows, clusters, and rows of each class, that halves are drawn from."""


@dataclass(frozen=True)
class HalfRecipe:
    """How each half is fitted: main effects as in the model, then the model's pairs and triples."""

    parameters: Parameters
    n_groups: int
    validation_fraction: float
    pairs: Options


def check_halves(data: Encoded) -> None:
    """Raise TableError if there are too few rows to halve."""
    if data.y.size == 1:
        raise TableError(f"Bands need at least {FEWEST} rows and there is 1 sample: set bands=0, or add rows.")
    parts = [("rows", data.y.size)]
    if data.clusters is not None:
        parts.append(("groups", np.unique(data.clusters).size))
    if data.strata is not None:
        parts.append(("rows of each class", int(np.bincount(data.strata, minlength=2).min())))
    for what, count in parts:
        if count < FEWEST:
            raise TableError(f"Bands need at least {FEWEST} {what} and there are {count}: set bands=0, or add rows.")


def fit_halves(
    data: Encoded,
    model: AdditiveModel,
    recipe: HalfRecipe,
    n_refits: int,
    seed: np.random.SeedSequence,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
) -> AdditiveModel:
    """Refit a model on `n_refits` halves of its rows; return them as a model with the same bins, counts and pairs."""
    check_halves(data)
    pairs, counts = [pair.features for pair in model.pairs], [term.counts for term in model.terms]
    grids = [Grid(triple.features, triple.parts) for triple in model.triples]
    refits = HalfTask(data, recipe, pairs, counts, seed, grids=grids).refits(n_refits, callback, about)
    halves = assemble(
        model.bins,
        np.stack([refit.main.curves for refit in refits]),
        np.array([refit.main.base_score for refit in refits]),
        counts,
        model.loss,
        signs=model.signs,
        shapes=model.shapes,
    )
    pure = any(pair.pure for pair in model.pairs)
    halves = add_pairs(halves, pairs, [refit.pairs for refit in refits], [term.counts for term in model.pairs], pure)
    if grids:
        of_triples = [refit.triples for refit in refits if refit.triples]
        halves = add_triples(halves, grids, of_triples, [term.counts for term in model.triples])
    if not model.loss.has_log_link:
        return with_doubt(data, model, halves)
    return with_doubt(data, model, *credible_halves(halves, model, data.parts))


def with_doubt(
    data: Encoded, model: AdditiveModel, halves: AdditiveModel, least: Sequence[Floats] | None = None
) -> AdditiveModel:
    """Return half-sample refits, spread out where they know too little of the model's rows, with their evenness.

    least : of each term the least standard errors (size,) that its band may show; None for 0.
    """
    least = least or [np.zeros(term.scores.size) for term in model.terms]
    each = zip(model.terms, halves.terms, model.bins, least, strict=True)
    terms = tuple(
        _spread_out(term, half, bins, np.maximum(wide, _unknown(data, term))) for term, half, bins, wide in each
    )
    return replace(halves, terms=terms, evenness=data.evenness)


def _unknown(data: Encoded, term: Term) -> Floats:
    """Return the standard errors (size,) of bins of which the halves have too few rows; 0 of others.

    If `data` is a sample of the model's rows, the halves may have no rows in the missing bin or in a level. The refits
    then agree there for lack of data, and would look certain. The standard error is that of the mean of the model's
    rows in that bin.
    """
    bins = data.bins[term.feature]
    known = count_bins(data.binned.codes[term.feature : term.feature + 1], [bins], data.weight)[0]
    doubted = (known < FEW_KNOWN) & (term.counts > known + 0.5)
    if not bins.feature.is_category:
        doubted[1:] = False  # the bins of a numeric feature borrow from their neighbours
    spread = data.loss.spread(data.y, data.weight) if doubted.any() else 0.0
    return np.where(doubted, spread / np.sqrt(np.where(doubted, term.counts, 1.0)), 0.0)


def _spread_out(term: Term, half: Term, bins: Bins, least: Floats) -> Term:
    """Return the refits (K, size) of a term with at least the standard errors (size,): where they have less, they swing
    around the term. Neighbouring values that do, do it alike."""
    narrow = np.flatnonzero(half.deviation < least)
    if not narrow.size:
        return half
    refits, rng = half.refits.copy(), np.random.default_rng(0)
    apart = bins.feature.is_category | (np.diff(narrow) > 1) | (narrow[:-1] == 0)
    for run in np.split(narrow, np.flatnonzero(apart) + 1):
        swing = rng.permutation(np.linspace(-1.0, 1.0, len(refits)))[:, None]
        refits[:, run] = term.scores[run] + swing / swing.std(ddof=1) * least[run]
    return replace(half, refits=refits, scores=refits.mean(axis=0))


def draw_half(data: Encoded, recipe: HalfRecipe, seed: np.random.SeedSequence) -> tuple[Share, int]:
    """Return half of the rows, dealt and split, and the seed of its bags; the same at each call."""
    for_half, for_deal, for_split, for_bags = copy(seed).spawn(4)  # of a copy, since `spawn` counts
    half = data.half(for_half)
    dealt = half.deal(recipe.n_groups, for_deal)
    split = splits(dealt.n_groups, recipe.validation_fraction, 1, for_split)[0]
    return Share(half.problem(dealt), split), int(for_bags.generate_state(1)[0])


@dataclass(frozen=True)
class HalfRefit:
    """The result of a refit on half of the rows: main effects, pairs and triples, the latter None where there are none.

    main, pairs : a `Refit` and a `PairRefit`, or those of several classes.
    """

    main: Any
    pairs: Any = None
    triples: TripleRefit | None = None


@dataclass(frozen=True)
class HalfTask:
    """A refit on half of the rows, as data that can be pickled.

    counts : training rows per bin of each feature. main, stage : the tasks of main effects and of pairs, of one score
    or of several classes. offset : shift of a pair's merged bins, as a share of a bin.
    """

    data: Encoded
    recipe: HalfRecipe
    pairs: list[Pair]
    counts: list[Floats]
    seed: np.random.SeedSequence
    main: Callable[[Share, Parameters, int], Task[Any]] = RefitTask
    stage: Callable[..., Task[Any]] = PairTask
    grids: Sequence[Grid] = ()
    offset: float = 0.0

    def refits(self, n_refits: int, callback: Callback | None, about: dict[str, Any] | None) -> list[HalfRefit]:
        """Run the task on `n_refits` halves, each with a seed and an offset of its own, and return the results."""
        each = enumerate(self.seed.spawn(n_refits))
        tasks = [replace(self, seed=seed, offset=number / n_refits) for number, seed in each]
        facts = {"stage": "bands", **(about or {})}
        return run_all(tasks, self.data.y.size // 2, self.recipe.pairs.n_jobs, callback, facts)

    def run(self, within: Executor | None) -> Loop[HalfRefit]:
        """Draw the half, then boost its main effects, its pairs and its triples."""
        options = self.recipe.pairs
        share, bags = draw_half(self.data, self.recipe, self.seed)
        main = yield from self.main(share, self.recipe.parameters, bags).run(within)
        if not self.pairs:
            return HalfRefit(main)
        stage = self.stage(
            share=share,
            main=main,
            pairs=self.pairs,
            counts=self.counts,
            offset=self.offset,
            options=options,
            seed=bags,
        )
        pairs = yield from stage.run(within)
        if not self.grids:
            return HalfRefit(pairs.main, pairs)
        of_triples = TripleTask(share, pairs, self.pairs, self.grids, options=options, seed=bags)
        return HalfRefit(pairs.main, pairs, (yield from of_triples.run(within)))
