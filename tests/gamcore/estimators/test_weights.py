"""What a weight is: only ratios of weights matter, and a row of the mean weight counts as one row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import EffectGAM, GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor, update
from tests.support.gears import mostly_slow

FEW = {"outer_bags": 2, "max_rounds": 60, "random_state": 0}
FACTORS = [1e-6, 0.0999, 0.1001, 1 / 3, 7.0, 1000.0, 1e6]
N = 600


def rows():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, N), "b": rng.uniform(-2, 2, N), "c": rng.choice(list("pqr"), N)})
    return X, X["a"] * X["b"] + np.sin(2 * X["a"]) + 0.2 * rng.normal(size=N), rng


def targets(y, rng):
    return {
        "number": y,
        "count": rng.poisson(np.exp(0.5 * y)),
        "amount": np.exp(0.3 * y),
        "yes or no": (y > 0).astype(int),
        "class": np.digitize(y, [-0.5, 0.5]),
    }


MODELS = {
    "curves": (GAMRegressor(**FEW), "number"),
    "pairs": (GAMRegressor(interactions=1, **FEW), "number"),
    "chosen pairs": (GAMRegressor(interactions="auto", **FEW), "number"),
    "pairs of counts": (GAMRegressor(objective="poisson", interactions=1, **FEW), "count"),
    "amounts": (GAMRegressor(objective="gamma", interactions=1, **FEW), "amount"),
    "tweedie": (GAMRegressor(objective="tweedie", interactions=1, **FEW), "count"),
    "quantile": (GAMRegressor(objective="quantile", quantile=0.7, interactions=1, **FEW), "number"),
    "chances": (GAMClassifier(interactions=1, **FEW), "yes or no"),
    "classes": (GAMClassifier(interactions=1, **FEW), "class"),
    "bagging": (GAMRegressor(ensemble="bagging", max_bins=64, **FEW), "number"),
    "smooth": (GAMRegressor(shapes="smooth", **FEW), "number"),
    "levels": (GAMRegressor(shapes={"a": "linear", "c": "levels"}, **FEW), "number"),
    "greedy": (GAMRegressor(order="greedy", shapes="smooth", validation_fraction=0.0, **FEW), "number"),
    "monotone": (GAMRegressor(monotone={"a": 1}, **FEW), "number"),
    "bands": (GAMRegressor(bands=10, **FEW), "number"),
    "tasks": (MultiTaskTreesRegressor(**FEW), "number"),
    "tasks with floors": (MultiTaskTreesRegressor(l2=5.0, min_child_weight=10.0, **FEW), "number"),
    "tasks of counts": (MultiTaskTreesRegressor(objective="poisson", **FEW), "count"),
    "tasks of classes": (MultiTaskTreesClassifier(**FEW), "yes or no"),
}


def scores(estimator, X, target, weight):
    """What a model of weighted rows says of all rows."""
    model, told = estimator, {}
    if isinstance(model, MultiTaskTreesRegressor | MultiTaskTreesClassifier):
        told = {"task": X["c"].to_numpy()}
    model.fit(X, target, sample_weight=weight, **told)
    return (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(X, **told)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", mostly_slow(MODELS, 6))
def test_a_constant_factor_of_all_weights_changes_nothing(name):
    """Kilos or units, shares or amounts: nothing but rounding."""
    X, y, rng = rows()
    estimator, kind = MODELS[name]
    target, weight = targets(y, rng)[kind], rng.gamma(2.0, 1.0, N)
    expected = scores(estimator, X, target, weight)
    assert np.ptp(expected) > 0
    for factor in FACTORS:
        np.testing.assert_allclose(
            scores(estimator, X, target, factor * weight), expected, 1e-9, 1e-9, err_msg=str(factor)
        )


@pytest.mark.parametrize("name", mostly_slow(MODELS, 4))
def test_weights_that_are_all_alike_are_none(name):
    X, y, rng = rows()
    estimator, kind = MODELS[name]
    target = targets(y, rng)[kind]
    expected = scores(estimator, X, target, None)
    for constant in (0.0999, 1.0, 2.0, 1e6):
        np.testing.assert_array_equal(scores(estimator, X, target, np.full(N, constant)), expected, str(constant))


def test_a_row_of_the_mean_weight_counts_as_one_row():
    """Rows of weight 0 are not there, and do not make the others heavy."""
    X, y, rng = rows()
    weight = rng.choice([0.0, 1.0], N)
    some = weight > 0
    expected = GAMRegressor(interactions=1, **FEW).fit(X[some], y[some]).predict(X)
    np.testing.assert_array_equal(scores(GAMRegressor(interactions=1, **FEW), X, y, 7 * weight), expected)


@pytest.mark.slow
def test_effects_do_not_know_the_unit_of_weights():
    X, y, rng = rows()
    arm, weight = rng.integers(0, 2, N), rng.gamma(2.0, 1.0, N)
    models = [EffectGAM(**FEW).fit(X, y + arm * X["a"], arm, 0.5, factor * weight) for factor in (1.0, 1e-6, 1e6)]
    for other in models[1:]:
        np.testing.assert_allclose(other.predict(X), models[0].predict(X), atol=1e-9)
        assert other.average_effect_ == pytest.approx(models[0].average_effect_)


@pytest.mark.parametrize("whole", [True, False])
def test_counts_that_are_kept_do_not_know_the_unit_of_weights_either(whole):
    """Sums of whole weights are exact, and those of others have 14 bits."""
    X, y, rng = rows()
    X = pd.concat([X] * 4, ignore_index=True)
    y = pd.concat([y] * 4, ignore_index=True) + rng.normal(size=4 * N)
    weight = rng.integers(1, 5, 4 * N).astype(float) if whole else rng.gamma(2.0, 1.0, 4 * N)
    models = []
    for factor in (1.0, 1e-6, 0.0999, 1000.0, 1e6):
        model = GAMRegressor(keep_tables=True, max_bins=64, **FEW)
        model.fit(X[:N], y[:N], factor * weight[:N])
        models.append(update(model, X[N:], y[N:], factor * weight[N:]))
    spread = models[0].predict(X).std()
    for model in models[1:]:
        assert np.abs(model.predict(X) - models[0].predict(X)).max() < 0.02 * spread
