"""Sums of numbers that do not depend on their order, or on how they were divided: no bit is lost on the way.

A finite float64 is a whole number of units of 2^-1074. Sums of such numbers are Python integers, which have no end;
only the last step rounds, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats

SMALLEST: Final = -1074
"""The power of 2 that every float64 is a multiple of."""

HALF: Final = 26
"""Bits of the lower part of a whole weight: sums of 2^26 parts are exact in float64."""

BITS: Final = 26
"""Bits that are taken off at a time."""

AT_ONCE: Final = 2**24
"""Values that are summed at a time: so many whole numbers of `BITS` bits have an exact sum in float64."""

LARGEST_POWER: Final = 1000
"""Powers of 2 up to this one are numbers, as are those of its negative."""

WHOLE_BITS: Final = 62
"""Bits of the sum of all weights as a whole number."""


def exact_sum(values: Floats) -> int:
    """Return the sum of finite numbers (n,) in units of 2^-1074."""
    blocks = (values[first : first + AT_ONCE] for first in range(0, values.size, AT_ONCE))
    return sum(_sum(block) for block in blocks)


def _sum(values: Floats) -> int:
    """Take off the leading bits of all values, as whole numbers of one unit, until nothing is left."""
    total, rest = 0, values
    while (largest := max(float(rest.max(initial=0.0)), -float(rest.min(initial=0.0)))) > 0:
        power = max(int(np.frexp(largest)[1]) - BITS, SMALLEST)
        whole = np.trunc(_scaled(rest, -power))  # rounded up, the largest number would leave the range
        total += int(whole.sum()) << (power - SMALLEST)
        rest = rest - _scaled(whole, power)  # exact: what is left has fewer bits
    return total


def _scaled(values: Floats, power: int) -> Floats:
    """Return values times a power of 2."""
    return np.asarray(values * 2.0**power if abs(power) < LARGEST_POWER else np.ldexp(values, power))


def as_float(units: int, parts: int = 1) -> float:
    """Return a sum, or its share of `parts` equal parts, as the nearest number."""
    return units / (parts << -SMALLEST)


@dataclass(frozen=True)
class Moments:
    """The number of some values, their sum and that of their weights, and their bounds; of several parts they add up.

    total, weight : in units of 2^-1074. The total is of weights times values.
    """

    n_rows: int = 0
    total: int = 0
    weight: int = 0
    least: float = np.inf
    most: float = -np.inf

    @classmethod
    def of(cls, values: Floats, weight: Floats | None = None) -> Self:
        """Return those of values (n,) with weights (n,), or 1 each."""
        if not values.size:
            return cls()
        total, mass = (values, None) if weight is None else (values * weight, weight)
        of_weight = values.size << -SMALLEST if mass is None else exact_sum(mass)
        return cls(values.size, exact_sum(total), of_weight, float(values.min()), float(values.max()))

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.n_rows + other.n_rows, self.total + other.total, self.weight + other.weight,
            min(self.least, other.least), max(self.most, other.most),
        )  # fmt: skip

    @property
    def mean(self) -> float:
        """The weighted mean; 0 where there is no weight."""
        return self.total / self.weight if self.weight else 0.0

    @property
    def sum(self) -> float:
        """The sum."""
        return as_float(self.total)

    @property
    def reach(self) -> float:
        """The largest distance of a value from the mean, 1 if all are equal."""
        return max(self.most - self.mean, self.mean - self.least, 0.0) or 1.0


def grain(total: float) -> float:
    """Return the unit in which weights of a given sum, of at most 2^26 per part, become whole numbers of 64 bits."""
    return float(np.ldexp(1.0, int(np.frexp(total)[1]) - WHOLE_BITS))


def whole_weights(weight: Floats | None, unit: float | None = None) -> tuple[float, NDArray[np.int64] | None]:
    """Return weights (n,) in whole units, and the unit; these are all rows where none is given."""
    if weight is None:
        return 1.0, None
    unit = unit or grain(as_float(exact_sum(weight)))
    return unit, np.rint(weight / unit).astype(np.int64)


def counted(codes: NDArray[Any], size: int, weight: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the rows of each code, (size,), or the sums of their whole weights."""
    if weight is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    high, low = (np.bincount(codes, part, size).astype(np.int64) for part in (weight >> HALF, weight & (2**HALF - 1)))
    return np.asarray((high << HALF) + low, np.int64)
