"""Names people use: what columns and levels are called, their units, number formats, and codes that mean missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.data.column_names import FORMS, MOST_LETTERS, ColumnNames, Names
from gamcore.data.columns import Kind, TableError, read_texts
from gamcore.data.table import Table
from gamcore.viz import files as export
from shapewise.columns.dictionary import BETWEEN, codes_in, read_dictionary, write_dictionary
from shapewise.store.workspace import StoreError, TableAbout
from shapewise.training.spec import Spec
from shapewise.ui.session import news, state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import downloads, grid

MOST_LEVELS: Final = 200
FIELDS: Final = ("Shown as", "Unit", "Format", "Means missing")


def show(table: TableAbout) -> None:
    """Show the names of a table's columns and levels, to edit, to load from a dictionary and to download."""
    box = st.expander("Names, units and codes", icon=":material/label:", key=f"names-{table.id}", on_change="rerun")
    if box.open:
        with box:
            _show(table)


def _show(table: TableAbout) -> None:
    st.caption(
        "Names, units and formats are used in every label, plot, report and file, and newer versions of the table keep "
        "them. SQL and code keep the column's own name. Cells with a code that means missing are read as missing."
    )
    rows, names, may = state.table(table.id, {}), state.names(table.id), state.mine("tables", table.id)
    kinds = {name: rows.usable_kind(name) for name in rows.names}
    _columns(table, kinds, names, may)
    _levels(table, rows, names, may)
    _dictionary(table, kinds, names, may)
    _trained_otherwise(table, names)


def _columns(table: TableAbout, kinds: Mapping[str, Kind | None], names: Names, may: bool) -> None:
    """Show one line per column, and store what is changed."""
    start = pd.DataFrame(
        [[name, names.of(name).name, names.of(name).unit, names.of(name).form,
          f"{BETWEEN} ".join(names.of(name).missing)] for name in kinds],
        columns=["Column", *FIELDS],
    )  # fmt: skip
    edited = grid.edit(
        start, f"names-columns-{table.id}", hide_index=True, disabled=["Column"] if may else list(start.columns),
        height=min(38 + 35 * len(start), 420), alt="One line per column: its name, unit, format and codes.",
        column_config={
            "Shown as": st.column_config.TextColumn(max_chars=MOST_LETTERS, help="Empty: the column's own name."),
            "Unit": st.column_config.TextColumn(max_chars=20, width="small", help="Such as EUR, years or km."),
            "Format": st.column_config.SelectboxColumn(
                options=list(FORMS), required=True, width="small",
                help="How its numbers are written. Percent: .25 is 25%.",
            ),
            "Means missing": st.column_config.TextColumn(
                max_chars=200, help="Codes such as -1; 99. A model keeps the codes that it was trained with.",
            ),
        },
    )  # fmt: skip
    try:
        changed = {str(line["Column"]): _edited(names, line, kinds) for _, line in edited.iterrows()}
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return
    _keep(table, Names({**names.columns, **changed}), names)


def _edited(names: Names, line: pd.Series, kinds: Mapping[str, Kind | None]) -> ColumnNames:
    """Return the names of one column as edited."""
    column = str(line["Column"])
    name, unit, form, codes = ("" if pd.isna(line[field]) else str(line[field]).strip() for field in FIELDS)
    missing = codes_in(codes, column, kinds[column]) if codes else ()
    known = next(form_name for form_name in FORMS if form_name == (form or "automatic"))
    return replace(names.of(column), name="" if name == column else name, unit=unit, form=known, missing=missing)


def _levels(table: TableAbout, rows: Table, names: Names, may: bool) -> None:
    """Show the levels of a chosen column, and store what they are called."""
    there = {name: levels for name in rows.names if (levels := _levels_of(rows, name))}
    if not there:
        return
    before = st.session_state.get(f"names-levels-of-{table.id}")
    column = st.selectbox(
        "Levels of", list(there), list(there).index(before) if before in there else 0, format_func=names.column,
        key=_key(table, "column"),  # the browser would keep the name that the column had
    )  # fmt: skip
    st.session_state[f"names-levels-of-{table.id}"] = column
    own = names.of(column)
    start = pd.DataFrame({"Level": there[column], "Shown as": [own.levels.get(level, "") for level in there[column]]})
    edited = grid.edit(
        start, f"names-levels-{column}-{table.id}", hide_index=True, disabled=["Level"] if may else list(start.columns),
        height=min(38 + 35 * len(start), 320), alt="One line per level: what it is called.",
        column_config={"Shown as": st.column_config.TextColumn(max_chars=MOST_LETTERS)},
    )  # fmt: skip
    shown = {
        str(level): str(name).strip()
        for level, name in zip(edited["Level"], edited["Shown as"], strict=True)
        if not pd.isna(name) and str(name).strip() not in ("", level)
    }
    twice = next((name for level, name in shown.items() if name in there[column] and name not in shown), None)
    if twice is not None:
        st.error(f"Two levels would be shown as {md(twice)}: rename one.", icon=":material/error:")
        return
    elsewhere = {level: name for level, name in own.levels.items() if level not in there[column]}
    _keep(table, Names({**names.columns, column: replace(own, levels=elsewhere | shown)}), names)


def _levels_of(rows: Table, name: str) -> list[str]:
    """Return the levels of a category, or the values of a number that has few; empty for other columns."""
    kind, series = rows.usable_kind(name), rows.frame[name]
    if kind not in ("category", "boolean", "number") or (kind == "number" and series.nunique() > 12):
        return []
    codes, levels = read_texts(series)
    often = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(levels)), kind="stable")
    return [levels[k] for k in often[:MOST_LEVELS]]


def _dictionary(table: TableAbout, kinds: Mapping[str, Kind | None], names: Names, may: bool) -> None:
    """Offer the names as a file, and take them from one."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        downloads.button(
            "Dictionary as CSV", lambda: write_dictionary(names, list(kinds)),
            export.file_name(table.name, "dictionary", "csv"), f"dictionary-{table.id}", ":material/download:",
        )  # fmt: skip
    file = st.file_uploader(
        "Load a data dictionary", type=["csv"], key=_key(table, "dictionary"), disabled=not may,
        help="A CSV file with a line per column or level: column, label, unit, format, missing, level, level label.",
    )  # fmt: skip
    if file is None:
        return
    try:
        names_read, strange = read_dictionary(file.getvalue(), names, kinds)
    except TableError as error:
        st.error(md(error), icon=":material/error:")
        return
    if strange:
        news.tell(f"Not in this table: {md(', '.join(strange[:5]))}.")
    _keep(table, names_read, names, always=True)


def _key(table: TableAbout, what: str) -> str:
    """Return a key of a widget that starts anew once names are stored."""
    return f"names-{what}-{table.id}-{st.session_state.get(f'names-stored-{table.id}', 0)}"


def _keep(table: TableAbout, after: Names, before: Names, always: bool = False) -> None:
    """Store names that differ from those before, and draw the page again."""
    if after.to_dict() == before.to_dict() and not always:
        return
    try:
        state.set_names(table.id, after)
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    st.session_state[f"names-stored-{table.id}"] = st.session_state.get(f"names-stored-{table.id}", 0) + 1
    st.rerun()


def _trained_otherwise(table: TableAbout, names: Names) -> None:
    """Say which models were trained when other codes meant missing."""
    now = {column: list(codes) for column, codes in names.codes().items()}
    others = []
    for model in state.workspace().models.listed():
        if model.table != table.id or not model.spec:
            continue
        spec = Spec.from_dict(model.spec)
        used = {
            *spec.features,
            spec.target,
            *spec.filter_columns(),
            *filter(None, (spec.weight, spec.group, spec.time, spec.treatment.arm if spec.treatment else None)),
        }
        then = spec.codes_of(table.id) or {}
        if {name: then.get(name) for name in used} != {name: now.get(name) for name in used}:
            others.append(model.name)
    if others:
        named = ", ".join(f"*{md(name)}*" for name in others[:5]) + (
            f" and {len(others) - 5} more" if len(others) > 5 else ""
        )
        st.warning(
            f"Trained when other codes meant missing: {named}. They keep reading the table as they did then: train "
            "again to use the codes above.", icon=":material/warning:",
        )  # fmt: skip
