"""What a report needs besides its parts: what an outcome is worth, the next step, and a house template."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import date

import streamlit as st

from shapewise.decisions import boards as stored
from shapewise.decisions.arm_tests import StoredTest
from shapewise.decisions.boards import Board
from shapewise.errors import StoreError
from shapewise.reports import templates
from shapewise.reports.recipes import Recipe
from shapewise.ui.decide import prices
from shapewise.ui.session import dialogs, state
from shapewise.ui.session.words import md, told_apart
from shapewise.ui.widgets import meanwhile, settled, sharing, undo

HOUSE = ""
MOST_STEP = 300


def show(recipe: Recipe, board: Board | None, test: StoredTest | None, key: str) -> Recipe:
    """Show the settings, and return the recipe with them. What an outcome is worth is kept with board or project."""
    if board is not None:
        meanwhile.look("boards", asdict(board), ("money",))
    if board is not None or test is not None:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _worth(board, test)
            recipe = _next_step(recipe, key)
    return replace(recipe, template=_template(recipe, key))


def _worth(board: Board | None, test: StoredTest | None) -> None:
    """Show what one more outcome is worth: of a board's strategies together, kept with the board, where not each has
    its own; of a test's first outcome, kept with the project. The currency is the project's."""
    if board is None:
        assert test is not None
        prices.edit(test.table, test.test().measured[:1], f"report-{test.id}")
        return
    own = sorted({strategy.value for strategy in board.read().strategies})
    mine = state.mine("boards", board.id)
    amount = st.number_input(
        "Worth of one more outcome", 0.0, 1e9, None, key=settled.begin(f"worth-{board.id}", board.money.get("amount")),
        placeholder="As on the board" if any(own) else "Not given",
        help="Asked for once and kept with the board. If it is empty, each strategy's own value counts.",
        disabled=not mine, width=220,
    )  # fmt: skip
    if mine and (amount or None) != board.money.get("amount"):
        stored.change(state.workspace(), board.id, money={"amount": amount or None})
    prices.edit(board.table, [], f"report-{board.id}", costs=False)


def _next_step(recipe: Recipe, key: str) -> Recipe:
    """Show the day and the words of the next step."""
    start = st.date_input(
        "Next step begins on", date.fromisoformat(recipe.start) if recipe.start else None, key=f"start-{key}",
        width=180, help="If it is empty, the report says that the day is to be set.",
    )  # fmt: skip
    words = st.text_input(
        "Next step", recipe.next_step, max_chars=MOST_STEP, key=f"next-{key}", persist_state="session",
        placeholder="Written for you from the test and its plan", width="stretch",
    )  # fmt: skip
    return replace(recipe, start=start.isoformat() if start else "", next_step=words.strip())


def _template(recipe: Recipe, key: str) -> str:
    """Show the choice of a house template, and the way to add or delete one; return the chosen one."""
    there = {template.id: template.name for template in templates.templates(state.workspace())}
    labels = told_apart({HOUSE: "Plain", **there})
    added = st.session_state.pop("template-next", None)
    if added in labels:
        st.session_state[f"template-{key}"] = added
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = list(labels).index(recipe.template) if recipe.template in labels else 0
        chosen = st.selectbox(
            "Look of the slides", list(labels), at, format_func=labels.__getitem__, key=f"template-{key}", width=260,
            help="A house template gives slides its layout, size, fonts and colours.",
        )  # fmt: skip
        if state.workspace().may("create") and st.button("Add a template", icon=":material/upload:", type="tertiary"):
            _add()
        if chosen:
            sharing.button(templates.KIND, chosen, there[chosen])
        if chosen and state.mine(templates.KIND, chosen, "delete"):
            st.button("Delete the template", icon=":material/delete:", type="tertiary", on_click=_delete,
                      args=(chosen, there[chosen]))  # fmt: skip
    return chosen if chosen or recipe.template in labels else recipe.template


def _delete(identifier: str, name: str) -> None:
    undo.delete(templates.KIND, identifier, name)


@dialogs.dialog("Add a house template")
def _add() -> None:
    """Upload a template."""
    st.caption("A .pptx or .potx with a layout that has a title at the top. Its slides are not used.")
    file = st.file_uploader("Template", type=["pptx", "potx"], max_upload_size=20)
    if file is None or not st.button("Add it", type="primary"):
        return
    try:
        with st.spinner("Reading the template"):
            template = templates.add(state.workspace(), file.name, file.getvalue())
    except StoreError as error:
        st.error(md(error), icon=":material/error:")
        return
    st.session_state["template-next"] = template.id
    st.rerun()
