"""What edits cost: on held-out rows as they are, and with all other curves learnt anew around them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from gamcore.additions.editing import edit_price, edits_of
from gamcore.additions.editing.editable import EditPrice
from gamcore.common.numbers import count, number, percent
from gamcore.estimators.base import loss_of
from shapewise.additions.editing.again import learnt_around
from shapewise.store.workspace import ModelAbout
from shapewise.training import live
from shapewise.training.dataset import Data
from shapewise.training.editing import Additive
from shapewise.training.evaluation import evaluate
from shapewise.training.main_metric import MainMetric, main_metric
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.train import refits

WIDTH = 138
MOST_SECONDS = 5.0
"""Estimated seconds of a refit above which the others are learnt anew only when the model is saved."""

OTHERS = (
    "With all that was not edited refit around the edits, by one quick refit beside one of the model as it is stored."
)
STILL = 5e-5
"""Share of a metric below which a change is none."""


def price(estimator: Additive, before: Additive, data: Data) -> EditPrice:
    """Return what edits do on held-out rows."""
    held = data.held_out
    given = {name: values for name, values in data.of_rows(held).items() if name != "groups"}
    return edit_price(estimator, data.X[held], data.y[held], **given, before=before)


def show(model: ModelAbout, estimator: Additive, before: Additive, data: Data) -> None:
    """Show what the edits cost. before : the model as it is stored."""
    if not data.measurable:
        st.caption("No held-out row has a target: the price of an edit cannot be measured.")
        return
    cost, metrics = price(estimator, before, data), evaluate(data, estimator)
    main = main_metric(metrics)
    with st.container(horizontal=True, key=f"price-{model.id}"):
        if main is not None and main.key in model.metrics:
            _metric(f"Held-out {main.label}", main, metrics[main.key], model.metrics[main.key])
        _metric(f"Held-out {loss_of(before).error}", _loss(), cost.loss_after, cost.loss_before)
        _mean(cost, data)
        side = percent(cost.line, 0) if loss_of(before).is_binary else number(cost.line)
        st.metric(
            "Changing sides", percent(cost.crossed), width=WIDTH,
            help=f"Held-out rows whose prediction crosses {side}"
            f"{'' if loss_of(before).is_binary else ', the mean prediction'}: about {count(cost.crossed * cost.rows)} "
            f"of {count(cost.rows)}.",
        )  # fmt: skip
        if edits_of(estimator) != edits_of(before):
            _with_others(model, estimator, before, data)


def _loss() -> MainMetric:
    """Return the loss as a metric: to as many decimals as its changes need."""
    return MainMetric("loss", "loss", number, partial(number, digits=4), rises=False)


def _metric(label: str, main: MainMetric, now: float, before: float, hint: str = "") -> None:
    moved = now - before
    still = abs(moved) < STILL * max(1.0, abs(before))
    st.metric(
        label, main.finely(now), "no change" if still else main.change(moved), width=WIDTH,
        delta_color="off" if still else "normal" if main.rises else "inverse",
        delta_arrow="off" if still else "auto", help=f"{hint} Before the edits: {main.finely(before)}.".lstrip(),
    )  # fmt: skip


def _mean(cost: EditPrice, data: Data) -> None:
    """Show by how much the mean prediction moves."""
    moved = cost.mean_after - cost.mean_before
    if data.binary:
        words = [percent(value, 2) for value in (cost.mean_after, cost.mean_before)]
        change = f"{number(100 * moved, 2, signed=True)} points"
    else:
        words = [number(value, 4) for value in (cost.mean_after, cost.mean_before)]
        change = number(moved, 3, signed=True)
    still = abs(moved) < STILL * max(abs(cost.mean_before), 1e-9)
    st.metric(
        "Mean prediction", words[0], "no change" if still else change, delta_color="off", width=WIDTH,
        delta_arrow="off" if still else "auto",
        help=f"On held-out rows; before the edits: {words[1]}. With the curve moved to a mean of 0, the mean score "
        "stays.",
    )  # fmt: skip


def _with_others(model: ModelAbout, estimator: Additive, before: Additive, data: Data) -> None:
    """Show the metric with all other curves learnt anew, by one refit beside one of the model as it is stored."""
    spec, about = Spec.from_dict(model.spec), state.workspace().tables.about(model.table)
    if live.seconds_of(model.rows["training"], len(estimator.model_.bins), spec) > MOST_SECONDS:
        st.caption("The others are not refitted here, as that takes long: do so when you save the model.")
        return
    person = state.workspace().person.id
    ask = refits.all_refits().ask
    edits = json.dumps([replace(edit, reason="").to_dict() for edit in edits_of(estimator)])
    futures = [
        ask((person, f"edit-{model.id}-{key}", json.dumps(about.held_out_by)), partial(_refitted, additive, data))
        for key, additive in (("stored", before), (edits, estimator))
    ]
    metrics = refits.wait_for(futures, "Refitting the others.")
    if metrics is None:
        return
    first, now = metrics
    main = main_metric(now)
    if main is not None:
        _metric("Others refitted", main, _about(main, model, now, first), model.metrics[main.key], OTHERS)


def _about(main: MainMetric, model: ModelAbout, now: Mapping[str, float], before: Mapping[str, float]) -> float:
    """Return a metric of the model with what one refit gains or loses by the edits."""
    return float(np.float64(model.metrics[main.key]) + now[main.key] - before[main.key])


def _refitted(estimator: Additive, data: Data) -> dict[str, float]:
    """Return the held-out metrics of one refit around the edits."""
    return evaluate(data, learnt_around(estimator, data, quick=True))
