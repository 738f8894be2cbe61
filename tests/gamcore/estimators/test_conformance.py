"""Ecosystem: scikit-learn's own checks on the defaults, and the tools that use estimators.

`python -m benchmarks.boosting.conformance` runs the checks on every setting.
"""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.exceptions import SkipTestWarning
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor
from tests.support.conformance import NOT_DRAWN, QUICK, TREES, expected_failures, ours
from tests.support.fits import friendly

ALL = [GAMRegressor, GAMClassifier, MultiTaskTreesRegressor, MultiTaskTreesClassifier]
FEW = {"outer_bags": 2, "max_rounds": 10, "random_state": 0}


@pytest.fixture(autouse=True)
def _quiet():
    """Silence warnings of skipped checks: those of array API inputs need another library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        yield


@parametrize_with_checks(
    [estimator for _, estimator in ours(defaults_only=True)], expected_failed_checks=expected_failures
)
def test_the_defaults_behave_as_scikit_learn_asks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (GAMRegressor, NOT_DRAWN),
        (MultiTaskTreesRegressor, TREES["one bag"]),
        (MultiTaskTreesClassifier, TREES["one bag"]),
    ],
)
def test_where_no_row_is_drawn_or_counted_a_weight_of_two_is_the_row_twice(kind, settings):
    estimator = kind(**QUICK, **settings)
    assert not expected_failures(estimator)
    check_sample_weight_equivalence_on_dense_data(kind.__name__, estimator)


@pytest.mark.parametrize("kind", ALL)
def test_checks_outside_the_suite(kind):
    check_dataframe_column_names_consistency(kind.__name__, kind(**FEW))
    check_param_validation(kind.__name__, kind(**FEW))


def test_in_pipelines_searches_and_predictions_out_of_fold():
    X, y = friendly(400)
    model = GAMClassifier(**FEW)
    scaled = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    scaled.set_params(verbose_feature_names_out=False)
    pipe = make_pipeline(scaled, clone(model)).set_output(transform="pandas")
    pipe.fit(X, y)
    assert list(pipe[-1].feature_names_in_) == ["a", "b", "c"]
    assert pipe.predict(X).shape == (400,)
    search = GridSearchCV(Pipeline([("gam", model)]), {"gam__max_leaves": [2, 3]}, cv=2).fit(X, y)
    assert search.best_params_["gam__max_leaves"] in (2, 3)
    out = cross_val_predict(model, X, y, cv=3, method="predict_proba")
    assert out.shape == (400, 2)
    assert ((out > 0) & (out < 1)).all()


@pytest.mark.slow
def test_calibrated_thresholded_and_permuted():
    X, y = friendly(400)
    model = GAMClassifier(**FEW)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (400, 2)
    tuned = TunedThresholdClassifierCV(model, cv=3).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1
    model.fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0, scoring="neg_log_loss")
    ranked = model.importance().ranked_features()
    assert X.columns[found.importances_mean.argmax()] in ranked[:2]


def test_metadata_is_routed():
    X, y = friendly(300)
    groups, weight = np.arange(300) // 10, np.linspace(0.5, 2, 300)
    with config_context(enable_metadata_routing=True):
        model = GAMClassifier(**FEW).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        told = {"sample_weight": weight, "groups": groups}
        found = cross_validate(model, X, y, cv=GroupKFold(3), params=told)
        assert len(found["test_score"]) == 3
        with pytest.raises(Exception, match="sample_weight"):
            cross_validate(GAMClassifier(**FEW), X, y, params={"sample_weight": weight})


def test_polars_and_numpy_are_read_as_pandas_is():
    X, y = friendly(300)
    model = GAMClassifier(**FEW).fit(X, y)
    other = GAMClassifier(**FEW).fit(pl.from_pandas(X), y)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(pl.from_pandas(X)))
    assert list(other.feature_names_in_) == list(X.columns)
    series = GAMClassifier(**FEW).fit(pl.from_pandas(X), pl.Series(y.to_numpy() if hasattr(y, "to_numpy") else y))
    np.testing.assert_array_equal(model.decision_function(X), series.decision_function(X))
    numbers = X[["a", "b"]]
    a, b = (GAMClassifier(**FEW).fit(each, y) for each in (numbers, numbers.to_numpy()))
    np.testing.assert_array_equal(a.decision_function(numbers), b.decision_function(numbers.to_numpy()))


@pytest.mark.parametrize("kind", [GAMRegressor, MultiTaskTreesRegressor])
def test_joblibs_settings_give_the_same_model(kind):
    X, y = friendly(300, binary=False)
    alone = kind(**FEW).fit(X, y)
    with joblib.parallel_config(n_jobs=2):
        together = kind(**FEW).fit(X, y)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        searched = GridSearchCV(kind(**FEW), {"learning_rate": [0.1, 0.3]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), together.predict(X))
    assert isinstance(pd.DataFrame(searched.cv_results_), pd.DataFrame)
    assert np.isfinite(searched.best_score_)
