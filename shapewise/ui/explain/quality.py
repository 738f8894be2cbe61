"""A model's quality on a page, measured on its held-out rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from gamcore.common.numbers import exact, fixed, percent
from gamcore.estimators.additive import AdditiveEstimator
from gamcore.estimators.base import loss_of
from gamcore.stats import metrics as quality
from gamcore.stats import plots
from shapewise.scoring import held_out as held
from shapewise.scoring.held_out import HeldOutPredictions
from shapewise.store.workspace import ModelAbout
from shapewise.training.evaluation import shuffled
from shapewise.training.task_dataset import predicted
from shapewise.ui.explain import class_quality, rate_quality, uplift
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted, less, md, number
from shapewise.ui.widgets import cards, tabs
from shapewise.ui.widgets.columns import EXACT

MOST_DOTS = 3_000


@state.kept(show_spinner="Predicting the held-out rows", max_entries=8)
def held_out(model: str) -> HeldOutPredictions:
    """Return the held-out rows of a stored model with their predictions."""
    about = state.workspace().models.about(model)
    data = state.data(about)
    assert data is not None
    fitted = state.estimator(model)
    return held.of(data, predicted(fitted, data.X[data.held_out]), loss_of(fitted))


@state.kept(show_spinner=False, max_entries=32)
def _deviance(model: str) -> tuple[float, float]:
    """Return the held-out deviance per row of a stored model, and the share explained."""
    held = held_out(model)
    return quality.deviance(held.y, held.predicted, held.baseline, held.binary, held.weight)


def show(model: ModelAbout) -> None:
    """Show the section; a sentence if the table is gone."""
    st.subheader("How good it is", anchor=False)
    data = state.data(model)
    if data is None:
        st.caption("The table of this model has been deleted, so its predictions cannot be shown.")
        return
    if state.class_names(model.id):
        class_quality.show(model)
        return
    if state.effect_unit(model) is not None:
        uplift.show(model)
        return
    held = held_out(model.id)
    rated = held.loss.outcome_kind in ("count", "amount")
    if rated or "below" in model.metrics:
        st.caption(
            f"On {counted(held.y.size, 'held-out row')}, never used for fitting or early stopping: predictions explain "
            f"{percent(model.metrics['explained'])} of the {held.loss.error}."
        )
        (rate_quality.show if rated else _quantile)(model, held)
        return
    losses, share = _deviance(model.id)
    mean = "the base rate" if held.binary else "the mean"
    name = "deviance per row" if held.binary else "squared error per row"
    st.caption(
        f"On {count(held.y.size)} held-out rows, never used for fitting or early stopping: {name} {number(losses)}, "
        f"{less(share)} with {mean} of the training rows."
    )
    if held.binary:
        parts = {"Ranking": _ranking, "Calibration": _calibration, "Where to draw the line": _line}
    else:
        parts = {"Predicted and actual": _actual, "Residuals": _residuals}
    tabs.show({name: partial(draw, model, held) for name, draw in parts.items()}, f"quality-{model.id}")


def _some(n: int) -> NDArray[np.int64]:
    """Return the rows that are drawn as dots, at most MOST_DOTS."""
    if n <= MOST_DOTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_DOTS, replace=False))


@state.kept(show_spinner=False, max_entries=8)
def ranking_lines(model: str) -> tuple[quality.RankingLine, quality.RankingLine, quality.RankingLine]:
    """Return precision-recall, ROC and gain lines of a stored model's held-out rows."""
    held = held_out(model)
    y, predicted, weight = held.y, held.predicted, held.weight
    return (
        quality.precision_recall(y, predicted, weight),
        quality.roc(y, predicted, weight),
        quality.gain(y, predicted, weight),
    )


Line = tuple[list[float], list[float]]


def _ranking(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show ROC, precision-recall and gain, each with its summary and a reference line."""
    goal = state.goal(model)
    rate = float(np.average(held.y, weights=held.weight))
    pr, roc, gain = ranking_lines(model.id)
    diagonal: Line = ([0, 1], [0, 1])
    skilless: Line = ([0, 1], [rate, rate])
    shown = [
        ("ROC", roc, ("false positive rate", "positives found"), diagonal,
         f"AUC {fixed(roc.summary, 3)}: the chance that a row with {goal} ranks above one without. 0.5 is guessing."),
        ("Precision and recall", pr, ("positives found", "precision"), skilless,
         f"Average precision {fixed(pr.summary, 3)}; picking at random gives {percent(rate)}, the rate of these "
         "held-out rows."),
        ("Gain", gain, ("share of rows", "positives found"), diagonal,
         f"Likeliest rows first. The likeliest tenth of the rows holds {percent(gain.summary, 0)} of all positives: "
         f"{fixed(gain.summary / 0.1, 1)} times its share."),
    ]  # fmt: skip
    row = st.grid(min_column_width=270)
    places = [row.container(border=True) for _ in shown]  # first: a chart is drawn anew with each column more
    for place, (name, line, axes, guide, words) in zip(places, shown, strict=True):
        with place:
            st.markdown(f"**{name}**")
            cards.of_model(plots.ranked(line, name, words, axes, guide), model)
            st.caption(md(words))


def _calibration(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show whether predicted probabilities match observed rates."""
    table = quality.calibration(held.y, held.predicted, held.weight)
    inside = int(((table["predicted"] >= table["lower"]) & (table["predicted"] <= table["upper"])).sum())
    cards.of_model(plots.calibration(table, held.predicted), model)
    st.caption(
        f"Held-out rows in {len(table)} parts of equal size by their predicted chance, each with Wilson's 95% "
        f"interval of the actual rate. In {inside} of them the prediction is inside. On the dotted line, predicted "
        "and actual rates are equal."
    )


def _line(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show the choice of a threshold by the cost of errors."""
    form, picture = st.columns([1, 2])
    with form:
        alarm = st.number_input(
            "A false alarm costs", 0.0, value=1.0, key=f"alarm-{model.id}", help="Saying yes where it is no."
        )
        miss = st.number_input(
            "A miss costs", 0.0, value=1.0, key=f"miss-{model.id}", help="Saying no where it is yes."
        )
        costs = quality.costs(held.y, held.predicted, alarm, miss, held.weight)
        key = f"threshold-{model.id}-{exact(alarm)}-{exact(miss)}"
        chosen = st.slider("Say yes from a chance of", 0.0, 1.0, round(costs.best, 5), 1e-5, key=key, format=EXACT)
        table = quality.confusion(held.y, held.predicted, chosen)
        st.dataframe(table, alt="Held-out rows: actual against predicted.")
    with picture:
        cards.of_model(costs.describe(chosen), model)
        fair = alarm / (alarm + miss) if alarm + miss > 0 else 0.5
        cost = (table.loc["was yes", "said no"] * miss + table.loc["was no", "said yes"] * alarm) / max(held.y.size, 1)
        st.caption(
            f"From {number(chosen, 5)} on, a row costs {number(cost)} (unweighted). The cheapest threshold on "
            f"these rows is "
            f"{number(costs.best, 5)} ({number(costs.least)} per row); for exact chances it would be "
            f"{fixed(fair, 3)}. Never saying "
            f"yes costs {number(costs.never)} per row, always {number(costs.always)}."
        )


def _quantile(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show a quantile: predicted against actual values, and the share that is below."""
    some = _some(held.y.size)
    cards.of_model(plots.actual(held.predicted[some], held.y[some], state.goal(model)), model)
    st.caption(
        f"{counted(some.size, 'held-out row')}. {percent(model.metrics['below'])} of all are below their prediction; "
        f"{percent(model.spec['quantile'], 0)} was asked for."
    )


def _actual(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show predicted against actual values."""
    some = _some(held.y.size)
    cards.of_model(plots.actual(held.predicted[some], held.y[some], state.goal(model)), model)
    st.caption(f"{counted(some.size, 'held-out row')}. On the dotted line, predictions are exact.")


def _residuals(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show the residuals, and where their mean differs from 0."""
    some = _some(held.y.size)
    table = quality.residuals(held.y, held.predicted, held.weight)
    gaps = held.y - held.predicted
    off = int(((table["lower"] > 0) | (table["upper"] < 0)).sum())
    cards.of_model(plots.residuals(table, held.predicted[some], gaps[some], state.goal(model)), model)
    st.caption(
        f"Each dot is a held-out row; the line is the mean residual in {len(table)} parts of equal size by the "
        f"prediction, with its 95% interval. In {off} of them the interval excludes 0: by chance, about "
        f"{number(0.05 * len(table), 1)} would."
    )


@state.kept(show_spinner="Shuffling one feature at a time", max_entries=8)
def permutation(model: str) -> pd.Series:
    """Return the mean rise of the loss on held-out rows when a feature is shuffled, by feature."""
    about = state.workspace().models.about(model)
    data = state.whole_data(about)
    assert data is not None
    places = np.flatnonzero(data.held_out)
    most = max(500, 2_000_000 // max(5 * data.X.shape[1], 1))
    if places.size > most:
        places = np.sort(np.random.default_rng(0).choice(places, most, replace=False))
    weight, exposure = (None if values is None else values[places] for values in (data.weight, data.exposure))
    fitted = state.whole(model)
    assert isinstance(fitted, AdditiveEstimator)  # Overview is of these
    return shuffled(fitted, data.X.iloc[places], data.y.iloc[places], weight, exposure)
