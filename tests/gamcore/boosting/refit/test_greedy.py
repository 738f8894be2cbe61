"""Greedy order: component-wise boosting as its papers write it, with the hat matrix of all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMRegressor
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.refit.freedom import functions_of, penalty_of
from gamcore.boosting.refit.loop import boost
from gamcore.boosting.refit.problem import Parameters
from gamcore.boosting.refit.state import RefitState
from gamcore.data.sampling import Split
from gamcore.estimators.additive import bin_rows
from gamcore.estimators.base import read_rows, read_table

RATE = 0.1
SHAPES = {"a": "smooth", "b": "linear", "c": "levels", "d": "smooth"}


def table(n, seed, noise=0.5):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, n), "b": rng.normal(size=n), "c": rng.choice(list("pqrstuv"), n),
                      "d": rng.normal(size=n).round(1)})  # fmt: skip
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    level = X["c"].map({name: k / 3 for k, name in enumerate("pqrstuv")})
    return X, np.sin(2 * X["a"]) + 0.5 * X["b"].fillna(1.0) + level + noise * rng.normal(size=n), rng


def state_of(X, y, weight=None, rounds=5, rate=RATE):
    model = GAMRegressor(order="greedy", shapes=SHAPES, learning_rate=rate, max_rounds=rounds)
    read = read_table(model, X, reset=True)
    rows = read_rows(model, read, y.to_numpy(), weight, None)
    data = model._encoded(rows, bin_rows(model, rows, 64, 64), None)
    parameters: Parameters = model._plan(data, list(X.columns)).parameters
    problem = data.problem(data.deal(4, Seeds.of(0).groups))
    doubles = Parameters(**{**vars(parameters), "dtype": np.float64})
    return RefitState(problem, Split(np.arange(4), np.empty(0, np.int64)), doubles, 0)


class Dense:
    """The same with matrices of all rows: fits, steps and the hat matrix."""

    def __init__(self, state):
        table, self.y, self.rate = state.problem.table, state.problem.y, state.parameters.learning_rate
        self.weight = state.problem.row_weight
        n = self.y.size
        self.hat = np.outer(np.ones(n), self.weight / self.weight.sum())
        self.fit, self.smoothers = np.full(n, np.average(self.y, weights=self.weight)), []
        for j in range(4):
            last = int(table.last[j])
            F = functions_of(state.choice.smoothers, j, last)[table.of(j)]
            heavy = self.weight[table.of(j) > 0].sum()
            system = F.T @ (self.weight[:, None] * F) + heavy * penalty_of(state.choice.smoothers, j, last + 1)
            if not (table.of(j) == 0).any():
                system[0, 0] = 1.0
            self.smoothers.append(F @ np.linalg.solve(system, F.T * self.weight))

    def step(self):
        left = self.y - self.fit
        steps = [self.rate * S @ left for S in self.smoothers]
        gains = [2 * np.sum(self.weight * left * u) - np.sum(self.weight * u * u) for u in steps]
        best = int(np.argmax(gains))
        self.fit = self.fit + steps[best]
        self.hat = self.hat + self.rate * self.smoothers[best] @ (np.eye(self.y.size) - self.hat)
        return best

    def corrected_aic(self):
        n, trace = self.y.size, np.trace(self.hat)
        variance = np.average((self.y - self.fit) ** 2, weights=self.weight)
        return np.log(variance) + (1 + trace / n) / (1 - (trace + 2) / n)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_fit_and_aic_are_those_of_dense_algebra(weighted):
    X, y, rng = table(240, 0)
    state = state_of(X, y, rng.integers(1, 4, 240).astype(float) if weighted else None)
    dense, rounds = Dense(state), state.rounds(None)
    settings = state.settings()
    for _ in range(5):
        before = state.fit.steps.copy()
        rounds.round(settings, 0)
        taken = np.zeros(4, int)
        for _ in range(4):
            taken[dense.step()] += 1
        np.testing.assert_array_equal(state.fit.steps - before, taken)
        np.testing.assert_allclose(state.score(), dense.fit, atol=1e-6)
        assert rounds._freedom.trace == pytest.approx(np.trace(dense.hat), abs=1e-6)
        own = rounds.criterion(np.nan, settings) + 2 * np.log(state.scale)
        assert own == pytest.approx(dense.corrected_aic(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_a_fit_without_held_out_rows_ends_at_the_least_aic(rate):
    X, y, _ = table(150, 1, noise=1.5)
    state = state_of(X, y, rounds=120, rate=rate)
    for _ in boost(state):
        pass
    found = state.best()
    dense = Dense(state)
    aics = []
    for _ in range(found.best_round + 5):
        for _ in range(4):
            dense.step()
        aics.append(dense.corrected_aic())
    assert 1 <= found.best_round < 120
    assert (found.best_round < 10) == (rate > 0.5)
    assert int(np.argmin(aics)) + 1 == found.best_round
    assert np.isnan(found.valid_loss)


def test_without_held_out_rows_curves_of_steps_run_all_rounds():
    X, y, _ = table(150, 2)
    model = GAMRegressor(order="greedy", validation_fraction=0, outer_bags=1, max_rounds=7, random_state=0).fit(X, y)
    assert model.n_rounds_ == 7


@pytest.mark.slow
def test_aic_is_as_near_the_truth_as_held_out_rows_where_rows_are_few():
    held, aic = [], []
    for seed in range(8):
        X, y, _ = table(120, seed, noise=1.0)
        test, _, _ = table(2000, 100 + seed)
        level = test["c"].map({name: k / 3 for k, name in enumerate("pqrstuv")})
        truth = np.sin(2 * test["a"]) + 0.5 * test["b"].fillna(1.0) + level
        wanted = {"order": "greedy", "shapes": SHAPES, "learning_rate": RATE, "outer_bags": 1, "random_state": 0}
        for errors, fraction in ((held, 0.15), (aic, 0.0)):
            model = GAMRegressor(**wanted, validation_fraction=fraction).fit(X, y)
            errors.append(np.mean((model.predict(test) - truth) ** 2))
    assert np.mean(aic) <= 1.1 * np.mean(held)
