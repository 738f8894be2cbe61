"""A report for a review: which plots and tables in which order, with what comments, as slides, PDF or a web page."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore.viz import files as export
from shapewise.decisions import boards as stored
from shapewise.decisions.boards import Board
from shapewise.errors import StoreError
from shapewise.reports import file_jobs as packs
from shapewise.reports import recipes
from shapewise.reports.recipes import Recipe, ReportItem
from shapewise.ui.report import recipe as ingredients
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import date, md, told_apart
from shapewise.ui.widgets import artifacts as packing
from shapewise.ui.widgets import cards, sharing

NEW = ""

begin("Report", "The report for the review: the decision first, then the evidence.")
model = cards.pick_model()
boards = {one.id: one for one in stored.boards(state.workspace())}
kept = {one.id: one for one in recipes.recipes(state.workspace())}


def named(one: Recipe | Board) -> str:
    """Return a thing in a list."""
    return f"{one.name} ({date(one.created)})"


def pick_recipe() -> Recipe:
    """Return a recipe that was kept, or a new one with what most reviews want."""
    chosen = NEW
    following = st.session_state.pop("recipe-next", None)
    if following in kept:
        st.session_state["recipe"] = following
    if kept:
        labels = told_apart({NEW: "A new report", **{i: named(one) for i, one in kept.items()}})
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox("Recipe", list(labels), format_func=labels.__getitem__, key="recipe",
                                  help="A saved report, applied to the model above.")  # fmt: skip
            if chosen:
                sharing.button("reports", chosen, kept[chosen].name)
            if (
                chosen
                and state.mine("reports", chosen, "delete")
                and st.button("Delete the recipe", icon=":material/delete:")
            ):
                confirm_delete(kept[chosen])
    if chosen:
        return opened(kept[chosen])
    estimator = state.estimator(model.id)
    names = estimator.importance().ranked_features()
    newest = next((one for one in reversed(boards.values()) if one.table == model.table), None)
    return recipes.usual(model, names, ingredients.pairs_of(estimator), newest)


@st.dialog("Delete this recipe?")
def confirm_delete(recipe: Recipe) -> None:
    """Ask once."""
    st.markdown(f"**{md(recipe.name)}**, with its order and its comments. Files made by it stay.")
    if st.button("Delete recipe", icon=":material/delete:"):
        state.workspace().delete("reports", recipe.id)
        st.session_state.pop("recipe", None)
        st.rerun()


def head(recipe: Recipe, key: str) -> Recipe:
    """Title, subtitle, board and scale: what the recipe has, until somebody changes it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Title", recipe.name, max_chars=120, key=f"title-{key}", persist_state="session")
        subtitle = st.text_input("Subtitle", recipe.subtitle, max_chars=200, key=f"subtitle-{key}",
                                 persist_state="session", help="Under the title, before the date.")  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = told_apart({NEW: "No strategies", **{i: named(one) for i, one in boards.items()}})
        board = recipe.board if recipe.board not in boards else NEW  # one that is not shared with this person stays
        if boards:
            at = list(labels).index(recipe.board) if recipe.board in boards else 0
            board = st.selectbox("Board of strategies", list(labels), at, format_func=labels.__getitem__,
                                 key=f"board-{key}", persist_state="session")  # fmt: skip
        scale = recipe.scale
        if model.kind.endswith("classifier"):
            usual = scale if scale in cards.SCALE_WORDS else "points"
            scale = st.segmented_control(
                "Scale", list(cards.SCALE_WORDS), default=usual, required=True, key=f"scale-{key}",
                format_func=cards.SCALE_WORDS.__getitem__, persist_state="session",
            )  # fmt: skip
    return replace(recipe, name=name.strip() or model.name, subtitle=subtitle.strip(), board=board, scale=scale)


def mine(recipe: Recipe) -> bool:
    """Return whether this person may change a recipe that was kept."""
    return recipe.id in kept and state.mine("reports", recipe.id)


def opened(recipe: Recipe) -> Recipe:
    """Return a recipe as it was when this session began to edit it, and the way to what somebody else made of it
    since."""
    place = f"opened-{recipe.id}"
    draft: Recipe = st.session_state.setdefault(place, recipe)
    if draft != recipe:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                ":material/info: Somebody has changed this recipe since you opened it. What you keep is kept beside."
            )
            if st.button("Open theirs", type="tertiary"):
                st.session_state[place] = recipe
                st.rerun()
    return draft


def make(recipe: Recipe) -> None:
    """Make a file, and keep the recipe."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            "As", list(export.KINDS), default="pptx", required=True, format_func=export.KINDS.__getitem__, key="kind"
        )
        busy = any(one.goes_on for one in packs.packs(state.workspace(), "report"))
        if st.button("Make the report", type="primary", icon=":material/slideshow:", disabled=busy or not recipe.items):
            try:
                packing.begun(packs.start_report(state.workspace(), recipe, model.id, kind), "report")
            except StoreError as error:
                st.error(md(error), icon=":material/error:")
            else:
                st.rerun()
        if st.button("Keep as a recipe", icon=":material/bookmark:", disabled=not recipe.items,
                     help="Saves its order and comments, to be used with another model later."):  # fmt: skip
            saved = recipes.save(state.workspace(), recipe, st.session_state.get(f"opened-{recipe.id}"))
            beside = saved.id != recipe.id and mine(recipe)
            beside_words = ", beside what somebody else made of it meanwhile" if beside else ""
            st.session_state["recipe-saved"] = f"{md(saved.name)} is kept{beside_words}."
            st.session_state["recipe-next"] = saved.id  # a widget's own value cannot be set after it is drawn
            st.session_state.pop(f"opened-{recipe.id}", None)
            st.session_state[f"opened-{saved.id}"] = saved
            st.rerun()
    saved = st.session_state.pop("recipe-saved", None)
    if saved:
        st.caption(f":material/check: {saved}")


recipe = pick_recipe()
# What is in the fields belongs to the recipe as it was opened, on whichever model it is made.
key = f"{recipe.id}-{hash(recipe):x}" if recipe.id else f"new-{model.id}"
with st.container(border=True):
    recipe = head(recipe, key)
    buttons = st.container()
made = st.container()
items: list[ReportItem] = ingredients.edit(recipe, model, key)
with buttons:
    make(replace(recipe, items=tuple(items)))
with made:
    packing.show("report")
st.caption(
    "The model card, and what it does not say, stand at the end of each report. Files need neither a browser nor the "
    "network."
)
