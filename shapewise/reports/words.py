"""Numbers and names in reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from gamcore.decide.worth import Estimate
from gamcore.numbers import estimate, fixed, number, points
from gamcore.stats.intervals import Interval


def money(value: float, currency: str) -> str:
    """Return an amount with its currency."""
    return f"{estimate(value)} {currency}".strip()


def interval(of: Estimate, unit: str = "") -> str:
    """Return an interval in words."""
    return f"95% interval {estimate(of.low)} to {estimate(of.high)} {unit}".strip()


def gap(value: float, ends: Interval, is_rate: bool) -> str:
    """Return a difference with its interval: in points for a rate."""
    if not is_rate:
        middle, low, high = (number(one, signed=True) for one in (value, *ends))
        return f"{middle} ({low} to {high})"
    low, high = (fixed(100 * end, 1, signed=True) for end in ends)
    return f"{points(100 * value)} ({low} to {high})"


def in_order(names: Sequence[str]) -> str:
    """Return names in words, where the order counts."""
    return ", then ".join(names)


def day(when: date) -> str:
    """Return a day: 1 December 2026."""
    return f"{when.day} {when:%B %Y}"
