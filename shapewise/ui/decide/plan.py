"""The plan of an experiment on a page: what to measure, how long it takes, and what it could find."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from gamcore.decide.experiment_plan import ROLES, ExperimentError, ExperimentPlan
from gamcore.decide.strategies import Ledger, StrategySet
from gamcore.viz import files as export
from shapewise.decisions import boards as stored
from shapewise.decisions import plan_and_outcome as outcome
from shapewise.decisions.boards import Board
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import downloads

DAYS = (7, 14, 28, 56)
USUAL = {"metric": "conversion", "role": "primary", "base": 0.1, "lift": 0.1, "deviation": None}


def read(board: Board, made: StrategySet) -> dict[str, Any]:
    """Return what a board's plan was left at; at first, the metrics of its strategies."""
    if board.plan:
        return board.plan
    named = {one.metric: one for one in made.strategies}
    rows = [{**USUAL, "metric": name, "base": one.base, "lift": one.lift[1]} for name, one in named.items()]
    return {"a_day": 1000.0, "share": 0.5, "power": 0.8, "metrics": rows or [dict(USUAL)]}


def show(board: Board, made: StrategySet, ledger: Ledger) -> None:
    """Show the form and what it leads to."""
    form = read(board, made)
    with st.container(border=True):
        changed = _form(board, form)
    _keep(board, form, changed)
    with st.container(border=True):
        try:
            planned = outcome.planned(changed, made, ledger)
        except ExperimentError as error:
            st.error(md(error), icon=":material/error:")
            return
        _result(board, planned)
    _begin(board, made, {**form, **changed})


def _begin(board: Board, made: StrategySet, form: dict[str, Any]) -> None:
    """Keep the board as it is tested: the read-out has to deal customers as the test did."""
    tested = form.get("tested")
    with st.container(horizontal=True, vertical_alignment="center"):
        if tested is None:
            st.caption("Once the test begins, do not change the board: the read-out uses it as it is now.")
        elif tested == made.to_dict():
            st.caption(":material/check: The test uses the board as it is.")
        else:
            st.caption(
                ":material/warning: The board has changed since the test began: the read-out uses the earlier version."
            )
        if tested != made.to_dict() and st.button("The test begins with this board", icon=":material/flag:"):
            stored.change(state.workspace(), board.id, plan={**form, "tested": made.to_dict()})
            st.rerun()


def _keep(board: Board, form: dict[str, Any], changed: dict[str, Any]) -> None:
    """Store what somebody changed here; a page that is merely drawn again writes nothing."""
    key = f"plan-seen-{board.id}"
    seen = st.session_state.setdefault(key, {name: form[name] for name in changed})
    if changed != seen:
        st.session_state[key] = changed
        stored.change(state.workspace(), board.id, plan={**form, **changed})


def _columns() -> dict[str, Any]:
    """Return how the editor of metrics shows its columns."""
    return {
        "metric": st.column_config.TextColumn("Metric", required=True, help="More of it is better."),
        "role": st.column_config.SelectboxColumn(
            "Role", options=list(ROLES), required=True, default="primary",
            help="Primary: decides. Guardrail: must not fall. Expected null: nothing there is changed, so it "
            "should not move; a check of the set-up.",
        ),
        "base": st.column_config.NumberColumn(
            "Today", required=True, default=0.1, format="%.4g", help="Its rate without the action, or its mean."
        ),
        "lift": st.column_config.NumberColumn(
            "Lift worth finding", required=True, default=0.1, format="percent", help="Relative: 10% of 20% is 2 points."
        ),
        "deviation": st.column_config.NumberColumn(
            "Standard deviation", format="%.4g", help="Of single values, where it is a mean. Empty for a rate."
        ),
    }  # fmt: skip


def _form(board: Board, form: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan."""
    st.subheader("What to measure", anchor=False)
    first, left, right = st.columns(3)
    a_day = first.number_input(
        "Eligible customers per day", 1.0, value=float(form["a_day"]), step=100.0, key=f"a-day-{board.id}",
        format="%.0f", help="Who passes the gate, before strategies share them out.",
    )  # fmt: skip
    share = left.slider(
        "Treated", 5, 95, round(100 * form["share"]), 5, format="%d%%", key=f"share-{board.id}",
        help="The rest is the control: they get nothing new. Half and half needs the fewest customers.",
    )  # fmt: skip
    power = right.slider(
        "Power", 50, 99, round(100 * form["power"]), format="%d%%", key=f"power-{board.id}",
        help="The probability of detecting the lift if it exists.",
    )  # fmt: skip
    edited = st.data_editor(
        pd.DataFrame(_began(board, form), columns=list(USUAL)), key=f"metrics-{board.id}", num_rows="dynamic",
        hide_index=True, column_config=_columns(), alt="Metrics of the experiment.",
    )  # fmt: skip
    rows = [
        {name: None if value != value else value for name, value in row.items()} for row in edited.to_dict("records")
    ]
    return {"a_day": float(a_day), "share": share / 100, "power": power / 100, "metrics": rows}


def _began(board: Board, form: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that the editor began with: given others, it would lose its edits."""
    key = f"metrics-began-{board.id}"
    if f"metrics-{board.id}" not in st.session_state or key not in st.session_state:
        st.session_state[key] = form["metrics"]
    return list(st.session_state[key])


def _result(board: Board, planned: ExperimentPlan) -> None:
    """Show the days, customers, and the smallest lift by the length of the test."""
    st.subheader("How long it takes", anchor=False)
    row = st.container(horizontal=True)
    plain = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    never = [one.strategy for one in planned.rows if not one.feasible]
    if planned.days:
        row.metric("Weeks", count(planned.weeks), f"{count(planned.days)} days for the slowest primary metric", **plain)
    else:
        row.metric("Weeks", "never", "no strategy reaches anybody", **plain)
    row.metric(
        "Comparisons", count(planned.tests), f"alpha 5% / {planned.tests} at first (Holm)", **plain,
        help="Strategies × metrics without expected nulls. Holm keeps the chance of any false positive at 5%.",
    )  # fmt: skip
    frame = planned.frame()
    st.dataframe(
        frame, hide_index=True, height=_height(frame), alt="Customers and days that each strategy and metric needs.",
        column_config={"today": st.column_config.NumberColumn(format="%.4g"),
                       "lift": st.column_config.NumberColumn("lift worth finding", format="percent"),
                       **{name: st.column_config.NumberColumn(format="localized") for name in
                          ("customers per day", "treated", "control", "days")}},
    )  # fmt: skip
    if never:
        st.caption(
            f":material/warning: Nobody is left for {md(', '.join(dict.fromkeys(never)))}: higher ones take all, or no "
            "row matches."
        )
    smallest = planned.found_in(DAYS)
    st.markdown("**The smallest lift it finds, by days**")
    days = [str(day) for day in DAYS]
    st.dataframe(
        smallest.assign(**{day: 100 * smallest[day] for day in days}), hide_index=True, height=_height(frame),
        alt="Smallest relative lift that is found, by days.",
        column_config={day: st.column_config.NumberColumn(f"{day} days", format="%.1f%%") for day in days},
    )  # fmt: skip
    st.caption(
        f"{planned.power:.0%} power, two-sided, normal formula, {planned.share:.0%} treated. Read it once, after whole "
        "weeks: checking every day until something is significant finds too much."
    )
    with st.container(horizontal=True):
        downloads.button(
            "CSV", lambda: export.safe_csv(frame.merge(smallest, on=["strategy", "metric"])),
            export.file_name(board.name, "plan", "csv"), f"plan-csv-{board.id}", ":material/download:",
        )  # fmt: skip
        downloads.button(
            "One page", lambda: page(board, planned).encode(), name=export.file_name(board.name, "plan", "md"),
            key=f"plan-md-{board.id}", icon=":material/download:", tip="The plan as text, to agree on before the test.",
        )  # fmt: skip


def _height(frame: pd.DataFrame) -> int:
    """Return all rows of a table without scrolling, up to thirty."""
    return 38 + 35 * min(len(frame), 30)


def page(board: Board, planned: ExperimentPlan) -> str:
    """Return the plan on a page, as Markdown."""
    made = board.read()
    lines = [
        f"# Test plan: {md(board.name)}",
        "",
        f"Eligible: {md(made.gate.words())}. Treated: {planned.share:.0%}.",
        "",
    ]
    for k, one in enumerate(made.strategies, 1):
        lines.append(f"{k}. **{md(one.name)}**: {md(one.action) or 'no action yet'}; who: {md(one.rule.words())}")
    lines += ["", f"Length: {planned.weeks} weeks ({planned.days} days for the slowest primary metric).", ""]
    lines += ["| strategy | metric | role | today | lift worth finding | treated | control | days |", "|---" * 8 + "|"]
    for row in planned.rows:
        days = row.days if row.feasible else "-"
        lines.append(
            f"| {md(row.strategy)} | {md(row.metric.name)} | {row.metric.role} | {row.metric.base:g} | "
            f"{row.metric.lift:.0%} | {row.treated:,} | {row.control:,} | {days} |"
        )
    lines += [
        "", f"Power {planned.power:.0%}; two-sided; Holm over {planned.tests} comparisons at 5%. First the sample "
        "ratio (no verdict below p = .001); expected nulls check the set-up. Read once, at the end.", "",
    ]  # fmt: skip
    return "\n".join(lines)
