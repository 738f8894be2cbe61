from __future__ import annotations

import numpy as np
import pytest

from gamcore.model.losses import LOSSES


def data(name):
    rng = np.random.default_rng(0)
    y = (rng.random(50) < 0.4).astype(float) if name == "logistic" else rng.normal(size=50)
    return y, rng.normal(scale=2, size=50)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_hessian_are_derivatives(name):
    loss = LOSSES[name]
    y, score = data(name)
    half = 0.5 if name == "squared" else 1.0
    step = 1e-5
    slope = half * (loss.loss(y, score + step) - loss.loss(y, score - step)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(y, score), slope, atol=1e-7)
    bend = (loss.gradient(y, score + step) - loss.gradient(y, score - step)) / (2 * step)
    np.testing.assert_allclose(loss.hessian(y, score), bend, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_base_score_is_the_best_constant(name):
    loss = LOSSES[name]
    y, _ = data(name)
    w = np.random.default_rng(1).uniform(0.5, 2, 50)
    base = loss.base_score(y, w)
    at = [np.sum(w * loss.loss(y, np.full(50, base + shift))) for shift in (-0.01, 0.0, 0.01)]
    assert at[1] == min(at)


def test_extreme_scores_stay_finite():
    loss = LOSSES["logistic"]
    y, score = np.array([0.0, 1.0]), np.array([800.0, -800.0])
    assert loss.loss(y, score).tolist() == [800.0, 800.0]
    assert np.isfinite(loss.gradient(y, score)).all()
    assert loss.base_score(np.ones(3), np.ones(3)) == 30.0
