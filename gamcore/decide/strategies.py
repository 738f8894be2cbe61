"""Strategies by priority: whom each reaches, what it loses to those above it, and what that may be worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.common.types import Bools, Ints
from gamcore.data.table import as_table
from gamcore.decide.results import Result, Source, money, table_of
from gamcore.decide.rules import EVERYBODY, Rule, RuleError
from gamcore.decide.rules_code import Cascade
from gamcore.decide.rules_json import from_dict, plain_text
from gamcore.decide.worth import Contribution, total
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

SCHEMA: Final = "shapewise-strategies/1"
MOST: Final = 1e12
"""Largest absolute value of an assumed number."""

MOST_STRATEGIES: Final = 16
"""A row's matches fit into the bits of an integer, so a short table of counts gives the ledger of any order."""


@dataclass(frozen=True)
class Strategy:
    """An action for a segment.

    rule : the segment. action : in words. metric : what it should improve. base : today's rate of that metric. lift :
    relative lifts: low, mid and high. value : of a conversion. cost : of reaching a customer. scenario : the
    model that suggested the segment, in words; model : its id. tested : customers of the test that measured the lifts,
    whose ends are then those of its 95% interval; 0 where they are assumed. is_rate : False where the
    base is known to be a mean.
    """

    name: str
    rule: Rule
    action: str = ""
    metric: str = "conversion"
    base: float = 0.1
    lift: tuple[float, float, float] = (0.05, 0.1, 0.2)
    value: float = 0.0
    cost: float = 0.0
    scenario: str = ""
    model: str = ""
    tested: int = 0
    is_rate: bool = True

    @property
    def source(self) -> Source:
        """Whether its lifts were measured or are assumed."""
        return "measured" if self.tested else "assumed"

    @property
    def today(self) -> Result:
        """Today's rate or mean."""
        source: Source = "observed" if self.tested else "assumed"
        return Result(self.base, source=source, is_rate=self.is_rate and self.base < 1)

    @property
    def lifted(self) -> Result:
        """Its relative lift."""
        low, mid, high = self.lift
        return Result(mid, (low, high), self.source, "relative", self.tested or None)

    @property
    def gap(self) -> Result:
        """Outcomes more per customer, from today's rate and the lift."""
        low, mid, high = (self.base * lift for lift in self.lift)
        is_rate = self.today.is_rate
        return Result(mid, (low, high), self.source, "difference", self.tested or None, is_rate=is_rate)

    def worth_of(self, reached: int, currency: str = "") -> Result:
        """Return the value of reaching this many customers, less what that costs."""
        low, mid, high = self.worth(reached)
        return money(mid, (low, high), currency, self.source, self.tested or None)

    def results(self, reached: int, currency: str = "") -> dict[str, Result]:
        """Return its numbers for this many customers: "today", "lift", "difference", and "worth" if it has a value."""
        worth = {"worth": self.worth_of(reached, currency)} if self.value else {}
        return {"today": self.today, "lift": self.lifted, "difference": self.gap, **worth}

    def worth(self, reached: int) -> tuple[float, float, float]:
        """Return the value of reaching this many customers under its lifts: low, mid and high."""
        gains, cost = [reached * self.base * lift * self.value for lift in self.lift], reached * self.cost
        low, mid, high = (0.0 if math.isclose(gain, cost, rel_tol=1e-12) else gain - cost for gain in gains)
        return low, mid, high

    def to_dict(self) -> dict[str, Any]:
        """Return the strategy as plain JSON."""
        return {**asdict(replace(self, rule=EVERYBODY)), "lift": list(self.lift), "rule": self.rule.to_dict()}

    @classmethod
    def from_dict(cls, plain: Any, place: str = "strategy") -> Strategy:
        """Read what `to_dict` returns; RuleError names what cannot be read."""
        if not isinstance(plain, dict) or not isinstance(plain.get("name"), str) or not plain["name"].strip():
            raise RuleError(f"{place} has to be an object with a name and a rule.")
        try:
            rule = from_dict(plain.get("rule"))
        except RuleError as error:
            raise RuleError(f"{place} ({plain['name']}): {error}") from error
        texts = {name: plain.get(name, "") for name in ("action", "scenario", "model")}
        texts["metric"] = plain.get("metric", "conversion")
        numbers = {
            name: plain.get(name, default)
            for name, default in (("base", 0.1), ("value", 0.0), ("cost", 0.0), ("tested", 0))
        }
        lift = plain.get("lift", [0.05, 0.1, 0.2])
        if not isinstance(lift, list) or len(lift) != 3:
            raise RuleError(f"{place} has a lift that is not three numbers: low, mid and high.")
        for name, number in (*numbers.items(), *(("lift", factor) for factor in lift)):
            known = isinstance(number, int | float) and not isinstance(number, bool)
            if not known or not abs(number) <= MOST or (name in ("base", "cost", "tested") and number < 0):
                raise RuleError(f"{place} has {str(number)[:40]!r} as {name}, which is not a valid number for it.")
        if sorted(lift) != lift:
            raise RuleError(f"{place} has lifts that do not increase from low to high.")
        for name, text in (("name", plain["name"]), *texts.items()):
            if not plain_text(text):
                raise RuleError(f"{place} has {str(text)[:40]!a} as {name}, which is not text.")
        low, mid, high = (float(factor) for factor in lift)
        tested = int(numbers.pop("tested"))
        floats = {name: float(number) for name, number in numbers.items()}
        others: dict[str, Any] = {"tested": tested, "is_rate": bool(plain.get("is_rate", True)), **texts, **floats}
        return cls(name=plain["name"], rule=rule, lift=(low, mid, high), **others)


def worth_of_all(reached: Sequence[tuple[Strategy, float]], currency: str = "") -> Result:
    """Return what reaching some customers by each strategy is worth, net of costs. Where a test measured all lifts, the
    interval is that of a sum of independent parts (`worth.total`); else its ends are those of all lifts at once."""
    if reached and all(strategy.tested for strategy, _ in reached):
        parts = [
            Contribution(n * strategy.value, strategy.gap.value, strategy.gap.interval, n * strategy.cost)
            for strategy, n in reached
        ]
        sum_of = total(parts)
        return money(sum_of.value, (sum_of.low, sum_of.high), currency, "measured")
    low, mid, high = (
        sum(n * (strategy.base * strategy.lift[k] * strategy.value - strategy.cost) for strategy, n in reached)
        for k in range(3)
    )
    return money(mid, (low, high), currency, "assumed")


@dataclass(frozen=True)
class Ledger(Explanation):
    """Rows of a table that each strategy reaches. Arrays are in order of priority, the highest first.

    raw : (k,) eligible rows that match a strategy's rule. lost : (k,) of these, rows that higher strategies take.
    exclusive : (k,) the rest, which it gets. lost_to : (k, k) rows that strategy i loses to the higher strategy j.
    overlap : (k, k) eligible rows that match both. Invariant: exclusive.sum() + remainder = eligible.
    """

    rows: int
    eligible: int
    raw: Ints
    lost: Ints
    exclusive: Ints
    remainder: int
    lost_to: Ints
    overlap: Ints

    def describe(self, names: Sequence[str] | None = None, detail: str = "", **words: Any) -> Plot:
        """Return a bar per strategy: whom it reaches. names : of the strategies, by default their numbers."""
        from gamcore.decide.plots.strategies import reach

        return reach(self, names or [f"strategy {k + 1}" for k in range(len(self.exclusive))], detail, **words)


def board_table(strategies: Sequence[Strategy], ledger: Ledger, currency: str = "") -> pd.DataFrame:
    """Return what a board says, as the table of a file: whom each strategy reaches, with a row per number of it
    (`results.table_of`); then those whom none reaches, and what all of it is worth where each strategy has a value."""
    rows: list[dict[str, Any]] = []
    counts = (ledger.raw.tolist(), ledger.lost.tolist(), ledger.exclusive.tolist())
    for strategy, raw, lost, reached in zip(strategies, *counts, strict=True):
        who = {"strategy": strategy.name, "raw reach": raw, "lost": lost, "exclusive reach": reached,
               "metric": strategy.metric}  # fmt: skip
        results = strategy.results(reached, currency)
        rows += [{**who, "number": name, **result.cells()} for name, result in results.items()]
    rows.append({"strategy": "(none)", "raw reach": ledger.remainder, "lost": 0, "exclusive reach": ledger.remainder})
    if strategies and all(strategy.value for strategy in strategies):
        every = worth_of_all(list(zip(strategies, ledger.exclusive.tolist(), strict=True)), currency)
        rows.append({"strategy": "(all)", "exclusive reach": int(ledger.exclusive.sum()), "number": "worth",
                     **every.cells()})  # fmt: skip
    return table_of(rows)


@dataclass(frozen=True)
class Matches:
    """How many rows match which rules: `patterns` (m, k) of matches, and `counts` (m,) of eligible rows per pattern."""

    rows: int
    patterns: Bools
    counts: Ints

    @classmethod
    def of(cls, gate: Bools, matched: Sequence[Bools]) -> Matches:
        """Count from masks: the eligible rows (n,), and the rows (n,) that match each rule."""
        if len(matched) > MOST_STRATEGIES:
            raise RuleError(f"There are {len(matched)} strategies, at most {MOST_STRATEGIES} are possible: merge some.")
        codes = np.zeros(gate.size, np.uint32)
        for k, rows in enumerate(matched):
            codes |= rows.astype(np.uint32) << np.uint32(k)
        counts = np.bincount(codes[gate], minlength=1)
        seen = np.flatnonzero(counts)
        patterns = (seen[:, None] >> np.arange(len(matched))) & 1 > 0
        return cls(gate.size, patterns, counts[seen].astype(np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Matches]) -> Matches:
        """Add up the matches of a table's parts, for the same rules."""
        patterns, place = np.unique(np.concatenate([part.patterns for part in parts]), axis=0, return_inverse=True)
        counts = np.bincount(place.ravel(), np.concatenate([part.counts for part in parts]), len(patterns))
        return cls(sum(part.rows for part in parts), patterns, counts.astype(np.int64))

    def ledger(self, order: Sequence[int]) -> Ledger:
        """Return the ledger for an order of the rules, the highest priority first."""
        patterns = self.patterns[:, list(order)]
        counts, k = self.counts, len(order)
        first = np.where(patterns.any(axis=1), patterns.argmax(axis=1), k) if k else np.zeros(counts.size, np.int64)
        exclusive = np.bincount(first, counts, k + 1).astype(np.int64)
        overlap = (patterns.astype(np.int64).T * counts) @ patterns.astype(np.int64)
        lost_to = np.zeros((k, k), np.int64)
        for taken_by in range(k):
            lost_to[:, taken_by] = counts[first == taken_by] @ patterns[first == taken_by].astype(np.int64)
        lost_to[np.diag_indices(k)] = 0
        raw = np.diag(overlap).copy()
        return Ledger(
            rows=self.rows,
            eligible=int(counts.sum()),
            raw=raw,
            lost=raw - exclusive[:k],
            exclusive=exclusive[:k],
            remainder=int(exclusive[k]),
            lost_to=lost_to,
            overlap=overlap,
        )


@dataclass(frozen=True)
class StrategySet:
    """Strategies, the highest priority first, for the rows that pass a gate."""

    name: str
    strategies: tuple[Strategy, ...] = ()
    gate: Rule = EVERYBODY

    def matches(self, frame: pd.DataFrame) -> Matches:
        """Return which rows of a table match which rules."""
        table = as_table(frame)
        return Matches.of(self.gate.holds(table), [strategy.rule.holds(table) for strategy in self.strategies])

    def ledger(self, frame: pd.DataFrame) -> Ledger:
        """Return which rows of a table each strategy reaches."""
        return self.matches(frame).ledger(range(len(self.strategies)))

    def assign(self, frame: pd.DataFrame) -> Ints:
        """Return the index (n,) of each row's strategy; -1 none, -2 not eligible."""
        table = as_table(frame)
        places = np.where(self.gate.holds(table), -1, -2)
        for k, strategy in enumerate(self.strategies):
            places[(places == -1) & strategy.rule.holds(table)] = k
        return places.astype(np.int64)

    def moved(self, place: int, to: int) -> StrategySet:
        """Return the set with one strategy moved to another place in the order."""
        left = list(self.strategies)
        left.insert(min(max(to, 0), len(left) - 1), left.pop(place))
        return replace(self, strategies=tuple(left))

    def cascade(self) -> Cascade:
        """Return its rules for export."""
        return Cascade(self.name, self.gate, tuple((strategy.name, strategy.rule) for strategy in self.strategies))

    def to_dict(self) -> dict[str, Any]:
        """Return the set as plain JSON."""
        return {
            "schema": SCHEMA, "name": self.name, "gate": self.gate.to_dict(),
            "strategies": [strategy.to_dict() for strategy in self.strategies],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, plain: Any) -> StrategySet:
        """Read what `to_dict` returns; RuleError names what cannot be read."""
        if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
            raise RuleError(
                f"This is not a set of strategies: its schema should be {SCHEMA!r}. Export one to see the form."
            )
        if not plain_text(plain.get("name")) or not isinstance(plain.get("strategies"), list):
            raise RuleError("A set of strategies needs a name, and a list of strategies.")
        if len(plain["strategies"]) > MOST_STRATEGIES:
            raise RuleError(f"There are {len(plain['strategies'])} strategies, at most {MOST_STRATEGIES} are possible.")
        listed = [Strategy.from_dict(strategy, f"strategies[{k}]") for k, strategy in enumerate(plain["strategies"])]
        strategies = cls(plain["name"], tuple(listed), from_dict(plain.get("gate", {"all": []})))
        strategies.cascade().check()
        return strategies
