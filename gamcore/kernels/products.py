"""Products of matrices in this thread: the threads of a library of linear algebra would busy-wait."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel


@kernel
def multiply(first: NDArray[np.float64], second: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write the product of two matrices to `out`, which is overwritten."""
    out[:] = 0.0
    for i in range(first.shape[0]):
        for k in range(first.shape[1]):
            factor = first[i, k]
            for j in range(second.shape[1]):
                out[i, j] += factor * second[k, j]
