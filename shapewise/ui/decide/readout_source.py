"""What a board's experiment is read from, on a page: the rows of a table, or counts."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from gamcore.data.column_names import Names
from gamcore.data.table import Table
from gamcore.decide.experiment_plan import ExperimentError, MetricRole
from gamcore.decide.experiment_readout import COUNTS
from gamcore.decide.strategies import StrategySet
from shapewise.columns.arms_found import control_among
from shapewise.decisions import guided_example as example
from shapewise.decisions import plans
from shapewise.decisions.arm_tests import possible_arms
from shapewise.decisions.boards import Board
from shapewise.decisions.plan_and_outcome import RULES, made_of
from shapewise.decisions.plans import shares_of
from shapewise.doctor.name_words import CONTROLS
from shapewise.store.workspace import TableAbout
from shapewise.ui.decide import made_outcomes, roles
from shapewise.ui.decide.arms import planned_shares
from shapewise.ui.session import state
from shapewise.ui.session.words import count, told_apart
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
    columns, own = state.table(table.id), was if was.get("table") == table.id else {}
    if not possible_arms(columns):
        st.error("No column of this table has 2 to 12 values, so none can be the arm.", icon=":material/error:")
        return None
    assigned = _assigned(board, table.id, columns, own, form)
    chosen, before, outcomes = _metrics(board, table.id, columns, own, arm=assigned["arm"], form=form)
    arm, control, treated = (assigned[name] for name in ("arm", "control", "treated"))
    if control is None or not treated or not chosen:
        lacking = "the control" if control is None else "at least one treated arm" if not treated else None
        st.caption(f"Choose {lacking or 'at least one metric'}.")
        return None
    levels, called = [control, *treated], partial(names_of(board, table.id).level, arm)
    shares = planned_shares(f"{form}-{table.id}-{arm}", levels, _shares(board, own, levels), called)
    whose = " of the sample" if table.sampled else ""
    without = int(columns.frame[arm].isna().sum())
    if without:
        st.caption(f":material/warning: {count(without)} rows{whose} without an arm are left out.")
    return {"table": table.id, **assigned, "shares": shares, "roles": chosen, "before": before,
            **({"outcomes": outcomes} if outcomes else {})}  # fmt: skip


def _table(was: dict[str, Any], form: str) -> TableAbout | None:
    """Show the choice of a table of outcomes, and return it; None while there is none."""
    tables = {table.id: table for table in state.workspace().tables.listed()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"outcome-table-{form}"
        if was.get("table") in tables:
            st.session_state.setdefault(key, was["table"])  # a mere default would not be shown after the first time
        table = st.selectbox(
            "Table of outcomes", list(tables), None, key=key,
            format_func=told_apart({i: f"{t.name} ({count(t.rows)} rows)" for i, t in tables.items()}).__getitem__,
            placeholder="One row per customer: arm, metrics, columns of the rules",
        )  # fmt: skip
        if not any(known.name == "renewal_experiment" for known in tables.values()) and st.button(
            "Load the sample", icon=":material/science:", help="A simulated experiment on the sample table renewal."
        ):
            example.load(state.workspace(), example.OUTCOME)
            st.rerun()
    return None if table is None else tables[table]


def _assigned(board: Board, table: str, columns: Table, own: dict[str, Any], form: str) -> dict[str, Any]:
    """Show who got what, and who would get which strategy; return the arm, its control, None while there is none, the
    treated levels, and "by" what strategies are told."""
    arms, names = possible_arms(columns), names_of(board, table)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        usual = own["arm"] if own.get("arm") in arms else state.roles(table).column("arm") or next(iter(arms))
        arm = st.selectbox("Arm", list(arms), list(arms).index(usual), key=f"arm-{form}-{table}",
                           format_func=names.column)  # fmt: skip
        levels, called = arms[arm], partial(names.level, arm)
        guess = _control(levels, own if own.get("arm") == arm else {})
        control = st.selectbox(
            "Control", levels, levels.index(guess) if guess else None, key=f"control-{form}-{table}-{arm}",
            placeholder="Who got nothing new", format_func=called,
        )  # fmt: skip
        others = [level for level in levels if level != control]
        treated = others
        if len(levels) > 2:
            was_treated = [level for level in own.get("treated", []) if level in others]
            treated = st.multiselect("Treated", others, was_treated or others, key=f"treated-{form}-{table}-{arm}",
                                     format_func=called, help="Each is compared with the control.")  # fmt: skip
        texts = [RULES, *(name for name in columns.names if columns.kind(name) == "category" and name != arm)]
        would = st.selectbox(
            "Who would get which strategy", texts, texts.index(own["by"]) if own.get("by") in texts else 0,
            key=f"would-{form}-{table}", format_func=names.column,
            help="In both arms. A column must use the strategy names of the board.",
        )  # fmt: skip
    return {"arm": arm, "control": control, "treated": treated, "by": would}


def _control(levels: list[str], own: dict[str, Any]) -> str | None:
    """Return the control as it was chosen, or as its name, or that of the only other arm, shows."""
    treated = own.get("treated")
    if own.get("control") in levels:
        return str(own["control"])
    if len(levels) != 2:
        return control_among(levels)
    place = levels.index(treated) if treated in levels else _treated(levels)
    return None if place is None else levels[1 - place]


def _shares(board: Board, own: dict[str, Any], arms: list[str]) -> dict[str, float]:
    """Return the shares that were chosen, or else those of the plan where its arms are these; {} for equal ones."""
    if own.get("shares"):
        return dict(own["shares"])
    if "shares" in own:
        return {}
    treated = own.get("share", board.plan.get("share", 0.5))
    usual = {arms[0]: 1 - treated, arms[1]: treated} if len(arms) == 2 else {}
    try:
        planned = shares_of(board.plan) if "arms" in board.plan else usual
    except ExperimentError:
        planned = usual
    if len(planned) == len(arms) == 2:
        planned = dict(zip(arms, planned.values(), strict=True))
    return planned if set(planned) == set(arms) and len(set(planned.values())) > 1 else {}


TREATED = {
    "treat", "treated", "treatment", "test", "variant", "new", "on", "yes", "exposed", "campaign", "b", "1", "true",
}  # fmt: skip


def _treated(levels: list[str]) -> int | None:
    """Return which of two arms is the treated one, by name; None if the names do not show it."""
    words = [set(re.findall(r"[a-z]+|[0-9]+", level.lower())) for level in levels]
    controls, treated = ([bool(words_of_level & names) for words_of_level in words] for names in (CONTROLS, TREATED))
    sure = [k for k in (0, 1) if treated[k] and not treated[1 - k]]
    sure = sure or [k for k in (0, 1) if controls[1 - k] and not controls[k]]
    return sure[0] if len(sure) == 1 and not controls[sure[0]] else None


def _metrics(
    board: Board, table: str, rows: Table, own: dict[str, Any], *, arm: str, form: str
) -> tuple[dict[str, MetricRole], dict[str, str], dict[str, dict[str, Any]]]:
    """Show the choice of metrics, and return their roles, their columns from before the test, and what those are made
    of that are no columns."""
    usable = [name for name in rows.names if rows.kind(name) in ("number", "boolean") and name != arm]
    known = own.get("roles") or {row["metric"]: row["role"] for row in board.plan.get("metrics", [])}
    names, key = names_of(board, table), f"metrics-{form}-{table}"
    kept = made_of(own.get("outcomes", {}) or plans.made_outcomes(board.plan))
    outcomes = {
        name: outcome for name, outcome in made_outcomes.known(key, kept).items() if set(outcome.columns) <= set(usable)
    }
    options = {
        name: outcomes[name].called(names) if name in outcomes else names.column(name) for name in [*usable, *outcomes]
    }
    st.session_state.setdefault(key, [name for name in known if name in options])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect("Metrics", list(options), key=key, format_func=options.__getitem__)
        made_outcomes.make(key, usable, names)
    if not chosen:
        return {}, {}, {}
    called = {name: options[name] for name in chosen}
    metrics, before, _ = roles.edit(
        f"roles-{form}-{table}", called, usable, names, roles=known, before=own.get("before", {})
    )
    return metrics, before, {name: asdict(outcomes[name]) for name in chosen if name in outcomes}


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
