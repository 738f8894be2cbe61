"""The columns of a table, as the doctor sees them, and what each is for."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from shapewise.ingest.doctor import CANNOT_KNOW, ColumnReport
from shapewise.store.workspace import TableAbout
from shapewise.ui.session import state
from shapewise.ui.widgets.columns import COUNT, SHARE

ONCE = ("target", "task", "weight", "group", "time", "exposure")
"""Roles that only one column can have."""


def edit(table: TableAbout) -> None:
    """Show the columns with their roles, which can be changed."""
    reports = state.reports(table.id)
    editor = f"doctor-{table.id}"
    if editor not in st.session_state:
        # The editor stores edits relative to its initial data, and would lose them if that data changed.
        st.session_state[f"{editor}-began"] = table.roles
    shown = _frame(reports, st.session_state[f"{editor}-began"])
    edited = st.data_editor(
        shown,
        key=editor,
        hide_index=True,
        height=min(38 + 35 * len(shown), 600),
        disabled=[c for c in shown.columns if c != "Role" or not state.mine("tables", table.id)],
        column_config={
            "Missing": st.column_config.NumberColumn(format=SHARE, width="small"),
            "Distinct": st.column_config.NumberColumn(format=COUNT, width="small"),
            "Distribution": st.column_config.BarChartColumn(
                width=100, y_min=0, help="Row counts over the range, or per level."
            ),
            "Role": st.column_config.SelectboxColumn(
                options=["feature", "target", "ignore", "task", "weight", "group", "time", "exposure"],
                required=True,
                help="What the column is for. Task: each value is a task of its own, learned with the others. Group: "
                "rows that belong together, such as one customer's, are held out together. Time: the latest rows are "
                "held out. Exposure: what counts are divided by, such as years insured. What is held out is fixed by a "
                "table's first training.",
            ),
            "Notes": st.column_config.TextColumn(width="medium", help="Possible problems with the column."),
        },
        alt="One row per column: its type, missing share, distinct values, distribution, role and notes.",
    )
    st.caption(CANNOT_KNOW)
    _apply(table, reports, shown["Role"].tolist(), edited["Role"].tolist())


def _frame(reports: list[ColumnReport], roles: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Column": [r.name for r in reports],
            "Type": [r.kind or "unusable" for r in reports],
            "Role": [roles.get(r.name, r.role) for r in reports],
            "Missing": [r.missing for r in reports],
            "Distinct": [r.distinct for r in reports],
            "Distribution": [r.histogram for r in reports],
            "Notes": ["; ".join(r.warnings) for r in reports],
            "Examples": [r.example for r in reports],
            "Why this type": [r.why for r in reports],
        }
    )


def _apply(table: TableAbout, reports: list[ColumnReport], before: list[str], after: list[str]) -> None:
    """Store the roles that were changed here: another user may have changed others meanwhile."""
    applied_by = f"doctor-{table.id}-applied"
    edits = {r.name: role for r, role, was in zip(reports, after, before, strict=True) if role != was}
    applied = st.session_state.get(applied_by, {})
    if edits == applied:
        return
    usual = {r.name: r.role for r in reports}
    began = dict(zip(usual, before, strict=True))
    changed = {name: edits.get(name, began[name]) for name in {*applied, *edits}}
    once = [role for role in (usual | table.roles | changed).values() if role in ONCE]
    if len(once) != len(set(once)):
        st.error(
            f"Two columns have the same role, and only one can be the {', '.join(ONCE[:-1])} or {ONCE[-1]}: change one."
        )
        return
    state.workspace().tables.change_roles(
        table.id, {name: None if role == usual[name] else role for name, role in changed.items()}
    )
    st.session_state[applied_by] = edits
