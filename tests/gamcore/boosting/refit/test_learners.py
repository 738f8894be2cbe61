"""Smooth, cyclic, linear and shrunken curves: their step against dense algebra, and their error on known truths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor, TableError, load_model
from gamcore.boosting.calibration import credibility
from gamcore.boosting.refit.learners import Learner, make_smoothers
from gamcore.explain.plots.curves import curve as plot_of
from gamcore.kernels.layout import Settings, make_work
from gamcore.kernels.losses import SQUARED
from gamcore.kernels.smoothers import draw_smooth
from gamcore.viz.spec import Steps


def truth(X):
    return 2 * np.sin(3 * X["a"]) + X["b"] ** 2 + np.exp(X["c"] / 2) + 0.8 * X["d"]


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.uniform(-2, 2, n) for name in "abcde"})
    return X, truth(X) + rng.normal(size=n)


def settings(n_bags):
    return Settings(SQUARED, False, 1.0, 2, 1.0, np.inf, n_bags)


def dense(functions, begins, size):
    """Return the functions as a matrix (K, R)."""
    whole = np.zeros((len(functions), size))
    for k, of in enumerate(functions):
        for a, value in enumerate(of):
            whole[k, (begins[k] + a) % size] += value
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("learner", [
    Learner("smooth", tuple(np.sort(np.random.default_rng(0).lognormal(size=90)))),
    Learner("smooth", (0.0, 1.0, 5.0)),
    Learner("cyclic", tuple(range(24)), 24.0),
    Learner("cyclic", tuple(range(7)), 7.0),
    Learner("linear", (1.0, 2.0, 7.0, 9.0)),
], ids=lambda learner: f"{learner.shape}-{len(learner.positions)}")  # fmt: skip
def test_a_step_is_that_of_dense_algebra(learner):
    rng = np.random.default_rng(1)
    n = len(learner.positions)
    weight = rng.integers(0, 9, n + 1).astype(float)
    weight[1] = 3.0
    smoothers = make_smoothers([learner], [weight], 256)
    work = make_work(3, 2, np.float64)
    total, update = work.total, work.update
    total[0, : n + 1], total[1, : n + 1] = rng.normal(size=n + 1) * weight, weight
    draw_smooth(n, 0, smoothers, settings(3), work)
    size = int(smoothers.size[0])
    B, S = dense(smoothers.basis[0, 1 : n + 1], smoothers.first[0, 1 : n + 1], size), np.diag(weight[1:])
    heavy = weight[1:].sum()
    system = B.T @ S @ B + heavy * (smoothers.penalty[0, :size, :size] + 1e-9 * np.eye(size))
    expected = B @ np.linalg.solve(system, B.T @ total[0, 1 : n + 1])
    np.testing.assert_allclose(update[1 : n + 1], 3 * expected, atol=1e-7)
    assert update[0] == pytest.approx(3 * total[0, 0] / weight[0] if weight[0] else 0)
    if size > 4:
        share = B.T @ S @ B / heavy
        freedom = np.trace(np.linalg.solve(share + smoothers.penalty[0, :size, :size], share))
        assert freedom == pytest.approx(4, abs=0.05)


def test_a_line_costs_a_smooth_curve_nothing():
    positions = np.sort(np.random.default_rng(2).lognormal(size=60))
    smoothers = make_smoothers([Learner("smooth", tuple(positions))], [np.ones(61)], 256)
    work = make_work(1, 2, np.float64)
    total, update = work.total, work.update
    total[0, 1:61], total[1, 1:61] = 3 * positions - 1, 1.0
    draw_smooth(60, 0, smoothers, settings(1), work)
    np.testing.assert_allclose(update[1:61], 3 * positions - 1, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10_000])
def test_on_smooth_truths_the_error_is_at_most_seven_tenths_of_that_of_steps(n):
    errors = {None: 0.0, "smooth": 0.0}
    for seed in range(3):
        X, y = table(n, seed)
        new = table(4000, 50 + seed)[0]
        for shapes in errors:
            model = GAMRegressor(shapes=shapes, random_state=0).fit(X, y)
            errors[shapes] += float(np.mean((model.predict(new) - truth(new)) ** 2))
    assert errors["smooth"] <= 0.7 * errors[None]


@pytest.mark.slow
def test_a_linear_curve_has_the_coefficient_of_least_squares():
    inside = 0
    for seed in range(6):
        X, _ = table(1500, seed)
        y = 0.8 * X["d"] - 0.5 * X["a"] + np.random.default_rng(seed).normal(size=1500)
        model = GAMRegressor(shapes="linear", bands=20, random_state=0).fit(X, y)
        value, low, high = model.explain_shape("d").slope
        design = np.column_stack([np.ones(1500), X])
        least_squares = np.linalg.lstsq(design, y, rcond=None)[0][4]
        assert value == pytest.approx(least_squares, abs=0.03)
        inside += low <= least_squares <= high
        scores = model.explain_shape("d").scores
        steps = np.diff(scores) / np.diff(model.explain_shape("d").display)
        np.testing.assert_allclose(steps, value, rtol=1e-6)
    assert inside == 6


def test_a_cyclic_curve_meets_itself():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hour": rng.integers(0, 24, 4000), "when": pd.Timestamp("2024-01-01")})
    X["when"] += pd.to_timedelta(rng.integers(0, 730, 4000), "D")
    rain = np.cos(2 * np.pi * (X["when"].dt.month - 1) / 12)
    y = np.sin(2 * np.pi * X["hour"] / 24 + 1) + rain + 0.5 * rng.normal(size=4000)
    shapes = {"hour": "cyclic", "when (month)": "cyclic", "when": "linear"}
    model = GAMRegressor(shapes=shapes, date_parts=True, random_state=0).fit(X, y)
    for feature, n in (("hour", 24), ("when (month)", 12)):
        scores = model.explain_shape(feature).scores
        assert scores.size == n
        assert abs(scores[0] - scores[-1]) < 1.5 * np.abs(np.diff(scores)).max()
        wave = np.sin(2 * np.pi * np.arange(24) / 24 + 1) if n == 24 else np.cos(2 * np.pi * np.arange(12) / 12)
        np.testing.assert_allclose(scores, wave - wave.mean(), atol=0.15)


def test_levels_are_drawn_to_their_mean():
    """Nearer to the truth than trees, over seeds."""
    errors = {"steps": 0.0, "levels": 0.0}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"shop": rng.integers(0, 60, 1500).astype(str)})
        effects = rng.normal(size=60) * 0.3
        new = pd.DataFrame({"shop": [str(k) for k in range(60)]})
        y = effects[X["shop"].astype(int)] + rng.normal(size=1500) * 1.5
        for shape in errors:
            model = GAMRegressor(shapes={"shop": shape}, random_state=0).fit(X, y)
            errors[shape] += float(np.mean((model.predict(new) - effects) ** 2))
    assert errors["levels"] < errors["steps"]


def test_a_step_of_levels_has_four_degrees_of_freedom():
    weight = np.array([0.0, *np.random.default_rng(0).integers(1, 90, 30)])
    smoothers = make_smoothers([Learner("levels")], [weight], 256)
    work = make_work(1, 2, np.float64)
    total, update = work.total, work.update
    total[0, :31], total[1, :31] = weight, weight  # all levels at 1
    draw_smooth(30, 0, smoothers, settings(1), work)
    assert update[1:31].sum() == pytest.approx(4, abs=1e-6)  # the trace of the step
    assert (np.diff(update[1:31][np.argsort(weight[1:])]) >= 0).all()  # the fewer rows, the nearer to the mean


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie", "quantile"])
def test_every_loss_of_one_score_has_smooth_curves(objective, monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, 3000), "b": rng.normal(size=3000)})
    mean = np.exp(np.sin(X["a"]))
    y = {"poisson": rng.poisson(mean), "gamma": rng.gamma(2, mean / 2), "quantile": mean + rng.normal(size=3000),
         "tweedie": rng.gamma(2, mean / 2) * (rng.random(3000) < 0.6)}[objective]  # fmt: skip
    model = GAMRegressor(objective=objective, shapes="smooth", random_state=0).fit(X, y)
    curve = model.explain_shape("a")
    bends = np.abs(np.diff(curve.scores, 2)).max()
    monkeypatch.setattr(credibility, "PRIOR_EVENTS", 1e-9)  # steps as they are boosted
    free = GAMRegressor(objective=objective, random_state=0).fit(X, y).explain_shape("a")
    assert bends < 0.5 * np.abs(np.diff(free.scores, 2)).max()
    wave = np.sin(curve.display)
    assert np.corrcoef(curve.scores, np.exp(wave) if objective == "quantile" else wave)[0, 1] > 0.97


def test_a_classifier_keeps_shapes_in_its_file_and_draws_lines(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 30, 3000), "c": rng.choice(list("xyz"), 3000)})
    X.loc[::7, "a"] = np.nan
    y = rng.random(3000) < 1 / (1 + np.exp(-np.sin(X["a"].fillna(0) / 5) - (X["c"] == "x")))
    model = GAMClassifier(shapes="smooth", interactions=1, bands=10, random_state=0).fit(X, y)
    model.save(tmp_path / "m.gamx")
    again = load_model(tmp_path / "m.gamx")
    assert again.model_.shapes == model.model_.shapes == ("smooth", "levels")
    assert again.shapes == "smooth"
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    steps = next(mark for mark in plot_of(again.explain_shape("a"), "y", "d").main.marks if isinstance(mark, Steps))
    assert np.abs(np.diff(steps.values)).max() < 0.5 * np.abs(np.diff(again.explain_shape("a").scores)).max()
    assert GAMClassifier(random_state=0).fit(X, y).model_.shapes == ()


def test_a_smooth_curve_may_be_monotone():
    X, y = table(2000, 0)
    model = GAMRegressor(shapes="smooth", monotone={"a": 1}, random_state=0).fit(X, y)
    assert (np.diff(model.explain_shape("a").scores) >= -1e-12).all()


@pytest.mark.parametrize(("settings", "said"), [
    ({"shapes": {"q": "smooth"}}, "shapes names 'q', which is no feature"),
    ({"shapes": {"a": "wavy"}}, "choose one of steps, smooth, cyclic, linear, levels"),
    ({"shapes": {"c": "smooth"}}, "levels have no distance"),
    ({"shapes": {"a": "levels"}}, "has numbers, not levels"),
    ({"shapes": "smooth", "joint": True, "interactions": 1}, "joint=False"),
    ({"shapes": "smooth", "max_bins": "auto"}, "max_bins as a number"),
    ({"shapes": "smooth", "ensemble": "bagging"}, 'ensemble="grouped"'),
    ({"shapes": "smooth", "keep_tables": True}, "shapes=None"),
])  # fmt: skip
def test_what_cannot_be_had_is_refused_in_words(settings, said):
    X = pd.DataFrame({"a": np.arange(200.0), "c": ["x", "y"] * 100})
    with pytest.raises(TableError, match=said):
        GAMRegressor(**settings).fit(X, X["a"])
    with pytest.raises(TableError, match="one score per row"):
        GAMClassifier(shapes="smooth").fit(X, np.arange(200) % 3)


@pytest.mark.parametrize("shape", ["linear", "smooth"])
@pytest.mark.parametrize("order", ["cyclic", "greedy"])
def test_curves_do_not_know_the_unit_of_a_feature(shape, order):
    """Squares and cubes of very large and very small values are no numbers."""
    X, y = table(300, 0)
    few = {"shapes": shape, "order": order, "outer_bags": 1, "max_rounds": 20, "random_state": 0}
    expected = GAMRegressor(**few).fit(X, y).predict(X)
    for unit in (1e-320, 1e-300, 1e-160, 1e160, 1e307):
        scaled = X.assign(a=(X["a"] * 1e3).round() * unit if unit == 1e-320 else X["a"] * unit)
        same = X.assign(a=(X["a"] * 1e3).round()) if unit == 1e-320 else X
        wanted = GAMRegressor(**few).fit(same, y).predict(same) if unit == 1e-320 else expected
        np.testing.assert_allclose(GAMRegressor(**few).fit(scaled, y).predict(scaled), wanted, atol=1e-6)
