"""Which features enter in greedy order: those with an effect, and by chance hardly any other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

from gamcore import GAMClassifier, GAMRegressor, TableError, load_model
from gamcore.boosting.features.entry import FEWEST_ROWS, LEVEL, _normal, _splits, _Test, enter
from gamcore.boosting.fit.model import Seeds
from gamcore.estimators.additive import bin_rows
from gamcore.estimators.base import read_rows, read_table
from gamcore.kernels.entry_sums import sum_gradients
from tests.support.fits import ten_of


def entered(model):
    return model.entries_.loc[model.entries_["entered"] > 0, "feature"].tolist()


def chosen_of(X, y, model):
    """Return the places of the features that enter, without the fit that follows."""
    table = read_table(model, X, reset=True)
    rows = read_rows(model, table, y, None, None)
    data = model._encoded(rows, bin_rows(model, rows, 256, 256), None)
    plan = model._plan(data, list(X.columns))
    problem = data.problem(data.deal(32, Seeds.of(0).groups))
    return enter(problem, plan.parameters, seed=0)


def test_sums_of_gradients_are_those_of_numpy():
    rng = np.random.default_rng(0)
    code, gradient = rng.integers(0, 9, 500).astype(np.uint8), rng.normal(size=500)
    sums = np.zeros((9, 2))
    sum_gradients(code, gradient, sums)
    np.testing.assert_allclose(sums[:, 0], np.bincount(code, gradient, 9))
    np.testing.assert_allclose(sums[:, 1], np.bincount(code, gradient**2, 9))


def test_the_surprise_of_a_sum_of_squares_is_as_rare_as_the_sum():
    for freedom in (1, 3, 31):
        for chance in (0.2, 1e-2, 1e-4):
            assert norm.sf(_normal(chi2.isf(chance, freedom), freedom)) == pytest.approx(chance, rel=0.65)


def test_cells_have_rows_enough_and_are_as_even_as_values_allow():
    rows = np.array([30, *np.random.default_rng(0).integers(1, 40, 60)])
    assert len(_splits(rows)) == 4
    for cell in _splits(rows):
        assert (np.bincount(cell, rows) >= FEWEST_ROWS).all()
        assert (np.diff(cell[1:]) >= 0).all()
        assert cell[0] == cell.max()  # missing values are for themselves


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [False, True])
def test_a_feature_without_effect_has_a_fair_chance(heavy):
    """Whatever the spread of the rows: gradients that grow with another feature, and some rows of great weight."""
    rng = np.random.default_rng(1)
    rare = 0
    for _ in range(1500):
        code = rng.integers(1, 33, 800)
        gradient = rng.normal(size=800) * (rng.lognormal(0, 1, 800) if heavy else 1.0)
        test = _Test(_splits(np.bincount(code, minlength=33)))
        _, chance = test.of_sums(np.bincount(code, gradient, 33), np.bincount(code, gradient**2, 33))
        rare += chance < LEVEL
    assert 0.005 < rare / 1500 < 0.065


@pytest.mark.slow
@pytest.mark.parametrize("together", [0.0, 0.5])
def test_ten_of_a_hundred_are_found_and_hardly_any_other(together):
    runs, right = 20, 0
    for seed in range(runs):
        X, effect, rng = ten_of(100, 2000, seed, together)
        places = set(chosen_of(X, effect + rng.normal(size=2000), GAMRegressor(order="greedy")).chosen.tolist())
        right += set(range(10)) <= places and len(places) <= 11
    assert right >= 0.9 * runs


def test_where_nothing_has_an_effect_nothing_enters():
    rng = np.random.default_rng(3)
    y = rng.normal(size=600)
    X = pd.DataFrame(rng.normal(size=(600, 30))).add_prefix("x")
    model = GAMRegressor(order="greedy", outer_bags=2, random_state=0).fit(X, y)
    assert entered(model) == []
    assert np.ptp(model.predict(X)) == 0


@pytest.mark.slow
def test_only_those_that_entered_have_curves_bands_and_pairs(tmp_path):
    X, effect, rng = ten_of(30, 1500, 5)
    y = effect + 8 * (X["x0"] - 0.5) * (X["x1"] - 0.5) + 0.5 * rng.normal(size=1500)
    model = GAMRegressor(order="greedy", outer_bags=2, bands=10, interactions=2, random_state=0).fit(X, y)
    inside = entered(model)
    assert {f"x{j}" for j in range(10)} <= set(inside)
    places = [int(name[1:]) for name in inside]
    for term in (*model.model_.terms, *model.model_.halves.terms):
        assert bool(np.any(term.scores)) == (term.feature in places)
    assert {j for pair in model.model_.pairs for j in pair.features} <= set(places)
    assert (0, 1) in [pair.features for pair in model.model_.pairs]
    model.save(tmp_path / "few.gamx")
    again = load_model(tmp_path / "few.gamx")
    pd.testing.assert_frame_equal(again.entries_, model.entries_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "entries_" not in vars(model.set_params(order="cyclic", bands=0).fit(X, y))


@pytest.mark.slow
def test_a_listed_pair_gives_no_main_effect_to_the_bands_of_a_feature_outside():
    X, effect, rng = ten_of(12, 1500, 5)
    y = effect + 0.5 * rng.normal(size=1500)
    settings = {"order": "greedy", "outer_bags": 2, "bands": 10, "random_state": 0, "purify": False}
    model = GAMRegressor(**settings, interactions=[("x0", "x11")]).fit(X, y)
    assert "x11" not in entered(model)
    assert not np.any(model.model_.halves.terms[11].refits)


@pytest.mark.slow
def test_classes_counts_levels_and_missing_cells_may_enter():
    rng = np.random.default_rng(6)
    n = 3000
    X = pd.DataFrame({
        "level": rng.choice(list("abcdef"), n), "gone": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "noise": rng.normal(size=n), "levels of noise": rng.choice(list("uvwxyz"), n), "same": 1.0,
    })  # fmt: skip
    score = X["level"].map(dict(zip("abcdef", np.linspace(-1, 1, 6), strict=True))) + 0.8 * X["gone"].isna()
    two = GAMClassifier(order="greedy", outer_bags=2, random_state=0).fit(X, rng.random(n) < 1 / (1 + np.exp(-score)))
    many = GAMRegressor(order="greedy", objective="poisson", outer_bags=2, random_state=0)
    many.fit(X, rng.poisson(np.exp(score)), exposure=rng.uniform(0.5, 1.5, n))
    assert set(entered(two)) == {"level", "gone"}
    assert "level" in entered(many)
    assert not {"noise", "levels of noise", "same"} & set(entered(many))


@pytest.mark.slow
def test_a_straight_line_is_tested_by_its_slope():
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"line": rng.normal(size=400), "bowl": rng.normal(size=400)})
    y = 0.25 * X["line"] + (X["bowl"] ** 2 - 1) + 0.5 * rng.normal(size=400)
    model = GAMRegressor(order="greedy", shapes="linear", outer_bags=1, random_state=0).fit(X, y)
    assert entered(model) == ["line"]  # a line cannot have what the bowl has to say


@pytest.mark.slow
def test_the_choice_tells_how_far_it_is_and_can_be_stopped():
    X, effect, rng = ten_of(20, 1000, 8)
    y, heard = effect + rng.normal(size=1000), []

    def callback(progress):
        heard.append((progress.stage, progress.round, progress.max_rounds))
        return progress.stage == "choosing features" and progress.round == 3

    model = GAMRegressor(order="greedy", outer_bags=1, random_state=0, callback=callback).fit(X, y)
    assert heard[:3] == [("choosing features", k, 20) for k in (1, 2, 3)]
    assert len(entered(model)) == 3
    assert not any(of == ("choosing features", 4, 20) for of in heard)


@pytest.mark.parametrize(("settings", "said"), [
    ({"joint": True, "interactions": 1}, "joint=False"), ({"ensemble": "subagging"}, 'ensemble="grouped"'),
    ({"keep_tables": True}, "keep_tables=False"),
])  # fmt: skip
def test_what_cannot_be_had_is_refused_in_words(settings, said):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2))).add_prefix("x")
    with pytest.raises(TableError, match=said):
        GAMRegressor(order="greedy", **settings).fit(X, X["x0"])
    with pytest.raises(TableError, match="one score per row"):
        GAMClassifier(order="greedy").fit(X, np.arange(50) % 3)
