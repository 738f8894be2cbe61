"""Where columns are nearly functions of each other, movements of the curves are taken further: sooner as accurate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from gamcore import GAMClassifier, GAMRegressor
from gamcore.boosting.refit import class_turns
from gamcore.boosting.refit.class_turns import ClassesState, one_class
from gamcore.boosting.refit.extrapolation import OF_CLASSES, USUAL, Extrapolation
from gamcore.boosting.refit.problem import Parameters, rows_of
from gamcore.boosting.refit.state import RefitState
from gamcore.data.sampling import splits
from gamcore.kernels.layout import make_fit
from gamcore.model.losses import LOSSES
from tests.support.fits import problem
from tests.support.gears import mostly_slow

PARAMETERS = Parameters("grouped", "rescan", mart=False, n_bags=4, subsample=0.65, max_rounds=5, learning_rate=0.2,
                        max_leaves=2, greedy_ratio=1.0, early_stopping_rounds=5, dtype=np.float64)  # fmt: skip
SPLIT = splits(16, 0.2, 1, 0)[0]


def moved(state, n_moves=3, seed=1):
    """Put a state at random curves; return random movements, and what they add to the scores of the training rows."""
    rng, shape = np.random.default_rng(seed), state.fit.curves.shape
    state.fit.curves[:] = rng.normal(0, 0.1, shape)
    state.refresh()
    moves = rng.normal(0, 0.1, (n_moves, *shape))
    table = state.problem.table
    codes = np.stack(table.lines())[:, rows_of(table, SPLIT.train)]
    by_line = moves.reshape(n_moves, -1, len(codes), shape[1])  # the classes' curves are one after the other
    along = sum(by_line[:, :, j][:, :, line] for j, line in enumerate(codes))
    return moves, along


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", mostly_slow(["poisson", "squared", "logistic", "gamma", "tweedie"], 1))
def test_slopes_and_curvatures_are_those_of_the_loss(loss, weighted):
    given = problem(loss)
    if weighted:
        given = replace(given, weight=np.random.default_rng(2).uniform(0.5, 2, given.n_rows))
    state = RefitState(given, SPLIT, PARAMETERS, 0)
    moves, along = moved(state)
    train, score = rows_of(given.table, SPLIT.train), state.score()
    y, weight, along = given.y[train], given.row_weight[train], along[:, 0]
    slope, bend = state.newton(moves)
    unit, of = state.scale / state.loss_unit, LOSSES[loss]
    np.testing.assert_allclose(slope, -along @ (weight * of.gradient(y, score[train])) * unit, rtol=1e-9)
    curvature = weight * of.curvature(y, score[train]) * unit * state.scale
    np.testing.assert_allclose(bend, (along * curvature) @ along.T, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_and_curvatures_of_classes_are_those_of_the_softmax(weighted):
    given, rng = problem("squared"), np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, given.n_rows) if weighted else np.empty(0)
    y = np.digitize(given.y, [0.0, 1.0]).astype(float)
    given = replace(given, y=y, weight=weight, loss=LOSSES["softmax"])
    states = [RefitState(one, SPLIT, PARAMETERS, 0) for one in one_class(given, SPLIT, 3)]
    state = ClassesState(given, SPLIT, states)
    moves, along = moved(state)
    train = rows_of(given.table, SPLIT.train)
    chance = softmax(np.stack([one.score() for one in states])[:, train], axis=0)
    off = (y[train] == np.arange(3)[:, None]) - chance
    slope, bend = state.newton(moves)
    np.testing.assert_allclose(slope, np.einsum("kci,ci,i->k", along, off, given.row_weight[train]), rtol=1e-9)
    mean = np.einsum("kci,ci->ki", along, chance)
    apart = along - mean[:, None]
    expected = np.einsum("kci,mci,ci,i->km", apart, apart, chance, given.row_weight[train])
    np.testing.assert_allclose(bend, expected, rtol=1e-9)


def alike(n=900):
    """Five columns that are nearly the same, and a score of their differences."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 5)), columns=list("abcde"))
    return X, (X["a"] - X["b"] + X["c"] - X["d"]).to_numpy()


TARGETS = {"squared": lambda s: s, "quantile": lambda s: s, "logistic": lambda s: s > 0, "gamma": np.exp,
           "tweedie": np.exp, "softmax": lambda s: np.digitize(5 * s, [-0.5, 0.5])}  # fmt: skip


def without(monkeypatch):
    """Let no movement be taken further."""
    for state in (RefitState, ClassesState):
        monkeypatch.setattr(state, "pace", USUAL._replace(first=10**9))


def rounds_and_loss(objective, X, y):
    """Return the rounds of a fit to the first half of the rows, and the loss of the others."""
    classes = objective in ("logistic", "softmax")
    model = GAMClassifier() if classes else GAMRegressor(objective=objective)
    rounds, half = {}, len(X) // 2
    model.set_params(random_state=0, outer_bags=3, callback=lambda told: rounds.__setitem__(told.refit, told.round))
    model.fit(X[:half], y[:half])
    if classes:
        chance = model.predict_proba(X[half:])[np.arange(len(X) - half), y[half:].astype(int)]
        return sum(rounds.values()), -np.log(chance).mean()
    return sum(rounds.values()), model.loss.loss(y[half:], model.loss.link(model.predict(X[half:]))).mean()


@pytest.mark.slow
@pytest.mark.parametrize("objective", TARGETS)
def test_columns_that_are_nearly_alike_take_no_more_rounds_for_the_same_accuracy(objective, monkeypatch):
    X, score = alike()
    y = np.asarray(TARGETS[objective](score))
    rounds, loss = rounds_and_loss(objective, X, y)
    without(monkeypatch)
    rounds_without, loss_without = rounds_and_loss(objective, X, y)
    assert rounds <= rounds_without * (0.6 if objective in ("squared", "quantile", "tweedie") else 1.0)
    assert loss < loss_without * 1.02


def test_the_squared_loss_of_columns_that_are_nearly_alike_falls_in_few_rounds():
    X, score = alike()
    rounds, loss = rounds_and_loss("squared", X, score)
    assert rounds < 3 * 300
    assert loss < 0.25 * score.var()


def test_a_refit_that_ends_early_is_as_it_was(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    y = X["a"] + rng.normal(size=600)
    here = GAMRegressor(random_state=0, outer_bags=2).fit(X, y)
    without(monkeypatch)
    np.testing.assert_array_equal(GAMRegressor(random_state=0, outer_bags=2).fit(X, y).predict(X), here.predict(X))


@pytest.mark.slow
def test_classes_that_can_be_told_apart_take_fewer_rounds_for_the_same_accuracy(monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, (4_000, 4))
    y = np.digitize(X.sum(axis=1), [-1.0, 0.0, 1.0])
    monkeypatch.setattr(class_turns, "LONG", 20_000)
    rounds, loss = rounds_and_loss("softmax", X, y)
    monkeypatch.setattr(class_turns, "LONG", 10**9)
    rounds_without, loss_without = rounds_and_loss("softmax", X, y)
    assert rounds < 0.8 * rounds_without
    assert loss < loss_without


@pytest.mark.slow
def test_curves_that_may_only_rise_still_do(monkeypatch):
    X, score = alike(400)
    monkeypatch.setattr(RefitState, "pace", USUAL._replace(first=20))
    model = GAMRegressor(random_state=0, outer_bags=1, monotone={"a": 1, "c": 1}, max_rounds=200).fit(X, score)
    assert np.diff(model.model_.terms[0].scores[1:-1]).min() >= 0  # the fit itself proves it for all rows


class Course:
    """A refit of one curve whose tries all lower the validation loss, or none does."""

    is_movable = True

    def __init__(self, helps, pace):
        self.pace = pace
        self.fit, self.done, self.tries, self._sign = make_fit(1, 1.0, np.float64, 4), 0, [], -1 if helps else 1

    def newton(self, moves):
        self.tries.append(self.done)
        return np.ones(len(moves)), np.eye(len(moves))

    def refresh(self):
        pass

    def valid_loss(self):
        return self._sign * float(self.fit.curves.sum())


@pytest.mark.parametrize(
    ("pace", "helps", "expected"),
    [
        (USUAL, True, [100, 105, 110, 115, 120]),
        (USUAL, False, [100, 110, 130, 170, 250]),
        (OF_CLASSES, True, [15, 16, 17, 18, 19]),
        (OF_CLASSES, False, [15, 17, 21, 29, 45]),
    ],
)
def test_tries_that_fail_are_further_and_further_apart(pace, helps, expected):
    course = Course(helps, pace)
    further = Extrapolation(course)
    while len(course.tries) < len(expected):
        ran = further.rounds_left()
        assert ran > 0
        course.fit.curves[:] += ran
        course.done += ran
        further()
    assert course.tries == expected
    assert course.fit.curves.sum() > 4 * course.done if helps else course.fit.curves.sum() == 4 * course.done
