"""Between which numbers an outcome lies, and what makes outcomes uncertain."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.common.numbers import count, number, percent
from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMRegressor
from gamcore.estimators.intervals import predict_interval, uncertainty
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards

COVERAGES = (0.5, 0.8, 0.9, 0.95)
USUAL = 0.9
ON_AVERAGE: Final = (
    "Calibrated on held-out rows, which the model has not seen: of all new rows like these, this share lies inside on "
    "average."
)
IN_PARTS: Final = (
    "Calibrated on held-out rows, which the model has not seen, within groups of like predictions: of new rows like "
    "these, at least this share lies inside on average. An outcome equal to an end is inside, so where many have the "
    "same outcome, such as 0, more lie inside than was asked for."
)
BY_SCALE: Final = " The width follows the row: it is wider where outcomes of such rows spread more."


def offered(model: RowModel) -> list[float]:
    """Return the coverages that the model's intervals allow; none if it has none."""
    intervals = single_model(model.estimator).intervals if isinstance(model.estimator, GAMRegressor) else None
    return [] if intervals is None else [coverage for coverage in COVERAGES if coverage <= intervals.most_coverage]


def show(model: RowModel, row: pd.DataFrame, place: int, options: DeltaGenerator) -> None:
    """Say between which numbers the outcome of a row lies, with a choice of how often in some options. place : of the
    row in its table, whose exposure it has."""
    there, fitted = offered(model), model.estimator
    if not there or not isinstance(fitted, GAMRegressor):
        return
    coverage = options.segmented_control(
        "How often outcomes lie between the ends", there, default=USUAL if USUAL in there else there[-1],
        required=True, key="coverage", format_func=lambda share: percent(share, 0),
    )  # fmt: skip
    exposure, column = model.data.exposure, model.about.spec.get("exposure")
    given, during = {}, ""
    if exposure is not None and column:
        given = {"exposure": exposure[[place]]}
        during = f" over this row's {md(model.names.column(column))} of {number(float(exposure[place]))}"
    low, high = predict_interval(fitted, row, coverage, **given)[0]
    intervals = single_model(fitted).intervals
    assert intervals is not None
    whole = intervals.are_whole
    st.markdown(
        sentence(coverage, during, float(low), float(high), partial(say_whole, model) if whole else model.say),
        help=(IN_PARTS if intervals.cuts.size else ON_AVERAGE) + BY_SCALE * (intervals.scale is not None),
    )


def sentence(coverage: float, during: str, low: float, high: float, say: Callable[[float], str]) -> str:
    """Say where a share of outcomes lies. during : what they are outcomes of, with a space before it."""
    rows = f"At least {percent(coverage, 0)} of the outcomes of such rows{during}"
    if low == high:
        return f"{rows} are **{say(low)}**."
    if high == math.inf:
        return f"{rows} are **{say(low)}** or more: no upper end holds so often."
    return f"{rows} lie between **{say(low)}** and **{say(high)}**."


def say_whole(model: RowModel, value: float) -> str:
    """Return a whole number as text, in the form and unit of the target."""
    return model.measure.say(value, count(value))


def causes(model: RowModel) -> None:
    """Show what makes outcomes uncertain: the features by how much they widen an interval, and the curve of one."""
    fitted = model.estimator
    if not offered(model) or not isinstance(fitted, GAMRegressor):
        return
    intervals = single_model(fitted).intervals
    if intervals is None or intervals.scale is None:
        return
    box = st.expander("What makes the outcome uncertain", icon=":material/expand:", on_change="rerun",
                      key=f"uncertain-open-{model.about.id}")  # fmt: skip
    if not box.open:
        return
    with box:
        scale = uncertainty(fitted)
        ranking = scale.importance("ratio")
        names = ranking.frame().sort_values("mean_abs", ascending=False)["feature"].tolist()
        chosen = st.selectbox("Feature", names, key=f"uncertain-{model.about.id}", format_func=model.names.term)
        curve = state.seen(model.about, scale.explain_shape(chosen).on("ratio"))
        plot = curve.describe("distance of outcomes from predictions", "")
        cards.figure(plot, f"uncertain-chart-{model.about.id}", model.about.name, state.card(model.about))
        st.caption(
            "By which factor an interval grows or shrinks along the feature, the others being the same. Features are "
            "listed by how much they matter for that."
        )
