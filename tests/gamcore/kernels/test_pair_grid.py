"""Kernels of pairs against their slow reference versions: grids, best trees, strengths, rounds."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.kernels import pair_cross as cross
from gamcore.kernels import pair_grid as grid
from gamcore.kernels import pair_refined as refined
from gamcore.kernels import pair_rounds as pairs
from gamcore.kernels.early_stopping import StopRule, make_course
from gamcore.kernels.layout import CodedTable, Rows, Settings, make_fit, make_work
from gamcore.kernels.losses import LOGISTIC, SQUARED, no_change
from tests.support import naive
from tests.support.gears import mostly_slow

LAST = (6, 5)


def rows_of_a_pair(seed, n=400, missing=0.1, empty=True):
    """Make codes of two features, some missing, some bins empty, and gradients with an interaction."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, LAST[0] + 1, n), rng.integers(1, LAST[1] + 1, n)
    if empty:
        a[a == 3] = 4
    a[rng.random(n) < missing] = 0
    b[rng.random(n) < missing] = 0
    g = rng.normal(size=n) + 0.5 * ((a > 2) != (b > 3)) + 0.3 * (a == 0) * (b > 2)
    return a.astype(np.uint8), b.astype(np.uint8), g, rng.uniform(0.1, 1.0, n)


def run_up(a, b, g, h, dtype=np.float64):
    board = grid.make_board(dtype)
    stats = (g + 1j * h).astype(board.sums.dtype)
    pairs.add_two(np.stack([a, b]), (0, 1, 1), 0, stats, board.sums)
    np.testing.assert_array_equal(board.sums[0], board.sums[1])
    board.cells[:] = board.two[0]
    grid.run_up(board.cells, board.cells[:0], True, LAST, board.run)
    return board


@pytest.mark.parametrize("seed", range(3))
def test_running_sums_are_sums_of_rows(seed):
    a, b, g, h = rows_of_a_pair(seed)
    run = run_up(a, b, g, h).run
    for i in range(LAST[0] + 1):
        for j in range(LAST[1] + 1):
            here = (a == 0 if i == 0 else (a >= 1) & (a <= i)) & (b == 0 if j == 0 else (b >= 1) & (b <= j))
            np.testing.assert_allclose(run[:, i, j], [g[here].sum(), h[here].sum()], atol=1e-9)
    np.testing.assert_allclose(grid.total(run, LAST), [g.sum(), h.sum()])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("floor", [0.5, 5.0, 30.0])
@pytest.mark.parametrize("seed", mostly_slow(range(3), 1))
def test_the_best_trees_are_those_of_the_twins(seed, floor, missing):
    a, b, g, h = rows_of_a_pair(seed, missing=missing)
    board = run_up(a, b, g, h)
    value, tree = naive.best_cross(a, b, g, h, LAST, floor)
    assert cross.best_cross(board.run, LAST, floor, False, (0, 0), board) == pytest.approx(value, rel=1e-9)
    assert tree is None or tuple(board.tree) == tree
    value, tree = naive.best_refined(a, b, g, h, LAST, floor)
    assert refined.best_refined(board.run, LAST, floor, board) == pytest.approx(value, rel=1e-9)
    if tree is not None:  # where the halves tie, another tree is as good
        sums = naive.pair_sums(a, b, g, h, tuple(board.tree))
        assert naive.leaf_scores(sums, floor).sum() == pytest.approx(value, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("floor", [0.5, 5.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_strengths_are_those_of_the_twins(seed, floor, missing):
    a, b, g, h = rows_of_a_pair(seed, missing=missing)
    codes, ends, stats = np.stack([a, b]), np.array(LAST), g + 1j * h
    out = np.empty(1)
    pairs.rank_pairs(codes, ends, stats, np.array([[0, 1]]), floor, True, grid.make_board(np.float64), out)
    assert out[0] == pytest.approx(naive.purified_strength(a, b, g, h, LAST, floor), rel=1e-9, abs=1e-12)
    pairs.rank_pairs(codes, ends, stats, np.array([[0, 1]]), floor, False, grid.make_board(np.float64), out)
    value = naive.best_cross(a, b, g, h, LAST, floor)[0]
    expected = value - g.sum() ** 2 / h.sum() if value > 0 else 0.0
    assert out[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def exact_table(values, n=4):
    """Make the rows of a 2 x 2 table with these sums, n rows per cell."""
    a, b = np.repeat([1, 1, 2, 2], n).astype(np.uint8), np.repeat([1, 2, 1, 2], n).astype(np.uint8)
    return np.stack([a, b]), np.repeat(np.array(values, float) / n, n)


@pytest.mark.parametrize(
    ("sums", "rss", "purified"), [((2.0, -2.0, -2.0, 2.0), 4.0, 4.0), ((4.0, 0.0, 0.0, -4.0), 8.0, 0.0)]
)
def test_two_strong_main_effects_are_strong_under_rss_only(sums, rss, purified):
    codes, g = exact_table(sums)
    stats, out = g + 1j, np.empty(1)
    for pure, expected in ((False, rss), (True, purified)):
        board = grid.make_board(np.float64)
        pairs.rank_pairs(codes, np.array([2, 2]), stats, np.array([[0, 1]]), 1.0, pure, board, out)
        assert out[0] == pytest.approx(expected, abs=1e-12)


def pair_table(a, b, n_groups=4):
    cells = (grid.SIDE * a.astype(np.uint16) + b)[None].astype(np.uint16)
    starts = np.linspace(0, a.size, n_groups + 1).astype(np.int64)
    last = np.array([grid.SIDE * LAST[0] + LAST[1]])
    return CodedTable(cells, starts, last, np.zeros(1, bool), np.zeros(1, np.int64))


def test_light_leaves_of_missing_rows_are_worth_nothing():
    """One missing row has a huge gradient: the step would leave its light leaf at 0, so no cut may isolate it."""
    a, b, g, h = rows_of_a_pair(3, missing=0.0, empty=False)
    a[:4], g[:4], h[:4] = 0, [1000.0, 0, 0, 0], 0.01
    for find in ("cross", "refined"):
        board = run_up(a, b, g, h)
        if find == "cross":
            value = cross.best_cross(board.run, LAST, 5.0, False, (0, 0), board)
        else:
            value = refined.best_refined(board.run, LAST, 5.0, board)
        kept = a > 0
        other = run_up(a[kept], b[kept], g[kept], h[kept])
        without = (
            cross.best_cross(other.run, LAST, 5.0, False, (0, 0), other)
            if find == "cross"
            else refined.best_refined(other.run, LAST, 5.0, other)
        )
        assert value == pytest.approx(without)
        assert board.tree.tolist()[:4] == other.tree.tolist()[:4]


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_float32_finds_what_float64_does(missing):
    """Production searches in float32 and finds the largest value by its bits."""
    for seed in range(20):
        a, b, g, h = rows_of_a_pair(seed, missing=missing)
        single, double = run_up(a, b, g, h, np.float32), run_up(a, b, g, h)
        for pure in (False, True):
            value = cross.best_cross(single.run, LAST, 5.0, pure, (0, 0), single)
            assert value == pytest.approx(
                cross.best_cross(double.run, LAST, 5.0, pure, (0, 0), double), rel=1e-4, abs=1e-6
            )
        value = refined.best_refined(single.run, LAST, 5.0, single)
        assert value == pytest.approx(refined.best_refined(double.run, LAST, 5.0, double), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_histograms_add_up_over_groups(loss):
    a, b, g, _ = rows_of_a_pair(0)
    table = pair_table(a, b)
    target = (g > 0).astype(np.uint8) if loss == LOGISTIC else np.empty(0, np.uint8)
    state = Rows(np.exp(g) if loss == LOGISTIC else g.copy(), target, np.empty(0))
    fit, scratch = (
        make_fit(1, no_change(loss), np.float64, grid.N_CELLS),
        (make_work(1, 2, np.float64), grid.make_board(np.float64)),
    )
    parts = np.zeros((5, 2 * grid.N_CELLS))
    for k, groups in enumerate([[0], [1], [2], [3], [0, 1, 2, 3]]):
        pairs.add_pair(table, state, np.array(groups), fit, 0, loss, scratch)
        parts[k] = scratch[1].wide
    np.testing.assert_allclose(parts[:4].sum(axis=0), parts[4], atol=1e-12)
    for cell in np.unique(table.codes[0]):
        here = table.codes[0] == cell
        if loss == LOGISTIC:
            expected = naive.logistic_state(state.score[here], target[here])
            np.testing.assert_allclose(parts[4, 2 * cell : 2 * cell + 2], [s.sum() for s in expected], atol=1e-12)
        else:
            np.testing.assert_allclose(parts[4, cell], g[here].sum(), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_a_round_adds_the_leaves_of_the_best_tree(loss, refined):
    a, b, g, _ = rows_of_a_pair(5, n=600)
    table, train = pair_table(a, b), np.arange(3)
    inside = np.arange(a.size) < table.starts[3]
    target = (g > 0).astype(np.uint8) if loss == LOGISTIC else np.empty(0, np.uint8)
    state = Rows(np.exp(0.1 * g) if loss == LOGISTIC else g.copy(), target, np.empty(0))
    if loss == LOGISTIC:
        gradient, weight = naive.logistic_state(state.score, target)
        cells = np.zeros((1, 0))
    else:
        gradient, weight = g, np.ones(a.size)
        cells = np.bincount(table.codes[0][inside], minlength=grid.N_CELLS)[None].astype(float)
    chosen = Settings(loss, False, 0.3, 2, 2.0, 10.0, 1)
    fit = make_fit(1, no_change(loss), np.float64, grid.N_CELLS)
    course = make_course(1, np.array([3]), float((~inside).sum()), np.float64, grid.N_CELLS)
    scratch = make_work(1, 2, np.float64), grid.make_board(np.float64)
    told = (table, state, train, pairs.Terms(0, np.array([LAST]), cells), fit, chosen, scratch, (refined, 0))
    assert pairs.pair_rounds(*told, StopRule(10, 0.0), course, 1) == (1, False)
    find = naive.best_refined if refined else naive.best_cross
    _, tree = find(a[inside], b[inside], gradient[inside], weight[inside], LAST, 2.0)
    sums = naive.pair_sums(a[inside], b[inside], gradient[inside], weight[inside], tree)
    surface = fit.curves[0].reshape(grid.SIDE, grid.SIDE)
    for i in range(LAST[0] + 1):
        for j in range(LAST[1] + 1):
            part, side = naive.pair_leaf(i, j, tree)
            total, heavy = sums[part, side]
            light = heavy < (2.0 if part == 2 or side == 2 else 1e-8)
            assert surface[i, j] == pytest.approx(0.0 if light else 0.3 * total / heavy, abs=1e-12)
