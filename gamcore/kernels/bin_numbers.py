"""Numbers in order, and the bins of numbers, for columns so long that both would be most of a fit.

A number is sorted as a key: its 64 bits, so turned that a greater number is a greater key. Keys are sorted byte by
byte, the last byte first; each pass is stable, so equal numbers stay in the order of their rows:

    key      b7 b6 b5 b4 b3 b2 b1 b0      a pass per byte in which keys differ: values with few digits need few
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import MOST_CODES, N_CODES, kernel

N_BYTES: Final = 8
BYTES: Final = 256
"""Values of a byte."""

TOGETHER: Final = 512
"""Numbers whose bins are searched in step."""

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]


@kernel
def sort_keys(keys: Keys, weights: Floats, spare: Keys, spare_weights: Floats, places: NDArray[np.int64]) -> bool:
    """Sort keys (n,) and their weights (n,), or none (0,); return whether the result is in the spare arrays.

    spare, spare_weights : of the same sizes. places : (N_BYTES, BYTES), scratch.
    """
    weighted = weights.size > 0
    places[:] = 0
    for i in range(keys.size):
        for b in range(N_BYTES):
            places[b, (keys[i] >> np.uint64(8 * b)) & np.uint64(BYTES - 1)] += 1
    moved = False
    for b in range(N_BYTES):
        shift, place = np.uint64(8 * b), places[b]
        if place[(keys[0] >> shift) & np.uint64(BYTES - 1)] == keys.size:
            continue
        first = 0
        for value in range(BYTES):
            n_here = place[value]
            place[value] = first
            first += n_here
        for i in range(keys.size):
            value = (keys[i] >> shift) & np.uint64(BYTES - 1)
            to = place[value]
            place[value] = to + 1
            spare[to] = keys[i]
            if weighted:
                spare_weights[to] = weights[i]
        keys, spare = spare, keys
        weights, spare_weights = spare_weights, weights
        moved = not moved
    return moved


@kernel
def merge_equal(keys: Keys, weights: Floats, heavy: Floats) -> int:
    """Move the distinct ones of sorted keys to the front, and write the rows (the sum of the weights) of each to
    `heavy`; return their number."""
    weighted, last = weights.size > 0, -1
    for i in range(keys.size):
        if last < 0 or keys[i] != keys[last]:
            last += 1
            keys[last] = keys[i]
            heavy[last] = 0.0
        heavy[last] += weights[i] if weighted else 1.0
    return last + 1


@kernel
def find_bins(values: Floats, cuts: Floats, n_cuts: int, reached: NDArray[np.int64], codes: Codes) -> None:
    """Write 1 + the number of cuts <= value to codes (n,), and 0 where the value is NaN.

    cuts : from `padded`. reached : scratch, as many as values are searched in step. Each search halves the cuts that
    are left, without a branch, and those of many values overlap: one by itself waits for memory and for wrong guesses.
    """
    first = 1
    while 2 * first - 1 < n_cuts:
        first *= 2
    for start in range(0, values.size, reached.size):
        some, out = values[start : start + reached.size], codes[start : start + reached.size]
        for i in range(some.size):
            reached[i] = 0
        half = first
        while half > 0:
            for i in range(some.size):
                reached[i] += half if cuts[reached[i] + half - 1] <= some[i] else 0
            half //= 2
        for i in range(some.size):
            out[i] = reached[i] + 1 if some[i] == some[i] else 0


def padded(cuts: Floats) -> Floats:
    """Return the cuts as `find_bins` takes them: N_CODES, or all codes of a wide feature, with NaN, which no value
    reaches, behind the last."""
    line = np.full(N_CODES if cuts.size < N_CODES else MOST_CODES, np.nan)
    line[: cuts.size] = cuts
    return line
