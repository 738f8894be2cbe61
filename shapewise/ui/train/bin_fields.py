"""Form fields for bins of one's own: on Train for one feature after another, beside a curve for its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.data.column_names import Names
from gamcore.data.columns import Kind, TableError
from gamcore.data.table import Table, levels_of
from shapewise.store.workspace import TableAbout
from shapewise.training.by_feature import BINS, values_of, with_values
from shapewise.training.chosen_bins import cuts_in, text_of, words
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, md
from shapewise.ui.widgets.columns import COUNT

BEGINS: Final = "Begins at"
ROWS: Final = "Rows in it"
HELP: Final = (
    "Of a number or date, the values at which bins begin; of a category, levels that count as one. The curve has "
    "exactly these bins. Live shows what they cost in held-out rows."
)


@dataclass(frozen=True)
class Cut:
    """A feature whose bins can be chosen: its column in a table, and its kind."""

    name: str
    kind: Kind
    table: Table

    @property
    def cells(self) -> pd.Series:
        """Its cells."""
        return self.table.frame[self.name]

    @property
    def levels(self) -> Sequence[str]:
        """Its levels, of a category."""
        return levels_of(self.table, self.name)


def of_table(table: Table, names: Sequence[str], categories: Sequence[str]) -> list[Cut]:
    """Return the columns of a table whose bins can be chosen. categories : those read as such whatever their type."""
    kinds = {name: "category" if name in categories else table.usable_kind(name) for name in names}
    return [Cut(name, kind, table) for name, kind in kinds.items() if kind in ("number", "date", "category")]


def choose(about: TableAbout, features: list[Cut]) -> dict[str, Any]:
    """Show the fields of a form, and return the chosen bins of every feature that has some."""
    named, key = state.names(about.id), f"own-bins-{about.id}"
    known = {feature.name: feature for feature in features}
    kept: dict[str, Any] = {name: bins for name, bins in st.session_state.get(key, {}).items() if name in known}
    asked = st.selectbox(
        "Bins of your own for", list(known), None, format_func=named.column, key=f"{key}-of", help=HELP,
        placeholder="Choose a feature",
    )  # fmt: skip
    if asked is not None:
        kept[asked] = _edited(f"{key}-{asked}", known[asked], kept.get(asked, []), named)
    kept = {name: bins for name, bins in kept.items() if bins}
    st.session_state[key] = kept
    if kept:
        st.caption(md(f"Own bins: {words({BINS: kept}, named)}."))
    return kept


def take(table: str, changes: dict[str, Any]) -> None:
    """Put chosen bins into the form. Call it in a callback, before the fields are drawn."""
    st.session_state[f"own-bins-{table}"] = values_of(changes, BINS)
    st.session_state.pop(f"own-bins-{table}-of", None)


def of_curve(key: str, spec: Spec, feature: Cut, names: Names) -> Spec:
    """Show the chosen bins of one feature, and return the specification with them."""
    chosen = values_of(spec.changes, BINS)
    edited = _edited(f"bins-{key}-{feature.name}", feature, chosen.get(feature.name, []), names)
    return replace(spec, changes=with_values(spec.changes, BINS, chosen | {feature.name: edited}))


def _edited(key: str, feature: Cut, chosen: list[Any], names: Names) -> list[Any]:
    """Show the bins of a feature for editing, and return them."""
    return _groups(key, feature, chosen, names) if feature.kind == "category" else _cuts(key, feature, chosen)


def _cuts(key: str, feature: Cut, chosen: list[Any]) -> list[Any]:
    """Show a field for cuts, and a table of the bins that begin there; return the cuts, dates as text."""
    is_date = feature.kind == "date"
    if key not in st.session_state:
        st.session_state[key] = text_of(chosen)
    typed = st.text_input(
        "Bins begin at", key=key, help=HELP, placeholder="2024-01-01, 2024-07-01" if is_date else "18, 25, 35, 50, 65"
    )
    try:
        cuts = cuts_in(typed, is_date)
    except TableError as error:
        st.error(md(str(error)), icon=":material/error:")
        return chosen
    if cuts:
        _table(key, feature, cuts)
    return cuts


def _table(key: str, feature: Cut, cuts: list[Any]) -> None:
    """Show cuts as a table with the rows of each bin; what is typed there goes into the field above."""
    is_date, editor = feature.kind == "date", f"{key}-table-{hash(tuple(cuts))}"
    cells = pd.to_datetime(feature.cells) if is_date else feature.cells.astype("float64")
    begins = pd.Series(pd.to_datetime(cuts) if is_date else cuts)
    places = np.searchsorted(begins.to_numpy(), cells.dropna().to_numpy(), side="right")
    rows = np.bincount(places, minlength=len(cuts) + 1)

    def take() -> None:
        edits: Any = st.session_state[editor]
        values: list[Any] = list(cuts)
        for place, edit in edits["edited_rows"].items():
            values[int(place)] = edit.get(BEGINS)
        values += [row.get(BEGINS) for row in edits["added_rows"]]
        left = {value for k, value in enumerate(values) if k not in edits["deleted_rows"] and value is not None}
        st.session_state[key] = text_of(sorted(str(cut)[:10] if is_date else float(cut) for cut in left))

    column = st.column_config.DateColumn(BEGINS) if is_date else st.column_config.NumberColumn(BEGINS)
    st.data_editor(
        pd.DataFrame({BEGINS: begins, ROWS: rows[1:]}), num_rows="dynamic", hide_index=True, width=320,
        column_config={BEGINS: column, ROWS: st.column_config.NumberColumn(disabled=True, format=COUNT)},
        key=editor, on_change=take, alt="Where each bin begins, and its rows.",
    )  # fmt: skip
    st.caption(f"{counted(rows[0], 'row', 'lies', 'lie')} below the first.")


def _groups(key: str, feature: Cut, chosen: list[list[str]], names: Names) -> list[list[str]]:
    """Show a field per group of levels, and an empty one; return the groups of more than one level."""
    groups: list[list[str]] = []
    levels = feature.levels
    for k in range(len(levels)):
        taken = {level for group in groups for level in group}
        free = [level for level in levels if level not in taken]
        slot = f"{key}-{k}"
        default = [level for level in (chosen[k] if k < len(chosen) else []) if level in free]
        if slot in st.session_state:
            st.session_state[slot] = [level for level in st.session_state[slot] if level in free]
        group = st.multiselect(
            "Levels that count as one", free, None if slot in st.session_state else default, key=slot,
            format_func=lambda level: names.level(feature.name, level),
            label_visibility="collapsed" if k else "visible", help=HELP, placeholder="Choose two levels or more",
        )  # fmt: skip
        if len(group) < 2:
            break
        groups.append(group)
    return groups
