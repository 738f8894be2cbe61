"""Complete refits on halves of the rows, whose spread tells how sure a model is (`bands`).

Each half is drawn anew, whole clusters where rows come in clusters, and dealt into groups anew: refits that shared one
deal would have as few degrees of freedom as that has groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.executor import Executor
from gamcore.boosting.loop import Callback, Loop, boost, run_all
from gamcore.boosting.pair_ranking import lines_of, merge_all
from gamcore.boosting.pair_selection import Options, Pair, add_pairs
from gamcore.boosting.pair_stage import MOST_BINS, PairRefit, PairState, Start
from gamcore.boosting.refit import Parameters, RefitState
from gamcore.boosting.rows import Encoded
from gamcore.data.sampling import splits
from gamcore.data.table import TableError
from gamcore.model.additive import AdditiveModel, Term, assemble, count_bins

Floats = NDArray[np.float64]

FEW_KNOWN: Final = 30
"""Rows of a bin from which its halves can tell how sure it is."""

FEWEST: Final = 4
"""Rows, clusters, and rows of either class, that halves are drawn from."""


@dataclass(frozen=True)
class Recipe:
    """How each half is fitted: main effects as those of the model, then the model's pairs."""

    parameters: Parameters
    n_groups: int
    validation_fraction: float
    pairs: Options


def check_halves(data: Encoded) -> None:
    """Refuse rows that are too few to be halved."""
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
    recipe: Recipe,
    n_refits: int,
    seed: np.random.SeedSequence,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
) -> AdditiveModel:
    """`n_refits` refits on halves of the rows of a model, as a model of the same bins, counts and pairs."""
    check_halves(data)
    pairs = [pair.features for pair in model.pairs]
    counts = [term.counts for term in model.terms]
    seeds = seed.spawn(n_refits)

    def loop(number: int, within: Executor | None) -> Loop[PairRefit]:
        return _one(data, recipe, pairs, counts, (number / n_refits, seeds[number]), within)

    found = run_all(
        loop, n_refits, data.y.size // 2, recipe.pairs.n_jobs, callback, {"stage": "bands", **(about or {})}
    )
    halves = assemble(
        model.bins,
        np.stack([refit.main.curves for refit in found]),
        np.array([refit.main.base_score for refit in found]),
        counts,
        model.loss.name,
    )
    pure = bool(model.pairs) and model.pairs[0].pure
    halves = replace(halves, terms=tuple(_doubted(data, *of) for of in zip(model.terms, halves.terms, strict=True)))
    return add_pairs(halves, pairs, found, [term.counts for term in model.pairs], pure)


def _doubted(data: Encoded, term: Term, half: Term) -> Term:
    """Refits on halves (K, size) that know too little of a bin, made to lie as far apart as its rows leave in doubt.

    Where the rows at hand are a sample of the model's, halves can have no row of a missing cell or a level: they agree
    on nothing seen, and would call it sure. The standard error of the mean of the bin's own rows is what can be said.
    """
    bins = data.bins[term.feature]
    known = count_bins(data.binned.codes[term.feature : term.feature + 1], [bins], data.weight)[0]
    doubted = (known < FEW_KNOWN) & (term.counts > known + 0.5)
    if not bins.feature.is_category:
        doubted[1:] = False  # a line is carried by its neighbours
    if not doubted.any():
        return half
    refits, rng = half.refits.copy(), np.random.default_rng(0)
    chance = float(np.average(data.y, weights=data.weight))
    spread = 1 / np.sqrt(chance * (1 - chance)) if data.loss.name == "logistic" else float(data.y.std())
    for code in np.flatnonzero(doubted):
        apart = rng.permutation(np.linspace(-1.0, 1.0, len(refits)))
        wide = max(spread / np.sqrt(term.counts[code]), half.deviation[code])
        refits[:, code] = term.scores[code] + wide * apart / apart.std(ddof=1)
    return replace(half, refits=refits, scores=refits.mean(axis=0))


def _one(
    data: Encoded,
    recipe: Recipe,
    pairs: Sequence[Pair],
    counts: list[Floats],
    draw: tuple[float, np.random.SeedSequence],
    within: Executor | None,
) -> Loop[PairRefit]:
    """One refit on a half of the rows; without pairs, one of no surfaces."""
    offset, seed = draw
    for_half, for_deal, for_split, for_bags = seed.spawn(4)
    half = data.half(for_half)
    dealt = half.deal(recipe.n_groups, for_deal)
    problem = half.problem(dealt)
    split = splits(dealt.n_groups, recipe.validation_fraction, 1, for_split)[0]
    bags = int(for_bags.generate_state(1)[0])
    state = RefitState(problem, split, recipe.parameters, bags)
    yield from boost(state, within)
    main = state.best()
    merges = merge_all(counts, lines_of(problem.table, main.curves), MOST_BINS, offset)
    if not pairs:
        return PairRefit(main, np.empty((0, 0, 0)), merges, 0, main.valid_loss, main.valid_loss, np.empty(0))
    options = recipe.pairs
    start = Start(main, split, np.array(pairs, np.int64), merges, options.joint, options.refined, bags)
    of_pairs = PairState(problem, start, options.parameters)
    yield from boost(of_pairs, within)
    return of_pairs.found()
