"""What the Train page proposes before anybody has chosen: pages/train.py, without its fields.

Where the page would propose a task per level of a column, one model of all rows is taken, with one click there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gamcore.common.types import Bools
from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.estimators.presets import PRESETS
from shapewise.columns.roles import Roles, roles_of
from shapewise.doctor.examine import ColumnReport
from shapewise.doctor.leaks import leaks
from shapewise.store.workspace import TableAbout, clean_name
from shapewise.training import goals
from shapewise.training.cost import estimate
from shapewise.training.dataset import HELD_OUT, held_out_rows
from shapewise.training.proposals import classes_first, first_kind, first_target, is_exposure
from shapewise.training.spec import Spec, target_levels
from shapewise.training.train import BANDS
from shapewise.ui.train.features import NOT_LEARNT
from shapewise.ui.train.target import NO_TARGET, usual_sides

PATIENCE: Final = 8.0
"""Estimated seconds of a training with the page's preset, above which the fast preset is taken."""


@dataclass(frozen=True)
class FirstTarget:
    """A target with its kind, and what the page chooses with it."""

    name: str
    kind: goals.GoalKind
    levels: list[str]
    held: Bools
    positive: list[str] | None = None
    negative: list[str] | None = None
    classes: list[str] | None = None
    exposure: str | None = None


def first_spec(about: TableAbout, rows: Table, reports: list[ColumnReport], pairs: bool) -> Spec:
    """Return the specification that the page would train at the first press; TableError where it says why not."""
    roles = roles_of(rows, reports, about.roles, about.name)
    target = _target(about, rows, roles)
    features, levels = _features(rows, reports, roles, target)
    changes: dict[str, Any] = {"interactions": "auto"} if pairs else {}
    n_rows, loss = round((1 - HELD_OUT) * len(rows)), goals.GOALS[target.kind].objective or "logistic"
    n_fits = max(len(target.classes or target.levels), 1) if target.kind == "classes" else 1
    page = PRESETS["balanced"] | {"bands": BANDS} | changes
    seconds = n_fits * estimate(n_rows, len(features), page, 1, loss).seconds
    return Spec(
        about.id, target.name, clean_name(target.name), features, goal=target.kind, positive=target.positive,
        negative=target.negative, classes=target.classes, exposure=target.exposure,
        preset="balanced" if seconds < PATIENCE else "fast", changes=changes, bands=BANDS, categories=levels,
        group=roles.column("group"),
    )  # fmt: skip


def _target(about: TableAbout, rows: Table, roles: Roles) -> FirstTarget:
    """Return the target that stands on the page first, or the likeliest answer where the page asks."""
    try:
        held = held_out_rows(rows.frame, about.id, roles.column("group"))
    except TableError:
        held = np.zeros(len(rows), bool)
    name = first_target(rows, [guess.column for guess in roles.targets], held)
    if name is None:
        raise TableError(NO_TARGET)
    possible = goals.possible(rows, name)
    kind = first_kind(rows, name, held)[0] if len(possible) > 1 else possible[0]
    series = rows.frame[name]
    levels = target_levels(series) if kind in ("binary", "classes") else []
    if kind == "binary":
        if len(levels) < 2:
            raise TableError(f"{name!r} has {len(levels)} level: choose a target with at least two.")
        positive, against = usual_sides(about, series, levels, held)
        others = [level for level in levels if level not in positive]
        return FirstTarget(name, kind, levels, held, positive, (against or others) if len(levels) > 2 else None)
    if kind == "classes":
        classes = classes_first(series, held)
        return FirstTarget(name, kind, levels, held, classes=None if len(classes) == len(levels) else classes)
    return FirstTarget(
        name, kind, levels, held, exposure=_exposure(rows, roles, name) if goals.GOALS[kind].rated else None
    )


def _exposure(rows: Table, roles: Roles, target: str) -> str | None:
    """Return the column that the page divides a target by at first."""
    marked = roles.column("exposure")
    return marked if marked is not None and marked != target and is_exposure(rows, marked) else None


def _features(
    rows: Table, reports: list[ColumnReport], roles: Roles, target: FirstTarget
) -> tuple[list[str], list[str]]:
    """Return the columns that are not left out at first, and those of them whose numbers are levels."""
    usable = [r for r in reports if r.kind is not None and r.name not in (target.name, target.exposure)]
    usable = [r for r in usable if roles.by_column[r.name] not in ("weight", "group", "time")]
    asked: list[list[str] | None] = [target.positive]
    if target.kind == "classes":
        asked = [[level] for level in target.classes or target.levels]
    suspects: set[str] = set()
    for positive in asked:
        asked_of = [r.name for r in usable if roles.by_column[r.name] not in NOT_LEARNT]
        suspects |= {name for name, leak in leaks(rows, target.name, positive, asked_of).items() if leak.sure}
    out = {r.name for r in usable if roles.by_column[r.name] in NOT_LEARNT or r.name in suspects}
    out = set() if len(out) == len(usable) else out
    learnt = [r for r in usable if r.name not in out]
    return [r.name for r in learnt], [r.name for r in learnt if r.kind == "number" and r.as_levels]
