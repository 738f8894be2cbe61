"""Plans of boards: each strategy with its own rate, and one rate for all only where somebody wants that."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore import GAMRegressor
from gamcore.data.column_names import ColumnNames, Names
from gamcore.data.table import as_table
from gamcore.decide.arms import ArmsTest, read_arms
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.outcomes import Outcome
from gamcore.decide.rules import EVERYBODY, Levels, Range
from gamcore.decide.segments import Evidence, HeldOutRows
from gamcore.decide.shown import shown_read_out
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.decisions import plans
from shapewise.decisions.boards import strategy_for
from shapewise.decisions.plan_and_outcome import made_of, read_out
from shapewise.decisions.plans import form_of, metrics_of, otherwise, planned, proposed
from shapewise.ui.decide.plan import page

FACTS = {
    "rows": 100, "inside": 40, "mean": 0.3, "interval": (0.2, 0.4), "rest": 0.1, "opportunity": 0.2,
    "opportunity_interval": (0.1, 0.3), "contrast": 0.1, "agree": 1.0, "tried": 1, "binary": True,
}  # fmt: skip
ROWS = pd.DataFrame({"kind": np.repeat(["a", "b", "c"], 100)})


def board(*bases: float) -> StrategySet:
    return StrategySet("board", tuple(
        Strategy(name, Levels("kind", (name.lower(),)), base=base) for name, base in zip("ABC", bases, strict=False)
    ))  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_strategies_are_planned_with_their_own_rates(seed):
    bases = np.random.default_rng(seed).uniform(0.02, 0.6, 3).round(3)
    made = board(*bases)
    form = form_of({}, proposed(made))
    plan = planned(form, made, made.ledger(ROWS))
    assert [row.metric.base for row in plan.rows] == bases.tolist()
    alone = [planned(form_of({}, proposed(board(base))), board(base), board(base).ledger(ROWS)).rows[0].treated
             for base in bases]  # fmt: skip
    assert np.argsort(alone).tolist() == np.argsort([row.treated for row in plan.rows]).tolist()
    assert otherwise(form, made) == []


def test_one_rate_for_all_is_used_as_typed_and_said():
    made = board(0.58, 0.2)
    form = form_of({}, proposed(made))
    assert form["metrics"][0]["base"] is None
    form["metrics"][0]["base"] = 0.2
    assert {row.metric.base for row in planned(form, made, made.ledger(ROWS)).rows} == {0.2}
    assert otherwise(form, made) == ["A"]
    assert form_of({}, proposed(board(0.2, 0.2)))["metrics"][0]["base"] == 0.2


def test_a_rate_that_nothing_knows_is_asked_for():
    made = board(0.58, 0.2)
    form = form_of({}, [{"metric": "other", "base": None, "lift": 0.1}])
    with pytest.raises(ExperimentError, match="'other' is today for A is not known"):
        planned(form, made, made.ledger(ROWS))
    with pytest.raises(ExperimentError, match="Row 1 of the metrics is not complete"):
        metrics_of(form)


@pytest.mark.parametrize("bases", [(10.0, 14.0), (10.0, 10.0), (0.4, 0.7)], ids=str)
def test_strategies_for_a_mean_are_planned_with_its_spread_in_the_table(bases):
    frame = shop()
    regions = frame["region"].unique()
    made = StrategySet("board", tuple(
        Strategy(name, Levels("region", (region,)), metric="spend", base=base, is_rate=False)
        for name, region, base in zip("AB", regions, bases, strict=False)
    ))  # fmt: skip
    form = form_of({}, proposed(made, as_table(frame)))
    rows = planned(form, made, made.ledger(frame)).rows
    assert [row.metric.base for row in rows] == list(bases)
    assert [row.metric.deviation for row in rows] == pytest.approx([frame["spend"].std()] * 2)
    assert all(row.days > 0 for row in rows)


def test_rates_have_no_spread_of_their_own_and_what_is_no_column_asks_for_it():
    made, table = board(0.58, 0.2), as_table(ROWS.assign(conversion=np.arange(300.0)))
    assert [row["deviation"] for row in proposed(made, table)] == [None]
    elsewhere = StrategySet("board", (Strategy("A", EVERYBODY, metric="elsewhere", base=40.0, is_rate=False),))
    assert [row["deviation"] for row in proposed(elsewhere, table)] == [None]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("mean", [0.583, 0.135, 0.0, 41.0])
def test_a_strategy_begins_with_what_was_observed_in_its_segment(mean, binary):
    made = strategy_for("A", EVERYBODY, "Revenue", scenario=("id", "a model"), evidence=Evidence(**FACTS | {
        "mean": mean, "binary": binary}))  # fmt: skip
    assert (made.metric, made.base, made.is_rate, made.tested) == ("Revenue", mean, binary, 0)
    assert made.source == "assumed"


@pytest.mark.parametrize("change", [{"effect": "points"}, {"mean": float("nan")}, {"mean": -3.0}])
def test_a_strategy_begins_with_the_usual_rate_where_none_was_observed(change):
    made = strategy_for("A", EVERYBODY, "", scenario=("", ""), evidence=Evidence(**FACTS | change))
    assert (made.metric, made.base) == ("conversion", 0.1)


@given(mean=st.floats(1e-4, 0.9999) | st.floats(1.0, 1e6))
def test_the_level_that_a_strategy_begins_with_is_written_as_that_of_its_segment(mean):
    facts = Evidence(**FACTS | {"mean": mean, "binary": mean < 1})
    made = strategy_for("A", EVERYBODY, "", scenario=("", ""), evidence=facts)
    assert made.today.text == replace(facts.inside_result(), interval=(np.nan, np.nan)).text
    assert made.base == pytest.approx(mean, rel=1e-3)


def test_a_rate_per_unit_of_exposure_becomes_what_a_customer_has():
    """As the plan of the test and its read-out take it: the mean of the column."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 400), "years": rng.uniform(0.1, 3.0, 400)})
    claims = rng.poisson(0.2 * frame["years"])
    model = GAMRegressor(objective="poisson", max_rounds=5).fit(frame[["age"]], claims, exposure=frame["years"])
    facts = HeldOutRows(model.model_, frame, claims, exposure=frame["years"].to_numpy()).evidence(
        Range("age", low=50.0)
    )
    inside = frame["age"] >= 50
    assert facts.mean == pytest.approx(claims[inside].sum() / frame["years"][inside].sum())
    made = strategy_for("A", Range("age", low=50.0), "claims", scenario=("", ""), evidence=facts)
    assert made.base == pytest.approx(claims[inside].mean(), rel=1e-3)
    low, high = facts.per_row().interval
    assert low < claims[inside].mean() < high


def shop(n=4_000, seed=0):
    """Customers of two arms in two regions, their visits and what they spent."""
    rng = np.random.default_rng(seed)
    visits = rng.poisson(2, n)
    return pd.DataFrame({"arm": rng.choice(["new", "old"], n), "region": rng.choice(["north", "south"], n),
                         "visits": visits, "spend": visits * rng.gamma(0.5, 20, n)})  # fmt: skip


@pytest.mark.parametrize("cap", [0.0, 0.99])
def test_a_ratio_of_sums_is_planned_with_the_spread_of_the_delta_method(cap):
    """And the standard error that follows is the one that the read-out finds."""
    frame = shop()
    row = plans.metric_of(as_table(frame), Outcome("spend", "visits", cap))
    x, p = frame["spend"].clip(upper=frame["spend"].quantile(cap, "higher") if cap else None), frame["visits"]
    ratio = x.sum() / p.sum()
    moments = np.cov(x, p)
    variance = (moments[0, 0] - 2 * ratio * moments[0, 1] + ratio**2 * moments[1, 1]) / p.mean() ** 2
    assert (row["base"], row["deviation"]) == pytest.approx((ratio, np.sqrt(variance)), rel=1e-3)
    (metric,) = plans.metrics_of({"metrics": [row]})
    test = ArmsTest("arm", "old", {row["metric"]: "primary"}, outcomes=made_of({row["metric"]: row["outcome"]}))
    (effect,) = read_arms(frame, test).effects
    low, high = effect.difference_interval
    sizes = 1 / effect.treated.n + 1 / effect.control.n
    assert (high - low) / 2 / 1.96 == pytest.approx(metric.deviation * np.sqrt(sizes), rel=0.05)


def test_a_capped_mean_is_planned_with_the_spread_of_what_is_left():
    frame = shop()
    row = plans.metric_of(as_table(frame), Outcome("spend", cap=0.95))
    capped = np.minimum(frame["spend"], np.quantile(frame["spend"], 0.95, method="inverted_cdf"))
    assert (row["base"], row["deviation"]) == pytest.approx((capped.mean(), capped.std()))
    assert row["deviation"] < plans.metric_of(as_table(frame), Outcome("spend"))["deviation"]
    assert "outcome" not in plans.metric_of(as_table(frame), Outcome("spend"))


def test_made_outcomes_are_called_by_the_names_of_their_columns():
    row = plans.metric_of(as_table(shop()), Outcome("spend", "visits"))
    form = plans.form_of({"metrics": [row]}, [])
    names = Names({"spend": ColumnNames("Revenue"), "visits": ColumnNames("shop visit")})
    assert plans.planned_for_all(plans.named(form, names)).metrics == ("Revenue per shop visit",)
    assert plans.made_outcomes(form) == {"spend per visits": row["outcome"]}


@pytest.mark.parametrize("outcome", [Outcome("spend", "visits"), Outcome("spend", cap=0.99)], ids=str)
def test_strategies_are_read_by_ratios_and_capped_means(outcome):
    """Each among those who would get it, as a test of arms reads the same customers."""
    frame = shop()
    one = Strategy("N", Levels("region", ("north",)), "mail", metric=outcome.name, base=10.0, lift=(0.1, 0.2, 0.3))
    form = {"table": "t", "arm": "arm", "control": "old", "treated": ["new"], "roles": {outcome.name: "primary"},
            "before": {}, "outcomes": {outcome.name: asdict(outcome)}}  # fmt: skip
    made = read_out(StrategySet("Board", (one,)), "rows", form, [], lambda _, columns: frame[list(columns)])
    (effect,) = made.effects
    test = ArmsTest("arm", "old", {outcome.name: "primary"}, outcomes={outcome.name: outcome})
    (wanted,) = read_arms(frame[frame["region"] == "north"], test).effects
    assert (effect.difference, effect.p) == pytest.approx((wanted.difference, wanted.p))
    names = Names({"spend": ColumnNames("Revenue"), "visits": ColumnNames("visit")})
    (shown,) = shown_read_out(made, names).effects
    assert shown.metric == outcome.called(names)


@pytest.mark.parametrize("looks", [False, True])
def test_a_plan_of_one_week_a_day_and_a_comparison_reads_as_people_write(looks):
    made = StrategySet("board", (Strategy("A", EVERYBODY, base=0.4),))
    form = form_of({"a_day": 1e6, "looks": looks}, proposed(made))
    plan = planned(form, made, made.ledger(pd.DataFrame({"x": [1.0]})))
    assert plan.days == 1
    texts = [*plan.sentences(), page("one", plan, []), plan.describe().title]
    assert not any(re.search(r"(?<![\d.,])1 (weeks|days|comparisons|customers|rows)", text) for text in texts)
