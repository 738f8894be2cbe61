"""Interactions of three features: what they hold of pairs, of single features and of the mean goes to the terms of
these, from the top."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamcore.common.types import Codes, Floats
from gamcore.model.additive import AdditiveModel, PairTerm, pair_bins, pair_effects, with_pair_effects
from gamcore.model.grids import GridTerm, faces, split_off


def add_triple(model: AdditiveModel, raw: GridTerm) -> AdditiveModel:
    """Return the model with one more triple; no prediction of rows in parts with training rows changes.

    raw : the triple as it was boosted. What it holds of its pairs, all of which the model has, goes to these.
    """
    own, lower = split_off(raw.refits, raw.counts)
    places = {pair.features: place for place, pair in enumerate(model.pairs)}
    parts = dict(zip(raw.features, raw.parts, strict=True))
    for pair, table in zip(faces(raw.features), lower, strict=True):
        first, second = pair
        model = _with_more(model, places[first, second], table, (parts[first], parts[second]))
    return replace(model, triples=(*model.triples, replace(raw, refits=own)))


def _with_more(model: AdditiveModel, place: int, table: Floats, parts: tuple[Codes, Codes]) -> AdditiveModel:
    """Return the model with a table (K, a, b) over parts of two features added to its pair at `place`.

    The mean and main effects of the table go to the intercept and the two terms, as those of the pair's surfaces did.
    """
    pair = model.pairs[place]
    fuller = _joined(pair, table, parts)
    alike = tuple(np.broadcast_to(part, (len(table), part.size)) for part in parts)
    effects = pair_effects(table, (alike[0], alike[1]), pair.counts, pair_bins(model, pair.features, pair.counts))
    means, rows, columns = effects
    fuller = replace(fuller, means=pair.means + means, rows=pair.rows + rows, columns=pair.columns + columns)
    pairs = (*model.pairs[:place], fuller, *model.pairs[place + 1 :])
    return with_pair_effects(replace(model, pairs=pairs), pair.features, effects)


def _joined(pair: PairTerm, table: Floats, parts: tuple[Codes, Codes]) -> PairTerm:
    """Return a pair whose surfaces have a table added, over merged bins that lie in one part and in one of theirs."""
    merges, known = [], []
    for of_pair, part in zip(pair.merges, parts, strict=True):
        each = [np.unique(np.stack([merge, part]), axis=1, return_inverse=True) for merge in of_pair]
        known.append([places for places, _ in each])
        merges.append(np.stack([codes.ravel() for _, codes in each]))
    side = max(places.shape[1] for of_axis in known for places in of_axis)
    surfaces = np.zeros((len(table), side, side))
    for out, surface, more, first, second in zip(surfaces, pair.surfaces, table, *known, strict=True):
        both = surface[np.ix_(first[0], second[0])] + more[np.ix_(first[1], second[1])]
        out[: first.shape[1], : second.shape[1]] = both
    small = np.min_scalar_type(side)
    return replace(pair, surfaces=surfaces, merges=(merges[0].astype(small), merges[1].astype(small)))
