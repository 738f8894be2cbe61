"""What a test of features sums over rows: the gradients of each code, and their squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import kernel


@kernel
def sum_gradients(code: Codes, gradient: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add each row's gradient, and its square, to the sums of its code. out : (V, 2)."""
    for i in range(code.size):
        value = gradient[i]
        out[code[i], 0] += value
        out[code[i], 1] += value * value
