"""A rule editor: groups of conditions, with AND within a group, OR between groups, and NOT on a condition."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import date
from functools import partial

import streamlit as st

from gamcore.common.numbers import counted
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError, read_present_texts
from gamcore.data.dates import as_date, day_number
from gamcore.data.table import Table
from gamcore.decide.rules import EVERYBODY, All, AnyOf, Levels, Missing, Not, Range, Rule, RuleError, both, either
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import EXACT

Condition = Range | Levels | Missing
MOST_LEVELS = 200
RANGE, MISSING = "in a range", "missing"


@dataclass(frozen=True)
class ConditionRow:
    """One condition being edited, with an id for its widgets."""

    id: str
    rule: Condition | None = None
    inverted: bool = False


def groups_of(rule: Rule) -> list[list[ConditionRow]] | None:
    """Return a rule as groups of conditions; None if it nests deeper."""
    groups = []
    for group in rule.rules if isinstance(rule, AnyOf) else (rule,):
        lines = []
        for condition in group.rules if isinstance(group, All) else (group,):
            inner = condition.rule if isinstance(condition, Not) else condition
            if not isinstance(inner, Range | Levels | Missing):
                return None
            lines.append(ConditionRow(secrets.token_hex(4), inner, isinstance(condition, Not)))
        groups.append(lines)
    return groups


def begin(key: str, rule: Rule | None) -> None:
    """Start from a rule, or from an empty condition."""
    lines = groups_of(rule) if rule is not None and rule != EVERYBODY else None
    st.session_state[key] = lines or [[ConditionRow(secrets.token_hex(4))]]


def edit(key: str, table: str) -> Rule | None:
    """Show the fields of a rule that `begin` started; return the rule once every condition is complete, else None."""
    groups: list[list[ConditionRow]] = st.session_state[key]
    parts, whole = [], True
    for k, group in enumerate(groups):
        if k:
            st.markdown("**or**")
        with st.container(border=True):
            rules = []
            for n, line in enumerate(group):
                if n:
                    st.caption("and")
                rule = _line(key, table, line)
                whole &= rule is not None
                rules += [rule] if rule is not None else []
            st.button("And", icon=":material/add:", key=f"{key}-and-{k}", on_click=_add, args=(key, k), type="tertiary")
            parts.append(both(rules))
    st.button("Or", icon=":material/add:", key=f"{key}-or", on_click=_add, args=(key, None), type="tertiary")
    if (
        len(groups) == len(groups[0]) == 1
        and not parts[0].columns
        and st.session_state.get(_column(key, groups[0][0])) is None
    ):
        st.caption("No condition: all rows.")
        return EVERYBODY
    return either(parts) if whole else None


def _add(key: str, group: int | None) -> None:
    groups = [list(lines) for lines in st.session_state[key]]
    if group is None:
        groups.append([ConditionRow(secrets.token_hex(4))])
    else:
        groups[group].append(ConditionRow(secrets.token_hex(4)))
    st.session_state[key] = groups


def _remove(key: str, identifier: str) -> None:
    groups = [[line for line in lines if line.id != identifier] for lines in st.session_state[key]]
    st.session_state[key] = [lines for lines in groups if lines] or [[ConditionRow(secrets.token_hex(4))]]


def _column(key: str, line: ConditionRow) -> str:
    return f"{key}-{line.id}-column"


def _line(key: str, table: str, line: ConditionRow) -> Rule | None:
    """Show the fields of one condition, and return it; None while incomplete."""
    rows, own = state.table(table), f"{key}-{line.id}"
    names, shown = rows.names, state.names(table)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        known = line.rule.column if line.rule is not None and line.rule.column in names else None
        column = st.selectbox(
            "Column", names, names.index(known) if known else None, key=_column(key, line), width=220,
            format_func=shown.column,
        )  # fmt: skip
        rule: Rule | None = None
        if column is not None:
            was = line.rule if line.rule is not None and line.rule.column == column else None
            try:
                rule = _values(f"{own}-{column}", rows, column, was, shown)
            except (TableError, RuleError) as error:
                st.caption(md(error))
            inverted = st.checkbox("not", line.inverted, key=f"{own}-not")
            rule = Not(rule) if rule is not None and inverted else rule
        st.button(
            "", icon=":material/close:", key=f"{own}-remove", on_click=_remove, args=(key, line.id), type="tertiary",
            help="Remove this condition",
        )  # fmt: skip
    return rule


def _values(key: str, table: Table, name: str, was: Condition | None, shown: Names) -> Condition | None:
    """Show the fields for a column's values, and return the condition; None while incomplete."""
    kind, series = table.kind(name), table.frame[name]
    ways = [RANGE if kind in ("number", "date") else "one of", MISSING]
    if kind == "number" and series.nunique() <= MOST_LEVELS:
        ways.append("one of")
    usual = MISSING if isinstance(was, Missing) else "one of" if isinstance(was, Levels) else ways[0]
    way = st.selectbox("is", ways, ways.index(usual) if usual in ways else 0, key=f"{key}-way", width=140)
    if way == MISSING:
        return Missing(name)
    if way == "one of":
        listed = sorted(read_present_texts(series)[1])
        kept = list(was.levels) if isinstance(was, Levels) else []  # also levels that this table lacks
        if len(listed) > MOST_LEVELS:
            st.caption(f"The {MOST_LEVELS} most frequent of {counted(len(listed), 'level')}.")
            listed = [str(level) for level in series.astype("string").value_counts().index[:MOST_LEVELS]]
        listed += [level for level in kept if level not in listed]
        chosen = st.multiselect("Levels", listed, kept, key=f"{key}-levels", format_func=partial(shown.level, name))
        return Levels(name, tuple(chosen)) if chosen else None
    before = was if isinstance(was, Range) else None
    usual_ends = (before.low, before.high) if before else (None, None)
    low_in, high_in = (before.low_in or before.low is None, before.high_in) if before else (True, False)
    labels = (("above", "at least")[low_in], ("below", "at most")[high_in])
    ends = [_end(key, label, end, kind == "date") for label, end in zip(labels, usual_ends, strict=True)]
    if ends == [None, None]:
        return None
    return Range(name, ends[0], ends[1], low_in, high_in, date=kind == "date")


def _end(key: str, label: str, end: float | None, is_date: bool) -> float | None:
    if is_date:
        day = as_date(end).date() if end is not None else None
        day_now = st.date_input(label, day, key=f"{key}-{label}", min_value=date.min, max_value=date.max, width=150)
        if day_now is None or day_now == day:
            return end
        return day_number(day_now)
    return st.number_input(label, value=end, key=f"{key}-{label}", format=EXACT, placeholder="open", width=150)
