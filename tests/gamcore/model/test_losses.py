from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.model.losses import LOSSES
from gamcore.model.quantile_loss import QuantileLoss, weighted_quantile
from tests.support import naive
from tests.support.fits import outcomes

POWERS = ["poisson", "gamma", "tweedie"]


def data(name):
    rng = np.random.default_rng(0)
    if name in POWERS:
        return outcomes(name, rng.normal(size=50), rng), rng.normal(size=50)
    y = (rng.random(50) < 0.4).astype(float) if LOSSES[name].is_binary else rng.normal(size=50)
    return y, rng.normal(scale=2, size=50)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_hessian_are_derivatives(name):
    loss = LOSSES[name]
    y, score = data(name)
    half = 0.5 / loss.newton_drop
    step = 1e-5
    slope = half * (loss.loss(y, score + step) - loss.loss(y, score - step)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(y, score), slope, rtol=1e-7, atol=1e-7)
    bend = (loss.gradient(y, score + step) - loss.gradient(y, score - step)) / (2 * step)
    np.testing.assert_allclose(loss.hessian(y, score), bend, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_base_score_is_the_best_constant(name):
    loss = LOSSES[name]
    y, _ = data(name)
    w = np.random.default_rng(1).uniform(0.5, 2, 50)
    for offset in (np.zeros(50), np.random.default_rng(2).normal(size=50)):
        base = loss.base_score(y, w, offset)
        at = [np.sum(w * loss.loss(y, base + offset + shift)) for shift in (-0.001, 0.0, 0.001)]
        assert at[1] == min(at)
    assert loss.base_score(y, w) == pytest.approx(loss.base_score(y, w, np.zeros(50)), abs=1e-12)


def test_extreme_scores_stay_finite():
    loss = LOSSES["logistic"]
    y, score = np.array([0.0, 1.0]), np.array([800.0, -800.0])
    assert loss.loss(y, score).tolist() == [800.0, 800.0]
    assert np.isfinite(loss.gradient(y, score)).all()
    assert loss.base_score(np.ones(3), np.ones(3)) == 30.0


@pytest.mark.parametrize("name", POWERS)
def test_losses_with_a_log_link_are_deviances(name):
    loss, (y, score) = LOSSES[name], data(name)
    np.testing.assert_allclose(loss.loss(y, score), naive.power_deviance(y, score, loss.variance_power), atol=1e-12)
    np.testing.assert_allclose(loss.link(loss.inverse_link(score)), score)
    a, b = naive.power_state(y, score, loss.variance_power, np.ones(50))
    np.testing.assert_allclose(loss.curvature(y, score), b + (a - b) * loss.variance_power / 3)
    shift = loss.imbalance(y, score, np.ones(50))
    assert loss.inverse_link(score + shift).sum() == pytest.approx(y.sum(), rel=1e-12)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12), st.floats(0.01, 0.99))
def test_a_weighted_quantile_has_its_share_of_the_weight_up_to_it(rows, level):
    values, weight = np.array(rows, float).T
    assert weighted_quantile(values, weight, level) == naive.share_below(values, weight, level - 1e-12)
    repeated = np.repeat(values, weight.astype(int))
    assert weighted_quantile(repeated, np.ones(repeated.size), level) == weighted_quantile(values, weight, level)


def test_the_width_of_a_quantile_follows_the_residuals():
    loss, residual = QuantileLoss(0.9), np.random.default_rng(0).normal(size=1000)
    width = loss.width(residual, np.empty(0))
    assert width == pytest.approx(1.5 * (np.log(1000) / 1000) ** 0.4 * np.sort(np.abs(residual))[499])
    assert loss.width(3.0 * residual, np.empty(0)) == pytest.approx(3.0 * width)
    doubled = loss.width(np.repeat(residual, 2), np.empty(0))
    assert loss.width(residual, np.full(1000, 2.0)) == pytest.approx(doubled, rel=1e-12)
    mostly = np.r_[np.zeros(90), np.ones(10)]
    assert loss.scale_of(mostly, np.empty(0)) == pytest.approx(0.1)
    assert loss.form_at(np.zeros(4, np.float32), np.empty(0, np.float32)).width > 0
    rows = loss.curvature(residual, np.zeros(1000))
    np.testing.assert_allclose(rows, naive.check_state(residual, 0.9, width, np.ones(1000))[1])
    assert loss.spread(residual, None) == pytest.approx(1.71, rel=0.15)  # .3 over the density at 1.28
    assert QuantileLoss(0.5).spread(np.r_[np.zeros(99), 1.0], None) == pytest.approx(0.0995, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "y", "said"),
    [
        ("poisson", [1.0, -2.0, 0.0], "negative in 1 row (counted from 0: 1), and objective='poisson'"),
        ("tweedie", [-1.0] * 5, "negative in 5 rows (counted from 0: 0, 1, 2, ...)"),
        ("gamma", [1.0, 0.0, -1.0], "0 or negative in 2 rows (counted from 0: 1, 2)"),
        ("gamma", [0.0], "choose objective='tweedie', which takes zeros"),
        ("poisson", [0.0, 0.0], "0 in every row"),
        ("squared", [0.0, -1e-150], "no values beyond 1e-140: multiply it by a constant"),
        ("tweedie", [0.0, 1e-150], "no values beyond 1e-140: multiply it by a constant"),
        ("squared", [-1.0, 0.0], ""),
        ("gamma", [0.1, 3.0], ""),
    ],
)
def test_targets_that_a_loss_cannot_have_are_named(name, y, said):
    refusal = LOSSES[name].refusal(np.array(y))
    assert said in refusal
    assert bool(refusal) == bool(said)
