"""One step on a pair that is smooth: a penalized regression of what is left on products of functions of both features.

It is a step of `smoothers`, of two features instead of one: four functions of each differ from 0 in a cell, so that

    (B' H B + total penalty) c = B' G        the step is B c

where column (i, j) of B is the product of function i of the first feature and function j of the second. The matrix has
hundreds of rows, so that it is decomposed once for many steps. Where hessians follow the scores, they are those of the
stage's beginning: an approximation that validation rows judge as they judge any step.

Only neighbouring functions overlap, so that the matrix is a band along its diagonal, and so is its decomposition:

    system (n, width + 1):   row r:  | (r, r - width) | ... | (r, r - 1) | (r, r) |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import Fit, Settings
from gamcore.kernels.losses import Form, factors_of, is_paired, no_change, put_factors, sums_of
from gamcore.kernels.pair_grid import SIDE, PairScratch
from gamcore.kernels.scalars import clipped, greater
from gamcore.kernels.smoothers import AT_ONCE, RIDGE

SHRUNKEN = 0.05
"""What a surface's size costs, beside its rows if the features were independent: where there are none, it is drawn to 0
instead of going on from where there are some."""


class SmoothPair(NamedTuple):
    """How a pair is learnt whose surface is smooth. Code 0 of a feature, missing, has a function of its own."""

    basis: NDArray[np.float64]  # (2, SIDE, 4) of either feature the functions that are not 0 at a code, side by side
    first: NDArray[np.int64]  # (2, SIDE) the first of these
    penalty: NDArray[np.float64]  # (2, R, R) of either feature what bends cost, for weights that add up to 1
    products: NDArray[np.float64]  # (2, R, R) the weighted products of its functions
    system: NDArray[np.float64]  # (R_1 R_2, 3 R_2 + 4) the matrix of the equations, decomposed
    solution: NDArray[np.float64]  # (R_1, R_2) scratch: the right side, then the solution
    line: NDArray[np.float64]  # (R,) scratch


@kernel
def grid_sums(
    ends: tuple[int, int], weight: NDArray[np.floating], loss: Form, board: PairScratch, sums: NDArray[np.float64]
) -> None:
    """Write gradient and hessian of each cell to `sums` (2, SIDE, SIDE), from the histogram in `wide`."""
    paired = is_paired(loss)
    for a in range(ends[0] + 1):
        for b in range(ends[1] + 1):
            cell = SIDE * a + b
            g = board.wide[2 * cell] if paired else board.wide[cell]
            h = board.wide[2 * cell + 1] if paired else np.float64(weight[cell])
            sums[0, a, b], sums[1, a, b] = sums_of(g, h, loss)


@kernel
def prepare_pair(ends: tuple[int, int], hessian: NDArray[np.float64], bend: float, smooth: SmoothPair) -> None:
    """Write the equations' matrix for the hessians (SIDE, SIDE) of the cells, and decompose it.

    Bends along either feature cost what they cost its curve, whatever the value of the other: with penalties P and
    products M of the functions, the penalty is P_1 x M_2 + M_1 x P_2. bend : what it is multiplied by.
    """
    system, penalty, products = smooth.system, smooth.penalty, smooth.products
    n_second, width = smooth.solution.shape[1], system.shape[1] - 1
    heavy = 0.0
    for a in range(ends[0] + 1):
        for b in range(ends[1] + 1):
            heavy += hessian[a, b]
    for row in range(system.shape[0]):
        i, j = row // n_second, row % n_second
        for place in range(width + 1):
            column = row - width + place
            system[row, place] = 0.0
            if column >= 0:
                k, m = column // n_second, column % n_second
                cost = penalty[0, i, k] * products[1, j, m] + products[0, i, k] * penalty[1, j, m]
                system[row, place] = heavy * (bend * cost + SHRUNKEN * products[0, i, k] * products[1, j, m])
        system[row, width] += RIDGE * heavy + 1e-300
    for a in range(ends[0] + 1):
        for b in range(ends[1] + 1):
            if hessian[a, b] != 0.0:
                _add_cell(a, b, hessian[a, b], smooth)
    _decompose(system)


@kernel
def _add_cell(a: int, b: int, weight: float, smooth: SmoothPair) -> None:
    """Add the weighted products of the functions of one cell to the matrix."""
    basis, system, n_second = smooth.basis, smooth.system, smooth.solution.shape[1]
    width = system.shape[1] - 1
    for p in range(AT_ONCE):
        for k in range(AT_ONCE):
            both = weight * basis[0, a, p] * basis[0, a, k]
            if both == 0.0:
                continue
            for q in range(AT_ONCE):
                row = (smooth.first[0, a] + p) * n_second + smooth.first[1, b] + q
                for m in range(AT_ONCE):
                    place = width + (k - p) * n_second + m - q
                    if place <= width:
                        system[row, place] += both * basis[1, b, q] * basis[1, b, m]


@kernel
def smooth_pair_step(
    pair: int, ends: tuple[int, int], sums: NDArray[np.float64], smooth: SmoothPair, fit: Fit, settings: Settings
) -> None:
    """Make a step on a pair by gradient and hessian of its cells: add it to `moved`, and leave it pending."""
    _project(ends, sums, smooth)
    _substitute(smooth.system, smooth.solution.reshape(smooth.solution.size))
    solution, line, loss = smooth.solution, smooth.line, settings.loss
    gain = 0.0
    fit.factor[:] = no_change(loss)
    for a in range(ends[0] + 1):
        for j in range(solution.shape[1]):
            line[j] = 0.0
        for p in range(AT_ONCE):
            i = smooth.first[0, a] + p
            for j in range(solution.shape[1]):
                line[j] += smooth.basis[0, a, p] * solution[i, j]
        for b in range(ends[1] + 1):
            value = 0.0
            for q in range(AT_ONCE):
                value += smooth.basis[1, b, q] * line[smooth.first[1, b] + q]
            step = settings.learning_rate * clipped(value, settings.max_delta)
            cell = SIDE * a + b
            gain += 2.0 * sums[0, a, b] * step - sums[1, a, b] * step * step
            fit.moved[pair, cell] += step
            put_factors(fit.factor, cell, factors_of(step, loss), loss)
    fit.gains[pair] = gain
    fit.steps[pair] += 1
    fit.pending[0] = pair


@kernel
def _project(ends: tuple[int, int], sums: NDArray[np.float64], smooth: SmoothPair) -> None:
    """Write the right side of the equations to `solution`."""
    solution, line = smooth.solution, smooth.line
    for i in range(solution.shape[0]):
        for j in range(solution.shape[1]):
            solution[i, j] = 0.0
    for a in range(ends[0] + 1):
        for j in range(solution.shape[1]):
            line[j] = 0.0
        for b in range(ends[1] + 1):
            for q in range(AT_ONCE):
                line[smooth.first[1, b] + q] += smooth.basis[1, b, q] * sums[0, a, b]
        for p in range(AT_ONCE):
            i = smooth.first[0, a] + p
            for j in range(solution.shape[1]):
                solution[i, j] += smooth.basis[0, a, p] * line[j]


@kernel
def _decompose(system: NDArray[np.float64]) -> None:
    """Put Cholesky's decomposition in place of a symmetric positive definite band."""
    width = system.shape[1] - 1
    for i in range(system.shape[0]):
        begin = greater(0, i - width)
        for j in range(begin, i + 1):
            value = system[i, width + j - i]
            for k in range(begin, j):
                value -= system[i, width + k - i] * system[j, width + k - j]
            system[i, width + j - i] = value / system[j, width] if j < i else np.sqrt(max(value, 1e-300))


@kernel
def _substitute(system: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    """Solve decomposed equations in place, reading the band along its rows."""
    width = system.shape[1] - 1
    for i in range(right.size):
        for k in range(greater(0, i - width), i):
            right[i] -= system[i, width + k - i] * right[k]
        right[i] /= system[i, width]
    for i in range(right.size - 1, -1, -1):
        right[i] /= system[i, width]
        for k in range(greater(0, i - width), i):
            right[k] -= system[i, width + k - i] * right[i]
