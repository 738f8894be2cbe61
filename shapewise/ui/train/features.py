"""Which columns a training learns from, and which it leaves out."""

from __future__ import annotations

from typing import Final

import streamlit as st

from shapewise.columns.roles import Role
from shapewise.doctor.examine import CANNOT_KNOW, ColumnReport
from shapewise.doctor.leaks import Leak, leaks
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.train.begun import Begun
from shapewise.ui.train.target import Target
from shapewise.ui.train.task_settings import Tasks

NOT_LEARNT: Final = ("leave out", "id", "outcome")
"""Roles of columns that start left out."""


@state.kept(copies=True, show_spinner=False, max_entries=64)
def _leaks(table: str, target: str, positive: tuple[str, ...] | None, columns: tuple[str, ...]) -> dict[str, Leak]:
    return leaks(state.table(table), target, list(positive) if positive else None, list(columns))


def _columns(table: TableAbout, tasks: Tasks) -> dict[str, tuple[ColumnReport, Role]]:
    """Return the columns of all training tables, each with its role in the first table that has it.

    What is only guessed to be an outcome is a feature: for another target it may be what people did before."""
    reports: dict[str, tuple[ColumnReport, Role]] = {}
    for identifier in dict.fromkeys([table.id, *tasks.tables.values()]):
        roles, chosen = state.roles(identifier), state.workspace().tables.about(identifier).roles
        for report in state.reports(identifier):
            role = roles.by_column[report.name]
            is_guess = role == "outcome" and report.name not in chosen
            reports.setdefault(report.name, (report, "feature" if is_guess else role))
    return reports


def _key(table: TableAbout, target: Target) -> str:
    return f"out-{table.id}-{target.words}"


def leave_out(table: TableAbout, target: Target, names: set[str]) -> None:
    """Add columns to those that are left out; for the callback of a widget."""
    key = _key(table, target)
    st.session_state[key] = [*st.session_state[key], *sorted(names)]


def choose(table: TableAbout, chosen: Target, begun: Begun | None) -> list[ColumnReport]:
    """Show what is left out, and return the features. Suspects start left out, with the reason. begun : what the form
    began with, whose features then start as features, and of the columns it knows no others."""
    known = _columns(table, chosen.tasks)
    reports = [r for r, _ in known.values() if r.name not in (chosen.target, chosen.tasks.column, chosen.exposure)]
    roles = {name: role for name, (_, role) in known.items()}
    apart = {"weight", "group", "time"}
    # A column that is only guessed to be the exposure may be learnt from.
    divides = {name for name, role in table.roles.items() if role == "exposure"}
    usable = [r for r in reports if r.kind is not None and roles[r.name] not in apart and r.name not in divides]
    asked: list[list[str] | None] = [outcome.positive for outcome in chosen.tasks.outcomes] or [chosen.positive]
    if chosen.goal == "classes":
        asked = [[level] for level in chosen.classes or chosen.levels]
    suspects: dict[str, Leak] = {}
    for identifier in chosen.tasks.tables.values() or [table.id]:
        there = {r.name for r in state.reports(identifier)}
        columns = tuple(r.name for r in usable if roles[r.name] not in NOT_LEARNT and r.name in there)
        for positive in asked:
            suspects |= _leaks(identifier, chosen.target, tuple(positive) if positive else None, columns)
    reasons = {r.name: _reason(r, roles[r.name]) for r in usable if roles[r.name] in NOT_LEARNT}
    reasons |= {name: leak.words() for name, leak in suspects.items() if leak.sure}
    out = [r.name for r in usable if r.name in reasons]
    if begun is not None and begun.spec.target == chosen.target:
        new = {name for name in out if name not in begun.knows}
        out = [r.name for r in usable if r.name in new or r.name in begun.knows - {*begun.spec.features}]
    out = [] if len(out) == len(usable) else out  # something has to be learnt from: the reasons are told below
    left = st.multiselect(
        "Leave out", [r.name for r in usable], default=out, key=_key(table, chosen),
        format_func=chosen.names.column,
        help="All other columns are features. Columns that look like an ID, copy another, or seem to be known only "
        f"after the outcome start here. {CANNOT_KNOW}",
    )  # fmt: skip
    shown = {name: reason for name, reason in reasons.items() if name in left or not out}
    left_out = [f"**{md(chosen.names.column(name))}** {md(reason)}" for name, reason in shown.items()]
    if left_out:
        st.caption("; ".join(left_out) + ".")
    learnt = [r for r in usable if r.name not in left]
    later = [r.name for r in learnt if r.has("later")]
    doubtful = [f"**{md(chosen.names.column(name))}**" for name in later]
    if doubtful:
        it = "it" if len(doubtful) == 1 else "they"
        st.caption(f":material/help: By the name of {', '.join(doubtful)}, {it} may be known only after the outcome.")
    strong = [r.name for r in learnt if r.name in suspects and not suspects[r.name].sure]
    for name in strong:
        st.caption(f":material/help: **{md(chosen.names.column(name))}** {md(suspects[name].words())}.")
    return learnt


def _reason(report: ColumnReport, role: Role) -> str:
    """Return why a column starts left out: what the doctor says, or the role that it has."""
    reasons = [finding.words() for finding in report.findings if finding.cure in ("leave out", "group")]
    return reasons[0] if reasons else f"has the role {role} on Data"


def categories(table: TableAbout, chosen: list[ColumnReport], begun: Begun | None) -> list[str]:
    """Show the choice of features that hold codes, and return it. What the doctor sees as codes, or yes and no, starts
    among them, or those of what the form began with."""
    numbers = [r.name for r in chosen if r.kind == "number"]
    if not numbers:
        return []
    usual = [r.name for r in chosen if r.name in numbers and table.as_levels.get(r.name, r.as_levels)]
    if begun is not None:
        known = {*begun.spec.features}
        usual = [name for name in numbers if name in (begun.spec.categories if name in known else usual)]
    return st.multiselect(
        "Numbers to treat as categories", numbers, usual, key=f"categories-{table.id}-{'|'.join(usual)}",
        format_func=state.names(table.id).column,
        help="Codes without a meaningful order, such as a region number, and yes or no.",
    )  # fmt: skip
