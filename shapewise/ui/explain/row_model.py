"""A model as single rows are looked at: its held-out rows, its predictions, and how both are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from gamcore import GAMClassifier
from gamcore.common.numbers import exact, fixed, number, percent
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.column_names import PLAIN, Measure, Names
from gamcore.estimators.additive import AdditiveEstimator, single_model
from gamcore.estimators.base import loss_of
from gamcore.estimators.gam import ClassView
from gamcore.explain.curves import Breakdown
from gamcore.model import output_names
from shapewise.scoring.reasons import cell_text
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.ui.session import state


@dataclass(frozen=True)
class RowModel:
    """A model with the rows of its table, and the names of its columns."""

    about: ModelAbout
    estimator: AdditiveEstimator
    data: Data
    names: Names

    @property
    def is_binary(self) -> bool:
        """Whether it predicts a probability."""
        return self.estimator.model_.loss.is_binary

    @property
    def measure(self) -> Measure:
        """Unit and form of the target, where it is a number; the unit of an effect."""
        if (unit := state.effect_unit(self.about)) is not None:
            return Measure(unit)
        return PLAIN if self.is_binary else self.names.of(self.about.target).measure

    def bins(self) -> dict[str, Bins]:
        """Return the bins of each column; months and weekdays of dates are not columns of their own."""
        return {bins.feature.column: bins for bins in self.estimator.model_.bins if bins.feature.part == "value"}

    def predict(self, rows: pd.DataFrame) -> Floats:
        """Return the probabilities, or the predictions in the target's units."""
        fitted = self.estimator
        return np.asarray(
            fitted.predict_proba(rows)[:, 1] if isinstance(fitted, GAMClassifier) else fitted.predict(rows)
        )

    @property
    def predicted(self) -> str:
        """What the prediction of a row is called, as in scored files and SQL."""
        return output_names.predicted(self.estimator.model_.given)

    @property
    def exposure(self) -> str:
        """The shown name of the column of exposures; empty where there is none."""
        return self.names.column(column) if (column := self.about.spec.get("exposure")) else ""

    def say(self, value: float) -> str:
        """Return a prediction as text."""
        return percent(value) if self.is_binary else self.measure.say(value, number(value))

    def say_move(self, by: float) -> str:
        """Return a change of the prediction as text."""
        if self.is_binary:
            return f"{fixed(100 * by, 1, signed=True)} points"
        return self.measure.gap(by, number(by, 4, signed=True))

    def say_truth(self, value: float) -> str:
        """Return an actual target as text: as it is, since nothing of it was estimated."""
        return ("yes" if value else "no") if self.is_binary else self.measure.say(value, exact(value))

    def base_rate(self) -> float:
        """Return the base rate of the training rows, or the mean of their target: the one that curves start from."""
        if isinstance(self.estimator, ClassView):
            return self.estimator.base_chance
        model = single_model(self.estimator)
        return float(model.loss.inverse_link(np.array(model.base_score)))

    def how_it_adds_up(self, breakdown: Breakdown) -> str:
        """Return how the parts add up, and why they begin elsewhere than at the base rate."""
        if loss_of(self.estimator).is_partial:
            return (
                "The parts add up exactly to the score of this class; its chance depends on the scores of all classes."
            )
        if loss_of(self.estimator).has_log_link:
            return f"The parts multiply to the {self.predicted}: on the log scale they add up exactly."
        if not self.is_binary:
            return "The parts add up exactly to the prediction."
        words = "The parts add up exactly, on the log-odds; in points each is what it adds after those above it."
        average, base = self.say(float(expit(breakdown.intercept))), self.say(self.base_rate())
        if average == base:
            return words
        return (
            f"{words} They begin at the average row ({average}), a mean of log-odds; the base rate of the training "
            f"rows is {base}."
        )

    def cells(self, row: pd.DataFrame) -> dict[str, str]:
        """Return the cells of a row as text, by the shown names of their columns."""
        return {self.names.column(str(name)): self.cell(str(name), cell) for name, cell in row.iloc[0].items()}

    def cell(self, column: str, cell: object) -> str:
        """Return a cell as text: a whole number as an amount only where the model reads it as a number."""
        own = self.bins().get(column)
        return cell_text(self.names, column, cell, maybe_code=own is None or own.feature.kind != "number")


def row_model(about: ModelAbout) -> RowModel | None:
    """Return a model with the rows of its table; None where that has been deleted."""
    data = state.data(about)
    return None if data is None else RowModel(about, state.additive(about.id), data, state.names_of(about))
