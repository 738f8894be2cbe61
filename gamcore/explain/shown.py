"""Explanations as people name them: columns and levels by their shown names, numbers with their units.

What is returned is for plots, sentences and files. Whatever looks a feature up in a model or a table needs the
explanation as it was.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeVar

import numpy as np

from gamcore.common.numbers import exact
from gamcore.data.codes import code_of
from gamcore.data.column_names import Names
from gamcore.data.labels import labels_of
from gamcore.explain.classes import ClassCurves
from gamcore.explain.counterfactuals import Change
from gamcore.explain.curves import Breakdown, Curve
from gamcore.explain.importance import Importance
from gamcore.explain.surfaces import Surface, SurfaceAxis, several_levels
from gamcore.explain.tasks import TaskImportance
from gamcore.explain.three_way import ThreeWay
from gamcore.stats.column_drift import Moved
from gamcore.stats.histograms import Overlay
from gamcore.stats.profiles import Profile

Explained = TypeVar("Explained")


def shown(explanation: Explained, names: Names) -> Explained:
    """Return an explanation with the names, units and number forms of its table."""
    named: Explained = _shown(explanation, names) if names else explanation
    return named


def shown_chances(curves: ClassCurves, names: Names, target: str) -> ClassCurves:
    """Return the chances of the classes of a target with the names of its table."""
    classes = tuple(names.level(target, name) for name in curves.classes)
    return replace(curves, classes=classes, shape=shown(curves.shape, names))


@singledispatch
def _shown(explanation: Any, names: Names) -> Any:
    raise TypeError(f"{type(explanation).__name__} names no columns.")


@_shown.register
def _(curve: Curve, names: Names) -> Curve:
    column = curve.feature
    called = _values(curve, names)
    if names.of(column).levels:
        curve = curve.as_levels()  # 0 and 1 have names, too
    members = tuple(tuple(names.level(column, level) for level in levels) for levels in curve.members)
    labels = labels_of(members, curve.rare)
    shared_with = tuple(map(names.term, curve.shared_with))
    return replace(curve, feature=names.term(column), labels=labels, members=members, measure=names.of(column).measure,
                   values=() if labels else tuple(called.values()), shared_with=shared_with)  # fmt: skip


def _values(curve: Curve, names: Names) -> dict[float, str]:
    """Return what the values of a number are called, if any has a name and each bin holds one of them."""
    own = names.of(curve.feature)
    if not own.levels or not curve.has_single_values:
        return {}
    codes = {float(value): code_of(str(float(value)), curve.feature, "number") for value in curve.display}
    if not any(code in own.levels for code in codes.values()):
        return {}
    return {value: own.levels.get(code) or own.measure.say(value, exact(value)) for value, code in codes.items()}


@_shown.register
def _(axis: SurfaceAxis, names: Names) -> SurfaceAxis:
    column = axis.feature
    members = tuple(tuple(names.level(column, level) for level in levels) for levels in axis.members)
    labels = tuple(several_levels(levels) for levels in members) if members else axis.labels
    return replace(axis, feature=names.term(column), labels=labels, members=members, measure=names.of(column).measure)


@_shown.register
def _(surface: Surface, names: Names) -> Surface:
    margins = tuple(_margin(curve, names) for curve in surface.margins)
    first, second = (
        replace(_shown(axis, names), values=_values_in(axis, _values(curve, names)))
        for axis, curve in zip((surface.first, surface.second), surface.margins, strict=True)
    )
    return replace(surface, first=first, second=second, margins=(margins[0], margins[1]))


@_shown.register
def _(effect: ThreeWay, names: Names) -> ThreeWay:
    first, second, third = (_shown(axis, names) for axis in effect.axes)
    return replace(effect, axes=(first, second, third))


def _values_in(axis: SurfaceAxis, called: dict[float, str]) -> tuple[str, ...]:
    """Return what the values in each bin of an axis are called. called : those of the feature, in ascending order."""
    if not called or not axis.edges.size:
        return ()
    bins = np.clip(np.searchsorted(axis.edges, list(called), side="right") - 1, 0, axis.size - 1)
    return tuple(several_levels([name for name, k in zip(called.values(), bins, strict=True) if k == place])
                 for place in range(axis.size))  # fmt: skip


def _margin(curve: Curve, names: Names) -> Curve:
    """Return the curve beside a heat map; it stays a line where its axis is one."""
    return replace(shown(curve, names), kind=curve.kind, edges=curve.edges) if curve.edges.size else shown(curve, names)


@_shown.register
def _(ranking: Importance, names: Names) -> Importance:
    return replace(ranking, features=tuple(map(names.term, ranking.features)))


@_shown.register
def _(ranking: TaskImportance, names: Names) -> TaskImportance:
    return replace(ranking, features=tuple(map(names.term, ranking.features)))


@_shown.register
def _(breakdown: Breakdown, names: Names) -> Breakdown:
    return replace(breakdown, features=tuple(map(names.term, breakdown.features)))


@_shown.register
def _(change: Change, names: Names) -> Change:
    steps = tuple(
        replace(step, feature=names.term(step.feature), names=names.of(step.feature)) for step in change.steps
    )
    return replace(change, steps=steps)


@_shown.register
def _(moved: Moved, names: Names) -> Moved:
    columns = tuple(replace(column, name=names.column(column.name)) for column in moved.columns)
    retyped = tuple((names.column(name), old, new) for name, old, new in moved.retyped)
    return replace(moved, columns=columns, retyped=retyped)


@_shown.register
def _(drawn: Overlay, names: Names) -> Overlay:
    labels = tuple(names.level(drawn.name, label) for label in drawn.labels)
    return replace(drawn, name=names.column(drawn.name), labels=labels, measure=names.of(drawn.name).measure)


@_shown.register
def _(profile: Profile, names: Names) -> Profile:
    labels = tuple(names.level(profile.name, label) for label in profile.labels)
    return replace(profile, name=names.column(profile.name), labels=labels, measure=names.of(profile.name).measure)
