"""One step on a pair that is smooth: a penalized regression of what is left on products of functions of both features.

It is a step of `smoothers`, of two features instead of one: four functions of each differ from 0 in a cell, so that

    (B' H B + total penalty) c = B' G        the step is B c

where column (i, j) of B is the product of function i of the first feature and function j of the second. The matrix has
hundreds of rows, so that it is decomposed once for many steps. Where hessians follow the scores, they are those of the
stage's beginning: an approximation that validation rows judge as they judge any step.

Only neighbouring functions overlap, so that the matrix is a band along its diagonal, and so is its decomposition:

    system (n, width + 1):   row r:  | (r, r) | (r, r + 1) | ... | (r, r + width) |

The band is as wide as the second feature has functions, so that the feature with fewer is the second here (`order`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import Fit, Settings
from gamcore.kernels.losses import Form, factors_of, is_paired, no_change, put_factors, sums_of
from gamcore.kernels.pair_grid import SIDE, PairScratch
from gamcore.kernels.scalars import clipped, lesser
from gamcore.kernels.smoothers import AT_ONCE, RIDGE

SHRUNKEN = 0.05
"""What a surface's size costs, beside its rows if the features were independent: where there are none, it is drawn to 0
instead of going on from where there are some."""


class SmoothPair(NamedTuple):
    """How a pair is learnt whose surface is smooth. Code 0 of a feature, missing, has a function of its own."""

    order: NDArray[np.int64]  # (2,) the place in the pair of the first feature here, and of the second
    ends: NDArray[np.int64]  # (2,) the largest codes
    basis: NDArray[np.float64]  # (2, SIDE, 4) of either feature the functions that are not 0 at a code, side by side
    first: NDArray[np.int64]  # (2, SIDE) the first of these
    penalty: NDArray[np.float64]  # (2, R, R) of either feature what bends cost, for weights that add up to 1
    products: NDArray[np.float64]  # (2, R, R) the weighted products of its functions
    sums: NDArray[np.float64]  # (2, SIDE, SIDE) gradient and hessian of each cell
    system: NDArray[np.float64]  # (R_1 R_2, 3 R_2 + 4) the matrix of the equations, decomposed
    solution: NDArray[np.float64]  # (R_1, R_2) scratch: the right side, then the solution
    line: NDArray[np.float64]  # (R, 4) scratch


@kernel
def cell_of(a: int, b: int, smooth: SmoothPair) -> int:
    """Return the cell of two codes in the histogram of the pair."""
    return int(SIDE * a + b if smooth.order[0] == 0 else SIDE * b + a)


@kernel
def grid_sums(weight: NDArray[np.floating], loss: Form, board: PairScratch, smooth: SmoothPair) -> None:
    """Write gradient and hessian of each cell to `sums`, from the histogram in `wide`."""
    paired = is_paired(loss)
    for a in range(smooth.ends[0] + 1):
        for b in range(smooth.ends[1] + 1):
            cell: int = cell_of(a, b, smooth)
            g = board.wide[2 * cell] if paired else board.wide[cell]
            h = board.wide[2 * cell + 1] if paired else np.float64(weight[cell])
            smooth.sums[0, a, b], smooth.sums[1, a, b] = sums_of(g, h, loss)


@kernel
def prepare_pair(bend: float, smooth: SmoothPair) -> None:
    """Write the equations' matrix for the hessians of the cells, and decompose it.

    Bends along either feature cost what they cost its curve, whatever the value of the other: with penalties P and
    products M of the functions, the penalty is P_1 x M_2 + M_1 x P_2. bend : what it is multiplied by.
    """
    system, penalty, products, hessian = smooth.system, smooth.penalty, smooth.products, smooth.sums[1]
    n_first, n_second = smooth.solution.shape
    heavy = 0.0
    for a in range(smooth.ends[0] + 1):
        for b in range(smooth.ends[1] + 1):
            heavy += hessian[a, b]
    for row in range(system.shape[0]):
        for place in range(system.shape[1]):
            system[row, place] = 0.0
        system[row, 0] = RIDGE * heavy + 1e-300
    for i in range(n_first):
        for k in range(i, lesser(i + AT_ONCE, n_first)):
            for j in range(n_second):
                for m in range(j if k == i else max(j - AT_ONCE + 1, 0), lesser(j + AT_ONCE, n_second)):
                    cost = penalty[0, i, k] * products[1, j, m] + products[0, i, k] * penalty[1, j, m]
                    cost = bend * cost + SHRUNKEN * products[0, i, k] * products[1, j, m]
                    system[i * n_second + j, (k - i) * n_second + m - j] += heavy * cost
    for a in range(smooth.ends[0] + 1):
        _add_cells(a, smooth)
    _decompose(system)


@kernel
def _add_cells(a: int, smooth: SmoothPair) -> None:
    """Add the weighted products of the functions of all cells with one code of the first feature to the matrix."""
    basis, system, line, n_second = smooth.basis, smooth.system, smooth.line, smooth.solution.shape[1]
    for j in range(n_second):
        for q in range(AT_ONCE):
            line[j, q] = 0.0
    for b in range(smooth.ends[1] + 1):
        weight, first = smooth.sums[1, a, b], smooth.first[1, b]
        if weight != 0.0:
            for q in range(AT_ONCE):
                for m in range(q, AT_ONCE):
                    line[first + q, m - q] += weight * basis[1, b, q] * basis[1, b, m]
    for p in range(AT_ONCE):
        for k in range(p, AT_ONCE):
            both, row, place = basis[0, a, p] * basis[0, a, k], (smooth.first[0, a] + p) * n_second, (k - p) * n_second
            if both != 0.0:
                for j in range(n_second):
                    system[row + j, place] += both * line[j, 0]
                    for q in range(1, lesser(AT_ONCE, n_second - j)):
                        system[row + j, place + q] += both * line[j, q]
                        if k > p:
                            system[row + j + q, place - q] += both * line[j, q]


@kernel
def smooth_pair_step(pair: int, smooth: SmoothPair, fit: Fit, settings: Settings) -> None:
    """Make a step on a pair by gradient and hessian of its cells: add it to `moved`, and leave it pending."""
    _project(smooth)
    _substitute(smooth.system, smooth.solution.reshape(smooth.solution.size))
    solution, line, sums, loss = smooth.solution, smooth.line, smooth.sums, settings.loss
    gain = 0.0
    fit.factor[:] = no_change(loss)
    for a in range(smooth.ends[0] + 1):
        for j in range(solution.shape[1]):
            line[j, 0] = 0.0
        for p in range(AT_ONCE):
            i = smooth.first[0, a] + p
            for j in range(solution.shape[1]):
                line[j, 0] += smooth.basis[0, a, p] * solution[i, j]
        for b in range(smooth.ends[1] + 1):
            value = 0.0
            for q in range(AT_ONCE):
                value += smooth.basis[1, b, q] * line[smooth.first[1, b] + q, 0]
            step = settings.learning_rate * clipped(value, settings.max_delta)
            cell: int = cell_of(a, b, smooth)
            gain += 2.0 * sums[0, a, b] * step - sums[1, a, b] * step * step
            fit.moved[pair, cell] += step
            put_factors(fit.factor, cell, factors_of(step, loss), loss)
    fit.gains[pair] = gain
    fit.steps[pair] += 1
    fit.pending[0] = pair


@kernel
def _project(smooth: SmoothPair) -> None:
    """Write the right side of the equations to `solution`."""
    solution, line, gradient = smooth.solution, smooth.line, smooth.sums[0]
    for i in range(solution.shape[0]):
        for j in range(solution.shape[1]):
            solution[i, j] = 0.0
    for a in range(smooth.ends[0] + 1):
        for j in range(solution.shape[1]):
            line[j, 0] = 0.0
        for b in range(smooth.ends[1] + 1):
            if gradient[a, b] != 0.0:
                for q in range(AT_ONCE):
                    line[smooth.first[1, b] + q, 0] += smooth.basis[1, b, q] * gradient[a, b]
        for p in range(AT_ONCE):
            i = smooth.first[0, a] + p
            for j in range(solution.shape[1]):
                solution[i, j] += smooth.basis[0, a, p] * line[j, 0]


@kernel
def _decompose(system: NDArray[np.float64]) -> None:
    """Put Cholesky's decomposition U'U in place of a symmetric positive definite band, a row of U after another.

    What a row takes off those below is added lane by lane, not summed, so that the compiler may use vectors.
    """
    n, width = system.shape[0], system.shape[1] - 1
    for i in range(n):
        here = system[i, : lesser(width, n - 1 - i) + 1]
        pivot = np.sqrt(max(here[0], 1e-300))
        for k in range(here.size):
            here[k] /= pivot
        here[0] = pivot
        for k in range(1, here.size):
            known, share = here[k:], here[k]
            below = system[i + k, : known.size]
            if share != 0.0:
                for m in range(known.size):
                    below[m] -= share * known[m]


@kernel
def _substitute(system: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    """Solve decomposed equations in place."""
    n, width = system.shape[0], system.shape[1] - 1
    for i in range(n):
        size = lesser(width, n - 1 - i)
        value = right[i] / system[i, 0]
        here, after = system[i, 1 : size + 1], right[i + 1 : i + 1 + size]
        for k in range(size):
            after[k] -= here[k] * value
        right[i] = value
    for i in range(n - 1, -1, -1):
        size = lesser(width, n - 1 - i)
        here, after = system[i, 1 : size + 1], right[i + 1 : i + 1 + size]
        s, t, u, v = 0.0, 0.0, 0.0, 0.0  # four sums, which do not wait for each other
        for k in range(0, size - 3, 4):
            s += here[k] * after[k]
            t += here[k + 1] * after[k + 1]
            u += here[k + 2] * after[k + 2]
            v += here[k + 3] * after[k + 3]
        for k in range(size // 4 * 4, size):
            s += here[k] * after[k]
        right[i] = (right[i] - ((s + t) + (u + v))) / system[i, 0]
