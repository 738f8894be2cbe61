"""Where a curve has rows enough to be read.

A bin by itself may have few rows and its neighbourhood many: a column of zeros and amounts has hundreds of thin bins
beside a heavy one. So bins are not judged one by one: neighbours that are thin by themselves are joined, from the thin
end on, until a run has enough. What is left between two heavy bins, or at an end, is thin.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.common.types import Bools, Floats, Ints

FEW_ROWS: Final = 30
"""A run of bins with fewer training rows is too thin to be read, and is drawn grey."""

FEW_EVENTS: Final = 5.0
"""The same of the expected events of a share or a count, and of what is no event of a share."""


def evidence(rows: Floats, events: Floats | None = None) -> Floats:
    """Return how much of what a reading needs each bin has (K,): 1 is enough.

    rows : (K,) training rows. events : (K,) expected ones in each row; None where the target is no event.
    """
    by_rows = rows / FEW_ROWS
    return by_rows if events is None else np.minimum(by_rows, rows * events / FEW_EVENTS)


def runs(amount: Floats) -> list[Ints]:
    """Return the runs of neighbouring bins that can be read, from left to right. amount : (K,) their `evidence`."""
    heavy = np.flatnonzero(amount >= 1)
    parts: list[Ints] = []
    for start, end in zip([0, *(heavy + 1)], [*heavy, amount.size], strict=True):
        parts += _joined(np.arange(start, end), amount, from_right=end == amount.size and start > 0)
        if end < amount.size:
            parts.append(np.array([end]))
    return parts


def _joined(bins: Ints, amount: Floats, from_right: bool) -> list[Ints]:
    """Return thin neighbours as runs with enough; what is left over joins the last, and is no run by itself."""
    order = bins[::-1] if from_right else bins
    groups: list[list[int]] = []
    run: list[int] = []
    held = 0.0
    for place in order.tolist():
        run.append(place)
        held += float(amount[place])
        if held >= 1:
            groups.append(run)
            run, held = [], 0.0
    if groups:
        groups[-1] += run
    ordered = [np.sort(np.array(group)) for group in groups]
    return ordered[::-1] if from_right else ordered


def thin(amount: Floats) -> Bools:
    """Return which bins (K,) are in no run that can be read. amount : (K,) their `evidence`."""
    read = np.zeros(amount.size, bool)
    for run in runs(amount):
        read[run] = True
    return ~read


def tails(rows: Floats) -> tuple[int, int]:
    """Return the borders (of K + 1) behind the fewest lowest bins that together have rows enough to be read, and before
    the fewest highest ones. rows : (K,)."""
    low, high = (int(np.searchsorted(np.cumsum(amounts), FEW_ROWS)) + 1 for amounts in (rows, rows[::-1]))
    return min(low, rows.size), max(rows.size - high, 0)
