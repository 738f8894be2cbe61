"""Models edited by hand, stored as new models that name their parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gamcore.additions.editing import edits_of, refit_others, replay, with_edits
from gamcore.additions.editing.edits import WITH_VALUE, Edit, as_typed, edit_of
from gamcore.boosting.running.progress import Callback
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.saved import from_saved
from gamcore.model.loss import Loss
from gamcore.model.scales import Scale
from shapewise.store.workspace import ModelAbout, Workspace, clean_name, new_id, now
from shapewise.training.dataset import Data
from shapewise.training.evaluation import evaluate
from shapewise.training.intervals import calibrate
from shapewise.training.spec import Spec
from shapewise.training.train import read_all, store

Additive = GAMRegressor | GAMClassifier


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


def learnt_around(
    model: Additive, data: Data, n_jobs: int = 1, quick: bool = False,
    callback: Callback | None = None,
) -> Additive:  # fmt: skip
    """Return an edited model in which all that was not edited is learnt anew from the training rows."""
    fitted = ~data.held_out
    ready: Additive = with_edits(model, edits_of(model)).set_params(n_jobs=n_jobs)
    return refit_others(ready, data.X[fitted], data.y[fitted], **data.of_rows(fitted), quick=quick, callback=callback)


def edited_again(workspace: Workspace, identifier: str, edited: str) -> ModelAbout:
    """Store a model after the edits of another that fit it, and return it; itself, where none does.

    identifier : of the trained model. edited : of the model whose edits are meant. Edits that do not fit are named in
    `edits_left` of the new model, each with the reason.
    """
    parent, theirs = workspace.models.about(identifier), workspace.models.about(edited)
    trained = from_saved(workspace.models.load(identifier))
    assert isinstance(trained, GAMRegressor | GAMClassifier)
    after, others = replay(trained, [edit_of(plain) for plain in theirs.edits])
    if not edits_of(after):
        return parent
    data = read_all(workspace, Spec.from_dict(parent.spec))
    left = [f"{edit.words()}: {why}" for edit, why in others]
    return store_edited(workspace, parent, after, data, theirs.name, left=left)


def store_edited(
    workspace: Workspace, parent: ModelAbout, model: Additive, data: Data, name: str, around: bool = False,
    left: Sequence[str] = (),
) -> ModelAbout:  # fmt: skip
    """Store an edited model as a new one. model : of the parent, after edits. around : whether what was not edited has
    been refitted. left : edits that did not fit, in words."""
    calibrate(model, data, Spec.from_dict(parent.spec))
    metrics = evaluate(data, model) if data.measurable else {}
    about = replace(
        parent,
        id=new_id(),
        name=clean_name(name),
        created=now(),
        seconds=0.0,  # it was not trained
        metrics=metrics,
        bands=single_model(model).n_halves,
        headlines={},
        notes={},
        counted=False,
        edits=[edit.to_dict() for edit in edits_of(model)],
        edited_from=parent.id,
        edited_from_name=parent.name,
        learnt_around=around,
        edits_left=list(left),
    )
    return store(workspace, about, model, data.expected)
