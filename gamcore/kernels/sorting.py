"""Orders of few values, without the sorts of numpy: those allocate, and are slow to compile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel


@kernel
def sort_codes(key: NDArray[np.float64], n: int, order: NDArray[np.integer]) -> None:
    """Write the codes 1 .. n to `order` by ascending key[code - 1]: ties by code, NaN last, as numpy sorts.

    An insertion sort: levels are few, and at most 254.
    """
    for k in range(n):
        value, at = key[k], k
        while at > 0 and value == value and not key[order[at - 1] - 1] <= value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k + 1


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
