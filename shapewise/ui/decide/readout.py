"""The read-out of an experiment on a page: its source, the verdict, the arms and the lifts."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.data.table import Table, TableError
from gamcore.decide import verdicts
from gamcore.decide.experiment_effects import Effect, ReadOut
from gamcore.decide.experiment_plan import ROLES, ExperimentError
from gamcore.decide.experiment_readout import COUNTS
from gamcore.decide.strategies import StrategySet
from gamcore.numbers import p_value, percent
from gamcore.viz import plots
from shapewise.decisions import boards as stored
from shapewise.decisions import guided_example as example
from shapewise.decisions.arm_tests import CONTROL_WORDS, likely_arm, likely_control, possible_arms
from shapewise.decisions.boards import Board
from shapewise.decisions.plan_and_outcome import RULES, read_out
from shapewise.decisions.plans import shares_of
from shapewise.store.workspace import StoreError
from shapewise.ui.decide.arms import planned_shares
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, told_apart
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.columns import COUNT as COLUMN_COUNT
from shapewise.ui.widgets.columns import WHOLE_PERCENT

WAYS = {"rows": "Rows of a table", "counts": "Counts"}
ICONS = {
    "good": ":material/check_circle:", "bad": ":material/warning:", "open": ":material/help:",
    "stop": ":material/front_hand:",
}  # fmt: skip
NOTHING = "-"


def show(board: Board, made: StrategySet) -> None:
    """Show the choice of source, and the read-out."""
    tested = board.plan.get("tested")
    if tested is not None and tested != made.to_dict():
        made = StrategySet.from_dict(tested)
        names = ", then ".join(
            f"{md(one.name)} ({md(one.rule.words(state.names(board.table)))})" for one in made.strategies
        )
        st.caption(f":material/history: Uses the board as it was when the test began: {names}.")
    if not made.strategies:
        st.caption("The board has no strategy yet: add one on the page Strategies.")
        return
    way = st.segmented_control(
        "Read it from", list(WAYS), default=board.outcome.get("way", "rows"), required=True,
        format_func=WAYS.__getitem__, key=f"way-{board.id}",
    )  # fmt: skip
    with st.container(border=True):
        asked = _rows(board, board.outcome.get("rows", {})) if way == "rows" else _counts(board, made)
    if asked is None:
        return
    _keep(board, way, asked)
    try:
        planned = json.dumps(board.plan.get("metrics", []))
        outcome = _read(json.dumps(made.to_dict()), json.dumps(asked), planned, way)
    except (ExperimentError, TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    result(board, made, outcome)


def _keep(board: Board, way: str, asked: dict[str, Any]) -> None:
    """Store the choices if the user changed them; a mere rerun writes nothing."""
    key = f"outcome-seen-{board.id}-{way}"
    stored_now = {"way": way, way: asked}
    was = {"way": board.outcome.get("way", way), way: board.outcome.get(way)}
    if st.session_state.setdefault(key, was) != stored_now:
        st.session_state[key] = stored_now
        stored.change(state.workspace(), board.id, outcome=stored_now)


def _rows(board: Board, was: dict[str, Any]) -> dict[str, Any] | None:
    """Show the choice of table, arm and metrics, and return it; None while incomplete."""
    tables = {table.id: table for table in state.workspace().tables.listed()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"outcome-table-{board.id}"
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
    if table is None:
        st.caption("Load a table of outcomes on the page Data first, one row per customer, both arms.")
        return None
    rows, own = state.table(table), was if was.get("table") == table else {}
    arms = possible_arms(rows)
    if not arms:
        st.error("No column of this table has 2 to 12 values, so none can be the arm.", icon=":material/error:")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        usual = own["arm"] if own.get("arm") in arms else likely_arm(rows) or next(iter(arms))
        arm = st.selectbox("Arm", list(arms), list(arms).index(usual), key=f"arm-{board.id}-{table}")
        levels = arms[arm]
        guess = _control(levels, own if own.get("arm") == arm else {})
        control = st.selectbox(
            "Control", levels, levels.index(guess) if guess else None, key=f"control-{board.id}-{table}-{arm}",
            placeholder="Who got nothing new",
        )  # fmt: skip
        others = [level for level in levels if level != control]
        treated = others
        if len(levels) > 2:
            was_treated = [level for level in own.get("treated", []) if level in others]
            treated = st.multiselect("Treated", others, was_treated or others, key=f"treated-{board.id}-{table}-{arm}",
                                     help="Each is compared with the control.")  # fmt: skip
        texts = [RULES, *(name for name in rows.names if rows.kind(name) == "category" and name != arm)]
        would = st.selectbox(
            "Who would get which strategy", texts, texts.index(own["by"]) if own.get("by") in texts else 0,
            key=f"would-{board.id}-{table}", help="In both arms. A column must use the strategy names of the board.",
        )  # fmt: skip
    roles, before = _metrics(board, table, rows, own, arm)
    if control is None or not treated or not roles:
        lacking = "the control" if control is None else "at least one treated arm" if not treated else None
        st.caption(f"Choose {lacking or 'at least one metric'}.")
        return None
    shares = planned_shares(f"{board.id}-{table}-{arm}", [control, *treated], _shares(board, own, [control, *treated]))
    of = " of the sample" if tables[table].sampled else ""
    without = int(rows.frame[arm].isna().sum())
    if without:
        st.caption(f":material/warning: {count(without)} rows{of} without an arm are left out.")
    return {"table": table, "arm": arm, "control": control, "treated": treated, "shares": shares, "roles": roles,
            "before": before, "by": would}  # fmt: skip


def _control(levels: list[str], own: dict[str, Any]) -> str | None:
    """Return the control as it was chosen, or as its name, or that of the only other arm, shows."""
    treated = own.get("treated")
    if own.get("control") in levels:
        return str(own["control"])
    if len(levels) != 2:
        return likely_control(levels)
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
    controls, treated = (
        [bool(words_of_level & names) for words_of_level in words] for names in (CONTROL_WORDS, TREATED)
    )
    sure = [k for k in (0, 1) if treated[k] and not treated[1 - k]]
    sure = sure or [k for k in (0, 1) if controls[1 - k] and not controls[k]]
    return sure[0] if len(sure) == 1 and not controls[sure[0]] else None


def _metrics(
    board: Board, table: str, rows: Table, own: dict[str, Any], arm: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Show the choice of metrics, and return their roles and their columns from before the test."""
    usable = [name for name in rows.names if rows.kind(name) in ("number", "boolean") and name != arm]
    known = own.get("roles") or {row["metric"]: row["role"] for row in board.plan.get("metrics", [])}
    chosen = st.multiselect("Metrics", usable, [n for n in known if n in usable], key=f"metrics-{board.id}-{table}")
    before = own.get("before", {})
    start = pd.DataFrame(
        {"metric": chosen, "role": [known.get(name, "primary") for name in chosen],
         "before": [before.get(name, NOTHING) for name in chosen]}
    )  # fmt: skip
    if not chosen:
        return {}, {}
    edited = st.data_editor(
        start, hide_index=True, key=f"roles-{board.id}-{table}-{'|'.join(chosen)}", disabled=["metric"],
        column_config={
            "metric": "Metric", "role": st.column_config.SelectboxColumn("Role", options=list(ROLES), required=True),
            "before": st.column_config.SelectboxColumn(
                "Value from before", options=[NOTHING, *usable], required=True,
                help="A column with the same metric from before the test narrows the interval (CUPED).",
            ),
        },
        alt="Metrics, their roles, and their values from before.",
    )  # fmt: skip
    edited_rows = edited.to_dict("records")
    return (
        {row["metric"]: row["role"] for row in edited_rows},
        {row["metric"]: row["before"] for row in edited_rows if row["before"] not in (NOTHING, row["metric"])},
    )


def _counts(board: Board, made: StrategySet) -> dict[str, Any] | None:
    """Show the editor of counts, and return them; None while no row is complete."""
    key, was = f"counts-{board.id}", board.outcome.get("counts", {})
    if key not in st.session_state or f"{key}-began" not in st.session_state:  # a hidden editor starts afresh
        usual = [{"strategy": one.name, "metric": one.metric, **dict.fromkeys(COUNTS[2:])} for one in made.strategies]
        st.session_state[f"{key}-began"] = was.get("counts") or usual
    whole = st.column_config.NumberColumn(min_value=0, step=1, format=COLUMN_COUNT)
    edited = st.data_editor(
        pd.DataFrame(st.session_state[f"{key}-began"], columns=list(COUNTS)), key=key, num_rows="dynamic",
        hide_index=True, column_config=dict.fromkeys(COUNTS[2:], whole), alt="Customers and successes of each arm.",
    )  # fmt: skip
    rows = [{k: None if v != v else v for k, v in row.items()} for row in edited.to_dict("records")]
    usual_share = round(100 * was.get("share", board.plan.get("share", 0.5)))
    share = st.slider("Planned share treated", 5, 95, usual_share, 5, format=WHOLE_PERCENT, key=f"{key}-share")
    st.caption("Among those who would get the strategy, in both arms. Incomplete rows are ignored.")
    roles = {row["metric"]: row["role"] for row in board.plan.get("metrics", [])}
    asked = {"counts": rows, "share": share / 100, "roles": roles}
    return asked if any(all(value is not None for value in row.values()) for row in rows) else None


@state.kept(show_spinner="Reading the experiment", max_entries=16)
def _read(strategies: str, outcome: str, metrics: str, way: str) -> ReadOut:
    made = StrategySet.from_dict(json.loads(strategies))
    return read_out(made, way, json.loads(outcome), json.loads(metrics), state.rows_of)


def result(board: Board, made: StrategySet, outcome: ReadOut) -> None:
    """Show the verdict first, then arms, lifts and numbers."""
    tone, words = verdicts.overall(outcome)
    box = {"good": st.success, "bad": st.warning, "open": st.info, "stop": st.error}[tone]
    box(f"**{verdicts.WORDS[tone]}.** {md(words)}", icon=ICONS[tone])
    for note in outcome.notes:
        st.warning(md(note), icon=":material/warning:")
    _arms(outcome)
    if outcome.stopped:
        st.caption("Differences are not shown: with arms of the wrong sizes they would mislead.")
        return
    for strategy in made.strategies:
        if any(effect.strategy == strategy.name for effect in outcome.effects):
            tone, words = verdicts.of_strategy(outcome, strategy.name)
            with st.container(border=True):
                st.markdown(f"{ICONS[tone]} **{md(strategy.name)}** · {md(strategy.action)}")
                st.markdown(md(words))
                _comparisons([effect for effect in outcome.effects if effect.strategy == strategy.name])
    st.subheader("Measured lifts", anchor=False)
    cards.figure(plots.lifts(outcome), f"lifts-{board.id}", board.name, titled=False)
    left = [e for e in outcome.effects if not np.isfinite([e.lift, *e.lift_interval]).all()]
    if left:
        named = ", ".join(f"{md(e.strategy)} {md(e.what)}" for e in left)
        st.caption(f"Not drawn, because the ratio is undefined: {named}. The numbers have their differences.")
    st.caption(
        "Treated against control among those who would get the same strategy. Each interval is for its comparison "
        "alone; “significant” is after Holm over all strategies, arms and metrics except expected nulls."
    )


def _comparisons(effects: list[Effect]) -> None:
    """Show what each comparison of a strategy measured: the rates or means first, then the verdict."""
    for effect in effects:
        tone, said = verdicts.verdict(effect)
        less = f" The value from before reduced the variance by {percent(effect.reduced, 0)}." if effect.reduced else ""
        st.caption(
            f"{ICONS[tone]} **{md(effect.what)}** ({effect.role}): {md(verdicts.levels(effect))} {md(said)}{less}"
        )


def _arms(outcome: ReadOut) -> None:
    """Show the sample ratio, overall and per strategy."""
    whole = outcome.ratios[0]
    each = [f"{md(one.where)} {count(one.treated)} / {count(one.control)}, {p_value(one.p)}"
            for one in outcome.ratios[1:]]  # fmt: skip
    st.caption(
        f"Sample ratio: {count(whole.treated)} treated, {count(whole.control)} controls, {p_value(whole.p)} "
        f"(alarm below .001). By strategy: {'; '.join(each)}."
    )
