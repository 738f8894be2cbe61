"""Trees against their slow reference versions: splits, growth, walks, contributions, means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.estimators.multitask_parameters import CRITERIA
from gamcore.kernels import tree_splits as kernels
from gamcore.kernels.losses import GAMMA, LOGISTIC, POISSON, SQUARED, descent_of, loss_of, tweedie
from gamcore.kernels.tree_growth import Growth, Leaves, Members, make_nodes, settle
from gamcore.kernels.tree_rounds import Scheme, keep
from gamcore.kernels.tree_splits import Splitting, score_tasks
from gamcore.model.losses import LOSSES
from gamcore.multitask.trees import Forest, Grower, TreeTable, _buffers, concatenate, empty_trees, scaled
from tests.support import naive
from tests.support.fits import outcomes

LAST = np.array([6, 4, 3, 1])
NOMINAL = np.array([False, True, False, False])
NO_WEIGHT = np.empty(0)
NO_ROWS = np.empty(0, np.int64)


def make_rows(seed, n=60, n_tasks=2, exact=True):
    """Make codes, some missing or absent, and statistics whose sums are exact, so that ties are exact."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(1, last + 1, n) for last in LAST]).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 0
    task = rng.integers(0, n_tasks, n).astype(np.int32)
    codes[2, task == 1] = LAST[2] + 2
    signal = (codes[0] > 3) * 1.0 + (codes[1] == 2) * (task * 2 - 1)
    g = np.round(8 * (signal + rng.normal(size=n))) / 8
    h = np.ones(n) if exact else np.round(8 * rng.random(n) + 1) / 8
    return codes, g, h, task


WITH_TREES = [name for name, loss in LOSSES.items() if loss.has_trees]
FORMS = {"squared": SQUARED, "logistic": LOGISTIC, "poisson": POISSON, "gamma": GAMMA, "tweedie": tweedie(1.5)}
POWERS = ["poisson", "gamma", "tweedie"]
MOST = 2.0


def grow(
    codes, g, h, task, depth=3, criterion="none", rate=1.0, weight=NO_WEIGHT, rows=None, loss=SQUARED, **growth
):  # fmt: skip
    n = codes.shape[1]
    rows = np.arange(n, dtype=np.int32) if rows is None else rows.astype(np.int32)
    how = Splitting(CRITERIA[criterion], 1.0, 1e-12, 0.0, 0.5)
    shape = Growth(depth, growth.get("most_leaves", 2**31), "most_leaves" in growth, growth.get("one_feature", False))
    scheme = Scheme(how, shape, rate, loss, 1, 0.0, MOST if loss.power else np.inf)
    grower = Grower(TreeTable(codes, LAST, NOMINAL), np.arange(len(codes)), task, weight, scheme)
    score = np.zeros(n)
    stats = (g + 1j * h)[rows].astype(np.complex64)
    trees = grower.grow(rows.copy(), stats, score, NO_ROWS)
    return trees, score


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_tasks", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 3])
def test_a_tree_is_that_of_its_twin(criterion, n_tasks, depth):
    for seed in range(4):
        codes, g, h, task = make_rows(seed, n_tasks=n_tasks)
        trees, score = grow(codes, g, h, task, depth, criterion)
        twin = naive.tree(codes, list(range(g.size)), g, h, task, LAST, NOMINAL, depth, criterion=criterion)
        expected = [naive.tree_value(twin, row) for row in codes.T]
        np.testing.assert_allclose(score, expected, rtol=1e-12, atol=1e-14)
        walked = np.zeros(g.size)
        Forest(trees).add(codes, np.arange(g.size), 0, 1, walked)
        np.testing.assert_array_equal(walked, score)


def log_leaf(power):
    """Return the value of a leaf with a log link, from G and S + lambda: log((A + lambda) / (B + lambda)), bounded."""

    def leaf(g, s):
        b = s - g * power / 3
        if b <= 1e-12 * s or b + g <= 1e-12 * s:
            return MOST if b <= 1e-12 * s else -MOST
        return float(np.clip(np.log((b + g) / b), -MOST, MOST))

    return leaf


@pytest.mark.parametrize("name", POWERS)
def test_a_tree_with_a_log_link_is_that_of_its_twin(name):
    clipped = 0
    for seed in range(4):
        codes, g, h, task = make_rows(seed, exact=False)
        trees, score = grow(codes, g, h, task, loss=FORMS[name], rate=0.5)
        leaf = log_leaf(FORMS[name].power)
        twin = naive.tree(codes, list(range(g.size)), g, h, task, LAST, NOMINAL, 3, 0.5, leaf=leaf)
        np.testing.assert_allclose(score, [naive.tree_value(twin, row) for row in codes.T], rtol=1e-12, atol=1e-14)
        clipped += int((np.abs(trees.value[trees.feature < 0]) == 0.5 * MOST).sum())
    assert clipped  # else nothing was bounded


@pytest.mark.parametrize("name", WITH_TREES)
def test_a_row_s_descent_is_a_derivative_of_its_loss(name):
    """The weight is the second derivative, or where the link is a log the S for which G^2 / S is the best drop."""
    rng = np.random.default_rng(0)
    loss, form, scores = LOSSES[name], FORMS[name], rng.normal(size=60)
    y = outcomes(name, rng.normal(size=60), rng)
    half, step = 0.5 / loss.newton_drop, 1e-5
    for target, score in zip(y, scores, strict=True):
        at = [loss_of(target, score + k * step, form) for k in (-1, 0, 1)]
        gradient, weight = descent_of(target, score, form)
        assert at[1] == pytest.approx(loss.loss(np.array([target]), np.array([score]))[0], abs=1e-12)
        assert -gradient == pytest.approx(half * (at[2] - at[0]) / (2 * step), rel=1e-6, abs=1e-7)
        assert gradient == pytest.approx(-loss.gradient(np.array([target]), np.array([score]))[0], abs=1e-12)
        assert weight == pytest.approx(loss.curvature(np.array([target]), np.array([score]))[0], abs=1e-12)


@pytest.mark.parametrize("name", POWERS)
@pytest.mark.parametrize("score", [-5000.0, 5000.0])
def test_scores_far_off_give_finite_sums(name, score):
    """As many trees may add up to before validation rows stop them."""
    for y in (1e-9, 1.0, 1e9):
        gradient, weight = descent_of(y, score, FORMS[name])
        assert np.isfinite(np.float32([gradient, weight, gradient**2])).all()
        assert weight >= 0
        assert np.inf > loss_of(y, score, FORMS[name]) > abs(loss_of(y, np.log(y), FORMS[name]))


@given(st.integers(0, 10**6), st.sampled_from(sorted(CRITERIA)), st.booleans())
def test_the_first_split_is_that_of_its_twin(seed, criterion, exact):
    codes, g, h, task = make_rows(seed, n=25, n_tasks=3, exact=exact)
    trees, _ = grow(codes, g, h, task, 1, criterion)
    noise = (g**2).sum() / h.sum()
    found = naive.tree_split(codes, list(range(g.size)), g, h, task, LAST, NOMINAL, criterion, noise=noise)
    assert (found is None) == (trees.feature[0] < 0)
    if found is not None:
        left = np.unpackbits(trees.left[0]).astype(bool)
        assert trees.feature[0] == found[2]
        assert all(left[code] == (int(code) in found[3]) for code in np.unique(codes[found[2]]))
        np.testing.assert_allclose(trees.gain[0], found[1], rtol=1e-9)


def test_the_worked_example_of_the_criteria():
    """Check the example of algorithms.md 6.2: two cuts of a node with two tasks, lambda 1."""
    cuts = {"A": np.array([-6 + 10j, -1 + 2j]), "B": np.array([-3 + 10j, -2.2 + 2j])}
    whole = np.array([20j, 4j])
    told = {}
    for name, left in cuts.items():
        low = left.sum()
        pooled = kernels.gain_of(low, whole.sum() - low, 1.0)
        for criterion, beta in (("none", 0.0), ("entropy", 0.0), ("variance", 0.01)):
            how = Splitting(CRITERIA[criterion], 1.0, 0.0, 0.0, beta)
            score = pooled if criterion == "none" else score_tasks(left, whole, how, pooled, np.zeros(2))
            told[name, criterion] = score
    assert told["A", "none"] == pytest.approx(7.538, abs=5e-4)
    assert told["A", "entropy"] == pytest.approx(2.323, abs=5e-4)
    assert told["A", "variance"] == pytest.approx(7.366, abs=5e-4)
    assert told["B", "none"] == pytest.approx(4.160, abs=5e-4)
    assert told["B", "entropy"] == pytest.approx(2.657, abs=5e-4)
    assert told["B", "variance"] == pytest.approx(4.147, abs=5e-4)


@pytest.mark.parametrize("criterion", ["entropy", "entropy_per_row"])
def test_entropy_falls_back_where_one_task_alone_gains(criterion):
    """The entropy of a single task's gain is always 0: the tree must grow by plain gain, or boosting would end."""
    codes, g, h, task = make_rows(3)
    inside = np.flatnonzero(task == 0)  # the other task has quit: its sums are 0 in every node
    trees, _ = grow(codes, g, h, task, 2, criterion, rows=inside)
    plain, _ = grow(codes, g, h, task, 2, rows=inside)
    np.testing.assert_array_equal(trees.feature, plain.feature)
    assert trees.feature[0] >= 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_task_makes_every_criterion_the_plain_gain(criterion):
    codes, g, h, task = make_rows(5, n_tasks=1)
    plain, _ = grow(codes, g, h, task)
    found, _ = grow(codes, g, h, task, 3, criterion)
    for a, b in zip(plain, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_best_first_takes_the_leaf_that_gains_most():
    codes, g, h, task = make_rows(7, n=200)
    whole, _ = grow(codes, g, h, task, 4)
    best, _ = grow(codes, g, h, task, 4, most_leaves=4)
    assert (best.feature < 0).sum() == 4
    nodes = naive.tree(codes, list(range(g.size)), g, h, task, LAST, NOMINAL, 4)
    waiting, gains = [nodes], []
    for _ in range(3):
        waiting = [node for node in waiting if "children" in node]
        node = max(waiting, key=lambda node: node["gain"])
        waiting.remove(node)
        gains.append(node["gain"])
        waiting += node["children"]
    np.testing.assert_allclose(sorted(best.gain[best.feature >= 0]), sorted(gains), rtol=1e-9)
    assert best.gain.sum() <= whole.gain.sum()


def test_a_tree_of_one_feature_splits_on_one():
    codes, g, h, task = make_rows(9, n=300)
    trees, _ = grow(codes, g, h, task, 3, one_feature=True)
    assert set(trees.feature[trees.feature >= 0]) == {trees.feature[0]}
    assert (trees.feature >= 0).sum() > 1


def test_rows_left_out_do_not_matter_and_order_does_not_either():
    codes, g, h, task = make_rows(11, n=120)
    inside = np.flatnonzero(np.arange(120) % 3 > 0)
    part, _ = grow(codes, g, h, task, rows=inside)
    alone, _ = grow(np.ascontiguousarray(codes[:, inside]), g[inside], h[inside], task[inside])
    for a, b in zip(part, alone, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_weight_of_two_is_a_doubled_row():
    codes, g, h, task = make_rows(13, n=80)
    weight = np.where(np.arange(80) % 4 == 0, 2.0, 1.0)
    heavy, _ = grow(codes, g * weight, h * weight, task, weight=weight)
    twice = np.repeat(np.arange(80), weight.astype(int))
    doubled, _ = grow(np.ascontiguousarray(codes[:, twice]), g[twice], h[twice], task[twice])
    for a, b in zip(heavy, doubled, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_what_training_never_had_goes_with_the_heavier_side():
    codes, g, h, task = make_rows(15, n=100)
    trees, _ = grow(codes, g, h, task, 1)
    j, left = trees.feature[0], np.unpackbits(trees.left[0]).astype(bool)
    heavier = left[codes[j]].sum() * 2 > 100
    assert left[LAST[j] + 1] == heavier


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_contributions_are_those_of_the_twin_and_add_up(depth):
    codes, g, h, task = make_rows(17, n=90)
    trees, score = grow(codes, g, h, task, depth, rate=0.3)
    twin = naive.tree(codes, list(range(90)), g, h, task, LAST, NOMINAL, depth, rate=0.3)
    found = np.zeros((90, 4))
    root = Forest(trees).attribute(codes, np.arange(90), 0, 1, found)
    expected = [naive.tree_contributions(twin, row, 4) for row in codes.T]
    np.testing.assert_allclose(found, [parts for _, parts in expected], atol=1e-12)
    assert root == pytest.approx(expected[0][0])
    np.testing.assert_allclose(root + found.sum(axis=1), score, atol=1e-12)


def test_the_worked_example_of_contributions():
    """Check the example of algorithms.md 6.4: root x1: left leaf -.2 (60 rows); right x2: .1 (10) | .4 (30)."""
    nodes = make_nodes(3)
    for at, (feature, child, start, stop, value) in enumerate(
        [(0, 1, 0, 100, 0.0), (-1, 0, 0, 60, -0.2), (1, 3, 60, 100, 0.0), (-1, 0, 60, 70, 0.1), (-1, 0, 70, 100, 0.4)]
    ):
        nodes.feature[at], nodes.child[at], nodes.start[at], nodes.stop[at] = feature, child, start, stop
        nodes.sums[at] = value * (stop - start) + 1j * (stop - start)
        nodes.goes_left[at, 1] = True
    rows = Members(np.arange(100, dtype=np.int32), *[np.empty(0, t) for t in "FidiF"])
    settle(nodes, 5, rows, 0.0, Leaves(1.0, np.inf, SQUARED))
    found = np.zeros((1, 2))
    kept = _buffers(1, 5)
    keep(nodes, 5, kept, 0)
    bias = Forest(kept).attribute(np.full((2, 1), 2, np.uint8), np.arange(1), 0, 1, found)
    assert nodes.value[2] == pytest.approx(0.325)
    assert bias == pytest.approx(0.01)
    np.testing.assert_allclose(found, [[0.315, 0.075]], atol=1e-12)


@pytest.mark.parametrize("feature", range(4))
def test_the_mean_over_other_features_is_that_of_the_twin(feature):
    codes, g, h, task = make_rows(19, n=90)
    trees, _ = grow(codes, g, h, task, 3)
    twin = naive.tree(codes, list(range(90)), g, h, task, LAST, NOMINAL, 3)
    other = (feature + 1) % 4
    present = np.unique(codes[feature])
    for known in ({}, {other: int(codes[other, 0])}):
        told = np.full(4, -1)
        for j, code in known.items():
            told[j] = code
        out = np.zeros(LAST[feature] + 3)
        Forest(trees).partial(0, 1, feature, told, out)
        if feature in trees.feature:
            expected = [naive.tree_partial(twin, feature, int(code), known) for code in present]
            np.testing.assert_allclose(out[present], expected, atol=1e-12)
        else:
            assert not out.any()


def test_trees_end_to_end_are_each_tree():
    made = [grow(*make_rows(seed), depth=seed % 3 + 1)[0] for seed in range(4)]
    codes = make_rows(0)[0]
    forest = Forest(concatenate(made))
    assert forest.n_trees == 4
    for first, last in ((0, 4), (1, 3), (2, 2)):
        whole, parts = np.zeros(codes.shape[1]), np.zeros(codes.shape[1])
        forest.add(codes, np.arange(codes.shape[1]), first, last, whole)
        for trees in made[first:last]:
            Forest(trees).add(codes, np.arange(codes.shape[1]), 0, 1, parts)
        np.testing.assert_allclose(whole, parts, atol=1e-14)
    assert forest.gains(0, 4, 4).sum() == pytest.approx(sum(trees.gain.sum() for trees in made))
    assert concatenate([]).feature.size == 0 == empty_trees().feature.size
    np.testing.assert_allclose(scaled(made[0], 3.0).value, 3 * made[0].value)


def test_a_node_without_a_split_is_a_leaf():
    codes = np.ones((4, 20), np.uint8)
    trees, score = grow(codes, np.ones(20), np.ones(20), np.zeros(20, np.int32))
    assert trees.feature.tolist() == [-1]
    np.testing.assert_allclose(score, 20 / 21)


def test_many_levels_of_noise_do_not_win_by_chance():
    """The best split of 200 uninformative levels gains about (2 / pi) 200 noise; half of it is charged."""
    rng = np.random.default_rng(0)
    n, last = 4000, np.array([200, 5])
    codes = np.stack([rng.integers(1, 201, n), rng.integers(1, 6, n)]).astype(np.uint8)
    wins = 0
    for _ in range(20):
        g = rng.normal(size=n) + 0.35 * (codes[1] > 2)
        g -= g.mean()
        shape = Growth(1, 2, False, False)
        how = Splitting(CRITERIA["none"], 1.0, 1.0, 0.0, 0.5)
        table, scheme = TreeTable(codes, last, np.array([True, False])), Scheme(how, shape, 1.0, SQUARED, 1, 0.0)
        grower = Grower(table, np.arange(2), np.zeros(n, np.int32), NO_WEIGHT, scheme)
        trees = grower.grow(np.arange(n, dtype=np.int32), (g + 1j).astype(np.complex64), np.zeros(n), NO_ROWS)
        wins += trees.feature[0] == 1
    assert wins >= 18


@pytest.mark.parametrize("name", WITH_TREES)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rounds_in_a_call_are_rounds_one_by_one(name, weighted):
    """Fit trees to the gradients of a loss, with early stopping after five rounds without improvement."""
    codes, g, _, _ = make_rows(21, n=200)
    rng, loss = np.random.default_rng(0), LOSSES[name]
    y = g if name == "squared" else (g > 0.5) * 1.0 if name == "logistic" else outcomes(name, g / 2, rng)
    weight = rng.uniform(0.5, 2.0, 200) if weighted else NO_WEIGHT
    train, valid = np.arange(150), np.arange(150, 200)
    how, shape = Splitting(CRITERIA["none"], 1.0, 1e-12, 0.0, 0.5), Growth(2, 2**31, False, False)
    scheme = Scheme(how, shape, 0.3, FORMS[name], 5, 1e-9, loss.most_step(np.inf))

    def grower():
        return Grower(TreeTable(codes, LAST, NOMINAL), np.arange(4), np.zeros(200, np.int32), weight, scheme)

    told, trees = grower().boost(train.astype(np.int32), y, np.zeros(200), valid, 60)
    made, score, w = [], np.zeros(200), weight if weighted else np.ones(200)
    losses = [(w * loss.loss(y, score))[valid].sum()]
    while len(losses) <= 60 and len(losses) - 1 - int(np.argmin(losses)) < 5:
        stats = (w * (-loss.gradient(y, score) + 1j * loss.curvature(y, score)))[train].astype(np.complex64)
        made.append(grower().grow(train.astype(np.int32), stats, score, valid))
        losses.append((w * loss.loss(y, score))[valid].sum())
    best = int(np.argmin(losses))
    assert trees.ends.size - 1 == best
    assert 0 < best < len(made)
    assert told == pytest.approx(min(losses))
    for a, b in zip(trees, concatenate(made[:best]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
