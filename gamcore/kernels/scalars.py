"""Comparisons of two numbers: numba's own `min` and `max` take several times as long to compile."""

from __future__ import annotations

from typing import Any

from gamcore.kernels import trait


@trait
def lesser(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers of one type; the second if one is NaN."""
    return a if a < b else b


@trait
def greater(a: Any, b: Any) -> Any:
    """Return the larger of two numbers of one type; the second if one is NaN."""
    return a if a > b else b


@trait
def clipped(value: float, most: float) -> float:
    """Return the value within +-most; NaN if it is."""
    if value > most:
        return most
    return -most if value < -most else value
