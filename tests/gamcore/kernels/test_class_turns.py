"""Turns of classes: odds against the others, and the loss of all, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from gamcore.kernels.class_turns import begin_turn, class_loss, end_turn

N, K = 300, 5


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(K, N)) * 3
    return scores, np.exp(scores), np.exp(scores).sum(axis=0), rng


def test_a_turn_shows_the_odds_against_the_others(rows):
    scores, odds, total, _ = rows
    for k in range(K):
        shown = np.empty(N)
        begin_turn(odds[k], total, shown)
        chance = softmax(scores, axis=0)[k]
        np.testing.assert_allclose(shown, chance / (1 - chance), rtol=1e-9)


def test_turns_add_their_steps(rows):
    scores, odds, total, rng = rows
    for turn in range(200):
        k, step = turn % K, rng.normal(size=N) * 0.2
        shown = np.empty(N)
        begin_turn(odds[k], total, shown)
        end_turn(shown * np.exp(step), odds[k], total)
        scores[k] += step
    np.testing.assert_allclose(odds, np.exp(scores), rtol=1e-9)
    np.testing.assert_allclose(total, odds.sum(axis=0), rtol=1e-9)


def test_sum_and_odds_in_single_precision_stay_together(rows):
    _, odds, _, rng = rows
    odds = odds.astype(np.float32)
    total = odds.astype(np.float64).sum(axis=0)
    for turn in range(500):
        k, shown = turn % K, np.empty(N, np.float32)
        begin_turn(odds[k], total, shown)
        end_turn(shown * rng.uniform(0.8, 1.25, N).astype(np.float32), odds[k], total)
    np.testing.assert_allclose(total, odds.astype(np.float64).sum(axis=0), rtol=1e-12)


def test_certain_rows_stay_finite():
    odds = np.array([[1e13], [1e-13]])
    total, shown = odds.sum(axis=0), np.empty(1)
    for k in range(2):
        begin_turn(odds[k], total, shown)
        assert 1e-13 <= shown[0] <= 1e13
        end_turn(shown, odds[k], total)
        assert np.isfinite(total).all()
        assert (odds > 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_the_own_class(rows, weighted):
    scores, odds, total, rng = rows
    codes = rng.integers(0, K, N).astype(np.uint8)
    weight = rng.uniform(0.5, 2.0, N) if weighted else np.empty(0)
    each = -np.log(softmax(scores, axis=0)[codes, np.arange(N)])
    expected = float((each * weight)[20:250].sum() if weighted else each[20:250].sum())
    assert class_loss(odds, total, codes, weight, 20, 250) == pytest.approx(expected)
