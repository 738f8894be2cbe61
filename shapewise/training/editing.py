"""Models changed by hand, stored as new models that name their parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.store.models import listed
from shapewise.store.workspace import ModelAbout, Workspace, clean_name, new_id, now
from shapewise.training.dataset import Data
from shapewise.training.evaluation import evaluate
from shapewise.training.intervals import calibrate
from shapewise.training.spec import Spec
from shapewise.training.train import store

Additive = GAMRegressor | GAMClassifier


def store_edited(
    workspace: Workspace, parent: ModelAbout, model: Additive, data: Data, name: str, left: Sequence[str] = ()
) -> ModelAbout:  # fmt: skip
    """Store an edited model as a new one. model : of the parent, after edits. left : edits that did not fit, in
    words."""
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
        edits=[],
        edited_from=parent.id,
        edited_from_name=parent.name,
        learnt_around=False,
        edits_left=list(left),
    )
    return store(workspace, replace(about, **listed(single_model(model))), model, data.expected)
