"""The scikit-learn conventions that this version keeps."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from gamcore import PRESETS, EffectGAM, GAMClassifier, GAMRegressor, MultiTaskTreesRegressor, load_model, report
from gamcore.estimators.reading import NOTHING_LEARNED, learned_nothing, reading
from tests.support.fits import friendly

QUICK = {"outer_bags": 1, "max_rounds": 10, "random_state": 0}


@pytest.mark.parametrize("kind", [GAMRegressor, GAMClassifier])
@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_parameters(kind, preset):
    kind(**PRESETS[preset])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0), ("max_leaves", 1), ("max_bins", 3), ("max_bins", 4097), ("subsample", 0), ("n_bags", 0),
        ("ensemble", "forest"), ("histogram", "fast"), ("validation_fraction", 1.0), ("outer_bags", 0),
        ("greedy_ratio", -1), ("callback", 3), ("max_rounds", 0),
    ],
)  # fmt: skip
def test_unusable_parameters_are_refused_by_name(name, value):
    X, y = friendly(60)
    with pytest.raises(ValueError, match=f"'{name}' parameter of GAMClassifier"):
        GAMClassifier(**{name: value}).fit(X, y)


def test_fitting_twice_equals_fitting_once():
    X, y = friendly(400)
    once = GAMClassifier(**QUICK).fit(X, y)
    twice = GAMClassifier(**QUICK).fit(X[::-1], y[::-1]).fit(X, y)
    np.testing.assert_array_equal(once.decision_function(X), twice.decision_function(X))


def test_contributions_add_up():
    X, y = friendly(400)
    model = GAMClassifier(**QUICK).fit(X, y)
    found = model.explain_rows(X)
    np.testing.assert_allclose(found.intercept + found.contributions.sum(axis=1), found.scores, atol=1e-12)
    np.testing.assert_allclose(found.scores, model.decision_function(X), atol=1e-12)
    assert found.frame().columns.tolist() == ["(intercept)", "a", "b", "c", "(score)"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_centring_leaves_predictions_unchanged():
    """The model's score equals the mean of the refits' uncentred scores on every training row."""
    X, y = friendly(400, binary=False)
    model = GAMRegressor(**{**QUICK, "outer_bags": 3}).fit(X, y)
    codes = model._encode(X)
    for term in model.model_.terms:
        assert np.average(term.scores, weights=term.counts) == pytest.approx(0, abs=1e-12)
    each = model.model_.refit_intercepts[:, None] + sum(t.refits[:, codes[t.feature]] for t in model.model_.terms)
    np.testing.assert_allclose(each.mean(axis=0), model.predict(X), atol=1e-12)


def test_columns_are_found_by_name():
    X, y = friendly(200)
    model = GAMClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["c", "a", "b"]])
    with pytest.raises(ValueError, match="b"):
        model.predict(X.drop(columns="b"))
    with pytest.raises(KeyError, match="no feature 'z'"):
        model.explain_shape("z")
    assert model.explain_shape(1).feature == "b"


def test_arrays_work_like_frames():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = GAMRegressor(**QUICK).fit(X, X[:, 0])
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert model.explain_shape("x0").scores.size > 10
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_not_fitted_is_said():
    for call in ("predict", "explain_shape", "importance", "save"):
        with pytest.raises(NotFittedError):
            getattr(GAMRegressor(), call)(*([] if call == "importance" else ["x"]))


def test_zero_weights_leave_rows_out():
    X, y = friendly(300)
    weight = (np.arange(300) < 200).astype(float)
    some = GAMClassifier(**QUICK).fit(X, y, sample_weight=weight)
    part = GAMClassifier(**QUICK).fit(X[:200], y[:200])
    np.testing.assert_allclose(some.decision_function(X), part.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="zero"):
        GAMClassifier(**QUICK).fit(X, y, sample_weight=np.zeros(300))


def test_mismatched_lengths_are_said():
    X, y = friendly(50)
    with pytest.raises(ValueError, match="50 rows and the target 49"):
        GAMClassifier(**QUICK).fit(X, y[:-1])
    with pytest.raises(ValueError, match="groups has 3 entries"):
        GAMClassifier(**QUICK).fit(X, y, groups=[1, 2, 3])


def test_importance_ranks_what_matters():
    X, y = friendly(2000, binary=False)
    X["noise"] = np.random.default_rng(1).normal(size=2000)
    found = GAMRegressor(random_state=0, outer_bags=2).fit(X, y).importance().frame()
    assert found["feature"].iloc[-1] == "noise"
    assert (found["range"] >= found["mean_abs"]).all()


def test_curves_tell_their_bins():
    X, y = friendly(600)
    X["d"] = pd.date_range("2024-01-01", periods=600)
    model = GAMClassifier(**{**QUICK, "outer_bags": 4}).fit(X, y)
    curve = model.explain_shape("b")
    assert curve.edges.size == curve.scores.size + 1
    assert (np.diff(curve.edges) > 0).all() or curve.edges[0] == curve.display[0]
    assert curve.counts.sum() + curve.missing[3] == 600
    assert (curve.lower <= curve.scores + 1e-12).all()
    assert (curve.scores <= curve.upper + 1e-12).all()
    assert curve.band == "quick 95% band of 4 refits, point by point"
    assert curve.missing[3] == X["b"].isna().sum()
    assert curve.unseen[0] == 0
    frame = curve.frame()
    assert frame["rows"].sum() == 600
    assert frame["bin"].tolist()[-2:] == ["(missing)", "(unseen)"]
    assert model.explain_shape("c").frame()["level"].tolist()[:2] == ["p", "q"]
    assert str(model.explain_shape("d").frame()["from"].iloc[0]) == "2024-01-01"
    for name in X.columns:
        assert name in model.explain_shape(name).words()


def test_an_array_after_a_frame_goes_by_position():
    X, y = friendly(200)
    numbers = X[["a", "b"]]
    model = GAMClassifier(**QUICK).fit(numbers, y)
    with pytest.warns(UserWarning, match="feature names"):
        found = model.decision_function(numbers.to_numpy())
    np.testing.assert_array_equal(found, model.decision_function(numbers))


@pytest.mark.parametrize("kind", [GAMRegressor, MultiTaskTreesRegressor, EffectGAM])
def test_a_frame_after_an_array_goes_by_position(kind):
    """As scikit-learn has it, with its warning: a model of an array knows no names."""
    X, y = friendly(200)
    numbers, arm = X[["a", "b"]], np.arange(200) % 2
    of_rows = {EffectGAM: {"treatment": arm}, MultiTaskTreesRegressor: {"task": arm}}.get(kind, {})
    model = kind(**QUICK).fit(numbers.to_numpy(), y, **of_rows)
    assert not hasattr(model, "feature_names_in_")
    told = {"task": arm} if kind is MultiTaskTreesRegressor else {}
    expected = model.predict(numbers.to_numpy(), **told)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(model.predict(numbers, **told), expected)
    numbered = kind(**QUICK).fit(numbers.set_axis([0, 1], axis=1), y, **of_rows)
    swapped = numbers.set_axis([0, 1], axis=1)[[1, 0]]
    np.testing.assert_array_equal(numbered.predict(swapped, **told), expected)


def test_one_class_of_positive_weight_is_refused():
    X, y = friendly(200)
    with pytest.raises(ValueError, match="The class 0 has no row of positive weight"):
        GAMClassifier(**QUICK).fit(X, y, sample_weight=(np.asarray(y) == 1).astype(float))


def test_groups_may_miss_labels_but_not_be_one():
    X, y = friendly(200)
    who = [None if k % 9 == 0 else k % 7 for k in range(200)]
    assert GAMClassifier(**QUICK).fit(X, y, groups=who).n_rounds_ >= 1
    with pytest.raises(ValueError, match="one label"):
        GAMClassifier(**QUICK).fit(X, y, groups=[1] * 200)


def test_parts_of_a_row_come_with_their_cells_largest_first():
    X, y = friendly(600)
    model = GAMClassifier(outer_bags=1, max_rounds=20, interactions=[("a", "c")], random_state=0).fit(X, y)
    row = X.iloc[:1]
    parts = model.explain_rows(row).parts(0, {name: str(row.iloc[0][name]) for name in row})
    assert parts["contribution"].abs().is_monotonic_decreasing
    cells = parts.set_index("term")["cell"]
    assert cells["c"] == row.iloc[0]["c"]
    assert cells["a × c"] == f"{row.iloc[0]['a']} × {row.iloc[0]['c']}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_features", [1, 30, 120])
def test_a_model_that_learned_nothing_says_so(tmp_path, n_features):
    rng = np.random.default_rng(n_features)
    X, y = rng.normal(size=(400, n_features)), rng.normal(size=400)
    model = GAMRegressor(outer_bags=2, random_state=0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(X, y)
    is_flat = bool(np.ptp(model.predict(X)) == 0)
    model.save(tmp_path / "model.gamx")
    assert learned_nothing(model) == learned_nothing(load_model(tmp_path / "model.gamx")) == is_flat
    assert any(str(warning.message).startswith(NOTHING_LEARNED) for warning in heard) == is_flat
    assert (NOTHING_LEARNED in report(model, tmp_path / "report.html").read_text(encoding="utf-8")) == is_flat
    assert is_flat or n_features < 120


def test_an_order_that_lets_nothing_in_is_no_reason_to_warn():
    rng = np.random.default_rng(0)
    model = GAMRegressor(outer_bags=2, order="greedy", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(rng.normal(size=(400, 3)), rng.normal(size=400))
    assert learned_nothing(model)
    assert NOTHING_LEARNED in reading(model).summary
