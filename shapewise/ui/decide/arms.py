"""The form of a test of any number of arms that has run, and what it measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Final

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest, ReadOut
from gamcore.decide.experiment_effects import Adjustment, Effect
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.shown import shown_between, shown_read_out
from shapewise.decisions import arm_tests as stored
from shapewise.decisions.arm_tests import StoredTest
from shapewise.decisions.earlier import recent
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.ui.decide import arms_result, by_day, for_whom, moved, plan_form, roles, set_up
from shapewise.ui.session import seen, state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import chart, meanwhile

REFUSED: Final = "arms-refused"


def show(table: TableAbout) -> None:
    """Show the form of a test on a table, and its read-out."""
    kept = next(iter(stored.tests(state.workspace(), {table.id})), None)
    only = seen.only_of(stored.KIND, table.id)
    begun = meanwhile.form(stored.KIND, asdict(kept) if kept else {}, stored.SET_UP, only)
    place = chart.first()
    known = kept is not None or state.roles(table.id).column("arm") is not None
    asked = not st.session_state.setdefault(f"arms-set-up-{table.id}", known)  # what is to be asked stays in sight
    rows, meant = state.table(table.id), state.roles(table.id)
    arm = meant.column("arm")
    lacks = kept is None and arm is not None and not stored.likely_outcomes(rows, meant, arm)
    below = st.container()  # the set-up is at the end of the page
    set_up = st.expander("Set-up of the test", expanded=asked or lacks, icon=":material/tune:")
    with set_up:
        test = _form(table, rows, kept, f"{table.id}{begun}")
    if test is None:
        if not (asked or lacks):
            place.drawing.info("The control or an outcome is to be chosen under *Set-up of the test*.")
        return
    try:
        readout = _read(table.id, stored.to_text(test))
    except (ExperimentError, TableError) as error:
        st.error(md(error), icon=":material/error:")
        return
    kept = _keep(table, test, kept)
    if kept is not None and state.mine(stored.KIND, kept.id):
        with set_up:
            _offer_undo(table, kept)
    names = state.names(table.id)
    several = len(readout.arms) > 2 and not readout.stopped
    compared = shown_between(_between(table.id, stored.to_text(test)), names, test) if several else []
    scale = arms_result.show(table, shown_read_out(readout, names), compared, place)
    if scale is not None:
        with below:
            with st.container(border=True):
                for_whom.show(table, test, scale)
            by_day.show(table, test, scale)
            with st.container(border=True):
                moved.show(table, test, sorted(set(readout.arms) - {test.control}))


@state.kept(show_spinner="Reading the test", max_entries=16)
def _read(table: str, test: str) -> ReadOut:
    asked = stored.from_text(test)
    return stored.read_test(asked, lambda columns: state.rows_of(table, columns), state.n_jobs())


@state.kept(show_spinner="Comparing the arms", max_entries=16)
def _between(table: str, test: str) -> list[tuple[str, Effect]]:
    asked = stored.from_text(test)
    return stored.compare_arms(asked, lambda columns: state.rows_of(table, columns), state.n_jobs())


def _keep(table: TableAbout, test: ArmsTest, kept: StoredTest | None) -> StoredTest | None:
    """Store the set-up where it has changed, so that it is there tomorrow; return what is stored."""
    if kept is not None and kept.test() == test:
        return kept
    if state.workspace().may("create") and (kept is None or state.mine(stored.KIND, kept.id)):
        return stored.keep(state.workspace(), table.id, f"Test on {table.name}", test, kept.id if kept else "")
    return kept


def _offer_undo(table: TableAbout, kept: StoredTest) -> None:
    """Show the button that undoes the last change of the form, if there was one."""
    if refused := st.session_state.pop(REFUSED, None):
        st.error(md(refused), icon=":material/error:")
    if entries := recent(kept.earlier):
        st.button("Undo last change", key=f"arms-undo-{kept.id}", icon=":material/undo:", on_click=_undo,
                  args=(table, kept, entries[-1]["changed"]), help="Of this form, for seven days")  # fmt: skip


def _undo(table: TableAbout, kept: StoredTest, changed: str) -> None:
    try:
        stored.undo(state.workspace(), kept.id, changed)
    except StoreError as error:
        st.session_state[REFUSED] = str(error)
    else:
        meanwhile.begin_anew(seen.only_of(stored.KIND, table.id), stored.SET_UP)


def _form(table: TableAbout, rows: Table, kept: StoredTest | None, form: str) -> ArmsTest | None:
    """Show which column is the arm, which level the control, and what the outcomes are; None while one is missing.

    form : in the keys of its fields."""
    names, was = state.names(table.id), kept.test() if kept else None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        asked = set_up.arms(table, rows, names, was, form)
        if asked is not None:
            customers, adjust = _looks(table, kept, form)
    if asked is None:
        set_up.ask_arm(table, rows, form)
        return None
    arm, levels, control = asked
    usual = list(was.metrics) if was else stored.likely_outcomes(rows, state.roles(table.id), arm)
    outcomes = set_up.outcomes(rows, names, arm, usual=usual, composed=was.outcomes if was else {}, key=form)
    if control is None or not outcomes.chosen:
        st.caption("Choose the control." if control is None else "Choose at least one outcome.")
        return None
    with st.expander("Roles, values from before the test, and arms read together"):
        metrics, past, accepted = roles.edit(
            f"arms-roles-{form}", outcomes.called, outcomes.columns, names,
            roles=kept.metrics if kept else {}, before=kept.before if kept else {},
            accepted=kept.accepted if kept else {},
        )  # fmt: skip
        others = [name for name in rows.names if name not in (arm, *outcomes.chosen)]
        cluster, known = _assignment(table, others, kept, form)
        mine, named = kept if kept and kept.arm == arm else None, partial(names.level, arm)
        treated = sorted(set(levels) - {control})
        pooled = _pooled(f"{form}-{arm}-{control}", treated, mine.pooled if mine else [], named)
    shares = set_up.planned_shares(f"{form}-{arm}", levels, mine.shares if mine else {}, named)
    return ArmsTest(arm, control, metrics, shares=shares, before=past or None, adjustment=adjust, customers=customers,
                    cluster=cluster, known_before=known, outcomes=outcomes.composed, pooled=pooled,
                    accepted=accepted)  # fmt: skip


def _looks(table: TableAbout, kept: StoredTest | None, form: str) -> tuple[int, Adjustment]:
    """Show when the test is read and how p is adjusted; return the customers planned, 0 where it is read once, and the
    adjustment."""
    if plan_form.looking(f"arms-looks-{form}", bool(kept and kept.customers)):
        customers = st.number_input(
            "Customers planned", 1, value=(kept.customers if kept else 0) or table.rows, key=f"arms-planned-{form}",
            help="Of all arms, at the planned end. Choose it before the first look: intervals are narrowest there.",
        )  # fmt: skip
        return customers, "Holm"
    adjustments: list[Adjustment] = ["Holm", "Dunnett"]
    adjust = st.segmented_control(
        "Adjust for many comparisons", adjustments, default=kept.adjustment if kept else "Holm", required=True,
        key=f"arms-adjust-{form}",
        help="Holm: over all arms and outcomes. Dunnett: over the arms of each outcome, which share one control; its "
        "intervals hold for all arms at once. Holm is used where clusters were assigned, or columns were known before "
        "the test.",
    )  # fmt: skip
    return 0, adjust


def _assignment(
    table: TableAbout, columns: list[str], kept: StoredTest | None, form: str
) -> tuple[str | None, tuple[str, ...]]:
    """Show what was assigned as a whole, and what was known before; return both. columns : not the arm or outcomes."""
    names = state.names(table.id)
    with st.container(horizontal=True):
        cluster = st.selectbox(
            "Assigned as a whole", columns, columns.index(kept.cluster) if kept and kept.cluster in columns else None,
            key=f"arms-cluster-{form}", placeholder="Customers, one by one", format_func=names.column,
            help="Whose rows went into one arm together, such as a store, a day or a household. They are alike, so "
            "intervals go by them.",
        )  # fmt: skip
        known = st.multiselect(
            "Known before the test", columns, [name for name in kept.known_before if name in columns] if kept else [],
            key=f"arms-known-{form}", placeholder="None", format_func=names.column,
            help="A model of these columns expects each outcome, and what it explains narrows the intervals. Leave out "
            "whatever the test may have changed.",
        )  # fmt: skip
    return cluster, tuple(known)


def _pooled(key: str, treated: list[str], was: Sequence[str], named: Callable[[str], str]) -> tuple[str, ...]:
    """Show which treated arms are read together as one more; return them, none where that is a single one."""
    if len(treated) < 2:
        return ()
    chosen = st.multiselect(
        "Arms read together", treated, list(was) if set(was) <= set(treated) else [], key=f"arms-pooled-{key}",
        placeholder="None", format_func=named,
        help="Their customers as one more arm against the control: whether to do any of it at all. It counts as one "
        "more comparison of each outcome; larger arms count for more.",
    )  # fmt: skip
    if len(chosen) == 1:
        st.caption("Choose at least one more arm.")
    return tuple(name for name in treated if name in chosen) if len(chosen) > 1 else ()
