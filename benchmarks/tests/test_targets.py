"""Benchmarks of all kinds of targets: what is drawn, how it is scored, and how it is reported."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from benchmarks.boosting import coverage, target_models, target_report, target_trials, targets
from benchmarks.boosting.known_truths import (
    BASE,
    SCENARIOS,
    SHAPE,
    TARGETS,
    THREE,
    Scenario,
    draw,
    known_curves,
    places,
    scores_of,
)
from benchmarks.boosting.peers import measure, split
from benchmarks.boosting.target_trials import EXPOSURE, KINDS, Trial
from benchmarks.harness import outcomes
from benchmarks.harness.outcomes import QUANTILE

pytestmark = pytest.mark.slow

MANY = 40_000


@pytest.mark.parametrize("make", [outcomes.claims, outcomes.amounts, outcomes.spend])
def test_means_of_simulated_targets_are_their_truths(make):
    drawn = make(n=MANY, seed=1)
    expected = drawn.truth * (1.0 if drawn.exposure is None else drawn.exposure)
    for chosen in (drawn.X["region"] == "A", drawn.X["age"] > 60, drawn.X["car_age"] < 2):
        error = drawn.y[chosen].std() / np.sqrt(chosen.sum()) / expected[chosen].mean()
        assert drawn.y[chosen].sum() / expected[chosen].sum() == pytest.approx(1.0, abs=4 * error)


def test_simulated_targets_have_the_spread_of_their_loss():
    mean, rng = np.full(MANY, 30.0), np.random.default_rng(0)
    events = rng.poisson(outcomes.tweedie_rate(mean, 4.0)).astype(float)
    y = outcomes.tweedie(mean, events, 4.0, rng)
    assert y.mean() == pytest.approx(30.0, rel=0.02)
    assert y.var() == pytest.approx(4.0 * 30.0**outcomes.POWER, rel=0.05)
    assert (outcomes.spend(n=MANY).y == 0).mean() > 0.5
    high = outcomes.upper(n=MANY)
    for chosen in (high.truth < np.median(high.truth), high.truth > np.quantile(high.truth, 0.8)):
        assert (high.y < high.truth)[chosen].mean() == pytest.approx(QUANTILE, abs=0.01)


@pytest.mark.parametrize("name", list(TARGETS))
def test_targets_are_drawn_from_their_scores(name):
    target, rng = TARGETS[name], np.random.default_rng(2)
    score = np.tile([0.5, -0.2, 1.0], (MANY, 1))
    y = target.draw(score if target.several else score[:, 0], rng.standard_normal(MANY), rng)
    mean = np.exp(0.5 + BASE)
    if name == "quantile":
        assert (y < 0.5).mean() == pytest.approx(QUANTILE, abs=0.006)
    elif name == "classes":
        np.testing.assert_allclose(np.bincount(y.astype(int)) / MANY, softmax(score[0]), atol=0.01)
    else:
        expected = {"gaussian": 0.5, "binary": mean / (1 + mean)}.get(name, mean)
        assert y.mean() == pytest.approx(expected, abs=5 * y.std() / np.sqrt(MANY))
    if name == "gamma":
        assert y.var() == pytest.approx(mean**2 / SHAPE, rel=0.05)


def test_scores_are_sums_of_the_known_curves():
    classes = Scenario(300, "classes")
    X = {name: column.to_numpy() for name, column in draw(classes, 0).X.items()}
    scores = scores_of(X, classes.of)
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.sum(THREE, axis=0), 0.0)
    every = known_curves(classes.of)
    assert len({known.key for known in every}) == 18
    for feature, at in places().items():
        lines = [known.scores for known in every if known.feature == feature]
        assert lines[0].shape == at.shape
        np.testing.assert_allclose(np.sum(lines, axis=0), 0.0, atol=1e-12)
    alone = scores_of(X, TARGETS["poisson"])
    np.testing.assert_allclose(alone - scores[:, 0], scores_of(X, TARGETS["gaussian"]) - scores[:, 0])


def test_weights_are_precisions_of_numbers_and_nothing_else():
    for name, shares in (("gaussian", [2.0, 1.0, 1 / 3]), ("gamma", [1.0, 1.0, 1.0])):
        scenario = Scenario(MANY, name, weights=True)
        drawn = draw(scenario, 0)
        score = scores_of({column: drawn.X[column].to_numpy() for column in drawn.X}, scenario.of)
        noise = drawn.y - score if name == "gaussian" else drawn.y / np.exp(score + BASE)
        variances = [noise[drawn.weight == weight].var() for weight in (0.5, 1.0, 3.0)]
        np.testing.assert_allclose(variances, shares, rtol=0.08)


def test_scenarios_have_names_of_their_own():
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
    assert {scenario.target for scenario in SCENARIOS} == set(TARGETS)


def small(name, n=600):
    return target_trials.TABLES[name](None, 3).cut(n, 3)


def test_a_constant_explains_nothing_and_the_truth_most():
    for name in ("claims", "amounts", "spend", "upper"):
        trial = small(name, 4000)
        y = trial.y.to_numpy()
        if trial.exposed:
            exposure = trial.X[EXPOSURE].to_numpy()
            constant = exposure * y.sum() / exposure.sum()
        else:
            constant = np.full(y.size, np.quantile(y, QUANTILE) if name == "upper" else y.mean())
        assert trial.score(trial.X, y, constant) == pytest.approx(0.0, abs=1e-6)
        assert trial.score(trial.X, y, trial.truth[trial.X.index].to_numpy()) > 1.0


def test_counts_with_exposure_are_scored_by_their_own_deviance():
    trial = small("claims", 500)
    y, exposure = trial.y.to_numpy(), trial.X[EXPOSURE].to_numpy()

    def deviance(mean):
        logs = np.where(y > 0, y * np.log(np.maximum(y, 1) / mean), 0.0)
        return 2 * np.sum(logs - y + mean)

    predicted = trial.truth[trial.X.index].to_numpy()
    share = 1 - deviance(predicted) / deviance(exposure * y.sum() / exposure.sum())
    assert trial.score(trial.X, y, predicted) == pytest.approx(100 * share)


def test_splits_keep_rows_and_their_exposures_together():
    trial = small("claims", 500)
    X, X_test, y, y_test = split(trial, 0)
    assert not set(X.index) & set(X_test.index)
    np.testing.assert_array_equal(trial.y[X.index], y)
    np.testing.assert_array_equal(trial.y[X_test.index], y_test)


def test_linear_models_and_ours_are_fitted_to_every_kind():
    rng = np.random.default_rng(0)
    letters = Trial(KINDS["classes"], pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"]), pd.Series(dtype=int))
    letters = Trial(letters.kind, letters.X, pd.Series(np.array(list("pqr"))[np.digitize(letters.X["a"], [-0.5, 0.5])]))
    for trial in (small("claims"), small("amounts"), small("spend"), small("upper"), letters):
        models = target_models.contenders(trial.kind)
        for name in ("linear", "ours"):
            cell = measure(trial, models[name], 0)
            assert np.isfinite(cell["metric"]), name
            assert cell["seconds"] > 0
        if trial is letters:
            assert cell["metric"] > 20.0


def test_bins_of_a_linear_model_bend(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, 2000), "level": rng.choice(["u", "v"], 2000)})
    trial = Trial(KINDS["gamma"], X, pd.Series(rng.gamma(5.0, np.exp(2 * X["a"] ** 2))))
    models = target_models.contenders(trial.kind)
    straight, binned = (measure(trial, models[name], 0)["metric"] for name in ("linear", "linear-binned"))
    assert straight < 5.0
    assert binned > 30.0


def test_a_model_that_is_not_there_is_not_started(tmp_path, monkeypatch):
    started = []

    def run(module, cell, limit):
        started.append(cell[2])
        return "Ended with code 1."

    monkeypatch.setattr(targets, "run_module", run)
    monkeypatch.setattr(targets, "missing", lambda trial: {"ebm": "no such objective"})
    asked = argparse.Namespace(
        data=tmp_path, rows=300, models=["ebm", "linear"], limit=9.0, once=False, json=tmp_path / "cells.json"
    )
    cells = {}
    targets.measure_split(asked, cells, "amounts", 0)
    assert started == ["linear"]
    assert cells["amounts", "ebm", 0]["missing"] == "no such objective"
    assert cells["amounts", "linear", 0]["error"] == "Ended with code 1."
    assert cells["amounts", "truth", 0]["metric"] > 0
    targets.measure_split(asked, cells, "amounts", 0)
    assert started == ["linear"]  # neither parameters nor rows have changed
    asked.rows = 200
    targets.measure_split(asked, cells, "amounts", 0)
    assert started == ["linear", "linear"]


@pytest.fixture
def invented():
    rows = [{"table": "bike", "model": "truth", "seed": 0, "metric": 90.0}]
    for seed, slower in enumerate((1.0, 3.0)):
        for table, factor, gap in (("bike", 10.0, 0.05), ("spend", 90.0, 0.4)):
            ours = {"table": table, "model": "ours", "seed": seed, "seconds": slower, "metric": 50.0 + seed}
            rows.append({**ours, "others_cores": 0.0})
            rows.append({**ours, "model": "ebm", "seconds": factor * slower, "metric": 50.0 + seed + gap})
            rows.append({**ours, "model": "linear", "seconds": slower / 10, "metric": 20.0})
        rows.append({"table": "upper", "model": "ebm", "seed": seed, "missing": "no such objective"})
    return pd.DataFrame(rows)


def test_models_are_compared_within_splits(invented):
    gaps = target_report.behind(invented)
    assert gaps["ours - peer's"].tolist() == pytest.approx([-0.05, -0.4])
    ratios = target_report.faster(invented)
    assert ratios.loc["bike", "ebm"] == pytest.approx(10.0)
    assert ratios.loc[target_report.MEAN_ROW, "ebm"] == pytest.approx(30.0)
    assert ratios.loc[target_report.MEAN_ROW, "linear"] == pytest.approx(0.1)


def test_what_has_no_result_is_told(invented):
    shown = target_report.explained(invented)
    assert shown.loc["upper", "ebm"] == "not available"
    assert shown.loc["bike", ["truth", "ours", "ebm"]].tolist() == ["90.00", "50.50", "50.55"]
    assert shown["splits"].tolist() == [2, 2, 2]
    assert target_report.reasons(invented).loc["upper"].tolist() == ["ebm", "no such objective"]
    assert "Timed while others were busy" not in target_report.everything(invented)
    only = target_report.everything(invented[invented["model"] != "ours"])
    assert "Seconds of others over ours" not in only


def invented_cells(every, shift):
    cells = []
    for seed in range(4):
        curves = {}
        for known in every:
            size = known.scores.size
            wide = {name: [1.0] * size for name in ("half", "whole", "quick")}
            score = known.scores + shift + 0.5 * (-1) ** seed
            curves[known.key] = {"score": score.tolist(), "rows": [50] * size, **wide}
        cells.append({"curves": curves, "fit": 1.0, "bands": 2.0})
    return pd.DataFrame(cells)


@pytest.mark.parametrize("name", ["gamma", "classes"])
def test_coverage_counts_places_inside_the_band(name):
    every = known_curves(TARGETS[name])
    inside = coverage.coverage(invented_cells(every, 0.4), every)
    assert inside["truth, point by point"] == "100.0 ± 0.0"
    outside = coverage.coverage(invented_cells(every, 0.7), every)
    assert outside["truth, point by point"] == "50.0 ± 28.9"
    assert outside["mean fit"] == "100.0 ± 0.0"
    spread = np.std([0.5, -0.5, 0.5, -0.5], ddof=1)
    shown = coverage.by_curve(invented_cells(every, 0.7), every)
    assert shown[every[0].key] == f"50.0 ({0.7 / spread:.1f}, {1 / spread:.1f})"


@pytest.mark.parametrize("name", TARGETS)
def test_a_replication_has_every_curve(name):
    scenario = Scenario(400, name, rounded=True)
    cell = coverage.replicate(scenario, 0)
    every = known_curves(scenario.of)
    assert list(cell["curves"]) == [known.key for known in every]
    row = coverage.coverage(pd.DataFrame([cell, cell]), every)
    assert float(row["truth, point by point"].split()[0]) > 50
