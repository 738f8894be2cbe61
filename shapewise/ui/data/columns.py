"""The columns of a table, what each is for, and what the doctor says of them."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from shapewise.columns.roles import ONCE, ROLES, Role, Roles, as_role
from shapewise.doctor.examine import CANNOT_KNOW, ColumnReport
from shapewise.store.workspace import TableAbout
from shapewise.ui.data import findings
from shapewise.ui.session import state
from shapewise.ui.widgets import questions
from shapewise.ui.widgets.columns import COUNT, SHARE

KINDS: Final = {"number": "number", "boolean": "yes or no", "date": "date", "category": "category", None: "unusable"}
ASKED_HERE: Final[tuple[Role, ...]] = ("target", "exposure")


def edit(table: TableAbout) -> None:
    """Show the columns with their roles, which can be changed, and what the doctor found."""
    asked: list[Role] = [role for role in ASKED_HERE if state.roles(table.id).question(role) is not None]
    if asked and not any(model.table == table.id for model in state.workspace().models.listed()):  # a training answers
        for role in asked:
            questions.ask(table, role)
    reports, roles = state.reports(table.id), state.roles(table.id)
    shown = _frame(table, reports, roles)
    edited = st.data_editor(
        shown,
        key=_key(table),
        hide_index=True,
        height=min(38 + 35 * len(shown), 600),
        disabled=[c for c in shown.columns if c != "Role" or not state.mine("tables", table.id)],
        column_config={
            "Missing": st.column_config.NumberColumn(format=SHARE, width="small"),
            "Distinct": st.column_config.NumberColumn(format=COUNT, width="small"),
            "Distribution": st.column_config.BarChartColumn(
                width=80, y_min=0, help="Row counts over the range, or per level."
            ),
            "Role": st.column_config.SelectboxColumn(
                options=list(ROLES),
                required=True,
                help="What the column is for. Outcome: another result, which is no feature. Arm: who got what in a "
                "test. Exposure: what counts are divided by, such as years insured. ID: the name of a row. Group: rows "
                "that belong together, such as one customer's, are held out together. Time: the latest rows are held "
                "out. Task: each value is a task of its own, learned with the others. What is held out is fixed by a "
                "table's first training.",
            ),
            "Why": st.column_config.TextColumn(width=260, help="Why it has this role; of a feature, why this type."),
        },
        alt="One row per column: its type, role and the reason, missing share, distinct values, distribution.",
    )
    st.caption(CANNOT_KNOW)
    if _keep(table, shown["Role"].tolist(), edited["Role"].tolist(), [r.name for r in reports]):
        st.rerun()
    findings.show(table, reports, roles)


def _key(table: TableAbout) -> str:
    """Return a key of the editor that starts anew once roles are stored: it keeps edits of its first data."""
    return f"doctor-{table.id}-{st.session_state.get(f'roles-stored-{table.id}', 0)}"


def _frame(table: TableAbout, reports: list[ColumnReport], roles: Roles) -> pd.DataFrame:
    kinds = {r.name: "codes" if r.kind == "number" and r.has("levels") else KINDS[r.kind] for r in reports}
    kinds |= {r.name: "yes or no" for r in reports if r.has("yes or no")}
    kinds |= {
        name: "codes" if yes else "number" for name, yes in table.as_levels.items() if kinds.get(name) != "category"
    }
    return pd.DataFrame(
        {
            "Column": [r.name for r in reports],
            "Type": [kinds[r.name] for r in reports],
            "Role": [roles.by_column[r.name] for r in reports],
            "Missing": [r.missing for r in reports],
            "Distinct": [r.distinct for r in reports],
            "Distribution": [r.histogram for r in reports],
            "Examples": [r.example for r in reports],
            "Why": [_why(table, r, roles) for r in reports],
        }
    )


def _why(table: TableAbout, report: ColumnReport, roles: Roles) -> str:
    """Return why a column has its role, or its type; what the doctor found is said below the table."""
    if report.name in table.roles:
        return "chosen"
    return roles.why.get(report.name, "") or ("see below" if report.warnings else report.why)


def _keep(table: TableAbout, before: list[str], after: list[str], names: list[str]) -> bool:
    """Store the roles that were changed here, and return whether any was: others may have been changed meanwhile. A
    role that only one column can have moves to the one that was given it last."""
    edits = {name: as_role(role) for name, role, was in zip(names, after, before, strict=True) if role != was}
    if not edits:
        return False
    guessed = state.roles(table.id, False).by_column
    moved = {name: None for name, role in table.roles.items() if role in ONCE and role in edits.values()}
    changes = moved | {name: None if role == guessed[name] else role for name, role in edits.items()}
    state.workspace().tables.change_roles(table.id, changes)
    st.session_state[f"roles-stored-{table.id}"] = st.session_state.get(f"roles-stored-{table.id}", 0) + 1
    return True
