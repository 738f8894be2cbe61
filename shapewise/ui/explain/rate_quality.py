"""The quality of a model of counts or amounts: lift and calibration by tenth, and concentration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from gamcore.stats import metrics as quality
from gamcore.stats import plots
from gamcore.stats.rates import Kind, concentration, lift_by_tenth
from gamcore.types import Floats
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


def _lift(model: ModelAbout, of: Totals) -> None:
    named = state.names_of(model)
    per = "" if of.exposure is None else f" per {named.column(model.spec['exposure'])}"
    table = lift_by_tenth(of.y, of.predicted, of.kind, exposure=of.exposure, weight=of.weight)
    cards.of_model(plots.lift_by_tenth(table, of.kind, f"{named.column(model.target)}{per}"), model, titled=True)


def _calibration(model: ModelAbout, of: Totals) -> None:
    table = quality.calibration(of.y, of.predicted, of.weight, kind=of.kind, exposure=of.exposure)
    rates = of.predicted if of.exposure is None else of.predicted / of.exposure
    cards.of_model(plots.calibration(table, rates, kind=of.kind), model)
    st.caption("On the dotted line, predicted and observed means are equal.")


def _concentration(model: ModelAbout, of: Totals) -> None:
    line = concentration(of.y, of.predicted, of.exposure, of.weight)
    unit = "rows" if of.exposure is None else "exposure"
    cards.of_model(plots.concentration(line, state.names_of(model).column(model.target), unit), model, titled=True)
    st.caption(
        "The further the curve bends from the diagonal, the better predictions separate rows with much from rows with "
        "little. Gini: twice the area between them."
    )
