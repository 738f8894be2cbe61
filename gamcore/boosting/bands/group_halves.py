"""Refits on halves of the groups of counted rows, where there are no rows to draw halves from.

The halves share one deal, so their spread has as many degrees of freedom as there are groups, less one: 32 groups do
for 30 refits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gamcore.boosting.bands.halves import HalfRecipe
from gamcore.boosting.refit.loop import RefitTask, run_all
from gamcore.boosting.refit.problem import Problem, Share
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Floats
from gamcore.data.sampling import Split, splits
from gamcore.model.additive import AdditiveModel, assemble


def fit_group_halves(
    problem: Problem,
    model: AdditiveModel,
    recipe: HalfRecipe,
    n_refits: int,
    seed: np.random.SeedSequence,
    evenness: float = 1.0,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
) -> AdditiveModel:
    """Refit the main effects of a model on `n_refits` halves of the groups of a problem that is boosted from counts.

    Return them as a model with the same bins and counts. evenness : see `AdditiveModel`.
    """
    n_groups = problem.table.starts.size - 1
    tasks = [_task(problem, recipe, n_groups, of_half) for of_half in seed.spawn(n_refits)]
    refits = run_all(tasks, 0, recipe.pairs.n_jobs, callback, {"stage": "bands", **(about or {})})
    counts: Sequence[Floats] = [term.counts for term in model.terms]
    curves, base_scores = np.stack([refit.curves for refit in refits]), np.array([refit.base_score for refit in refits])
    halves = assemble(model.bins, curves, base_scores, counts, model.loss, signs=model.signs, shapes=model.shapes)
    return replace(halves, evenness=evenness)


def _task(problem: Problem, recipe: HalfRecipe, n_groups: int, seed: np.random.SeedSequence) -> RefitTask:
    """Return the refit of one half of the groups."""
    for_half, for_split, for_bags = seed.spawn(3)
    mine = np.sort(np.random.default_rng(for_half).permutation(n_groups)[: n_groups // 2])
    split = splits(mine.size, recipe.validation_fraction, 1, for_split)[0]
    share = Share(problem, Split(mine[split.train], mine[split.valid]))
    return RefitTask(share, recipe.parameters, int(for_bags.generate_state(1)[0]))
