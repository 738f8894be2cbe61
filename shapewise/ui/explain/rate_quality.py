"""The quality of a model of counts or amounts: lift and calibration by tenth, and concentration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from gamcore.common.types import Floats
from gamcore.stats import metrics as quality
from gamcore.stats import plots
from gamcore.stats.rates import Kind, concentration, lift_by_tenth
from shapewise.scoring.held_out import HeldOutPredictions
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.widgets import cards, tabs


@dataclass(frozen=True)
class Totals:
    """Held-out rows: outcomes and expected values (n,) of their whole exposures, with the weights of rows."""

    kind: Kind
    y: Floats
    predicted: Floats
    exposure: Floats | None
    weight: Floats | None

    @classmethod
    def of(cls, held: HeldOutPredictions) -> Totals:
        """Return the totals of held-out rows, which are rates where there is an exposure."""
        size = np.ones(held.y.size) if held.exposure is None else held.exposure
        weight = None if held.weight is None else held.weight / size  # the exposure is a part of it
        kind: Kind = "count" if held.loss.outcome_kind == "count" else "amount"
        return cls(kind, held.y * size, held.predicted * size, held.exposure, weight)


def show(model: ModelAbout, held: HeldOutPredictions) -> None:
    """Show the tabs of the section."""
    parts = {"Lift by tenth": _lift, "Calibration": _calibration, "Concentration": _concentration}
    totals = Totals.of(held)
    tabs.show({name: partial(draw, model, totals) for name, draw in parts.items()}, f"quality-{model.id}")


def _lift(model: ModelAbout, totals: Totals) -> None:
    table = lift_by_tenth(totals.y, totals.predicted, totals.kind, exposure=totals.exposure, weight=totals.weight)
    cards.of_model(plots.lift_by_tenth(table, totals.kind, state.goal(model)), model, titled=True)


def _calibration(model: ModelAbout, totals: Totals) -> None:
    table = quality.calibration(totals.y, totals.predicted, totals.weight, kind=totals.kind, exposure=totals.exposure)
    rates = totals.predicted if totals.exposure is None else totals.predicted / totals.exposure
    cards.of_model(plots.calibration(table, rates, totals.kind, state.goal(model)), model)
    st.caption("On the dotted line, predicted and observed means are equal.")


def _concentration(model: ModelAbout, totals: Totals) -> None:
    line = concentration(totals.y, totals.predicted, totals.exposure, totals.weight)
    unit = "rows" if totals.exposure is None else "exposure"
    cards.of_model(plots.concentration(line, state.names_of(model).column(model.target), unit), model, titled=True)
    st.caption(
        "The further the curve bends from the diagonal, the better predictions separate rows with much from rows with "
        "little. Gini: twice the area between them."
    )
