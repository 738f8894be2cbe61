"""Tests of any number of arms: numbers equal statsmodels and SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, proportions_ztest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from gamcore.common.numbers import read
from gamcore.data.column_names import AS_THEY_ARE
from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest, between_arms, by_segment, read_arms
from gamcore.decide.by_day import by_day
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.fairness import GROUP, parity
from gamcore.decide.outcomes import Outcome
from gamcore.decide.shown import shown_read_out
from gamcore.viz.spec import Points

ARMS = ["Mens E-Mail", "No E-Mail", "Womens E-Mail"]


def mailing(n=9000, seed=0):
    """A test of two e-mails against none, with two rates and a mean; the women's e-mail works for new customers."""
    rng = np.random.default_rng(seed)
    segment = rng.choice(ARMS, n)
    newbie = rng.integers(0, 2, n)
    lift = np.where(segment == "Mens E-Mail", 0.07, np.where((segment == "Womens E-Mail") & (newbie == 1), 0.09, 0.0))
    visit = (rng.random(n) < 0.11 + lift).astype(int)
    conversion = visit * (rng.random(n) < 0.2)
    spend = conversion * rng.gamma(2.0, 40.0, n)
    return pd.DataFrame({"segment": segment, "newbie": newbie, "history": rng.gamma(2, 120, n), "visit": visit,
                         "conversion": conversion, "spend": spend})  # fmt: skip


TEST = ArmsTest("segment", "No E-Mail", {"visit": "primary", "conversion": "primary", "spend": "guardrail"})


@pytest.mark.slow
def test_each_arm_is_compared_with_the_control():
    frame = mailing()
    out = read_arms(frame, TEST)
    assert out.arms == ("No E-Mail", "Mens E-Mail", "Womens E-Mail")
    assert {e.metric for e in out.effects if e.is_rate} == {"visit", "conversion"}
    control = frame[frame["segment"] == "No E-Mail"]
    for effect in out.effects:
        treated = frame[frame["segment"] == effect.strategy]
        a, b = treated[effect.metric], control[effect.metric]
        assert effect.difference == pytest.approx(a.mean() - b.mean())
        assert effect.lift == pytest.approx(a.mean() / b.mean() - 1)
        if effect.is_rate:
            assert effect.p == pytest.approx(proportions_ztest([a.sum(), b.sum()], [len(a), len(b)])[1])
        else:
            pair = CompareMeans(DescrStatsW(a), DescrStatsW(b))
            assert effect.p == pytest.approx(pair.ttest_ind(usevar="unequal")[1])
            assert effect.difference_interval == pytest.approx(pair.tconfint_diff(usevar="unequal"))
    holm = multipletests([effect.p for effect in out.effects], method="holm")[1]
    assert [effect.p_adjusted for effect in out.effects] == pytest.approx(holm)


def test_rates_and_means_have_their_intervals():
    frame = mailing()
    out = read_arms(frame, TEST)
    for arm in ARMS:
        visits = frame.loc[frame["segment"] == arm, "visit"]
        level = out.level(arm, "visit")
        assert level.value == pytest.approx(visits.mean())
        assert level.interval == pytest.approx(proportion_confint(visits.sum(), len(visits), method="wilson"))
        spend = frame.loc[frame["segment"] == arm, "spend"]
        assert out.level(arm, "spend").interval == pytest.approx(DescrStatsW(spend).tconfint_mean())
    table = out.frame()
    assert table["arm"].iloc[0] == "No E-Mail"
    assert table["scale"].value_counts().to_dict() == {"level": 9, "difference": 6, "relative": 6}
    levels = table.query("scale == 'level'").set_index(["metric", "arm"])
    for effect in out.effects:  # the row of an arm says how it differs, as files of 0.1 did
        row = levels.loc[effect.metric, effect.strategy]
        for name, change in (("difference", effect.gap), ("lift", effect.change)):
            beside = row[name], row[f"{name}, lower"], row[f"{name}, upper"]
            assert beside == pytest.approx((change.value, *change.interval))


def test_dunnett_shares_one_control():
    frame = mailing()
    out = read_arms(frame, replace(TEST, adjustment="Dunnett"))
    for metric in TEST.metrics:
        parts = [frame.loc[frame["segment"] == arm, metric] for arm in out.arms]
        wanted = stats.dunnett(*parts[1:], control=parts[0], rng=np.random.default_rng(0))
        mine = [effect for effect in out.effects if effect.metric == metric]
        assert [effect.p_adjusted for effect in mine] == pytest.approx(wanted.pvalue, abs=2e-3)
        ends = wanted.confidence_interval()
        assert [effect.difference_interval[0] for effect in mine] == pytest.approx(ends.low, rel=0.02)


def test_the_sizes_are_held_against_the_plan():
    frame = mailing()
    sizes = read_arms(frame, TEST).sizes["all"]
    counts = frame["segment"].value_counts()[list(sizes.counts)]
    assert sizes.p == pytest.approx(stats.chisquare(counts).pvalue)
    assert not sizes.alarm
    planned = read_arms(frame, replace(TEST, shares={"No E-Mail": 2, "Mens E-Mail": 1, "Womens E-Mail": 1}))
    assert planned.stopped
    wanted = counts.sum() * np.array([0.5, 0.25, 0.25])
    assert planned.sizes["all"].p == pytest.approx(stats.chisquare(counts, wanted).pvalue)
    lost = frame.assign(visit=frame["visit"].where((frame["segment"] != "Mens E-Mail") | (frame.index % 5 > 0)))
    assert read_arms(lost, TEST).sizes["visit"].alarm  # who is known depends on the arm


def test_rows_without_an_arm_are_left_out():
    frame = mailing()
    frame.loc[::10, "segment"] = None
    out = read_arms(frame, TEST)
    assert out.left_out == 900
    assert sum(out.sizes["all"].counts.values()) == 8100


def test_for_whom_it_works():
    frame = mailing(30_000, seed=1)
    found = by_segment(frame, TEST, "visit", "newbie")
    table = found.frame().query("scale == 'difference'")
    assert len(table) == 4
    for row in table.itertuples():
        part = frame[frame["newbie"] == int(row.segment)]
        means = part.groupby("segment")["visit"].mean()
        assert row.value == pytest.approx(means[row.arm] - means["No E-Mail"])
        assert row.n == part["segment"].isin([row.arm, row.against]).sum()
    assert found.p["Womens E-Mail"] < 1e-6
    assert found.p["Mens E-Mail"] > 0.01
    quarters = by_segment(frame, TEST, "spend", "history").frame()
    assert quarters["segment"].nunique() == 4


@pytest.mark.parametrize("n_values", [6, 200])
def test_segments_of_a_number_are_in_its_order(n_values):
    """Not in that of their names: 112 to 145 is after 15 to 57, and what is missing is last."""
    frame = mailing(2_000).assign(place=np.arange(2_000) % n_values * 7.0 + 1)
    frame.loc[::9, "place"] = np.nan
    found = by_segment(frame, TEST, "visit", "place")
    *values, last = dict.fromkeys(effect.strategy for effect in found.effects)
    lows = [read(value.partition(" to ")[0]) for value in values]
    assert lows == sorted(lows)
    assert len(lows) >= 4
    assert last == "missing"
    assigned = np.zeros(len(frame), int)
    assert parity(Table.of(frame), "place", assigned, ["A"])[GROUP].tolist() == [*values, last]


@pytest.mark.slow
def test_equal_lifts_rarely_look_different():
    """Cochran's Q keeps its level: no segment differs, and about one test in twenty says so."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"arm": rng.choice(["a", "b"], 2000), "who": rng.choice(list("xyz"), 2000)})
        frame["y"] = (rng.random(2000) < np.where(frame["arm"] == "b", 0.4, 0.3)).astype(int)
        alarms += by_segment(frame, ArmsTest("arm", "a", {"y": "primary"}), "y", "who").p["b"] < 0.05
    assert 3 <= alarms <= 20


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arm": "gone"}, "no column 'gone'"), ({"control": "nobody"}, "No row of 'segment' is 'nobody'"),
        ({"arm": "history", "control": "1"}, "choose another control"), ({"metrics": {"gone": "primary"}}, "gone"),
        ({"metrics": {"segment": "primary"}}, "cannot be an outcome"), ({"shares": {"No E-Mail": 1}}, "planned share"),
        ({"pooled": ("Mens E-Mail",)}, "Fewer than two arms"), ({"pooled": ("Mens E-Mail", "none")}, "'none' is no"),
        ({"pooled": ("Mens E-Mail", "No E-Mail")}, "'No E-Mail' is no treated arm"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(changes, words):
    with pytest.raises(ExperimentError, match=words):
        read_arms(mailing(300), replace(TEST, **changes))


def test_too_many_arms_and_a_single_one():
    frame = mailing(300).assign(many=lambda X: X.index % 40, one="all")
    for arm in ("many", "one"):
        with pytest.raises(ExperimentError, match="a test has 2 to 12 arms"):
            read_arms(frame, replace(TEST, arm=arm, control="all" if arm == "one" else "1"))


def test_an_empty_arm_has_no_effect():
    frame = mailing(300)
    frame.loc[frame["segment"] == "Mens E-Mail", "visit"] = np.nan
    effect = read_arms(frame, TEST).effects[0]
    assert effect.treated.n == 0
    assert np.isnan(effect.p)


@pytest.mark.slow
@given(
    st.integers(0, 10_000), st.sampled_from([0.0, 1e-12, 1e-4, 1e-2, 1.0]), st.sampled_from([1e-70, 1e-9, 1.0, 1e70]),
    st.booleans(), st.sampled_from([0, 200]),
)  # fmt: skip
def test_a_read_out_stands_wherever_means_lie_and_in_any_unit(seed, mean, unit, clustered, customers):
    """A profit may lie just above 0, in cents or in billions: intervals hold their value, or nothing is known."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(8), 5)
    arm = np.where(of % 2 == 0, "c", "t")
    values = rng.normal(size=of.size)
    for name in "ct":
        values[arm == name] += mean * rng.uniform(0.5, 2) - values[arm == name].mean()
    cluster = "store" if clustered else None
    test = ArmsTest("arm", "c", {"profit": "primary"}, customers=customers, cluster=cluster)
    frame = pd.DataFrame({"arm": arm, "profit": values, "store": of, "half": rng.choice(["a", "b"], of.size)})
    effect = read_arms(frame, test).effects[0]
    moved = read_arms(frame.assign(profit=values * unit), test).effects[0]
    low, high = effect.difference_interval
    assert low <= effect.difference <= high
    low, high = effect.lift_interval
    assert (np.isnan(low) and np.isnan(high)) or low <= effect.lift <= high < np.inf
    assert np.array(moved.difference_interval) / unit == pytest.approx(effect.difference_interval, abs=1e-9)
    assert moved.lift_interval == pytest.approx(effect.lift_interval, rel=1e-3, nan_ok=True)
    assert moved.p == pytest.approx(effect.p)
    by_segment(frame.assign(profit=values * unit), test, "profit", "half")


@pytest.mark.parametrize(
    ("unit", "words"), [(1e200, "has values beyond 1e75: divide"), (1e-200, "has no values beyond 1e-75: multiply")]
)
def test_a_metric_too_large_or_small_to_be_squared_is_refused(unit, words):
    frame = mailing(300).assign(spend=lambda f: f["spend"] * unit)
    with pytest.raises(ExperimentError, match=f"'spend' {words} it by a constant"):
        read_arms(frame, TEST)


def test_a_few_rows_that_all_did_it_do_not_prove_that_arms_are_alike():
    frame = mailing(300).assign(spend=1)
    for effect in read_arms(frame, TEST).effects:
        if effect.metric == "spend":
            assert effect.difference == 0 < effect.difference_interval[1]
            assert np.isnan(effect.lift_interval).all()


@pytest.mark.parametrize("lists", [["pilot"], [f"arm {k}" for k in range(48)]])
@pytest.mark.parametrize("shares", [None, {"No E-Mail": 1, "Mens E-Mail": 1, "Womens E-Mail": 1}])
def test_arms_that_a_column_lists_but_nobody_got_are_none(lists, shares):
    frame, test = mailing(3000), replace(TEST, shares=shares)
    kept = pd.Categorical(frame["segment"], categories=[*lists, *ARMS])
    plain, listed = read_arms(frame, test), read_arms(frame.assign(segment=kept), test)
    assert listed.arms == plain.arms
    assert not listed.stopped
    pd.testing.assert_frame_equal(listed.frame(), plain.frame())
    with pytest.raises(ExperimentError, match="No row of 'segment' is"):
        read_arms(frame.assign(segment=kept), replace(TEST, control=lists[0], shares=None))


@pytest.mark.parametrize("cluster", [None, "store"])
@pytest.mark.parametrize("before", [None, {"spend": "history"}])
@pytest.mark.parametrize("adjustment", ["Holm", "Dunnett"])
def test_a_planned_arm_that_nobody_got_is_an_alarm(cluster, before, adjustment):
    frame = mailing(3000).assign(store=lambda f: np.arange(len(f)))
    shares = dict.fromkeys([*ARMS, "Letter"], 1.0)
    made = read_arms(frame, replace(TEST, shares=shares, cluster=cluster, before=before, adjustment=adjustment))
    assert made.arms == ("No E-Mail", "Letter", "Mens E-Mail", "Womens E-Mail")
    assert made.sizes["all"].counts["Letter"] == 0
    assert made.stopped
    assert all(np.isnan(effect.p) for effect in made.effects if effect.strategy == "Letter")
    by_segment(frame, replace(TEST, shares=shares, cluster=cluster), "visit", "newbie")


@pytest.mark.parametrize("seed", range(3))
def test_whether_segments_differ_is_tested_on_the_scale_that_is_drawn(seed):
    """Both of 5% and 20% rise by half: alike in ratio, unlike in points. Q is that of statsmodels' meta-analysis."""
    rng = np.random.default_rng(seed)
    who, arm = rng.choice(["few", "many"], 40_000), rng.choice(["a", "b"], 40_000)
    rate = np.where(who == "few", 0.05, 0.2) * np.where(arm == "b", 1.5, 1.0)
    frame = pd.DataFrame({"who": who, "arm": arm, "y": (rng.random(rate.size) < rate).astype(int)})
    found = by_segment(frame, ArmsTest("arm", "a", {"y": "primary"}), "y", "who")
    assert found.p_on("difference")["b"] < 1e-4
    assert found.p_on("relative")["b"] > 0.01
    logs = [(np.log(e.ratio), np.diff(np.log(e.ratio_interval))[0] / (2 * stats.norm.ppf(0.975)))
            for e in found.effects]  # fmt: skip
    for values, p in (
        ([(e.difference, np.diff(e.difference_interval)[0] / (2 * stats.norm.ppf(0.975))) for e in found.effects],
         found.p), (logs, found.p_relative),
    ):  # fmt: skip
        effect, error = map(np.array, zip(*values, strict=True))
        q = combine_effects(effect, error**2).q
        assert p["b"] == pytest.approx(stats.chi2.sf(q, 1), rel=1e-6)
    for scale in ("difference", "relative"):
        (cells,) = found.describe(scale=scale).panels[0][0].marks
        lifts = [effect.on(scale) for effect in found.effects]
        assert sorted(cells.texts.ravel()) == sorted(f"{lift.text}\n{lift.ends}" for lift in lifts)


def test_a_segment_without_a_success_has_no_ratio_and_is_still_compared():
    frame = pd.DataFrame({"who": np.repeat(["x", "y", "z"], 200), "arm": np.tile(["a", "b"], 300)})
    frame["y"] = np.where(frame["who"] == "x", 0, np.arange(600) % 3 == 0).astype(int)
    found = by_segment(frame, ArmsTest("arm", "a", {"y": "primary"}), "y", "who")
    assert 0 <= found.p_relative["b"] <= 1
    assert 0 <= found.p["b"] <= 1


@pytest.mark.parametrize("seed", range(3))
def test_arms_are_compared_with_each_other(seed):
    """Differences, p and Holm's adjustment are those of statsmodels on the two arms alone."""
    frame = mailing(seed=seed)
    made = between_arms(frame, TEST)
    arms = sorted(set(frame[TEST.arm].dropna()) - {TEST.control})
    metrics = list(TEST.metrics)
    assert {(other, e.strategy, e.metric) for other, e in made} == {
        (a, b, metric) for k, a in enumerate(arms) for b in arms[k + 1 :] for metric in metrics
    }  # fmt: skip
    for other, e in made:
        one, two = (frame.loc[frame[TEST.arm] == arm, e.metric].astype(float) for arm in (e.strategy, other))
        assert e.difference == pytest.approx(one.mean() - two.mean())
        if e.is_rate:
            assert e.p == pytest.approx(proportions_ztest([one.sum(), two.sum()], [one.size, two.size])[1])
    firm = [e for _, e in made if e.role != "expected null"]
    assert [e.p_adjusted for e in firm] == pytest.approx(multipletests([e.p for e in firm], method="holm")[1])
    assert between_arms(frame[frame[TEST.arm] != arms[0]], TEST) == [] or len(arms) > 2


TOGETHER = ("Mens E-Mail", "Womens E-Mail")
POOL = "Mens E-Mail or Womens E-Mail"


def test_pooled_arms_are_one_more_arm_of_the_table():
    """The pooled estimate is that of statsmodels on the rows together, and counts in Holm's family."""
    frame = mailing()
    alone, out = read_arms(frame, TEST), read_arms(frame, replace(TEST, pooled=TOGETHER))
    assert out.lines == (*alone.arms, POOL)
    assert [e.difference for e in out.effects if e.strategy != POOL] == [e.difference for e in alone.effects]
    both, control = (frame[frame["segment"].isin(arms)] for arms in (TOGETHER, ["No E-Mail"]))
    for e in (e for e in out.effects if e.strategy == POOL):
        a, b = both[e.metric], control[e.metric]
        assert (e.difference, e.lift) == pytest.approx((a.mean() - b.mean(), a.mean() / b.mean() - 1))
        if e.is_rate:
            assert e.p == pytest.approx(proportions_ztest([a.sum(), b.sum()], [len(a), len(b)])[1])
            assert out.level(POOL, e.metric).interval == pytest.approx(
                proportion_confint(a.sum(), len(a), method="wilson")
            )
        else:
            pair = CompareMeans(DescrStatsW(a), DescrStatsW(b))
            assert e.p == pytest.approx(pair.ttest_ind(usevar="unequal")[1])
            assert e.difference_interval == pytest.approx(pair.tconfint_diff(usevar="unequal"))
    assert len(out.effects) == len(alone.effects) + len(TEST.metrics)
    holm = multipletests([e.p for e in out.effects], method="holm")[1]
    assert [e.p_adjusted for e in out.effects] == pytest.approx(holm)
    table = out.frame()
    assert table.loc[(table["arm"] == POOL) & (table["scale"] == "level"), "n"].tolist() == [len(both)] * 3


@pytest.mark.parametrize(
    "how",
    [{}, {"cluster": "store"}, {"before": {"spend": "history"}}, {"customers": 20_000},
     {"outcomes": {"spend": Outcome("spend", "history")}}, {"outcomes": {"spend": Outcome("spend", cap=0.99)}}],
    ids=str,
)  # fmt: skip
def test_to_pool_arms_is_to_call_them_alike(how):
    """Whatever is measured and however: by rows, by clusters, adjusted, at every look, ratios and capped means."""
    frame = mailing().assign(store=np.arange(9000) // 10)
    frame["segment"] = frame.groupby("store")["segment"].transform("first")
    pooled = read_arms(frame, replace(TEST, pooled=TOGETHER, **how))
    alike = read_arms(frame.replace({"segment": dict.fromkeys(TOGETHER, POOL)}), replace(TEST, **how))
    one, other = ([replace(e, p_adjusted=0.0, smallest=0.0, treated=None, control=None) for e in made.effects
                   if e.strategy == POOL] for made in (pooled, alike))  # fmt: skip
    assert one == other
    for metric in TEST.metrics:
        assert pooled.level(POOL, metric) == alike.level(POOL, metric)
    days = frame.assign(day=pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(9000) // 3000, "D"))
    looks = by_day(days, replace(TEST, pooled=TOGETHER, **how), "spend", "day").arms
    assert list(looks) == [*TOGETHER, POOL]
    groups = by_segment(frame, replace(TEST, pooled=TOGETHER), "visit", "newbie")
    assert set(groups.p) == {*TOGETHER, POOL}


def test_dunnett_knows_that_pooled_arms_are_correlated_with_their_own():
    """Adjusted p are the share of simulated tests without an effect in which any contrast of OLS is as large."""
    frame = mailing(900, seed=3)
    frame = frame[(frame["segment"] != "Womens E-Mail") | (np.arange(900) % 3 == 0)]
    out = read_arms(frame, replace(TEST, pooled=TOGETHER, adjustment="Dunnett", shares={
        "No E-Mail": 3, "Mens E-Mail": 3, "Womens E-Mail": 1}))  # fmt: skip
    sizes = frame["segment"].value_counts()[list(out.arms)].to_numpy()
    shares = sizes[1:] / sizes[1:].sum()
    contrasts = np.array([[-1, 1, 0], [-1, 0, 1], [-1, *shares]])
    rng, errors = np.random.default_rng(0), np.sqrt(np.square(contrasts) @ (1 / sizes))
    means = rng.normal(size=(400_000, 3)) / np.sqrt(sizes)
    spread = np.sqrt(rng.chisquare(len(frame) - 3, 400_000) / (len(frame) - 3))
    largest = np.abs(means @ contrasts.T / errors / spread[:, None]).max(axis=1)
    for metric in TEST.metrics:
        fitted = sm.OLS(frame[metric].astype(float), pd.get_dummies(frame["segment"])[list(out.arms)].astype(float))
        wanted = fitted.fit().t_test(contrasts)
        mine = [e for e in out.effects if e.metric == metric]
        assert [e.difference for e in mine] == pytest.approx(wanted.effect)
        for e, t, error in zip(mine, wanted.tvalue.ravel(), wanted.sd.ravel(), strict=True):
            assert e.p_adjusted == pytest.approx((largest >= abs(t)).mean(), abs=4e-3)
            reach = np.quantile(largest, 0.95) * error
            assert e.difference_interval == pytest.approx(
                (e.difference - reach, e.difference + reach), abs=0.01 * reach
            )


def test_dunnett_gives_way_to_holm_where_a_value_from_before_adjusts():
    """Its intervals are of outcomes as they are: around an adjusted difference they would not hold."""
    rng = np.random.default_rng(0)
    past = rng.normal(0, 10, 900)
    frame = pd.DataFrame({"arm": rng.choice(["none", "a", "b"], 900), "past": past, "y": past + rng.normal(size=900)})
    out = read_arms(frame, ArmsTest("arm", "none", {"y": "primary"}, before={"y": "past"}, adjustment="Dunnett"))
    assert out.test.adjustment == "Holm"
    for e in out.effects:
        assert np.mean(e.difference_interval) == pytest.approx(e.difference)


@pytest.mark.parametrize("levels", [(0, 1), (False, True), (0.0, 1.0), (2.5, 3.5)])
def test_a_control_is_named_as_it_stands_in_the_table(levels):
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 400)
    frame = pd.DataFrame({"arm": np.array(levels)[arm], "y": rng.random(400) < 0.2 + 0.1 * arm})
    shares = dict.fromkeys(levels, 1.0)
    made = read_arms(frame, ArmsTest("arm", levels[0], {"y": "primary"}, shares=shares))
    assert made.effects[0].difference == pytest.approx(frame["y"][arm == 1].mean() - frame["y"][arm == 0].mean())


@pytest.mark.parametrize("mean", [-50.0, 0.0, 50.0])
def test_a_lift_that_was_measured_is_counted_whatever_the_control_is(mean):
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 600)
    frame = pd.DataFrame({"arm": np.array(["a", "b"])[arm], "profit": rng.normal(mean, 1, 600) + arm})
    plot = read_arms(frame, ArmsTest("arm", "a", {"profit": "primary"})).describe()
    assert plot.title == "1 of 1 measured lifts is significant"
    assert any(mark.x.size for mark in plot.panels[0][0].marks if isinstance(mark, Points))


def test_a_lift_without_an_interval_is_no_lift_without_an_effect():
    frame = pd.DataFrame({"arm": ["a", "b"] * 20, "price": [2.0, 3.0] * 20})
    assert read_arms(frame, ArmsTest("arm", "a", {"price": "primary"})).describe().title == "No lift has an interval"


@pytest.mark.parametrize("changes", [{}, {"customers": 6_000}])
def test_rows_that_are_alike_find_no_smaller_lift(changes):
    """Each customer five times over: what the test could have seen is what it could with each once."""
    frame = mailing(1_500)
    again = frame.loc[np.repeat(frame.index, 5)].assign(who=np.repeat(frame.index, 5))
    test = replace(TEST, **changes)
    once = read_arms(frame.assign(who=frame.index), replace(test, cluster="who"))
    more = read_arms(again, replace(test, cluster="who", customers=5 * test.customers))
    for effect, other, row in zip(once.effects, more.effects, read_arms(frame, test).effects, strict=True):
        assert other.smallest == pytest.approx(effect.smallest, rel=0.1)
        assert effect.smallest == pytest.approx(row.smallest, rel=0.1)


def test_what_may_be_looked_at_whenever_finds_larger_lifts():
    frame = mailing(3_000)
    once, looks = (read_arms(frame, replace(TEST, customers=customers)).effects for customers in (0, 3_000))
    for effect, other in zip(once, looks, strict=True):
        assert other.smallest > 1.05 * effect.smallest


def test_what_was_accepted_of_an_outcome_that_is_read_no_more_is_no_fault():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"arm": rng.choice(["a", "b"], 200), "y": rng.integers(0, 2, 200)})
    made = read_arms(frame, ArmsTest("arm", "a", {"y": "guardrail"}, accepted={"y": 0.5, "gone": 0.1}))
    assert shown_read_out(made, AS_THEY_ARE).test.accepted == {"y": 0.5}
