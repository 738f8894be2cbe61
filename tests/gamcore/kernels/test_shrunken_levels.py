"""The step on a category of very many levels, against a slow twin, and against what it is to estimate."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.kernels.layout import Settings, make_work
from gamcore.kernels.losses import LOGISTIC, SQUARED, is_paired
from gamcore.kernels.shrunken_levels import draw_levels

LAST, BAGS = 400, 5


def step(bags, total, curve, loss, most=10.0):
    """The kernel's step; bags (B, 2, V) and total (2, V) are sums of gradients and weights."""
    work = make_work(BAGS, 3, np.float64, LAST + 112)
    work.total[:, : LAST + 1] = total
    for b, (g, s) in enumerate(bags):
        if is_paired(loss):
            work.bags[b, : 2 * LAST + 2] = np.stack([g, s], axis=1).ravel()
        else:
            work.bags[b, : LAST + 1] = g
    weight = np.zeros((BAGS, 0)) if is_paired(loss) else np.stack([s for _, s in bags])
    draw_levels(weight, LAST, curve, Settings(loss, False, 0.4, 2, 5.0, most, BAGS), work)
    assert work.order[: LAST + 1].tolist() == list(range(LAST + 1))
    return work.update[: LAST + 1] / BAGS


def twin(bags, total, curve):
    (g, s), v = total, range(LAST + 1)
    mean = sum(g[k] + s[k] * curve[k] for k in v) / sum(s)
    usual, common, shared = sum(s) / (LAST + 1), 0.0, 0.0
    for bag_g, bag_s in bags:
        for k in v:
            inside = bag_g[k] + bag_s[k] * (curve[k] - mean)
            outside = g[k] - bag_g[k] + (s[k] - bag_s[k]) * (curve[k] - mean)
            common += inside * outside / (s[k] + usual) ** 2
            shared += bag_s[k] * (s[k] - bag_s[k]) / (s[k] + usual) ** 2
    if common <= 0:
        return mean - curve
    signal = common / shared
    beyond = [g[k] + s[k] * (curve[k] - mean) for k in v]
    noise = sum((beyond[k] ** 2 - signal * s[k] ** 2) / (s[k] + usual) ** 2 for k in v)
    noise /= sum(s[k] / (s[k] + usual) ** 2 for k in v)
    ratio = max(noise, 0.0) / signal
    return np.array([mean + (beyond[k] / (s[k] + ratio) if s[k] + ratio > 0 else 0.0) - curve[k] for k in v])


def draw(seed, effect=1.0, rows=12_000):
    """Rows of levels with normal effects and noise of variance 1, as sums of bags of six of ten groups."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, LAST - 20, rows)  # the last levels have no rows
    effects = effect * rng.normal(size=LAST + 1)
    curve = 0.3 * rng.normal(size=LAST + 1)
    residual = effects[level] - curve[level] + rng.normal(size=rows)
    group = rng.integers(0, 10, rows)

    def sums(inside):
        return np.stack([np.bincount(level[inside], one[inside], LAST + 1) for one in (residual, np.ones(rows))])

    bags = [sums(np.isin(group, rng.choice(10, 6, replace=False))) for _ in range(BAGS)]
    return bags, sums(np.full(rows, True)), curve, effects


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC])
@pytest.mark.parametrize("effect", [0.0, 0.2, 1.0])
def test_the_step_equals_its_twin(loss, effect):
    bags, total, curve, _ = draw(int(10 * effect), effect)
    np.testing.assert_allclose(step(bags, total, curve, loss), twin(bags, total, curve), atol=1e-12)


def test_it_leads_to_the_best_prediction_of_each_level():
    bags, total, curve, effects = draw(3)
    predicted, seen = curve + step(bags, total, curve, SQUARED), total[1] > 0
    errors = {"shrunken": predicted, "means": curve + np.divide(total[0], total[1], where=seen, out=np.zeros(LAST + 1))}
    error = {name: np.mean((one - effects)[seen] ** 2) for name, one in errors.items()}
    best = np.mean(1 / (total[1][seen] + 1))
    assert error["shrunken"] < 1.1 * best
    assert error["shrunken"] < 0.99 * error["means"]


def test_steps_are_bounded_and_levels_without_rows_lie_at_the_mean():
    bags, total, curve, _ = draw(4)
    assert np.abs(step(bags, total, curve, SQUARED, most=0.1)).max() == 0.1
    moved = curve + step(bags, total, curve, SQUARED)
    assert np.ptp(moved[total[1] == 0]) < 1e-12


def test_no_rows_at_all_are_no_step():
    nothing = np.zeros((2, LAST + 1))
    assert not step([nothing] * BAGS, nothing, np.zeros(LAST + 1), SQUARED).any()
