"""How pairs are learnt whose surfaces are smooth: those of two features whose curves are.

Each step is a penalized regression on products of the splines of both features (tensor products of P-splines: Eilers
and Marx 2003), over the merged bins of the pair stage, at the mean value of each (`kernels.smooth_pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.learners import FREEDOM, Learner, shapes_of
from gamcore.kernels.pair_grid import SIDE
from gamcore.kernels.smooth_pairs import SmoothPair
from gamcore.kernels.smoothers import AT_ONCE
from gamcore.model.knots import knots_of
from gamcore.model.shapes import are_smooth
from gamcore.stats.splines import alone_or_along, with_freedom
from gamcore.types import Floats, Ints

MOST_KNOTS: Final = 40
"""Most inner knots of either feature, twice those of a curve: what two features do together may be as narrow as a town
on a map. Equations have as many unknowns as both have functions, multiplied."""

ROWS_A_KNOT: Final = 5
"""Rows for each pair of knots, one of either feature: fewer could not tell what is between them, and to decompose the
equations takes time in the fourth power of the knots of a feature."""


@dataclass(frozen=True)
class AxisFunctions:
    """The functions of one feature of a smooth pair, by merged code: missing has the first for its own.

    basis : (SIDE, 4), first : (SIDE,) as in `SmoothPair`. penalty, products : (R, R) what bends cost, and the products
    of the functions, for weights that add up to 1.
    """

    basis: Floats
    first: Ints
    penalty: Floats
    products: Floats


def most_knots(n_rows: int) -> int:
    """Return the most inner knots of a feature for so many rows."""
    return min(max(math.isqrt(n_rows // ROWS_A_KNOT), AT_ONCE), MOST_KNOTS)


def axis_functions(positions: Floats, weight: Floats, most: int = MOST_KNOTS) -> AxisFunctions:
    """Return the functions of a feature. positions : (K,) of merged bins 1 .. K. weight : (K + 1,) missing first.
    most : inner knots."""
    functions, begins, bend = alone_or_along(positions, weight[1:], most)
    size = 1 + int(begins.max()) + AT_ONCE
    basis, first, penalty = np.zeros((SIDE, AT_ONCE)), np.zeros(SIDE, np.int64), np.zeros((size, size))
    basis[0, 0] = 1.0
    basis[1 : positions.size + 1], first[1 : positions.size + 1] = functions, 1 + begins
    inside = slice(1, 1 + len(bend))
    penalty[inside, inside] = with_freedom(functions, begins, bend, weight=weight[1:], freedom=FREEDOM)
    share = np.zeros(SIDE)
    share[: weight.size] = weight / weight.sum()
    return AxisFunctions(basis, first, penalty, _products(dense(basis, first, size), share))


def _products(functions: Floats, share: Floats) -> Floats:
    """Return the weighted products (R, R) of functions (SIDE, R)."""
    return np.asarray((functions[:, :, None] * (share[:, None] * functions)[:, None, :]).sum(axis=0))


def dense(basis: Floats, first: Ints, size: int) -> Floats:
    """Return the functions at each code, (SIDE, size)."""
    whole = np.zeros((SIDE, size))
    np.add.at(whole, (np.arange(SIDE)[:, None], first[:, None] + np.arange(AT_ONCE)), basis)
    return whole


def pair_of_axes(axes: Sequence[AxisFunctions]) -> SmoothPair:
    """Return what kernels need of a pair of two features' functions."""
    sizes = [len(axis.penalty) for axis in axes]
    most, n = max(sizes), sizes[0] * sizes[1]
    penalty, products = (
        np.stack([np.pad(matrix, (0, most - len(matrix))) for matrix in matrices])
        for matrices in ([axis.penalty for axis in axes], [axis.products for axis in axes])
    )
    return SmoothPair(
        basis=np.stack([axis.basis for axis in axes]),
        first=np.stack([axis.first for axis in axes]),
        penalty=penalty,
        products=products,
        system=np.empty((n, (AT_ONCE - 1) * sizes[1] + AT_ONCE)),
        solution=np.empty((sizes[0], sizes[1])),
        line=np.empty(most),
    )


def smooth_pairs(
    pairs: Sequence[tuple[int, int]],
    learners: Sequence[Learner | None],
    signs: Sequence[int],
    counts: Sequence[Floats],
    merges: NDArray[np.uint8],
    *,
    n_rows: int,
) -> dict[int, SmoothPair]:
    """Return the functions of the pairs whose surfaces are smooth, by their place.

    learners, signs : of each feature's curve, as in `Parameters`. counts : training rows per code of each feature.
    merges : (p, V) the merged code of each. n_rows : of the table, whatever they weigh.
    """
    shapes = shapes_of(learners)
    smooth = [place for place, pair in enumerate(pairs) if are_smooth(pair, shapes, signs)]
    axes = {}
    for j, learner in enumerate(learners):
        if learner and any(j in pairs[place] for place in smooth):
            merge = merges[j, : counts[j].size]
            knots = knots_of(merge, np.array(learner.positions), counts[j])
            weight = np.bincount(merge, counts[j], knots.size + 1).astype(np.float64)
            axes[j] = axis_functions(knots, weight, most_knots(n_rows))
    return {place: pair_of_axes([axes[j] for j in pairs[place]]) for place in smooth}
