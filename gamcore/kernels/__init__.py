"""The compiled core: plain loops over arrays, nothing of the rest of the project.

Conventions of every kernel: it validates nothing, fills an `out` that the caller gives, and allocates nothing inside a
loop over rows. `p` features, `n` rows, `G` groups, `B` bags, `V` = 256 bin codes. Codes: 0 is the missing bin, 1..K are
values or levels, K + 1 the unseen bin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np

from gamcore.kernels.cache import attach, cache_folder

CODE: Final = np.uint8
"""A bin code: 254 values, the missing and the unseen bin fit in one byte, and reading codes is the hot loop."""

SUM: Final = np.float32
"""Scores, gradients and histograms: half the memory traffic of float64. A group has few enough rows per bin for
float32; the sums *along* a line of bins are float64 (see `line_cuts`). Every kernel also takes float64 throughout, for
proof."""

CURVE: Final = np.float64
"""Scores of a term over its bins: they add up thousands of small steps."""

N_CODES: Final = 256
"""V: one more than the largest bin code."""

_FOLDER = cache_folder()

Kernel = Callable[..., Any]


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile lazily, without the interpreter lock, cached on disk; division by zero gives inf or NaN as in numpy.

    Nothing is taken for granted of floating point (no fastmath): sums keep their order, so a model is the same to the
    bit however it is shared out, and what is vectorised is what may be.
    """
    return _compile(function, fastmath=False)


def reduction(function: Callable[..., Any]) -> Kernel:
    """Return a kernel that ends in sums and may take them in any order ("reassoc"), so that they run in vector lanes.

    The only use of fastmath here. NaN, infinities and divisions keep their meaning. The order is the compiler's: the
    same for every number of threads, but another machine may round otherwise: in a sum of 1,024 values within 1e-5
    (float32) or 1e-13 (float64) of the sum of their magnitudes. So only `subagging_masks` uses it, for the paper's
    bags of rows.
    """
    return _compile(function, fastmath={"reassoc"})


def _compile(function: Callable[..., Any], fastmath: bool | set[str]) -> Kernel:
    dispatcher = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    attach(dispatcher, _FOLDER)
    return dispatcher  # type: ignore[no-any-return]
