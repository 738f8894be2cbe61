"""Cubic splines with a penalty on bends (Eilers and Marx 1996), over the values of a feature's bins.

Four functions differ from 0 at a value, so that a matrix (K, R) is kept as those four (K, 4) and the first of them
(K,).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats
from gamcore.kernels.smoothers import AT_ONCE

DEGREE: Final = 3
MOST_KNOTS: Final = 20
NEARLY_NOTHING: Final = 1e-9
STRAIGHT: Final = 2.0
"""Degrees of freedom of a straight line."""


def smoothed(positions: Floats, values: Floats, weight: Floats, freedom: float) -> Floats:
    """Return the spline (K,) of some degrees of freedom, at least 2, through values (K,) at ascending positions."""
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(values.size, 1.0 / values.size)
    if positions.size <= AT_ONCE or freedom <= STRAIGHT:
        line = np.polynomial.Polynomial.fit(positions, values, min(1, positions.size - 1), w=np.sqrt(weight + 1e-12))
        return np.asarray(line(positions))
    functions, begins, bend = along(positions, weight)
    size = len(bend)
    places = (begins[:, None] + np.arange(AT_ONCE)) % size
    right = np.zeros(size)
    np.add.at(right, places, functions * (weight * values)[:, None])
    penalty = with_freedom(functions, begins, bend, weight=weight, freedom=freedom)
    coefficients = np.linalg.solve(_products(functions, begins, weight, size=size) + penalty, right)
    return np.asarray((functions * coefficients[places]).sum(axis=1))


def _products(functions: Floats, begins: NDArray[np.int64], weight: Floats, size: int) -> Floats:
    """Return the weighted products (R, R) of all functions."""
    system, places = NEARLY_NOTHING * np.eye(size), (begins[:, None] + np.arange(AT_ONCE)) % size
    weighted = functions * weight[:, None]
    for a in range(AT_ONCE):
        for b in range(AT_ONCE):
            np.add.at(system, (places[:, a], places[:, b]), weighted[:, a] * functions[:, b])
    return system


def alone_or_along(
    positions: Floats, weight: Floats, most_knots: int = MOST_KNOTS
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return the splines of `along`; of few positions a function that is 1 at each, which costs nothing."""
    if positions.size > AT_ONCE:
        return along(positions, weight, most_knots)
    alone = np.zeros((positions.size, AT_ONCE))
    alone[:, 0] = 1.0
    return alone, np.arange(positions.size), np.zeros((positions.size, positions.size))


def by_code(
    positions: Floats, weight: Floats, most_knots: int = MOST_KNOTS
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return the same by code (K + 1, 4), (K + 1,): missing, code 0, has the first function for its own. There is room
    (R,) for four functions from the last on."""
    functions, begins, bend = alone_or_along(positions, weight, most_knots)
    functions = np.concatenate([np.eye(1, AT_ONCE), functions])
    begins = np.append(0, 1 + begins)
    size = max(1 + len(bend), int(begins.max()) + AT_ONCE)
    return functions, begins, np.pad(bend, (1, size - 1 - len(bend)))


def spread(functions: Floats, begins: NDArray[np.int64], size: int) -> Floats:
    """Return all functions at each position or code, (K, size)."""
    whole = np.zeros((len(functions), size))
    whole[np.arange(len(functions))[:, None], begins[:, None] + np.arange(AT_ONCE)] = functions
    return whole


def along(positions: Floats, weight: Floats, most_knots: int = MOST_KNOTS) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return cubic splines with knots at quantiles; bends are divided differences, for which a line is straight."""
    positions = of_any_size(positions)
    n_inner = min(most_knots, positions.size - AT_ONCE)
    running = np.cumsum(weight) if weight.sum() > 0 else np.arange(1.0, positions.size + 1)
    share = (running - np.diff(running, prepend=0.0) / 2) / running[-1]
    low, high = positions[[0, -1]]
    inner = np.interp(np.arange(1, n_inner + 1) / (n_inner + 1), share, positions)
    inner = np.unique(inner[(inner > low) & (inner < high)])
    knots = np.concatenate([np.full(DEGREE + 1, low), inner, np.full(DEGREE + 1, high)])
    functions, begins = _design(positions, knots)
    size = knots.size - DEGREE - 1
    centres = np.array([knots[k + 1 : k + DEGREE + 1].mean() for k in range(size)])
    gaps = np.maximum(np.diff(centres), 1e-12 * (high - low))
    bends = np.zeros((size - 2, size))
    for k in range(size - 2):
        width = (gaps[k] + gaps[k + 1]) / 2
        bends[k, k : k + 3] = width / gaps[k], -width / gaps[k] - width / gaps[k + 1], width / gaps[k + 1]
    return functions, begins, _squared(bends)


def around(positions: Floats, period: float) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return cubic splines around a cycle, their knots at equal distances."""
    size = max(min(MOST_KNOTS, positions.size), AT_ONCE + 1)
    knots = positions[0] + np.arange(-DEGREE, size + DEGREE + 1) * period / size
    functions, begins = _design(positions, knots)
    bends = -2.0 * np.eye(size) + np.roll(np.eye(size), 1, axis=1) + np.roll(np.eye(size), -1, axis=1)
    return functions, begins % size, _squared(bends)


def of_any_size(values: Floats) -> Floats:
    """Return values divided by a power of two, the largest to lie between 1/2 and 1: no bit is lost, and their squares
    and differences are numbers however large or small the values are."""
    return np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1]))


def _squared(bends: Floats) -> Floats:
    """Return what bends (m, R) cost: their sum of squares as a matrix (R, R)."""
    return np.asarray((bends[:, :, None] * bends[:, None, :]).sum(axis=0))


def _design(positions: Floats, knots: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the cubic splines of some knots that are not 0 at each position (K, 4), and the first of them (K,)."""
    from scipy.interpolate import BSpline  # not needed by most fits, and slow to load

    design = BSpline.design_matrix(positions, knots, DEGREE)
    return design.data.reshape(-1, AT_ONCE), design.indices.reshape(-1, AT_ONCE)[:, 0].astype(np.int64)


def with_freedom(functions: Floats, begins: NDArray[np.int64], bend: Floats, weight: Floats, freedom: float) -> Floats:
    """Return the penalty (R, R) with which a fit has some degrees of freedom, for weights that add up to 1."""
    from scipy.linalg import eigh  # not needed by most fits, and slow to load
    from scipy.optimize import brentq

    size = len(bend)
    if size <= freedom or not weight.sum() > 0 or not bend.any():
        return np.zeros((size, size))
    own = eigh(bend, _products(functions, begins, weight / weight.sum(), size=size), eigvals_only=True).clip(0.0)

    def beyond(log_penalty: float) -> float:
        return float((1.0 / (1.0 + np.exp(log_penalty) * own)).sum()) - freedom

    if beyond(-40.0) <= 0.0:
        return np.zeros((size, size))
    return np.asarray(np.exp(brentq(beyond, -40.0, 40.0)) * bend)
