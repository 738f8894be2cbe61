"""All that this adds: the editor of Shapes and Pairs, a panel on Models, rows of cards, and a step after training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapewise.reports.added import AddedRows
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.training.after import AfterTraining
from shapewise.ui.explain.editor import Edited, Editor
from shapewise.ui.panel import Panel

if TYPE_CHECKING:
    from gamcore.data.binning import Bins
    from gamcore.data.column_names import Names
    from gamcore.explain.surfaces import Rectangle, Surface
    from gamcore.model.scales import Scale
    from shapewise.training.editing import Additive
    from shapewise.ui.session.current import InView


def _curve(model: ModelAbout, estimator: Additive, bins: Bins, scale: Scale) -> Edited:
    from shapewise.additions.editing import curve

    return curve.show(model, estimator, bins, scale)


def _pair(model: ModelAbout, estimator: Additive, surface: Surface, chosen: Rectangle | None, scale: Scale) -> Edited:
    from shapewise.additions.editing import pair

    return pair.show(model, estimator, surface, chosen, scale)


def _so_far(model: ModelAbout, estimator: Additive) -> Additive:
    from shapewise.additions.editing import editor

    return editor.edited_so_far(model, estimator)[1]


def _waiting(model: ModelAbout) -> str:
    from shapewise.additions.editing import editor

    return editor.not_saved(model)


def _has_edits(now: InView) -> bool:
    return now.model is not None and bool(now.model.edits)


def _on_models(now: InView) -> None:
    from shapewise.additions.editing import on_models

    assert now.model is not None
    on_models.draw(now.model)


def _card_rows(space: Workspace, model: ModelAbout, names: Names) -> list[tuple[str, str]]:
    from shapewise.additions.editing import words

    return words.card_rows(space, model, names)


def _again(workspace: Workspace, model: str, edited: str) -> ModelAbout:
    from shapewise.additions.editing import again

    return again.edited_again(workspace, model, edited)


EDITOR: Final = Editor(_curve, _pair, _so_far, _waiting)
MODELS: Final = Panel("models", "Edited by hand", _on_models, _has_edits, in_sight=True)
CARD: Final = AddedRows(_card_rows)
AGAIN: Final = AfterTraining("edits", _again)
