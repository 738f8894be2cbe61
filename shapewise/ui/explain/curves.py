"""What pages compute from the curves of a model in view, once for all their runs."""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.data.binning import encode_table
from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier
from gamcore.explain.classes import ClassCurves
from gamcore.explain.concurvity import Tradeoff, tradeoffs
from gamcore.explain.observed import Observed, observed
from gamcore.model.scales import Scale
from shapewise.ui.session import state

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
