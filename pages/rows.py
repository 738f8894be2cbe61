"""One row: what its prediction is made of, what it would be with other values, and the smallest change that matters."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import expit, logit

from gamcore.data.binning import Bins
from gamcore.data.dates import as_date
from gamcore.explain.counterfactuals import Change
from gamcore.explain.curves import Breakdown
from gamcore.viz import plots
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count, md, number
from shapewise.ui.widgets import cards

MOST_SLIDERS = 6
MOST_CHANGES = 5
MISSING = "(missing)"
LARGEST = 2.0**53
"""A slider's numbers stay below."""

begin("Rows", "One prediction at a time: what it is made of, and what would change it.")
model, scale = cards.pick_effects()
estimator = state.estimator(model.id)
binary = estimator.model_.loss.is_binary
data = state.data(model)
if data is None:
    st.info("This page needs the table of the model, which has been deleted.", icon=":material/table:")
    st.stop()


def predicted(rows: pd.DataFrame) -> np.ndarray:
    """Return the chances, or predictions in the target's units."""
    return estimator.predict_proba(rows)[:, 1] if binary else estimator.predict(rows)


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def held_out(identifier: str) -> pd.DataFrame:
    """Return the held-out rows of a model in short: place, prediction, what was."""
    assert data is not None
    places = np.flatnonzero(data.held_out)
    return pd.DataFrame({"place": places, "predicted": predicted(data.X.iloc[places]), "was": data.y.iloc[places]})


def pick() -> int:
    """Return the place of the row in hand: by number, by its prediction, or by searching its cells."""
    assert data is not None
    known = held_out(model.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Find a row", placeholder="Text in any of its cells", key=f"find-{model.id}")
        order = st.selectbox(
            "In order of", ["table", "highest prediction", "lowest prediction", "largest error"], key=f"by-{model.id}"
        )
    if search:
        texts = data.X.iloc[known["place"]].astype("string").fillna("")
        hits = np.logical_or.reduce([texts[c].str.contains(search, case=False, regex=False) for c in texts.columns])
        known = known[hits]
        if known.empty:
            st.caption(f"No held-out row has {md(search)} in a cell.")
            st.stop()
    if order != "table":
        by = {"highest prediction": -known["predicted"], "lowest prediction": known["predicted"]}
        key = by.get(order, -(known["predicted"] - known["was"]).abs())
        known = known.iloc[np.argsort(key.to_numpy(), kind="stable")]
    place = st.number_input(f"Held-out row, of {count(len(known))}", 1, len(known), key=f"row-{model.id}")
    return int(known["place"].iloc[min(place, len(known)) - 1])


def control(bins: Bins, cell: Any, key: str) -> Any:
    """Return a widget for a feature within what training has seen; the cell it asks for."""
    label = md(bins.feature.column)
    if bins.feature.is_category:
        levels = [*bins.levels, *bins.pooled]
        shown = str(cell) if pd.notna(cell) else MISSING
        options = [*levels, MISSING] if shown in (*levels, MISSING) else [shown, *levels, MISSING]
        chosen = st.selectbox(label, options, options.index(shown), key=key)
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
    return _number(bins, float(cell), cell, key)


def _number(bins: Bins, value: float, cell: Any, key: str) -> Any:
    """Return a slider over the range seen in training; whole numbers stay whole."""
    label, low, high = md(bins.feature.column), float(bins.low), float(bins.high)
    now = min(max(value, low), high)
    if max(abs(low), abs(high)) >= LARGEST:
        chosen = st.number_input(label, low, high, now, key=key)
    elif all(float(seen).is_integer() for seen in (*bins.display, low, high, value)):
        chosen = st.slider(label, int(low), int(high), int(now), key=key)
    else:
        chosen = st.slider(label, low, high, now, float(f"{(high - low) / 200:.0e}"), key=key, format="%.6g")
    return cell if chosen == now else chosen


def _level(bins: Bins, chosen: str) -> Any:
    """Return a level as the table holds it."""
    if chosen == MISSING:
        return None
    return chosen == "True" if bins.feature.kind == "boolean" else chosen


def changed(row: pd.DataFrame, breakdown: Breakdown, key: str) -> pd.DataFrame:
    """Return the row with the values that the sliders ask for; the features that matter most come first."""
    by_column = {bins.feature.column: bins for bins in estimator.model_.bins if bins.feature.part == "value"}
    size = pd.Series(np.abs(breakdown.contributions[0]), breakdown.features)
    order = sorted(by_column, key=lambda column: -float(size.get(column, 0.0)))
    cells = row.iloc[0].to_dict()
    for column in order[:MOST_SLIDERS]:
        cells[column] = control(by_column[column], cells[column], f"{key}-{column}")
    if len(order) > MOST_SLIDERS:
        with st.expander(f"{len(order) - MOST_SLIDERS} more features"):
            for column in order[MOST_SLIDERS:]:
                cells[column] = control(by_column[column], cells[column], f"{key}-{column}")
    made = row.copy()
    for column, cell in cells.items():
        if not _same(cell, row.iloc[0][column]):
            made[column] = pd.Series([cell], index=row.index)
    return made


def _same(a: Any, b: Any) -> bool:
    return (pd.isna(a) and pd.isna(b)) or (not pd.isna(a) and not pd.isna(b) and a == b)


def shown(value: float) -> str:
    """Return a prediction as text."""
    return f"{value:.1%}" if binary else number(value)


def cells_of(row: pd.DataFrame) -> dict[str, str]:
    """Return the cells of a row as text."""
    cells = {}
    for name, cell in row.iloc[0].items():
        short = f"{cell:,.6g}" if isinstance(cell, float | np.floating) else str(cell).removesuffix(" 00:00:00")
        cells[str(name)] = "missing" if pd.isna(cell) else short
    return cells


def flips(row: pd.DataFrame) -> None:
    """Show the smallest single changes that take the prediction across a line."""
    assert data is not None
    st.subheader("What would flip it", anchor=False)
    now = float(predicted(row)[0])
    if binary:
        usual = min(max(round(100 * float(data.y.mean())), 1), 99)
        words = "Begins at the base rate: yes where a row is likelier than the average one."
        line = (
            st.slider("Decide yes from a chance of", 1, 99, usual, format="%d%%", key=f"line-{model.id}", help=words)
            / 100
        )
        border = float(logit(line))
    else:
        mean = float(data.y.mean())
        line = border = st.number_input("Decide yes from a prediction of", value=mean, key=f"line-{model.id}")
    changes = estimator.smallest_changes(row, border)
    verdict = "yes" if now > line else "no"
    if not changes:
        st.caption(f"The answer is {verdict}, and no single change within the range of the training data flips it.")
        return
    first = changes[0]
    st.markdown(
        f"The answer is **{verdict}** ({shown(now)}). The smallest single change that flips it: **{md(first.feature)} "
        f"{md(first.words)}**, which gives {shown(_chance(first))}."
    )
    st.dataframe(
        pd.DataFrame(
            {
                "Feature": [change.feature for change in changes[:MOST_CHANGES]],
                "Would have to be": [change.words for change in changes[:MOST_CHANGES]],
                "Prediction then": [shown(_chance(change)) for change in changes[:MOST_CHANGES]],
                "Rows passed": [f"{change.passed:.0%}" for change in changes[:MOST_CHANGES]],
            }
        ),
        hide_index=True,
        alt="The smallest change of each feature that flips the answer.",
    )
    st.caption(
        "Rows passed: the share of training rows between the value and the one it would have to be (of a level: all "
        "rows of other levels). A changed answer does not promise that acting on the feature changes the outcome."
    )


def _chance(change: Change) -> float:
    return float(expit(change.score)) if binary else change.score


place = pick()
row = data.X.iloc[[place]]
before = estimator.explain_rows(row)
key = f"value-{model.id}-{place}"
drawing, side = st.columns([3, 2])
with side.container(border=True):
    st.markdown("**What if**")
    made = changed(row, before, key)
breakdown = estimator.explain_rows(made)
with drawing.container(border=True):
    was, goes = float(predicted(row)[0]), float(predicted(made)[0])
    moved = not made.equals(row)
    tiles = st.container(horizontal=True)
    change = f"{100 * (goes - was):+.1f} points" if binary else f"{goes - was:+,.4g}"
    tiles.metric("Prediction" if not moved else "Prediction then", shown(goes), change if moved else None, border=True)
    truth = data.y.iloc[place]
    tiles.metric("It was", ("yes" if truth else "no") if binary else number(float(truth)), border=True)
    plot = plots.waterfall(breakdown, 0, state.goal(model), scale, cells_of(made))
    plot = replace(plot, name=f"row {place}", numbers=breakdown.parts(0, cells_of(made)))
    cards.figure(plot, f"row-chart-{model.id}", model.name, state.card(model), titled=False)
    st.caption(
        "The parts add up exactly, on the log-odds; in points each is what it adds after those above it."
        if binary
        else "The parts add up exactly to the prediction."
    )
with st.container(border=True):
    flips(made)
