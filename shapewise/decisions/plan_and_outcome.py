"""The results of a board's test, computed from its stored settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.data.columns import read_present_texts
from gamcore.decide.arms import ArmsTest, ByStrategy, ReadOut, read_arms
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.experiment_readout import COUNTS, read_counts
from gamcore.decide.outcomes import Outcome
from gamcore.decide.strategies import StrategySet
from shapewise.store.names import known

RULES: Final = "by the rules of the board"
"""Stands for a column that names the strategy each row would get."""


def made_of(kept: Mapping[str, dict[str, Any]]) -> dict[str, Outcome]:
    """Return outcomes that are made of columns, by name, as they are stored."""
    return {name: known(Outcome, about) for name, about in kept.items()}


def read_out(
    strategies: StrategySet, way: str, form: dict[str, Any], metrics: Sequence[dict[str, Any]],
    frame_of: Callable[[str, Sequence[str]], pd.DataFrame], customers: int = 0,
) -> ReadOut:  # fmt: skip
    """Return the results of an experiment.

    way : "rows" of a table, or "counts"; form : the rows or counts, as a board stores them. metrics : of the plan, for
    the expected lifts. frame_of : returns all rows of a table by its id, with at least the given columns. customers :
    of the whole test, if it may be looked at whenever one likes; else 0."""
    names = [strategy.name for strategy in strategies.strategies]
    hoped = {(name, row["metric"]): row["lift"] for row in metrics for name in names if row.get("lift")}
    if way == "counts":
        frame = pd.DataFrame(form["counts"], columns=list(COUNTS)).dropna()
        return read_counts(frame, form["roles"], form["share"], hoped, names=names, customers=customers)
    by_rules = form.get("by", RULES) == RULES
    named = strategies.cascade().columns if by_rules else [form["by"]]
    made_outcomes = made_of(form.get("outcomes", {}))
    measured = [column for name in form["roles"] for column in made_outcomes.get(name, Outcome(name)).columns]
    asked = dict.fromkeys([form["arm"], *named, *measured, *form["before"].values()])
    frame = frame_of(form["table"], list(asked))
    test = replace(test_of(form, read_present_texts(frame[form["arm"]])[1]), customers=customers)
    notes: tuple[str, ...] = ()
    if by_rules:
        strategies, notes = readable(strategies, frame.columns)
        names = [strategy.name for strategy in strategies.strategies]
        place = strategies.assign(frame)
    else:
        codes, labels = read_present_texts(frame[form["by"]])
        place = np.array([names.index(label) if label in names else -1 for label in labels] + [-1])[codes]
    return replace(read_arms(frame, test, by=ByStrategy(place, names, hoped)), notes=notes)


def test_of(form: dict[str, Any], levels: Sequence[str]) -> ArmsTest:
    """Return how the test of a board was set up, from its stored form. levels : of the arm, in all rows. Older forms
    name one treated arm of two, and its share."""
    treated = [form["treated"]] if isinstance(form["treated"], str) else list(form["treated"])
    rest = [level for level in levels if level not in treated]
    if "control" not in form and len(rest) != 1:
        raise ExperimentError(
            f"{form['arm']!r} has {len(levels)} values among all rows: choose which of them is the control."
        )
    if not treated:
        raise ExperimentError("Choose at least one treated arm.")
    control = form.get("control", rest[0] if rest else "")
    planned = form.get("shares") or {}  # an arm that was planned, and nobody got, is an alarm and no slip of a name
    share = form.get("share", 0.5)
    usual = {control: 1 - share, treated[0]: share} if len(treated) == 1 else dict.fromkeys((control, *treated), 1.0)
    shares = {name: part for name, part in (usual | planned).items() if name in levels or name in planned}
    return ArmsTest(form["arm"], control, form["roles"], shares=shares, before=form["before"] or None,
                    outcomes=made_of(form.get("outcomes", {})), treated=tuple(treated))  # fmt: skip


def readable(strategies: StrategySet, columns: Collection[str]) -> tuple[StrategySet, tuple[str, ...]]:
    """Return the strategies whose rules a table can answer, and a sentence on each of the others. ExperimentError
    where none is left, or where who is eligible cannot be told."""
    gone = [name for name in strategies.gate.columns if name not in columns]
    if gone:
        raise ExperimentError(f"The table has no column {gone[0]!r}, which says who is eligible: add it, or choose a "
                              "column that names the strategy of each row.")  # fmt: skip
    left, notes = [], []
    for k, strategy in enumerate(strategies.strategies):
        gone = [name for name in strategy.rule.columns if name not in columns]
        if not gone:
            left.append(strategy)
            continue
        below = " Its customers count for the strategies below it." if k + 1 < len(strategies.strategies) else ""
        notes.append(f"{strategy.name} cannot be read: the table has no column {gone[0]!r}.{below}")
    if not left:
        raise ExperimentError(f"No strategy can be read, as the table has no column {gone[0]!r}: add it, or choose a "
                              "column that names the strategy of each row.")  # fmt: skip
    return replace(strategies, strategies=tuple(left)), tuple(notes)
