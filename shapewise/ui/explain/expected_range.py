"""Between which numbers an outcome lies, and what makes outcomes uncertain."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from gamcore.estimators.gam import GAMRegressor
from gamcore.numbers import percent
from gamcore.viz import plots
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards

COVERAGES = (0.5, 0.8, 0.9, 0.95)
USUAL = 0.9


def offered(of: RowModel) -> list[float]:
    """Return the coverages that the model's intervals allow; none if it has none."""
    intervals = of.estimator.single.intervals if isinstance(of.estimator, GAMRegressor) else None
    return [] if intervals is None else [one for one in COVERAGES if one <= intervals.most_coverage]


def show(of: RowModel, row: pd.DataFrame) -> None:
    """Say between which numbers the outcome of a row lies, with a choice of how often."""
    there, fitted = offered(of), of.estimator
    if not there or not isinstance(fitted, GAMRegressor):
        return
    coverage = st.segmented_control(
        "How often", there, default=USUAL if USUAL in there else there[-1], required=True, key="coverage",
        format_func=lambda one: percent(one, 0),
    )  # fmt: skip
    low, high = fitted.predict_interval(row, coverage)[0]
    exposure = of.about.spec.get("exposure")
    over = f" over one unit of {md(of.names.column(exposure))}" if exposure else ""
    st.markdown(
        f"{percent(coverage, 0)} of the outcomes of such rows{over} lie between **{of.say(float(low))}** and "
        f"**{of.say(float(high))}**.",
        help="Calibrated on held-out rows, which the model has not seen: of all new rows like these, this share lies "
        "inside on average. The width follows the row: it is wider where outcomes of such rows spread more.",
    )


def causes(of: RowModel) -> None:
    """Show what makes outcomes uncertain: the features by how much they widen an interval, and the curve of one."""
    fitted = of.estimator
    if not offered(of) or not isinstance(fitted, GAMRegressor):
        return
    box = st.expander("What makes the outcome uncertain", icon=":material/expand:", on_change="rerun",
                      key=f"uncertain-open-{of.about.id}")  # fmt: skip
    if not box.open:
        return
    with box:
        scale = fitted.uncertainty_
        ranking = scale.importance("ratio")
        names = ranking.frame().sort_values("mean_abs", ascending=False)["feature"].tolist()
        chosen = st.selectbox("Feature", names, key=f"uncertain-{of.about.id}", format_func=of.names.term)
        curve = state.seen(of.about, scale.explain_shape(chosen).on("ratio"))
        plot = plots.curve(curve, "distance of outcomes from predictions", "")
        cards.figure(plot, f"uncertain-chart-{of.about.id}", of.about.name, state.card(of.about))
        st.caption(
            "By which factor an interval grows or shrinks along the feature, the others being the same. Features are "
            "listed by how much they matter for that."
        )
