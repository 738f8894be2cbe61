"""The guided example: from a sample table to a measured lift, one step per click; as a tour, on the real pages."""

from __future__ import annotations

import streamlit as st

from gamcore.data.columns import TableError
from shapewise.decisions import boards as stored
from shapewise.decisions import guided_example as example
from shapewise.decisions.boards import Board
from shapewise.places import PAGES
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.ui.session import current, state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import boards

STEPS = (
    ("Load *renewal*: 30,000 customers whose product is about to mature", "Load renewal"),
    (
        "Train a model for each of three targets: who renews, who moves to funds, who wants less risk",
        "Train three models",
    ),
    (
        "Find three segments on their curves and rank them: A, then C, then B",
        "Make the board",
    ),
    ("Plan the A/B test: two strategies, two metrics each, one expected null", "Open the plan"),
    ("Read the simulated experiment and see what each message achieved", "Read the experiment"),
)

SEEN_ON = ("data", "shapes", "strategies")
"""The page on which the tour shows what each of the first steps has made."""

TOUR = "on_tour"


def table() -> TableAbout | None:
    """Return the example's table; None if it is not loaded."""
    return example.find(state.workspace(), example.FUNNEL)


def board_of(table_now: TableAbout | None) -> Board | None:
    """Return the example's board; None if there is none."""
    kept = stored.boards(state.workspace(), table_now.id) if table_now else []
    return next((board for board in kept if board.name == example.NAME), None)


def done() -> int:
    """Return how many of the steps are done."""
    table_now = table()
    if table_now is None:
        return 0
    models = [example.model(state.workspace(), table_now.id, part) for part in example.PARTS]
    if not all(about and about.bands for about in models):
        return 1
    board = board_of(table_now)
    if board is None:
        return 2
    return 3 + bool(board.plan) + bool(board.plan and board.outcome)


def offer() -> None:
    """Show the button that begins the tour, or goes on with it."""
    begun = 0 < done() < len(STEPS)
    words = "Go on with the tour" if begun else "Take the three-minute tour"
    if st.button(words, key="tour", icon=":material/explore:", help="On the real pages, with a sample of customers."):
        st.session_state[TOUR] = True
        _go(0)


def on_tour() -> None:
    """Show, on every page, where the tour is and its next step, for those who take it."""
    if not st.session_state.get(TOUR):
        return
    at, last = done(), len(STEPS)
    with st.container(key="tour-bar", border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**Tour, step {at + 1} of {last}.** {STEPS[at][0]}." if at < last else
            "**The tour is done.** Below is what each message achieved; the page Report makes slides of it.",
            width="stretch",
        )  # fmt: skip
        if at < last and st.button(STEPS[at][1], key="tour-next", icon=":material/arrow_forward:"):
            _go(at)
        with st.popover("Leave", type="tertiary"):
            st.caption("The project *renewal* can stay, to go on with, or go with all that the tour made.")
            if st.button("Keep the project", key="tour-keep"):
                del st.session_state[TOUR]
                st.rerun()
            if st.button("Remove it", key="tour-remove", icon=":material/delete:"):
                _remove()


def _remove() -> None:
    """End the tour, and delete what it made."""
    del st.session_state[TOUR]
    try:
        example.remove(state.workspace())
    except StoreError as error:
        st.error(md(error), icon=":material/error:")
        return
    current.leave()
    st.switch_page(PAGES / "home.py")


def show(expanded: bool) -> None:
    """Show the steps, and the button of the next one; on tour, they stand above the page. expanded : whether they are
    open where they are not done."""
    if st.session_state.get(TOUR):
        return
    expanded = expanded and done() < len(STEPS)
    box = st.expander(
        "Guided example: from three curves to three messages to a measured lift", expanded, icon=":material/explore:",
        key=f"guide-{expanded}", on_change="rerun",
    )  # fmt: skip
    if not box.open:  # look up the progress only when open
        return
    at = done()
    with box:
        for k, (words, _) in enumerate(STEPS):
            mark = "check_circle" if k < at else "arrow_forward" if k == at else "circle"
            st.markdown(f":material/{mark}: {words}")
        if at < len(STEPS):
            if st.button(STEPS[at][1], key="guide-next"):
                _go(at)
        elif st.button("Open the read-out", key="guide-open"):
            _open("read")


def _go(step: int) -> None:
    """Perform a step, and rerun the page."""
    space = state.workspace()
    try:
        if step == 0:
            with st.spinner("Reading the table"):
                current.open_table(example.load(space, example.FUNNEL).id)
            _seen(step)
        table_now = table()
        if table_now is None:
            raise StoreError("The example's table was deleted: load it again.")
        current.open_table(table_now.id)
        if step == 1:
            _train(table_now)
        elif step == 2:
            with st.spinner("Finding segments on the curves"):
                board = example.make_board(space, space.tables.about(table_now.id))
            boards.open_board(board.id)
        else:
            _prepare(step, board_of(table_now))
    except (StoreError, TableError, OSError) as error:
        st.error(md(error), icon=":material/error:")
        return
    _seen(step)


def _seen(step: int) -> None:
    """Draw the page anew after a step, on tour the one that shows what it made."""
    if not st.session_state.get(TOUR) or step >= len(SEEN_ON):
        st.rerun()
    table_now = table()
    first = example.model(state.workspace(), table_now.id, example.PARTS[0]) if table_now else None
    asked = {"model": first.id} if first else {"table": table_now.id} if table_now else None
    st.switch_page(PAGES / f"{SEEN_ON[step]}.py", query_params=asked)


def _train(table_now: TableAbout) -> None:
    """Train the three models one after the other, a second or two each."""
    space = state.workspace()
    columns = state.columns(table_now.id)
    with st.status("Training three models, with their bands", expanded=True) as status:
        while part := example.train_next(space, table_now, columns, state.n_jobs()):
            st.write(f":material/check: {part.scenario}")
        status.update(label="Trained", state="complete")


def _prepare(step: int, board: Board | None) -> None:
    """Fill in the plan, or the source of the read-out, and open that view."""
    if board is None:
        raise StoreError("The example's board was deleted: make it again.")
    if step == 3:
        stored.change(state.workspace(), board.id, plan=example.plan_of(board))
    else:
        with st.spinner("Reading the table of outcomes"):
            table = example.load(state.workspace(), example.OUTCOME)
        stored.change(state.workspace(), board.id, outcome=example.outcome_of(table))
    for key in [key for key in st.session_state if board.id in str(key)]:
        del st.session_state[key]  # so that the fields of the plan and the read-out show the stored values
    boards.open_board(board.id)
    _open("plan" if step == 3 else "read")


def _open(view: str) -> None:
    board = board_of(table())
    opened, _ = st.session_state.get("experiment-opened", (0, ""))
    st.session_state["experiment-opened"] = (opened + 1, view)
    st.switch_page("pages/experiment.py", query_params={"board": board.id} if board else None)
