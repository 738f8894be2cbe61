"""Numbers turned into random ones, the same wherever they are met."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A random number of 64 bits for each key, elementwise: SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))
