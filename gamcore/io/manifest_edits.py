"""The edits of a model file, checked: a file holds the fitted model, and what was done to it by hand."""

from __future__ import annotations

from typing import Any, Final

from gamcore.io.checks import ModelFileError, require
from gamcore.model.additive import AdditiveModel
from gamcore.model.edited import edited
from gamcore.model.edits import MOST_EDITS, EditError, edit_of

MOST_WORK: Final = 2**30
"""Cells of pairs, in all refits, that the edits of a file may touch together."""


def edits_entry(model: AdditiveModel) -> dict[str, Any]:
    """Return the manifest's entry for edits, without which a reader would predict as before them."""
    if not model.edits:
        return {}
    around = {"around": model.around} if model.around else {}
    return {"edits": [edit.to_dict() for edit in model.edits], **around, "required": ["edits"]}


def with_edits(model: AdditiveModel, manifest: dict[str, Any]) -> AdditiveModel:
    """Return a checked model after a file's edits."""
    entries = manifest.get("edits", [])
    require(isinstance(entries, list) and len(entries) <= MOST_EDITS, "its edits are not a list, or too many")
    around = manifest.get("around", 0)
    require(type(around) is int and 0 <= around <= len(entries), "its edits that stay are not a number of them")
    largest = max((pair.counts.size for pair in model.pairs), default=0)
    try:
        edits = [edit_of(entry) for entry in entries]
        work = sum(len(edit.on) - 1 for edit in edits) * largest * model.n_refits
        require(work <= MOST_WORK, "its edits are of too many cells")
        return edited(model, edits, around)
    except EditError as error:
        raise ModelFileError(f"The model file is damaged: {error}") from error
