"""Plans of any number of arms, checked against statsmodels, published values and simulations."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import NormalIndPower, TTestIndPower
from statsmodels.stats.proportion import power_proportions_2indep

from gamcore.data.table import as_table
from gamcore.decide.arms_plan import EVERYBODY, dunnett_alpha, plan
from gamcore.decide.arrivals import Arrivals, weekdays_of
from gamcore.decide.experiment_plan import ExperimentError, Metric, power_of, sample_size, smallest_lift

VISIT = Metric("visit", 0.106, 0.1)
SPEND = Metric("spend", 1.05, 0.2, "guardrail", deviation=15.0)
THREE = {"control": 50.0, "mens": 30.0, "womens": 20.0}


@pytest.mark.parametrize("control", [0.25, 1.0, 2.5])
@pytest.mark.parametrize("alpha", [0.05, 0.004])
def test_two_arms_need_what_statsmodels_says(control, alpha):
    arcsine = 2 * (math.asin(math.sqrt(0.106 * 1.1)) - math.asin(math.sqrt(0.106)))
    wanted = NormalIndPower().solve_power(arcsine, None, alpha, 0.8, control)
    assert sample_size(VISIT, alpha, 0.8, control, "arcsine") == pytest.approx(wanted)
    assert sample_size(VISIT, alpha, 0.8, control) == pytest.approx(wanted, rel=0.03)
    assert power_of(VISIT, 9000, alpha, control) == pytest.approx(
        power_proportions_2indep(0.0106, 0.106, 9000, control, alpha, return_results=False)
    )
    for metric in (SPEND, Metric("few", 10.0, 0.5, deviation=4.0)):
        effect = metric.base * metric.lift / metric.deviation
        wanted = TTestIndPower().solve_power(effect, None, alpha, 0.8, control)
        assert sample_size(metric, alpha, 0.8, control) == pytest.approx(wanted, rel=1e-4)


def test_a_lift_that_two_customers_would_show_needs_two():
    assert sample_size(Metric("sure", 10.0, 5.0, deviation=0.01)) == 2
    assert sample_size(Metric("sure", 10.0, 5.0, deviation=0.01), control=0.25) == 8  # and two in the control
    assert math.isnan(smallest_lift(SPEND, 6, control=0.25))


@given(st.floats(-3, 11), st.floats(0.05, 20.0), st.sampled_from([0.5, 0.8, 0.99]), st.sampled_from([0.2, 0.05, 0.001]))
def test_however_large_a_lift_is_a_mean_needs_as_many_as_show_it(logarithm, control, power, alpha):
    """SciPy's noncentral t has no number where a chance is next to nothing."""
    metric = Metric("spend", 1.0, 10.0**logarithm, deviation=1.0)
    size = sample_size(metric, alpha, power, control)
    assert size >= 2 * max(1.0, 1 / control)
    assert power_of(metric, size, alpha, control) >= power - 1e-6
    if size > 2 * max(1.0, 1 / control):
        assert power_of(metric, 0.99 * size, alpha, control) < power


@pytest.mark.slow
def test_dunnett_s_critical_values():
    """Dunnett (1955, 1964), two-sided, 5%, many customers: 2.21, 2.35, 2.44 for two to four arms of one size."""
    for arms, wanted in ((1, 1.96), (2, 2.21), (3, 2.35), (4, 2.44)):
        assert stats.norm.isf(dunnett_alpha([1] * (arms + 1)) / 2) == pytest.approx(wanted, abs=5e-3)


@pytest.mark.parametrize("shares", [[5, 3, 2], [1, 4, 4], [9, 1, 1, 1]])
def test_dunnett_keeps_the_error_over_arms_of_unequal_size(shares):
    """z statistics of arms that share a control: one of them is beyond the critical value in 5% of tests."""
    rng = np.random.default_rng(0)
    control, *arms = (rng.standard_normal(400_000) / math.sqrt(share) for share in shares)
    z = [(arm - control) / math.sqrt(1 / share + 1 / shares[0]) for arm, share in zip(arms, shares[1:], strict=True)]
    beyond = np.max(np.abs(z), axis=0) > stats.norm.isf(dunnett_alpha(shares) / 2)
    assert beyond.mean() == pytest.approx(0.05, abs=0.0012)  # 3.5 standard errors


@pytest.mark.slow
@pytest.mark.parametrize("adjustment", ["Holm", "Dunnett"])
def test_three_arms_by_simulation(adjustment):
    """The arms as large as planned find the lift in 80% of tests, each of them, for a rate and for a mean."""
    rng = np.random.default_rng(1)
    mean = Metric("mean", 10.0, 0.1, deviation=5.0)
    made = plan({EVERYBODY: 1000.0}, [VISIT, mean], THREE, adjustment=adjustment)
    assert {(row.arm, row.metric.name) for row in made.rows} == {
        (arm, metric) for arm in ("mens", "womens") for metric in ("visit", "mean")
    }
    for row in made.rows:
        metric, n, m = row.metric, row.treated, row.control
        if metric.deviation is None:
            a, b = rng.binomial(n, metric.base * (1 + metric.lift), 8000) / n, rng.binomial(m, metric.base, 8000) / m
            pooled = (a * n + b * m) / (n + m)
            p = 2 * stats.norm.sf(np.abs(a - b) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)))
        else:
            a = rng.normal(metric.base * (1 + metric.lift), metric.deviation, (8000, n))
            b = rng.normal(metric.base, metric.deviation, (8000, m))
            p = stats.ttest_ind(a, b, axis=1).pvalue
        assert (p < row.alpha).mean() == pytest.approx(0.8, abs=0.016)  # 3.6 standard errors


def test_sizes_follow_the_shares():
    made = plan({EVERYBODY: 1000.0}, [VISIT, SPEND], THREE)
    assert made.tests == 4
    assert made.shares == pytest.approx({"control": 0.5, "mens": 0.3, "womens": 0.2})
    for row in made.rows:
        assert row.alpha == pytest.approx(0.05 / 4)
        assert row.control == pytest.approx(row.treated * 0.5 / row.share, abs=2)
        assert row.days == math.ceil(max(row.treated / row.share, row.control / 0.5) / 1000)
        assert row.smallest(row.days, made.power) == pytest.approx(row.metric.lift, rel=0.03)
        assert row.smallest(row.days, made.power) <= row.metric.lift < row.smallest(row.days - 1, made.power)
    assert made.days == max(row.days for row in made.rows if row.metric is VISIT)  # the guardrail does not decide
    assert made.frame().query("number == 'today'")["arm"].tolist() == ["mens", "womens"] * 2
    assert plan({EVERYBODY: 1000.0}, [VISIT, SPEND], THREE, adjustment="Dunnett").days < made.days


def test_a_plan_shares_alpha_among_what_decides():
    metrics = [
        Metric("click", 0.2, 0.15),
        Metric("stay", 0.5, 0.05, "guardrail"),
        Metric("other", 0.2, 0.15, "expected null"),
    ]
    made = plan({"A": 3000.0, "C": 400.0, "nobody": 0.0}, metrics, {"control": 3, "treated": 1})
    assert made.tests == 4  # a strategy that reaches nobody is not compared
    rows = {(row.strategy, row.metric.name): row for row in made.rows}
    assert rows["A", "click"].alpha == pytest.approx(0.05 / 4)
    assert rows["A", "other"].alpha == pytest.approx(0.05 / 2)  # a family of its own, as in the read-out
    row = rows["C", "click"]
    assert row.control == pytest.approx(3 * row.treated, abs=3)
    assert row.days == math.ceil(max(row.treated / 0.25, row.control / 0.75) / 400)
    assert row.days > rows["A", "click"].days
    assert not rows["nobody", "click"].feasible
    assert made.days == row.days
    assert made.weeks == math.ceil(row.days / 7)
    lifts = made.found_in([7, 14, 28]).set_index(["strategy", "metric", "day"])["value"].sort_index()
    assert lifts["C", "click", 7] > lifts["C", "click", 14] > lifts["C", "click", 28]
    assert lifts["nobody", "click"].isna().all()


def test_a_table_to_be_read():
    made = plan({"A": 4200.0}, [VISIT, SPEND], THREE)
    table = made.table()
    assert table["today"].tolist() == ["10.6%", "10.6%", "1.05", "1.05"]
    assert table["lift worth finding"].tolist() == ["10%", "10%", "20%", "20%"]
    assert table["customers per day"].unique() == ["4,200"]
    assert table["treated"].tolist() == [f"{row.treated:,}" for row in made.rows]
    assert made.split() == "control 50%, mens 30%, womens 20%"


@pytest.mark.parametrize(
    ("metrics", "options", "words"),
    [
        ([Metric("m", 0.9, 0.2)], {}, "enter a smaller lift"), ([Metric("m", 0.0, 0.2)], {}, "enter a value above 0"),
        ([Metric("m", 3.0, 0.2)], {}, "its standard deviation"), ([Metric("m", 0.1, 0.0)], {}, "lift above 0"),
        ([Metric("m", 5, 0.1, deviation=0.0)], {}, "standard deviation above 0"),
        ([Metric("m", 0.1, 0.1)], {"arms": {"a": 1, "b": 0}}, "share of 'b' is 0"),
        ([Metric("m", 0.1, 0.1)], {"arms": {"a": 1}}, "There are 1 arms"),
        ([Metric("m", 0.1, 0.1)], {"arms": dict.fromkeys("abcdefghijklm", 1)}, "There are 13 arms"),
        ([Metric("m", 0.1, 0.1)], {"power": 1.0}, "Power"),
        ([Metric("m", 0.1, 0.1, "guardrail")], {}, "primary metric"),
    ],
)  # fmt: skip
def test_a_bad_plan_is_refused_in_words(metrics, options, words):
    with pytest.raises(ExperimentError, match=words):
        plan({"A": 10.0}, metrics, **options)


def marks_of(plot, kind):
    return [mark for mark in plot.main.marks if type(mark).__name__ == kind]


def test_the_chart_says_when_the_lift_is_reached():
    made = plan({EVERYBODY: 3000.0}, [VISIT, SPEND])
    (row, _) = made.rows
    plot = made.describe()
    early = row.smallest(7, made.power)
    assert plot.title == f"A lift of 10% shows after {row.days} days; after a week only {early:.0%} would"
    (line,) = marks_of(plot, "Path")
    assert (np.diff(line.y) < 0).all()
    assert np.interp(row.days, line.x, line.y) == pytest.approx(row.smallest(row.days, made.power), rel=0.01)
    (reached,) = marks_of(plot, "Points")
    assert (reached.x[0], reached.y[0]) == (row.days, 0.1)
    assert plot.numbers.set_index("day")["value"][14] == pytest.approx(row.smallest(14, made.power))
    assert "shows after" in made.describe("spend").title


def test_one_line_per_comparison_that_differs():
    equal = plan({EVERYBODY: 3000.0}, [VISIT], dict.fromkeys("abc", 1)).describe()
    assert len(marks_of(equal, "Path")) == 1
    arms = plan({EVERYBODY: 3000.0}, [VISIT], THREE).describe()
    assert [line.name for line in marks_of(arms, "Path")] == ["mens", "womens"]
    assert "days for mens and" in arms.title
    both = plan({"A": 3000.0, "B": 900.0, "C": 0.0}, [VISIT]).describe()
    assert [line.name for line in marks_of(both, "Path")] == ["A", "B"]
    assert "for B" in both.title


def test_headlines_of_tests_that_are_short_or_never_end():
    def said(a_day):
        return plan({EVERYBODY: a_day}, [VISIT]).describe().title

    assert "shows after 1 day; after two weeks even" in said(100_000.0)
    assert "does not show within a year" in said(10.0)
    assert said(0.0) == "No customers are left to test visit on"
    slow = plan({"A": 3000.0, "B": 10.0}, [VISIT]).describe()
    assert "but not within a year for B" in slow.title


def test_a_strategy_is_planned_with_its_own_rate():
    metric = Metric("conversion", math.nan, 0.1)
    made = plan(
        {"A": 100.0, "C": 100.0, "nobody": 0.0}, [metric], today={("A", "conversion"): 0.58, ("C", "conversion"): 0.2}
    )
    a, c, nobody = made.rows
    for row, base in ((a, 0.58), (c, 0.2)):
        alone = plan({row.strategy: 100.0}, [Metric("conversion", base, 0.1)], alpha=0.025).rows[0]
        assert (row.metric.base, row.treated, row.days) == (base, alone.treated, alone.days)
    assert a.days < c.days / 4
    assert not nobody.feasible
    assert made.table()["today"].tolist() == ["58.0%", "20.0%", "not known"]
    with pytest.raises(ExperimentError, match="'conversion' is today for B is not known"):
        plan({"A": 100.0, "B": 1.0}, [metric], today={("A", "conversion"): 0.58})


MONDAY = date(2026, 11, 30)


@pytest.mark.parametrize("adjustment", ["Holm", "Dunnett"])
def test_what_can_be_seen_by_when_is_what_statsmodels_says(adjustment):
    """After 1, 2, 4, ... weeks, arms of unequal size, a rate and a mean: 80% power at the lift, by their own n."""
    mean = Metric("mean", 10.0, 0.1, deviation=25.0)
    made = plan({EVERYBODY: 500.0}, [VISIT, mean], THREE, adjustment=adjustment)
    for metric in (VISIT, mean):
        rows = made.comparisons(metric.name)
        seen = made.by_week(metric.name)
        assert list(seen["weeks"].unique()[:3]) == [1, 2, 4]
        assert seen["weeks"].max() >= made.weeks > seen["weeks"].unique()[-2] or made.weeks <= 2
        for one in seen.itertuples():
            row = rows[one.comparison]
            n, ratio = math.floor(500 * 7 * one.weeks * row.share), 0.5 / row.share
            lift, difference = seen.loc[one.Index, ["smallest lift", "smallest difference"]]
            assert difference == pytest.approx(lift * metric.base)
            if metric is VISIT:
                power = power_proportions_2indep(difference, metric.base, n, ratio, row.alpha, return_results=False)
                assert power == pytest.approx(0.8, abs=1e-4)
            else:
                wanted = TTestIndPower().solve_power(None, n, row.alpha, 0.8, ratio)
                assert difference / metric.deviation == pytest.approx(wanted, rel=1e-4)
        table = made.by_week_table(metric.name)
        assert list(table) == ["after", "customers", "mens", "womens"]
        assert table["after"].iloc[:2].tolist() == ["1 week", "2 weeks"]


@given(
    weekdays=st.lists(st.floats(0, 100), min_size=7, max_size=7).filter(lambda some: sum(some) > 1e-3),
    begin=st.dates(date(1990, 1, 1), date(2100, 1, 1)), worth=st.floats(0, 300),
)  # fmt: skip
def test_customers_come_on_weekdays_as_counted_day_by_day(weekdays, begin, worth):
    come = Arrivals(begin, tuple(weekdays))
    share = [weekdays[(begin + timedelta(k)).weekday()] / (sum(weekdays) / 7) for k in range(330)]
    for days in (0, 1, 6, 7, 30, 329):
        assert come.after(days) == pytest.approx(sum(share[:days]))
    days = come.until(worth)
    assert come.after(days) >= worth
    assert days == 0 or come.after(days - 1) < worth
    assert come.after(7 * 40) == pytest.approx(280)
    assert Arrivals(None, tuple(weekdays)).until(worth) == math.ceil(worth)


def test_a_plan_with_dates_says_them():
    shop = Arrivals(MONDAY, (1, 1, 1, 1, 1, 0, 0))
    dated, plain = (plan({EVERYBODY: 3000.0}, [VISIT], arrivals=one) for one in (shop, Arrivals()))
    assert dated.customers >= plain.rows[0].treated + plain.rows[0].control
    (row,) = dated.rows
    assert row.days == shop.until(plain.rows[0].treated / 0.5 / 3000)
    assert str(MONDAY + timedelta(row.days - 1)) in dated.describe().title
    assert dated.dates(14) == "2026-11-30 to 2026-12-13"
    assert f"({dated.dates(7 * dated.weeks)})" in dated.sentences()[0]
    assert dated.by_week_table()["until"].iloc[0] == "2026-12-06"
    assert plain.dates(14) == ""
    assert row.smallest(5, 0.8) < plain.rows[0].smallest(5, 0.8)  # a week's customers came in five days
    assert row.smallest(7, 0.8) == plain.rows[0].smallest(7, 0.8)
    assert Arrivals(date.max, ()).last(2) is None


def test_weekdays_are_those_of_the_table():
    days = pd.date_range("2026-11-30", "2027-01-03")
    rows = pd.Series(days.repeat(np.array([40, 10, 10, 10, 20, 0, 5])[days.day_of_week]))
    frame = pd.DataFrame({"day": rows, "few": rows.where(rows < rows[80])})
    table = as_table(frame.assign(n=1.0))
    assert weekdays_of(table, "day") == pytest.approx((40, 10, 10, 10, 20, 0, 5))
    for column, words in (("n", "has no dates"), ("gone", "has no dates"), ("few", "fewer than 14 days")):
        with pytest.raises(ExperimentError, match=words):
            weekdays_of(table, column)
    with pytest.raises(ExperimentError, match="seven numbers"):
        Arrivals(MONDAY, (1.0, 2.0))
