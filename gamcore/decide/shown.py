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
from gamcore.decide.experiment_effects import Effect, ReadOut, SampleRatio

Value = TypeVar("Value")


def shown_arms(made: ArmsReadOut, names: Names) -> ArmsReadOut:
    """Return what a test of arms measured, with the names of its table."""
    column, arm = names.column, partial(names.level, made.test.arm)

    def size(of: ArmSizes) -> ArmSizes:
        return replace(of, counts=_keys(of.counts, arm), planned=_keys(of.planned, arm))

    return replace(
        made,
        test=_test(made.test, names),
        arms=tuple(map(arm, made.arms)),
        sizes={column(key) if key in made.test.metrics else key: size(of) for key, of in made.sizes.items()},
        effects=tuple(replace(_effect(one, names), strategy=arm(one.strategy)) for one in made.effects),
        levels={(arm(level), column(metric)): value for (level, metric), value in made.levels.items()},
        rates=frozenset(map(column, made.rates)),
        measures={column(metric): names.of(metric).measure for metric in made.test.metrics},
    )


def shown_between(made: Sequence[tuple[str, Effect]], names: Names, arm: str) -> list[tuple[str, Effect]]:
    """Return differences between arms with the names of their table. arm : the own name of its column."""
    level = partial(names.level, arm)
    return [(level(other), replace(_effect(one, names), strategy=level(one.strategy))) for other, one in made]


def shown_segments(made: Segments, names: Names, arm: str, column: str = "") -> Segments:
    """Return lifts by segment with the names of their table.

    arm : the own name of its column. column : that of the column whose levels or ranges the segments are; "" where they
    are something else, such as strategies.
    """
    effects = tuple(
        replace(
            one, strategy=_segment(one.strategy, names, column), metric=names.level(arm, one.metric),
            measure=names.of(made.metric).measure,
        )
        for one in made.effects
    )  # fmt: skip
    p, p_relative = (_keys(p, partial(names.level, arm)) for p in (made.p, made.p_relative))
    named = names.column(column) if column else made.column
    return replace(made, column=named, metric=names.column(made.metric), effects=effects, p=p, p_relative=p_relative)


def shown_read_out(made: ReadOut, names: Names, arm: str = "") -> ReadOut:
    """Return what a test of strategies measured, with the names of its table. arm : the own name of the arm's column;
    strategies keep the names that their board gave them."""
    with_metric = {f"with {one.metric}": f"with {names.column(one.metric)}" for one in made.effects}

    def ratio(of: SampleRatio) -> SampleRatio:
        return replace(of, where=with_metric.get(of.where, of.where))

    effects = tuple(replace(_effect(one, names), arm=names.level(arm, one.arm)) for one in made.effects)
    return replace(made, ratios=tuple(map(ratio, made.ratios)), effects=effects)


def _test(test: ArmsTest, names: Names) -> ArmsTest:
    arm = partial(names.level, test.arm)
    before = {names.column(metric): names.column(past) for metric, past in (test.before or {}).items()}
    return replace(
        test, arm=names.column(test.arm), control=arm(test.control), metrics=_keys(test.metrics, names.column),
        shares=None if test.shares is None else _keys(test.shares, arm), before=before or None,
    )  # fmt: skip


def _effect(effect: Effect, names: Names) -> Effect:
    return replace(effect, metric=names.column(effect.metric), measure=names.of(effect.metric).measure)


def _segment(label: str, names: Names, column: str) -> str:
    """Return a level, or a range of numbers, as it is called."""
    own = names.of(column)
    return own.measure.dress(label) if " to " in label and label not in own.levels else names.level(column, label)


def _keys(of: Mapping[str, Value], named: Callable[[str], str]) -> dict[str, Value]:
    return {named(key): value for key, value in of.items()}
