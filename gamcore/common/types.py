"""Array types of the library, by content."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger]
"""Bin codes: 0 is missing, then come the values; the largest is unseen. They are bytes, or have 16 bits."""

Bools = NDArray[np.bool_]
