"""How pairs are learnt whose surfaces are smooth: those of two features whose curves are.

Each step is a penalized regression on products of the splines of both features (tensor products of P-splines: Eilers
and Marx 2003), over the merged bins of the pair stage, at the mean value of each (`kernels.smooth_pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.learners import FREEDOM, Learner, shapes_of
from gamcore.common.types import Floats, Ints
from gamcore.kernels.pair_grid import SIDE
from gamcore.kernels.smooth_pairs import SmoothPair
from gamcore.kernels.smoothers import AT_ONCE
from gamcore.model.knots import knots_of
from gamcore.model.shapes import are_smooth
from gamcore.stats.splines import by_code, spread, with_freedom

MOST_KNOTS: Final = 40
"""Most inner knots of either feature, twice those of a curve: what two features do together may be as narrow as a town
on a map. Equations have as many unknowns as both have functions, multiplied."""

RUNGS: Final = tuple((10.0 ** (-rung / 2), min(int(6 * 1.33**rung), MOST_KNOTS)) for rung in range(9))
"""What the penalty of smooth pairs is multiplied by, and the most inner knots of either feature then: pairs bend as far
as validation rows ask for. A tenth of a penalty leaves 1.8 times the degrees of freedom of a feature, and as many more
knots suffice."""

ROWS_A_KNOT: Final = 5
"""Rows for each pair of knots, one of either feature: fewer could not tell what is between them."""


@dataclass(frozen=True)
class AxisFunctions:
    """The functions of one feature of a smooth pair, by merged code: missing has the first for its own.

    basis : (K + 1, 4), first : (K + 1,) as in `SmoothPair`. penalty, products : (R, R) what bends cost, and the
    products of the functions, for weights that add up to 1.
    """

    basis: Floats
    first: Ints
    penalty: Floats
    products: Floats


def most_knots(n_rows: int) -> int:
    """Return the most inner knots of a feature for so many rows."""
    return min(max(math.isqrt(n_rows // ROWS_A_KNOT), AT_ONCE), MOST_KNOTS)


def axis_functions(positions: Floats, weight: Floats, most: int) -> AxisFunctions:
    """Return the functions of a feature. positions : (K,) of merged bins 1 .. K. weight : (K + 1,) missing first.
    most : inner knots."""
    basis, first, bend = by_code(positions, weight[1:], most)
    penalty = np.zeros_like(bend)
    penalty[1:, 1:] = with_freedom(basis[1:], first[1:] - 1, bend[1:, 1:], weight=weight[1:], freedom=FREEDOM)
    whole, share = spread(basis, first, len(bend)), weight / weight.sum()
    products = (whole[:, :, None] * (share[:, None] * whole)[:, None, :]).sum(axis=0)
    return AxisFunctions(basis, first, penalty, products)


def pair_of_axes(axes: Sequence[AxisFunctions]) -> SmoothPair:
    """Return what kernels need of a pair of two features' functions."""
    order = sorted((0, 1), key=lambda side: -len(axes[side].penalty))
    both = [axes[side] for side in order]
    n_first, n_second = (len(axis.penalty) for axis in both)
    basis, first = np.zeros((2, SIDE, AT_ONCE)), np.zeros((2, SIDE), np.int64)
    penalty, products = np.zeros((2, n_first, n_first)), np.zeros((2, n_first, n_first))
    for side, axis in enumerate(both):
        size, n_codes = len(axis.penalty), len(axis.basis)
        basis[side, :n_codes], first[side, :n_codes] = axis.basis, axis.first
        penalty[side, :size, :size], products[side, :size, :size] = axis.penalty, axis.products
    return SmoothPair(
        order=np.array(order),
        ends=np.array([len(axis.basis) - 1 for axis in both]),
        basis=basis,
        first=first,
        penalty=penalty,
        products=products,
        sums=np.zeros((2, SIDE, SIDE)),
        system=np.empty((n_first * n_second, (AT_ONCE - 1) * n_second + AT_ONCE)),
        solution=np.empty((n_first, n_second)),
        line=np.empty((n_first, AT_ONCE)),
    )


class SmoothSurfaces:
    """The functions of a refit's pairs whose surfaces are smooth, made when a pair asks for them.

    pairs : by place. axes : of each of their features the mean values (K,) of merged bins, and the weights (K + 1,) of
    the training rows by merged code.
    """

    def __init__(self, pairs: Mapping[int, tuple[int, int]], axes: Mapping[int, tuple[Floats, Floats]], n_rows: int):
        self.pairs, self._most = pairs, most_knots(n_rows)
        self._axes = {j: tuple(tuple(line.tolist()) for line in axis) for j, axis in axes.items()}

    def at(self, place: int, rung: int) -> SmoothPair:
        """Return the functions of a pair on one of the `RUNGS`."""
        most = min(RUNGS[rung][1], self._most)
        return pair_of_axes([_made_once(*self._axes[j], most) for j in self.pairs[place]])


@lru_cache(512)
def _made_once(positions: tuple[float, ...], weight: tuple[float, ...], most: int) -> AxisFunctions:
    """Return `axis_functions`: refits that try other numbers of pairs have the same features."""
    return axis_functions(np.array(positions), np.array(weight), most)


def smooth_surfaces(
    pairs: Sequence[tuple[int, int]],
    learners: Sequence[Learner | None],
    signs: Sequence[int],
    counts: Sequence[Floats],
    merges: NDArray[np.uint8],
    *,
    n_rows: int,
) -> SmoothSurfaces:
    """Return the functions of the pairs whose surfaces are smooth.

    learners, signs : of each feature's curve, as in `Parameters`. counts : training rows per code of each feature.
    merges : (p, V) the merged code of each. n_rows : of the table, whatever they weigh.
    """
    shapes = shapes_of(learners)
    smooth = {place: pair for place, pair in enumerate(pairs) if are_smooth(pair, shapes, signs)}
    axes = {}
    for j, learner in enumerate(learners):
        if learner and any(j in pair for pair in smooth.values()):
            merge = merges[j, : counts[j].size]
            knots = knots_of(merge, np.array(learner.positions), counts[j])
            axes[j] = knots, np.bincount(merge, counts[j], knots.size + 1).astype(np.float64)
    return SmoothSurfaces(smooth, axes, n_rows)
