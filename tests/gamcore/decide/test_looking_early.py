"""Tests that may be looked at before their end: read-outs that hold at every look, and plans that say what it costs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.arms_plan import plan
from gamcore.decide.by_day import by_day
from gamcore.decide.experiment_plan import ExperimentError, Metric
from gamcore.decide.experiment_readout import read_counts
from tests.support.by_strategy import read_strategies

CUSTOMERS = 20_000


def customers(n, rng, lift=0.0):
    """Customers of two arms with a rate and an amount."""
    arm = rng.integers(0, 2, n)
    rate = rng.random(n) < 0.2 + lift * arm
    spend, region = rng.gamma(2.0, 10.0 + 20 * lift * arm, n), rng.choice(["n", "s"], n)
    named = np.where(arm, "new", "old")
    return pd.DataFrame({"arm": named, "bought": rate.astype(int), "region": region, "spend": spend})


def arms_test(planned):
    return ArmsTest("arm", "old", {"bought": "primary", "spend": "primary"}, customers=planned)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0, 1.5])
def test_intervals_are_wider_around_the_same_differences(share):
    frame = customers(int(CUSTOMERS * share), np.random.default_rng(0), 0.02)
    once, always = read_arms(frame, arms_test(0)), read_arms(frame, arms_test(CUSTOMERS))
    for one, other in zip(once.effects, always.effects, strict=True):
        assert (other.difference, other.ratio) == (one.difference, one.ratio)
        assert other.difference_interval[0] < one.difference_interval[0] < one.difference_interval[1]
        assert one.difference_interval[1] < other.difference_interval[1]
        assert other.ratio_interval[0] < one.ratio_interval[0]
        assert other.p > one.p
        excluded = not other.difference_interval[0] < 0 < other.difference_interval[1]
        if abs(other.p - 0.05) > 0.01:  # a rate's p is of the pooled, its interval of the single variances
            assert (other.p < 0.05) == excluded
    assert "hold at every look" in always.intervals("relative")
    assert once.intervals("relative") == "95% intervals"


def test_rows_and_counts_of_strategies_are_read_the_same_way():
    frame = customers(CUSTOMERS, np.random.default_rng(0), 0.02)
    treated, strategy = (frame["arm"] == "new").to_numpy(), (frame["region"] == "s").to_numpy().astype(int)
    made = read_strategies(frame, treated, strategy, ["north", "south"], {"bought": "primary"}, customers=CUSTOMERS)
    counts = pd.DataFrame(
        [
            [name, "bought", int((t & at).sum()), int(frame["bought"][t & at].sum()), int((~t & at).sum()),
             int(frame["bought"][~t & at].sum())]
            for k, name in enumerate(["north", "south"]) for at in [strategy == k] for t in [treated]
        ], columns=["strategy", "metric", "treated", "treated successes", "control", "control successes"],
    )  # fmt: skip
    other = read_counts(counts, {"bought": "primary"}, customers=CUSTOMERS)
    fixed = read_counts(counts, {"bought": "primary"})
    for one, same, once in zip(made.effects, other.effects, fixed.effects, strict=True):
        assert one.difference_interval == pytest.approx(same.difference_interval)
        assert one.p_adjusted == pytest.approx(same.p_adjusted)
        assert one.p_adjusted > once.p_adjusted
    assert made.test.customers == CUSTOMERS


@pytest.mark.parametrize("scale", ["difference", "relative"])
def test_by_day_is_a_look_after_each_day(scale):
    frame = customers(6000, np.random.default_rng(0), 0.05).assign(day=np.repeat(np.arange(12), 500))
    dated = frame.assign(day=pd.Timestamp("2024-03-01") + pd.to_timedelta(frame["day"], "D"))
    made = by_day(dated, arms_test(6000), "bought", "day")
    days = [made.frame()["day"].unique()[k] for k in (0, 5, -1)]
    assert days == [pd.Timestamp("2024-03-01"), pd.Timestamp("2024-03-06"), pd.Timestamp("2024-03-12")]
    for day, effect in (made.looks[3], made.looks[-1]):
        until = read_arms(frame[frame["day"] <= day - made.looks[0][0]], arms_test(6000)).effects[0]
        assert effect.on(scale).interval == pytest.approx(until.on(scale).interval)
    since = made.cleared("new", scale)
    assert made.day_words(since) in made.describe(scale=scale).title
    assert all(e.on(scale).interval[0] <= 0 for day, e in made.looks if day < since)
    numbered = by_day(frame, arms_test(6000), "bought", "day")
    assert [e.gap for _, e in numbered.looks] == [e.gap for _, e in made.looks]
    assert "clear since day" in numbered.words()
    with pytest.raises(ExperimentError, match="has no dates"):
        by_day(frame, arms_test(0), "bought", "region")


def test_segments_hold_at_every_look_too():
    frame = customers(5000, np.random.default_rng(0), 0.02)
    once, always = (by_segment(frame, arms_test(n), "bought", "region") for n in (0, CUSTOMERS))
    assert always.p == once.p
    for one, other in zip(once.effects, always.effects, strict=True):
        assert other.difference_interval[0] < one.difference_interval[0]


def test_a_plan_says_what_looking_costs():
    metrics = [Metric("bought", 0.2, 0.1), Metric("spend", 20.0, 0.05, deviation=14.0)]
    once, always = (plan({"": 400.0}, metrics, looks=looks) for looks in (False, True))
    assert once.once == 0
    assert once.looking() == "Read it once, at the end."
    assert always.once == once.days
    assert 1.6 < always.days / once.days < 2.6
    assert f"costs {always.days - once.days} days" in always.looking()
    assert f"at most {always.days}" in always.sentences()[0]
    row, same = always.rows[0], once.rows[0]
    assert row.smallest(row.days, 0.8) == pytest.approx(0.1, rel=0.05)
    assert row.smallest(7, 0.8) > same.smallest(7, 0.8)
