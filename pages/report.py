"""A report: for whom, plots, tables and comments in a chosen order, as slides, PDF or a web page."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import replace

import streamlit as st

from gamcore.estimators.base import loss_of
from gamcore.viz import files as export
from shapewise.decisions import arm_tests
from shapewise.decisions import boards as stored
from shapewise.decisions.arm_tests import StoredTest
from shapewise.decisions.boards import Board
from shapewise.errors import StoreError
from shapewise.reports import file_jobs as packs
from shapewise.reports import recipes
from shapewise.reports.recipes import AUDIENCES, MOST_SLIDES, Audience, Recipe, ReportItem
from shapewise.ui.report import recipe as ingredients
from shapewise.ui.report import settings
from shapewise.ui.session import current, dialogs, state
from shapewise.ui.session.words import date, md, told_apart
from shapewise.ui.widgets import artifacts as packing
from shapewise.ui.widgets import cards, sharing

NEW = ""
HELP = {
    "director": f"At most {MOST_SLIDES} slides: the decision, who gets what, what was measured, and why.",
    "analyst": "The decision, what was measured on all metrics, and the models behind the strategies.",
    "audit": "How to read it, risks, groups that are reached, rules as code run and compared, and the model cards.",
}

begin("Report", "The report for the review: the decision first, then the evidence.")
now = current.in_view()
if now.missing is not None:
    cards.missing(now)
model = now.model if now.model is not None and not now.model.of_tasks else None
here = {table.id for table in now.project.tables} if now.project else set()
boards = {board.id: board for board in stored.boards(state.workspace())}
tests = {test.id: test for test in arm_tests.tests(state.workspace(), here)}
if model is None and not tests and not any(board.table in here for board in boards.values()):
    model = cards.model_in_view()
kept = {kept_recipe.id: kept_recipe for kept_recipe in recipes.recipes(state.workspace())}


def named(described: Recipe | Board | StoredTest) -> str:
    """Return the label of a recipe, a board or a test."""
    return f"{described.name} ({date(described.created)})"


def pick_recipe() -> Recipe:
    """Return a saved recipe, or a new one with the usual contents for its audience."""
    chosen = NEW
    following = st.session_state.pop("recipe-next", None)
    if following in kept:
        st.session_state["recipe"] = following
    if kept:
        labels = told_apart({NEW: "A new report", **{i: named(kept_recipe) for i, kept_recipe in kept.items()}})
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox("Recipe", list(labels), format_func=labels.__getitem__, key="recipe",
                                  help="A saved report, applied to the model in view.")  # fmt: skip
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
    audience = st.segmented_control(
        "For", list(AUDIENCES), default="director", required=True, key="audience", persist_state="session",
        format_func=AUDIENCES.__getitem__,
    )  # fmt: skip
    st.caption(HELP[audience])
    if model is not None:
        cards.pick_class(model)
    newest = next((board for board in reversed(boards.values()) if board.table in here), None)
    test = next(iter(tests.values()), None)
    rests_on_it = newest is None or any(strategy.tested for strategy in newest.read().strategies)
    return usual_of(newest, test if rests_on_it else None, audience)


def usual_of(board: Board | None, test: StoredTest | None, audience: Audience) -> Recipe:
    """Return the usual recipe of a board, a test or both, and the model in view."""
    names = state.additive(model.id).importance().ranked_features() if model is not None else []
    of_class = state.class_in_view(model.id) if model is not None else ""
    return recipes.usual(model, names, board, test, audience=audience, of_class=of_class)


@dialogs.dialog("Delete this recipe?")
def confirm_delete(recipe: Recipe) -> None:
    """Confirm before deleting."""
    st.markdown(f"**{md(recipe.name)}**, with its order and its comments. Files made by it stay.")
    if st.button("Delete recipe", icon=":material/delete:"):
        state.workspace().delete("reports", recipe.id)
        st.session_state.pop("recipe", None)
        st.rerun()


def decided_by(recipe: Recipe, key: str) -> Recipe:
    """Show which board or test decides, and return the recipe that follows from it."""
    choices: dict[str, tuple[str, str]] = {i: (i, "") for i, board in boards.items()
                                           if board.table in here or i == recipe.board}  # fmt: skip
    choices |= {i: ("", i) for i in tests}
    choices |= {f"{board} {test}": (board, test) for board in list(choices) if board in boards for test in tests
                if not recipes.outcomes_of(boards[board], None)}  # fmt: skip
    if not choices:
        return recipe
    choices = ({NEW: ("", "")} if model is not None or not (recipe.board or recipe.test) else {}) | choices
    labels = {}
    for choice, (board, test) in choices.items():
        both = [named(every[i]) for every, i in ((boards, board), (tests, test)) if i]
        labels[choice] = " and ".join(both) or "Nothing: a report of a model"
    labels = told_apart(labels)
    decides = next((choice for choice, both in choices.items() if both == (recipe.board, recipe.test)), None)
    at = list(labels).index(decides) if decides is not None else None
    chosen = st.selectbox("Board or test that decides", list(labels), at, format_func=labels.__getitem__,
                          key=f"board-{key}", persist_state="session", placeholder="Not shared with you")  # fmt: skip
    if chosen is None or chosen == decides:
        return recipe
    board, test = choices[chosen]
    before, now_usual = (usual_of(boards.get(board_id), tests.get(other), recipe.audience)
                         for board_id, other in ((recipe.board, recipe.test), (board, test)))  # fmt: skip
    now_usual = replace(now_usual, board=board, test=test)
    return recipes.followed(recipe, before, now_usual, ingredients.candidates(now_usual, model))


def head(recipe: Recipe, key: str) -> Recipe:
    """Edit the title, subtitle and scale, which start as the recipe has them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Title", recipe.name, max_chars=120, key=f"title-{key}", persist_state="session")
        subtitle = recipe.subtitle
        if not recipe.is_brief:
            subtitle = st.text_input("Subtitle", recipe.subtitle, max_chars=200, key=f"subtitle-{key}",
                                     persist_state="session", help="On the cover, before the date.")  # fmt: skip
        scale = recipe.scale
        loss = loss_of(state.estimator(model.id)) if model is not None else None
        if loss is not None and len(loss.scales) > 1:
            words = cards.words_of_scales(loss.name)
            usual = scale if scale in words else loss.usual_scale
            scale = st.segmented_control(
                "Scale", list(words), default=usual, required=True, key=f"scale-{loss.name}-{key}",
                format_func=words.__getitem__, persist_state="session",
            )  # fmt: skip
    return replace(recipe, name=name.strip() or recipe.name, subtitle=subtitle.strip(), scale=scale)


def mine(recipe: Recipe) -> bool:
    """Return whether this user may change a saved recipe."""
    return recipe.id in kept and state.mine("reports", recipe.id)


def opened(recipe: Recipe) -> Recipe:
    """Return a recipe as it was when this session began to edit it, and offer the version that another user has saved
    since."""
    place = f"opened-{recipe.id}"
    draft: Recipe = st.session_state.setdefault(place, recipe)
    if draft != recipe:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                ":material/info: Someone has changed this recipe since you opened it. Saving yours makes a new recipe."
            )
            if st.button("Open theirs", type="tertiary"):
                st.session_state[place] = recipe
                st.rerun()
    return draft


def make(recipe: Recipe) -> None:
    """Show the controls that make a file and save the recipe."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            "Format",
            list(export.KINDS),
            default="pptx",
            required=True,
            format_func=export.KINDS.__getitem__,
            key="kind",
        )
        busy = any(pack.goes_on for pack in packs.packs(state.workspace(), "report"))
        if st.button("Make the report", type="primary", icon=":material/slideshow:", disabled=busy or not recipe.items):
            identifier = model.id if model is not None else ""
            try:
                packing.begun(packs.start_report(state.workspace(), recipe, identifier, kind), "report")
            except StoreError as error:
                st.error(md(error), icon=":material/error:")
            else:
                st.rerun()
        if st.button("Save as a recipe", icon=":material/bookmark:", disabled=not recipe.items,
                     help="Saves its order and comments, to be used with another model later."):  # fmt: skip
            save(recipe)
    saved = st.session_state.pop("recipe-saved", None)
    if saved:
        st.caption(f":material/check: {saved}")


def save(recipe: Recipe) -> None:
    """Save a recipe and open it."""
    saved = recipes.save(state.workspace(), recipe, st.session_state.get(f"opened-{recipe.id}"))
    beside = saved.id != recipe.id and mine(recipe)
    beside_words = ", next to the version that somebody else saved meanwhile" if beside else ""
    st.session_state["recipe-saved"] = f"{md(saved.name)} is kept{beside_words}."
    st.session_state["recipe-next"] = saved.id  # a widget's own value cannot be set after it is drawn
    st.session_state.pop(f"opened-{recipe.id}", None)
    st.session_state[f"opened-{saved.id}"] = saved
    st.rerun()


recipe = pick_recipe()
# The fields belong to the recipe as it was opened, whatever the model.
source = model.id if model is not None else now.table.id if now.table is not None else ""
key = f"{recipe.id}-{hash(recipe):x}" if recipe.id else f"new-{recipe.audience}-{source}"
with st.container(border=True):
    opened_for, recipe = (recipe.board, recipe.test), decided_by(recipe, key)
    if (recipe.board, recipe.test) != opened_for:  # fields of its own, which begin with what follows from the choice
        key = f"{key}-{recipe.board}-{recipe.test}"
    recipe = head(recipe, key)
    recipe = settings.show(recipe, boards.get(recipe.board), tests.get(recipe.test), key)
    buttons = st.container()
packs_place = st.container()
items: list[ReportItem] = ingredients.edit(recipe, model, key)
with buttons:
    make(replace(recipe, items=tuple(items)))
with packs_place:
    packing.show("report")
if recipe.is_brief:
    st.caption("Each part is one slide; longer comments go into its notes.")
else:
    st.caption("The model cards, and what they do not say, stand at the end, unless they are among the parts.")
