"""From rows of several classes to a model: as `fit`, with a curve per feature and class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gamcore.boosting.bands.halves import HalfRecipe, HalfTask, check_halves, with_doubt
from gamcore.boosting.pairs.classes import ClassPairRefit, ClassPairTask
from gamcore.boosting.pairs.selection import Pair, add_pairs
from gamcore.boosting.refit.class_turns import ClassRefit, ClassTask
from gamcore.boosting.rows.source import Encoded, Source
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Floats
from gamcore.model.additive import AdditiveModel, assemble
from gamcore.model.classes import ClassesModel, beside_the_average


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
    main = partial(ClassTask, n_classes=model.n_classes)
    task = HalfTask(data, recipe, pairs, counts, seed, main=main, stage=ClassPairTask)
    refits = task.refits(n_refits, callback, about)
    halves = [
        _halves(each, [refit.main.classes[k] for refit in refits], data, counts) for k, each in enumerate(model.models)
    ]
    if pairs:
        pure, cells = model.pairs[0].pure, [pair.counts for pair in model.pairs]
        halves = [
            add_pairs(half, pairs, [refit.pairs.classes[k] for refit in refits], cells, pure)
            for k, half in enumerate(halves)
        ]
    both = [replace(alone, halves=half) for alone, half in zip(model.models, halves, strict=True)]
    return beside_the_average(both, model.base_chances)


def _halves(model: AdditiveModel, mains: Sequence[Any], data: Encoded, counts: list[Floats]) -> AdditiveModel:
    """Return the half-sample refits of one class."""
    curves, bases = np.stack([main.curves for main in mains]), np.array([main.base_score for main in mains])
    return with_doubt(data, model, assemble(model.bins, curves, bases, counts, model.loss))
