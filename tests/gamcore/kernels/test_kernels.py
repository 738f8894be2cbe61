"""Kernels against slow reference versions, with empty bins, ties, weights, missing values and unequal groups."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.boosting.refit.rounds import first_cells, make_sets, weigh_groups
from gamcore.boosting.refit.subagging import join, membership, row_strategy
from gamcore.data import sampling as groups
from gamcore.kernels import N_CODES, histogram
from gamcore.kernels import curve_step as step
from gamcore.kernels import early_stopping as course
from gamcore.kernels import line_cuts as linecut
from gamcore.kernels import row_state as rows
from gamcore.kernels import subagging as rowbags
from gamcore.kernels import subagging_masks as rowmask
from gamcore.kernels.layout import CodedTable, Rows, Settings, aligned, make_fit, make_work
from gamcore.kernels.losses import LOGISTIC, SQUARED, is_paired, no_change, total_loss
from tests.support import naive
from tests.support.fits import fit, problem
from tests.support.gears import mostly_slow

LAST = 12


def make(seed, n=300, n_groups=7, loss=LOGISTIC, weighted=False, dtype=np.float64, last=LAST):
    """Make a table of two features in unequal groups, with its rows; code 0 (missing) occurs, some bins are empty."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, 1, 2, 3, 5, 8, 11, 12], size=(2, n)).astype(np.uint8)
    cuts = np.sort(rng.choice(np.arange(1, n), n_groups - 1, replace=False))
    starts = np.concatenate([[0], cuts, [n]]).astype(np.int64)
    table = CodedTable(codes, starts, np.full(2, last), np.zeros(2, bool), np.arange(2))
    target = (rng.random(n) < 0.4).astype(np.uint8)
    logistic = loss == LOGISTIC
    score = np.exp(rng.normal(size=n)) if logistic else rng.normal(size=n)
    weight = rng.uniform(0.2, 3, n) if weighted else np.empty(0)
    return table, Rows(score.astype(dtype), target if logistic else np.empty(0, np.uint8), weight.astype(dtype)), rng


def gradients(state, loss):
    weight = state.weight if state.weight.size else np.ones(state.score.size)
    if loss == LOGISTIC:
        return naive.logistic_state(state.score.astype(float), state.target, weight)
    return state.score * weight, weight


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_groups", [1, 3, 4, 7, 9])
def test_group_histograms_are_those_of_their_rows(loss, weighted, n_groups):
    table, state, _ = make(n_groups, n=1500, n_groups=n_groups, loss=loss, weighted=weighted)
    fit, work = make_fit(2, no_change(loss), np.float64), make_work(1, 3, np.float64)
    hist = np.full((n_groups, 2 * N_CODES), 9.0)
    g, h = gradients(state, loss)
    histogram.add_groups(table, state, np.arange(n_groups), fit, 1, loss, work, hist)
    for group in range(n_groups):
        expected = naive.histogram(table.codes[1], g, h, range(table.starts[group], table.starts[group + 1]))
        found = hist[group].reshape(N_CODES, 2) if loss == LOGISTIC else hist[group, :N_CODES]
        np.testing.assert_allclose(found, expected if loss == LOGISTIC else expected[:, 0], atol=1e-12)


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_pending_update_is_applied_once_with_the_next_pass(loss):
    table, state, rng = make(1, loss=loss)
    fit, work = make_fit(2, no_change(loss), np.float64), make_work(1, 3, np.float64)
    update = rng.normal(size=N_CODES)
    fit.factor[:] = np.exp(update) if loss == LOGISTIC else update
    before = state.score.copy()
    histogram.add_groups(table, state, np.arange(7), fit, 1, loss, work, np.zeros((7, 2 * N_CODES)))
    moved = update[table.codes[0]]
    np.testing.assert_allclose(state.score, before * np.exp(moved) if loss == LOGISTIC else before - moved)


def test_histogram_does_not_depend_on_the_other_groups_asked_for():
    table, state, _ = make(3, n=2000, n_groups=9, dtype=np.float32)
    fit, work = make_fit(2, no_change(LOGISTIC)), make_work(1, 3)
    whole = np.zeros((9, 2 * N_CODES), np.float32)
    histogram.add_groups(table, state, np.arange(9), fit, 0, LOGISTIC, work, whole)
    for share in (np.array([0, 1, 2, 3]), np.array([4, 5]), np.array([6, 7, 8])):
        part = np.zeros((share.size, 2 * N_CODES), np.float32)
        histogram.add_groups(table, state, share, fit, 0, LOGISTIC, work, part)
        np.testing.assert_array_equal(part, whole[share])


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
@pytest.mark.parametrize("share", [0.3, 0.65, 1.0])
def test_combined_groups_equal_a_rescan_of_the_same_rows(loss, share):
    table, state, _ = make(4, n=800, n_groups=9, loss=loss)
    fit, work = make_fit(2, no_change(loss), np.float64), make_work(5, 3, np.float64)
    size = histogram.width(LAST, is_paired(loss))
    hist = histogram.lines(np.zeros(9 * 2 * N_CODES), 9, size)
    histogram.add_groups(table, state, np.arange(9), fit, 0, loss, work, hist)
    member = groups.bag_pool(9, share, 5, 0)[0]
    work.bags[:] = 7.0
    for b, bag in enumerate(member):
        histogram.combine(hist, bag, size, work.bags[b])
    g, h = gradients(state, loss)
    chosen = [np.concatenate([np.arange(table.starts[k], table.starts[k + 1]) for k in bag]) for bag in member]
    out = np.zeros_like(work.bags)
    flat = np.stack([g, h], axis=1).ravel() if loss == LOGISTIC else g
    rowbags.rescan(table.codes[0], flat, is_paired(loss), join([bag.astype(np.int32) for bag in chosen]), out)
    np.testing.assert_allclose(work.bags[:, :size], out[:, :size], atol=1e-12)
    for b, bag in enumerate(chosen):
        expected = naive.histogram(table.codes[0], g, h, bag)
        found = out[b].reshape(-1, 2) if loss == LOGISTIC else out[b, :N_CODES]
        np.testing.assert_allclose(found, expected if loss == LOGISTIC else expected[:, 0], atol=1e-12)


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_total_is_the_sum_over_groups(loss):
    hist = np.random.default_rng(0).normal(size=(5, 2 * N_CODES)).astype(np.float32)
    total = np.full((2, N_CODES), 5.0)
    histogram.add_up(hist, 20, is_paired(loss), total)
    expected = hist.astype(float).sum(axis=0)
    if loss == LOGISTIC:
        np.testing.assert_allclose(total[:, :21], expected.reshape(-1, 2)[:21].T, atol=1e-12)
    else:
        np.testing.assert_allclose(total[0, :21], expected[:21], atol=1e-12)
    assert (total[:, 21:] == 5.0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_a_group_and_bin(weighted):
    table, state, _ = make(5, weighted=weighted)
    out, first = weigh_groups(table, state.weight), first_cells(table)
    weight = state.weight if weighted else np.ones(300)
    for group in range(7):
        inside = slice(table.starts[group], table.starts[group + 1])
        for j in range(2):
            expected = np.bincount(table.codes[j, inside], weight[inside], minlength=LAST + 1)
            np.testing.assert_allclose(out[group, first[j] : first[j + 1]], expected)


def test_weights_of_bags_are_those_of_their_groups():
    table, state, _ = make(5, weighted=True)
    weight, train = weigh_groups(table, state.weight), np.array([0, 2, 3, 6])
    sets = make_sets(table, train, weight, 0.5, 3, 0, np.float64)
    np.testing.assert_allclose(sets.total, weight[train].sum(axis=0))
    for draw, b in np.ndindex(*sets.member.shape[:2]):
        np.testing.assert_allclose(sets.weight[draw, b], weight[train[sets.member[draw, b]]].sum(axis=0))


def test_scratch_begins_on_a_cache_line():
    for shape in ((7,), (3, 5), (16, 512)):
        values = aligned(shape, np.float32)
        assert values.shape == shape
        assert values.ctypes.data % 64 == 0
        assert not values.any()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("strategy", ["rescan", "mst", "complement", "mask"])
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
@pytest.mark.parametrize("n_bags", mostly_slow([11, 1, 32, 70], 1))
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_row_level_strategies_give_the_histograms_of_the_same_bags(strategy, loss, n_bags, dtype, tolerance):
    table, state, rng = make(6, n=3000, dtype=dtype, loss=loss)
    table.codes[0, rng.random(3000) < 0.7] = 3  # a bin longer than one chunk
    train = np.sort(rng.choice(3000, 2400, replace=False))
    g, h = (values.astype(dtype) for values in gradients(state, loss))
    outside = np.setdiff1d(np.arange(3000), train)
    g[outside] = h[outside] = 0
    fill, lists = row_strategy(table, "subagging", strategy, train, n_bags, 0.65, 3, is_paired(loss), dtype)
    out = np.full((n_bags, 2 * N_CODES), 5, dtype)
    fill(0, np.stack([g, h], axis=1).ravel() if loss == LOGISTIC else g, out)
    for b in range(n_bags):
        bag = lists.rows[lists.offsets[b] : lists.offsets[b + 1]]
        assert len(set(bag)) == 1560
        expected = naive.histogram(table.codes[0], g, h, bag)
        if loss == LOGISTIC:
            np.testing.assert_allclose(out[b].reshape(-1, 2), expected, atol=tolerance * 10)
        else:
            np.testing.assert_allclose(out[b, :N_CODES], expected[:, 0], atol=tolerance * 10)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_sums_in_any_order_stay_within_the_stated_tolerance(dtype, tolerance, loss):
    table, _, rng = make(11, n=1024, dtype=dtype, loss=loss)
    table.codes[0] = 1  # one run of 1,024 rows
    g = (rng.standard_normal(1024) * 10.0 ** rng.uniform(-6, 6, 1024)).astype(dtype)
    fill, lists = row_strategy(table, "subagging", "mask", np.arange(1024), 9, 0.9, 0, is_paired(loss), dtype)
    out = np.empty((9, 2 * N_CODES), dtype)
    fill(0, np.stack([g, np.abs(g)], axis=1).ravel() if loss == LOGISTIC else g, out)
    at = 2 if loss == LOGISTIC else 1
    for b, got in enumerate(out[:, at].tolist()):
        inside = g[lists.rows[lists.offsets[b] : lists.offsets[b + 1]]].tolist()
        magnitude = math.fsum(np.abs(inside))
        assert abs(got - math.fsum(inside)) <= tolerance * magnitude
        if loss == LOGISTIC:
            assert abs(out[b, at + 1] - magnitude) <= tolerance * magnitude


def test_membership_holds_each_row_once_and_fills_bins_up_with_rows_of_no_bag():
    table, _, rng = make(12, n=500)
    train = np.sort(rng.choice(500, 400, replace=False))
    bags = groups.subsamples(train, 9, 0.5, 0)
    member = membership(table, train, bags)
    for j, (by_bin, words) in enumerate(zip(member.by_bin, member.words, strict=True)):
        assert by_bin.size == words.shape[1] == member.ends[j, -1]
        assert not (member.ends[j] % rowmask.LANES).any()
        bits = np.unpackbits(words, axis=0, bitorder="little")
        for b, bag in enumerate(bags):
            assert sorted(by_bin[bits[b] == 1]) == bag.tolist()
        held = bits.any(axis=0)
        code = np.repeat(np.arange(N_CODES), np.diff(member.ends[j]))
        np.testing.assert_array_equal(table.codes[j, by_bin[held]], code[held])


def test_bootstrap_counts_multiplicities():
    table, state, _ = make(7, n=200)
    g, h = gradients(state, LOGISTIC)
    fill, lists = row_strategy(table, "bagging", "rescan", np.arange(200), 3, 1.0, 1, True, np.float64)
    out = np.zeros((3, 2 * N_CODES))
    fill(1, np.stack([g, h], axis=1).ravel(), out)
    for b in range(3):
        span = slice(lists.offsets[b], lists.offsets[b + 1])
        assert lists.times[span].sum() == 200
        expected = naive.histogram(table.codes[1], g, h, lists.rows[span], lists.times[span])
        np.testing.assert_allclose(out[b].reshape(-1, 2), expected, atol=1e-12)


def test_crumbs_in_empty_bins_are_cleared():
    weight = np.zeros((1, LAST + 1))
    weight[0, 3] = 2.0
    out = np.full((1, 2 * N_CODES), 1e-17)
    rowbags.clear_empty(weight, True, out)
    assert np.flatnonzero(out[0, : 2 * LAST + 2]).tolist() == [6, 7]
    out[:] = 1e-17
    rowbags.clear_empty(weight, False, out)
    assert np.flatnonzero(out[0, : LAST + 1]).tolist() == [3]


def cut(g, s, d=None, max_leaves=3, mart=False, dtype=np.float64, bags=1, min_node_weight=5.0, loss=LOGISTIC, key=None):
    """Return the update of `bags` equal bags over a line with these sums."""
    last = len(g)
    work = make_work(bags, max_leaves, dtype)
    weight = np.zeros((bags, last + 1 if mart or loss == SQUARED else 0), dtype)
    if weight.size:
        weight[:, 1:] = s
    if loss == LOGISTIC:
        work.bags[:, 2 : 2 * last + 2 : 2] = g
        work.bags[:, 3 : 2 * last + 3 : 2] = s if d is None else d
    else:
        work.bags[:, 1 : last + 1] = g
    chosen = Settings(loss, mart, 1.0, max_leaves, min_node_weight, 10.0, bags, key is not None)
    linecut.cut_lines(weight, last, chosen, key or 0, 0, work)
    return work.update[1 : last + 1] / bags


@pytest.mark.slow
def test_worked_example_of_line_cutting():
    found = cut([4, 2, -1, -6, -3], [4, 4, 4, 6, 4])
    np.testing.assert_allclose(found, [0.75, 0.75, -0.25, -0.9, -0.9])


def test_worked_example_of_one_cut():
    y = np.array([1.2, 2, 1.5, 3.2, 2.8, 4.1])
    found = cut(y, np.ones(6), max_leaves=2)
    np.testing.assert_allclose(found, [y[:3].mean()] * 3 + [y[3:].mean()] * 3)


lines = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 7.0]), min_size=n, max_size=n),
    )
)


@pytest.mark.slow
@given(lines, st.integers(2, 6), st.sampled_from([LOGISTIC, SQUARED]))
def test_line_cutting_equals_its_twin(line, max_leaves, loss):
    s = np.array(line[1])
    g = np.where(s > 0, line[0], 0.0)
    found = cut(g, s, max_leaves=max_leaves, loss=loss)
    expected = naive.line_tree(g, s, s, max_leaves)
    error = np.sum(s * found**2 - 2 * g * found)
    assert error == pytest.approx(np.sum(s * expected**2 - 2 * g * expected), abs=1e-6)
    # Only two leaves without a tie: in deeper trees rounding decides ties.
    if max_leaves == 2 and len({round(naive.reduction(g, s, k, 0, len(g)), 9) for k in range(1, len(g))}) == len(g) - 1:
        np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("planted", range(1, 10))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_planted_cut_is_found(planted, dtype):
    g = np.where(np.arange(10) < planted, 3.0, -2.0)
    found = cut(g, np.full(10, 4.0), max_leaves=2, dtype=dtype, bags=16)
    np.testing.assert_allclose(found, g / 4, rtol=1e-6)


def test_empty_places_take_the_nearer_leaf_and_the_middle_goes_left():
    g = [6.0, 0, 0, 0, -6.0]
    assert cut(g, [6.0, 0, 0, 0, 6.0], max_leaves=2).tolist() == [1, 1, 1, -1, -1]
    assert cut([*g[:4], -6.0, 0], [6.0, 0, 0, 0, 6.0, 0], max_leaves=2).tolist() == [1, 1, 1, -1, -1, -1]


def test_light_nodes_are_not_cut():
    assert cut([2.0, -2.0], [2.0, 2.0], max_leaves=2).tolist() == [0.0, 0.0]
    assert cut([2.0, -2.0], [2.0, 2.0], max_leaves=2, min_node_weight=0.0).tolist() == [1.0, -1.0]


def test_mart_splits_on_weights_and_values_leaves_by_newton():
    g, s, d = [4.0, 1.0, -3.0], [5.0, 5.0, 5.0], [1.0, 2.0, 0.5]
    found = cut(g, s, d, max_leaves=2, mart=True)
    np.testing.assert_allclose(found, naive.line_tree(np.array(g), np.array(s), np.array(d), 2))


def test_a_heavy_line_keeps_its_light_leaf_exact_in_float32():
    g, s = [5000.0] * 9 + [-7.0], [1e6] * 9 + [10.0]
    np.testing.assert_allclose(cut(g, s, max_leaves=2, dtype=np.float32)[-1], -0.7, rtol=1e-6)


def test_random_cuts_are_anywhere_and_leaves_are_means():
    g, s = np.array([3.0, 1.0, -2.0, 4.0, -1.0, 0.0]), np.array([1.0, 2.0, 1.0, 3.0, 2.0, 0.0])
    at = set()
    for key in range(1, 200):
        found = cut(g, s, max_leaves=2, key=key)
        jumps = np.flatnonzero(np.diff(found))
        if jumps.size == 0:  # the cut before the empty last place leaves nothing on its right
            np.testing.assert_allclose(found, g.sum() / s.sum())
            continue
        (last,) = jumps
        at.add(int(last))
        np.testing.assert_allclose(found[0], g[: last + 1].sum() / s[: last + 1].sum())
        np.testing.assert_allclose(found[-1], g[last + 1 :].sum() / s[last + 1 :].sum())
    assert at == {0, 1, 2, 3}
    assert cut([2.0], [3.0], max_leaves=2, key=5).tolist() == [2.0 / 3.0]


def test_a_random_cut_amid_empty_places_stands_in_their_middle():
    g, s = [4.0, 2.0, 0.0, 0.0, 0.0, -2.0], [2.0, 2.0, 0.0, 0.0, 0.0, 2.0]
    found = {tuple(cut(g, s, max_leaves=2, key=key).tolist()) for key in range(1, 100)}
    assert found == {(2.0, *[0.0] * 5), (1.5, 1.5, 1.5, 1.5, -1.0, -1.0)}  # the exact middle joins the left


def test_order_of_levels_depends_on_their_sums_only():
    work = make_work(1, 3, np.float64)
    work.total[:, 1:6] = np.array([[1, 10], [5, 10], [-3, 10], [5, 10], [0, 0]], float).T
    linecut.sort_line(work, 5, 10.0)
    assert work.order[1:6].tolist() == [3, 5, 1, 2, 4]


@pytest.mark.parametrize(("loss", "mart"), [(LOGISTIC, False), (LOGISTIC, True), (SQUARED, False)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_grouped_round_equals_its_twin(loss, mart, weighted):
    table, state, _ = make(8, n=400, n_groups=8, loss=loss, weighted=weighted)
    weight = weigh_groups(table, state.weight) if loss == SQUARED or mart else None
    sets = make_sets(table, np.arange(6), weight, 0.65, 3, 0, np.float64)
    member = sets.member
    fit = make_fit(2, no_change(loss), np.float64)
    chosen = Settings(loss, mart, 0.3, 3, 5.0, 10.0, 3)
    score, expected = state.score.copy(), []
    row_weight = state.weight if weighted else np.ones(400)
    for j in range(2):
        g, h = gradients(Rows(score, state.target, state.weight), loss)
        bags = [
            [(i, 1) for k in bag for i in range(table.starts[k], table.starts[k + 1])]
            for bag in member[j % len(member)]
        ]
        expected.append(naive.step(table.codes[j], LAST, g, h, row_weight, bags, mart, 3, 0.3))
        moved = expected[-1][table.codes[j]]
        score = score * np.exp(moved) if loss == LOGISTIC else score - moved
    step.grouped_round(table, state, sets, fit, chosen, 0, make_work(3, 3, np.float64), np.zeros(6 * 512))
    np.testing.assert_allclose(fit.curves[:, : LAST + 1], expected, atol=1e-12)


def test_greedy_steps_go_to_the_feature_that_gained_most():
    table, state, _ = make(9, n=400, n_groups=8, loss=SQUARED)
    state.score[:] += table.codes[1] * 0.5
    state.score[:] -= state.score.mean()
    sets = make_sets(table, np.arange(8), weigh_groups(table, state.weight), 0.65, 3, 0, np.float64)
    fit = make_fit(2, no_change(SQUARED), np.float64)
    chosen = Settings(SQUARED, False, 0.1, 2, 5.0, 10.0, 3)
    step.grouped_round(table, state, sets, fit, chosen, 4, make_work(3, 3, np.float64), np.zeros(8 * 512))
    assert fit.steps.tolist() == [1, 5]


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_gain_is_the_drop_of_the_quadratic_model(loss):
    table, state, _ = make(10, n=400, n_groups=8, loss=loss)
    weight = weigh_groups(table, state.weight) if loss == SQUARED else None
    sets = make_sets(table, np.arange(8), weight, 1.0, 1, 0, np.float64)
    fit = make_fit(2, no_change(loss), np.float64)
    g, h = gradients(state, loss)
    hist = np.zeros((8, 512))
    work = make_work(1, 3, np.float64)
    histogram.add_groups(table, state, np.arange(8), fit, 0, loss, work, hist)
    step.grouped_trees(table, sets, 0, hist, fit, Settings(loss, False, 0.5, 3, 5.0, 10.0, 1), work)
    moved = fit.curves[0, table.codes[0]]
    assert fit.gains[0] == pytest.approx(np.sum(2 * g * moved - h * moved**2))


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_and_updates_of_rows(loss, weighted):
    table, state, rng = make(11, loss=loss, weighted=weighted)
    weight = state.weight if weighted else np.ones(300)
    curves = rng.normal(size=(2, N_CODES))
    response = np.array([0.3]) if loss == LOGISTIC else rng.normal(size=300)
    rows.rescore(table, state, response, curves, loss, np.empty(100))
    total = curves[0, table.codes[0]] + curves[1, table.codes[1]]
    np.testing.assert_allclose(state.score, np.exp(total + 0.3) if loss == LOGISTIC else response - total)
    found = total_loss(state, 5, 205, loss)
    inside = slice(5, 205)
    if loss == LOGISTIC:
        expected = naive.log_loss(state.score[inside], state.target[inside], weight[inside])
    else:
        expected = np.sum(weight[inside] * state.score[inside] ** 2)
    assert found == pytest.approx(expected)
    before = state.score.copy()
    moved = np.zeros((2, N_CODES))
    moved[:, : LAST + 1] = rng.normal(size=(2, LAST + 1))
    shift = moved[0, table.codes[0]] + moved[1, table.codes[1]]
    step.catch_up(table, state, np.arange(7), moved, loss, np.empty(N_CODES))
    np.testing.assert_allclose(state.score, before * np.exp(shift) if loss == LOGISTIC else before - shift)
    assert not moved.any()


def test_extreme_odds_stay_finite():
    table, state, _ = make(12)
    fit, work = make_fit(2, no_change(LOGISTIC), np.float32), make_work(1, 3)
    state = Rows(np.ones(300, np.float32), state.target, np.empty(0, np.float32))
    fit.factor[:] = np.float32(1e30)
    hist = np.zeros((7, 512), np.float32)
    histogram.add_groups(table, state, np.arange(7), fit, 0, LOGISTIC, work, hist)
    assert np.isfinite(hist).all()
    assert np.isfinite(total_loss(state, 0, 300, LOGISTIC))


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_validation_is_the_loss_of_the_moved_curves(loss):
    table, state, rng = make(13, loss=loss)
    response = np.array([0.2]) if loss == LOGISTIC else rng.normal(size=300)
    fit = make_fit(2, no_change(loss), np.float64)
    rows.rescore(table, state, response, fit.curves, loss, np.empty(100))
    valid = np.array([1, 4])
    inside = np.concatenate([np.arange(table.starts[g], table.starts[g + 1]) for g in valid])
    watched = course.make_course(2, valid, float(inside.size), np.float64)
    fit.curves[:, : LAST + 1] = fit.moved[:, : LAST + 1] = rng.normal(size=(2, LAST + 1))
    score = fit.curves[0, table.codes[0]] + fit.curves[1, table.codes[1]]
    if loss == LOGISTIC:
        expected = naive.log_loss(np.exp(score + 0.2)[inside], state.target[inside]) / inside.size
    else:
        expected = np.mean((response - score)[inside] ** 2)
    assert course.validate(table, state, fit, loss, watched) == pytest.approx(expected)


def judged(losses, patience, tolerance=0.0, enough=-np.inf):
    """Return the round at which a refit with these validation losses stalls (0: never), and its best round."""
    watched = course.make_course(1, np.array([0]), 1.0, np.float64)
    watched.losses[:] = 9.0
    fit = make_fit(1, no_change(SQUARED), np.float64)
    for number, loss in enumerate(losses, 1):
        fit.curves[:] = number
        if course.judge(loss, fit, course.StopRule(patience, tolerance, enough), watched):
            break
    else:
        number = 0
    best = int(watched.counts[course.BEST_ROUND])
    assert (watched.curves == best).all()
    assert watched.losses[course.BEST] == losses[best - 1]
    return number, best


def test_a_refit_stalls_after_its_patience_and_a_young_one_sooner():
    falling = list(np.linspace(2.0, 1.0, 60))
    assert judged([*falling, *[1.5] * 99], 25) == (60 + 25, 60)
    assert judged([*falling[:20], *[3.0] * 99], 25) == (20 + 10, 20)
    assert judged([*falling[:4], *[3.0] * 99], 25) == (4 + 5, 4)
    assert judged([*falling[:4], *[3.0] * 99], 2) == (4 + 2, 4)
    assert judged(falling, 25) == (0, 60)


def test_a_loss_that_creeps_does_not_train_for_nothing():
    creeping = list(1.0 - 1e-7 * np.arange(200))
    stalled, best = judged(creeping, 10, tolerance=1e-5)
    assert stalled == best == 1 + 5


def test_a_loss_that_is_small_enough_ends_a_refit():
    halving = list(0.5 ** np.arange(1.0, 30.0))
    assert judged(halving, 10) == (0, 29)
    assert judged(halving, 10, enough=0.5**7) == (7, 7)
    assert judged(halving, 10, enough=np.nan) == (0, 29)


def test_without_validation_nothing_stalls_and_the_last_round_counts():
    watched = course.make_course(1, np.empty(0, np.int64), 0.0, np.float64)
    fit = make_fit(1, no_change(SQUARED), np.float64)
    for _ in range(40):
        assert not course.judge(np.nan, fit, course.StopRule(1, 0.0), watched)
    assert watched.counts[course.BEST_ROUND] == 40


def test_kernels_are_not_retyped_silently():
    """Each kernel is compiled for float32 and float64 state only: a third signature would cost seconds."""
    for dtype, loss in itertools.product((np.float32, np.float64), ("squared", "logistic")):
        fit(problem(loss), dtype=dtype, max_rounds=3, smoothing_rounds=1)
    for function in (course.grouped_rounds, course.validate, histogram.combine, rows.rescore):  # the entry points
        of_features = [told for told in function.signatures if "uint16" not in str(told)]  # pairs have codes of 16 bits
        assert len(of_features) == 2
