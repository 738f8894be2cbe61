"""From rows of several classes to a model: as `fit`, with a curve per feature and class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gamcore.boosting.bands.halves import HalfRecipe, check_halves, draw_half, with_doubt
from gamcore.boosting.pairs.classes import ClassPairRefit, ClassPairTask
from gamcore.boosting.pairs.selection import Pair, add_pairs
from gamcore.boosting.refit.class_turns import ClassRefit, ClassTask
from gamcore.boosting.refit.loop import run_all
from gamcore.boosting.rows.source import Encoded, Source
from gamcore.boosting.running.executor import Executor
from gamcore.boosting.running.progress import Callback, Loop
from gamcore.model.additive import AdditiveModel, assemble
from gamcore.model.classes import ClassesModel, beside_the_average
from gamcore.types import Floats


def model_of(
    source: Source, counts: list[Floats], mains: Sequence[ClassRefit], shares: Floats, pairs: Sequence[Pair] = (),
    refits: Sequence[ClassPairRefit] = (), purify: bool = True,
) -> ClassesModel:  # fmt: skip
    """Return the mean of refits as one model.

    counts : training rows per bin of each feature. shares : (K,) of the classes. refits : of the pairs, one per refit.
    """
    models = []
    cells = [source.cells(pair) for pair in pairs]
    for k in range(shares.size):
        curves = np.stack([main.classes[k].curves for main in mains])
        bases = np.array([main.classes[k].base_score for main in mains])
        model = replace(assemble(source.bins, curves, bases, counts, source.loss), given=source.given)
        models.append(add_pairs(model, pairs, [refit.classes[k] for refit in refits], cells, purify))
    return beside_the_average(models, shares)


@dataclass(frozen=True)
class ClassHalfTask:
    """A refit of several classes on half of the rows, as data that can be pickled; fields as in `HalfTask`."""

    data: Encoded
    recipe: HalfRecipe
    n_classes: int
    pairs: list[Pair]
    counts: list[Floats]
    offset: float
    seed: np.random.SeedSequence

    def run(self, within: Executor | None) -> Loop[tuple[ClassRefit, ClassPairRefit | None]]:
        """Draw the half, then boost its main effects and its pairs."""
        recipe = self.recipe
        share, bags = draw_half(self.data, recipe, self.seed)
        main = yield from ClassTask(share, recipe.parameters, bags, self.n_classes).run(within)
        if not self.pairs:
            return main, None
        task = ClassPairTask(
            share=share,
            main=main,
            pairs=self.pairs,
            counts=self.counts,
            offset=self.offset,
            options=recipe.pairs,
            seed=bags,
        )
        refit = yield from task.run(within)
        return refit.main, refit


def fit_class_halves(
    data: Encoded,
    model: ClassesModel,
    recipe: HalfRecipe,
    n_refits: int,
    seed: np.random.SeedSequence,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
) -> ClassesModel:
    """Return a model with `n_refits` refits on halves of its rows: of the same bins, counts and pairs."""
    check_halves(data)
    pairs, counts = [pair.features for pair in model.pairs], [term.counts for term in model.terms]
    tasks = [
        ClassHalfTask(data, recipe, model.n_classes, pairs=pairs, counts=counts, offset=number / n_refits, seed=one)
        for number, one in enumerate(seed.spawn(n_refits))
    ]
    made = run_all(tasks, data.y.size // 2, recipe.pairs.n_jobs, callback, {"stage": "bands", **(about or {})})
    halves = [
        _halves(model.models[k], [main.classes[k] for main, _ in made], data, counts) for k in range(model.n_classes)
    ]
    if pairs:
        pure, cells = model.pairs[0].pure, [pair.counts for pair in model.pairs]
        halves = [
            add_pairs(half, pairs, [refit.classes[k] for _, refit in made if refit], cells, pure)
            for k, half in enumerate(halves)
        ]
    both = [replace(one, halves=half) for one, half in zip(model.models, halves, strict=True)]
    return beside_the_average(both, model.base_chances)


def _halves(model: AdditiveModel, mains: Sequence[Any], data: Encoded, counts: list[Floats]) -> AdditiveModel:
    """Return the half-sample refits of one class."""
    curves, bases = np.stack([main.curves for main in mains]), np.array([main.base_score for main in mains])
    return with_doubt(data, model, assemble(model.bins, curves, bases, counts, model.loss))
