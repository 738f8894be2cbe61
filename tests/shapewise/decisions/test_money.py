"""Money is asked for once in a project: tests, boards and reports begin from it, and all are net of costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.decide.arms import ArmsTest
from gamcore.decide.results import Result
from gamcore.decide.rules import Levels
from gamcore.decide.strategies import Strategy, StrategySet, worth_of_all
from gamcore.decide.worth import Contribution, total
from shapewise.decisions import arm_tests, boards, money
from shapewise.training.carry_over import add_version


@pytest.fixture
def table(space):
    return space.tables.add(pd.DataFrame({"kind": ["a", "b", "c", "c"], "sold": [0, 1, 0, 1]}), "mail")


def test_money_is_kept_with_the_project(space, table):
    assert money.of_table(space, table.id) == money.Money()
    money.keep(space, table.id, {"sold": 12.0}, cost=0.25)
    money.keep(space, table.id, currency="EUR")
    assert money.of_table(space, table.id) == money.Money({"sold": 12.0}, 0.25, "EUR")
    money.keep(space, table.id, {"sold": None}, cost=0.0)
    assert money.of_table(space, table.id) == money.Money(currency="EUR")
    assert money.of_table(space, "gone") == money.Money()


def test_a_newer_version_of_the_table_begins_from_it(space, table):
    money.keep(space, table.id, {"sold": 12.0}, currency="EUR")
    newer = pd.DataFrame({"kind": ["a", "b"], "sold": [0, 1]})
    made, _ = add_version(space, space.tables.about(table.id), lambda: space.tables.add(newer, "mail"))
    assert money.of_table(space, made.id) == money.of_table(space, table.id)


def test_what_older_versions_kept_with_a_test_or_a_board_still_counts(space, table):
    test = arm_tests.keep(space, table.id, "Mail", ArmsTest("kind", "a", {"sold": "primary"}))
    space.edit(arm_tests.KIND, test.id, lambda about: about | {"money": {"amount": 9.0, "cost": 0.5, "currency": "$"}})
    assert money.of_table(space, table.id) == money.Money({"sold": 9.0}, 0.5, "$")
    money.keep(space, table.id, {"sold": 10.0})
    assert money.of_table(space, table.id) == money.Money({"sold": 10.0}, 0.5, "$")


def test_a_board_is_worth_what_its_project_says(space, table):
    own = Strategy("B", Levels("kind", ("b",)), metric="sold", value=3.0, cost=0.5)
    made = StrategySet("board", (Strategy("A", Levels("kind", ("a",)), metric="sold"), own))
    board = boards.add_board(space, made, table.id)
    money.keep(space, table.id, {"sold": 12.0})

    def priced(board):
        those = money.priced(board, made, money.of_table(space, table.id)).strategies
        return [(one.value, one.cost) for one in those]

    assert priced(board) == [(12.0, 0.0), (3.0, 0.5)]
    money.keep(space, table.id, cost=0.25)  # typed after the strategies were made
    assert priced(board) == [(12.0, 0.25), (3.0, 0.5)]
    assert priced(boards.change(space, board.id, money={"amount": 20.0})) == [(20.0, 0.25), (20.0, 0.5)]


@pytest.mark.parametrize("seed", range(5))
def test_a_total_has_the_interval_of_its_sum_where_all_was_measured(seed):
    rng = np.random.default_rng(seed)
    strategies = [
        (Strategy(name, Levels("kind", (name,)), base=base, lift=(mid - half, mid, mid + half), value=value, cost=cost,
                  tested=500), n)
        for name, base, mid, half, value, cost, n in zip(
            "abc", rng.uniform(0.05, 0.5, 3), rng.uniform(0, 0.5, 3), rng.uniform(0.05, 0.2, 3), rng.uniform(1, 50, 3),
            rng.uniform(0, 1, 3), rng.integers(100, 9_000, 3), strict=True)
    ]  # fmt: skip
    shown = worth_of_all(strategies, "EUR")
    parts = [Contribution(n * one.value, one.base * one.lift[1], (one.base * one.lift[0], one.base * one.lift[2]),
                          n * one.cost) for one, n in strategies]  # fmt: skip
    wanted = total(parts)
    assert (shown.value, *shown.interval) == pytest.approx((wanted.value, wanted.low, wanted.high))
    assert (shown.source, shown.scale) == ("measured", "sum")
    guessed = worth_of_all([(replace(one, tested=0), n) for one, n in strategies])
    ends = np.sum([one.worth(n) for one, n in strategies], axis=0)
    assert (guessed.interval[0], guessed.value, guessed.interval[1]) == pytest.approx(tuple(ends))
    assert guessed.source == "assumed"
    assert guessed.interval[0] < shown.interval[0] < shown.interval[1] < guessed.interval[1]
    mixed = worth_of_all([strategies[0], (replace(strategies[1][0], tested=0), 10)])
    assert isinstance(mixed, Result)
    assert mixed.source == "assumed"  # a part that was assumed makes the sum assumed
