"""Smooth surfaces of pairs: values at knots, between which they go straight along either feature, and what they hold of
its curves.

The knots of a refit are the typical values of its merged bins. The part of a surface that is a curve of one feature is
smooth itself, so that what moves to the curve leaves no steps in it.
"""

from __future__ import annotations

import numpy as np

from gamcore.common.types import Codes, Floats
from gamcore.stats.splines import by_code, spread


def knots_of(merge: Codes, positions: Floats, counts: Floats) -> Floats:
    """Return the mean position of the training rows in each merged bin, (M,).

    merge : (size,) the merged bin of each code, 1 .. M. positions : (size - 2,) typical values of codes 1, 2, ...
    counts : (size,) training rows.
    """
    bins, weight = merge[1:-1], np.maximum(counts[1:-1], 1e-9)
    return np.asarray(np.bincount(bins, weight * positions)[1:] / np.bincount(bins, weight)[1:])


def between_knots(knots: Floats, positions: Floats) -> Floats:
    """Return where each code (size,) lies among the knots: 1 at the first, 1.5 halfway from there to the second.

    Codes beyond the outer knots are as these. Missing and unseen are 0.
    """
    places = np.zeros(positions.size + 2)
    places[1:-1] = np.interp(positions, knots, np.arange(1.0, knots.size + 1))
    return places


def functions_by_code(positions: Floats, counts: Floats, most_knots: int) -> Floats:
    """Return splines (size, R) of a feature by its codes; missing has the first for its own, if there are such rows,
    and unseen has none."""
    functions, begins, bend = by_code(positions, counts[1:-1], most_knots)
    whole = spread(functions, begins, len(bend))
    whole[0, 0] = counts[0] > 0
    return np.pad(whole, ((0, 1), (0, 0)))


def smooth_effects(surfaces: Floats, counts: Floats, functions: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """Return the means (K,), and the effects (K, size_1) and (K, size_2) of either feature, that surfaces hold.

    They are the weighted least squares fit of curves that are sums of `functions`, to surfaces (K, size_1, size_2).
    What is left has a weighted mean of 0, also when multiplied by any of the functions.
    """
    first, second = functions
    by_first, by_second, total = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    system = np.block([
        [first.T @ (by_first[:, None] * first), first.T @ counts @ second],
        [second.T @ counts.T @ first, second.T @ (by_second[:, None] * second)],
    ])  # fmt: skip
    heavy = surfaces * counts
    right = np.concatenate([heavy.sum(axis=2) @ first, heavy.sum(axis=1) @ second], axis=1)
    known = np.linalg.lstsq(system, right.T, rcond=None)[0].T
    rows, columns = known[:, : first.shape[1]] @ first.T, known[:, first.shape[1] :] @ second.T
    of_rows, of_columns = rows @ by_first / total, columns @ by_second / total
    rows -= of_rows[:, None] * (first.sum(axis=1) > 0)
    columns -= of_columns[:, None] * (second.sum(axis=1) > 0)
    return of_rows + of_columns, rows, columns
