"""Results of tests as people name them: outcomes and arms by their shown names, values with their units.

What is returned is for tables, plots and sentences. Whatever looks a column up needs the result as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from gamcore.data.column_names import Names
from gamcore.decide.arms import ArmSizes, ArmsReadOut, ArmsTest, Segments
from gamcore.decide.by_day import ByDay
from gamcore.decide.experiment_effects import Effect, ReadOut, SampleRatio
from gamcore.decide.outcomes import Outcome

Value = TypeVar("Value")


def shown_arms(made: ArmsReadOut, names: Names) -> ArmsReadOut:
    """Return what a test of arms measured, with the names of its table."""
    test, arm = made.test, _arms_of(made.test, names)

    def called(metric: str) -> str:
        return test.outcome(metric).called(names)

    def size(of: ArmSizes) -> ArmSizes:
        return replace(of, counts=_keys(of.counts, arm), planned=_keys(of.planned, arm))

    return replace(
        made,
        test=_test(made.test, names),
        arms=tuple(map(arm, made.arms)),
        sizes={called(key) if key in test.metrics else key: size(of) for key, of in made.sizes.items()},
        effects=tuple(
            replace(_effect(one, names, test.outcome(one.metric)), strategy=arm(one.strategy)) for one in made.effects
        ),
        levels={(arm(level), called(metric)): value for (level, metric), value in made.levels.items()},
        rates=frozenset(map(called, made.rates)),
        measures={called(metric): test.outcome(metric).measure(names) for metric in test.metrics},
    )


def shown_between(made: Sequence[tuple[str, Effect]], names: Names, test: ArmsTest) -> list[tuple[str, Effect]]:
    """Return differences between the arms of a test with the names of their table."""
    level = _arms_of(test, names)
    return [
        (level(other), replace(_effect(one, names, test.outcome(one.metric)), strategy=level(one.strategy)))
        for other, one in made
    ]


def shown_by_day(made: ByDay, names: Names, test: ArmsTest) -> ByDay:
    """Return the lifts by day of a test with the names of their table."""
    level = _arms_of(test, names)
    looks = (
        (day, replace(_effect(one, names, test.outcome(one.metric)), strategy=level(one.strategy)))
        for day, one in made.looks
    )
    return replace(made, metric=test.outcome(made.metric).called(names), control=level(made.control),
                   looks=tuple(looks))  # fmt: skip


def shown_segments(made: Segments, names: Names, test: ArmsTest, column: str = "") -> Segments:
    """Return lifts by segment of a test with the names of their table.

    column : the one whose levels or ranges the segments are; "" where they are something else, such as strategies.
    """
    outcome, arm = test.outcome(made.metric), _arms_of(test, names)
    effects = tuple(
        replace(
            one, strategy=_segment(one.strategy, names, column), metric=arm(one.metric),
            measure=outcome.measure(names),
        )
        for one in made.effects
    )  # fmt: skip
    p, p_relative = (_keys(p, arm) for p in (made.p, made.p_relative))
    named = names.column(column) if column else made.column
    return replace(made, column=named, metric=outcome.called(names), effects=effects, p=p, p_relative=p_relative,
                   control=arm(made.control))  # fmt: skip


def shown_read_out(
    made: ReadOut, names: Names, arm: str = "", outcomes: Mapping[str, Outcome] | None = None
) -> ReadOut:  # fmt: skip
    """Return what a test of strategies measured, with the names of its table. arm : the own name of the arm's column;
    outcomes : metrics that are made of columns, by name. Strategies keep the names that their board gave them."""
    of = {one.metric: (outcomes or {}).get(one.metric) or Outcome(one.metric) for one in made.effects}
    with_metric = {f"with {metric}": f"with {outcome.called(names)}" for metric, outcome in of.items()}

    def ratio(measured: SampleRatio) -> SampleRatio:
        return replace(measured, where=with_metric.get(measured.where, measured.where))

    effects = tuple(replace(_effect(one, names, of[one.metric]), arm=names.level(arm, one.arm)) for one in made.effects)
    return replace(made, ratios=tuple(map(ratio, made.ratios)), effects=effects)


def _test(test: ArmsTest, names: Names) -> ArmsTest:
    arm = partial(names.level, test.arm)
    called = {metric: test.outcome(metric).called(names) for metric in test.metrics}
    before = {called[metric]: names.column(past) for metric, past in (test.before or {}).items()}
    return replace(
        test, arm=names.column(test.arm), control=arm(test.control), metrics=_keys(test.metrics, called.__getitem__),
        shares=None if test.shares is None else _keys(test.shares, arm), before=before or None,
        outcomes={called[metric]: one.shown(names) for metric, one in test.outcomes.items() if metric in called},
        pooled=tuple(map(arm, test.pooled)),
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


def _keys(of: Mapping[str, Value], named: Callable[[str], str]) -> dict[str, Value]:
    return {named(key): value for key, value in of.items()}
