"""Orders of few values, without the sorts of numpy: those allocate, and are slow to compile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel


@kernel
def _goes_before(key: NDArray[np.float64], code: int, other: int) -> bool:
    """Return whether a code comes before another: by key, ties by code, NaN last."""
    mine, its = key[code - 1], key[other - 1]
    if mine == its or (mine != mine and its != its):
        return code < other
    return bool(mine < its) or its != its


@kernel
def sort_codes(key: NDArray[np.float64], n: int, order: NDArray[np.integer]) -> None:
    """Write the codes 1 .. n to `order` by ascending key[code - 1]: ties by code, NaN last, as numpy sorts.

    A sort by insertion over ever smaller gaps (Shell 1959), each about a third of the one before.
    """
    for k in range(n):
        order[k] = k + 1
    gap = 1
    while 9 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            code, at = np.int64(order[k]), k
            while at >= gap and _goes_before(key, code, np.int64(order[at - gap])):
                order[at] = order[at - gap]
                at -= gap
            order[at] = code
        gap //= 3


@kernel
def first_most(values: NDArray[np.floating]) -> int:
    """Return the place of the first NaN if there is one, else of the largest value, the first among equals (argmax)."""
    best = 0
    for k in range(values.size):
        if values[k] != values[k]:
            return k
        if values[k] > values[best]:
            best = k
    return best
