"""Settings are declared once: constructors, validation, forms, tuning and docs agree on them."""

from __future__ import annotations

import inspect

import pytest
from sklearn.utils._param_validation import InvalidParameterError

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor
from gamcore.estimators.__main__ import page
from gamcore.estimators.base import check_parameters
from gamcore.estimators.parameters import abouts, constraints, defaults, inputs, searched
from gamcore.estimators.presets import PRESETS, TASK_PRESETS
from tests.support.places import ROOT

ALL = [GAMRegressor, GAMClassifier, MultiTaskTreesRegressor, MultiTaskTreesClassifier]


@pytest.mark.parametrize("estimator", ALL)
def test_a_constructor_has_what_is_declared(estimator):
    made = estimator()
    assert made.get_params() == defaults(estimator)
    assert set(inspect.signature(estimator).parameters) == set(constraints(estimator)) == set(abouts(estimator))
    check_parameters(made)
    with pytest.raises(TypeError):
        estimator("subagging")  # by name alone: nobody knows which comes first


@pytest.mark.parametrize("estimator", ALL)
def test_docstrings_have_every_setting(estimator):
    text = inspect.getdoc(estimator)
    assert "{parameters}" not in text
    for name, about in abouts(estimator).items():
        assert f"\n{name} : " in text
        assert about.meaning.split()[0] in text


@pytest.mark.parametrize("estimator", ALL)
def test_what_a_form_offers_and_tuning_tries_is_valid(estimator):
    for name, form in inputs(estimator).items():
        for value in (form.low, form.high):
            check_parameters(estimator(**{name: value}))
        assert form.label
        assert form.hint.endswith(".")
    for name, values in searched(estimator).items():
        for value in values:
            check_parameters(estimator(**{name: value}))
    for changes in (PRESETS if estimator in ALL[:2] else TASK_PRESETS).values():
        check_parameters(estimator(**changes))
        for name, form in inputs(estimator).items():
            value = changes.get(name)
            assert value is None or form.low <= value <= form.high, name


@pytest.mark.parametrize("estimator", ALL)
def test_what_is_beyond_the_range_is_refused(estimator):
    for name in ("learning_rate", "outer_bags", "max_bins", "validation_fraction"):
        with pytest.raises(InvalidParameterError, match=name):
            check_parameters(estimator(**{name: -1}))


def test_the_page_is_what_the_declarations_say():
    assert (ROOT / "docs" / "api" / "parameters.md").read_text(encoding="utf-8") == page() + "\n"
