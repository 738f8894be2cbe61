"""Kernels of the losses with a log link against slow versions, and their steps against searches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.boosting.refit.rounds import make_sets, weigh_groups
from gamcore.kernels import N_CODES, histogram
from gamcore.kernels import curve_step as step
from gamcore.kernels import pair_grid as grid
from gamcore.kernels import pair_rounds as pairs
from gamcore.kernels import row_state as rows
from gamcore.kernels.early_stopping import StopRule, make_course
from gamcore.kernels.layout import CodedTable, Rows, Settings, make_fit, make_work
from gamcore.kernels.losses import (
    GAMMA,
    POISSON,
    is_paired,
    leaf_value,
    n_states,
    no_change,
    sums_of,
    total_loss,
    tweedie,
)
from tests.support import naive

LAST = 12
FORMS = [POISSON, GAMMA, tweedie(1.3), tweedie(1.7)]
MOST = 2.0


def make(loss, seed=0, n=400, weighted=False, dtype=np.float64):
    """Make a table of two features in eight groups, scores, targets, and the rows' states at these scores."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, 1, 2, 3, 5, 8, 11, 12], size=(2, n)).astype(np.uint8)
    starts = np.linspace(0, n, 9).astype(np.int64)
    table = CodedTable(codes, starts, np.full(2, LAST), np.zeros(2, bool), np.arange(2))
    score = rng.normal(scale=0.7, size=n)
    y = np.exp(score) * rng.gamma(2.0, 0.5, n) * np.exp(0.3 * (codes[0] > 4))
    if loss != GAMMA:
        y = np.where(rng.random(n) < 0.4, 0.0, np.round(y + 0.5))
    weight = rng.uniform(0.2, 3, n) if weighted else np.empty(0)
    outcome = np.empty(0) if loss == GAMMA else y
    score = score.astype(dtype).astype(float)
    state = Rows(np.empty(n_states(loss) * n, dtype), np.empty(0, np.uint8), weight.astype(dtype), outcome)
    response = score - np.log(y) if loss == GAMMA else score
    rows.rescore(table, state, response, np.zeros((2, N_CODES)), loss, np.empty(100))
    return table, state, y, score


def weights(state, n=400):
    return state.weight.astype(float) if state.weight.size else np.ones(n)


def channels(loss, a, b):
    """Return the channels of rows (n, 1 or 2), and what is summed once."""
    if loss == POISSON:
        return b[:, None], a
    return (a[:, None], b) if loss == GAMMA else (np.stack([a, b], axis=1), np.empty(0))


def exact(power):
    """Return the value of a leaf, given minus its gradient and its weight."""

    def leaf(g, s):
        b = s - g * power / 3
        a = b + g
        if s <= 1e-8:
            return 0.0
        return float(np.clip(math.log(a / b), -MOST, MOST)) if a > 1e-12 * s else -MOST

    return leaf


@pytest.mark.parametrize("loss", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_hold_the_channels_after_an_update(loss, weighted):
    table, state, y, score = make(loss, weighted=weighted)
    fit = make_fit(2, no_change(loss), np.float64, n_states=n_states(loss))
    work, hist = make_work(1, 3, np.float64), np.zeros((8, 2 * N_CODES))
    moved = np.zeros((2, N_CODES))
    moved[0] = np.random.default_rng(1).normal(size=N_CODES)
    score = score + moved[0, table.codes[0]]
    step.catch_up(table, state, np.arange(8), moved, loss, np.empty(2 * N_CODES))
    histogram.add_groups(table, state, np.arange(8), fit, 1, loss, work, hist)
    sums, _ = channels(loss, *naive.power_state(y, score, loss.power, weights(state)))
    for k, (start, stop) in enumerate(zip(table.starts[:-1], table.starts[1:], strict=True)):
        expected = np.zeros((N_CODES, sums.shape[1]))
        np.add.at(expected, table.codes[1, start:stop], sums[start:stop])
        np.testing.assert_allclose(hist[k, : expected.size], expected.ravel(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_rows_are_deviances(loss, weighted):
    _, state, y, score = make(loss, 3, weighted=weighted)
    expected = naive.power_deviance(y, score, loss.power) * weights(state)
    assert total_loss(state, 10, 300, loss) == pytest.approx(expected[10:300].sum(), rel=1e-9)
    single = make(loss, 3, weighted=weighted, dtype=np.float32)[1]
    assert total_loss(single, 10, 300, loss) == pytest.approx(expected[10:300].sum(), rel=1e-5)


@pytest.mark.parametrize("loss", FORMS)
def test_all_ways_to_move_a_row_agree(loss):
    table, state, _, _ = make(loss, 4)
    start, rng = state.score.copy(), np.random.default_rng(5)
    moved = np.zeros((2, N_CODES))
    moved[:, : LAST + 1] = rng.normal(scale=0.4, size=(2, LAST + 1))
    steps = moved[0, table.codes[0]] + moved[1, table.codes[1]]
    step.catch_up(table, state, np.arange(8), moved, loss, np.empty(2 * N_CODES))
    caught = state.score.copy()
    state.score[:] = start
    pairs.shift_by(np.r_[steps, np.ones(9)], state.score, loss)
    np.testing.assert_allclose(state.score, caught, rtol=1e-12)
    assert not np.allclose(start, caught)


@given(st.sampled_from(FORMS), st.floats(0.001, 1e4), st.floats(0.001, 1e4))
def test_a_leaf_is_the_best_step(loss, a, b):
    g, s = sums_of(b if loss == POISSON else a, a if loss == POISSON else b, loss)
    assert g == pytest.approx(a - b)
    value = leaf_value(g, s, 20.0, loss)
    p = loss.power

    def deviance(u):
        left = -a * u if p == 1 else a * math.expm1((1 - p) * u) / (p - 1)
        right = b * u if p == 2 else b * math.expm1((2 - p) * u) / (2 - p)
        return left + right

    tried = value + np.array([-0.1, -0.001, 0.001, 0.1])
    assert deviance(value) <= min(map(deviance, tried)) + 1e-9 * (a + b)
    if abs(value) < 0.3:  # what cuts are chosen by: the drop, but for terms of fourth order
        assert g * g / s == pytest.approx(-2 * deviance(value), rel=0.02, abs=1e-9 * (a + b))


@pytest.mark.parametrize("loss", FORMS)
def test_leaves_without_events_or_rows(loss):
    none, many = sums_of(*((7.0, 0.0) if loss == POISSON else (0.0, 7.0)), loss), sums_of(0.0, 0.0, loss)
    assert leaf_value(*none, MOST, loss) == -MOST
    assert leaf_value(*many, MOST, loss) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("loss", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_grouped_round_equals_its_twin(loss, weighted):
    table, state, y, score = make(loss, 8, weighted=weighted)
    row_weight = weights(state)
    once = channels(loss, *naive.power_state(y, score, loss.power, row_weight))[1]
    weight = None if is_paired(loss) else weigh_groups(table, once)
    sets = make_sets(table, np.arange(6), weight, 0.65, 3, 0, np.float64)
    fit = make_fit(2, no_change(loss), np.float64, n_states=n_states(loss))
    chosen = Settings(loss, False, 0.3, 3, 5.0, MOST, 3)
    expected = []
    for j in range(2):
        a, b = naive.power_state(y, score, loss.power, row_weight)
        bags = [
            [(i, 1) for k in bag for i in range(table.starts[k], table.starts[k + 1])]
            for bag in sets.member[j % len(sets.member)]
        ]
        s = b + (a - b) * loss.power / 3
        leaf = exact(loss.power)
        expected.append(naive.step(table.codes[j], LAST, a - b, s, row_weight, bags, False, 3, 0.3, leaf))
        score = score + expected[-1][table.codes[j]]
    step.grouped_round(table, state, sets, fit, chosen, 0, make_work(3, 3, np.float64), np.zeros(6 * 512))
    np.testing.assert_allclose(fit.curves[:, : LAST + 1], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("loss", FORMS)
def test_a_round_of_pairs_adds_the_leaves_of_the_best_tree(loss):
    rng, n, last = np.random.default_rng(5), 600, (6, 5)
    first, second = rng.integers(0, 7, n), rng.integers(0, 6, n)
    codes = (grid.SIDE * first + second).astype(np.uint16)[None]
    starts = np.array([0, 150, 300, 450, n])
    end = np.array([grid.SIDE * last[0] + last[1]])
    table = CodedTable(codes, starts, end, np.zeros(1, bool), np.zeros(1, np.int64))
    y = rng.gamma(2.0, 1.0 + 2.0 * ((first > 3) == (second > 2)))
    outcome = np.empty(0) if loss == GAMMA else y
    state = Rows(np.empty(n_states(loss) * n), np.empty(0, np.uint8), np.empty(0), outcome)
    response = -np.log(y) if loss == GAMMA else np.zeros(1)
    rows.rescore(table, state, response, np.zeros((1, grid.N_CELLS)), loss, np.empty(100))
    a, b = naive.power_state(y, np.zeros(n), loss.power, np.ones(n))
    inside = np.arange(n) < 450
    once = channels(loss, a, b)[1]
    cells = np.bincount(codes[0][inside], once[inside], grid.N_CELLS)[None] if once.size else np.zeros((1, 0))
    fit = make_fit(1, no_change(loss), np.float64, grid.N_CELLS, n_states(loss))
    course = make_course(1, np.array([3]), 150.0, np.float64, grid.N_CELLS)
    scratch = make_work(1, 2, np.float64), grid.make_board(np.float64)
    chosen = Settings(loss, False, 0.3, 2, 2.0, MOST, 1)
    asked = (table, state, np.arange(3), pairs.Terms(0, np.array([last]), cells), fit, chosen, scratch, (False, 0))
    assert pairs.pair_rounds(*asked, StopRule(10, 0.0), course, 1) == (1, False)
    s = b + (a - b) * loss.power / 3
    _, tree = naive.best_cross(first[inside], second[inside], (a - b)[inside], s[inside], last, 2.0)
    sums = naive.pair_sums(first[inside], second[inside], (a - b)[inside], s[inside], tree)
    surface = fit.curves[0].reshape(grid.SIDE, grid.SIDE)
    for i in range(last[0] + 1):
        for j in range(last[1] + 1):
            part, side = naive.pair_leaf(i, j, tree)
            g, heavy = sums[part, side]
            light = heavy < (2.0 if part == 2 or side == 2 else 1e-8)
            assert surface[i, j] == pytest.approx(0.0 if light else 0.3 * exact(loss.power)(g, heavy), abs=1e-9)
    moved = surface[first, second]
    held = naive.power_deviance(y[~inside], moved[~inside], loss.power).sum() / 150
    assert course.history[0] == pytest.approx(held)
