"""The edits that a person is making to a model: kept at every change, undone and redone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import streamlit as st

from gamcore.additions.editing import edits_of
from gamcore.additions.editing.edits import Edit, EditError, edit_of
from shapewise.store.workspace import ModelAbout
from shapewise.training.editing import Additive
from shapewise.ui.session import drafts


@dataclass(frozen=True)
class Draft:
    """Edits of a model that are not stored yet. own : those that the model came with. undone : the last one first.
    is_kept : whether the workspace has them; else they live as long as the session."""

    own: tuple[Edit, ...]
    edits: tuple[Edit, ...]
    undone: tuple[Edit, ...] = ()
    is_kept: bool = True

    @property
    def is_changed(self) -> bool:
        return self.edits != self.own


def _key(model: ModelAbout) -> str:
    return f"draft-{model.id}"


def left(model: ModelAbout) -> tuple[Edit, ...] | None:
    """Return the edits that this person has made to a model and not stored, its own among them; None if there are
    none."""
    draft: Draft | None = st.session_state.get(_key(model))
    if draft is not None and not draft.is_kept:
        return draft.edits if draft.is_changed else None
    stored = drafts.read("models", model.id)
    return None if stored is None else tuple(_read(stored))


def current(model: ModelAbout, estimator: Additive) -> Draft:
    """Return the draft of a model: what this person left, in whatever tab, else its own edits."""
    own, edits = edits_of(estimator), left(model)
    edits = own if edits is None else edits
    kept: Draft | None = st.session_state.get(_key(model))
    if kept is not None and kept.edits == edits:
        return kept
    return Draft(own, edits)


def _read(stored: list[dict[str, object]]) -> list[Edit]:
    """Return the edits of a stored draft; those of another version are left out."""
    edits = []
    for plain in stored:
        with suppress(EditError):
            edits.append(edit_of(plain))
    return edits


def _keep(model: ModelAbout, draft: Draft) -> None:
    plain = [edit.to_dict() for edit in draft.edits] if draft.is_changed else None
    st.session_state[_key(model)] = replace(draft, is_kept=drafts.keep("models", model.id, plain))


def _now(model: ModelAbout, draft: Draft) -> Draft:
    """Return a draft as it is at this moment: another tab may have changed it."""
    edits = left(model)
    edits = draft.own if edits is None else edits
    return draft if edits == draft.edits else replace(draft, edits=edits, undone=())


def add(model: ModelAbout, draft: Draft, edit: Edit) -> None:
    """Add an edit; what was undone cannot be redone after it."""
    now = _now(model, draft)
    _keep(model, replace(now, edits=(*now.edits, edit), undone=()))


def replace_all(model: ModelAbout, draft: Draft, edits: tuple[Edit, ...]) -> None:
    """Have other edits instead."""
    _keep(model, replace(draft, edits=edits, undone=()))


def undo(model: ModelAbout, draft: Draft) -> None:
    """Take the last edit back."""
    now = _now(model, draft)
    if now.edits:
        _keep(model, replace(now, edits=now.edits[:-1], undone=(now.edits[-1], *now.undone)))


def redo(model: ModelAbout, draft: Draft) -> None:
    """Make the edit again that was taken back last."""
    now = _now(model, draft)
    if now.undone:
        _keep(model, replace(now, edits=(*now.edits, now.undone[0]), undone=now.undone[1:]))


def forget(model: ModelAbout) -> None:
    """Drop the draft: the model's own edits remain."""
    drafts.keep("models", model.id, None)
    st.session_state.pop(_key(model), None)
