"""The read-out of an experiment on a page: arms first, then what was measured, then what it means."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.data.table import TableError, kind_of, read_texts
from gamcore.decide import verdicts
from gamcore.decide.experiment_effects import ReadOut
from gamcore.decide.experiment_plan import ROLES, ExperimentError
from gamcore.decide.experiment_readout import COUNTS
from gamcore.decide.strategies import StrategySet
from gamcore.viz import plots
from shapewise.decisions import boards as stored
from shapewise.decisions import guided_example as example
from shapewise.decisions.boards import Board
from shapewise.decisions.plan_and_outcome import RULES, read_out
from shapewise.store.workspace import StoreError
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, told_apart
from shapewise.ui.widgets import cards

WAYS = {"rows": "Rows of a table", "counts": "Counts"}
ICONS = {
    "good": ":material/check_circle:", "bad": ":material/warning:", "open": ":material/help:",
    "stop": ":material/front_hand:",
}  # fmt: skip
NOTHING = "-"


def show(board: Board, made: StrategySet) -> None:
    """Show where it is read from, and the read-out."""
    tested = board.plan.get("tested")
    if tested is not None and tested != made.to_dict():
        made = StrategySet.from_dict(tested)
        names = ", then ".join(f"{md(one.name)} ({md(one.rule.words())})" for one in made.strategies)
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
    """Store what somebody chose here; a page that is merely drawn again writes nothing."""
    key = f"outcome-seen-{board.id}-{way}"
    stored_now = {"way": way, way: asked}
    was = {"way": board.outcome.get("way", way), way: board.outcome.get(way)}
    if st.session_state.setdefault(key, was) != stored_now:
        st.session_state[key] = stored_now
        stored.change(state.workspace(), board.id, outcome=stored_now)


def _rows(board: Board, was: dict[str, Any]) -> dict[str, Any] | None:
    """Return which table, arm and metrics; nothing while they are not chosen."""
    tables = {table.id: table for table in state.workspace().tables.listed()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        listed = list(tables)
        at = listed.index(was["table"]) if was.get("table") in tables else None
        table = st.selectbox(
            "Table of outcomes", listed, at,
            format_func=told_apart({i: f"{t.name} ({count(t.rows)} rows)" for i, t in tables.items()}).__getitem__,
            key=f"outcome-table-{board.id}", placeholder="One row per customer: arm, metrics, what rules look at",
        )  # fmt: skip
        if not any(known.name == "renewal_experiment" for known in tables.values()) and st.button(
            "Load the sample", icon=":material/science:", help="A simulated experiment on the sample table renewal."
        ):
            example.load(state.workspace(), example.OUTCOME)
            st.rerun()
    if table is None:
        st.caption("Load a table of outcomes on the page Data first, one row per customer, both arms.")
        return None
    frame, own = state.frame(table), was if was.get("table") == table else {}
    levels = {name: read_texts(frame[name])[1] for name in frame.columns if _is_arm(frame[name])}
    if not levels:
        st.error("No column of this table has exactly two values, so none can be the arm.", icon=":material/error:")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        usual = own.get("arm") if own.get("arm") in levels else _usual(list(levels))
        arm = st.selectbox("Arm", list(levels), list(levels).index(usual), key=f"arm-{board.id}-{table}")
        at = levels[arm].index(own["treated"]) if own.get("treated") in levels[arm] else _treated(levels[arm])
        treated = st.selectbox(
            "Treated are", levels[arm], at, key=f"treated-{board.id}-{table}-{arm}", placeholder="Which of the two?"
        )
        share = st.slider(
            "Planned share treated", 5, 95, round(100 * own.get("share", board.plan.get("share", 0.5))), 5,
            format="%d%%", key=f"planned-{board.id}-{table}",
        )  # fmt: skip
        texts = [RULES, *(name for name in frame.columns if kind_of(frame[name]) == "category" and name != arm)]
        would = st.selectbox(
            "Who would get which strategy", texts, texts.index(own["by"]) if own.get("by") in texts else 0,
            key=f"would-{board.id}-{table}", help="In both arms. The column must name strategies as the board does.",
        )  # fmt: skip
    roles, before = _metrics(board, table, frame, own, arm)
    if treated is None or not roles:
        st.caption("Say who is treated." if treated is None else "Choose at least one metric.")
        return None
    of = " of the sample" if tables[table].sampled else ""
    without = int(frame[arm].isna().sum())
    if without:
        st.caption(f":material/warning: {count(without)} rows{of} without an arm are left out.")
    return {"table": table, "arm": arm, "treated": treated, "share": share / 100, "roles": roles, "before": before,
            "by": would}  # fmt: skip


def _is_arm(series: pd.Series) -> bool:
    return kind_of(series) in ("category", "boolean", "number") and series.nunique(dropna=True) == 2


def _usual(names: list[str]) -> str:
    """Return the column that sounds like the arm."""
    words = ("arm", "variant", "version", "group", "treat", "test", "bucket")
    return next((name for word in words for name in names if word in name.lower()), names[0])


CONTROLS = {
    "control", "ctrl", "holdout", "hold", "base", "baseline", "old", "none", "no", "off", "before", "a", "0", "false",
    "placebo",
}  # fmt: skip
TREATED = {
    "treat", "treated", "treatment", "test", "variant", "new", "on", "yes", "exposed", "campaign", "b", "1", "true",
}  # fmt: skip


def _treated(levels: list[str]) -> int | None:
    """Return which of two arms is the treated one, by name; nothing where the names do not tell."""
    words = [set(re.findall(r"[a-z]+|[0-9]+", level.lower())) for level in levels]
    controls, treated = ([bool(words_of_level & names) for words_of_level in words] for names in (CONTROLS, TREATED))
    sure = [k for k in (0, 1) if treated[k] and not treated[1 - k]]
    sure = sure or [k for k in (0, 1) if controls[1 - k] and not controls[k]]
    return sure[0] if len(sure) == 1 and not controls[sure[0]] else None


def _metrics(
    board: Board, table: str, frame: pd.DataFrame, own: dict[str, Any], arm: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the metrics with their roles, and the same from before."""
    usable = [name for name in frame.columns if kind_of(frame[name]) in ("number", "boolean") and name != arm]
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
                "Same from before", options=[NOTHING, *usable], required=True,
                help="A column with the same metric from before the test narrows the interval (CUPED).",
            ),
        },
        alt="Metrics, their roles, and their values from before.",
    )  # fmt: skip
    rows = edited.to_dict("records")
    return (
        {row["metric"]: row["role"] for row in rows},
        {row["metric"]: row["before"] for row in rows if row["before"] not in (NOTHING, row["metric"])},
    )


def _counts(board: Board, made: StrategySet) -> dict[str, Any]:
    """Return the counts, typed."""
    key, was = f"counts-{board.id}", board.outcome.get("counts", {})
    if key not in st.session_state or f"{key}-began" not in st.session_state:  # an editor that was away begins anew
        usual = [{"strategy": one.name, "metric": one.metric, **dict.fromkeys(COUNTS[2:])} for one in made.strategies]
        st.session_state[f"{key}-began"] = was.get("counts") or usual
    whole = st.column_config.NumberColumn(min_value=0, step=1, format="localized")
    edited = st.data_editor(
        pd.DataFrame(st.session_state[f"{key}-began"], columns=list(COUNTS)), key=key, num_rows="dynamic",
        hide_index=True, column_config=dict.fromkeys(COUNTS[2:], whole), alt="Customers and successes of each arm.",
    )  # fmt: skip
    rows = [{k: None if v != v else v for k, v in row.items()} for row in edited.to_dict("records")]
    usual_share = round(100 * was.get("share", board.plan.get("share", 0.5)))
    share = st.slider("Planned share treated", 5, 95, usual_share, 5, format="%d%%", key=f"{key}-share")
    st.caption("Among those who would get the strategy, in both arms. Rows that are not complete are left out.")
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
                for effect in outcome.effects:
                    if effect.strategy == strategy.name:
                        own, said = verdicts.verdict(effect)
                        less = (
                            f" The value from before took {effect.reduced:.0%} of the variance away."
                            if effect.reduced
                            else ""
                        )
                        st.caption(f"{ICONS[own]} **{md(effect.metric)}** ({effect.role}): {md(said)}{less}")
    st.subheader("Measured lifts", anchor=False)
    cards.figure(plots.lifts(outcome), f"lifts-{board.id}", board.name, titled=False)
    left = [e for e in outcome.effects if not np.isfinite([e.lift, *e.lift_interval]).all()]
    if left:
        named = ", ".join(f"{md(e.strategy)} {md(e.metric)}" for e in left)
        st.caption(f"Not drawn, because the ratio is undefined: {named}. The numbers have their differences.")
    st.caption(
        "Treated against control among those who would get the same strategy. Each interval is of its comparison "
        "alone; “significant” is after Holm over all strategies and metrics except expected nulls."
    )


def _arms(outcome: ReadOut) -> None:
    """Show the sample ratio, before anything else."""
    whole = outcome.ratios[0]
    each = [f"{md(one.where)} {count(one.treated)} / {count(one.control)}, {verdicts.p_words(one.p)}"
            for one in outcome.ratios[1:]]  # fmt: skip
    st.caption(
        f"Sample ratio: {count(whole.treated)} treated, {count(whole.control)} controls, {verdicts.p_words(whole.p)} "
        f"(alarm below .001). By strategy: {'; '.join(each)}."
    )
