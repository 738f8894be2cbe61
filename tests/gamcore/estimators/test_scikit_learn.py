"""What scikit-learn asks of settings beyond the defaults: tags, columns by place, stops, and importances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.utils.estimator_checks import (
    check_classifier_not_supporting_multiclass,
    check_classifiers_classes,
    check_classifiers_train,
    check_fit2d_1sample,
)

from gamcore import (
    EffectGAM,
    GAMClassifier,
    GAMRegressor,
    MultiTaskTreesClassifier,
    MultiTaskTreesRegressor,
    TableError,
)

FEW = {"outer_bags": 2, "max_rounds": 20, "random_state": 0}
ONE_SCORE = [{"shapes": "smooth"}, {"shapes": {0: "linear"}}, {"monotone": {0: 1}}, {"order": "greedy"}]
ALL = [GAMRegressor, GAMClassifier, MultiTaskTreesRegressor, MultiTaskTreesClassifier]


@pytest.mark.parametrize("settings", [*ONE_SCORE, {"shapes": "smooth", "order": "greedy"}])
def test_settings_for_one_score_are_tagged_and_refuse_several_classes(settings):
    model = GAMClassifier(**FEW, **settings)
    assert not model.__sklearn_tags__().classifier_tags.multi_class
    check_classifier_not_supporting_multiclass("GAMClassifier", model)
    check_classifiers_classes("GAMClassifier", model)
    check_classifiers_train("GAMClassifier", model)
    assert GAMClassifier(**FEW, shapes=None, monotone={}).__sklearn_tags__().classifier_tags.multi_class


@pytest.mark.parametrize(
    "settings", [{}, {"bands": 10}, {"interactions": 1}, {"interactions": "auto"}, {"shapes": "smooth"},
                 {"order": "greedy"}, {"ensemble": "bagging"}, {"max_bins": 64}]
)  # fmt: skip
@pytest.mark.parametrize("kind", [GAMRegressor, GAMClassifier])
def test_one_row_is_fitted_or_refused_as_one_sample(kind, settings):
    check_fit2d_1sample(kind.__name__, kind(**FEW, **settings))


def coded(n=300):
    """A table of numbers, one of which is the code of a level."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "shop": rng.permutation(np.arange(n) % 6), "b": rng.normal(size=n)})
    return X, np.array([3, -2, 5, 0, 4, -4])[X["shop"]] + X["a"] + 0.1 * rng.normal(size=n)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("as_array", [False, True])
def test_categories_are_named_by_name_place_or_mask(kind, as_array):
    X, y = coded()
    y = y if kind in (GAMRegressor, MultiTaskTreesRegressor) else (y > 0).astype(int)
    table = X.to_numpy() if as_array else X
    name = "x1" if as_array else "shop"
    ways = [[1], (1,), np.array([1]), [False, True, False], np.array([False, True, False]), [name]]
    answers = [kind(categorical_features=way, **FEW).fit(table, y).predict(table) for way in ways]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    model = kind(categorical_features=[1], **FEW).fit(table, y)
    assert [bins.feature.is_category for bins in model.model_.bins] == [False, True, False]


@pytest.mark.parametrize("wanted", [[3], [-1], ["shops"], [True, False], [1.5]])
def test_columns_that_are_not_there_are_refused_with_those_that_are(wanted):
    X, y = coded()
    with pytest.raises(TableError, match=r"categorical_features (names .* which is no feature: a, shop, b|is a mask)"):
        GAMRegressor(categorical_features=wanted, **FEW).fit(X, y)
    with pytest.raises(TableError, match=r"common_features (names .* which is no feature: a, shop, b|is a mask)"):
        MultiTaskTreesRegressor(common_features=wanted, **FEW).fit(X, y)


def test_common_features_and_signs_go_by_place_too():
    X, y = coded()
    task = np.arange(len(X)) % 2
    ways = [["a", "b"], [0, 2], [True, False, True], np.array([0, 2])]
    answers = [MultiTaskTreesRegressor(common_features=way, **FEW).fit(X, y, task).predict(X, task) for way in ways]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    signs = [GAMRegressor(monotone={key: 1}, **FEW).fit(X, y).predict(X) for key in ("a", 0, np.int64(0))]
    np.testing.assert_array_equal(signs[0], signs[2])


def test_pieces_have_columns_that_are_no_features_so_categories_are_named():
    X, y = coded()
    with pytest.raises(TableError, match="give names where the table comes in pieces"):
        GAMRegressor(categorical_features=[1], **FEW).fit([X.assign(y=y)], "y")


@pytest.mark.parametrize(
    "model",
    [GAMRegressor(outer_bags=3, interactions=1), GAMRegressor(outer_bags=3, bands=10), GAMClassifier(outer_bags=3),
     GAMRegressor(objective="tweedie", power="auto"), GAMRegressor(keep_tables=True), MultiTaskTreesRegressor()],
)  # fmt: skip
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("stop", [1, 5])
def test_a_callback_is_not_called_after_it_said_stop(model, n_jobs, stop):
    X, y = coded()
    calls = []

    def watch(progress):
        calls.append(progress)
        return len(calls) >= stop

    target = (y > 0).astype(int) if isinstance(model, GAMClassifier) else np.exp(y / 4)
    type(model)(**{**model.get_params(), "callback": watch, "n_jobs": n_jobs, "random_state": 0}).fit(X, target)
    assert len(calls) == stop


def test_a_callback_of_pieces_is_not_called_after_it_said_stop():
    X, y = coded()
    stages = []
    model = GAMRegressor(callback=lambda progress: stages.append(progress.stage) or stages[-1] == "main effects", **FEW)
    model.fit([X.assign(y=y)] * 3, "y")
    assert stages.count("main effects") == 1
    assert stages[-1] == "main effects"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_selectors_find_the_columns_that_matter(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 5)), columns=list("abcde"))
    y = 2 * X["b"] + np.sin(2 * X["d"]) * 2 + 0.3 * rng.normal(size=600)
    y = y if kind in (GAMRegressor, MultiTaskTreesRegressor) else (y > 0).astype(int)
    model = kind(**FEW).fit(X, y)
    shares = model.feature_importances_
    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1.0)
    assert set(np.argsort(shares)[-2:]) == {1, 3}
    chosen = SelectFromModel(kind(**FEW), threshold="mean").fit(X, y)
    assert list(chosen.get_feature_names_out()) == ["b", "d"]
    assert list(RFECV(kind(**FEW), cv=2, min_features_to_select=2).fit(X, y).support_[[1, 3]]) == [True, True]


def test_importances_are_of_columns_with_their_pairs_parts_and_classes():
    rng = np.random.default_rng(0)
    n = 800
    X = pd.DataFrame({"flat": np.zeros(n), "day": pd.date_range("2024-01-01", periods=n), "a": rng.normal(size=n),
                      "b": rng.normal(size=n)})  # fmt: skip
    y = 3 * X["a"] * X["b"] + 2 * (X["day"].dt.day_of_week > 4) + 0.1 * rng.normal(size=n)
    model = GAMRegressor(date_parts=True, interactions=[("a", "b")], **FEW).fit(X, y)
    sizes = model.importance().frame().set_index("feature")["mean_abs"]
    whole = sizes.sum()
    flat, day, a, b = model.feature_importances_
    assert flat == 0.0
    assert day == pytest.approx(sizes[[name for name in sizes.index if name.startswith("day")]].sum() / whole)
    assert a + b == pytest.approx(1.0 - day)
    pair = sizes[[name for name in sizes.index if "a" in name and "b" in name and "day" not in name]].sum()
    assert a == pytest.approx((sizes["a"] + pair / 2) / whole)
    classes = GAMClassifier(**FEW).fit(X[["a", "b"]], np.digitize(X["a"], [-0.5, 0.5]))
    assert classes.feature_importances_[0] > 0.9
    assert GAMRegressor(**FEW).fit(X[["flat"]], y).feature_importances_.tolist() == [0.0]
    assert not hasattr(GAMRegressor(), "feature_importances_")
    arm = rng.integers(0, 2, n)
    assert EffectGAM(**FEW).fit(X[["a", "b"]], X["a"] * arm, arm, 0.5).feature_importances_[0] > 0.8
