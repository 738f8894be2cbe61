"""What weighted rows are worth."""

from __future__ import annotations

import numpy as np

from gamcore.common.types import Floats


def effective_rows(weight: Floats) -> float:
    """Return how many rows of equal weight say as much about a mean (Kish, Survey Sampling, 1965); 0 for none."""
    return float(weight.sum() ** 2 / np.square(weight).sum()) if weight.any() else 0.0
