"""One row: the parts of its prediction, what-if values, and the smallest change that flips the decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import expit, logit

from gamcore import GAMClassifier
from gamcore.data.binning import Bins
from gamcore.data.codes import code_of
from gamcore.data.dates import as_date
from gamcore.decide.fairness import sensitive
from gamcore.explain.counterfactuals import Change, Possible
from gamcore.explain.curves import Breakdown
from gamcore.numbers import exact, fixed, percent
from gamcore.viz import plots
from shapewise.ui.session import state
from shapewise.ui.session.frame import begin
from shapewise.ui.session.words import count, md, number
from shapewise.ui.widgets import cards
from shapewise.ui.widgets.columns import COUNT, EXACT, WHOLE_PERCENT

MOST_SLIDERS = 6
MOST_CHANGES = 5
MISSING = "(missing)"
LARGEST = 2.0**53
"""Upper limit of the numbers of a slider."""

begin("Rows", "One prediction at a time: what it is made of, and what would change it.")
model, scale = cards.effects_in_view()
estimator, named = state.additive(model.id), state.names_of(model)
binary = estimator.model_.loss.is_binary
data = state.data(model)
if data is None:
    st.info("This page needs the table of the model, which has been deleted.", icon=":material/table:")
    st.stop()


def predicted(rows: pd.DataFrame) -> np.ndarray:
    """Return the probabilities, or the predictions in the target's units."""
    of = estimator
    return np.asarray(of.predict_proba(rows)[:, 1] if isinstance(of, GAMClassifier) else of.predict(rows))


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def held_out(identifier: str) -> pd.DataFrame:
    """Return the place, prediction and actual target of each held-out row of a model."""
    assert data is not None
    places = np.flatnonzero(data.held_out)
    return pd.DataFrame({"place": places, "predicted": predicted(data.X.iloc[places]), "was": data.y.iloc[places]})


def pick() -> int:
    """Return the place of the row chosen by number, by prediction or by searching its cells."""
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
    """Show a widget for a feature, limited to the range seen in training, and return the chosen cell."""
    label = md(named.column(bins.feature.column))
    if bins.feature.is_category:
        levels = [*bins.levels, *bins.pooled]
        shown = str(cell) if pd.notna(cell) else MISSING
        options = [*levels, MISSING] if shown in (*levels, MISSING) else [shown, *levels, MISSING]
        chosen = st.selectbox(
            label, options, options.index(shown), key=key, format_func=partial(named.level, bins.feature.column)
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
    return _number(bins, float(cell), cell, key)


def _step(span: float) -> float:
    """Return the power of ten that divides a slider into about 200 to 2,000 steps."""
    return float(10.0 ** np.floor(np.log10(max(span, 1e-300) / 200)))


def _number(bins: Bins, value: float, cell: Any, key: str) -> Any:
    """Show a slider over the range seen in training, and return its value; integers stay integers."""
    label, low, high = md(named.column(bins.feature.column)), float(bins.low), float(bins.high)
    now = min(max(value, low), high)
    if max(abs(low), abs(high)) >= LARGEST:
        chosen = st.number_input(label, low, high, now, key=key)
    elif all(float(seen).is_integer() for seen in (*bins.display, low, high, value)):
        chosen = st.slider(label, int(low), int(high), int(now), key=key, format=COUNT)
    else:
        chosen = st.slider(label, low, high, now, _step(high - low), key=key, format=EXACT)
    return cell if chosen == now else chosen


def _level(bins: Bins, chosen: str) -> Any:
    """Return a level as the table holds it."""
    if chosen == MISSING:
        return None
    return chosen == "True" if bins.feature.kind == "boolean" else chosen


def changed(row: pd.DataFrame, breakdown: Breakdown, key: str) -> pd.DataFrame:
    """Show a widget per feature, by size of effect, and return the row with the chosen values."""
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
    return percent(value) if binary else number(value)


def base_rate() -> float:
    """Return the base rate of the training rows, or the mean of their target: the one that curves start from."""
    return float(estimator.model_.loss.inverse_link(np.array(estimator.model_.base_score)))


def added_up(breakdown: Breakdown) -> str:
    """Return how the parts add up, and why they begin elsewhere than at the base rate."""
    if not binary:
        return "The parts add up exactly to the prediction."
    words = "The parts add up exactly, on the log-odds; in points each is what it adds after those above it."
    average, base = shown(float(expit(breakdown.intercept))), shown(base_rate())
    if average == base:
        return words
    return (
        f"{words} They begin at the average row ({average}), a mean of log-odds; the base rate of the training rows "
        f"is {base}."
    )


def cells_of(row: pd.DataFrame) -> dict[str, str]:
    """Return the cells of a row as text, by the shown names of their columns."""
    cells = {}
    for name, cell in row.iloc[0].items():
        column = str(name)
        short = str(cell).removesuffix(" 00:00:00")
        if isinstance(cell, int | float | np.number) and not pd.isna(cell):
            level = named.of(column).levels.get(code_of(str(float(cell)), column, "number"))
            written = exact(float(cell), 6) if isinstance(cell, float | np.floating) else short
            short = level or named.of(column).measure.say(float(cell), written)
        cells[named.column(column)] = "missing" if pd.isna(cell) else named.level(column, short)
    return cells


def flips(row: pd.DataFrame) -> None:
    """Show the smallest single changes that take the prediction across the threshold."""
    assert data is not None
    st.subheader("What would flip it", anchor=False)
    now = float(predicted(row)[0])
    if binary:
        usual = min(max(round(100 * base_rate()), 1), 99)
        hint = "Starts at the base rate: yes if a row is more likely than average."
        line = (
            st.slider(
                "Decide yes from a chance of", 1, 99, usual, format=WHOLE_PERCENT, key=f"line-{model.id}", help=hint
            )
            / 100
        )
        border = float(logit(line))
    else:
        line = border = st.number_input("Decide yes from a prediction of", value=base_rate(), key=f"line-{model.id}")
    possible = may_change(row)
    changes = [state.seen(model, change) for change in estimator.smallest_changes(row, border, possible)]
    verdict = "yes" if now > line else "no"
    way = "reach" if now <= line else "fall below"
    if not changes:
        st.caption(
            f"The answer is {verdict} ({shown(now)}). No usual change of up to three features would surely {way} "
            f"{shown(line)}: allow more features to change, or move the line."
        )
        return
    first = changes[0]
    n = len(first.steps)
    st.markdown(
        f"The answer is **{verdict}** ({shown(now)}). To {way} {shown(line)}, the closest change is "
        f"{'of one feature' if n == 1 else f'of {n} features together'}: **{md(first.words)}**, which gives "
        f"{_then(first)}."
    )
    listed = changes[:MOST_CHANGES]
    st.dataframe(
        pd.DataFrame(
            {
                "Change": [change.words for change in listed],
                "Prediction then": [_then(change) for change in listed],
                "How unusual": [percent(change.passed, 0) for change in listed],
            }
        ),
        hide_index=True,
        alt="Changes that flip the answer, the most usual first.",
    )
    st.caption(
        "How unusual: the share of training rows between today's value and the new one, summed over features. Only "
        "values with 30 training rows or more are proposed, and only where the 95% band of the new prediction is "
        "beyond the line. A changed answer does not promise that acting on the feature changes the outcome."
    )


def may_change(row: pd.DataFrame) -> Possible:
    """Show what may change and within which limits; sensitive features are held fixed from the start."""
    by_column = {bins.feature.column: bins for bins in estimator.model_.bins if bins.feature.part == "value"}
    with st.expander("What may change"):
        fixed = st.multiselect(
            "Hold fixed", list(by_column), [name for name in by_column if name in sensitive(list(by_column))],
            key=f"fixed-{model.id}", format_func=named.column,
            help="Features that nobody can or should change. Sensitive ones start here.",
        )  # fmt: skip
        numbers = [name for name, bins in by_column.items() if bins.feature.kind == "number" and name not in fixed]
        start = pd.DataFrame(
            {"feature": [named.column(name) for name in numbers], "now": [row.iloc[0][name] for name in numbers]}
        )
        start["now"] = pd.to_numeric(start["now"], errors="coerce").astype(float)
        edited = st.data_editor(
            start.assign(low=np.nan, high=np.nan), hide_index=True, disabled=["feature", "now"],
            key=f"limits-{model.id}-{'|'.join(numbers)}",
            column_config={"feature": "Feature", "now": "Now", "low": "At least", "high": "At most"},
            alt="Limits of the values that features may change to.",
        )  # fmt: skip
    limits = {
        str(name): (None if np.isnan(low) else float(low), None if np.isnan(high) else float(high))
        for name, low, high in zip(numbers, edited["low"], edited["high"], strict=True)
    }
    return Possible(fixed, limits)


def _then(change: Change) -> str:
    """Return the prediction after a change, with its band."""
    value, low, high = (float(expit(s)) if binary else s for s in (change.score, change.low, change.high))
    return shown(value) if np.isnan(low) else f"{shown(value)} ({shown(low)} to {shown(high)})"


place = pick()
row = data.X.iloc[[place]]
before = estimator.explain_rows(row)
key = f"value-{model.id}-{place}"
drawing, side = st.columns([3, 2])
with side.container(border=True):
    st.markdown("**What if**")
    made = changed(row, before, key)
breakdown = state.seen(model, estimator.explain_rows(made))
with drawing.container(border=True):
    was, goes = float(predicted(row)[0]), float(predicted(made)[0])
    moved = not made.equals(row)
    tiles = st.container(horizontal=True)
    change = f"{fixed(100 * (goes - was), 1, signed=True)} points" if binary else number(goes - was, 4, signed=True)
    tiles.metric("Prediction" if not moved else "Prediction then", shown(goes), change if moved else None, border=True)
    truth = data.y.iloc[place]
    tiles.metric("It was", ("yes" if truth else "no") if binary else number(float(truth)), border=True)
    plot = plots.waterfall(breakdown, 0, state.goal(model), scale, cells_of(made))
    plot = replace(plot, name=f"row {place}", numbers=breakdown.parts(0, cells_of(made)))
    cards.figure(plot, f"row-chart-{model.id}", model.name, state.card(model), titled=False)
    st.caption(added_up(breakdown))
with st.container(border=True):
    flips(made)
