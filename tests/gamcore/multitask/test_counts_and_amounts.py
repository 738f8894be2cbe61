"""Counts and amounts in several tasks: all that the regressor does, for every objective with a log link."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_tweedie_deviance
from sklearn.utils.estimator_checks import parametrize_with_checks

import gamcore
from gamcore import MultiTaskTreesRegressor, TableError, io, report
from gamcore.data.binning import encode_table
from gamcore.estimators.base import to_saved
from gamcore.estimators.reading import reading
from gamcore.io.gamx import ModelFileError, from_bytes, to_bytes
from tests.support.conformance import expected_failures
from tests.support.fits import QUICK, outcomes, two_tasks
from tests.support.model_files import put, rewrite

POWERS = ["poisson", "gamma", "tweedie"]


def table(objective, seed=0, level=0.0, **sizes):
    """Make two tasks with a known score, one far below the other."""
    X, score, task = two_tasks(seed, **sizes)
    score = score / 3 + np.where(task == "b", level, 0.0)
    return X, outcomes(objective, score, np.random.default_rng(seed + 1)), task, score


@pytest.fixture(scope="module", params=POWERS)
def fitted(request):
    X, y, task, score = table(request.param)
    return MultiTaskTreesRegressor(objective=request.param, **QUICK).fit(X, y, task=task), X, y, task, score


def test_each_task_is_recovered_whatever_its_level():
    X, y, task, _ = table("poisson", n=6000, small=3000, level=-2.0)
    model = MultiTaskTreesRegressor(objective="poisson", outer_bags=4, random_state=0).fit(X, y, task=task)
    fresh, y_fresh, task_fresh, truth = table("poisson", 7, n=3000, small=3000, level=-2.0)
    found = model.predict(fresh, task=task_fresh)
    for name, most in (("a", 0.2), ("b", 0.4)):
        mine = task_fresh == name
        rate = np.exp(truth[mine] - 0.5)
        assert np.sqrt(np.mean(np.square(np.log(found[mine] / rate)))) < most
        assert found[mine].sum() == pytest.approx(y_fresh[mine].sum(), rel=0.12)
        level = np.full(mine.sum(), y[task == name].mean())
        assert mean_tweedie_deviance(rate, found[mine], power=1) < 0.5 * mean_tweedie_deviance(rate, level, power=1)


@pytest.mark.slow
def test_a_small_task_of_amounts_borrows_from_a_large_one():
    """Compare with trees of its own alone, and with trees that know no task."""
    gaps = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"x": rng.normal(size=3100), "z": rng.normal(size=3100)})
        task = np.where(np.arange(3100) < 3000, "large", "small")
        score = np.sin(2 * X["x"]) + np.where(task == "small", 2.0 + 0.3 * X["z"], 0.5 * X["z"])
        y, small = rng.gamma(2.0, np.exp(score) / 2), task == "small"
        settings = {"objective": "gamma", "outer_bags": 2, "random_state": 0}
        whole = MultiTaskTreesRegressor(**settings).fit(X, y, task=task)
        alone = MultiTaskTreesRegressor(**settings).fit(X[small], y[small])
        blind = MultiTaskTreesRegressor(**settings).fit(X, y)
        fresh = pd.DataFrame({"x": rng.normal(size=2000), "z": rng.normal(size=2000)})
        truth = np.exp(np.sin(2 * fresh["x"]) + 2.0 + 0.3 * fresh["z"])
        answers = whole.predict(fresh, task="small"), alone.predict(fresh), blind.predict(fresh)
        gaps.append([mean_tweedie_deviance(truth, answer, power=2) for answer in answers])
    together, own, pooled = np.mean(gaps, axis=0)
    assert together < 0.8 * own
    assert together < 0.2 * pooled


def test_sums_of_predictions_and_targets_agree(fitted):
    model, X, y, task, _ = fitted
    assert model.predict(X, task).sum() == pytest.approx(y.sum(), rel=1e-9)
    weight = np.random.default_rng(3).uniform(0.2, 4.0, y.size)
    again = MultiTaskTreesRegressor(objective=model.objective, **QUICK).fit(X, y, task=task, sample_weight=weight)
    assert weight @ again.predict(X, task) == pytest.approx(weight @ y, rel=1e-9)


@pytest.mark.slow
def test_losses_are_deviances_in_the_target_s_units():
    """Without averaging, the validation rows are those that the seed leaves out; with tasks alike, all is deviance."""
    for objective in POWERS:
        X, y, task, _ = table(objective, n=2000, small=2000)
        y = y * 40.0
        model = MultiTaskTreesRegressor(objective=objective, **{**QUICK, "outer_bags": 6}).fit(X, y, task=task)
        fresh, y_fresh, task_fresh, _ = table(objective, 5, n=4000, small=4000)
        mean = model.predict(fresh, task_fresh)
        expected = mean_tweedie_deviance(y_fresh * 40.0, mean, power=model.loss.variance_power)
        assert model.validation_losses_.mean() == pytest.approx(expected, rel=0.1), objective


def test_a_file_brings_the_model_back_to_the_bit(fitted, tmp_path):
    model, X, _, task, _ = fitted
    model.save(tmp_path / "tasks.gamx")
    again = gamcore.load_model(tmp_path / "tasks.gamx")
    assert again.get_params() == model.get_params()
    assert again.model_.loss == model.model_.loss
    for asked in (task, None):
        np.testing.assert_array_equal(again.predict(X, asked), model.predict(X, asked))
    assert to_bytes(to_saved(again)) == to_bytes(to_saved(model))


def test_python_and_json_predict_the_same(fitted):
    model, X, _, task, _ = fitted
    text = io.to_json(model)
    np.testing.assert_allclose(io.from_json(text).predict(X, task), model.predict(X, task), rtol=1e-12)
    assert io.to_json(io.from_json(text)) == text
    written = {"__name__": "written"}
    exec(compile(io.to_python(model), "written.py", "exec"), written)  # the written code is under test
    rows = X.astype(object).where(X.notna(), None).to_dict("records")[::9]
    found = [written["predict"](row, label) for row, label in zip(rows, task[::9], strict=True)]
    np.testing.assert_allclose(found, model.predict(X, task)[::9], rtol=1e-9)


def test_curves_are_factors(fitted):
    model, X, _, task, _ = fitted
    for name in (None, "a", "b"):
        curve = model.explain_shape("shared", name)
        factors = curve.on("ratio")
        np.testing.assert_allclose(factors.scores, np.exp(curve.scores))
        assert factors.unit == "factor of the mean"
        assert curve.on("points") is curve
    parts = model.explain_rows(X, task)
    np.testing.assert_allclose(np.exp(parts.intercept + parts.contributions.sum(axis=1)), model.predict(X, task))
    shown = reading(model)
    assert "deviance" in str(shown.facts)
    assert shown.curves[0].scale == "ratio"


def test_a_report_measures_deviance(fitted, tmp_path):
    model, X, y, task, _ = fitted
    text = report(model, tmp_path / "report.html", X, y, task=task).read_text()
    assert model.loss.error in text
    assert "Deviance explained" in text


def test_an_additive_model_is_a_sum_of_curves():
    for objective in POWERS:
        X, y, task, _ = table(objective)
        model = MultiTaskTreesRegressor(objective=objective, additive=True, **QUICK).fit(X, y, task=task)
        terms = model.additive_model("b")
        rows = X[task == "b"]
        np.testing.assert_allclose(terms.predict(encode_table(rows, terms.bins)), model.predict(rows, "b"), rtol=1e-9)


def test_threads_do_not_change_a_bit(fitted):
    model, X, y, task, _ = fitted
    threaded = MultiTaskTreesRegressor(objective=model.objective, n_jobs=2, **QUICK).fit(X, y, task=task)
    np.testing.assert_array_equal(threaded.predict(X, task), model.predict(X, task))


@pytest.mark.parametrize("objective", POWERS)
def test_the_unit_of_the_target_does_not_matter(objective):
    X, y, task, _ = table(objective)
    y = y * 7.0 if objective == "poisson" else y  # more events than rows, so that floors count rows
    one, other = (
        MultiTaskTreesRegressor(objective=objective, **QUICK).fit(X, unit * y, task=task) for unit in (1.0, 1e6)
    )
    np.testing.assert_allclose(other.predict(X, task), 1e6 * one.predict(X, task), rtol=2e-3)
    power = 2.0 - one.loss.variance_power
    np.testing.assert_allclose(other.validation_losses_, 1e6**power * one.validation_losses_, rtol=1e-3)


@pytest.mark.slow
def test_rare_counts_learn_no_noise():
    """Leaves are shrunk by expected events: ten rows of one in a hundred would shrink nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    task = rng.choice(["a", "b"], 20_000)
    truth = 0.01 * np.exp(0.7 * (X[:, 0] > 0))
    y = rng.poisson(truth).astype(float)
    model = MultiTaskTreesRegressor(objective="poisson", outer_bags=4, random_state=0).fit(X, y, task=task)
    assert np.std(np.log(model.predict(X, task) / truth)) < 0.3


def test_refits_without_an_event_among_their_training_rows_do_not_swamp_the_mean():
    X, _, task, _ = table("poisson")
    y = np.zeros(len(X))
    y[[5, 100]] = 3.0
    clusters = np.where(y > 0, 0, 1 + np.arange(y.size) % 30)
    for objective in ("poisson", "tweedie"):
        model = MultiTaskTreesRegressor(objective=objective, **{**QUICK, "outer_bags": 8, "validation_fraction": 0.3})
        found = model.fit(X, y, task=task, groups=clusters).predict(X, task)
        assert found.sum() == pytest.approx(6.0)
        assert found.max() < 100 * found.min()


@pytest.mark.parametrize("objective", POWERS)
def test_bad_targets_are_refused_in_words(objective):
    X, y, task, _ = table(objective)
    y[[3, 7]] = -1.0
    with pytest.raises(TableError, match=r"2 rows \(counted from 0: 3, 7\), and objective="):
        MultiTaskTreesRegressor(objective=objective).fit(X, y, task=task)
    with pytest.raises(TableError, match=r"negative in 2 rows \(counted from 0: 3, 7\)"):
        MultiTaskTreesRegressor(objective=objective).fit({"one": (X, y), "two": (X, np.abs(y) + 1)})
    with pytest.raises(ValueError, match="'objective' parameter"):
        MultiTaskTreesRegressor(objective="logistic").fit(X, y, task=task)


def test_the_power_is_kept_and_checked():
    X, y, task, _ = table("tweedie")
    model = MultiTaskTreesRegressor(objective="tweedie", power=1.3, **QUICK).fit(X, y, task=task)
    written = to_bytes(to_saved(model))
    assert from_bytes(written).model.loss.power == 1.3
    for bad in ({"power": 2.5}, {"power": "1.5"}, {}, {"power": 1.5, "more": 1.0}):
        with pytest.raises(ModelFileError, match="its loss"):
            from_bytes(rewrite(written, put(["loss_parameters"], bad)))
    with pytest.raises(ModelFileError, match="kind and loss do not match"):
        from_bytes(rewrite(written, put(["loss"], "logistic")))


@pytest.mark.slow
@parametrize_with_checks(
    [MultiTaskTreesRegressor(objective=name, max_rounds=20, random_state=0) for name in POWERS],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_they_behave_as_scikit_learn_asks(estimator, check):
    check(estimator)
