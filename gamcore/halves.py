"""Complete refits on halves of the rows, whose spread tells how sure a model is (`bands`).

Each half is drawn anew, whole clusters where rows come in clusters, and dealt into groups anew: refits that shared one
deal would have as few degrees of freedom as that has groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting import Callback, Loop, boost, run_all
from gamcore.encoded import Encoded
from gamcore.executor import Executor
from gamcore.groups import splits
from gamcore.interactions import Options, Pair, add_pairs
from gamcore.model import AdditiveModel, assemble
from gamcore.pairs import MOST_BINS, PairRefit, PairState, Start
from gamcore.ranking import lines_of, merge_all
from gamcore.refit import Parameters, RefitState
from gamcore.table import TableError

Floats = NDArray[np.float64]

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
    return add_pairs(halves, pairs, found, [term.counts for term in model.pairs], pure)


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
