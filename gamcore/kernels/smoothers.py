"""One step on a curve that is smooth or straight: a penalized regression of what is left on few functions of the value.

A code's values have at most four of them that are not 0, side by side, so the normal equations of a step are

    (B' S B + total penalty) c = B' G        the step is B c

with the gradient sums G and weights S of all training rows, by code: a base learner of component-wise boosting
(Buehlmann and Hothorn 2007; Eilers and Marx 1996 for splines). It is linear in G, so bags would change nothing.

    basis (V, 4):   code k:  | B[k, f] | B[k, f + 1] | B[k, f + 2] | B[k, f + 3] |     f = first[k], round a cycle of R
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.curve_step import finish_step, to_gradients
from gamcore.kernels.histogram import add_up
from gamcore.kernels.layout import CodedTable, Fit, Sets, Settings, Work
from gamcore.kernels.losses import is_paired
from gamcore.kernels.monotone import keep_order
from gamcore.kernels.scalars import clipped

TREES: Final = 0
SPLINE: Final = 1
LEVELS: Final = 2
"""How the curve of a feature is learnt: by trees, by functions of its values, or as levels drawn to their mean."""

AT_ONCE: Final = 4
RIDGE: Final = 1e-9
"""Share of the weight that keeps the equations regular where no row has a value."""


class Smoothers(NamedTuple):
    """How curves are learnt; those that are learnt by trees have no functions."""

    kind: NDArray[np.int64]  # (p,)
    basis: NDArray[np.float64]  # (p, V, 4)
    first: NDArray[np.int64]  # (p, V)
    size: NDArray[np.int64]  # (p,) R, the number of functions
    penalty: NDArray[np.float64]  # (p, R, R) for weights that add up to 1
    ridge: NDArray[np.float64]  # (p,) by what weights, which add up to 1, draw levels to their mean
    system: NDArray[np.float64]  # (R, R) scratch: the equations of a step
    right: NDArray[np.float64]  # (R,) scratch: their right side, then their solution


@kernel
def smooth_step(
    table: CodedTable,
    sets: Sets,
    feature: int,
    hist: NDArray[np.floating],
    smoothers: Smoothers,
    fit: Fit,
    settings: Settings,
    work: Work,
) -> None:
    """Make a step on a curve that is learnt by a smoother, from the groups' histograms."""
    last, paired = table.last[feature], is_paired(settings.loss)
    add_up(hist, last, paired, work.total)
    if not paired:
        low = sets.first[feature]
        for v in range(last + 1):
            work.total[1, v] = sets.total[low + v]
    to_gradients(last, settings.loss, work)
    draw_smooth(last, feature, smoothers, settings, work)
    if fit.signs[feature, 0] != 0:
        keep_order(last, feature, fit, settings, work)
    finish_step(last, feature, fit, settings, work)


@kernel
def draw_smooth(last: int, feature: int, smoothers: Smoothers, settings: Settings, work: Work) -> None:
    """Write the step of every code 0 .. last, times the bags, to `work.update`, from the sums in `work.total`.

    Missing values have a step of their own.
    """
    total, update, n_bags, most = work.total, work.update, settings.n_bags, settings.max_delta
    heavy = 0.0
    for k in range(last + 1):
        work.order[k] = k
        heavy += total[1, k]
    heavy -= total[1, 0]
    update[0] = n_bags * clipped(total[0, 0] / total[1, 0], most) if total[1, 0] > 0.0 else 0.0
    if smoothers.kind[feature] == LEVELS:
        drawn = settings.bend * smoothers.ridge[feature] * heavy
        for k in range(1, last + 1):
            weight = total[1, k] + drawn
            update[k] = n_bags * clipped(total[0, k] / weight, most) if weight > 0.0 else 0.0
        return
    size, basis, first = smoothers.size[feature], smoothers.basis[feature], smoothers.first[feature]
    system, right = smoothers.system, smoothers.right[:size]
    for i in range(size):
        right[i] = 0.0
        for j in range(size):
            system[i, j] = settings.bend * heavy * smoothers.penalty[feature, i, j]
        system[i, i] += RIDGE * heavy + 1e-300
    for k in range(1, last + 1):
        for a in range(AT_ONCE):
            i = (first[k] + a) % size
            right[i] += basis[k, a] * total[0, k]
            for b in range(AT_ONCE):
                system[i, (first[k] + b) % size] += total[1, k] * basis[k, a] * basis[k, b]
    solve(system, right)
    for k in range(1, last + 1):
        step = 0.0
        for a in range(AT_ONCE):
            step += basis[k, a] * right[(first[k] + a) % size]
        update[k] = n_bags * clipped(step, most)


@kernel
def solve(system: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    """Solve symmetric positive definite equations in place, by Cholesky's decomposition."""
    size = right.size
    for i in range(size):
        for j in range(i + 1):
            value = system[i, j]
            for k in range(j):
                value -= system[i, k] * system[j, k]
            system[i, j] = value / system[j, j] if j < i else np.sqrt(max(value, 1e-300))
    for i in range(size):
        for k in range(i):
            right[i] -= system[i, k] * right[k]
        right[i] /= system[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            right[i] -= system[k, i] * right[k]
        right[i] /= system[i, i]
