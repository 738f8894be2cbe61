"""Estimators fit, predict, explain and save; what goes beyond is a function that takes one."""

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from gamcore import GAMClassifier, GAMRegressor

KNOWN = {*dir(BaseEstimator), *dir(RegressorMixin), *dir(ClassifierMixin), "fit", "predict", "predict_proba",
         "decision_function"}  # fmt: skip
MOST_BASES, MOST_NAMES = 4, 45


def names_beyond_sklearn(estimator):
    """The public names of an estimator, its settings among them, that are not of scikit-learn's interface."""
    names = {name for name in dir(estimator) if not name.startswith(("_", "set_"))}
    return sorted(names - KNOWN)


@pytest.mark.parametrize("estimator", [GAMRegressor, GAMClassifier])
def test_an_estimator_has_few_bases_and_names(estimator):
    bases = [base for base in estimator.__mro__[1:] if base.__module__.startswith("gamcore")]
    assert len(bases) <= MOST_BASES
    assert len(names_beyond_sklearn(estimator)) <= MOST_NAMES, names_beyond_sklearn(estimator)
