"""Numbers and names in reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from gamcore.decide.experiment_effects import Effect
from gamcore.decide.worth import Estimate
from gamcore.numbers import estimate, fixed, number, points
from gamcore.stats.intervals import Interval


def money(value: float, currency: str) -> str:
    """Return an amount with its currency."""
    return f"{estimate(value)} {currency}".strip()


def interval(of: Estimate, unit: str = "") -> str:
    """Return an interval in words."""
    return f"95% interval {estimate(of.low)} to {estimate(of.high)} {unit}".strip()


def gap(effect: Effect) -> str:
    """Return a measured difference with its interval: in points for a rate, else in the unit of its metric."""
    if effect.is_rate:
        return points_between(effect.difference, effect.difference_interval)
    middle, low, high = map(effect.gap, (effect.difference, *effect.difference_interval))
    return f"{middle} ({low} to {high})"


def difference(value: float, ends: Interval, is_rate: bool) -> str:
    """Return a difference with its interval: in points for a rate."""
    if is_rate:
        return points_between(value, ends)
    middle, low, high = (number(one, signed=True) for one in (value, *ends))
    return f"{middle} ({low} to {high})"


def points_between(value: float, ends: Interval) -> str:
    """Return a difference of rates with its interval, in points."""
    low, high = (fixed(100 * end, 1, signed=True) for end in ends)
    return f"{points(100 * value)} ({low} to {high})"


def in_order(names: Sequence[str]) -> str:
    """Return names in words, where the order counts."""
    return ", then ".join(names)


def day(when: date) -> str:
    """Return a day: 1 December 2026."""
    return f"{when.day} {when:%B %Y}"
