"""For whom a test of arms worked, on a page: the lift of an outcome by segment, or by strategy of a board."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Final

import numpy as np
import streamlit as st

from gamcore.common.numbers import p_value
from gamcore.data.columns import TableError
from gamcore.decide.arms import ArmsTest, Segments, by_segment
from gamcore.decide.experiment_effects import intervals_in_words
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.results import Scale
from gamcore.decide.rules import RuleError
from gamcore.decide.shown import shown_segments
from gamcore.decide.strategies import StrategySet
from gamcore.stats.intervals import ALPHA
from gamcore.viz.spec import Plot
from shapewise.decisions import arm_tests as stored
from shapewise.decisions import boards as stored_boards
from shapewise.decisions.plan_and_outcome import readable
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, md, told_apart
from shapewise.ui.widgets import cards

BOARD: Final = "\0board:"
"""Before the id of a board among names of columns."""


@state.kept(show_spinner="Reading the segments", max_entries=32)
def _segments(table: str, test: str, metric: str, column: str) -> Segments:
    asked = stored.from_text(test)
    return by_segment(state.rows_of(table, _columns(asked, metric, column)), asked, metric, column)


@state.kept(show_spinner="Reading the strategies", max_entries=32)
def _strategies(table: str, test: str, metric: str, strategy_set: str) -> tuple[Segments, tuple[str, ...]]:
    asked, strategies = stored.from_text(test), StrategySet.from_dict(json.loads(strategy_set))
    rows = state.rows_of(table, _columns(asked, metric, *strategies.cascade().columns))
    return stored.by_strategy(rows, asked, metric, strategies)


def _columns(asked: ArmsTest, metric: str, *others: str) -> list[str]:
    """Return the columns that one outcome is read from, and others."""
    return [*dict.fromkeys((*replace(asked, metrics={metric: "primary"}, before=None).columns, *others))]


def _can_answer(columns: Collection[str], strategy_set: StrategySet) -> bool:
    """Return whether a table has the columns that some strategy of a board asks for."""
    try:
        return bool(strategy_set.strategies and readable(strategy_set, columns)[0].strategies)
    except ExperimentError:
        return False


def show(table: TableAbout, asked: ArmsTest, scale: Scale) -> None:
    """Show the lift of an outcome by segment, or by strategy of a board, as it is drawn and tested on a scale."""
    st.subheader("For whom", anchor=False)
    rows, names = state.table(table.id), state.names(table.id)
    boards = {f"{BOARD}{board.id}": board for board in stored_boards.boards(state.workspace())
              if _can_answer(rows.names, board.read())}  # fmt: skip
    columns = [name for name in rows.names if name != asked.arm and name not in asked.measured
               and rows.usable_kind(name) is not None]  # fmt: skip
    labels = told_apart({key: f"Strategies of {board.name}" for key, board in boards.items()})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.selectbox(
            "By", [*columns, *boards], None, key=f"whom-column-{table.id}",
            format_func=lambda column: labels.get(column) or names.column(column),
            placeholder="A column known before the test, or a board",
        )  # fmt: skip
        if by is None:
            return
        metric = st.selectbox("Outcome", list(asked.metrics), key=f"whom-metric-{table.id}",
                              format_func=lambda outcome: asked.outcome(outcome).called(names))  # fmt: skip
    test = stored.to_text(replace(asked, before=None))
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
    shown = shown_segments(segments, names, asked, "" if by in boards else by)
    looks = len(columns) * len(asked.metrics) * max(len(shown.p), 1)
    plot = _plot(shown, names.level(asked.arm, asked.control), asked.customers, scale=scale, looks=looks)
    cards.figure(plot, f"whom-{table.id}-{metric}-{by}-{scale}", table.name)
    st.caption(
        "Coloured lifts are significant after Holm over all groups and arms; each interval is for itself. The headline "
        "tests whether the groups differ at all (Cochran's Q, on the scale chosen above). "
        f"{count(looks)} such looks are possible here, by column, outcome and arm: they “differ” where that is clear "
        "after all of them (Bonferroni)."
    )


def _plot(segments: Segments, control: str, customers: int, *, scale: Scale, looks: int) -> Plot:
    """Return the lifts by segment, and whether they differ. looks : how many such questions the test may be asked."""
    words = "; ".join(f"{arm}: {_differs(p, looks)}" for arm, p in segments.p_on(scale).items())
    intervals = intervals_in_words(segments.effects, scale, customers)
    plot = segments.describe(f"each arm against {control}, {intervals}; coloured where it is significant", scale)
    return replace(plot, title=f"{segments.metric} by {segments.column}: {words}")


def _differs(p: float, looks: int) -> str:
    """Return whether segments differ, in words, as one of several looks."""
    if not np.isfinite(p):
        return "too few rows to compare segments"
    if p * looks < ALPHA:
        return f"the lift differs between segments ({p_value(p)})"
    if p < ALPHA:
        return f"the lift may differ, but not clearly as one of {counted(looks, 'look')} ({p_value(p)})"
    return f"no sign that the lift differs ({p_value(p)})"
