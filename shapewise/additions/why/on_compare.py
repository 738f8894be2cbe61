"""The way on Compare: two tables, or two parts of the model's own table by a column or by a rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import streamlit as st

from gamcore.decide.rules import EVERYBODY
from shapewise.additions.why import parts, result, tables
from shapewise.additions.why.question import Group, Question
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import counted, date, told_apart
from shapewise.ui.widgets import rule_builder, versions

GROUPS: Final = {"tables": "Two tables", "parts": "Parts by a column", "rule": "A rule and the rest"}


def draw(now: InView) -> None:
    """Show the choice of two groups, and why they differ."""
    model = now.model
    assert model is not None
    ways: dict[str, Callable[[], None]] = {
        "tables": lambda: _two_tables(model, now), "parts": lambda: parts.draw(model), "rule": lambda: _by_rule(model),
    }  # fmt: skip
    if not versions.others(model):
        del ways["tables"]
    way = st.segmented_control(
        "Groups", list(ways), default=next(iter(ways)), required=True, format_func=GROUPS.__getitem__,
        key=f"why-groups-{model.id}", persist_state="session",
    )  # fmt: skip
    ways[way]()


def _two_tables(model: ModelAbout, now: InView) -> None:
    """Show the choice of a table beside the model's own."""
    others = {table.id: table for table in versions.others(model)}
    labels = told_apart({table.id: f"{table.name}, {date(table.created)}, {counted(table.rows, 'row')}"
                         for table in others.values()})  # fmt: skip
    chosen = st.selectbox("Beside the table of the model", list(labels), format_func=labels.__getitem__,
                          key=f"why-table-{model.id}")  # fmt: skip
    result.show(model, tables.between(model, others[chosen], now.project))


def _by_rule(model: ModelAbout) -> None:
    """Show the fields of a rule; the rows that it leaves are the first group."""
    key = f"why-rule-{model.id}"
    if key not in st.session_state:
        rule_builder.begin(key, None)
    rule = rule_builder.edit(key, model.table)
    if rule is None or rule == EVERYBODY:
        st.caption("Say which rows are asked about: they are compared with all others.")
        return
    text = json.dumps(rule.to_dict())
    rest = Group("all others", model.table, text, rest=True)
    result.show(model, Question(model.id, rest, Group(rule.words(state.names(model.table)), model.table, text)))
