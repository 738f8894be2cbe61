"""A test that has run, of any number of arms, on a page: how it was set up, what it measured, and for whom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.data.table import Table, TableError
from gamcore.decide import verdicts
from gamcore.decide.arms import Adjustment, ArmsReadOut, ArmsTest, Segments, by_segment, read_arms
from gamcore.decide.experiment_effects import ReadOut
from gamcore.decide.experiment_plan import ROLES, ExperimentError, MetricRole
from gamcore.decide.rules import RuleError
from gamcore.decide.strategies import StrategySet
from gamcore.numbers import fixed, p_value, percent
from gamcore.viz import plots
from shapewise.decisions import arm_tests as stored
from shapewise.decisions import boards as stored_boards
from shapewise.decisions.arm_tests import StoredTest
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, number, told_apart
from shapewise.ui.widgets import cards

ICONS = {
    "good": ":material/check_circle:", "bad": ":material/warning:", "open": ":material/help:",
    "stop": ":material/front_hand:",
}  # fmt: skip
NOTHING = "-"
BOARD = "\0board:"
"""Before the id of a board among names of columns."""
Tone = Literal["good", "bad", "open", "stop"]


def show(table: TableAbout) -> None:
    """Show the form of a test on a table, and its read-out."""
    kept = next(iter(stored.tests(state.workspace(), {table.id})), None)
    with st.container(border=True):
        test = _form(table, state.table(table.id), kept)
    if test is None:
        return
    try:
        made = _read(table.id, _as_text(test))
    except (ExperimentError, TableError) as error:
        st.error(md(error), icon=":material/error:")
        return
    _keep(table, test, kept)
    result(table, made)
    if not made.stopped:
        with st.container(border=True):
            _for_whom(table, made)


def _as_text(test: ArmsTest) -> str:
    return json.dumps(asdict(test))


def _from_text(text: str) -> ArmsTest:
    return ArmsTest(**json.loads(text))


@state.kept(show_spinner="Reading the test", max_entries=16)
def _read(table: str, test: str) -> ArmsReadOut:
    asked = _from_text(test)
    columns = [asked.arm, *asked.metrics, *(asked.before or {}).values()]
    return read_arms(state.rows_of(table, columns), asked)


@state.kept(show_spinner="Reading the segments", max_entries=32)
def _segments(table: str, test: str, metric: str, column: str) -> Segments:
    asked = _from_text(test)
    return by_segment(state.rows_of(table, [asked.arm, metric, column]), asked, metric, column)


@state.kept(show_spinner="Reading the strategies", max_entries=32)
def _strategies(table: str, test: str, metric: str, made: str) -> tuple[Segments, tuple[str, ...]]:
    asked, strategies = _from_text(test), StrategySet.from_dict(json.loads(made))
    rows = state.rows_of(table, [asked.arm, metric, *strategies.cascade().columns])
    return stored.by_strategy(rows, asked, metric, strategies)


def _keep(table: TableAbout, test: ArmsTest, kept: StoredTest | None) -> None:
    """Store the set-up where it has changed, so that it is there tomorrow."""
    if kept is not None and kept.test() == test:
        return
    if state.workspace().may("create") and (kept is None or state.mine(stored.KIND, kept.id)):
        stored.keep(state.workspace(), table.id, f"Test on {table.name}", test, kept.id if kept else "")


def _form(table: TableAbout, rows: Table, kept: StoredTest | None) -> ArmsTest | None:
    """Show which column is the arm, which level the control, and what the outcomes are; None while one is missing."""
    arms = stored.possible_arms(rows)
    if not arms:
        st.error("No column of this table has 2 to 12 values, so none can be the arm.", icon=":material/error:")
        return None
    usual = kept.arm if kept and kept.arm in arms else stored.likely_arm(rows)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        arm = st.selectbox(
            "Arm", list(arms), list(arms).index(usual) if usual else None, key=f"arms-arm-{table.id}",
            placeholder="The column that says who got what",
        )  # fmt: skip
        if arm is None:
            st.caption("Choose the arm column.")
            return None
        was = kept.control if kept and kept.arm == arm and kept.control in arms[arm] else None
        guess = was or stored.likely_control(arms[arm])
        control = st.selectbox(
            "Control", arms[arm], arms[arm].index(guess) if guess else None, key=f"arms-control-{table.id}-{arm}",
            placeholder="Who got nothing new",
        )  # fmt: skip
        adjustments: list[Adjustment] = ["Holm", "Dunnett"]
        adjust = st.segmented_control(
            "Adjust for many comparisons", adjustments, default=kept.adjustment if kept else "Holm",
            required=True, key=f"arms-adjust-{table.id}",
            help="Holm: over all arms and outcomes. Dunnett: over the arms of each outcome, which share one control; "
            "its intervals hold for all arms at once.",
        )  # fmt: skip
    possible = stored.possible_outcomes(rows, arm)
    before = [name for name in kept.metrics if name in possible] if kept else stored.likely_outcomes(rows, arm)
    outcomes = st.multiselect("Outcomes", possible, before, key=f"arms-outcomes-{table.id}-{arm}",
                              placeholder="What the test was to move")  # fmt: skip
    if control is None or not outcomes:
        st.caption("Choose the control." if control is None else "Choose at least one outcome.")
        return None
    roles, past = _roles(table, outcomes, [name for name in possible if name not in outcomes], kept)
    was_shares = kept.shares if kept and kept.arm == arm else {}
    shares = planned_shares(f"{table.id}-{arm}", arms[arm], was_shares)
    return ArmsTest(arm, control, roles, shares=shares, before=past or None, adjustment=adjust)


def _roles(
    table: TableAbout, outcomes: list[str], possible: list[str], kept: StoredTest | None
) -> tuple[dict[str, MetricRole], dict[str, str]]:
    """Show the role of each outcome and its value from before; return both by outcome."""
    known, past = (kept.metrics, kept.before) if kept else ({}, {})
    start = pd.DataFrame({
        "outcome": outcomes, "role": [known.get(name, "primary") for name in outcomes],
        "before": [past.get(name, NOTHING) for name in outcomes],
    })  # fmt: skip
    with st.expander("Roles, and values from before the test"):
        edited = st.data_editor(
            start, hide_index=True, disabled=["outcome"], key=f"arms-roles-{table.id}-{'|'.join(outcomes)}",
            column_config={
                "outcome": "Outcome",
                "role": st.column_config.SelectboxColumn("Role", options=list(ROLES), required=True),
                "before": st.column_config.SelectboxColumn(
                    "Value from before", options=[NOTHING, *possible], required=True,
                    help="A column with the same quantity from before the test narrows the interval (CUPED).",
                ),
            },
            alt="Outcomes, their roles, and their values from before.",
        )  # fmt: skip
    rows = edited.to_dict("records")
    return (
        {row["outcome"]: row["role"] for row in rows},
        {row["outcome"]: row["before"] for row in rows if row["before"] != NOTHING},
    )


def planned_shares(key: str, levels: list[str], was: Mapping[str, float]) -> dict[str, float] | None:
    """Show the planned shares of the arms; None where they are equal. was : those stored, if they are unequal."""
    with st.expander("Planned shares", expanded=bool(was)):
        if st.toggle("All arms were planned equally large", not was, key=f"arms-equal-{key}"):
            return None
        with st.container(horizontal=True):
            return {
                level: st.number_input(
                    md(level), 0.1, 1000.0, float(was.get(level, 1.0)), key=f"arms-share-{key}-{level}"
                )
                for level in levels
            }


def result(table: TableAbout, made: ArmsReadOut) -> None:
    """Show the verdict, the sizes of the arms, what each arm reached, and the lifts."""
    tone, words = overall(made)
    box = {"good": st.success, "bad": st.warning, "open": st.info, "stop": st.error}[tone]
    box(f"**{verdicts.WORDS[tone]}.** {md(words)}", icon=ICONS[tone])
    sizes = made.sizes["all"]
    said = ", ".join(f"{md(arm)} {count(n)}" for arm, n in sizes.counts.items())
    left = f" {count(made.left_out)} rows without an arm are left out." if made.left_out else ""
    st.caption(f"Customers: {said}. Sample ratio {p_value(sizes.p)} (alarm below .001).{left}")
    if made.stopped:
        st.caption("Differences are not shown: with arms of the wrong sizes they would mislead.")
        return
    for metric in made.test.metrics:
        st.subheader(md(metric), anchor=False)
        st.dataframe(_table(made, metric), hide_index=True, alt=f"Each arm's {metric}, and its lift over the control.")
        for effect in made.effects:
            if effect.metric == metric:
                own, text = verdicts.verdict(effect)
                st.caption(f"{ICONS[own]} **{md(effect.strategy)}**: {md(text)}")
    cards.figure(plots.lifts(made.as_read_out(), f"each arm against {made.test.control}, 95% intervals"),
                 f"arms-{table.id}", table.name)  # fmt: skip
    over = "over all arms and outcomes" if made.test.adjustment == "Holm" else "over the arms of each outcome"
    st.caption(f"“Significant” is at 5% after {made.test.adjustment}'s adjustment {over}.")


def _table(made: ArmsReadOut, metric: str) -> pd.DataFrame:
    """Return the arms of a metric as they are shown."""
    is_rate = metric in made.rates
    rows = []
    for row in made.frame().query("metric == @metric").to_dict("records"):
        rows.append({
            "Arm": row["arm"], "Customers": count(row["customers"]),
            "Rate" if is_rate else "Mean": _value(row["value"], is_rate),
            "95% interval": f"{_value(row['lower'], is_rate)} to {_value(row['upper'], is_rate)}",
            "Against control": _gap(row, is_rate), "Relative": _relative(row),
            "p, adjusted": p_value(row["p, adjusted"]).removeprefix("p ").removeprefix("= ")
            if np.isfinite(row.get("p, adjusted", np.nan)) else NOTHING,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _value(value: float, is_rate: bool) -> str:
    return NOTHING if not np.isfinite(value) else percent(value) if is_rate else number(value)


def _gap(row: dict[str, Any], is_rate: bool) -> str:
    """Return the difference to the control with its interval; points for a rate."""
    ends = [row.get(name, np.nan) for name in ("difference", "difference, lower", "difference, upper")]
    if not np.isfinite(ends).all():
        return NOTHING
    gap, low, high = (fixed(100 * end, 1, signed=True) if is_rate else number(end, signed=True) for end in ends)
    return f"{gap}{' points' * is_rate} ({low} to {high})"


def _relative(row: dict[str, Any]) -> str:
    ends = [row.get(name, np.nan) for name in ("lift", "lift, lower", "lift, upper")]
    if not np.isfinite(ends).all():
        return NOTHING
    lift, low, high = (percent(end, 0, signed=True) for end in ends)
    return f"{lift} ({low} to {high})"


def overall(made: ArmsReadOut) -> tuple[Tone, str]:
    """Return what the test shows, in a sentence or two."""
    if made.stopped:
        wrong = [name for name, size in made.sizes.items() if size.alarm]
        where = "" if wrong[0] == "all" else f" among rows with {wrong[0]}"
        return "stop", f"The arms do not have the planned sizes{where}: find out why before reading any difference."
    bad = [e for e in made.effects if e.is_significant and (e.difference < 0 or e.role == "expected null")]
    good = [e for e in made.effects if e.is_significant and e.difference > 0 and e.role != "expected null"]
    parts = []
    if good:
        best = max(good, key=lambda e: (e.role == "primary", e.lift if np.isfinite(e.lift) else 0.0))
        works = " and ".join(dict.fromkeys(e.strategy for e in good))
        parts.append(f"{works} {'work' if ' and ' in works else 'works'}; most: {best.strategy} on {best.metric}, "
                     f"{verdicts.moved(best)}.")  # fmt: skip
    if bad:
        parts.append("; ".join(f"{e.strategy} moved {e.metric}, {verdicts.moved(e)}" for e in bad) + ".")
    if not parts:
        return "open", "No arm differs significantly from the control."
    return "bad" if bad else "good", " ".join(parts)


def _for_whom(table: TableAbout, made: ArmsReadOut) -> None:
    """Show the lift of an outcome by segment, or by strategy of a board."""
    st.subheader("For whom", anchor=False)
    rows = state.table(table.id)
    boards = {f"{BOARD}{board.id}": board for board in stored_boards.boards(state.workspace())
              if board.read().strategies}  # fmt: skip
    columns = [name for name in rows.names if name != made.test.arm and name not in made.test.metrics
               and rows.usable_kind(name) is not None]  # fmt: skip
    labels = told_apart({key: f"Strategies of {board.name}" for key, board in boards.items()})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        metric = st.selectbox("Outcome", list(made.test.metrics), key=f"whom-metric-{table.id}")
        by = st.selectbox(
            "By", [*columns, *boards], None, key=f"whom-column-{table.id}",
            format_func=lambda one: labels.get(one, one), placeholder="A column known before the test, or a board",
        )  # fmt: skip
    if by is None:
        return
    test = _as_text(replace(made.test, before=None))
    notes: tuple[str, ...] = ()
    try:
        if by in boards:
            strategies = json.dumps(boards[by].read().to_dict())
            segments, notes = _strategies(table.id, test, metric, strategies)
        else:
            segments = _segments(table.id, test, metric, by)
    except (ExperimentError, TableError, RuleError) as error:
        st.error(md(error), icon=":material/error:")
        return
    for note in notes:
        st.warning(md(note), icon=":material/warning:")
    plot = plots.lifts(ReadOut((), segments.effects), f"{metric}, each arm against {made.test.control}, 95% intervals")
    words = [f"{arm}: {_differs(p)}" for arm, p in segments.p.items()]
    plot = replace(plot, title=f"{metric} by {segments.column}: {'; '.join(words)}", numbers=segments.frame())
    cards.figure(plot, f"whom-{table.id}-{metric}-{by}", table.name)
    st.caption(
        "“Significant” is after Holm over all groups and arms; each interval is for itself. The sentence above tests "
        "whether the groups differ at all (Cochran's Q)."
    )


def _differs(p: float) -> str:
    """Return whether segments differ, in words."""
    if not np.isfinite(p):
        return "too few rows to compare segments"
    return (
        f"the lift differs between segments ({p_value(p)})"
        if p < 0.05
        else (f"no sign that the lift differs ({p_value(p)})")
    )
