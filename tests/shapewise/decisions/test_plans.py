"""Plans of boards: each strategy with its own rate, and one rate for all only where somebody wants that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.rules import EVERYBODY, Levels
from gamcore.decide.segments import Evidence
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.decisions.boards import strategy_for
from shapewise.decisions.plans import form_of, metrics_of, otherwise, planned, proposed

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
