"""Effects from an experiment: what moves them is found, what moves the outcome alike in both arms is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import EffectGAM, TableError, load_model
from gamcore.estimators.effect import arms_apart

CALM = {"random_state": 0, "n_jobs": 1}


def experiment(n=6000, share=0.5, seed=0, moved=1.0):
    """An experiment whose effect depends on two features, and whose outcome depends much more on a third."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "plan": rng.choice(["p", "q", "r"], n), "base": rng.normal(size=n)})
    treated = (rng.random(n) < share).astype(int)
    effect = moved * (1.0 + np.tanh(2 * X["a"]) + X["plan"].map({"p": 0.0, "q": 0.8, "r": -0.8})).to_numpy()
    return X, 3 * np.sin(X["base"]) + treated * effect + rng.normal(size=n), treated, effect


def test_curves_are_effects_in_units_of_the_outcome():
    X, y, treated, effect = experiment()
    model = EffectGAM(**CALM).fit(X, y, treated)
    assert np.corrcoef(model.predict(X), effect)[0, 1] > 0.97
    assert model.predict(X).mean() == pytest.approx(effect.mean(), abs=0.1)
    assert model.average_effect_ == pytest.approx(y[treated == 1].mean() - y[treated == 0].mean(), abs=0.1)
    plan = model.explain_shape("plan").frame().set_index("level")["score"]
    assert plan["q"] - plan["r"] == pytest.approx(1.6, abs=0.3)


@pytest.mark.slow
def test_what_moves_the_outcome_in_both_arms_moves_no_effect():
    X, y, treated, _ = experiment(moved=0.0)
    model = EffectGAM(**CALM, order="greedy").fit(X, y, treated)
    assert (model.entries_["entered"] == 0).all()
    assert np.ptp(model.predict(X)) < 1e-12
    moved = EffectGAM(**CALM, order="greedy").fit(*experiment()[:3])
    assert set(moved.entries_.loc[moved.entries_["entered"] > 0, "feature"]) == {"a", "plan"}


def test_an_outcome_of_zeros_and_ones_has_effects_in_shares():
    X, _, treated, _ = experiment()
    rng = np.random.default_rng(1)
    effect = 0.2 * (X["a"] > 0)
    y = rng.random(len(X)) < 0.3 + treated * effect
    model = EffectGAM(**CALM).fit(X, y, treated)
    assert model.predict(X)[X["a"] > 0.5].mean() == pytest.approx(0.2, abs=0.04)
    assert abs(model.predict(X)[X["a"] < -0.5].mean()) < 0.04
    assert ((model.expected_ > 0) & (model.expected_ < 1)).all()


def test_shares_that_differ_between_strata_do_not_bias_the_effect():
    rng = np.random.default_rng(0)
    n = 8000
    X = pd.DataFrame({"stratum": rng.choice(["few", "many"], n), "a": rng.normal(size=n)})
    share = np.where(X["stratum"] == "many", 0.8, 0.2)
    treated = rng.random(n) < share
    y = 5.0 * (X["stratum"] == "many") + 1.0 * treated + rng.normal(size=n)
    model = EffectGAM(**CALM).fit(X, y, treated, propensity=share)
    assert model.average_effect_ == pytest.approx(1.0, abs=0.08)
    assert model.predict(X) == pytest.approx(np.ones(n), abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_average_effect_is_over_the_rows_whatever_was_to_be_treated_where(seed):
    """Strata that differ in effect, planned share and weight: none counts more because half of it was treated."""
    rng = np.random.default_rng(seed)
    n = 6000
    stratum = rng.integers(0, 3, n)
    X = pd.DataFrame({"stratum": stratum.astype(str), "a": rng.normal(size=n)})
    share, effect = rng.permutation([0.05, 0.5, 0.8])[stratum], rng.normal(0, 2, 3)[stratum]
    treated = rng.random(n) < share
    y = X["a"] + treated * effect + 0.5 * rng.normal(size=n)
    weight = rng.choice([0.0, 1.0, 3.0], n)
    for given in (None, weight):
        model = EffectGAM(**CALM, outer_bags=2).fit(X, y, treated, propensity=share, sample_weight=given)
        error = np.sqrt(np.square((y - model.expected_) / (share * (1 - share)) * (treated - share)).mean() / n)
        assert model.average_effect_ == pytest.approx(np.average(effect, weights=given), abs=5 * error)
        assert model.average_effect_ == pytest.approx(np.average(model.predict(X), weights=given), abs=0.15)
        overlap = np.average(effect, weights=share * (1 - share) * (1.0 if given is None else given))
        assert abs(model.average_effect_ - overlap) > 0.1  # what it was: the mean where arms overlap


@pytest.mark.slow
def test_the_expected_outcome_is_by_models_that_did_not_see_the_row_or_its_group():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(300), 10)
    X = pd.DataFrame({"key": rng.permutation(300)[who].astype(float)})
    y = rng.normal(size=300)[who]  # known from the group alone
    treated = rng.integers(0, 2, who.size)
    alone = EffectGAM(**CALM).fit(X, y, treated).expected_
    together = EffectGAM(**CALM).fit(X, y, treated, groups=who).expected_
    assert np.corrcoef(alone, y)[0, 1] > 0.6
    assert abs(np.corrcoef(together, y)[0, 1]) < 0.3


def test_rows_without_weight_count_for_nothing():
    X, y, treated, _ = experiment(3000)
    odd = np.arange(3000) % 3 == 0
    spoilt = np.where(odd, 1e4, y)
    model = EffectGAM(**CALM).fit(X, spoilt, treated, propensity=0.5, sample_weight=(~odd).astype(float))
    assert abs(model.average_effect_ - 1.0) < 0.2
    assert np.abs(model.predict(X)).max() < 10


def test_arms_are_shared_among_the_rows_that_have_a_weight():
    """Three of four rows of the control are left out: what is left of it stands for a fifth."""
    X, _, treated, _ = experiment(400)
    weight = np.where((treated == 0) & (np.arange(400) % 4 > 0), 0.0, 1.0)
    model = EffectGAM(**CALM, outer_bags=1, max_rounds=5).fit(X, 1e3 * treated + X["a"] / 1e3, treated, None, weight)
    assert model.average_effect_ == pytest.approx(1e3, rel=0.1)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_few_rows_and_two_groups_are_an_experiment(n):
    X, y, _, _ = experiment(n)
    treated = np.arange(n) % 2
    few = EffectGAM(**CALM, outer_bags=1, max_rounds=5)
    assert np.isfinite(few.fit(X, y, treated).average_effect_)
    assert np.isfinite(few.fit(X, y, treated, groups=treated).predict(X)).all()


@pytest.mark.slow
def test_the_r_loss_has_no_unit():
    X, y, treated, _ = experiment(400)
    model = EffectGAM(**CALM, outer_bags=1, max_rounds=20).fit(X, y, treated)
    expected = model.score(X, y, treated)
    for unit in (1e-138, 1e-30, 1e149):
        scaled = EffectGAM(**CALM, outer_bags=1, max_rounds=20).fit(X, unit * y, treated)
        assert scaled.score(X, unit * y, treated) == pytest.approx(expected, abs=1e-6)


def test_a_saved_effect_predicts_the_same(tmp_path):
    X, y, treated, _ = experiment(2000)
    model = EffectGAM(**CALM, bands=10).fit(X, y, treated)
    model.save(tmp_path / "effect.gamx")
    again = load_model(tmp_path / "effect.gamx")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.average_effect_ == model.average_effect_
    assert again.score(X, y, treated) == model.score(X, y, treated)
    with pytest.raises(TableError, match="rated by the arms"):
        again.score(X, y)
    assert model.explain_shape("a").whole is not None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"treatment": lambda t: t[:-1]}, "2000 rows and treatment 1999: give one arm per row"),
        ({"treatment": lambda t: t + 1}, "treatment must be 1 or True for treated rows and 0 or False"),
        ({"treatment": lambda t: np.where(t == 1, np.nan, 0.0)}, "treatment must be 1 or True"),
        ({"treatment": np.zeros_like}, "All rows are in one arm"),
        ({"propensity": lambda t: 1.0}, "propensity must lie between 0 and 1"),
        ({"propensity": lambda t: np.full(3, 0.5)}, "propensity must be a number, or one per row: 2000"),
        ({"propensity": lambda t: "half"}, "propensity has values that are not numbers"),
        ({"propensity": lambda t: np.ma.masked_less(np.full(2000, 0.5), 1)}, "propensity has 2000 masked rows"),
        ({"sample_weight": lambda t: t}, "All rows are in one arm"),
        ({"groups": lambda t: np.zeros(2000)}, "groups has one label only"),
        ({"groups": lambda t: np.arange(3)}, "groups has 3 entries for 2000 rows"),
    ],
)
def test_what_is_no_experiment_is_refused_in_a_sentence(given, words):
    X, y, treated, _ = experiment(2000)
    arguments = {"treatment": treated} | {name: make(treated) for name, make in given.items()}
    with pytest.raises(TableError, match=words):
        EffectGAM(**CALM).fit(X, y, **arguments)


def test_only_a_difference_of_means_is_additive():
    X, y, treated, _ = experiment(500)
    with pytest.raises(TableError, match='needs objective="squared"'):
        EffectGAM(objective="poisson").fit(X, np.abs(y), treated)


def test_arms_that_were_not_drawn_at_random_are_found_out():
    X, _, treated, _ = experiment(4000)
    assert (arms_apart(X, treated, **CALM)["entered"] == 0).all()
    rng = np.random.default_rng(0)
    chosen = rng.random(4000) < 1 / (1 + np.exp(-0.5 * X["a"]))
    named = arms_apart(X, chosen, **CALM)
    assert named.loc[named["entered"] > 0, "feature"].tolist() == ["a"]
    share = np.where(X["plan"] == "p", 0.8, 0.4)
    by_plan = rng.random(4000) < share
    assert arms_apart(X, by_plan, **CALM)["entered"].max() == 1
    assert (arms_apart(X, by_plan, share, **CALM)["entered"] == 0).all()
