"""Results of tests as people name them: outcomes and arms by their shown names, values with their units.

What is returned is for tables, plots and sentences. Whatever looks a column up needs the result as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from gamcore.data.column_names import Names
from gamcore.decide.arms import ArmSizes, ArmsTest, ReadOut, Segments
from gamcore.decide.by_day import ByDay
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.outcomes import Outcome

Value = TypeVar("Value")


def shown_read_out(read_out: ReadOut, names: Names) -> ReadOut:
    """Return what a test measured, with the names of its table; strategies keep those that their board gave them."""
    test, arm = read_out.test, _arms_of(read_out.test, names)

    def called(metric: str) -> str:
        return test.outcome(metric).called(names)

    def size(sizes: ArmSizes) -> ArmSizes:
        return replace(sizes, counts=_keys(sizes.counts, arm), planned=_keys(sizes.planned, arm))

    def effect(measured: Effect) -> Effect:
        own = measured.strategy if read_out.by_strategy else arm(measured.strategy)
        return replace(_effect(measured, names, test.outcome(measured.metric)), strategy=own, arm=arm(measured.arm))

    return replace(
        read_out,
        test=_test(test, names),
        arms=tuple(map(arm, read_out.arms)),
        sizes={called(key) if key in test.metrics else key: size(sizes) for key, sizes in read_out.sizes.items()},
        effects=tuple(map(effect, read_out.effects)),
        by_strategy={name: size(sizes) for name, sizes in read_out.by_strategy.items()},
    )


def shown_between(pairs: Sequence[tuple[str, Effect]], names: Names, test: ArmsTest) -> list[tuple[str, Effect]]:
    """Return differences between the arms of a test with the names of their table."""
    level = _arms_of(test, names)
    return [
        (level(other), replace(_effect(effect, names, test.outcome(effect.metric)), strategy=level(effect.strategy)))
        for other, effect in pairs
    ]


def shown_by_day(lifts: ByDay, names: Names, test: ArmsTest) -> ByDay:
    """Return the lifts by day of a test with the names of their table."""
    level = _arms_of(test, names)
    looks = (
        (day, replace(_effect(effect, names, test.outcome(effect.metric)), strategy=level(effect.strategy)))
        for day, effect in lifts.looks
    )
    return replace(lifts, metric=test.outcome(lifts.metric).called(names), control=level(lifts.control),
                   looks=tuple(looks))  # fmt: skip


def shown_segments(lifts: Segments, names: Names, test: ArmsTest, column: str = "") -> Segments:
    """Return lifts by segment of a test with the names of their table.

    column : the one whose levels or ranges the segments are; "" where they are something else, such as strategies.
    """
    outcome, arm = test.outcome(lifts.metric), _arms_of(test, names)
    effects = tuple(
        replace(
            effect, strategy=_segment(effect.strategy, names, column), metric=arm(effect.metric),
            measure=outcome.measure(names),
        )
        for effect in lifts.effects
    )  # fmt: skip
    p, p_relative = (_keys(p, arm) for p in (lifts.p, lifts.p_relative))
    named = names.column(column) if column else lifts.column
    return replace(lifts, column=named, metric=outcome.called(names), effects=effects, p=p, p_relative=p_relative,
                   control=arm(lifts.control))  # fmt: skip


def _test(test: ArmsTest, names: Names) -> ArmsTest:
    arm = partial(names.level, test.arm)
    called = {metric: test.outcome(metric).called(names) for metric in test.metrics}
    before = {called[metric]: names.column(past) for metric, past in (test.before or {}).items()}
    return replace(
        test, arm=names.column(test.arm), control=arm(test.control), metrics=_keys(test.metrics, called.__getitem__),
        shares=None if test.shares is None else _keys(test.shares, arm), before=before or None,
        outcomes={called[name]: outcome.shown(names) for name, outcome in test.outcomes.items() if name in called},
        pooled=tuple(map(arm, test.pooled)), treated=tuple(map(arm, test.treated)),
        accepted={called[metric]: share for metric, share in test.accepted.items() if metric in called},
    )  # fmt: skip


def _arms_of(test: ArmsTest, names: Names) -> Callable[[str], str]:
    """Return how its arms, and the pooled ones together, are called."""
    together = {test.pool: _test(test, names).pool} if test.pool else {}
    return lambda arm: together.get(arm) or names.level(test.arm, arm)


def _effect(effect: Effect, names: Names, outcome: Outcome) -> Effect:
    return replace(effect, metric=outcome.called(names), measure=outcome.measure(names))


def _segment(label: str, names: Names, column: str) -> str:
    """Return a level, or a range of numbers, as it is called."""
    own = names.of(column)
    return own.measure.dress(label) if " to " in label and label not in own.levels else names.level(column, label)


def _keys(values: Mapping[str, Value], named: Callable[[str], str]) -> dict[str, Value]:
    return {named(key): value for key, value in values.items()}
