"""The rows of an experiment, whose effect is learnt like any other target, and measured by all of them.

What is expected of each row whatever its arm is learnt once, in training, and kept beside the model. The signal of a
row is made of that, its arm and its outcome; the mean of the signals of any rows is their measured effect. What a model
says of a row it was learnt from would flatter it, so `unseen` learns one without each part of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.data.binning import encode_table
from gamcore.data.columns import TableError
from gamcore.data.table import as_table
from gamcore.decide.unseen import Unseen, curves_of
from gamcore.decide.uplift import Uplift, read_uplift, signals
from gamcore.estimators.additive import single_model
from gamcore.estimators.effect import arms_apart, expected_outcomes
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from shapewise.store.workspace import Workspace
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec, Treatment

POINTS = 100.0
PARTS: Final = 5
"""Of the training rows; a model is learnt without each."""


def measured(data: Data, treatment: Treatment, expected: Floats) -> Data:
    """Return the rows of an experiment with signals of its effect as their target. expected : (n,), see `expect`."""
    assert data.treated is not None
    if expected.size != len(data.y):
        raise TableError("The rows of this experiment have changed since the model was trained: train it again.")
    outcome = data.y.to_numpy(np.float64)
    share = np.full(outcome.size, treatment.share)
    signal = signals(outcome, data.treated, share, expected) * (POINTS if treatment.percent else 1.0)
    return replace(data, y=pd.Series(signal, index=data.y.index), expected=expected)


def expect(data: Data, seed: int, n_jobs: int = 1) -> Floats:
    """Return the outcome (n,) expected of each row whatever its arm, by models that did not see it: of training rows by
    those of other training rows, of held-out rows by one of all training rows."""
    known, expected = ~data.held_out, np.empty(len(data.y))
    X, y, given = data.X[known], data.y[known].to_numpy(np.float64), data.of_rows(known)
    expected[known] = expected_outcomes(X, y, **given, random_state=seed, n_jobs=n_jobs)
    if np.ptp(y) == 0:
        expected[~known] = y[0]
        return expected
    rate = bool(np.isin(y, (0.0, 1.0)).all())
    model = (GAMClassifier if rate else GAMRegressor)(random_state=seed, n_jobs=n_jobs).fit(X, y, **given)
    held = data.X[data.held_out]
    expected[~known] = model.predict_proba(held)[:, 1] if isinstance(model, GAMClassifier) else model.predict(held)
    return expected


def unseen(data: Data, model: GAMRegressor, seed: int, fit: Callable[[Data], GAMRegressor]) -> Unseen:
    """Return what models say of rows that they have not seen: of held-out rows the model itself, of each part of the
    training rows one that is learnt without it. fit : trains a model of the same form. Rows of a group share a part."""
    known = np.flatnonzero(~data.held_out)
    names = np.arange(known.size) if data.groups is None else pd.factorize(data.groups[known], use_na_sentinel=False)[0]
    part = np.zeros(len(data.y), np.int64)
    part[known] = 1 + np.random.default_rng(seed).permutation(int(names.max()) + 1)[names] % PARTS
    curves: dict[str, Floats] = {}
    scores = np.full(len(data.y), single_model(model).intercept)
    if not curves_of(single_model(model), as_table(data.X[:1])):  # it tells nobody apart: nothing to measure
        return Unseen(part, scores, curves)
    for number in range(PARTS + 1):
        rows = part == number
        if not rows.any():
            continue
        other = single_model(fit(replace(data, held_out=data.held_out | rows)) if number else model)
        table = as_table(data.X[rows])
        # A model without a part that was moved much has a low intercept, which would put that part last.
        scores[rows] = single_model(model).intercept + (other.score(encode_table(table, other.bins)) - other.intercept)
        for column, added in curves_of(other, table).items():
            curves.setdefault(column, np.zeros(len(data.y)))[rows] = added
    return Unseen(part, scores, curves)


def as_trained(space: Workspace, spec: Spec, data: Data) -> Data:
    """Return the rows of a specification as its model read them; those of an experiment have signals as their target,
    once it is trained."""
    if spec.treatment is None or not spec.treatment.known_by:
        return data
    return measured(data, spec.treatment, space.models.expected(spec.treatment.known_by))


def apart(data: Data, treatment: Treatment, seed: int, n_jobs: int = 1) -> list[dict[str, Any]]:
    """Return the features that tell the arms of the training rows apart, with the share of fair draws in which one
    does: none where arms were drawn at random, but in 5% of experiments. Of rows that were assigned together, one."""
    assert data.treated is not None
    known = np.flatnonzero(~data.held_out)
    if data.groups is not None:  # assigned together, so that they are one draw
        known = known[np.unique(data.groups[known], return_index=True)[1]]
    X, treated = data.X.iloc[known], data.treated[known]
    if np.ptp(treated) == 0:
        return []
    frame = arms_apart(X, treated, treatment.share, random_state=seed, n_jobs=n_jobs)
    inside = frame[frame["entered"] > 0]
    return [{"feature": str(name), "chance": float(chance)}
            for name, chance in zip(inside["feature"], inside["chance"], strict=True)]  # fmt: skip


def uplift(data: Data, predicted: Floats) -> Uplift:
    """Return what following an order of rows is worth. predicted : of all rows (n,) by models that have not seen them,
    or (n held out,)."""
    rows = data.held_out if predicted.size < len(data.y) else np.ones(len(data.y), bool)
    return read_uplift(predicted, data.y[rows].to_numpy(np.float64), None if data.groups is None else data.groups[rows])


def metrics(data: Data, predicted: Floats) -> dict[str, float]:
    """Return the mean effect, which all rows measure whatever the model, and Qini, with their 95% intervals.

    predicted : as of `uplift`."""
    named = {"effect": uplift(data, np.zeros(len(data.y))).average, "qini": uplift(data, predicted).qini}
    return {f"{name}{end}": float(value) for name, (mean, ends) in named.items()
            for end, value in (("", mean), ("_low", ends[0]), ("_high", ends[1]))}  # fmt: skip
