"""How each curve is learnt: by trees (steps), or by a smoother of its histogram (`kernels/smoothers.py`).

    smooth   cubic splines with knots at quantiles, and a penalty on bends: a straight line costs nothing
    cyclic   the same around a cycle: the last value is the neighbour of the first
    linear   a straight line
    levels   each level drawn towards the mean, the more the fewer its rows: a random effect (Robinson 1991)

Each penalty is such that a step has four degrees of freedom: it stays weak, and boosting adds as much as the validation
loss asks for (Buehlmann and Yu 2003). A category of more levels than a byte has codes is drawn to its mean in any case
(`kernels/shrunken_levels.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.table import place_among
from gamcore.kernels.smoothers import AT_ONCE, LEVELS, SPLINE, Smoothers
from gamcore.model.shapes import SHAPES, Shape
from gamcore.stats.splines import alone_or_along, around, of_any_size, with_freedom

FREEDOM: Final = 4.0
"""Degrees of freedom of one step."""


@dataclass(frozen=True)
class Learner:
    """How one curve is learnt. positions : a typical value of each bin; period : of a cycle."""

    shape: Shape
    positions: tuple[float, ...] = ()
    period: float = 0.0


def learners_of(wanted: Mapping[Any, str] | str | None, bins: Sequence[Bins]) -> tuple[Learner | None, ...]:
    """Return the learner of each feature, None for trees; empty if all are trees. TableError where one cannot be had.

    wanted : shapes by the name or place of a feature, or one for all numbers and dates; categories are then levels.
    """
    if not wanted:
        return ()
    names = [column.feature.name for column in bins]
    shapes = ["steps"] * len(names)
    if isinstance(wanted, str):
        shapes = ["levels" if column.feature.is_category and wanted != "steps" else wanted for column in bins]
        wanted = {}
    for key, shape in wanted.items():
        shapes[place_among(names, key, "shapes")] = shape
    learners = tuple(_learner(shape, column) for shape, column in zip(shapes, bins, strict=True))
    return learners if any(learners) else ()


def _learner(shape: str, bins: Bins) -> Learner | None:
    name, is_category = bins.feature.name, bins.feature.is_category
    if shape not in SHAPES:
        raise TableError(f"shapes has {shape!r} for {name}: choose one of {', '.join(SHAPES)}.")
    if shape == "steps" or bins.n_values < 2:
        return None
    if shape == "levels":
        if not is_category:
            raise TableError(f"{name} has numbers, not levels: choose steps, smooth, cyclic or linear in shapes.")
        return Learner("levels")
    if is_category and not (shape == "cyclic" and bins.feature.part != "value"):
        raise TableError(f"{name} is a category, whose levels have no distance: choose steps or levels in shapes.")
    positions = np.arange(bins.n_values, dtype=np.float64) if is_category else bins.display
    period = float(positions[-1] - positions[0] + _usual_step(positions)) if shape == "cyclic" else 0.0
    return Learner(shape, tuple(positions.tolist()), period)


def _usual_step(positions: Floats) -> float:
    """Return the distance from the last value of a cycle to the first one of the next: 1 between whole numbers."""
    return 1.0 if (positions == np.round(positions)).all() else float(np.median(np.diff(positions)))


def shapes_of(learners: Sequence[Learner | None]) -> tuple[Shape, ...]:
    """Return the shape of each feature's curve; empty if all are steps."""
    return tuple(learner.shape if learner else "steps" for learner in learners)


def make_smoothers(learners: Sequence[Learner | None], weights: Sequence[Floats], n_codes: int) -> Smoothers:
    """Return what kernels need of the learners. weights : (last + 1,) of the training rows by code, of each feature."""
    n_features = len(learners)
    kind, size, ridge = np.zeros(n_features, np.int64), np.zeros(n_features, np.int64), np.zeros(n_features)
    basis = np.zeros((n_features, n_codes, AT_ONCE))
    first, penalties = np.zeros((n_features, n_codes), np.int64), [np.empty((0, 0))] * n_features
    for j, learner in enumerate(learners):
        if learner is None:
            continue
        if learner.shape == "levels":
            kind[j], ridge[j] = LEVELS, _ridge(weights[j][1:])
            continue
        kind[j] = SPLINE
        positions, weight = np.array(learner.positions), np.zeros(len(learner.positions))
        known = weights[j][1 : positions.size + 1]
        weight[: known.size] = known
        functions, begins, bend = _functions(learner, positions, weight)
        basis[j, 1 : positions.size + 1], first[j, 1 : positions.size + 1] = functions, begins
        size[j] = len(bend)
        penalties[j] = with_freedom(functions, begins, bend, weight=weight, freedom=FREEDOM)
    most = int(size.max())
    penalty = np.zeros((n_features, most, most))
    for j, matrix in enumerate(penalties):
        penalty[j, : len(matrix), : len(matrix)] = matrix
    return Smoothers(
        kind=kind, basis=basis, first=first, size=size, penalty=penalty, ridge=ridge, system=np.empty((most, most)),
        right=np.empty(most),
    )  # fmt: skip


def _functions(learner: Learner, positions: Floats, weight: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return the functions at each position (K, 4), the first of each (K,), and what bends cost (R, R)."""
    if learner.shape == "linear":
        return _straight(positions, weight)
    if learner.shape == "cyclic" and positions.size > AT_ONCE:
        return around(positions, learner.period)
    return alone_or_along(positions, weight)


def _straight(positions: Floats, weight: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    positions, counted = of_any_size(positions), weight if weight.sum() > 0 else np.ones(positions.size)
    mean = np.average(positions, weights=counted)
    spread = np.sqrt(np.average((positions - mean) ** 2, weights=counted)) or 1.0
    functions = np.zeros((positions.size, AT_ONCE))
    functions[:, 0], functions[:, 1] = 1.0, (positions - mean) / spread
    return functions, np.zeros(positions.size, np.int64), np.zeros((2, 2))


def _ridge(weight: Floats) -> float:
    """Return by what levels are drawn to their mean for a step to have `FREEDOM` degrees of freedom."""
    from scipy.optimize import brentq  # not needed by most fits, and slow to load

    share = weight[weight > 0] / max(weight.sum(), 1e-300)
    if share.size <= FREEDOM:
        return 0.0
    return float(brentq(lambda ridge: float((share / (share + ridge)).sum()) - FREEDOM, 0.0, 1e6))
