"""What was not edited, learnt around the edits; and edits made again on a model that was trained anew."""

from __future__ import annotations

from gamcore.additions.editing import edits_of, refit_others, replay, with_edits
from gamcore.additions.editing.edits import edit_of
from gamcore.boosting.running.progress import Callback
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.saved import from_saved
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training.dataset import Data
from shapewise.training.editing import Additive, store_edited
from shapewise.training.spec import Spec
from shapewise.training.train import read_all


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
