"""What if a row had other values: a widget per feature, limited to the range seen in training."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from gamcore.data.binning import Bins
from gamcore.data.column_names import Names
from gamcore.data.dates import as_date
from gamcore.explain.curves import Breakdown
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import COUNT, EXACT

MOST_SLIDERS: Final = 2
MISSING: Final = "(missing)"
FINEST_LOCALIZED: Final = 1e-3
"""What numbers with separators are rounded to."""

LARGEST: Final = 2.0**53
"""Upper limit of the numbers of a slider."""


def edit(model: RowModel, row: pd.DataFrame, breakdown: Breakdown, key: str) -> pd.DataFrame:
    """Show a widget per feature, by size of effect, and return the row with the chosen values."""
    by_column = model.bins()
    size = pd.Series(np.abs(breakdown.contributions[0]), breakdown.features)
    order = sorted(by_column, key=lambda column: -float(size.get(column, 0.0)))
    cells = row.iloc[0].to_dict()
    for column in order[:MOST_SLIDERS]:
        cells[column] = _control(by_column[column], model.names, cells[column], f"{key}-{column}")
    if len(order) > MOST_SLIDERS:
        rest = len(order) - MOST_SLIDERS
        with st.expander(f"{rest} more feature{'s' * (rest > 1)}"):
            for column in order[MOST_SLIDERS:]:
                cells[column] = _control(by_column[column], model.names, cells[column], f"{key}-{column}")
    changed = row.copy()
    for column, cell in cells.items():
        if not _same(cell, row.iloc[0][column]):
            changed[column] = pd.Series([cell], index=row.index)
    return changed


def _same(a: Any, b: Any) -> bool:
    return (pd.isna(a) and pd.isna(b)) or (not pd.isna(a) and not pd.isna(b) and a == b)


def _control(bins: Bins, names: Names, cell: Any, key: str) -> Any:
    """Show a widget for a feature, limited to the range seen in training, and return the chosen cell."""
    label = md(names.column(bins.feature.column))
    if bins.feature.is_category:
        levels = list(bins.codes_of_levels)
        shown = str(cell) if pd.notna(cell) else MISSING
        options = [*levels, MISSING] if shown in (*levels, MISSING) else [shown, *levels, MISSING]
        chosen = st.selectbox(
            label, options, options.index(shown), key=key, format_func=partial(names.level, bins.feature.column)
        )
        return cell if chosen == shown else _level(bins, chosen)
    if not bins.n_values or bins.low == bins.high:
        st.caption(f"{label} has only one value in training, so there is nothing to try." if bins.n_values else
                   f"{label} has no value in training, so it has no effect.")  # fmt: skip
        return cell
    if pd.isna(cell):
        if not st.toggle(f"{label} is missing: give it a value", key=f"{key}-given"):
            return cell
        middle = float(np.median(bins.display))
        cell = as_date(middle) if bins.feature.kind == "date" else middle
    if bins.feature.kind == "date":
        low, high = as_date(bins.low).date(), as_date(bins.high).date()
        now = min(max(pd.Timestamp(cell).date(), low), high)
        day: date = st.date_input(label, now, low, high, key=key)
        return cell if day == now else pd.Timestamp(day)
    return _number(bins, label, cell, key)


def _step(span: float) -> float:
    """Return the power of ten that divides a slider into about 200 to 2,000 steps."""
    return float(10.0 ** np.floor(np.log10(max(span, 1e-300) / 200)))


def _number(bins: Bins, label: str, cell: Any, key: str) -> Any:
    """Show a slider over the range seen in training, and return its value; integers stay integers."""
    value, low, high = float(cell), float(bins.low), float(bins.high)
    now = min(max(value, low), high)
    if max(abs(low), abs(high)) >= LARGEST:
        chosen = st.number_input(label, low, high, now, key=key)
    elif all(float(seen).is_integer() for seen in (*bins.display, low, high, value)):
        chosen = st.slider(label, int(low), int(high), int(now), key=key, format=COUNT)
    else:
        step = _step(high - low)
        written = COUNT if step >= FINEST_LOCALIZED else EXACT  # as in the chart beside it
        chosen = st.slider(label, low, high, now, step, key=key, format=written)
    return cell if chosen == now else chosen


def _level(bins: Bins, chosen: str) -> Any:
    """Return a level as the table holds it."""
    if chosen == MISSING:
        return None
    return chosen == "True" if bins.feature.kind == "boolean" else chosen
