"""The compiled core: plain loops over arrays, independent of the rest of the project.

Conventions of every kernel: it validates nothing, fills an `out` array supplied by the caller, and allocates
nothing inside a loop over rows. `p` features, `n` rows, `G` groups, `B` bags, `V` bin codes (256, or more where a
feature is wide). Codes: 0 is the missing bin, 1..K are values or levels, K + 1 the unseen bin.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numba
import numpy as np
from numba.extending import register_jitable

from gamcore.kernels.cache import attach, cache_folder

CODE: Final = np.uint8
"""The type of a bin code: 254 values, the missing bin and the unseen bin fit in one byte. Reading codes is the hot
loop."""

WIDE_CODE: Final = np.uint16
"""The type of the codes of a wide feature, which has more bins."""

SUM: Final = np.float32
"""The type of row scores, gradients and histograms: half the memory traffic of float64. A group has few enough rows
per bin for float32; the sums *along* a line of bins are float64 (see `line_cuts`). Every kernel also accepts float64
throughout, for verification."""

CURVE: Final = np.float64
"""The type of a term's scores over its bins, which add up thousands of small steps."""

N_CODES: Final = 256
"""V, one more than the largest bin code, where no feature is wide."""

MOST_CODES: Final = 4096
"""Most codes of a feature."""

TESTED: Final = ("0.68.1",)
"""Versions of numba whose internals `compiler` was tested with. With others the first call of a kernel takes several
times as long, and gives the same numbers."""

PLAIN: Final = bool(
    numba.__version__ not in TESTED or numba.config.DISABLE_JIT or os.environ.get("GAMCORE_PLAIN_NUMBA") == "1"
)
"""Whether kernels are compiled as numba has it, not by `compiler`."""

FOLDER: Final = cache_folder("plain" if PLAIN else "parts")
"""Where compiled kernels are kept; None if there is no safe place."""

OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
"""What every kernel is compiled with: see `_compile`."""

Kernel = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile lazily, releasing the interpreter lock, cached on disk; division by zero gives inf or NaN as in numpy.

    There is no fastmath: sums keep their order, so a model is bit-identical however its work is divided among threads,
    and only loops whose result does not depend on the order are vectorised.
    """
    return _compile(function, fastmath=False)


def reduction(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel whose sums may be taken in any order ("reassoc"), so that they run in vector lanes.

    The only use of fastmath here. NaN, infinities and divisions keep their meaning. The compiler chooses the order: it
    is the same for any number of threads, but another machine may round differently. For a sum of 1,024 values the
    difference is within 1e-5 (float32) or 1e-13 (float64) of the sum of their magnitudes. So only `subagging_masks`
    uses it, for the paper's bags of rows.
    """
    return _compile(function, fastmath={"reassoc"})


def trait(function: Function) -> Function:
    """Make a function callable from kernels and from Python, which runs it as it is."""
    if PLAIN:
        return register_jitable(function)  # type: ignore[no-any-return]
    from gamcore.kernels import compiler

    return compiler.Trait(function, targetoptions={"nopython": True, "boundscheck": None, **OPTIONS})


def _compile(function: Callable[..., Any], fastmath: bool | set[str]) -> Kernel:
    """Compile without what only costs time to compile: an entry for C, and the counting of references to arrays.

    Without the latter a kernel can neither allocate nor return an array, nor copy one to another with `[:] =`.
    """
    options = {**OPTIONS, "fastmath": fastmath}
    if PLAIN:
        dispatcher = numba.njit(**options)(function)
    else:
        from gamcore.kernels import compiler  # only here: another version may lack what it imports

        dispatcher = compiler.Kernel(function, targetoptions={"nopython": True, "boundscheck": None, **options})
    attach(dispatcher, FOLDER)
    return dispatcher  # type: ignore[no-any-return]
