"""What every test is asked on a page, of a board or not: its arm and control, its outcomes, its planned shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from gamcore.data.column_names import Names
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest
from gamcore.decide.outcomes import Outcome
from shapewise.columns.arms_found import control_among
from shapewise.decisions.arm_tests import possible_arms, possible_outcomes
from shapewise.store.workspace import TableAbout
from shapewise.ui.decide import made_outcomes
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import questions
from shapewise.ui.widgets.columns import EXACT


class Arms(NamedTuple):
    """The column that says who got what, its levels, and the one that got nothing new; None while not chosen."""

    column: str
    levels: list[str]
    control: str | None


class Outcomes(NamedTuple):
    """The outcomes that were chosen, and what those are made of that are no columns; what each is called, and the
    columns that may be outcomes."""

    chosen: list[str]
    composed: dict[str, Outcome]
    called: dict[str, str]
    columns: list[str]


def arms(table: TableAbout, rows: Table, names: Names, was: ArmsTest | None, key: str) -> Arms | None:
    """Show which column is the arm, and which of its levels the control; None while there is no arm.

    was : the test as it was set up. key : of the form, in the keys of its fields."""
    meant = state.roles(table.id)
    possible = possible_arms(rows, [name for name, role in meant.by_column.items() if role == "arm"])
    if not possible:
        return None
    marked = meant.column("arm")
    usual = was.arm if was and was.arm in possible else marked if marked in possible else None
    arm = st.selectbox(
        "Arm", list(possible), list(possible).index(usual) if usual else None, key=f"arms-arm-{key}",
        placeholder="The column that says who got what", format_func=names.column,
    )  # fmt: skip
    if arm is None:
        return None
    levels = possible[arm]
    known = was.control if was and was.arm == arm and was.control in levels else None
    guess = known or control_among(levels)
    control = st.selectbox(
        "Control", levels, levels.index(guess) if guess else None, key=f"arms-control-{key}-{arm}",
        placeholder="Who got nothing new", format_func=partial(names.level, arm),
    )  # fmt: skip
    return Arms(arm, levels, control)


def ask_arm(table: TableAbout, rows: Table, key: str) -> None:
    """Ask for the arm that is not chosen yet, with the likeliest answers; say so where no column can be it."""
    if not possible_arms(rows):
        st.error("No column of this table has 2 to 12 values, so none can be the arm.", icon=":material/error:")
    elif not questions.ask(table, "arm", f"arms-arm-{key}"):
        st.caption("Choose the arm column.")


def outcomes(
    rows: Table, names: Names, arm: str, *, usual: Sequence[str], composed: Mapping[str, Outcome], key: str
) -> Outcomes:
    """Show what the test was to move, and return it. usual : chosen before, or likely; composed : of these, the
    outcomes that are made of several columns, or capped."""
    columns, field = possible_outcomes(rows, arm), f"arms-outcomes-{key}-{arm}"
    known = {name: outcome for name, outcome in made_outcomes.known(field, composed).items()
             if set(outcome.columns) <= set(columns)}  # fmt: skip
    called = {name: known[name].called(names) if name in known else names.column(name) for name in [*columns, *known]}
    st.session_state.setdefault(field, [name for name in usual if name in called])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect("Outcomes", list(called), key=field, placeholder="What the test was to move",
                                format_func=called.__getitem__)  # fmt: skip
        made_outcomes.make(field, columns, names)
    return Outcomes(chosen, {name: known[name] for name in chosen if name in known},
                    {name: called[name] for name in chosen}, columns)  # fmt: skip


def planned_shares(
    key: str, levels: Sequence[str], was: Mapping[str, float], named: Callable[[str], str]
) -> dict[str, float] | None:
    """Show the planned shares of the arms; None where they are equal. was : those stored, if they are unequal."""
    with st.expander("Planned shares", expanded=bool(was)):
        if st.toggle("All arms were planned equally large", not was, key=f"arms-equal-{key}"):
            return None
        with st.container(horizontal=True):
            return {
                level: st.number_input(
                    md(named(level)), 0.0, value=float(was.get(level, 1.0)), format=EXACT,
                    key=f"arms-share-{key}-{level}", help="Of any scale: parts of 1, percent or customers.",
                )
                for level in levels
            }  # fmt: skip
