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


@kernel
def add_squares(columns: NDArray[np.float64], weight: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add the weighted products of any two columns (m, p) to `out` (p, p), whose upper triangle is left as it is.

    Four rows at a time, so that `out`, which is larger than the first-level cache, is passed over less often.
    """
    n_rows, n_columns = columns.shape
    fours = n_rows - n_rows % 4
    for r in range(0, fours, 4):
        first, second, third, last = columns[r], columns[r + 1], columns[r + 2], columns[r + 3]
        for i in range(n_columns):
            a, b = weight[r] * first[i], weight[r + 1] * second[i]
            c, d = weight[r + 2] * third[i], weight[r + 3] * last[i]
            line = out[i]
            for j in range(i + 1):
                line[j] += a * first[j] + b * second[j] + c * third[j] + d * last[j]
    for r in range(fours, n_rows):
        row = columns[r]
        for i in range(n_columns):
            a = weight[r] * row[i]
            for j in range(i + 1):
                out[i, j] += a * row[j]
