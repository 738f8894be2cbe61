"""`score` rates the predictions that a model is used for: with its tasks, exposures, given scores and arms."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score, d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from gamcore import (
    EffectGAM,
    GAMClassifier,
    GAMRegressor,
    MultiTaskTreesClassifier,
    MultiTaskTreesRegressor,
    TableError,
    report,
)
from gamcore.estimators.scores import explained

FEW = {"outer_bags": 2, "max_rounds": 40, "random_state": 0}
N = 900


def rows(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc")), rng


def amounts(objective, mean, rng):
    """Targets of a mean, as each objective can have them."""
    if objective == "gamma":
        return rng.gamma(2.0, mean / 2)
    counts = rng.poisson(mean)
    return rng.gamma(np.maximum(counts, 1)) * (counts > 0) if objective == "tweedie" else counts.astype(float)


@pytest.mark.parametrize(("objective", "power"), [("poisson", 1.0), ("gamma", 2.0), ("tweedie", 1.5)])
@pytest.mark.parametrize("given", ["exposure", "init_score", "neither"])
def test_amounts_are_rated_by_the_deviance_that_their_predictions_explain(objective, power, given):
    X, rng = rows()
    size, weight = rng.uniform(0.1, 5, N), rng.uniform(0, 2, N)
    y = amounts(objective, np.exp(0.6 * X["a"]) * (1.0 if given == "neither" else size), rng)
    beside = {"exposure": {"exposure": size}, "init_score": {"init_score": np.log(size)}, "neither": {}}[given]
    model = GAMRegressor(objective=objective, **FEW).fit(X, y, **beside)
    for mass in (None, weight):
        expected = d2_tweedie_score(y, model.predict(X, **beside), power=power, sample_weight=mass)
        assert model.score(X, y, mass, **beside) == pytest.approx(expected, abs=1e-9)
        assert expected > 0.05


def test_numbers_are_rated_by_r2_and_quantiles_by_their_pinball_loss():
    X, rng = rows()
    y, shift, weight = X["a"] + rng.normal(size=N), 3 * rng.normal(size=N), rng.uniform(0, 2, N)
    model = GAMRegressor(**FEW).fit(X, y + shift, init_score=shift)
    expected = r2_score(y + shift, model.predict(X, init_score=shift), sample_weight=weight)
    assert model.score(X, y + shift, weight, init_score=shift) == pytest.approx(expected, abs=1e-12)
    model = GAMRegressor(objective="quantile", quantile=0.8, **FEW).fit(X, y)
    assert model.score(X, y) == pytest.approx(d2_pinball_score(y, model.predict(X), alpha=0.8), abs=1e-3)


def test_a_target_that_is_all_alike_leaves_nothing_to_explain():
    X, _ = rows()
    model = GAMRegressor(**FEW).fit(X, X["a"])
    assert model.score(X, np.zeros(N)) == r2_score(np.zeros(N), model.predict(X)) == 0.0


def test_held_out_rows_without_an_event_leave_nothing_to_explain_either(tmp_path):
    """As in a fold of rare counts. Targets that cannot be are still refused."""
    X, rng = rows()
    model = GAMRegressor(objective="poisson", **FEW).fit(X, rng.poisson(np.exp(X["a"])))
    assert model.score(X, np.zeros(N)) == model.score(X[:1], [0.0]) == 0.0
    assert report(model, tmp_path / "model.html", X, np.zeros(N)).exists()
    with pytest.raises(TableError, match="negative"):
        model.score(X, np.full(N, -1.0))
    tasks = MultiTaskTreesRegressor(objective="tweedie", **FEW).fit(X, np.exp(X["a"]))
    assert tasks.score(X, np.zeros(N)) == 0.0


@pytest.mark.parametrize("objective", ["squared", "quantile", "gamma", "tweedie", "poisson"])
def test_a_score_does_not_know_the_unit_of_the_target(objective):
    X, rng = rows()
    y, weight = rng.gamma(2.0, np.exp(0.6 * X["a"])), rng.uniform(0, 2, N)
    model = GAMRegressor(objective=objective, **FEW).fit(X, y)
    expected = explained(model.loss, y, model.predict(X), weight)
    for unit in (1e-300, 1e-160, 1e-30, 1e30, 1e140):
        assert explained(model.loss, unit * y, unit * model.predict(X), weight) == pytest.approx(expected, abs=1e-6)
    assert explained(model.loss, y * 1e-300, model.predict(X)) < -100


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_rated_beside_given_scores(n_classes):
    X, rng = rows()
    given = 2 * rng.normal(size=N if n_classes == 2 else (N, n_classes))
    noise = rng.logistic(size=N) if n_classes == 2 else rng.gumbel(size=(N, n_classes))
    y = (X["a"] + given + noise > 0).astype(int) if n_classes == 2 else np.argmax(given + noise, axis=1)
    weight = rng.uniform(0, 2, N)
    model = GAMClassifier(**FEW).fit(X, y, init_score=given)
    expected = accuracy_score(y, model.predict(X, init_score=given), sample_weight=weight)
    assert model.score(X, y, weight, init_score=given) == pytest.approx(expected, abs=1e-12)
    with pytest.warns(UserWarning, match="pass init_score= to score"):
        assert model.score(X, y) < expected - 0.05


@pytest.mark.parametrize("labels", [np.array([False, True], object), np.array([0, 1], object), np.array(["a", "b"])])
def test_classes_of_any_type_are_rated_and_unseen_ones_are_wrong(labels):
    X, rng = rows()
    codes = (X["a"] + rng.normal(size=N) > 0).to_numpy().astype(int)
    model = GAMClassifier(**FEW).fit(X, labels[codes])
    right = np.mean(model.predict(X) == labels[codes])
    assert model.score(X, labels[codes]) == pytest.approx(right)
    strange = labels[codes].astype(object)
    strange[:90] = "another"
    assert model.score(X, strange) == pytest.approx(np.mean((model.predict(X) == labels[codes])[90:]) * 0.9)


def tasks(seed=0):
    X, rng = rows(seed)
    task = rng.choice(list("pqrs"), N)
    slope = pd.Series(task).map({"p": 1.0, "q": -1.0, "r": 2.0, "s": -2.0}).to_numpy()
    return X, X["a"] * slope + 0.3 * rng.normal(size=N), task, rng.uniform(0, 2, N)


def test_tasks_are_rated_by_their_own_trees():
    X, y, task, weight = tasks()
    model = MultiTaskTreesRegressor(**FEW).fit(X, y, task)
    expected = r2_score(y, model.predict(X, task), sample_weight=weight)
    assert expected > 0.5
    assert model.score(X, y, weight, task=task) == pytest.approx(expected, abs=1e-12)
    with pytest.warns(UserWarning, match="pass task= to score"):
        assert model.score(X, y) < 0.3
    by_task = {name: (X[task == name], y[task == name]) for name in "pqrs"}
    assert model.score(by_task) == pytest.approx(model.score(X, y, task=task), abs=1e-12)
    classifier = MultiTaskTreesClassifier(**FEW).fit(X, y > 0, task)
    right = accuracy_score(y > 0, classifier.predict(X, task), sample_weight=weight)
    assert classifier.score(X, y > 0, weight, task=task) == pytest.approx(right, abs=1e-12)
    counts = MultiTaskTreesRegressor(objective="poisson", **FEW).fit(X, np.exp(y).round(), task)
    expected = d2_tweedie_score(np.exp(y).round(), counts.predict(X, task), power=1)
    assert counts.score(X, np.exp(y).round(), task=task) == pytest.approx(expected, abs=1e-9)


def test_a_metric_that_passes_no_tasks_is_told_of_and_a_function_may_look_them_up():
    X, y, task, _ = tasks()
    model, labels = MultiTaskTreesRegressor(**FEW), pd.Series(task, X.index)

    def rated(scoring):
        return cross_validate(model, X, y, cv=2, params={"task": labels}, scoring=scoring)["test_score"].mean()

    with config_context(enable_metadata_routing=True):
        with pytest.warns(UserWarning, match="4 tasks and was given none.*leave scoring out"):
            assert rated("r2") < 0.3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            by_function = rated(lambda fitted, X, y: r2_score(y, fitted.predict(X, task=labels.loc[X.index])))
            assert by_function == pytest.approx(rated(None), abs=1e-12)


def searched(estimator, X, y, given):
    """Mean scores of a search and of cross-validation, and what they should be: of predictions out of fold."""
    cuts = KFold(3)
    with config_context(enable_metadata_routing=True):
        grid = GridSearchCV(estimator, {"max_rounds": [FEW["max_rounds"]]}, cv=cuts, error_score="raise").fit(
            X, y, **given
        )
        crossed = cross_validate(estimator, X, y, cv=cuts, params=given, error_score="raise")["test_score"].mean()
    wanted = []
    for train, test in cuts.split(X):
        inside, outside = ({name: values[part] for name, values in given.items()} for part in (train, test))
        model = clone(estimator).fit(X.iloc[train], y[train], **inside)
        wanted.append(model.score(X.iloc[test], y[test], **outside))
    return grid.best_score_, crossed, np.mean(wanted)


@pytest.mark.slow
def test_searches_pass_on_what_scores_need_without_being_asked():
    X, y, task, _ = tasks()
    rng = np.random.default_rng(1)
    size = rng.uniform(0.1, 5, N)
    counts = rng.poisson(size * np.exp(0.6 * X["a"]))
    arm = rng.integers(0, 2, N)
    moved = (3 * X["a"] * arm + 0.1 * rng.normal(size=N)).to_numpy()
    scenes = [
        (MultiTaskTreesRegressor(**FEW), y.to_numpy(), {"task": task}, 0.5),
        (MultiTaskTreesClassifier(**FEW), (y > 0).to_numpy(), {"task": task}, 0.7),
        (GAMRegressor(objective="poisson", **FEW), counts, {"exposure": size}, 0.4),
        (GAMClassifier(**FEW), counts > 1, {"init_score": np.log(size)}, 0.7),
        (EffectGAM(**FEW), moved, {"treatment": arm, "propensity": np.full(N, 0.5)}, 0.3),
    ]
    for estimator, target, given, least in scenes:
        grid, crossed, wanted = searched(estimator, X, target, given)
        assert grid == pytest.approx(wanted, abs=1e-12), type(estimator).__name__
        assert crossed == pytest.approx(wanted, abs=1e-12)
        assert wanted > least


@pytest.mark.slow
def test_effects_are_rated_by_their_arms_or_not_at_all(tmp_path):
    X, rng = rows()
    arm = rng.integers(0, 2, N)
    y = 2 * np.sin(X["b"]) + X["a"] * arm + 0.3 * rng.normal(size=N)
    model = EffectGAM(**FEW).fit(X, y, arm, propensity=0.5)
    assert model.score(X, y, arm, 0.5) > 0.1
    with pytest.raises(TableError, match="pass treatment="):
        model.score(X, y)
    with pytest.raises(TableError, match="pass treatment="):
        report(model, tmp_path / "effects.html", X, y)
    page = report(model, tmp_path / "effects.html", X, y, treatment=arm, propensity=0.5).read_text()
    assert "R-loss explained" in page
    assert "R²" not in page


@pytest.mark.slow
def test_the_r_loss_is_least_at_the_true_effects():
    """Of effects that are too small, right, and too large, the right ones explain most."""
    X, rng = rows()
    arm = rng.random(N) < 0.3
    y = X["b"] + 2 * X["a"] * arm + rng.normal(size=N)
    model = EffectGAM(**FEW).fit(X, y, arm, propensity=0.3)

    class Stretched(EffectGAM):
        factor = 1.0

        def predict(self, X, exposure=None, init_score=None):
            return self.factor * 2 * np.asarray(X["a"])

    model.__class__ = Stretched
    scores = []
    for Stretched.factor in (0.0, 0.5, 1.0, 1.5):
        scores.append(model.score(X, y, arm, propensity=0.3))
    assert np.argmax(scores) == 2
    assert scores[0] <= 0.0


def test_what_is_not_a_score_is_refused():
    X, _ = rows()
    model = GAMRegressor(objective="poisson", **FEW).fit(X, np.exp(X["a"]).round())
    with pytest.raises(TableError, match="negative in 1 row"):
        model.score(X.iloc[:2], [-1.0, 2.0])
    with pytest.raises(TableError, match="2 rows and the target 3"):
        model.score(X.iloc[:2], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="weight"):
        model.score(X.iloc[:2], [1.0, 2.0], [1.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.score(X.iloc[:2], [1.0, 2.0]))
