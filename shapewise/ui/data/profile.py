"""A closer look at a table: rows that a filter picks, and what one column holds, by a target."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.common.numbers import percent
from gamcore.common.types import Floats
from gamcore.data.columns import TableError, read_numbers
from gamcore.data.table import Table
from gamcore.decide.rules import EVERYBODY, Rule, RuleError
from gamcore.decide.rules_json import from_dict
from gamcore.explain.shown import shown
from gamcore.stats.profiles import QUANTILES, Profile, Target, profile
from shapewise.reports.card import target_words
from shapewise.store.workspace import TableAbout
from shapewise.training.goals import suggest
from shapewise.training.spec import labels_of, target_levels
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, md, number
from shapewise.ui.train import target as goals
from shapewise.ui.widgets import cards, filtered
from shapewise.ui.widgets import rule_builder as builder
from shapewise.ui.widgets.columns import texts_of_numbers

MOST_SHOWN = 200
NOTHING = "(nothing)"
MOST_NAMED = 12
"""Most values of a number column whose values have names."""


@st.fragment
def show(table: TableAbout) -> None:
    """Show the filter, the profile of one column, and the first rows."""
    st.subheader("A closer look", anchor=False)
    rule = _filter(table)
    filtered.keep(table.id, rule)
    rows = _rows(table.id, _written(rule))
    whose = " of the sample" if table.sampled else ""
    if rule != EVERYBODY:
        st.caption(
            f"**{count(len(rows))}** of {counted(len(state.table(table.id)), 'row')}{whose} where "
            f"{md(rule.words(state.names(table.id)))}."
        )
    if not len(rows):
        st.info("No row matches the filter: widen it.", icon=":material/filter_alt_off:")
        return
    _column(table, rule, whose)
    with st.expander("First rows", key=f"rows-{table.id}"):
        st.dataframe(rows.frame.head(MOST_SHOWN), hide_index=True, alt="The first rows of the table.")


def _filter(table: TableAbout) -> Rule:
    """Show the filter, and return it; all rows while it is not complete."""
    key = f"look-{table.id}"
    if key not in st.session_state:
        builder.begin(key, None)
    with st.expander("Only some rows", icon=":material/filter_alt:", key=f"{key}-open"):
        st.caption(
            "Only what is shown here follows the filter, and the table stays as it is. Train offers to learn from "
            "these rows."
        )
        rule = builder.edit(key, table.id)
        if rule is None:
            st.caption("A condition is not complete yet: all rows are shown.")
    return rule or EVERYBODY


def _written(rule: Rule) -> str:
    return json.dumps(rule.to_dict())


@state.kept(show_spinner=False, max_entries=8)
def _rows(table: str, rule: str) -> Table:
    rows = state.table(table)
    kept = from_dict(json.loads(rule))
    return rows if kept == EVERYBODY else rows.take(kept.holds(rows))


def _column(table: TableAbout, rule: Rule, whose: str) -> None:
    """Show what a column holds."""
    reports = state.reports(table.id)
    columns = [report.name for report in reports if report.kind is not None]
    if not columns:
        return
    goal = goals.usual(table)
    goal = goal if goal in columns else None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        roles = state.roles(table.id).by_column
        first = next((name for name in columns if name != goal and roles[name] == "feature"), columns[0])
        names = state.names(table.id)
        column = st.selectbox("Column", columns, columns.index(first), key=f"profile-{table.id}", width=280,
                              format_func=names.column)  # fmt: skip
        by = st.selectbox("By", [NOTHING, *columns], (columns.index(goal) + 1) if goal else 0,
                          key=f"profile-by-{table.id}", width=280, format_func=names.column,
                          help="The target, or another column, to be seen along the column.")  # fmt: skip
        levels = _levels(table, by) if by not in (NOTHING, column) else None
    try:
        target = None if levels is None else (by, tuple(levels))
        stats = _profile(table.id, column, target, _written(rule), bool(names.of(column).levels))
    except (TableError, RuleError) as error:
        st.caption(md(error))
        return
    beyond = f" · {counted(stats.outside, 'row')} beyond the bars" if stats.outside else ""
    detail = f"{count(stats.rows)} rows{whose}{' · means with 95% intervals; dotted: all rows' * bool(target)}{beyond}"
    seen = shown(stats, names)
    if target is not None and seen.means is not None:
        named = target_words(target[0], list(target[1]), names)
        seen = replace(seen, means=replace(seen.means, name=named))
    cards.figure(seen.describe(detail), f"profile-{table.id}-{column}", table.name)
    _facts(seen)


def _levels(table: TableAbout, by: str) -> list[str] | None:
    """Show the choice of a level of the target, and return it; [] for a number, None where it has too many levels."""
    rows = state.table(table.id)
    try:
        if suggest(rows, by)[0] not in ("binary", "classes"):
            return []
        levels = target_levels(rows.frame[by])
    except TableError as error:
        st.caption(md(error))
        return None
    if not levels:
        return None
    if len(levels) > 2:  # models of several classes are read by the most frequent one, too
        usual = str(labels_of(rows.frame[by].dropna()).mode()[0])
    else:
        usual = goals.usual_sides(table, rows.frame[by], levels)[0][0]
    return [st.selectbox("Share of", levels, levels.index(usual), key=f"profile-of-{table.id}-{by}", width=200,
                         format_func=partial(state.names(table.id).level, by))]  # fmt: skip


@state.kept(show_spinner=False, max_entries=64)
def _profile(
    table: str, column: str, target: tuple[str, tuple[str, ...]] | None, rule: str, as_levels: bool
) -> Profile:
    """Return what a column holds. as_levels : whether its values have names: few numbers are then shown as levels."""
    rows = _rows(table, rule)
    observed = None
    if target is not None:
        name, levels = target
        goal = rows.frame[name]
        observed = Target(_shares(goal, levels) if levels else read_numbers(goal), name, bool(levels))
    series = rows.frame[column]
    as_levels &= rows.kind(column) == "number" and series.nunique() <= MOST_NAMED
    return profile(series, "category" if as_levels else rows.kind(column), observed)


def _shares(goal: pd.Series, levels: tuple[str, ...]) -> Floats:
    """Return 1 where a target has one of some levels, 0 where another, NaN where it is missing."""
    hit: Floats = goal.astype("string").isin(levels).to_numpy(np.float64)
    hit[goal.isna().to_numpy()] = np.nan
    return hit


def _facts(stats: Profile) -> None:
    """Show missing and distinct values, and the quantiles of numbers and dates."""
    missing = (
        f"{count(stats.missing)} missing ({percent(stats.missing / stats.rows)})" if stats.missing else "none missing"
    )
    parts = [missing, counted(stats.distinct, "distinct value")]
    if (means := stats.means) is not None and stats.missing and np.isfinite(means.of_missing):
        mean = percent(means.of_missing) if means.binary else number(means.of_missing)
        parts.append(f"{md(means.name)} where it is missing: {mean}")
    if stats.quantiles.size and stats.kind == "number":
        parts.append(f"mean {stats.say(stats.mean)}, standard deviation {stats.say(stats.deviation)}")
    st.caption(" · ".join(parts))
    if stats.quantiles.size:
        labels = {0.0: "Min", 0.5: "Median", 1.0: "Max"}
        row = {labels.get(q, percent(q, 0)): [stats.say(v)] for q, v in zip(QUANTILES, stats.quantiles, strict=True)}
        st.dataframe(
            pd.DataFrame(row), hide_index=True, column_config=texts_of_numbers(row), alt="Quantiles of the column."
        )
