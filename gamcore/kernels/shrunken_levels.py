"""One step on a category of very many levels, which are drawn towards their mean as far as their rows are noise.

Cutting a line of thousands of levels fits noise, since the line is sorted by the very sums that are then cut. So such a
curve moves towards the prediction of random effects (Robinson 1991). Level v, of gradient sum G and weight sum S at the
score f, has the sum Z = G + S f without its curve. Its effect is predicted as

    mean + (Z - S mean) / (S + noise / signal)        where Z - S mean has the variance signal S^2 + noise S

Both variances are measured at every step. A bag and the rows outside it have the effects in common but not the noise:
products of their sums have the mean signal S_bag S_rest. Where there is no effect these scatter around 0, and the
levels stay together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import kernel
from gamcore.kernels.layout import Settings, Work
from gamcore.kernels.losses import has_log_link, is_paired, sums_of
from gamcore.kernels.scalars import clipped


@kernel
def draw_levels(
    weight: NDArray[np.floating], last: int, curve: NDArray[np.float64], settings: Settings, work: Work
) -> None:
    """Write the step of every code 0 .. last of a curve (V,), times the bags, to `work.update`.

    work.bags : histograms of the bags, which are parts of the rows; work.total : sums of all rows, by code. weight :
    as for `cut_lines`.
    """
    sums, heavy = 0.0, 0.0
    for v in range(last + 1):
        work.order[v] = v
        sums += work.total[0, v] + work.total[1, v] * curve[v]
        heavy += work.total[1, v]
    mean = sums / heavy if heavy > 0.0 else 0.0
    ratio = _noise_to_signal(weight, last, curve, mean, heavy / (last + 1), settings, work)
    for v in range(last + 1):
        s = work.total[1, v]
        beyond = work.total[0, v] + s * (curve[v] - mean)
        effect = mean + (beyond / (s + ratio) if s + ratio > 0.0 and ratio < np.inf else 0.0)
        work.update[v] = settings.n_bags * clipped(effect - curve[v], settings.max_delta)


@kernel
def _noise_to_signal(
    weight: NDArray[np.floating],
    last: int,
    curve: NDArray[np.float64],
    mean: float,
    usual: float,
    settings: Settings,
    work: Work,
) -> float:
    """Return the variance of the noise over that of the effects; infinity where there are none to see.

    usual : mean weight of a level. Levels count the more, the more their sums tell, but no heavy one dominates.
    """
    loss, paired, with_log = settings.loss, is_paired(settings.loss), has_log_link(settings.loss)
    common = shared = 0.0
    for b in range(settings.n_bags):
        bag, mine = work.bags[b], weight[b]
        for v in range(last + 1):
            g = float(bag[2 * v] if paired else bag[v])
            s = float(bag[2 * v + 1] if paired else mine[v])
            if with_log:
                g, s = sums_of(g, s, loss)
            rest, above = work.total[1, v] - s, curve[v] - mean
            share = 1.0 / (work.total[1, v] + usual) ** 2
            common += share * (g + s * above) * (work.total[0, v] - g + rest * above)
            shared += share * s * rest
    if not (common > 0.0 and shared > 0.0):
        return np.inf
    signal, squares, heavy = common / shared, 0.0, 0.0
    for v in range(last + 1):
        s = work.total[1, v]
        share = 1.0 / (s + usual) ** 2
        squares += share * ((work.total[0, v] + s * (curve[v] - mean)) ** 2 - signal * s * s)
        heavy += share * s
    return max(squares, 0.0) / heavy / signal
