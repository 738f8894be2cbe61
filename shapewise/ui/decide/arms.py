"""The form of a test of any number of arms that has run, and what it measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Final

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsReadOut, ArmsTest
from gamcore.decide.experiment_effects import Adjustment, Effect
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.shown import shown_arms, shown_between
from shapewise.columns.arms_found import control_among
from shapewise.decisions import arm_tests as stored
from shapewise.decisions.arm_tests import StoredTest
from shapewise.decisions.earlier import recent
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.ui.data import questions
from shapewise.ui.decide import arms_result, by_day, for_whom, made_outcomes, moved, plan_form, roles
from shapewise.ui.session import seen, state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import chart, meanwhile

SET_UP: Final = (
    "arm", "control", "metrics", "shares", "before", "adjustment", "customers", "cluster", "known_before", "outcomes",
    "pooled",
)  # fmt: skip
"""What the form of a test stores of it."""
REFUSED: Final = "arms-refused"


def show(table: TableAbout) -> None:
    """Show the form of a test on a table, and its read-out."""
    kept = next(iter(stored.tests(state.workspace(), {table.id})), None)
    begun = meanwhile.form(stored.KIND, asdict(kept) if kept else {}, SET_UP, seen.only_of(stored.KIND, table.id))
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
    scale = arms_result.show(table, shown_arms(readout, names), compared, place)
    if scale is not None:
        with below:
            with st.container(border=True):
                for_whom.show(table, test, scale)
            by_day.show(table, test, scale)
            with st.container(border=True):
                moved.show(table, test, sorted(set(readout.arms) - {test.control}))


@state.kept(show_spinner="Reading the test", max_entries=16)
def _read(table: str, test: str) -> ArmsReadOut:
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
        meanwhile.begin_anew(seen.only_of(stored.KIND, table.id), SET_UP)


def _form(table: TableAbout, rows: Table, kept: StoredTest | None, form: str) -> ArmsTest | None:
    """Show which column is the arm, which level the control, and what the outcomes are; None while one is missing.

    form : in the keys of its fields."""
    meant = state.roles(table.id)
    arms = stored.possible_arms(rows, [name for name, role in meant.by_column.items() if role == "arm"])
    if not arms:
        st.error("No column of this table has 2 to 12 values, so none can be the arm.", icon=":material/error:")
        return None
    marked = meant.column("arm")
    usual = kept.arm if kept and kept.arm in arms else marked if marked in arms else None
    names = state.names(table.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        arm = st.selectbox(
            "Arm", list(arms), list(arms).index(usual) if usual else None, key=f"arms-arm-{form}",
            placeholder="The column that says who got what", format_func=names.column,
        )  # fmt: skip
        if arm is not None:
            control = _control(table, arm, arms[arm], kept, form)
            customers, adjust = _looks(table, kept, form)
    if arm is None:
        if not questions.ask(table, "arm", f"arms-arm-{form}"):
            st.caption("Choose the arm column.")
        return None
    possible = stored.possible_outcomes(rows, arm)
    key = f"arms-outcomes-{form}-{arm}"
    outcomes_known = made_outcomes.known(key, kept.test().outcomes if kept else {})
    options = [*possible, *(name for name, outcome in outcomes_known.items() if set(outcome.columns) <= set(possible))]
    called = {
        name: outcomes_known[name].called(names) if name in outcomes_known else names.column(name) for name in options
    }
    before = [name for name in kept.metrics if name in options] if kept else stored.likely_outcomes(rows, meant, arm)
    st.session_state.setdefault(key, before)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        outcomes = st.multiselect("Outcomes", options, key=key, placeholder="What the test was to move",
                                  format_func=called.__getitem__)  # fmt: skip
        made_outcomes.make(key, possible, names)
    if control is None or not outcomes:
        st.caption("Choose the control." if control is None else "Choose at least one outcome.")
        return None
    with st.expander("Roles, values from before the test, and arms read together"):
        metrics, past, accepted = roles.edit(
            f"arms-roles-{form}", {name: called[name] for name in outcomes}, possible, names,
            roles=kept.metrics if kept else {}, before=kept.before if kept else {},
            accepted=kept.accepted if kept else {},
        )  # fmt: skip
        cluster, known = _assignment(table, [name for name in rows.names if name not in (arm, *outcomes)], kept, form)
        mine, named = kept if kept and kept.arm == arm else None, partial(names.level, arm)
        treated = sorted(set(arms[arm]) - {control})
        pooled = _pooled(f"{form}-{arm}-{control}", treated, mine.pooled if mine else [], named)
    shares = planned_shares(f"{form}-{arm}", arms[arm], mine.shares if mine else {}, named)
    return ArmsTest(arm, control, metrics, shares=shares, before=past or None, adjustment=adjust, customers=customers,
                    cluster=cluster, known_before=known,
                    outcomes={name: outcomes_known[name] for name in outcomes if name in outcomes_known}, pooled=pooled,
                    accepted=accepted)  # fmt: skip


def _control(table: TableAbout, arm: str, levels: list[str], kept: StoredTest | None, form: str) -> str | None:
    """Show which level of the arm is the control; return it, None where it is not chosen."""
    was = kept.control if kept and kept.arm == arm and kept.control in levels else None
    guess = was or control_among(levels)
    chosen: str | None = st.selectbox(
        "Control", levels, levels.index(guess) if guess else None, key=f"arms-control-{form}-{arm}",
        placeholder="Who got nothing new", format_func=partial(state.names(table.id).level, arm),
    )  # fmt: skip
    return chosen


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


def planned_shares(
    key: str, levels: list[str], was: Mapping[str, float], named: Callable[[str], str]
) -> dict[str, float] | None:
    """Show the planned shares of the arms; None where they are equal. was : those stored, if they are unequal."""
    with st.expander("Planned shares", expanded=bool(was)):
        if st.toggle("All arms were planned equally large", not was, key=f"arms-equal-{key}"):
            return None
        with st.container(horizontal=True):
            return {
                level: st.number_input(
                    md(named(level)), 0.1, 1000.0, float(was.get(level, 1.0)), key=f"arms-share-{key}-{level}"
                )
                for level in levels
            }
