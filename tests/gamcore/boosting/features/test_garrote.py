"""Fewer curves: the path against a regression by hand, and whether it keeps what matters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from gamcore import GAMClassifier, GAMRegressor, TableError, fewer_curves
from gamcore.boosting.features import garrote as of
from gamcore.boosting.features.garrote import Part, garrote
from gamcore.kernels.products import add_squares, multiply
from gamcore.model.losses import LOSSES
from tests.support.fits import ten_of


def test_products_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for n_rows in (1, 4, 7, 30):
        columns, weight = rng.normal(size=(n_rows, 5)), rng.random(n_rows)
        out = np.zeros((5, 5))
        add_squares(columns, weight, out)
        np.testing.assert_allclose(np.tril(out), np.tril(columns.T @ (weight[:, None] * columns)), atol=1e-12)
        whole = np.full((5, 5), np.nan)
        multiply(np.ascontiguousarray(columns.T), columns, whole)
        np.testing.assert_allclose(whole, columns.T @ columns, atol=1e-12)


def parts_of(n_rows=600, n_curves=6, n_groups=10, seed=0):
    rng = np.random.default_rng(seed)
    added = rng.normal(size=(n_rows, n_curves))
    y = 3 + 0.9 * added[:, 0] + 0.5 * added[:, 1] + rng.normal(size=n_rows)
    weight, fixed = rng.integers(1, 4, n_rows).astype(float), np.full(n_rows, 2.0)
    return [
        Part(g, added[g::n_groups], fixed[g::n_groups], y[g::n_groups], weight[g::n_groups]) for g in range(n_groups)
    ]


def lasso(parts, penalty):
    """The garrote of squared loss by another library, with rows repeated by their weight."""
    added, rest = (np.repeat(np.concatenate(one), np.concatenate([p.weight for p in parts]).astype(int), axis=0)
                   for one in ([p.added for p in parts], [p.y - p.fixed for p in parts]))  # fmt: skip
    return Lasso(alpha=max(penalty, 1e-9), positive=True, tol=1e-12, max_iter=100_000).fit(added, rest)


def test_factors_and_losses_are_those_of_a_regression_by_hand():
    parts = parts_of()
    path = garrote(parts, LOSSES["squared"])
    whole = of._summed([of._sums(part, LOSSES["squared"]) for part in parts])
    penalties = of._turns(*whole.path())
    assert path.n_curves[-1] == 0
    assert (np.diff(path.n_curves) < 0).all()
    weights = sum(part.weight.sum() for part in parts)
    for step, penalty in enumerate(penalties[:-1]):
        np.testing.assert_allclose(path.factors[step], lasso(parts, penalty).coef_, atol=1e-5)
        total = 0.0
        for fold in range(of.FOLDS):
            fitted = lasso([part for part in parts if part.group % of.FOLDS != fold], penalty)
            for part in (part for part in parts if part.group % of.FOLDS == fold):
                total += np.sum(part.weight * (part.y - part.fixed - fitted.predict(part.added)) ** 2)
        assert path.losses[step] == pytest.approx(total / weights, rel=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "gamma"])
def test_the_approximation_touches_the_loss_at_the_model(loss):
    rng = np.random.default_rng(1)
    added, loss = 0.3 * rng.normal(size=(400, 3)), LOSSES[loss]
    mean = loss.inverse_link(added.sum(axis=1))
    draw = {"logistic": lambda: rng.binomial(1, mean), "poisson": lambda: rng.poisson(mean)}
    y = draw.get(loss.name, lambda: rng.gamma(2.0, mean / 2))().astype(float)
    sums = of._sums(Part(0, added, np.zeros(400), y, np.ones(400)), loss)

    def slope(moved):
        ends = [np.sum(loss.loss(y, added @ (np.ones(3) + sign * moved))) for sign in (1, -1)]
        return (ends[0] - ends[1]) / 2

    gradient = np.array([slope(1e-5 * np.eye(3)[j]) / 1e-5 for j in range(3)])
    quadratic = sums.gram[1:, 1:] @ np.ones(3) - sums.cross[1:]
    ratio = gradient / quadratic  # losses count deviances, gradients half of them
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GAMRegressor, GAMClassifier])
def test_what_matters_stays_and_noise_leaves(kind):
    X, effect, rng = ten_of(40, 6000, 0)
    noisy = effect + rng.normal(size=6000)
    y = noisy > noisy.mean() if kind is GAMClassifier else noisy
    model = kind(random_state=0, outer_bags=4).fit(X, y)
    path = fewer_curves(model, X, y)
    assert path["curves"].iloc[-1] == 0
    assert path["curves"].is_monotonic_decreasing
    chosen = path[path["chosen"]].iloc[0]
    kept = [name for name in X if chosen[name] > 0]
    assert set(kept) >= {f"x{j}" for j in range(10)}
    assert len(kept) <= 11
    place = int(np.flatnonzero(path["chosen"])[0])
    steady = {name: shares[place] for name, shares in path.attrs["steady"].items()}
    assert min(steady[f"x{j}"] for j in range(10)) > 0.9
    assert np.mean([steady[f"x{j}"] for j in range(10, 40)]) < 0.3
    assert path["loss"].min() <= path["loss"].iloc[-1]
    again = fewer_curves(model, X, y)
    pd.testing.assert_frame_equal(path, again)


def test_pairs_and_given_scores_stay():
    X, effect, rng = ten_of(12, 3000, 1)
    given = 2 * X["x0"].to_numpy()
    y = effect + 8 * (X["x0"] - 0.5) * (X["x1"] - 0.5) + 0.3 * rng.normal(size=3000) + given
    model = GAMRegressor(random_state=0, outer_bags=3, interactions=[("x0", "x1")]).fit(X, y, init_score=given)
    path = fewer_curves(model, X, y, init_score=given)
    plain = np.mean((y - model.predict(X, init_score=given)) ** 2)
    assert path["loss"].iloc[0] == pytest.approx(plain, rel=0.35)


def test_a_wide_model_has_a_path_of_those_that_move_most(monkeypatch):
    monkeypatch.setattr(of, "MOST_CURVES", 15)
    X, effect, rng = ten_of(40, 3000, 2)
    y = effect + rng.normal(size=3000)
    path = fewer_curves(GAMRegressor(random_state=0, outer_bags=3).fit(X, y), X, y)
    assert path["curves"].iloc[0] <= 15
    assert set(path.columns[4:]) == set(X.columns)


def test_what_cannot_be_had_is_refused_in_words():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2))).add_prefix("x")
    y = X["x0"] > 0
    with pytest.raises(TableError, match="random_state"):
        fewer_curves(GAMClassifier().fit(X, y), X, y)
    with pytest.raises(TableError, match="validation_fraction above 0"):
        fewer_curves(GAMClassifier(random_state=0, validation_fraction=0, max_rounds=5).fit(X, y), X, y)
    with pytest.raises(TableError, match="one score per row"):
        fewer_curves(GAMClassifier(random_state=0, max_rounds=5).fit(X, np.arange(300) % 3), X, np.arange(300) % 3)
