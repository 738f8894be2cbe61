"""A Tweedie power that the fit chooses: it is that of the data, and the model is that with the power given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from gamcore import GAMRegressor, load_model, pair_ranking
from gamcore.boosting.fit.chosen_power import choose_power
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.rows.source import Encoded
from gamcore.boosting.running.progress import Watcher
from gamcore.data.binning import bin_table
from gamcore.data.table import Table, learn_features
from tests.support.fits import tweedie

QUICK = {"outer_bags": 2, "max_rounds": 60, "random_state": 0}


def amounts(power, phi=1.0, n=10_000, seed=0):
    """Make features, the mean of an amount with zeros, and the amount."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 4)), columns=list("abcd"))
    mean = np.exp(0.7 * np.sin(3 * X["a"]) + 0.5 * (X["b"] > 0) + 0.5 * X["c"]).to_numpy()
    return X, mean, tweedie(mean, phi, power, rng)


def chosen(X, y, weight=None, log_exposure=None):
    """Choose the power of some rows with exposures."""
    model, table = GAMRegressor(objective="tweedie", **QUICK), Table.of(X)
    binned = bin_table(table, learn_features(table, "infer", False), weight, 256)
    data = Encoded(binned, y, weight=weight, loss=model.loss, log_exposure=log_exposure)
    return choose_power(data, model._plan(data, list(X)), Seeds.of(0), Watcher())


@pytest.mark.parametrize(("power", "phi"), [(1.2, 1.0), (1.5, 4.0), (1.8, 1.5)])
def test_the_power_of_the_data_is_found(power, phi):
    X, _, y = amounts(power, phi)
    model = GAMRegressor(objective="tweedie", power="auto", **QUICK).fit(X, y)
    assert model.power_ == pytest.approx(power, abs=0.05)
    assert model.model_.loss.power == model.loss.power == model.power_
    assert model.get_params()["power"] == "auto"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("settings", [{}, {"interactions": 1, "bands": 10}, {"ensemble": "bagging", "n_bags": 8}])
def test_the_model_is_that_with_the_power_given(settings):
    X, _, y = amounts(1.3, n=1_000)
    auto = GAMRegressor(objective="tweedie", power="auto", **QUICK, **settings).fit(X, y)
    given = GAMRegressor(objective="tweedie", power=auto.power_, **QUICK, **settings).fit(X, y)
    assert given.power_ == auto.power_ != 1.5
    np.testing.assert_array_equal(auto.predict(X), given.predict(X))
    if "bands" in settings:
        np.testing.assert_array_equal(auto.explain_shape("a").lower, given.explain_shape("a").lower)


def test_fitting_again_forgets_the_power():
    X, _, y = amounts(1.3, n=1_000)
    Z, _, other = amounts(1.8, n=1_000)
    model = GAMRegressor(objective="tweedie", power="auto", **QUICK).fit(X, y)
    again, fresh = clone(model).fit(Z, other), model.fit(Z, other)
    assert again.power_ == fresh.power_
    assert not hasattr(model.set_params(objective="poisson").fit(X, y), "power_")


def test_weights_and_exposures_are_heard():
    X, mean, y = amounts(1.4)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 2.0, y.size)
    assert chosen(X, y, weight=weight) == pytest.approx(1.4, abs=0.05)
    log_exposure = np.log(rng.uniform(0.05, 1.0, y.size))
    shorter = tweedie(np.exp(log_exposure) * mean, 1.0, 1.4, rng)
    assert chosen(X, shorter, log_exposure=log_exposure) == pytest.approx(1.4, abs=0.05)


def test_a_file_keeps_the_power(tmp_path):
    X, _, y = amounts(1.7, n=1_000)
    for power in ("auto", 1.25):
        model = GAMRegressor(objective="tweedie", power=power, **QUICK).fit(X, y)
        model.save(tmp_path / "model.gamx")
        again = load_model(tmp_path / "model.gamx")
        assert again.power_ == model.power_
        assert again.get_params()["power"] == power
        assert again.loss == model.loss
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert len(pair_ranking(again, X, y)) == 6


def test_a_stop_is_heard_while_the_power_is_chosen():
    X, _, y = amounts(1.5, n=1_000)
    heard = []
    model = GAMRegressor(objective="tweedie", power="auto", callback=lambda now: heard.append(now) or True, **QUICK)
    model.fit(X, y)
    assert model.n_rounds_ < 60
    assert [now.part for now in heard] == [0]
    assert 1.05 <= model.power_ <= 1.95


def test_powers_out_of_range_and_other_words_are_refused():
    X, _, y = amounts(1.5, n=100)
    for bad in (1.0, 2.0, "best", None, True):
        with pytest.raises(InvalidParameterError, match="power"):
            GAMRegressor(objective="tweedie", power=bad).fit(X, y)
