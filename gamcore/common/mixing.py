"""Hash numbers to random ones: the same result in kernels, in numpy and in every process."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
"""Odd, and near 2^64 over the golden ratio: its multiples lie far apart."""

Keys = TypeVar("Keys", np.uint64, NDArray[np.uint64])


def mixed(keys: Keys) -> Keys:
    """Return a random 64-bit number for each key: SplitMix64's finaliser (Steele, Lea and Flood 2014).

    Takes one number or, elementwise, an array.
    """
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
