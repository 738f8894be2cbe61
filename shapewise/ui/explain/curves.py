"""What pages compute from the curves of a model in view, once for all their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gamcore.data.binning import encode_table
from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier
from gamcore.explain import plots
from gamcore.explain.classes import ClassCurves
from gamcore.explain.concurvity import Tradeoff, tradeoffs
from gamcore.explain.importance import Importance
from gamcore.explain.observed import Observed, observed
from gamcore.explain.sentences import read_curve
from gamcore.model.scales import Scale
from gamcore.viz.spec import Plot
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.widgets.drawn import content

MOST_ROWS: Final = 5_000
"""Training rows on which curves that trade off are looked for."""

MOST_CURVES: Final = 300


@state.kept(show_spinner=False, max_entries=64)
def observed_means(identifier: str, place: int, scale: Scale) -> list[Observed]:
    """Return the observed means of a feature, over the held-out and over the training rows."""
    about = state.workspace().models.about(identifier)
    rows, model_ = state.data(about), state.additive(identifier).model_
    if rows is None:
        return []
    codes = encode_table(rows.X, (model_.bins[place],))[0]
    y, weight = rows.rates
    parts = ((rows.held_out, "observed, held-out rows"), (~rows.held_out, "observed, training rows"))
    return [
        observed(model_.bins[place], codes[part], y[part], loss=model_.loss, scale=scale, name=name,
                 weight=None if weight is None else weight[part])
        for part, name in parts if part.any()
    ]  # fmt: skip


@state.kept(show_spinner=False, max_entries=64)
def class_chances(identifier: str, bands: int, feature: str) -> ClassCurves:
    """Return the chances of all classes along a feature."""
    fitted = state.whole(identifier)
    assert isinstance(fitted, GAMClassifier)
    return fitted.explain_classes(feature)


@state.kept(show_spinner=False, max_entries=16)
def trade_offs(identifier: str, bands: int) -> list[Tradeoff]:
    """Return the features of a model whose curves trade off over some of its training rows."""
    about = state.workspace().models.about(identifier)
    data, estimator = state.data(about), state.additive(identifier)
    if data is None or len(estimator.model_.terms) > MOST_CURVES:
        return []
    places = np.flatnonzero(~data.held_out)
    places = np.sort(np.random.default_rng(0).permutation(places)[:MOST_ROWS])
    return tradeoffs(single_model(estimator), encode_table(data.X.iloc[places], estimator.model_.bins))


def importance(model: ModelAbout, scale: Scale) -> Importance:
    """Return the importance of every term of a model."""
    return _importance(model.id, model.bands, scale)


@state.kept(show_spinner=False, max_entries=32)
def _importance(identifier: str, bands: int, scale: Scale) -> Importance:
    return state.additive(identifier).importance(scale)


@dataclass(frozen=True)
class Multiple:
    """A curve among others on one scale. band : what its band is, as `Curve.band`. sentence : what it shows. leaves :
    whether it goes beyond the scale, where few rows are."""

    feature: str
    plot: Plot
    band: str
    sentence: str
    leaves: bool


def multiples(model: ModelAbout, features: list[str], scale: Scale) -> list[Multiple]:
    """Return the curves of some features, small, on one scale, and as people name them."""
    return _multiples(model.id, model.bands, tuple(features), scale, content(state.names_of(model)))


@state.kept(show_spinner=False, max_entries=64)
def _multiples(identifier: str, bands: int, features: tuple[str, ...], scale: Scale, names: str) -> list[Multiple]:
    about, estimator = state.workspace().models.about(identifier), state.additive(identifier)
    curves = [estimator.explain_shape(name).on(scale) for name in features]
    limits = plots.common_limits(curves)
    small_curves = []
    for curve, seen in zip(curves, (state.seen(about, curve) for curve in curves), strict=True):
        leaves = bool(((curve.scores < limits[0]) | (curve.scores > limits[1])).any())
        small_curves.append(Multiple(curve.feature, plots.small(seen, limits), curve.band, read_curve(seen), leaves))
    return small_curves
