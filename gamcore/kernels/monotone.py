"""Curves that may only rise or only fall: after each step the curve is the nearest one that is in order.

Steps may go the wrong way where the curve has moved the right way before. If each of them had to be in order, what an
early step has made too steep could never be made gentler again; and if all were free, the best cut could be one that
leads nowhere, at every step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import Fit, Settings, Work
from gamcore.kernels.losses import EMPTY
from gamcore.kernels.scalars import greater


@kernel
def find_slack(last: int, sign: int, curve: NDArray[np.float64], work: Work) -> None:
    """Fill work.slack: how far a curve moves the right way from each code to the next."""
    for k in range(1, last):
        work.slack[k] = sign * (curve[k + 1] - curve[k])


@kernel
def keep_order(last: int, feature: int, fit: Fit, settings: Settings, work: Work) -> None:
    """Change `work.update` so that the curve of a feature with a sign is in order after the step; code 0 is free.

    The nearest curve in order, by the weights of all training rows, pools adjacent violators (Barlow et al. 1972).

        work.prefix:  | value of each block | its weight | its last code |   blocks of codes that share a value
    """
    sign, share = fit.signs[feature, 0], settings.learning_rate / settings.n_bags
    value, weight, end = work.prefix[0], work.prefix[1], work.prefix[2]
    curve, update, n = fit.curves[feature], work.update, 0
    for k in range(1, last + 1):
        value[n], weight[n], end[n] = sign * (curve[k] + update[k] * share), greater(work.total[1, k], EMPTY), k
        n += 1
        while n > 1 and value[n - 1] < value[n - 2]:
            both = weight[n - 2] + weight[n - 1]
            value[n - 2] += (value[n - 1] - value[n - 2]) * (weight[n - 1] / both)
            weight[n - 2], end[n - 2] = both, end[n - 1]
            n -= 1
    k = 1
    for block in range(n):
        while k <= end[block]:
            update[k] = (sign * value[block] - curve[k]) / share
            k += 1
