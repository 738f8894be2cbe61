"""Row-level bags by membership bits: all bags side by side, the rows of a bin one after the other.

    words[w, i]:  bit b of row i is 1 where bag 32 w + b holds it
    by_bin:       rows sorted by their code; those of code v are by_bin[ends[v] : ends[v + 1]]

A bin's sums of 32 bags stay in two cache lines each while its rows go by. Rows are taken in fours,
so that a sum waits for its own last store a quarter as often. Nothing here asks for a particular instruction set.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import CHUNK, LOGISTIC

WORD: Final = 32
"""Bags a membership word."""

_FOUR = 4


class Membership(NamedTuple):
    """Which bag holds which row, and the training rows in the order of each feature's bins."""

    words: NDArray[np.uint32]  # (ceil(B / WORD), n)
    by_bin: NDArray[np.int32]  # (p, training rows)
    ends: NDArray[np.int64]  # (p, V + 1)


class Lanes(NamedTuple):
    """Scratch of `masked`, one a thread."""

    gradient: NDArray[np.floating]  # (2, CHUNK + 3) of the rows at hand
    word: NDArray[np.uint32]  # (CHUNK + 3,)
    sums: NDArray[np.floating]  # (2, WORD)


def make_lanes(dtype: type) -> Lanes:
    """Scratch for one thread."""
    room = CHUNK + _FOUR - 1
    return Lanes(np.zeros((2, room), dtype), np.zeros(room, np.uint32), np.zeros((2, WORD), dtype))


@kernel
def _add_chunk(values: NDArray[np.floating], lanes: Lanes, size: int, sums: NDArray[np.floating]) -> None:
    """Add the values of `size` rows (a multiple of four) to the sums of the bags that hold them.

    The inner loop touches one array only, and computes its bits; numba 0.68 still leaves it scalar.
    """
    zero = values.dtype.type(0.0)
    word = lanes.word
    for i in range(0, size, _FOUR):
        a, b, c, d = word[i], word[i + 1], word[i + 2], word[i + 3]
        ga, gb, gc, gd = values[i], values[i + 1], values[i + 2], values[i + 3]
        for k in range(WORD):
            mine = np.uint32(1) << np.uint32(k)
            one = (ga if a & mine else zero) + (gb if b & mine else zero)
            two = (gc if c & mine else zero) + (gd if d & mine else zero)
            sums[k] += one + two


@kernel
def _load(
    inside: NDArray[np.int32], words: NDArray[np.uint32], gradient: NDArray[np.floating], loss: int, lanes: Lanes
) -> int:
    """Bring the rows `inside` into scratch, filled up with rows of no bag to a multiple of four; how many there are."""
    n = inside.size
    for k in range(n):
        i = inside[k]
        lanes.word[k] = words[i]
        if loss == LOGISTIC:
            lanes.gradient[0, k], lanes.gradient[1, k] = gradient[2 * i], gradient[2 * i + 1]
        else:
            lanes.gradient[0, k] = gradient[i]
    full = (n + _FOUR - 1) // _FOUR * _FOUR
    lanes.word[n:full] = 0
    return full


@kernel
def masked(
    member: Membership,
    feature: int,
    gradient: NDArray[np.floating],
    loss: int,
    lanes: Lanes,
    out: NDArray[np.floating],
) -> None:
    """Histograms of all bags, out (B, 2 V), of one feature; gradient as in rowbags.py."""
    out[:] = 0
    rows, ends = member.by_bin[feature], member.ends[feature]
    each = 2 if loss == LOGISTIC else 1
    for v in range(ends.size - 1):
        for w in range(member.words.shape[0] if ends[v + 1] > ends[v] else 0):
            lanes.sums[:] = 0
            for start in range(ends[v], ends[v + 1], CHUNK):
                size = _load(rows[start : min(start + CHUNK, ends[v + 1])], member.words[w], gradient, loss, lanes)
                for c in range(each):
                    _add_chunk(lanes.gradient[c], lanes, size, lanes.sums[c])
            for b in range(WORD * w, min(WORD * (w + 1), out.shape[0])):
                for c in range(each):
                    out[b, each * v + c] = lanes.sums[c, b - WORD * w]
