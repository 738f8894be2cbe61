"""Monotone features: the whole score keeps the order, whatever else is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression

from gamcore import GAMClassifier, GAMRegressor, load_model, refit_by_counts, update
from gamcore.data.columns import TableError
from gamcore.estimators.base import to_saved
from gamcore.io import gamx, to_python
from gamcore.io.checks import ModelFileError
from gamcore.kernels.layout import Settings, make_fit, make_work
from gamcore.kernels.losses import SQUARED, no_change
from gamcore.kernels.monotone import keep_order
from gamcore.model.monotone import least_step
from tests.support.elsewhere import cells, loaded
from tests.support.fits import outcomes
from tests.support.gears import mostly_slow

QUICK = {"outer_bags": 2, "max_rounds": 40, "random_state": 0}
LOSSES = ("squared", "logistic", "poisson", "gamma", "tweedie", "quantile")


def rows(rng, n):
    """Draw rows with missing cells, a category, ties, and features that depend on each other."""
    common = rng.normal(size=n)
    X = pd.DataFrame({
        "a": 0.7 * common + rng.normal(size=n),
        "b": np.where(rng.random(n) < 0.1, np.nan, common + rng.normal(size=n)),
        "c": rng.integers(0, 6, n).astype(float),
        "d": rng.choice(["x", "y", "z", None], n),
    })  # fmt: skip
    truth = np.sin(2 * X["a"]) + 0.4 * X["b"].fillna(0) - 0.3 * X["c"] + 0.8 * (X["a"] > 0) * (X["c"] > 2)
    return X, (truth + 0.5 * (X["d"] == "y") * X["b"].fillna(1.0)).to_numpy()


def drawn(seed):
    """Return a random model with random constraints, fitted to random rows, and its constraints."""
    rng = np.random.default_rng(seed)
    loss, (X, score) = LOSSES[seed % len(LOSSES)], rows(rng, int(rng.integers(150, 600)))
    monotone = {name: int(sign) for name in "abc" if (sign := rng.integers(-1, 2))} or {"a": 1}
    pairs = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    settings = {
        "max_leaves": int(rng.integers(2, 6)), "coarse_leaves": [None, 3, 8][rng.integers(3)],
        "smoothing_rounds": int(rng.choice([0, 6])), "learning_rate": float(rng.choice([0.1, 0.4, 1.0])),
        "ensemble": str(rng.choice(["grouped", "subagging", "bagging"])), "max_bins": int(rng.choice([8, 64, 256])),
        "interactions": [pairs[k] for k in np.flatnonzero(rng.random(4) < 0.4)],
        "pair_tree": str(rng.choice(["cross", "refined"])), "joint": bool(rng.integers(2)),
        "purify": bool(rng.integers(2)), "outer_bags": 2, "max_rounds": 25, "random_state": seed, "n_bags": 6,
    }  # fmt: skip
    if loss == "logistic":
        model = GAMClassifier(monotone=monotone, boosting=str(rng.choice(["logit", "mart"])), **settings)
    else:
        model = GAMRegressor(monotone=monotone, objective=loss, **settings)
    weight = rng.uniform(0.2, 3.0, len(X)) if rng.integers(2) else None
    return model.fit(X, outcomes(loss, score / 3, rng), sample_weight=weight), X, monotone


def steps_of(model, X, feature):
    """The slow twin: changes of the score from bin to bin of a feature, for rows of all kinds, unseen values too."""
    bins = model.model_.bins[list(X).index(feature)]
    few = pd.concat([X.head(20), pd.DataFrame({"a": [np.nan] * 2, "b": [np.nan, 0.0], "c": [np.nan, 9e9], "d": "new"})])
    scores = []
    for value in bins.display:
        codes = model._encode(few.assign(**{feature: value}))
        scores.append(model.model_.score(codes))
    return np.diff(np.stack(scores), axis=0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", mostly_slow(range(90), 18))
def test_random_models_keep_the_order(seed):
    model, X, monotone = drawn(seed)
    for feature, sign in monotone.items():
        largest = max(np.abs(term.scores).max() for term in (*model.model_.terms, *model.model_.pairs))
        steps = sign * steps_of(model, X, feature)
        assert steps.min(initial=0.0) >= -1e-9 * largest, feature
        assert least_step(model.model_, list(X).index(feature), sign) <= steps.min(initial=np.inf) + 1e-12


def test_the_order_costs_little_where_it_is_true_and_more_where_it_is_not():
    rng = np.random.default_rng(0)
    X, X_test = (pd.DataFrame({"a": rng.uniform(-2, 2, n), "b": rng.normal(size=n)}) for n in (3000, 20_000))
    truth = lambda frame: np.exp(frame["a"]) + np.sin(3 * frame["b"])  # noqa: E731
    y = truth(X) + rng.normal(size=3000)
    wrong = [
        np.mean((GAMRegressor(random_state=0, monotone=signs).fit(X, y).predict(X_test) - truth(X_test)) ** 2)
        for signs in (None, {"a": 1}, {"a": -1})
    ]
    assert wrong[1] < 1.02 * wrong[0] < 0.1 * wrong[2]


def test_a_free_feature_is_fitted_as_without_constraints():
    X, score = rows(np.random.default_rng(1), 800)
    free, none = (GAMRegressor(**QUICK, monotone=signs).fit(X, score) for signs in ({"a": 0}, None))
    np.testing.assert_array_equal(free.predict(X), none.predict(X))


def test_names_and_places_are_the_same():
    X, score = rows(np.random.default_rng(2), 500)
    named, placed = (GAMRegressor(**QUICK, monotone=signs).fit(X, score) for signs in ({"b": -1}, {1: -1}))
    np.testing.assert_array_equal(named.predict(X), placed.predict(X))
    assert named.model_.signs == (0, -1, 0, 0)


def test_bands_updates_and_edits_keep_the_order_or_the_promise_goes(tmp_path):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=4000), "b": rng.integers(0, 9, 4000)})
    y = np.sin(2 * X["a"]) + X["b"] / 5 + rng.normal(size=4000)
    model = GAMRegressor(**QUICK, monotone={"a": 1, "b": -1}, keep_tables=True, bands=10).fit(X[:3000], y[:3000])
    counts = model.model_.terms[1].counts[1:-1]
    assert counts.min() > 200  # halves are spread out where they know little
    assert (np.diff(model.model_.halves.terms[1].refits[:, 1:-1], axis=1) <= 1e-12).all()
    update(model, X[3000:], y[3000:])
    for feature, sign in enumerate((1, -1)):
        assert least_step(model.model_, feature, sign) >= 0
    assert model.model_.signs == (1, -1)
    scores = model.model_.terms[0].scores
    edited = refit_by_counts(model, "a", -scores)
    assert edited.model_.signs == (0, -1)
    edited.save(tmp_path / "edited.gamx")
    assert load_model(tmp_path / "edited.gamx").monotone == {"b": -1}
    assert refit_by_counts(model, "a", 2 * scores).model_.signs == (1, -1)


def test_a_file_keeps_the_promise_and_a_false_one_is_refused(tmp_path):
    X, score = rows(np.random.default_rng(4), 600)
    model = GAMRegressor(**QUICK, monotone={"a": 1}, interactions=[("a", "d")]).fit(X, score)
    model.save(tmp_path / "m.gamx")
    again = load_model(tmp_path / "m.gamx")
    assert again.model_.signs == (1, 0, 0, 0)
    few = X.head(50).assign(d="new")
    np.testing.assert_array_equal(again.predict(few), model.predict(few))
    predict = loaded(to_python(model))["predict"]
    np.testing.assert_allclose([predict(row) for row in cells(few)], model.predict(few), rtol=0, atol=1e-9)
    free = GAMRegressor(**QUICK, interactions=[("a", "d")]).fit(X, -score)
    object.__setattr__(free.model_, "signs", (1, 0, 0, 0))
    with pytest.raises(ModelFileError, match="not monotone"):
        gamx.from_bytes(gamx.to_bytes(to_saved(free)))
    assert again.monotone == {"a": 1}


@pytest.mark.parametrize(
    ("signs", "told"),
    [
        ({"q": 1}, "monotone names 'q', which is no feature: a, b, c, d."),
        ({7: 1}, "monotone names 7"),
        ({True: 1}, "monotone names True"),
        ({"a": 2}, "monotone has 2 for 'a': give 1 to rise, -1 to fall, or 0."),
        ({"d": 1}, "d is a category, whose levels have no order: leave it out of monotone."),
    ],
)
def test_what_cannot_be_asked_is_told(signs, told):
    X, score = rows(np.random.default_rng(5), 200)
    with pytest.raises(TableError) as refusal:
        GAMRegressor(**QUICK, monotone=signs).fit(X, score)
    assert told in str(refusal.value)


def test_several_classes_are_refused():
    X, score = rows(np.random.default_rng(6), 300)
    with pytest.raises(TableError, match="several classes"):
        GAMClassifier(**QUICK, monotone={"a": 1}).fit(X, np.digitize(score, [-0.5, 0.5]))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_curve_after_a_step_is_its_isotonic_regression(sign):
    rng = np.random.default_rng(7)
    for _ in range(50):
        n = int(rng.integers(1, 25))
        fit, work = make_fit(2, no_change(SQUARED), np.float64), make_work(3, 2, np.float64)
        fit.signs[1, 0] = sign
        weight, step = rng.integers(0, 4, n).astype(float), rng.normal(size=n + 1)
        fit.curves[1, 1 : n + 1] = sign * np.sort(rng.normal(size=n))
        work.total[1, 1 : n + 1], work.update[: n + 1] = weight, step * 3 / 0.25
        keep_order(n, 1, fit, Settings(SQUARED, False, 0.25, 2, 0.0, 10.0, 3), work)
        made, free = fit.curves[1, 1 : n + 1] + work.update[1 : n + 1] * 0.25 / 3, fit.curves[1, 1 : n + 1] + step[1:]
        known = np.maximum(weight, 1e-9)
        wanted = IsotonicRegression(increasing=sign > 0).fit_transform(np.arange(n), free, sample_weight=known)
        np.testing.assert_allclose(made, wanted, atol=1e-6)
        assert work.update[0] == step[0] * 3 / 0.25
