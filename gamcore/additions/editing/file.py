"""The edits of a model file, checked: beside the model as it is, the curves that were edited as they were fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from gamcore.additions.editing.edited import Edits, attached, edited, edits_in
from gamcore.additions.editing.edits import MOST_EDITS, Edit, EditError, edit_of
from gamcore.common.types import Floats
from gamcore.io.checks import ModelFileError, require, require_within, split
from gamcore.io.manifest import MAX_SCORE, read_signs
from gamcore.io.manifest_bins import Arrays
from gamcore.model.additive import AdditiveModel
from gamcore.model.monotone import is_monotone

MOST_WORK: Final = 2**30
"""Cells of pairs, in all refits, that the edits of a file may touch together."""

REFITS, HALVES = "refits", "half_refits"
"""Arrays of the fitted scores of all edited curves, (K, sum of sizes): of refits, and of half-sample refits."""


def write_edits(model: AdditiveModel, own: Edits) -> tuple[dict[str, Any], Arrays]:
    """Return the entry and the arrays of a model's edits."""
    entry = {"edits": [edit.to_dict() for edit in own.edits], "around": own.around, "signs": list(own.fitted.signs)}
    places = _edited_curves(model, own.edits)
    arrays = {REFITS: _refits(own.fitted, places)} if places else {}
    if places and own.fitted.halves is not None:
        arrays[HALVES] = _refits(own.fitted.halves, places)
    return entry, arrays


def read_edits(model: AdditiveModel, entry: dict[str, Any], arrays: Arrays) -> AdditiveModel:
    """Return a model with its edits, which fit the model that was fitted."""
    edits, around = _read(entry, model)
    fitted = _fitted(model, _edited_curves(model, edits), arrays, REFITS)
    if model.halves is not None:
        halves = _fitted(model.halves, _edited_curves(model, edits), arrays, HALVES)
        fitted = replace(fitted, halves=halves)
    fitted = replace(fitted, signs=read_signs(entry, len(model.bins)), intervals=None)
    require(all(is_monotone(fitted, j) for j in range(len(model.bins))), "its score was not monotone where it says so")
    again = _after(fitted, edits, around)
    return attached(model, edits_in(again)) if edits else model


def read_earlier(model: AdditiveModel, manifest: dict[str, Any]) -> AdditiveModel:
    """Return a model after the edits of a file from before additions, which has the model as it was fitted."""
    return _after(model, *_read(manifest, model))


def _read(entry: dict[str, Any], model: AdditiveModel) -> tuple[list[Edit], int]:
    """Return checked edits, and how many of them stay."""
    entries, around = entry.get("edits", []), entry.get("around", 0)
    require(isinstance(entries, list) and len(entries) <= MOST_EDITS, "its edits are not a list, or too many")
    require(type(around) is int and 0 <= around <= len(entries), "its edits that stay are not a number of them")
    largest = max((pair.counts.size for pair in model.pairs), default=0)
    try:
        edits = [edit_of(plain) for plain in entries]
    except EditError as error:
        raise ModelFileError(f"The model file is damaged: {error}") from error
    work = sum(len(edit.on) - 1 for edit in edits) * largest * model.n_refits
    require(work <= MOST_WORK, "its edits are of too many cells")
    return edits, around


def _after(fitted: AdditiveModel, edits: Sequence[Edit], around: int) -> AdditiveModel:
    try:
        return edited(fitted, edits, around)
    except EditError as error:
        raise ModelFileError(f"The model file is damaged: {error}") from error


def _edited_curves(model: AdditiveModel, edits: Sequence[Edit]) -> list[int]:
    """Return the places of the features whose curves were edited, ascending."""
    names = {edit.on[0] for edit in edits if len(edit.on) == 1}
    return [j for j, bins in enumerate(model.bins) if bins.feature.name in names]


def _refits(model: AdditiveModel, places: Sequence[int]) -> Floats:
    return np.concatenate([model.terms[j].refits for j in places], axis=1)


def _fitted(model: AdditiveModel, places: Sequence[int], arrays: Arrays, name: str) -> AdditiveModel:
    """Return a model with the fitted scores of its edited curves, and nothing drawn."""
    terms, sizes = list(model.terms), [model.bins[j].size for j in places]
    refits = arrays[name] if places else np.empty((model.n_refits, 0))
    require(refits.shape == (model.n_refits, sum(sizes)), "its fitted curves do not match its edits")
    require_within(refits, -MAX_SCORE, MAX_SCORE, "a fitted score")
    for j, scores in zip(places, split(refits, sizes) if places else [], strict=True):
        terms[j] = replace(terms[j], refits=scores, scores=scores.mean(axis=0))
    pairs = tuple(replace(pair, drawn=None) for pair in model.pairs)
    return replace(model, terms=tuple(terms), pairs=pairs, attachments={})
