"""What a board's experiment is read from, on a page: the rows of a table, or counts."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from gamcore.common.numbers import are
from gamcore.data.column_names import Names
from gamcore.data.columns import read_present_texts
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.experiment_readout import COUNTS
from gamcore.decide.strategies import StrategySet
from shapewise.decisions import guided_example as example
from shapewise.decisions import plans
from shapewise.decisions.boards import Board
from shapewise.decisions.plan_and_outcome import RULES, made_of, test_of
from shapewise.decisions.plans import shares_of
from shapewise.store.workspace import TableAbout
from shapewise.ui.decide import roles, set_up
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, told_apart
from shapewise.ui.widgets.columns import COUNT as COLUMN_COUNT
from shapewise.ui.widgets.columns import WHOLE_PERCENT


def names_of(board: Board, table: str) -> Names:
    """Return how the columns of a table of outcomes are shown: by its own names, then by those of the board's table."""
    names = state.names(board.table)
    return state.names(table).or_those_of(names) if table else names


def rows(board: Board, was: dict[str, Any], form: str) -> dict[str, Any] | None:
    """Show the choice of table, arm and metrics, and return it; None while incomplete.

    form : in the keys of its fields."""
    table = _table(was, form)
    if table is None:
        st.caption("Load a table of outcomes on the page Data first, one row per customer, both arms.")
        return None
    columns, names = state.table(table.id), names_of(board, table.id)
    own = was if was.get("table") == table.id else {}
    begun, key = _begun(board, own, columns), f"{form}-{table.id}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        asked = set_up.arms(table, columns, names, begun, key)
        if asked is not None:
            treated = _treated(asked, begun, names, key)
            texts = [name for name in columns.names if columns.kind(name) == "category" and name != asked.column]
            usual = texts.index(own["by"]) + 1 if own.get("by") in texts else 0
            would = st.selectbox(
                "Who would get which strategy", [RULES, *texts], usual, key=f"would-{key}", format_func=names.column,
                help="In both arms. A column must use the strategy names of the board.",
            )  # fmt: skip
    if asked is None:
        set_up.ask_arm(table, columns, key)
        return None
    arm, _, control = asked
    outcomes = set_up.outcomes(columns, names, arm, usual=list(begun.metrics), composed=begun.outcomes, key=key)
    if control is None or not treated or not outcomes.chosen:
        lacking = "the control" if control is None else "at least one treated arm" if not treated else None
        st.caption(f"Choose {lacking or 'at least one outcome'}.")
        return None
    metrics, before, _ = roles.edit(f"roles-{key}", outcomes.called, outcomes.columns, names, roles=begun.metrics,
                                    before=begun.before or {})  # fmt: skip
    levels = [control, *treated]
    shares = set_up.planned_shares(f"{key}-{arm}", levels, _shares(board, begun, levels), partial(names.level, arm))
    whose = " of the sample" if table.sampled else ""
    without = int(columns.frame[arm].isna().sum())
    if without:
        st.caption(f":material/warning: {counted(without, 'row')}{whose} without an arm {are(without)} left out.")
    composed = {name: asdict(outcome) for name, outcome in outcomes.composed.items()}
    return {"table": table.id, "arm": arm, "control": control, "treated": treated, "by": would, "shares": shares,
            "roles": metrics, "before": before, **({"outcomes": composed} if composed else {})}  # fmt: skip


def _begun(board: Board, own: dict[str, Any], rows: Table) -> ArmsTest:
    """Return the test as it was set up, or as far as the plan says how. own : the stored form; {} where there is
    none."""
    metrics = {row["metric"]: row["role"] for row in board.plan.get("metrics", [])}
    composed = made_of(plans.made_outcomes(board.plan))
    try:
        levels = read_present_texts(rows.frame[own["arm"]])[1]
        begun = test_of(own, levels)
    except (KeyError, ExperimentError):  # there is no such form, or its arms are not those of the table any more
        return ArmsTest("", "", own.get("roles") or metrics, outcomes=composed)
    return replace(begun, metrics=begun.metrics or metrics, outcomes=begun.outcomes or composed)


def _treated(arms: set_up.Arms, begun: ArmsTest, names: Names, key: str) -> list[str]:
    """Show which arms are held against the control, where there are several; return them."""
    others = [level for level in arms.levels if level != arms.control]
    if len(arms.levels) == 2:
        return others
    was = [level for level in begun.treated if level in others]
    return st.multiselect("Treated", others, was or others, key=f"treated-{key}-{arms.column}",
                          format_func=partial(names.level, arms.column),
                          help="Each is compared with the control.")  # fmt: skip


def _table(was: dict[str, Any], form: str) -> TableAbout | None:
    """Show the choice of a table of outcomes, and return it; None while there is none."""
    tables = {table.id: table for table in state.workspace().tables.listed()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"outcome-table-{form}"
        if was.get("table") in tables:
            st.session_state.setdefault(key, was["table"])  # a mere default would not be shown after the first time
        table = st.selectbox(
            "Table of outcomes", list(tables), None, key=key,
            format_func=told_apart({i: f"{t.name} ({counted(t.rows, 'row')})" for i, t in tables.items()}).__getitem__,
            placeholder="One row per customer: arm, metrics, columns of the rules",
        )  # fmt: skip
        if not any(known.name == "renewal_experiment" for known in tables.values()) and st.button(
            "Load the sample", icon=":material/science:", help="A simulated experiment on the sample table renewal."
        ):
            example.load(state.workspace(), example.OUTCOME)
            st.rerun()
    return None if table is None else tables[table]


def _shares(board: Board, begun: ArmsTest, arms: list[str]) -> dict[str, float]:
    """Return the shares that were chosen, or else those of the plan where its arms are these; {} for equal ones."""
    try:
        shares = dict(begun.shares or shares_of(board.plan))
    except ExperimentError:
        return {}
    if begun.shares is None and len(shares) == len(arms) == 2:
        shares = dict(zip(arms, shares.values(), strict=True))
    return shares if set(shares) == set(arms) and len(set(shares.values())) > 1 else {}


def counts(board: Board, strategy_set: StrategySet, form: str) -> dict[str, Any] | None:
    """Show the editor of counts, and return them; None while no row is complete. form : in the keys of its fields."""
    key, was, names = f"counts-{form}", board.outcome.get("counts", {}), names_of(board, "")
    planned = {row["metric"]: row["role"] for row in board.plan.get("metrics", [])}
    if key not in st.session_state or f"{key}-began" not in st.session_state:  # a hidden editor starts afresh
        usual = [
            {"strategy": strategy.name, "metric": strategy.metric, **dict.fromkeys(COUNTS[2:])}
            for strategy in strategy_set.strategies
        ]
        st.session_state[f"{key}-began"] = was.get("counts") or usual
    began = pd.DataFrame(st.session_state[f"{key}-began"], columns=list(COUNTS))
    whole = st.column_config.NumberColumn(min_value=0, step=1, format=COLUMN_COUNT)
    edited = st.data_editor(
        began.assign(metric=began["metric"].map(names.column, na_action="ignore")), key=key, num_rows="dynamic",
        hide_index=True, column_config=dict.fromkeys(COUNTS[2:], whole), alt="Customers and successes of each arm.",
    )  # fmt: skip
    edited["metric"] = edited["metric"].map(names.own, na_action="ignore")
    lines = [{k: None if v != v else v for k, v in row.items()} for row in edited.to_dict("records")]
    usual_share = round(100 * was.get("share", board.plan.get("share", 0.5)))
    share = st.slider("Planned share treated", 5, 95, usual_share, 5, format=WHOLE_PERCENT, key=f"{key}-share")
    st.caption("Among those who would get the strategy, in both arms. Incomplete rows are ignored.")
    asked = {"counts": lines, "share": share / 100, "roles": planned}
    return asked if any(all(value is not None for value in row.values()) for row in lines) else None
