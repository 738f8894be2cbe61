"""Row-level bags by membership bits: the rows of a bin lie side by side, and each bag sums the rows it holds.

    by_bin:         rows sorted by code, each bin padded to a multiple of LANES with rows that are in no bag;
                    the rows of code v are by_bin[ends[v] : ends[v + 1]]
    words[w, k]:    bit b is 1 where bag 8 w + b holds row by_bin[k]

    gradients  g0 g1 g2 ...   read from the rows once, then from L1 for all bags
    words      w0 w1 w2 ...   read in order, one byte per eight bags
    sum        += g where the bit is set, as many rows at a time as the machine has lanes

The words cost B / 8 bytes per row and feature.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel, reduction
from gamcore.kernels.scalars import lesser

WORD: Final = 8
"""Bags per membership word. With short words, most loads are of gradients."""

LANES: Final = 16
"""The rows of a bin are padded to a multiple of this, so that hardly any are left for a scalar loop."""

RUN: Final = 1024
"""Rows whose gradients are in scratch at one time; with their words they fit in L1."""


class Membership(NamedTuple):
    """The training rows in the order of each feature's bins, and which bags hold them. One entry per feature."""

    by_bin: tuple[NDArray[np.int32], ...]  # (padded rows of the bins,)
    words: tuple[NDArray[np.uint8], ...]  # (ceil(B / WORD), padded rows of the bins)
    ends: NDArray[np.int64]  # (p, V + 1)


@reduction
def _sum_where(word: NDArray[np.uint8], bit: np.uint8, gradient: NDArray[np.floating]) -> np.floating:
    """Return the sum of the gradients of the rows whose word has the bit set."""
    zero = gradient.dtype.type(0.0)
    total = zero
    for k in range(word.size):
        total += gradient[k] if np.uint8(word[k] & bit) != 0 else zero
    return total


@reduction
def _sums_where(
    word: NDArray[np.uint8], bit: np.uint8, gradient: NDArray[np.floating], hessian: NDArray[np.floating]
) -> tuple[np.floating, np.floating]:
    """Return the same sum for gradients and for hessians, in one pass over the words."""
    zero = gradient.dtype.type(0.0)
    g, h = zero, zero
    for k in range(word.size):
        inside = np.uint8(word[k] & bit) != 0
        g += gradient[k] if inside else zero
        h += hessian[k] if inside else zero
    return g, h


@kernel
def _load(inside: NDArray[np.int32], gradient: NDArray[np.floating], paired: bool, run: NDArray[np.floating]) -> None:
    """Copy the gradients of the rows `inside` to scratch."""
    for k in range(inside.size):
        i = np.intp(inside[k])
        if paired:
            run[0, k], run[1, k] = gradient[2 * i], gradient[2 * i + 1]
        else:
            run[0, k] = gradient[i]


@kernel
def masked(
    by_bin: NDArray[np.int32],
    words: NDArray[np.uint8],
    ends: NDArray[np.int64],
    gradient: NDArray[np.floating],
    paired: bool,
    run: NDArray[np.floating],
    out: NDArray[np.floating],
) -> None:
    """Write one feature's histograms of all bags to `out` (B, 2 V).

    by_bin, words, ends : the feature's entries of Membership; run : scratch (2, RUN); gradient : as in subagging.py.
    """
    out[:] = 0
    for v in range(ends.size - 1):
        for start in range(ends[v], ends[v + 1], RUN):
            stop = lesser(start + RUN, ends[v + 1])
            g, h = run[0, : stop - start], run[1, : stop - start]
            _load(by_bin[start:stop], gradient, paired, run)
            for b in range(out.shape[0]):
                word, bit = words[b // WORD, start:stop], np.uint8(1 << b % WORD)
                if paired:
                    more_g, more_h = _sums_where(word, bit, g, h)
                    out[b, 2 * v] += more_g
                    out[b, 2 * v + 1] += more_h
                else:
                    out[b, v] += _sum_where(word, bit, g)
