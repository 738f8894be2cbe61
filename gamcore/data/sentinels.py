"""Sentinels: numbers that stand for no amount, such as 999, 98 or -1 for "not known", found by distance and spike.

A sentinel stands alone beyond an end of its column: the gap to the other values is wider than they are spread, and more
rows share it than share the values next to that gap. Heavy tails have wide gaps, too, but no spikes beyond them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.common.types import Bools, Floats

MOST: Final = 4
"""Sentinels at one end of a column, as of "not asked", "not known", "refused" and "does not apply"."""

FEWEST_ROWS: Final = 5
"""Rows of a spike; those of all sentinels at an end count together."""

FEWEST_VALUES: Final = 5
"""Other values that a column needs to have a distance from them."""

NEAREST: Final = 5
"""Values next to the gap whose steps and rows the gap and the spike are compared with."""

STEPS: Final = 3.0
"""Least width of the gap, in the widest of the steps between the nearest values."""

SPREADS: Final = 0.75
"""Least width of the gap, in quartile distances of the other rows."""

SPIKE: Final = 3.0
"""Least rows of each sentinel, in the mean rows of the nearest values."""

FAR: Final = 2.0
"""Width of a gap, in ranges of the other values, beyond which no higher spike is needed."""


def sentinels(values: Floats, counts: Floats) -> Bools:
    """Return which of the distinct values (K,) of a column, in ascending order, are sentinels.

    counts : (K,) rows of each value.
    """
    marks = np.zeros(values.size, bool)
    sizes = values / (float(np.abs(values).max(initial=0.0)) or 1.0)  # differences of the largest would overflow
    top = _beyond_gap(sizes, counts)
    bottom = max(_beyond_gap(-sizes[::-1], counts[::-1]), _below_zero(values, counts))
    marks[values.size - top :] = True
    marks[:bottom] = True
    return marks


def _beyond_gap(values: Floats, counts: Floats) -> int:
    """Return how many of the highest values are sentinels: as many as lie together beyond a gap."""
    for n in range(MOST, 0, -1):
        if values.size - n >= FEWEST_VALUES and _stand_alone(values, counts, n):
            return n
    return 0


def _stand_alone(values: Floats, counts: Floats, n: int) -> bool:
    """Return whether the n highest values lie beyond a gap, and are spikes. What may be sentinels at the other end is
    left aside."""
    end, steps = values.size - n, np.diff(values)
    first = 1 + int(np.argmax(steps[:MOST]))
    first = first if end - first >= FEWEST_VALUES else 0
    inside, own, rows, gap = values[first:end], counts[first:end], counts[end:], steps[end - 1]
    if rows.sum() < FEWEST_ROWS or gap < STEPS * np.diff(inside[-NEAREST:]).max():
        return False
    if gap >= FAR * (inside[-1] - inside[0]):
        return True
    share = np.cumsum(own) / own.sum()
    low, high = inside[np.searchsorted(share, (0.25, 0.75))]
    return bool(gap >= SPREADS * (high - low) and rows.min() >= SPIKE * own[-NEAREST:].mean())


def _below_zero(values: Floats, counts: Floats) -> int:
    """Return how many values are sentinels as the only ones below zero: a few whole numbers, which have more rows each
    than the usual value has if the next one is zero."""
    n = int(np.searchsorted(values, 0.0))
    if not 0 < n <= MOST or values.size - n < FEWEST_VALUES or (values[:n] % 1).any():
        return 0
    rows = counts[:n]
    spike = 0.0 if values[n] > 0 else float(np.median(counts[n:]))
    return n if rows.sum() >= FEWEST_ROWS and rows.mean() >= spike else 0
