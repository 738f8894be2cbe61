"""What the doctor found on a page, a line for each; where something can be done about it, one press acts on it and
another undoes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from gamcore.common.numbers import count
from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.columns import TableError
from shapewise.columns.formula import FormulaError
from shapewise.columns.roles import Roles
from shapewise.columns.steps import Retyped, StepError
from shapewise.columns.stored import steps_of
from shapewise.doctor.examine import ColumnReport
from shapewise.doctor.findings import Finding
from shapewise.ingest.types import COMPACT_DATE
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.training import derived
from shapewise.ui.session import current, state
from shapewise.ui.session.words import md

AT_ONCE: Final = 8
"""Findings that are shown before the others are asked for."""

LEFT_OUT: Final = ("leave out", "id", "group")
"""Roles of columns that are no features, but might be."""

Act = Callable[[], None]

Line = tuple[str, str, str, Act | None]
"""A column, what is said of it, what the press is called, and what it does; without a press, None."""


def show(table: TableAbout, reports: list[ColumnReport], roles: Roles) -> None:
    """Show each finding with what can be done about it, those first about which something can. Findings of a column
    with one cure have it once."""
    of_doctor = [_line(table, finding, r, roles) for r in reports for finding in r.findings]
    lines = _once([*of_doctor, *_undoable(table)])
    lines.sort(key=lambda line: line[-1] is None)
    if not lines:
        return
    st.markdown("**What the doctor found**")
    for line in lines[:AT_ONCE]:
        _show(table, *line)
    if len(lines) > AT_ONCE:
        with st.expander(f"{count(len(lines) - AT_ONCE)} more"):
            for line in lines[AT_ONCE:]:
                _show(table, *line)


def _once(lines: list[Line]) -> list[Line]:
    """Return lines with each press of a column only at the first of them that has it."""
    offered, kept = set[tuple[str, str]](), list[Line]()
    for column, words, label, act in lines:
        kept.append((column, words, label, None if (column, label) in offered else act))
        offered.add((column, label))
    return kept


def _show(table: TableAbout, column: str, words: str, label: str, act: Act | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{md(state.names(table.id).column(column))}**: {md(words)}.", width="stretch")
        if act is None:
            return
        pressed = st.button(
            label, key=f"found-{table.id}-{column}-{label}", disabled=not state.mine("tables", table.id)
        )
    if pressed:
        try:
            act()
        except (TableError, StoreError, StepError, FormulaError) as error:
            st.error(md(error), icon=":material/error:")
            return
        st.session_state[f"roles-stored-{table.id}"] = st.session_state.get(f"roles-stored-{table.id}", 0) + 1
        st.rerun()


def _line(table: TableAbout, finding: Finding, report: ColumnReport, roles: Roles) -> Line:
    """Return the line of a finding. What is suspected by its name alone is learned from until somebody leaves it
    out."""
    tables, name = state.workspace().tables, finding.column
    match "leave out" if finding.kind == "later" else finding.cure:
        case "leave out" | "group":
            learnt = roles.by_column[name] == "feature"
            if not learnt and roles.by_column[name] not in LEFT_OUT:  # an outcome, say, which nothing learns from
                return name, finding.words(), "", None
            role = report.role if report.role != "feature" else "leave out"
            label = (
                {"group": "Use as the group", "id": "Leave out"}.get(role, "Leave out")
                if learnt
                else "Use as a feature"
            )
            chosen = (None if report.role == role else role) if learnt else "feature"
            return name, finding.words(), label, partial(tables.change_roles, table.id, {name: chosen})
        case "levels":
            as_levels = table.as_levels.get(name, report.as_levels)
            label = "Read as a number" if as_levels else "Read as levels"
            yes = False if as_levels else None
            return name, finding.words(), label, partial(tables.read_as_levels, table.id, name, yes)
        case "as missing":
            return name, finding.words(), "Read as missing", partial(_set_missing, table, name, finding.values)
        case "as dates":
            return name, finding.words(), "Read as dates", partial(_read_as_days, table, name)
    return name, finding.words(), "", None


def _undoable(table: TableAbout) -> list[Line]:
    """Return what was done about earlier findings, to be undone: codes read as missing, days read as dates."""
    names = state.names(table.id)
    lines: list[Line] = [
        (column, f"{', '.join(codes)} counts as missing", "Read as it is", partial(_set_missing, table, column, ()))
        for column, codes in names.codes().items() if codes
    ]  # fmt: skip
    return lines + [
        (step.column, "its numbers are read as dates", "Read as numbers", partial(_without, table, step.column))
        for step in steps_of(table.steps) if isinstance(step, Retyped) and step.form == COMPACT_DATE
    ]  # fmt: skip


def _set_missing(table: TableAbout, column: str, codes: tuple[str, ...]) -> None:
    """Read codes of a column as missing, beside those that are; none of them without any."""
    names = state.names(table.id)
    own = names.of(column) if column in names.columns else ColumnNames()
    kept = tuple(dict.fromkeys([*own.missing, *codes])) if codes else ()
    state.set_names(table.id, Names({**names.columns, column: replace(own, missing=kept)}))


def _read_as_days(table: TableAbout, column: str) -> None:
    steps = [*steps_of(table.steps), Retyped(column, "date", COMPACT_DATE)]
    newer, notes = derived.keep(state.workspace(), table, steps)
    _open(newer, notes)


def _without(table: TableAbout, column: str) -> None:
    """Go back to the numbers of a column that is read as dates."""
    steps = [step for step in steps_of(table.steps) if not (isinstance(step, Retyped) and step.column == column)]
    newer, notes = derived.keep(state.workspace(), table, steps)
    _open(newer, notes)


def _open(table: TableAbout, notes: list[str]) -> None:
    for sentence in notes:
        st.toast(md(sentence), icon=":material/info:")
    current.open_table(table.id)
