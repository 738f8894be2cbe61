"""The linear multi-task baselines against their definitions, and the synthetic families of tasks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import Lasso

from benchmarks.harness import families
from benchmarks.multitask import linear

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("which", linear.NORMS)
LOSSES = pytest.mark.parametrize("loss", ["squared", "logistic"])
NORMS = pytest.mark.parametrize("norm", [norm for pair in linear.NORMS.values() for norm in pair])
TIGHT = 1e-13


def tasks(loss="squared", sizes=(25, 40, 60), d=6, seed=0):
    """Tasks that share two columns and have one of their own each."""
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(rng.normal(), [1, 2, 5, 1, 1, 0.1][:d], (n, d)) for n in sizes]
    scores = [X[:, 0] - X[:, 1] / 2 + X[:, 3 + t % 3] - t for t, X in enumerate(Xs)]
    if loss == "logistic":
        return Xs, [(s + rng.logistic(size=s.size) > np.median(s)).astype(float) for s in scores]
    return Xs, [s + rng.normal(size=s.size) for s in scores]


def solved(which, loss):
    """A problem, strengths, and their solution P, Q and b, one below the other."""
    Xs, ys = tasks(loss)
    problem = linear.make_problem(Xs, ys, loss)
    lams = linear.grid(Xs, ys, which, loss, [(0.2, 0.2)])[0]
    return problem, lams, linear.minimise(problem, which, lams, linear.nothing(problem), TIGHT)


def test_prox_of_the_worked_example():
    prox = linear.level(np.array([[3.0, 1.0, -2.0]]), 2.0)
    np.testing.assert_allclose(prox, [[1.5, 1.0, -1.5]])
    assert not linear.level(np.array([[3.0, 1.0, -2.0]]), 6.0).any()


def test_prox_of_nothing_changes_nothing():
    V = np.array([[0.0, 0.0], [1.0, -2.0]])
    for norm in (*linear.NORMS["rmtfl"], *linear.NORMS["dirty"]):
        np.testing.assert_array_equal(norm.prox(V, 0.0), V)


@NORMS
@pytest.mark.parametrize("tau", [0.01, 0.5, 2.0, 50.0])
def test_prox_leaves_over_the_projection_on_the_dual_ball(norm, tau):
    rng = np.random.default_rng(1)
    V = rng.normal(size=(5, 4))
    near = norm.prox(V, tau)
    rest = V - near
    assert norm.dual(rest) <= tau * (1 + 1e-12)
    assert (rest * near).sum() == pytest.approx(tau * norm.value(near), abs=1e-12)
    cost = ((V - near) ** 2).sum() / 2 + tau * norm.value(near)
    for step in (1e-4, 1e-2, 1.0):
        for _ in range(50):
            other = near + step * rng.normal(size=V.shape) * (rng.random(V.shape) < 0.4)
            assert ((V - other) ** 2).sum() / 2 + tau * norm.value(other) >= cost
            assert (V * other).sum() <= norm.dual(V) * norm.value(other) + 1e-12


@LOSSES
def test_gradient_is_that_of_the_loss_and_no_steeper_than_said(loss):
    Xs, ys = tasks(loss)
    problem = linear.make_problem(Xs, ys, loss)
    rng = np.random.default_rng(2)
    W, V = rng.normal(size=(2, 7, 3))
    numeric = approx_fprime(W.ravel(), lambda w: problem.loss(problem.score(w.reshape(W.shape))), 1e-7)
    np.testing.assert_allclose(problem.gradient(problem.score(W)).ravel(), numeric, rtol=1e-4, atol=1e-4)
    change = np.linalg.norm(problem.gradient(problem.score(W)) - problem.gradient(problem.score(V)))
    assert 2 * change <= problem.steepness * np.linalg.norm(W - V) * (1 + 1e-12)


@LOSSES
def test_the_loss_of_the_stacked_rows_is_that_of_all_rows(loss):
    Xs, ys = tasks(loss)
    model = linear.fit_dirty(Xs, ys, 3.0, 2.0, loss)
    problem = linear.make_problem(Xs, ys, loss)
    W = np.vstack([model.coef * problem.scale[:, None], model.intercept + np.sum(problem.means.T * model.coef, axis=0)])
    assert problem.loss(problem.score(W)) == pytest.approx(linear.mean_loss(model, Xs, ys, loss) * sum(map(len, ys)))


@BOTH
@LOSSES
def test_solution_satisfies_the_conditions_of_a_minimum(which, loss):
    problem, lams, Z = solved(which, loss)
    P, Q, slope = Z[:6], Z[6:-1], -problem.gradient(problem.score(np.vstack([Z[:6] + Z[6:-1], Z[-1:]])))
    np.testing.assert_allclose(slope[-1], 0.0, atol=1e-4)
    assert P.any()
    assert Q.any()
    for norm, part, lam in zip(linear.NORMS[which], (P, Q), lams, strict=True):
        assert norm.dual(slope[:-1]) <= lam * (1 + 1e-5)
        assert (slope[:-1] * part).sum() == pytest.approx(lam * norm.value(part), rel=1e-5)


@BOTH
@LOSSES
def test_no_change_of_a_solution_is_better(which, loss):
    problem, lams, Z = solved(which, loss)
    least = linear.objective(problem, which, lams, Z)
    rng = np.random.default_rng(3)
    for step in (1e-3, 1e-1):
        for _ in range(100):
            other = Z + step * rng.normal(size=Z.shape) * (rng.random(Z.shape) < rng.random())
            assert linear.objective(problem, which, lams, other) >= least * (1 - 1e-10)


@BOTH
@LOSSES
def test_objective_is_never_above_that_of_nothing(which, loss):
    Xs, ys = tasks(loss)
    problem = linear.make_problem(Xs, ys, loss)
    zero = linear.nothing(problem)
    for lams in linear.grid(Xs, ys, which, loss):
        usual, tight = (linear.minimise(problem, which, lams, zero, tolerance) for tolerance in (1e-6, 1e-10))
        reached, least = (linear.objective(problem, which, lams, Z) for Z in (usual, tight))
        assert least <= reached <= linear.objective(problem, which, lams, zero)
        assert reached <= least * (1 + 1e-4)


@BOTH
def test_strengths_at_the_ends(which):
    Xs, ys = tasks()
    problem = linear.make_problem(Xs, ys, "squared")
    only = linear.minimise(problem, which, (1.0, 1e9), linear.nothing(problem), TIGHT)
    assert only[:6].all()
    assert not only[6:-1].any()
    fit = {"rmtfl": linear.fit_rmtfl, "dirty": linear.fit_dirty}[which]
    free = fit(Xs, ys, 1e-7, 1e-7)
    for X, y, w, b in zip(Xs, ys, free.coef.T, free.intercept, strict=True):
        expected = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y)[0]
        np.testing.assert_allclose([*w, b], expected, rtol=0.02, atol=0.02)


@BOTH
@LOSSES
def test_the_grid_begins_where_nothing_is_left(which, loss):
    Xs, ys = tasks(loss)
    above, below = (linear.grid(Xs, ys, which, loss, [(share, 1.001)])[0] for share in (1.001, 0.95))
    problem = linear.make_problem(Xs, ys, loss)
    none, some = linear.fits(problem, which, [above, below])
    assert not none.coef.any()
    assert some.coef.any()


def test_dirty_of_one_task_is_a_lasso():
    (X,), (y,) = tasks(sizes=(50,))
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = Lasso(alpha=8.0 / (2 * 50), tol=1e-10).fit(standard, y)
    fit = next(linear.fits(linear.make_problem([X], [y], "squared"), "dirty", [(8.0, 8.0)], TIGHT))
    np.testing.assert_allclose(fit.coef[:, 0] * X.std(axis=0), expected.coef_, atol=1e-6)
    np.testing.assert_allclose(fit.scores([X])[0], expected.predict(standard), atol=1e-5)


@BOTH
def test_units_and_constant_columns_do_not_matter(which):
    Xs, ys = tasks()
    plain, shares = linear.choose(Xs, ys, [np.arange(len(y)) % 4 == 0 for y in ys], which)
    other = [np.column_stack([X * 100.0 + 7.0, np.ones(len(X))]) for X in Xs]
    scaled, again = linear.choose(other, ys, [np.arange(len(y)) % 4 == 0 for y in ys], which)
    assert again == shares
    np.testing.assert_allclose(scaled.coef[:-1] * 100.0, plain.coef, atol=1e-6)
    assert not scaled.coef[-1].any()


@LOSSES
def test_tasks_that_are_alike_learn_from_each_other(loss):
    rows, targets = tasks(loss, sizes=(100,) * 9)
    Xs, ys = [X[:25] for X in rows], [y[:25] for y in targets]
    tests = [X[25:] for X in rows], [y[25:] for y in targets]
    held = [np.arange(len(y)) % 4 == 0 for y in ys]
    alone = linear.mean_loss(linear.lasso(Xs, ys, loss), *tests, loss)
    for which in linear.NORMS:
        model, shares = linear.choose(Xs, ys, held, which, loss)
        assert shares in linear.GRID
        assert linear.mean_loss(model, *tests, loss) < alone


@LOSSES
def test_lasso_falls_back_to_a_constant(loss):
    Xs, ys = tasks(loss, sizes=(60, 4, 30))
    ys[2][:] = 1.0
    model = linear.lasso(Xs, ys, loss)
    assert model.coef[:, 0].any()
    assert not model.coef[:, 1:].any()
    if loss == "squared":
        np.testing.assert_allclose(model.intercept[1:], [ys[1].mean(), 1.0])
    else:
        assert model.intercept[2] == pytest.approx(np.log(29.5 / 0.5))


@BOTH
def test_a_task_of_one_class_has_finite_scores(which):
    Xs, ys = tasks("logistic")
    ys[0][:] = 0.0
    model, _ = linear.choose(Xs, ys, [np.arange(len(y)) % 4 == 0 for y in ys], which, "logistic")
    assert all(np.isfinite(score).all() for score in model.scores(Xs))
    assert (model.scores(Xs)[0] < 0).all()


MAKERS = {
    "imbalanced": lambda seed, **how: families.imbalanced(0.8, (500, 50), seed, **how),
    "heterogeneous": families.heterogeneous,
    "outlier": families.outlier,
    "unrelated": families.unrelated,
}


def by_task(sample):
    """True functions at the test rows, a row per task."""
    return sample.truth.to_numpy().reshape(-1, families.N_TEST)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("binary", [False, True])
def test_families_are_seeded(name, binary):
    first, same, other = (MAKERS[name](seed, binary=binary) for seed in (3, 3, 4))
    for left, right in ((first.train, same.train), (first.test, same.test)):
        pd.testing.assert_frame_equal(left.X, right.X)
        for part in ("y", "task", "truth"):
            pd.testing.assert_series_equal(getattr(left, part), getattr(right, part))
    assert not first.train.y.equals(other.train.y)
    assert len(first.test.X) == families.N_TEST * first.test.task.nunique()
    assert set(first.train.task) == set(first.test.task)
    noise = first.test.y - first.test.truth
    assert abs(noise.mean()) < 0.05
    if binary:
        assert set(first.train.y) == {0, 1}
    else:
        assert noise.std() == pytest.approx(1.0, abs=0.05)
        assert by_task(first.test).std(axis=1) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("similarity", [1.0, 0.8, 0.5, 0.0])
def test_similarity_is_the_correlation_of_the_truths(similarity):
    sample = families.imbalanced(similarity, seed=1)
    assert sample.train.task.value_counts().to_dict() == {"a": 10_000, "b": 100}
    assert np.corrcoef(by_task(sample.test))[0, 1] == pytest.approx(similarity, abs=0.05)


def test_the_outlier_is_reversed_and_the_unrelated_are_not_alike():
    reversed_last = np.corrcoef(by_task(families.outlier(2).test))[-1, :-1]
    np.testing.assert_allclose(reversed_last, -0.9, atol=0.05)
    np.testing.assert_allclose(np.corrcoef(by_task(families.unrelated(2).test)), np.eye(4), atol=0.05)


def test_own_columns_are_missing_elsewhere():
    split = families.heterogeneous(0)
    for sample in (split.train, split.test):
        missing = sample.X.isna().groupby(sample.task).mean()
        assert not missing[families.COMMON].any(axis=None)
        for letter, own in families.OWN.items():
            assert missing[own].eq(missing.index != letter, axis=0).all(axis=None)


def test_rare_tasks_have_their_rates_and_columns():
    first, again = (families.rare((4_000, 2_000), (0.03, 0.05), (14, 8), 20_000, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(first.train.X, again.train.X)
    for sample in (first.train, first.test):
        for task, rate in (("a", 0.03), ("b", 0.05)):
            chance = sample.truth[sample.task == task]
            assert chance.mean() == pytest.approx(rate, abs=0.01)
            error = np.sqrt((chance * (1 - chance)).sum()) / len(chance)
            assert sample.y[sample.task == task].mean() == pytest.approx(chance.mean(), abs=4 * error)
        own = sample.X.filter(regex="^b")
        assert own[sample.task == "a"].isna().all(axis=None)
        assert own[sample.task == "b"].notna().all(axis=None)
    logit = np.log(first.test.truth / (1 - first.test.truth))
    a, b = (logit[first.test.task == task].to_numpy() for task in "ab")
    assert np.corrcoef(a, b)[0, 1] == pytest.approx(0.8 * np.sqrt(1 - families.OWN_SHARE), abs=0.05)
