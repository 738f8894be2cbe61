"""Ratios of sums and capped means, read as rates and means are: they equal regressions and what a hand computes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.outcomes import Outcome
from gamcore.stats.sequences import anytime_reach
from tests.support.by_strategy import read_strategies
from tests.support.null_tests import DESIGNS, OUTCOMES, WAYS, NullTest

RATIO, CAPPED = OUTCOMES["spend per visits"], OUTCOMES["spend, capped at 98%"]


@pytest.fixture(scope="module")
def visited():
    frame = DESIGNS["households"].rows(np.random.default_rng(0), 1500)
    return frame.assign(spend=frame["spend"] * np.where(frame["arm"] == "new", 1.15, 1.0))


def effect_on(frame, outcome, **changes):
    test = ArmsTest("arm", "old", {outcome.name: "primary"}, outcomes={outcome.name: outcome}, **changes)
    return read_arms(frame, test).effects[0]


@pytest.mark.parametrize("cluster", [None, "household"])
def test_a_ratio_is_a_weighted_regression_of_each_arm(visited, cluster):
    """The error of a mean of values per visit, weighted by visits, with each row or cluster as one (HC1 has n / (n - 1)
    where a constant is fitted, clusters times (n - 1) / (n - 1))."""
    made, squares, means = effect_on(visited, RATIO, cluster=cluster), [], []
    for arm in ("new", "old"):
        rows = visited[(visited["arm"] == arm) & (visited["visits"] > 0)]
        some = visited[visited["arm"] == arm]
        fitted = sm.WLS(rows["spend"] / rows["visits"], np.ones(len(rows)), weights=rows["visits"])
        groups = rows[cluster] if cluster else np.arange(len(rows))
        of = fitted.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
        n = some[cluster].nunique() if cluster else len(some)
        squares.append(float(of.cov_params().iloc[0, 0]) * n / (n - 1))
        means.append(float(of.params.iloc[0]))
    assert made.difference == pytest.approx(means[0] - means[1])
    low, high = made.difference_interval
    assert (high - low) / 2 == pytest.approx(stats.norm.ppf(0.975) * np.sqrt(sum(squares)), rel=4e-3)
    assert made.lift == pytest.approx(means[0] / means[1] - 1)
    z = abs(made.difference) / np.sqrt(sum(squares))
    assert stats.norm.isf(made.p / 2) == pytest.approx(z, rel=6e-3)


def test_a_ratio_over_ones_is_the_mean(visited):
    frame = visited.assign(one=1)
    mean, ratio = (effect_on(frame, outcome) for outcome in (Outcome("spend"), Outcome("spend", per="one")))
    assert ratio.difference_interval == pytest.approx(mean.difference_interval)
    assert ratio.ratio_interval == pytest.approx(mean.ratio_interval)
    assert (ratio.p, ratio.smallest) == pytest.approx((mean.p, mean.smallest))


def test_customers_as_rows_are_their_visits_in_clusters():
    """Revenue per visit is the same from one row per customer as from one per visit, by customer."""
    rng = np.random.default_rng(3)
    customer = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    visits = pd.DataFrame({"customer": customer, "arm": np.where(customer % 2, "new", "old"),
                           "paid": rng.gamma(2, 10 + 3 * (customer % 5))})  # fmt: skip
    customers = visits.groupby("customer").agg(arm=("arm", "first"), paid=("paid", "sum"), visits=("arm", "size"))
    one = effect_on(visits, Outcome("paid"), cluster="customer")
    other = effect_on(customers.reset_index(), Outcome("paid", per="visits"), cluster="customer")
    assert other.difference_interval == pytest.approx(one.difference_interval)
    assert (other.difference, other.p) == pytest.approx((one.difference, one.p))
    rows = effect_on(customers, Outcome("paid", per="visits"))
    assert rows.difference_interval == pytest.approx(one.difference_interval, rel=1e-3)


def test_a_cap_is_one_for_both_arms_and_for_all_segments(visited):
    made = effect_on(visited, CAPPED)
    cap = np.sort(visited["spend"])[int(np.ceil(0.98 * len(visited))) - 1]
    capped = visited["spend"].clip(upper=cap)
    sides = [capped[visited["arm"] == arm] for arm in ("new", "old")]
    assert made.difference == pytest.approx(sides[0].mean() - sides[1].mean())
    assert made.p == pytest.approx(stats.ttest_ind(*sides, equal_var=False).pvalue)
    test = ArmsTest("arm", "old", {CAPPED.name: "primary"}, outcomes={CAPPED.name: CAPPED})
    for one in by_segment(visited, test, CAPPED.name, "region").effects:
        here = (visited["region"] == one.strategy) & (visited["arm"] == "new")
        assert one.treated.mean == pytest.approx(capped[here].mean())


def test_looks_strategies_and_dunnett_take_the_same_values(visited):
    once, always = (effect_on(visited, RATIO, customers=n) for n in (0, 3000))
    reach = anytime_reach(len(visited), 3000) / stats.norm.ppf(0.975)
    assert always.difference_interval[0] == pytest.approx(
        once.difference - reach * (once.difference - once.difference_interval[0])
    )
    assert effect_on(visited, RATIO, adjustment="Dunnett").p_adjusted == pytest.approx(once.p, rel=0.05)
    treated, everybody = (visited["arm"] == "new").to_numpy(), np.zeros(len(visited), int)
    (row,) = read_strategies(visited, treated, everybody, ["all"], {"x": "primary"}, outcomes={"x": RATIO}).effects
    assert (row.difference, row.p) == pytest.approx((once.difference, once.p))


def test_a_share_of_counts_is_shown_in_percent(visited):
    frame = visited.assign(clicks=np.minimum(visited["bought"], visited["visits"]))
    made = read_arms(frame, ArmsTest("arm", "old", {"rate": "primary"}, outcomes={"rate": Outcome("clicks", "visits")}))
    assert made.level("old", "rate").is_rate
    assert made.level("old", "rate").text.endswith("%")
    assert made.effects[0].gap.text.endswith("points")


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome("spend", per="gone"), "no column 'gone'"), (Outcome("spend", per="balance"), "below 0"),
        (Outcome("rare", cap=0.9), "a cap there leaves nothing"), (Outcome("spend", cap=1.2), "a share below 100%"),
        (Outcome("spend", per="region"), "is not a number"),
    ],
)  # fmt: skip
def test_what_no_outcome_can_be_made_of_is_refused(visited, outcome, words):
    frame = visited.assign(balance=visited["spend"] - 1, rare=(np.arange(len(visited)) % 50 == 0) * 3.5)
    with pytest.raises(ExperimentError, match=words):
        effect_on(frame, outcome)


def test_nothing_is_said_of_a_ratio_over_nothing(visited):
    made = effect_on(visited.assign(visits=visited["visits"].where(visited["arm"] == "new", 0)), RATIO)
    assert np.isnan([made.difference, made.p, *made.difference_interval]).all()
    assert not made.is_significant


@pytest.mark.slow
def test_without_an_effect_none_is_found_too_often():
    """Seeded A/A tests of each design and way of looking, for all kinds of outcomes; `benchmarks.false_positives` runs
    hundreds."""
    rng, runs = np.random.default_rng(7), 10
    found = pd.DataFrame([
        (named, way, outcome, alarm)
        for named, design in DESIGNS.items() if not design.test.known_before
        for test in (NullTest(design, design.rows(rng, 1000)) for _ in range(runs))
        for way, look in WAYS.items() for outcome, alarm in look(test).items()
    ], columns=["design", "way", "outcome", "found"])  # fmt: skip
    by_way = found.groupby("way")["found"].mean()
    assert set(by_way.index) == set(WAYS)
    assert (by_way < 0.09).all(), by_way
    assert by_way.drop("on any of seven days").max() > 0.02  # it does not merely say nothing
    assert found.groupby(["design", "way", "outcome"])["found"].mean().max() <= 0.4
