"""Changes of a board are undone, one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gamcore.decide.rules import Range
from gamcore.decide.strategies import Strategy, StrategySet
from shapewise.decisions import boards, earlier
from shapewise.store.workspace import StoreError

TABLE = "0" * 16


def random_change(rng):
    """Return a change of a set of strategies: one more, one less, another order, or another name."""

    def changed(made):
        kind = rng.choice(["add", "move", "remove", "rename", "nothing"])
        last = len(made.strategies) - 1
        if kind == "add":
            added = Strategy(f"s{rng.integers(10**9)}", Range("x", float(rng.normal()), None))
            return replace(made, strategies=(*made.strategies, added))
        if kind == "rename":
            return replace(made, name=f"board {rng.integers(10**9)}")
        if kind == "remove" and last >= 0:
            return replace(made, strategies=made.strategies[:-1])
        if kind == "move" and last > 0:
            return made.moved(last, 0)
        return made

    return changed


@pytest.mark.parametrize("seed", range(5))
def test_each_change_is_undone_by_a_press(space, seed):
    rng = np.random.default_rng(seed)
    made = boards.add_board(space, StrategySet("first"), TABLE)
    states = [made]
    for _ in range(12):
        after = boards.change(space, made.id, strategies=random_change(rng))
        if after.strategies != states[-1].strategies:  # what changed nothing is no step
            states.append(after)
    for before in states[-2::-1]:
        back = boards.undo(space, made.id)
        assert (back.name, back.strategies) == (before.name, before.strategies)
        assert back.read() == before.read()
    with pytest.raises(StoreError, match="no change"):
        boards.undo(space, made.id)


def test_what_is_planned_and_read_meanwhile_stays(space):
    made = boards.add_board(space, StrategySet("first"), TABLE)
    boards.change(space, made.id, strategies=lambda now: replace(now, name="second"))
    boards.change(space, made.id, plan={"days": 14}, outcome={"arm": "a"}, money={"amount": 3.0})
    back = boards.undo(space, made.id)
    assert (back.name, back.plan, back.outcome, back.money) == ("first", {"days": 14}, {"arm": "a"}, {"amount": 3.0})


def test_only_the_last_changes_of_seven_days_can_be_undone(space, monkeypatch):
    made = boards.add_board(space, StrategySet("first"), TABLE)
    for k in range(earlier.MOST_UNDONE + 5):
        after = boards.change(space, made.id, strategies=lambda now, k=k: replace(now, name=f"name {k}"))
    assert len(after.earlier) == earlier.MOST_UNDONE
    monkeypatch.setattr(earlier, "UNDO", -earlier.UNDO)  # all that was changed is older
    assert boards.recent(after) == []
    with pytest.raises(StoreError, match="seven days"):
        boards.undo(space, made.id)
