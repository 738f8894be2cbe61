"""What moved with time, on a page: means by period, distributions, and the way to curves refitted by period."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype

from gamcore.data.table import kind_of
from gamcore.stats import metrics as quality
from gamcore.stats.feature_drift import drift
from gamcore.viz import plots
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.training.partitions import periods
from shapewise.training.task_dataset import predicted
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md
from shapewise.ui.widgets import cards

LOOK, STRONG = 0.1, 0.25
TWICE = 2.0
"""Stability indices from which a shift is worth a look, and from which it is a strong one; how many times what
chance gives it has to be."""


Moved = tuple[pd.DataFrame, list[str], float | None, pd.DataFrame]


@state.kept(show_spinner="Predicting all rows", max_entries=4)
def moved(model: str, column: str) -> Moved | None:
    """Return the means by period, the names of these, where held-out rows begin among them, and how features moved;
    nothing where there are fewer than two periods."""
    about = state.workspace().models.about(model)
    data, estimator = state.data(about), state.estimator(model)
    assert data is not None
    codes, names = periods(state.frame(about.table).loc[data.X.index, column])
    known = codes >= 0
    if np.unique(codes[known]).size < 2:
        return None
    weight = None if data.weight is None else data.weight[known]
    by_period = quality.over_time(
        codes[known], data.y.to_numpy(float)[known], predicted(estimator, data.X)[known], weight
    )
    by_time = (state.workspace().tables.about(about.table).held_out_by or {}).get("time") == column
    held, fitted = data.held_out & known, ~data.held_out & known
    by_time = by_time and bool(held.any()) and bool(fitted.any())
    first = float(np.searchsorted(by_period["period"], codes[held].min())) if by_time else None
    later = data.held_out if by_time else codes > _border(codes[known])
    others = tuple(bins for bins in estimator.model_.bins if bins.feature.column != column)
    shifts = drift(data.X[known], others, later[known])
    return by_period, [names[k] for k in by_period["period"]], first, shifts


def _border(codes: NDArray[np.int64]) -> int:
    """Return the last period of the earlier rows: as near to half of them as periods allow, rows on both sides."""
    counts = np.bincount(codes)
    before = np.cumsum(counts)
    fits = (before > 0) & (before < codes.size)
    return int(np.where(fits, np.abs(before - codes.size / 2), np.inf).argmin())


def columns_of_time(model: ModelAbout, data: Data) -> list[str]:
    """Return the columns that tell the time of a row, the one that was named so first."""
    frame = state.frame(model.table)
    dates = [name for name in frame.columns if is_datetime64_any_dtype(frame[name])]
    named = model.spec.get("time")
    usable = named in frame.columns and kind_of(frame[named]) in ("date", "number")
    return list(dict.fromkeys([*([named] if usable else []), *dates]))


def show(model: ModelAbout) -> None:
    """Show nothing where the table has no column of time."""
    data = state.data(model)
    columns = columns_of_time(model, data) if data is not None else []
    if data is None or not columns:
        return
    st.subheader("Over time", anchor=False)
    column = columns[0]
    if len(columns) > 1:
        column = st.selectbox("By", columns, key=f"time-{model.id}")
    shown = moved(model.id, column)
    if shown is None:
        st.caption(f"{md(column)} has fewer than two periods.")
        return
    periods, names, held_from, shifts = shown
    plot = plots.over_time(periods, names, data.binary, held_from)
    cards.figure(plot, f"over-time-{model.id}", model.name, state.card(model), titled=False)
    if held_from is None:
        st.caption(
            f"What was, with its 95% interval, and what the model says. Held-out rows are drawn from all periods: give "
            f"{md(column)} the role *time* on Data before the first training, and the latest rows are held out."
        )
    else:
        st.caption("What was, with its 95% interval, and what the model says; it was trained on earlier periods only.")
    if "sample" in model.rows:
        st.caption(f"Of a sample of {count(model.rows['sample'])} rows: small changes may not show.")
    part = "the held-out rows" if held_from is not None else "the later half"
    marked = shifts[shifts["stability"] >= np.maximum(LOOK, TWICE * shifts["by chance"])]
    strong = int((marked["stability"] >= STRONG).sum())
    head = f"**Features that moved** from the earlier rows to {part}: "
    said = f"{count(len(marked))} of {len(shifts)}, {strong} of them much." if len(marked) else "none worth a look."
    st.markdown(head + said)
    if len(marked):
        st.dataframe(
            marked, hide_index=True, alt="Features whose distribution moved.",
            column_config={
                "stability": st.column_config.NumberColumn(
                    "Stability index", format="%.3f", help="Population stability index over ten parts: .1 is a shift "
                    "worth a look, .25 a strong one.",
                ),
                "by chance": st.column_config.NumberColumn(format="%.3f", help="Its mean where nothing has changed."),
                **{name: st.column_config.NumberColumn(format="percent") for name in shifts.columns[3:]},
            },
        )  # fmt: skip
    if st.button("Refit the curves by period", icon=":material/compare_arrows:"):
        st.session_state["compare-way"] = "parts"
        st.session_state[f"parts-by-{model.id}"] = column
        st.switch_page(cards.PAGES / "compare.py", query_params={"model": model.id})
