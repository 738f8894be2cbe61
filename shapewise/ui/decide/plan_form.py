"""The form of a plan: how many come, which arms share them, and what is measured."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, Final

import pandas as pd
import streamlit as st

from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.arrivals import weekdays_of
from gamcore.decide.experiment_plan import ROLES, ExperimentError
from shapewise.decisions.plans import LEVEL, called, level_of, level_typed, made_outcomes
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import COUNT, SHARE, WHOLE, WHOLE_PERCENT

ONCE, WHENEVER = "Once, at the end", "Whenever we like"
ADJUSTMENTS: Final = "Holm: over all arms and metrics. Dunnett: over the arms of each metric, which share one control."


def keep(key: str, form: dict[str, Any], changed: dict[str, Any], save: Callable[[dict[str, Any]], Any]) -> None:
    """Store what a form of a plan or a read-out says if the user changed it; a mere rerun writes nothing."""
    seen = st.session_state.setdefault(f"plan-seen-{key}", {name: form[name] for name in changed})
    if changed != seen:
        st.session_state[f"plan-seen-{key}"] = changed
        save({**form, **changed})


def edited(key: str, form: dict[str, Any], names: Names, rows: Table, of_board: bool) -> dict[str, Any]:
    """Show the fields of a plan, and return their values. names : of metrics that are columns. rows : of the table
    whose customers it is of. of_board : whether it is of strategies, which may have rates of their own; if not,
    Dunnett's adjustment may be chosen."""
    left, right = st.columns(2, gap="medium")
    with left:
        a_day = st.number_input(
            "Eligible customers per day", 1.0, value=float(form["a_day"]), step=100.0, key=f"a-day-{key}",
            format=WHOLE, help="All customers whom the test may reach, on average.",
        )  # fmt: skip
        arriving = _arriving(key, form, names, rows)
        power = st.slider(
            "Power", 50, 99, round(100 * form["power"]), format=WHOLE_PERCENT, key=f"power-{key}",
            help="The probability of detecting the lift if it exists, in each comparison.",
        )  # fmt: skip
        looks = looking(f"looks-{key}", form["looks"])
        adjustment = form["adjustment"]
        if not of_board and not looks:
            adjustment = st.segmented_control(
                "Adjust for many comparisons", ["Holm", "Dunnett"], default=adjustment, required=True,
                key=f"adjust-{key}", help=ADJUSTMENTS,
            )  # fmt: skip
    with right:
        arms = _arms(key, form)
    metrics = _metrics(key, form, names, of_board)
    return {
        "a_day": float(a_day), "power": power / 100, "adjustment": "Holm" if looks else adjustment, "looks": looks,
        "arms": arms, "metrics": metrics, **arriving,
    }  # fmt: skip


def _arriving(key: str, form: dict[str, Any], names: Names, rows: Table) -> dict[str, Any]:
    """Show the first day of a test and, where the table has dates, the column whose weekdays are those of the test."""
    began = date.fromisoformat(form["first"]) if form["first"] else None
    first = st.date_input(
        "First day", began, key=f"first-{key}", format="YYYY-MM-DD",
        help="Then the plan says on which day what can be seen.",
    )  # fmt: skip
    dates = [name for name in rows.names if rows.usable_kind(name) == "date"]
    column, weekdays = form["weekdays_of"], form["weekdays"]
    if first is not None and dates:
        chosen = st.selectbox(
            "Weekdays as in", dates, dates.index(column) if column in dates else None, key=f"weekdays-{key}",
            placeholder="All days alike", format_func=names.column,
            help="A column that says when each row came: on which weekdays how many come in a test is taken from it.",
        )  # fmt: skip
        try:
            weekdays = list(weekdays_of(rows, chosen)) if chosen else []
        except (ExperimentError, TableError) as error:
            chosen, weekdays = None, []
            st.error(md(error), icon=":material/error:")
        column = chosen or ""
    return {"first": first.isoformat() if first else "", "weekdays_of": column, "weekdays": weekdays}


def looking(key: str, was: bool) -> bool:
    """Show whether a test is read once, at its end, or whenever one likes; return whether the latter."""
    chosen = st.segmented_control(
        "Read it", [ONCE, WHENEVER], default=WHENEVER if was else ONCE, required=True, key=key,
        help="Once: the shortest test, but a look before its end proves nothing. Whenever you like: intervals are "
        "wider, hold at every look, and let you stop as soon as one excludes 0. They are adjusted by Holm.",
    )  # fmt: skip
    return chosen == WHENEVER


def _metric_columns(of_board: bool) -> dict[str, Any]:
    """Return the column configuration of the metrics editor."""
    own = " Empty: that of each strategy on the board." if of_board else ""
    return {
        "metric": st.column_config.TextColumn("Metric", required=True, help="Higher is better."),
        "role": st.column_config.SelectboxColumn(
            "Role", options=list(ROLES), required=True, default="primary",
            help="Primary: decides. Guardrail: must not fall. Expected null: not acted on, so it "
            "should not move; a check of the set-up.",
        ),
        "base": st.column_config.TextColumn(
            "Today", required=not of_board, default="" if of_board else "10%",
            validate=rf"^\s*$|{LEVEL}" if of_board else LEVEL,
            help=f"Its rate, as 22%, or its mean, as 34.5, without the action.{own}",
        ),
        "lift": st.column_config.NumberColumn(
            "Lift worth finding", required=True, default=0.1, format=SHARE, help="Relative: 10% of 20% is 2 points."
        ),
        "deviation": st.column_config.TextColumn(
            "Standard deviation", default="", validate=rf"^\s*$|{LEVEL}",
            help="Of single values, if the metric is a mean. Empty for a rate.",
        ),
    }  # fmt: skip


def _arm_columns() -> dict[str, Any]:
    """Return the column configuration of the arms editor."""
    return {
        "arm": st.column_config.TextColumn("Arm", required=True, help="The first one is the control."),
        "share": st.column_config.NumberColumn("Share", required=True, default=50, min_value=0, format=COUNT),
    }  # fmt: skip


def _arms(key: str, form: dict[str, Any]) -> list[dict[str, Any]]:
    """Show the editor of arms and their shares."""
    st.markdown("**Arms**")
    st.caption("The first is the control. Shares need not add up to 100.")
    columns = _arm_columns()
    shown = st.data_editor(
        pd.DataFrame(_began(f"arms-{key}", form["arms"]), columns=list(columns)), key=f"arms-{key}",
        num_rows="dynamic", hide_index=True, column_config=columns, alt="Arms of the experiment and their shares.",
    )  # fmt: skip
    return _plain(shown)


def _metrics(key: str, form: dict[str, Any], names: Names, of_board: bool) -> list[dict[str, Any]]:
    """Show the editor of metrics."""
    st.markdown("**Metrics**")
    st.caption("A rate is typed as 22%, a mean as 34.5, with its standard deviation.")
    rows = [{**row, **_typed(row)} for row in form["metrics"]]
    columns = _metric_columns(of_board)
    start = _began(f"metrics-{key}", rows)
    every = [*start, *form["metrics"]]
    texts = {row["metric"]: called(row, names) for row in every if row.get("metric")}
    began = pd.DataFrame(start, columns=list(columns))
    shown = st.data_editor(
        began.assign(metric=began["metric"].map(texts.__getitem__, na_action="ignore")), key=f"metrics-{key}",
        num_rows="dynamic", hide_index=True, column_config=columns,
        alt="Metrics of the experiment.",
    )  # fmt: skip
    exact = {(name, text): row.get(name) for row in form["metrics"] for name, text in _typed(row).items() if text}
    own, outcomes = {text: name for name, text in texts.items()}, made_outcomes({"metrics": every})

    def of(text: str | None) -> dict[str, Any]:
        """Return a metric's own name, and what it is made of, if it is no column."""
        name = own[text] if text in own else names.own(text) if text else text
        return {"metric": name} | ({"outcome": outcomes[name]} if name in outcomes else {})

    return [
        row
        | of(row["metric"])
        | {name: exact.get((name, row[name]), level_of(row[name])) for name in ("base", "deviation")}
        for row in _plain(shown)
    ]


def _typed(row: dict[str, Any]) -> dict[str, str]:
    """Return a metric's value of today and its standard deviation as one would type them."""
    deviation = row.get("deviation")
    return {"base": level_typed(row.get("base"), deviation), "deviation": level_typed(deviation, 0.0)}


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: None if value != value else value for name, value in row.items()} for row in frame.to_dict("records")
    ]


def _began(key: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that the editor started with: given others, it would lose its edits."""
    if key not in st.session_state or f"{key}-began" not in st.session_state:
        st.session_state[f"{key}-began"] = rows
    return list(st.session_state[f"{key}-began"])
