"""Which columns a training learns from, and which it leaves out."""

from __future__ import annotations

import streamlit as st

from shapewise.ingest.doctor import CANNOT_KNOW, LATER_WORDS, ColumnReport
from shapewise.ingest.leaks import leaks
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.train.target import Target
from shapewise.ui.train.task_settings import Tasks


@state.kept(copies=True, show_spinner=False, max_entries=64)
def _leaks(table: str, target: str, positive: tuple[str, ...] | None, columns: tuple[str, ...]) -> dict[str, str]:
    return leaks(state.table(table), target, list(positive) if positive else None, list(columns))


def _columns(table: TableAbout, tasks: Tasks) -> dict[str, tuple[ColumnReport, str]]:
    """Return the columns of all training tables, each with its role in the first table that has it."""
    reports: dict[str, tuple[ColumnReport, str]] = {}
    for identifier in dict.fromkeys([table.id, *tasks.tables.values()]):
        about = state.workspace().tables.about(identifier)
        for report in state.reports(identifier):
            reports.setdefault(report.name, (report, about.roles.get(report.name, report.role)))
    return reports


def _key(table: TableAbout, target: Target) -> str:
    return f"out-{table.id}-{target.words}"


def leave_out(table: TableAbout, target: Target, names: set[str]) -> None:
    """Add columns to those that are left out; for the callback of a widget."""
    key = _key(table, target)
    st.session_state[key] = [*st.session_state[key], *sorted(names)]


def choose(table: TableAbout, chosen: Target) -> list[ColumnReport]:
    """Show what is left out, and return the features. Suspects start left out, with the reason."""
    known = _columns(table, chosen.tasks)
    reports = [r for r, _ in known.values() if r.name not in (chosen.target, chosen.tasks.column, chosen.exposure)]
    roles = {name: role for name, (_, role) in known.items()}
    usable = [r for r in reports if r.kind is not None and roles[r.name] in ("feature", "ignore", "target", "task")]
    asked: list[list[str] | None] = [outcome.positive for outcome in chosen.tasks.outcomes] or [chosen.positive]
    if chosen.goal == "classes":
        asked = [[level] for level in chosen.classes or chosen.levels]
    suspects: dict[str, str] = {}
    for identifier in chosen.tasks.tables.values() or [table.id]:
        there = {r.name for r in state.reports(identifier)}
        columns = tuple(r.name for r in usable if roles[r.name] == "feature" and r.name in there)
        for positive in asked:
            suspects |= _leaks(identifier, chosen.target, tuple(positive) if positive else None, columns)
    reasons = {r.name: r.warnings[0] for r in usable if roles[r.name] == "ignore" and r.warnings}
    reasons |= suspects
    out = [r.name for r in usable if roles[r.name] == "ignore" or r.name in suspects]
    out = [] if len(out) == len(usable) else out  # something has to be learnt from: the reasons are told below
    left = st.multiselect(
        "Leave out", [r.name for r in usable], default=out, key=_key(table, chosen),
        format_func=chosen.names.column,
        help="All other columns are features. Columns that look like an ID, copy another, or seem to be known only "
        f"after the outcome start here. {CANNOT_KNOW}",
    )  # fmt: skip
    shown = {name: reason for name, reason in reasons.items() if name in left or not out}
    said = [f"**{md(chosen.names.column(name))}** {md(reason)}" for name, reason in shown.items()]
    if said:
        st.caption("; ".join(said) + ".")
    later = [r.name for r in usable if LATER_WORDS in r.warnings and r.name not in left]
    doubtful = [f"**{md(chosen.names.column(name))}**" for name in later]
    if doubtful:
        it = "it" if len(doubtful) == 1 else "they"
        st.caption(f":material/help: By the name of {', '.join(doubtful)}, {it} may be known only after the outcome.")
    return [r for r in usable if r.name not in left]


def categories(table: TableAbout, chosen: list[ColumnReport]) -> list[str]:
    """Show the choice of features that hold codes, and return it."""
    numbers = [r.name for r in chosen if r.kind == "number" and r.distinct <= 254]
    if not numbers:
        return []
    return st.multiselect(
        "Numbers to treat as categories", numbers, key=f"categories-{table.id}",
        format_func=state.names(table.id).column,
        help="Codes without a meaningful order, such as a region number.",
    )  # fmt: skip
