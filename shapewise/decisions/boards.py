"""Stored segments and boards of strategies.

A segment is a rule read off a model's curve, with its evidence from held-out rows. A board is a set of strategies on a
table, with its plan and the source of its experiment's results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from gamcore.common.numbers import EXACT_DIGITS, decimals_of
from gamcore.decide.results import Result
from gamcore.decide.rules import Rule, RuleError
from gamcore.decide.rules_json import from_dict
from gamcore.decide.segments import Evidence
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.stats.intervals import UNKNOWN
from shapewise.decisions.earlier import recent as recent_of
from shapewise.decisions.earlier import undone, with_change
from shapewise.store.names import known
from shapewise.store.workspace import Workspace, clean_name, new_id, now

DIGITS: Final = 4
"""Fewest of the level of today that a new strategy begins with."""


@dataclass(frozen=True)
class SavedSegment:
    """A stored rule, the model that it was read off, and its evidence at the time. metric : what the evidence is of; ""
    in older versions."""

    id: str
    name: str
    table: str
    model: str
    scenario: str
    rule: dict[str, Any]
    created: str
    evidence: dict[str, Any] = field(default_factory=dict)
    metric: str = ""

    def read(self) -> Rule:
        """Return the rule."""
        return from_dict(self.rule)

    def known_evidence(self) -> Evidence | None:
        """Return the evidence, if there was any."""
        if not self.evidence:
            return None
        known = {name: _unknown(value) for name, value in self.evidence.items()}
        return Evidence(**known | {"effect": self.evidence.get("effect")})  # which is absent where it is null


@dataclass(frozen=True)
class Board:
    """A stored set of strategies for a table; `plan` and `outcome` hold the state of the Experiment page. money : what
    one more outcome is worth (`amount`; without one, each strategy's own value); see `decisions.money`. earlier : what
    the strategies were before each of the last changes (`strategies`), and when that was (`changed`), the latest
    last."""

    id: str
    name: str
    table: str
    created: str
    strategies: dict[str, Any]
    plan: dict[str, Any] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)
    money: dict[str, Any] = field(default_factory=dict)
    earlier: list[dict[str, Any]] = field(default_factory=list)

    def read(self) -> StrategySet:
        """Return the strategies."""
        return StrategySet.from_dict(self.strategies)


def _unknown(value: Any) -> Any:
    """Return a stored number, or the ends of an interval, with NaN for null, as `_plain` stores it."""
    if isinstance(value, list):
        return tuple(map(_unknown, value))
    return math.nan if value is None else value


def _plain(value: Any) -> Any:
    """Replace NaN by null and tuples by lists, as JSON has neither."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return None if isinstance(value, float) and value != value else value


def add_segment(
    workspace: Workspace, name: str, rule: Rule, table: str, scenario: tuple[str, str], evidence: Evidence | None,
    metric: str = "",
) -> SavedSegment:  # fmt: skip
    """Store a segment. scenario : id and name of its model. metric : what its evidence is of."""
    numbers = asdict(evidence) if evidence else {}
    saved = SavedSegment(
        id=new_id(),
        name=clean_name(name),
        table=table,
        model=scenario[0],
        scenario=scenario[1],
        rule=rule.to_dict(),
        created=now(),
        evidence=_plain(numbers),
        metric=metric,
    )
    workspace.add("segments", saved.id, _plain(asdict(saved)))
    return saved


def segment(workspace: Workspace, identifier: str) -> SavedSegment:
    """Return a stored segment."""
    return known(SavedSegment, workspace.thing("segments", identifier).about)


def segments(workspace: Workspace, table: str | None = None) -> list[SavedSegment]:
    """Return the segments of a table, or all, oldest first."""
    saved = workspace.listed("segments", _segment)
    return [kept for kept in saved if table in (None, kept.table)]


def _segment(kept: dict[str, Any]) -> SavedSegment:
    segment = known(SavedSegment, kept)
    segment.read()
    return segment


def strategy_for(name: str, rule: Rule, metric: str, scenario: tuple[str, str], evidence: Evidence | None) -> Strategy:
    """Return a new strategy for a segment, with the level that was observed inside as that of today: per customer, also
    where the model's is per unit of exposure. metric : what the segment's model predicts; "" where it is not known.
    scenario: id and name of that model."""
    usual = Strategy(name, rule, scenario=scenario[1], model=scenario[0])
    if evidence is None or evidence.effect is not None or not evidence.mean >= 0:
        return replace(usual, metric=metric or usual.metric)
    return replace(
        usual,
        metric=metric or usual.metric,
        base=_typed(replace(evidence.per_row(), interval=UNKNOWN)),
        is_rate=evidence.binary,
    )


def _typed(level: Result) -> float:
    """Return a level with the fewest digits, at least `DIGITS`, with which it is written as with all of them: what was
    rounded is rounded again where it is shown."""
    shorter = (round(level.value, decimals_of([level.value], digits)) for digits in range(DIGITS, EXACT_DIGITS))
    return next((value for value in shorter if replace(level, value=value).text == level.text), level.value)


def add_board(workspace: Workspace, strategies: StrategySet, table: str) -> Board:
    """Store a new set of strategies."""
    named = replace(strategies, name=clean_name(strategies.name))
    board = Board(new_id(), named.name, table, now(), named.to_dict())
    workspace.add("boards", board.id, _plain(asdict(board)))
    return board


def board(workspace: Workspace, identifier: str) -> Board:
    """Return a stored board; RuleError if its strategies cannot be read."""
    return _board(workspace.thing("boards", identifier).about)


def _board(kept: dict[str, Any]) -> Board:
    board = known(Board, kept)
    board.read()
    return board


def boards(workspace: Workspace, table: str | None = None) -> list[Board]:
    """Return the boards of a table, or all, oldest first."""
    return [kept for kept in workspace.listed("boards", _board) if table in (None, kept.table)]


def change(
    workspace: Workspace,
    identifier: str,
    strategies: Callable[[StrategySet], StrategySet] | None = None,
    plan: dict[str, Any] | None = None,
    outcome: dict[str, Any] | None = None,
    money: dict[str, Any] | None = None,
) -> Board:
    """Change the current state of a board: another person's concurrent changes to other parts are kept.

    strategies : computes the new set from the present one. plan : the new plan. outcome, money : entries that override
    those stored. RuleError if two strategies have the same name, StoreError if the board is gone."""

    def changed(kept: dict[str, Any]) -> dict[str, Any]:
        now_is = _board(kept)
        if strategies is not None:
            computed = strategies(now_is.read())
            computed.cascade().check()
            if not computed.name.strip():
                raise RuleError("Give the board a name.")
            now_is = _with_strategies(now_is, computed)
        if plan is not None:
            now_is = replace(now_is, plan=plan)
        if outcome is not None:
            now_is = replace(now_is, outcome={**now_is.outcome, **outcome})
        if money is not None:
            now_is = replace(now_is, money={**now_is.money, **money})
        return kept | dict(_plain(asdict(now_is)))

    return _board(workspace.edit("boards", identifier, changed))


def _with_strategies(board: Board, others: StrategySet) -> Board:
    """Return a board with other strategies, which remembers those that it had."""
    strategies = _plain(others.to_dict())
    if strategies == board.strategies:
        return board
    earlier = with_change(board.earlier, {"strategies": board.strategies})
    return replace(board, name=clean_name(others.name), strategies=strategies, earlier=earlier)


def recent(board: Board) -> list[dict[str, Any]]:
    """Return what a board was before each change that can be undone, the latest last."""
    return recent_of(board.earlier)


def undo(workspace: Workspace, identifier: str, changed: str = "") -> Board:
    """Undo the latest change of a board's name, order or strategies, whoever made it; StoreError if there is none.

    changed : when the change was made that is meant; StoreError if another came after it."""

    def back(kept: dict[str, Any]) -> dict[str, Any]:
        others, last = undone(_board(kept).earlier, changed)
        return kept | {
            "strategies": last["strategies"],
            "name": clean_name(last["strategies"]["name"]),
            "earlier": others,
        }

    return _board(workspace.edit("boards", identifier, back))
