"""The editor on a page: what is kept so far, undo and redo, the price, and the model that it makes."""

from __future__ import annotations

import streamlit as st

from gamcore.additions.editing import edit as edit_model
from gamcore.additions.editing import edits_of, edits_that_stay, replay, with_edits
from gamcore.additions.editing.edits import EditError
from gamcore.data.columns import TableError
from gamcore.estimators.base import loss_of
from shapewise.additions.editing import draft as drafts
from shapewise.additions.editing import form, price
from shapewise.additions.editing.again import learnt_around
from shapewise.additions.editing.draft import Draft
from shapewise.additions.editing.words import in_words
from shapewise.places import PAGES
from shapewise.store.names import MAX_NAME
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.editing import Additive, store_edited
from shapewise.ui.explain.editor import Edited
from shapewise.ui.session import current, news, state
from shapewise.ui.session.words import count, md


def edited_so_far(model: ModelAbout, estimator: Additive) -> tuple[Draft, Additive]:
    """Return the draft of a model, and the model after its edits; those that do not fit any more are dropped."""
    draft = drafts.current(model, estimator)
    try:
        return draft, with_edits(estimator, draft.edits)
    except EditError:  # of a model that was replaced meanwhile
        return draft, replay(estimator, draft.edits)[0]


def rows_of(model: ModelAbout) -> Data:
    """Return the rows that a model was trained on; without them a page offers no editor."""
    data = state.data(model)
    assert data is not None
    return data


def not_saved(model: ModelAbout) -> str:
    """Say how many edits of a model this person has not saved; empty where there are none."""
    left = drafts.left(model)
    if left is None:
        return ""
    return f"{count(len(left))} {'edit is' if len(left) == 1 else 'edits are'} not saved yet"


def tried(model: ModelAbout, draft: Draft, now: Additive, target: form.Target) -> Additive:
    """Show the form of an edit, and return the model with it, or as it is so far while there is none."""
    try:
        edit = form.choose(target)
        if edit is None:
            return now
        edited = edit_model(now, edit.on, edit.operation, edit.where, edit.value)
    except EditError as error:
        form.refused(error)
        return now
    form.keep_button(target, edits_of(edited)[-1], form.reason(target), lambda kept: drafts.add(model, draft, kept))
    return edited


def editing(model: ModelAbout, estimator: Additive, target: form.Target, data: Data) -> Edited:
    """Show the form of an edit. estimator : as it is stored."""
    draft, now = edited_so_far(model, estimator)
    edited = tried(model, draft, now, target)
    slot = st.container()

    def finish() -> None:
        with slot:
            priced(model, edited, estimator, data)
            history(model, draft, estimator, data, target)

    return Edited(edited, edits_of(edited) != edits_of(now), finish)


def history(model: ModelAbout, draft: Draft, estimator: Additive, data: Data, target: form.Target) -> None:
    """Show the edits so far on the scale of the page, with undo and redo, and what can be made of them."""
    stay = len(edits_that_stay(estimator))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Undo", icon=":material/undo:", disabled=len(draft.edits) <= stay, key=f"undo-{model.id}",
                  on_click=drafts.undo, args=(model, draft))  # fmt: skip
        st.button("Redo", icon=":material/redo:", disabled=not draft.undone, key=f"redo-{model.id}",
                  on_click=drafts.redo, args=(model, draft))  # fmt: skip
        _replay(model, draft, estimator)
        if draft.is_changed:
            _store(model, draft, estimator, data)
    if not draft.edits:
        st.caption("Mark a part of the plot, by dragging over it or in the fields, and choose what to do with it.")
        return
    words, unit = in_words(draft.edits, loss_of(estimator), state.names_of(model), target.scale, target.base)
    st.dataframe(
        [{"Edit": sentence, "Why": edit.reason} for sentence, edit in zip(words, draft.edits, strict=True)],
        hide_index=True, alt="The edits so far, the first one first.",
    )  # fmt: skip
    if unit:
        st.caption(f"Unit of the values: {unit}.")


def _replay(model: ModelAbout, draft: Draft, estimator: Additive) -> None:
    """Offer to bring in the edits of another model."""
    others = [other for other in state.workspace().models.listed() if other.edits and other.id != model.id]
    if not others:
        return
    with st.popover("Edits of another model", icon=":material/move_down:"):
        chosen = st.selectbox("Model", others, format_func=lambda other: other.name, key=f"replayed-{model.id}")
        note = f"replay-note-{model.id}"

        def bring() -> None:
            theirs = state.whole(chosen.id)
            replayed, left = replay(with_edits(estimator, draft.edits), (*draft.edits, *edits_of(theirs)))
            drafts.replace_all(model, draft, edits_of(replayed))
            st.session_state[note] = [f"{edit.name}: {why}" for edit, why in left]

        st.button("Bring them in", on_click=bring, key=f"bring-{model.id}")
        for line in st.session_state.get(note, []):
            st.caption(f":material/block: {md(line)}")


def _store(model: ModelAbout, draft: Draft, estimator: Additive, data: Data) -> None:
    """Offer to store the edited model, or to drop the edits."""
    with st.popover("Save as a model", icon=":material/save:"):
        name = st.text_input("Name", f"{model.name} · edited"[:MAX_NAME], max_chars=MAX_NAME, key=f"name-{model.id}")
        around = st.checkbox(
            "Refit all others around the edits", key=f"around-{model.id}",
            help="Curves and pairs that you did not edit adapt to those that you did. The model then has only a "
            "quick band, and these edits stay.",
        )  # fmt: skip
        if st.button("Save", type="primary", disabled=not name.strip(), key=f"save-{model.id}"):
            try:
                with st.spinner("Refitting the others" if around else "Measuring the edited model"):
                    edited = with_edits(estimator, draft.edits)
                    edited = learnt_around(edited, data, state.n_jobs()) if around else edited
                    kept = store_edited(state.workspace(), model, edited, data, name)
            except TableError as error:
                st.error(md(str(error)), icon=":material/error:")
                return
            drafts.forget(model)
            current.open_model(kept.id)
            news.tell(f"{md(kept.name)} was saved.", ":material/save:")
            st.switch_page(PAGES / "shapes.py", query_params={"model": kept.id})
    st.button(
        "Drop the edits", icon=":material/delete:", type="tertiary", key=f"drop-{model.id}",
        on_click=drafts.replace_all, args=(model, draft, draft.own),
        help="Back to the model as it is stored.",
    )  # fmt: skip


def priced(model: ModelAbout, edited: Additive, estimator: Additive, data: Data) -> None:
    """Show the price of the edits, with the one that is being made."""
    if edits_of(edited) == edits_of(estimator):
        return
    try:
        price.show(model, edited, estimator, data)
    except TableError as error:
        st.caption(md(str(error)))
