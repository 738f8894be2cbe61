"""Pairs of two smooth curves: their step against dense algebra, no steps in predictions, the same in exports."""

from __future__ import annotations

import json
import sqlite3
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gamcore import GAMClassifier, GAMRegressor, ModelFileError, load_model
from gamcore.boosting.pairs.smooth import MOST_KNOTS, axis_functions, most_knots, pair_of_axes
from gamcore.explain.plots.surfaces import slices
from gamcore.io import from_json, gamx, to_json, to_python, to_sql
from gamcore.kernels.layout import Settings, make_fit
from gamcore.kernels.losses import SQUARED
from gamcore.kernels.pair_grid import N_CELLS, SIDE
from gamcore.kernels.smooth_pairs import SHRUNKEN, prepare_pair, smooth_pair_step
from gamcore.model.knots import between_knots, functions_by_code, knots_of
from gamcore.stats.splines import spread
from tests.support import naive
from tests.support.elsewhere import loaded
from tests.support.gears import mostly_slow

QUICK = {"outer_bags": 2, "n_jobs": 1, "random_state": 0}
PAIR = [("a", "b")]


def truth(X):
    return np.sin(X["a"]) * X["b"]


def table(n, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.uniform(-2, 2, n) for name in "abc"})
    y = truth(X) + 0.5 * X["a"] + rng.normal(scale=0.4, size=n)
    X.loc[rng.random(n) < missing, "a"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def model():
    return GAMRegressor(shapes="smooth", interactions=PAIR, bands=10, **QUICK).fit(*table(1200, 0, missing=0.05))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("sizes", "bend"), [((30, 9), 1.0), ((3, 62), 0.01)])
def test_a_step_is_that_of_dense_algebra(sizes, bend):
    rng = np.random.default_rng(sum(sizes))
    axes = [axis_functions(np.sort(rng.lognormal(size=size)), rng.uniform(0, 9, size + 1), 40) for size in sizes]
    smooth = pair_of_axes(axes)
    sums = np.zeros((2, SIDE, SIDE))
    inside = tuple(slice(0, size + 1) for size in sizes)
    sums[1][inside] = rng.poisson(2.0, [size + 1 for size in sizes])
    sums[0] = rng.normal(size=(SIDE, SIDE)) * sums[1]
    smooth.sums[:] = sums.transpose(0, *1 + smooth.order)
    fit = make_fit(1, 0.0, np.float64, N_CELLS)
    settings = Settings(SQUARED, False, 1.0, 2, 1.0, np.inf, 1)
    prepare_pair(bend, smooth)
    smooth_pair_step(0, smooth, fit, settings)
    known = [spread(axis.basis, axis.first, len(axis.penalty)) for axis in axes]
    cells = sums[:, inside[0], inside[1]]
    costs = [axis.penalty for axis in axes], [axis.products for axis in axes]
    expected = naive.smooth_pair(cells, known, *costs, bend=bend, shrunken=SHRUNKEN)
    moved = fit.moved[0].reshape(SIDE, SIDE)
    np.testing.assert_allclose(moved[inside], expected, atol=1e-6)
    np.testing.assert_array_equal(fit.factor.reshape(SIDE, SIDE), moved)
    assert fit.gains[0] == pytest.approx(float((2 * cells[0] * expected - cells[1] * expected**2).sum()))


def test_a_product_of_two_lines_costs_only_its_size():
    """So that a step on it has the same shape, however much bends cost."""
    positions = np.sort(np.random.default_rng(1).normal(size=40))
    smooth = pair_of_axes([axis_functions(positions, np.append(0.0, np.ones(40)), 40)] * 2)
    plane = np.outer(2 - positions, 1 + 3 * positions)
    smooth.sums[0, 1:41, 1:41], smooth.sums[1, 1:41, 1:41] = plane, 1.0
    fit = make_fit(1, 0.0, np.float64, N_CELLS)
    prepare_pair(100.0, smooth)
    smooth_pair_step(0, smooth, fit, Settings(SQUARED, False, 1.0, 2, 1.0, np.inf, 1))
    moved = fit.moved[0].reshape(SIDE, SIDE)[1:41, 1:41]
    np.testing.assert_allclose(moved, plane / (1 + SHRUNKEN), atol=1e-4)


@pytest.mark.slow
def test_a_surface_has_no_steps():
    """From one bin to the next a score changes by no more than a slope times their distance, and so does a curve."""
    X, y = table(4000, 6)
    fitted = GAMRegressor(shapes="smooth", interactions=PAIR, outer_bags=1, random_state=0).fit(X, y).model_
    pair = fitted.pairs[0]
    for side, j in enumerate(pair.features):
        distance = np.diff(fitted.bins[j].display)
        for scores in (np.moveaxis(pair.scores, side, 0)[1:-1, 1:-1], fitted.terms[j].scores[1:-1, None]):
            slopes = np.abs(np.diff(scores, axis=0)).max(axis=1) / distance
            assert slopes.max() < 4.0  # the truth has up to 2


@pytest.mark.slow
def test_a_smooth_interaction_is_learnt_better_than_by_steps(monkeypatch):
    X, y = table(3000, 1)
    new = table(3000, 2)[0]
    smooth = GAMRegressor(shapes="smooth", interactions=PAIR, **QUICK).fit(X, y)
    monkeypatch.setattr("gamcore.boosting.pairs.smooth.are_smooth", lambda *_: False)
    monkeypatch.setattr("gamcore.model.additive.are_smooth", lambda *_: False)
    steps = GAMRegressor(shapes="smooth", interactions=PAIR, **QUICK).fit(X, y)
    errors = [np.sqrt(np.mean((one.predict(new) - truth(new) - 0.5 * new["a"]) ** 2)) for one in (smooth, steps)]
    assert errors[0] < 0.9 * errors[1]


def test_where_curves_are_all_there_is_the_surface_is_nearly_flat():
    X, _ = table(1500, 3)
    y = np.sin(X["a"]) + X["b"] ** 2 + np.random.default_rng(3).normal(scale=0.4, size=1500)
    fitted = GAMRegressor(shapes="smooth", interactions=PAIR, **QUICK).fit(X, y)
    assert fitted.model_.pairs[0].importance < 0.03


def test_a_surface_holds_no_curve_and_purifying_changes_no_prediction(model):
    pair, terms, bins = model.model_.pairs[0], model.model_.terms, model.model_.bins
    assert pair.is_smooth
    assert pair.pure
    for side, j in enumerate(pair.features):
        counts = terms[j].counts
        rows = (np.moveaxis(pair.scores * pair.counts, side, 0)).sum(axis=1)
        for most in (4, 6):  # as many as it is read in bins; fewer are not among them, but nearly
            functions = functions_by_code(bins[j].display, counts, most)
            assert np.abs(rows @ functions).max() < (1e-8 if most == 6 else 0.02) * pair.counts.sum()
    X, y = table(1200, 0, missing=0.05)
    whole = GAMRegressor(shapes="smooth", interactions=PAIR, purify=False, **QUICK).fit(X, y)
    assert not whole.model_.pairs[0].pure
    np.testing.assert_allclose(whole.predict(X), model.predict(X), atol=1e-9)


def test_bands_are_of_smooth_surfaces(model):
    half = model.model_.halves.pairs[0]
    assert half.is_smooth
    assert half.pure
    surface = model.explain_pair("a", "b")
    seen, (first, second) = surface.counts >= 20, (axis.display for axis in surface.axes)
    assert stats.pearsonr(surface.scores[seen], np.outer(np.sin(first), second)[seen])[0] > 0.95
    assert (surface.lower < surface.scores)[seen].all()
    line = slices(surface, [0, 2], "y", "d").panels[0][0].marks[0]
    assert line.values.size >= 150
    assert np.nanmax(np.abs(np.diff(line.values))) < 0.1


def test_a_model_is_the_same_in_files_sql_python_and_json(model, tmp_path):
    X = table(200, 9, missing=0.05)[0]
    X.loc[0] = [9.0, -9.0, np.nan]
    expected = model.predict(X)
    model.save(tmp_path / "model.gamx")
    opened = load_model(tmp_path / "model.gamx")
    np.testing.assert_array_equal(opened.predict(X), expected)
    np.testing.assert_array_equal(opened.model_.halves.pairs[0].scores, model.model_.halves.pairs[0].scores)
    np.testing.assert_allclose(from_json(to_json(model)).predict(X), expected, atol=1e-9)
    written = loaded(to_python(model))["predict"]
    np.testing.assert_allclose([written(row) for row in X.to_dict("records")], expected, atol=1e-9)
    with sqlite3.connect(":memory:") as base:
        X.to_sql("t", base, index=False)
        scored = pd.read_sql_query(to_sql(model, "t"), base)
    np.testing.assert_allclose(scored["prediction"], expected, atol=1e-9)


@pytest.mark.parametrize("damage", [{"smooth": [1]}, {"smooth": [0.5]}, {"smooth": []}])
def test_damaged_smooth_pairs_are_refused(model, tmp_path, damage):
    model.save(tmp_path / "whole.gamx")
    path = tmp_path / "damaged.gamx"
    with zipfile.ZipFile(tmp_path / "whole.gamx") as whole, zipfile.ZipFile(path, "w") as changed:
        manifest = json.loads(whole.read("manifest.json"))
        assert "smooth" in manifest["required"]
        changed.writestr("manifest.json", json.dumps(manifest | damage))
        for member in whole.namelist()[1:]:
            changed.writestr(member, whole.read(member))
    with pytest.raises(ModelFileError):
        gamx.load(path)


@pytest.mark.parametrize(("shapes", "monotone"), mostly_slow([({"a": "smooth"}, None), ("smooth", {"a": 1})], 1))
def test_a_pair_with_steps_or_a_sign_has_steps(shapes, monotone):
    X, y = table(600, 4)
    fitted = GAMRegressor(shapes=shapes, monotone=monotone, interactions=[("a", "b"), ("b", "c")], **QUICK).fit(X, y)
    first, second = fitted.model_.pairs
    assert not first.is_smooth
    assert not first.pure
    assert second.is_smooth == second.pure == (monotone is not None)


def test_two_classes_and_counts_have_smooth_surfaces():
    X, _ = table(1500, 5)
    score, rng, settings = truth(X), np.random.default_rng(55), QUICK | {"shapes": "smooth", "interactions": PAIR}
    chance = GAMClassifier(**settings).fit(X, rng.random(1500) < 1 / (1 + np.exp(-3 * score)))
    number = GAMRegressor(objective="poisson", **settings).fit(X, rng.poisson(np.exp(score)))
    for fitted in (chance, number):
        pair = fitted.model_.pairs[0]
        assert pair.is_smooth
        first, second = (fitted.model_.bins[j].display for j in pair.features)
        plane = np.outer(np.sin(first), second)
        assert stats.pearsonr(pair.scores[1:-1, 1:-1].ravel(), plane.ravel())[0] > 0.9


def test_codes_lie_between_the_means_of_merged_bins():
    positions, counts = np.array([1.0, 2.0, 4.0, 8.0]), np.array([7.0, 1.0, 1.0, 3.0, 1.0, 0.0])
    knots = knots_of(np.array([0, 1, 1, 2, 2, 0]), positions, counts)
    np.testing.assert_allclose(knots, [1.5, 5.0])
    np.testing.assert_allclose(between_knots(knots, positions), [0, 1, 1 + 0.5 / 3.5, 1 + 2.5 / 3.5, 2, 0])


def test_knots_are_as_many_as_rows_can_tell_apart():
    knots = [most_knots(n_rows) for n_rows in (0, 100, 2_000, 8_000, 10**6)]
    assert knots == [4, 4, 20, 40, MOST_KNOTS]
    positions = np.arange(60.0)
    few, many = (axis_functions(positions, np.ones(61), most) for most in (4, 20))
    assert len(few.penalty) < len(many.penalty)
