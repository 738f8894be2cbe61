"""Kernels of the quantile loss against slow versions, and its steps against searches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.boosting.refit.rounds import make_sets
from gamcore.kernels import N_CODES, histogram
from gamcore.kernels import curve_step as step
from gamcore.kernels import pair_grid as grid
from gamcore.kernels import pair_rounds as pairs
from gamcore.kernels import row_state as rows
from gamcore.kernels.early_stopping import StopRule, make_course
from gamcore.kernels.layout import CodedTable, Rows, Settings, make_fit, make_work
from gamcore.kernels.losses import is_paired, leaf_value, n_states, no_change, quantile, total_loss
from tests.support import naive

LAST = 12
FORMS = [quantile(0.5, 0.2), quantile(0.9, 0.05), quantile(0.02, 1.0)]
MOST = 10.0


def make(seed=0, n=400, weighted=False, dtype=np.float64):
    """Make a table of two features in eight groups, and rows with residuals as their states."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, 1, 2, 3, 5, 8, 11, 12], size=(2, n)).astype(np.uint8)
    starts = np.linspace(0, n, 9).astype(np.int64)
    table = CodedTable(codes, starts, np.full(2, LAST), np.zeros(2, bool), np.arange(2))
    residual = rng.standard_t(2, n) + 0.7 * (codes[0] > 4)
    weight = rng.uniform(0.2, 3, n) if weighted else np.empty(0)
    return table, Rows(residual.astype(dtype), np.empty(0, np.uint8), weight.astype(dtype))


def weights(state):
    return state.weight.astype(float) if state.weight.size else np.ones(state.score.size)


def test_rows_have_two_channels_and_one_state():
    assert all(is_paired(loss) and n_states(loss) == 1 and no_change(loss) == 0.0 for loss in FORMS)


@pytest.mark.parametrize("loss", FORMS)
def test_the_gradient_is_the_slope_of_the_smoothed_loss(loss):
    residual, nudge = np.random.default_rng(0).standard_t(2, 200), 1e-6
    near = [naive.check_loss(residual + u, loss.level, loss.width) for u in (nudge, -nudge)]
    slopes, _ = naive.check_state(residual, loss.level, loss.width, np.ones(200))
    np.testing.assert_allclose(slopes, (near[0] - near[1]) / (2 * nudge), atol=1e-8)


@pytest.mark.parametrize("loss", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_histograms_hold_slopes_and_weights_after_an_update(loss, weighted, dtype, tolerance):
    table, state = make(weighted=weighted, dtype=dtype)
    fit, work = make_fit(2, no_change(loss), dtype), make_work(1, 3, dtype)
    hist, residual = np.zeros((8, 2 * N_CODES), dtype), state.score.astype(float)
    fit.factor[:] = np.random.default_rng(1).normal(size=N_CODES)
    residual -= fit.factor.astype(float)[table.codes[0]]
    histogram.add_groups(table, state, np.arange(8), fit, 1, loss, work, hist)
    np.testing.assert_allclose(state.score, residual, atol=tolerance)
    g, s = naive.check_state(residual, loss.level, loss.width, weights(state))
    for k, (start, stop) in enumerate(zip(table.starts[:-1], table.starts[1:], strict=True)):
        expected = naive.histogram(table.codes[1], g, s, range(start, stop))
        np.testing.assert_allclose(hist[k].reshape(-1, 2)[: LAST + 1], expected[: LAST + 1], atol=tolerance * 50)


@pytest.mark.parametrize("loss", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_rows_have_the_kink(loss, weighted):
    _, state = make(3, weighted=weighted)
    expected = naive.check_loss(state.score, loss.level) * weights(state)
    assert total_loss(state, 10, 300, loss) == pytest.approx(expected[10:300].sum(), rel=1e-12)


def test_all_ways_to_move_a_row_agree():
    loss = FORMS[1]
    table, state = make(4)
    start, rng = state.score.copy(), np.random.default_rng(5)
    moved = np.zeros((2, N_CODES))
    moved[:, : LAST + 1] = rng.normal(size=(2, LAST + 1))
    steps = moved[0, table.codes[0]] + moved[1, table.codes[1]]
    curves = moved.copy()
    step.catch_up(table, state, np.arange(8), moved, loss, np.empty(2 * N_CODES))
    np.testing.assert_allclose(state.score, start - steps)
    state.score[:] = start
    pairs.shift_by(np.r_[steps, np.ones(9)], state.score, loss)
    np.testing.assert_allclose(state.score, start - steps)
    rows.rescore(table, state, start, curves, loss, np.empty(100))
    np.testing.assert_allclose(state.score, start - steps)
    start[0], start[1] = 1e300, -1e30
    rows.rescore(table, state, start, curves, loss, np.empty(100))
    assert state.score[:2].tolist() == [1e18, -1e18]


LEAVES = st.lists(st.floats(-100, 100), min_size=1, max_size=20)


@given(LEAVES, st.sampled_from(FORMS), st.floats(0.0, 1.0))
def test_no_share_of_a_leaf_raises_the_loss_however_far_its_rows_are(residual, loss, share):
    g, s = (sums.sum() for sums in naive.check_state(residual, loss.level, loss.width, np.ones(len(residual))))
    value = share * leaf_value(g, s, np.inf, loss)
    before, after = (naive.check_loss(np.array(residual) - u, loss.level, loss.width).sum() for u in (0.0, value))
    assert before - after >= share * (1 - share) * g * g / s - 1e-9 * (1 + before)  # what the parabola promises


@pytest.mark.parametrize("loss", FORMS)
def test_repeated_leaves_end_at_the_best_step(loss):
    residual = 7.0 + np.random.default_rng(6).standard_t(2, 60)
    at = 0.0
    for _ in range(400):
        g, s = (sums.sum() for sums in naive.check_state(residual - at, loss.level, loss.width, np.ones(60)))
        at += 0.8 * leaf_value(g, s, MOST, loss)
    tried = np.linspace(-20, 40, 60_001)
    losses = sum((loss.level - 0.5) * (r - tried) + np.hypot(r - tried, loss.width) / 2 for r in residual)
    assert at == pytest.approx(tried[losses.argmin()], abs=2e-3)


@pytest.mark.parametrize("loss", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_grouped_round_equals_its_twin(loss, weighted):
    table, state = make(8, weighted=weighted)
    row_weight, residual = weights(state), state.score.copy()
    sets = make_sets(table, np.arange(6), None, 0.65, 3, 0, np.float64)
    fit = make_fit(2, no_change(loss), np.float64)
    expected = []
    for j in range(2):
        g, s = naive.check_state(residual, loss.level, loss.width, row_weight)
        bags = [
            [(i, 1) for k in bag for i in range(table.starts[k], table.starts[k + 1])]
            for bag in sets.member[j % len(sets.member)]
        ]
        expected.append(naive.step(table.codes[j], LAST, g, s, row_weight, bags, False, 3, 0.3))
        residual = residual - expected[-1][table.codes[j]]
    chosen = Settings(loss, False, 0.3, 3, 5.0, MOST, 3)
    step.grouped_round(table, state, sets, fit, chosen, 0, make_work(3, 3, np.float64), np.zeros(6 * 512))
    np.testing.assert_allclose(fit.curves[:, : LAST + 1], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("loss", FORMS)
def test_a_round_of_pairs_adds_the_leaves_of_the_best_tree(loss):
    rng, n, last = np.random.default_rng(5), 600, (6, 5)
    first, second = rng.integers(0, 7, n), rng.integers(0, 6, n)
    codes = (grid.SIDE * first + second).astype(np.uint16)[None]
    starts, end = np.array([0, 150, 300, 450, n]), np.array([grid.SIDE * last[0] + last[1]])
    table = CodedTable(codes, starts, end, np.zeros(1, bool), np.zeros(1, np.int64))
    residual = rng.normal(size=n) + 2.0 * ((first > 3) == (second > 2))
    state = Rows(residual.copy(), np.empty(0, np.uint8), np.empty(0))
    inside = np.arange(n) < 450
    fit = make_fit(1, no_change(loss), np.float64, grid.N_CELLS)
    course = make_course(1, np.array([3]), 150.0, np.float64, grid.N_CELLS)
    scratch = make_work(1, 2, np.float64), grid.make_board(np.float64)
    chosen, terms = Settings(loss, False, 0.3, 2, 2.0, MOST, 1), pairs.Terms(0, np.array([last]), np.zeros((1, 0)))
    asked = (table, state, np.arange(3), terms, fit, chosen, scratch, (False, 0))
    assert pairs.pair_rounds(*asked, StopRule(10, 0.0), course, 1) == (1, False)
    g, s = naive.check_state(residual, loss.level, loss.width, np.ones(n))
    _, tree = naive.best_cross(first[inside], second[inside], g[inside], s[inside], last, 2.0)
    sums = naive.pair_sums(first[inside], second[inside], g[inside], s[inside], tree)
    surface = fit.curves[0].reshape(grid.SIDE, grid.SIDE)
    for i in range(last[0] + 1):
        for j in range(last[1] + 1):
            part, side = naive.pair_leaf(i, j, tree)
            slope, heavy = sums[part, side]
            light = heavy < (2.0 if part == 2 or side == 2 else 1e-8)
            value = 0.0 if light else 0.3 * naive.newton(slope, heavy)
            assert surface[i, j] == pytest.approx(value, abs=1e-9)
    moved = (residual - surface[first, second])[~inside]
    assert course.history[0] == pytest.approx(naive.check_loss(moved, loss.level).sum() / 150)
