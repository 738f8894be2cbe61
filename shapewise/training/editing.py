"""Models edited by hand, stored as new models that name their parent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gamcore.additions.editing import edits_of, refit_others, with_edits
from gamcore.boosting.progress import Progress
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.store.workspace import ModelAbout, Workspace, clean_name, new_id, now
from shapewise.training.dataset import Data
from shapewise.training.evaluation import evaluate
from shapewise.training.intervals import calibrate
from shapewise.training.spec import Spec
from shapewise.training.train import store

Additive = GAMRegressor | GAMClassifier


def learnt_around(
    model: Additive, data: Data, n_jobs: int = 1, quick: bool = False,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Additive:  # fmt: skip
    """Return an edited model in which all that was not edited is learnt anew from the training rows."""
    fitted = ~data.held_out
    ready: Additive = with_edits(model, edits_of(model)).set_params(n_jobs=n_jobs)
    return refit_others(ready, data.X[fitted], data.y[fitted], **data.of_rows(fitted), quick=quick, callback=callback)


def store_edited(
    workspace: Workspace, parent: ModelAbout, model: Additive, data: Data, name: str, around: bool = False
) -> ModelAbout:
    """Store an edited model as a new one. model : of the parent, after edits. around : whether what was not edited has
    been learnt anew."""
    calibrate(model, data, Spec.from_dict(parent.spec))
    metrics = evaluate(data, model) if data.measurable else {}
    about = replace(
        parent,
        id=new_id(),
        name=clean_name(name),
        created=now(),
        seconds=0.0,  # it was not trained
        metrics=metrics,
        bands=model.single.n_halves,
        headlines={},
        notes={},
        counted=False,
        edits=[edit.to_dict() for edit in edits_of(model)],
        edited_from=parent.id,
        edited_from_name=parent.name,
        learnt_around=around,
        drafts={},
    )
    return store(workspace, about, model, data.expected)
