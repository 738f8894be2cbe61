"""Tests of which whole clusters were assigned, and intervals narrowed by what was expected before the test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.clusters import interval_by_clusters, interval_of_level
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.estimators.effect import expected_outcomes
from gamcore.stats.intervals import difference_of_means, student, wilson

METRICS = {"spend": "primary", "bought": "primary"}


def households(rng, n=300, each=8, lift=0.0, alike=1.0):
    """Households of several customers who are alike, each household in one arm."""
    of = np.repeat(np.arange(n), rng.integers(1, 2 * each, n))
    arm = rng.integers(0, 2, n)[of]
    shared = alike * rng.normal(size=n)[of]
    spend = 50 + 10 * (shared + rng.normal(size=of.size)) + lift * arm
    bought = (shared + rng.normal(size=of.size) > 0.5).astype(int)
    frame = pd.DataFrame({"arm": np.where(arm, "new", "old"), "household": of, "spend": spend, "bought": bought})
    return frame.assign(half=rng.choice(["a", "b"], of.size))


@pytest.mark.slow
def test_without_an_effect_clusters_alarm_in_five_percent_and_rows_in_many_more():
    rng, alarms = np.random.default_rng(0), {"rows": 0, "clusters": 0}
    for _ in range(300):
        frame = households(rng, 60)
        for name, cluster in (("rows", None), ("clusters", "household")):
            made = read_arms(frame, ArmsTest("arm", "old", {"spend": "primary"}, cluster=cluster))
            alarms[name] += made.effects[0].p < 0.05
    assert 0.025 < alarms["clusters"] / 300 < 0.08
    assert alarms["rows"] / 300 > 0.25


def test_clusters_of_one_row_are_rows():
    frame = households(np.random.default_rng(0), each=4, lift=3.0).assign(household=lambda f: np.arange(len(f)))
    rows, clusters = (read_arms(frame, ArmsTest("arm", "old", METRICS, cluster=of)) for of in (None, "household"))
    one, other = (next(e for e in made.effects if e.metric == "spend") for made in (rows, clusters))
    assert other.difference_interval == pytest.approx(one.difference_interval)
    assert other.p == pytest.approx(one.p)
    rate, same = (next(e for e in made.effects if e.metric == "bought") for made in (rows, clusters))
    assert same.is_rate
    assert same.difference_interval == pytest.approx(rate.difference_interval, abs=2e-3)


def test_the_error_is_that_of_a_regression_with_clusters():
    import statsmodels.api as sm

    frame = households(np.random.default_rng(1), 400, lift=2.0)
    made = read_arms(frame, ArmsTest("arm", "old", {"spend": "primary"}, cluster="household")).effects[0]
    design = sm.add_constant((frame["arm"] == "new").astype(float))
    fitted = sm.OLS(frame["spend"], design).fit(cov_type="cluster", cov_kwds={"groups": frame["household"]})
    low, high = made.difference_interval
    assert made.difference == pytest.approx(fitted.params.iloc[1])
    assert (high - low) / 2 / 1.966 == pytest.approx(fitted.bse.iloc[1], rel=0.02)


def test_an_arms_own_interval_is_that_of_a_regression_with_clusters():
    import statsmodels.api as sm

    frame = households(np.random.default_rng(2), 600, lift=2.0)
    made = read_arms(frame, ArmsTest("arm", "old", METRICS, cluster="household"))
    for arm, metric in product(made.arms, METRICS):
        rows = frame[frame["arm"] == arm]
        how = {"cov_type": "cluster", "cov_kwds": {"groups": rows["household"]}, "use_t": True}
        low, high = sm.OLS(rows[metric], np.ones(len(rows))).fit(**how).conf_int().to_numpy()[0]
        level = made.level(arm, metric)
        value, ends = level.value, level.interval
        assert value == pytest.approx(rows[metric].mean())
        if level.is_rate:  # Wilson's is drawn towards a half
            assert ends == pytest.approx((low, high), abs=0.05 * (high - low))
        else:
            assert ends == pytest.approx((low, high))


@pytest.mark.slow
def test_an_arms_own_interval_holds_the_truth_where_rows_of_a_cluster_are_alike():
    """Rows taken for themselves would hold it in a third of the tests."""
    rng = np.random.default_rng(0)
    truth = {"spend": 50.0, "bought": float(np.mean(rng.normal(size=500_000) * np.sqrt(2) > 0.5))}
    held, runs = dict.fromkeys(truth, 0), 150
    for _ in range(runs):
        frame = households(rng, 60, each=20)
        made = read_arms(frame, ArmsTest("arm", "old", METRICS, cluster="household"))
        for arm, metric in product(made.arms, METRICS):
            low, high = made.level(arm, metric).interval
            held[metric] += low <= truth[metric] <= high
    for metric, times in held.items():
        assert 0.91 < times / (2 * runs) < 0.985, metric


@pytest.mark.parametrize("seed", range(20))
def test_an_arms_own_interval_with_few_or_odd_clusters(seed):
    """A rate's interval stays between 0 and 1 and holds it, also where it does not vary; one cluster says nothing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    clusters = np.repeat(np.arange(n), rng.integers(1, 30, n))
    for chance in (0.0, 1.0, 0.02, 0.5):
        values = (rng.random(clusters.size) < chance).astype(float)
        low, high = interval_of_level(values, clusters, is_rate=True)
        assert 0.0 <= low <= values.mean() <= high <= 1.0
        assert high - low >= np.ptp(wilson(values.mean(), values.size)) - 1e-12  # never narrower than by rows
    one = np.zeros(clusters.size, int)
    assert np.isnan(interval_of_level(values, one, is_rate=True)).all()
    assert np.isnan(interval_of_level(values, one, is_rate=False)).all()
    alone = np.arange(clusters.size)
    assert interval_of_level(values + 0.5, alone, is_rate=False) == pytest.approx(student(values + 0.5))


def test_the_sample_ratio_is_that_of_clusters():
    frame = households(np.random.default_rng(0), 200)
    frame = pd.concat([frame, *[frame[frame["household"] == 3]] * 200])  # one household with many customers
    whole = read_arms(frame, ArmsTest("arm", "old", METRICS, cluster="household"))
    assert sum(whole.sizes["all"].counts.values()) == 200
    assert not whole.stopped
    assert read_arms(frame, ArmsTest("arm", "old", METRICS)).stopped


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(household=f["household"] // 40), "has rows in old and new: whole clusters must be in one"),
        (lambda f: f.assign(household=f["household"].where(f.index != 5)), "is missing in 1 rows"),
        (lambda f: f.drop(columns="household"), "has no column 'household'"),
    ],
)  # fmt: skip
def test_what_are_no_clusters_is_refused_in_a_sentence(change, words):
    frame = change(households(np.random.default_rng(0)))
    with pytest.raises(ExperimentError, match=words):
        read_arms(frame, ArmsTest("arm", "old", METRICS, cluster="household"))


def test_segments_go_by_clusters_too():
    frame = households(np.random.default_rng(0), lift=1.0)
    rows, clusters = (
        by_segment(frame, ArmsTest("arm", "old", METRICS, cluster=of), "spend", "half") for of in (None, "household")
    )
    for one, other in zip(rows.effects, clusters.effects, strict=True):
        assert other.difference_interval[1] - other.difference_interval[0] > np.ptp(one.difference_interval)


@pytest.mark.parametrize("more", [{"cluster": "household"}, {"customers": 5000}])
def test_where_dunnett_does_not_hold_holm_is_used_and_named(more):
    frame = households(np.random.default_rng(0)).assign(arm=lambda f: "a" + (f["household"] % 3).astype(str))
    made = read_arms(frame, ArmsTest("arm", "a0", {"spend": "primary"}, adjustment="Dunnett", **more))
    holm = read_arms(frame, ArmsTest("arm", "a0", {"spend": "primary"}, **more))
    assert made.test.adjustment == "Holm"
    assert [effect.p_adjusted for effect in made.effects] == [effect.p_adjusted for effect in holm.effects]
    alone = read_arms(frame, ArmsTest("arm", "a0", {"spend": "primary"}, adjustment="Dunnett"))
    assert alone.test.adjustment == "Dunnett"


def test_too_few_clusters_have_no_interval():
    frame = households(np.random.default_rng(0), 2).assign(arm=lambda f: np.where(f["household"] == 0, "old", "new"))
    made = read_arms(frame, ArmsTest("arm", "old", {"spend": "primary"}, cluster="household"))
    assert np.isnan(made.effects[0].p)


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
def test_what_a_model_expects_cuts_the_variance_by_what_it_explains(binary):
    rng = np.random.default_rng(0)
    n = 8000
    known = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(size=n), "c": rng.choice(["p", "q"], n)})
    score = 1.5 * np.sin(2 * known["a"]) + (known["c"] == "q") + 0.3 * (rng.random(n) < 0.5)
    arm = rng.integers(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * score))) * 1.0 if binary else score + 0.2 * arm + rng.normal(size=n)
    frame = known.assign(arm=np.where(arm, "new", "old"), y=y)
    expected = expected_outcomes(known, y, random_state=0, n_jobs=1)
    explained = np.corrcoef(expected, y)[0, 1] ** 2
    test = ArmsTest("arm", "old", {"y": "primary"})
    bare, helped = read_arms(frame, test).effects[0], read_arms(frame, test, {"y": expected}).effects[0]
    assert explained > 0.2
    assert helped.reduced == pytest.approx(explained, abs=0.02)
    ratio = np.ptp(helped.difference_interval) / np.ptp(bare.difference_interval)
    assert 1 - ratio**2 == pytest.approx(explained, abs=0.03)
    assert helped.is_rate == binary
    assert helped.difference == pytest.approx(bare.difference, abs=0.06)


def test_means_and_differences_of_any_values_have_intervals_by_clusters():
    misses, apart_misses = 0, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(50), 12)
        y = rng.normal(size=50)[cluster] + rng.normal(size=600)
        inside = rng.permutation(50)[cluster] < 20 if seed % 2 else rng.random(600) < 0.4
        mean, apart = interval_by_clusters(y, inside, cluster)
        misses += not mean[0] < 0 < mean[1]
        apart_misses += not apart[0] < 0 < apart[1]
    assert 5 <= misses <= 27  # 15 of 300
    assert 5 <= apart_misses <= 27
    alone = interval_by_clusters(y, inside, np.arange(600))
    assert alone[0] == pytest.approx(student(y[inside]), rel=0.01)
    assert alone[1] == pytest.approx(difference_of_means(y[inside], y[~inside]), rel=0.02)
    nothing = interval_by_clusters(y, np.zeros(600, bool), cluster)
    assert np.isnan(nothing).all()
    whole = interval_by_clusters(y, np.ones(600, bool), cluster)
    assert np.isfinite(whole[0]).all()
    assert np.isnan(whole[1]).all()
