"""Money of a project, asked for once: what one more of each outcome is worth, what it costs to reach a customer, and
the currency. Tests, boards and reports begin from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gamcore.decide.strategies import StrategySet
from shapewise.decisions import arm_tests, boards
from shapewise.decisions.boards import Board
from shapewise.errors import StoreError
from shapewise.store.workspace import Workspace


@dataclass(frozen=True)
class Money:
    """worth : of one more of an outcome, by its column. cost : of reaching a customer. currency : "" for none given."""

    worth: Mapping[str, float] = field(default_factory=dict)
    cost: float = 0.0
    currency: str = ""

    def of(self, outcome: str) -> float:
        """Return what one more of an outcome is worth; 0 where nobody has said."""
        return self.worth.get(outcome, 0.0)


def of_table(space: Workspace, table: str) -> Money:
    """Return the money of a table's project: nothing where the table is gone. What older versions of Shapewise kept
    with a test or a board counts until something is given for the project."""
    try:
        kept = space.tables.about(table).money
    except StoreError:
        return Money()
    if not kept:
        kept = _older(space, table)
    worth = {name: float(value) for name, value in kept.get("worth", {}).items() if value}
    return Money(worth, float(kept.get("cost") or 0.0), str(kept.get("currency") or ""))


def _older(space: Workspace, table: str) -> dict[str, Any]:
    tests = [test for test in arm_tests.tests(space, {table}) if test.money]
    given = [*(test.money for test in tests), *(board.money for board in boards.boards(space, table))]
    kept: dict[str, Any] = {"currency": next(filter(None, (amounts.get("currency") for amounts in given)), "")}
    if tests:
        metric = next(iter(tests[0].metrics), "")
        kept |= {"worth": {metric: tests[0].money.get("amount")}, "cost": tests[0].money.get("cost")}
    return kept


def keep(
    space: Workspace, table: str, worth: Mapping[str, float | None] | None = None, *,
    cost: float | None = None, currency: str | None = None,
) -> None:  # fmt: skip
    """Store what is given, None for what stays as it is; of `worth`, None or 0 forgets an outcome's."""
    now = of_table(space, table)
    amounts = {
        "worth": {name: value for name, value in {**now.worth, **(worth or {})}.items() if value},
        "cost": now.cost if cost is None else cost, "currency": now.currency if currency is None else currency,
    }  # fmt: skip
    space.edit("tables", table, lambda about: about | {"money": amounts})


def priced(board: Board, strategies: StrategySet, money: Money) -> StrategySet:
    """Return strategies with what one more outcome of each is worth, the amount given for the whole board, else their
    own value, else that of their metric in the project; and with their own cost of a customer, else the project's."""
    amount = float(board.money.get("amount") or 0.0)
    return replace(strategies, strategies=tuple(
        replace(strategy, value=amount or strategy.value or money.of(strategy.metric), cost=strategy.cost or money.cost)
        for strategy in strategies.strategies
    ))  # fmt: skip
