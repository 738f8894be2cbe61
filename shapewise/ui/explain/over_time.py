"""Drift over time on a page: means by period, drift of features, and a link to curves refitted by period."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype

from gamcore.estimators.base import loss_of
from gamcore.stats import metrics as quality
from gamcore.stats import plots
from gamcore.stats.feature_drift import drift
from shapewise.places import PAGES
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.partitions import periods
from shapewise.training.task_dataset import predicted
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, md
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.columns import METRIC, PERCENT, hundredfold

LOOK, STRONG = 0.1, 0.25
TWICE = 2.0
"""Stability indices from which a shift is worth a look (LOOK) and strong (STRONG), and the least multiple of the index
expected by chance (TWICE)."""


Moved = tuple[pd.DataFrame, list[str], float | None, pd.DataFrame]


@state.kept(show_spinner="Predicting all rows", max_entries=4)
def moved(model: str, column: str) -> Moved | None:
    """Return the means by period, the periods' names, where the held-out rows begin, and the drift of features.

    None if there are fewer than two periods.
    """
    about = state.workspace().models.about(model)
    data, estimator = state.data(about), state.estimator(model)
    assert data is not None
    codes, names = periods(state.table(about.table).take(data.X.index, [column]), column)
    known = codes >= 0
    if np.unique(codes[known]).size < 2:
        return None
    exposure, weight = (None if values is None else values[known] for values in (data.exposure, data.weight))
    predictions = predicted(estimator, data.X)[known]
    by_period = quality.over_time(
        codes[known], data.y.to_numpy(np.float64)[known], predictions if exposure is None else predictions * exposure,
        loss_of(estimator).outcome_kind, exposure=exposure, weight=weight,
    )  # fmt: skip
    by_time = (state.workspace().tables.about(about.table).held_out_by or {}).get("time") == column
    held, fitted = data.held_out & known, ~data.held_out & known
    by_time = by_time and bool(held.any()) and bool(fitted.any())
    first = float(np.searchsorted(by_period["period"], codes[held].min())) if by_time else None
    later = data.held_out if by_time else codes > _border(codes[known])
    others = tuple(bins for bins in estimator.model_.bins if bins.feature.column != column)
    shifts = drift(data.X[known], others, later[known])
    return by_period, [names[k] for k in by_period["period"]], first, shifts


def _border(codes: NDArray[np.int64]) -> int:
    """Return the last period of the earlier half: as close to half the rows as possible, with rows on both sides."""
    counts = np.bincount(codes)
    before = np.cumsum(counts)
    fits = (before > 0) & (before < codes.size)
    return int(np.where(fits, np.abs(before - codes.size / 2), np.inf).argmin())


def columns_of_time(model: ModelAbout, data: Data) -> list[str]:
    """Return the columns that hold the time of a row, the one with the role time first."""
    table = state.table(model.table)
    dates = [str(name) for name, kind in table.frame.dtypes.items() if is_datetime64_any_dtype(kind)]
    named = model.spec.get("time")
    first = [named] if named and named in table and table.kind(named) in ("date", "number") else []
    return list(dict.fromkeys([*first, *dates]))


def show(model: ModelAbout) -> None:
    """Show the section; nothing if the table has no time column."""
    data = state.data(model)
    columns = columns_of_time(model, data) if data is not None else []
    if data is None or not columns:
        return
    st.subheader("Over time", anchor=False)
    named = state.names_of(model)
    column = columns[0]
    if len(columns) > 1:
        column = st.selectbox("By", columns, key=f"time-{model.id}", format_func=named.column)
    shown = moved(model.id, column)
    if shown is None:
        st.caption(f"{md(named.column(column))} has fewer than two periods.")
        return
    periods, names, held_from, shifts = shown
    plot = plots.over_time(periods, names, data.binary, held_from)
    cards.figure(plot, f"over-time-{model.id}", model.name, state.card(model), titled=False)
    if held_from is None:
        st.caption(
            f"Actual means with 95% intervals, and predictions. Held-out rows come from all periods: give "
            f"{md(named.column(column))} the role *time* on Data before the first training to hold out the latest rows."
        )
    else:
        st.caption("Actual means with 95% intervals, and predictions; the model was trained on earlier periods only.")
    if "sample" in model.rows:
        st.caption(f"Based on a sample of {counted(model.rows['sample'], 'row')}: small changes may not show.")
    part = "the held-out rows" if held_from is not None else "the later half"
    marked = shifts[shifts["stability"] >= np.maximum(LOOK, TWICE * shifts["by chance"])]
    strong = int((marked["stability"] >= STRONG).sum())
    head = f"**Features that moved** from the earlier rows to {part}: "
    finding = (
        f"{count(len(marked))} of {len(shifts)}, {strong} of them strongly." if len(marked) else "none worth a look."
    )
    st.markdown(head + finding)
    if len(marked):
        st.dataframe(
            hundredfold(marked, shifts.columns[3:]), hide_index=True, alt="Features whose distribution moved.",
            column_config={
                "stability": st.column_config.NumberColumn(
                    "Stability index", format=METRIC, help="Population stability index over ten parts: 0.1 is a shift "
                    "worth a look, 0.25 a strong one.",
                ),
                "by chance": st.column_config.NumberColumn(format=METRIC, help="Its mean if nothing has changed."),
                **{name: st.column_config.NumberColumn(format=PERCENT) for name in shifts.columns[3:]},
            },
        )  # fmt: skip
    if st.button("Refit the curves by period", icon=":material/compare_arrows:"):
        st.session_state["compare-way"] = "parts"
        st.session_state[f"parts-by-{model.id}"] = column
        st.switch_page(PAGES / "compare.py", query_params={"model": model.id})
