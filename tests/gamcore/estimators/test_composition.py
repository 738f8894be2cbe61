"""Estimators fit, predict, explain and save; what goes beyond is a function that takes one."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import gamcore
from gamcore import GAMClassifier, GAMRegressor
from gamcore.estimators.base import loss_of, to_saved
from gamcore.estimators.former import METHODS
from gamcore.io.gamx import to_bytes

KNOWN = {*dir(BaseEstimator), *dir(RegressorMixin), *dir(ClassifierMixin), "fit", "predict", "predict_proba",
         "decision_function", "feature_importances_"}  # fmt: skip
MOST_BASES, MOST_NAMES = 4, 40


def names_beyond_sklearn(estimator):
    """The public names of an estimator, its settings among them, that are not of scikit-learn's interface."""
    names = {name for name in dir(estimator) if not name.startswith(("_", "set_"))}
    return sorted(names - KNOWN)


@pytest.mark.parametrize("estimator", [GAMRegressor, GAMClassifier])
def test_an_estimator_has_few_bases_and_names(estimator):
    bases = [base for base in estimator.__mro__[1:] if base.__module__.startswith("gamcore")]
    assert len(bases) <= MOST_BASES
    assert len(names_beyond_sklearn(estimator)) <= MOST_NAMES, names_beyond_sklearn(estimator)


def test_methods_of_before_still_answer():
    """Scripts of 0.1 go on; what never was there is not."""
    X = np.arange(200.0)[:, None] % 7
    model = GAMRegressor(outer_bags=2, max_rounds=10, random_state=0, n_jobs=1).fit(X, X[:, 0])
    model.add_bands(X, X[:, 0], n_refits=10)
    assert model.model_.n_halves == 10
    assert {*METHODS.values()} <= {getattr(gamcore, name) for name in gamcore.__all__ if name[0].islower()}
    assert model.loss == loss_of(model)
    assert model.single is model.model_
    assert model.read_target([1, 2]).tolist() == [1.0, 2.0]
    assert to_bytes(model.to_saved(a=1)) == to_bytes(to_saved(model, a=1))
    assert not hasattr(model, "nothing_such")
