"""Edits as a person would say them: on the Models page, in the editor, and in the card of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gamcore.additions.editing.edits import WITH_VALUE, Edit, as_typed, edit_of
from gamcore.common.numbers import counted
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.estimators.base import loss_of
from gamcore.estimators.saved import from_saved
from gamcore.model.loss import Loss
from gamcore.model.scales import Scale
from shapewise.store.workspace import ModelAbout, Workspace


def in_words(
    edits: Sequence[Edit], loss: Loss, names: Names = AS_THEY_ARE, scale: Scale | None = None, base: float = 0.0
) -> tuple[list[str], str]:
    """Return edits as a person would say them, and the unit of their values; "" where none of them has a value.

    scale : of the values; factors where it is None and the model has them. base : the score of a row without effects.
    """
    scale = scale or ("ratio" if "ratio" in loss.units else "link")

    def write(value: float) -> str:
        shown = as_typed(float(loss.effect(np.array(value), scale, base)))
        return f"×{shown}" if scale == "ratio" else f"{shown} points" if scale == "points" else shown

    words = [edit.words(names, write) for edit in edits]
    has_values = any(edit.operation in WITH_VALUE for edit in edits)
    return words, (loss.unit(scale, "") or "units of the target") if has_values else ""


def card_rows(space: Workspace, model: ModelAbout, names: Names) -> list[tuple[str, str]]:
    """Return the rows of a model's card that say what was edited by hand, and why; none where nothing was."""
    if not model.edits:
        return []
    around = "; what was not edited was refit around the edits" if model.learnt_around else ""
    edits = [edit_of(plain) for plain in model.edits]
    words, unit = in_words(edits, loss_of(from_saved(space.models.load(model.id))), names)
    lines = [f"{line}{f' ({edit.reason})' if edit.reason else ''}" for line, edit in zip(words, edits, strict=True)]
    source = f" of the model {model.edited_from_name}" if model.edited_from_name else ""
    values = f"; unit of the values: {unit}" if unit else ""
    first = ("Edited by hand", f"{counted(len(edits), 'edit')}{source}{around}{values}")
    return [first, *[(f"Edit {k}", words) for k, words in enumerate(lines, 1)]]
