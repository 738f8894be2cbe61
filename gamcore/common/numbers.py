"""How numbers are written, wherever people read them: on screen, in plots, in files and in messages.

Each kind of number has one way to be written:

    count     things that were counted, exactly                  19,482
    counted   the same, with what they are                       1 row   19,482 rows
    number    a measured quantity, to three significant digits   0.0124   1.20   16,424
    estimate  the same, rounded before the point, too            16,400
    within    the same, to what its interval leaves of it        +4.5   12
    exact     a number that somebody chose, as it is             0.05   2,500
    roundest  a cut, as round as the rows beside it allow        2,500
    in_full   a cut as it is, to its last digit                  0.30000000000000004
    fixed     a metric, to as many decimals as its neighbours    0.699
    percent   a share or a relative change; all is all           28.4%   +7.1%   99.97%
    points    a difference between two shares                    +19.3 points
    factor    what odds are multiplied by                        ×1.25

Thousands are separated, nothing has an exponent, and what rounds to zero has no sign. From 10^15 on there are three
digits, and zeros; of a quantity beyond 10^30, or as many times nearer to 0 than 1 is, only that is written. The minus
sign is the hyphen that tables and files have as well (axes of plots have the longer sign of their libraries); what is
not a number is "not known".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Final

UNKNOWN: Final = "not known"
LARGE: Final = 1e15
"""From here on a number has three digits, and zeros: its last ones are not exact."""

LARGEST: Final = 1e30
SMALLEST: Final = 1e-30
"""Numbers beyond, and those nearer to 0, are only said to be there."""

BEYOND: Final = ("over ", "under ")
"""What such a number, or a share of nearly nothing or all, begins with."""

FAINTEST: Final = 1e-4
"""Percent, nearer to which to nothing, or to all, nobody asks how near."""

NO_ERROR: Final = 1e-10
"""Percent, nearer to which to all, a share is all: sums of weights are no more exact."""

EXACT_DIGITS: Final = 10
MOST_DECIMALS: Final = 15
ROUNDED_DIGITS: Final = 20
MINUTE, HOUR = 60, 3600


def fixed(value: float, decimals: int, signed: bool = False) -> str:
    """Return a number with that many decimals. signed : whether a plus sign is written."""
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "-∞" if value < 0 else "+∞" if signed else "∞"
    if abs(value) > LARGEST:
        return _side(value, LARGEST, signed)
    if abs(value) >= LARGE:
        return f"{Decimal(f'{value:.2e}'):{'+' if signed else ''},f}"
    text = f"{value:{'+' if signed else ''},.{decimals}f}"
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


def count(value: float, signed: bool = False) -> str:
    """Return a whole number, exactly."""
    return fixed(value, 0, signed)


def counted(n: float, noun: str, single: str = "", more: str = "") -> str:
    """Return a number of things, with their verb: 1 cell is, 1,200 cells are. noun : of one thing."""
    after_consonant = noun.endswith("y") and noun[-2] not in "aeiou"
    many = f"{noun[:-1]}ies" if after_consonant else f"{noun}{'es' if noun.endswith('s') else 's'}"
    return f"{count(n)} {noun if n == 1 else many} {single if n == 1 else more}".rstrip()


def are(n: float) -> str:
    """Return the verb of a number of things."""
    return "is" if n == 1 else "are"


def number(value: float, digits: int = 3, signed: bool = False) -> str:
    """Return a measured quantity to its significant digits; never fewer than all before the point."""
    if not math.isfinite(value) or value == 0:
        return fixed(value, 0, signed)
    if abs(value) < SMALLEST:
        return _side(value, SMALLEST, signed)
    return fixed(value, decimals_of([value], digits), signed)


def estimate(value: float, signed: bool = False) -> str:
    """Return an estimate, rounded to three significant digits before the point, too: 1,240; 93,000; 0.125."""
    if not math.isfinite(value) or abs(value) < 100:
        return number(value, signed=signed)
    return count(round(value, 2 - math.floor(math.log10(abs(value)))), signed)


def within(value: float, interval: tuple[float, float], decimals: int, signed: bool = False) -> str:
    """Return an estimate with at most that many decimals, and no more than its interval leaves of it: the last digit is
    a fifth of the width, or somewhat finer. One that is clear of 0 is not written as 0."""
    if not math.isfinite(value):
        return fixed(value, 0, signed)
    low, high = interval
    if math.isfinite(high - low) and high > low:
        decimals = min(decimals, -math.floor(math.log10((high - low) / 5)))
    if value and not low <= 0 <= high:
        decimals = max(decimals, min(-math.floor(math.log10(abs(value))), MOST_DECIMALS))
    text = f"{Decimal(repr(round(value, decimals))):{'+' if signed else ''},.{max(decimals, 0)}f}"
    return text if any(digit in text for digit in "123456789") else "0"


def decimals_of(values: Iterable[float], digits: int = 3) -> int:
    """Return the decimals that show the largest of some values to its significant digits."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if not sizes:
        return 0
    power = int(f"{max(sizes):.{digits - 1}e}".split("e")[1])  # as rounded: 9.996 has two digits before the point
    return max(digits - 1 - power, 0)


def alike(values: Iterable[float], digits: int = 3, signed: bool = False) -> list[str]:
    """Return numbers that stand together, all with the decimals of the largest."""
    listed = list(values)
    decimals = decimals_of(listed, digits)
    return [fixed(value, decimals, signed) for value in listed]


def exact(value: float, digits: int = EXACT_DIGITS) -> str:
    """Return a number as it is, without zeros that say nothing. digits : most significant digits."""
    return in_full(round(value, decimals_of([value], digits))) if math.isfinite(value) else fixed(value, 0)


def roundest(low: float, high: float, near: float) -> str:
    """Return the number from `low` to `high` with the fewest digits, the nearest of those to `near`; without an
    exponent."""
    size = max(abs(low), abs(high))
    power = math.floor(math.log10(size)) + 1 if size else 0
    ends = [Decimal(repr(float(end))) for end in (low, high, near)]  # as written: 302.12 is 302.12
    for exponent in range(power, power - ROUNDED_DIGITS, -1):
        unit = Decimal(1).scaleb(exponent)
        first = (ends[0] / unit).to_integral_value(ROUND_CEILING)
        last = (ends[1] / unit).to_integral_value(ROUND_FLOOR)
        if first <= last:
            steps = min(max((ends[2] / unit).to_integral_value(ROUND_HALF_EVEN), first), last)
            text = bare(f"{abs(steps * unit):,f}")
            text = f"-{text}" if steps < 0 else text
            if low <= read(text) <= high:
                return text
    return in_full(near)


def in_full(value: float, times: int = 1) -> str:
    """Return a finite number with all its digits, so that it reads back as itself; without an exponent. times : what it
    is multiplied by, exactly."""
    text = f"{Decimal(repr(float(value))) * times:,f}"
    return bare(text) if value else "0"


def read(text: str) -> float:
    """Return a number as it was written; NaN of one that is only said to be there."""
    return math.nan if text.startswith(BEYOND) else float(text.replace(",", ""))


def place(value: float, span: float) -> str:
    """Return a place on an axis, to about a hundredth of a span of it."""
    if not (math.isfinite(span) and span > 0):
        return exact(value, 6)
    return bare(fixed(value, min(max(2 - math.floor(math.log10(span)), 0), MOST_DECIMALS)))


def percent(share: float, decimals: int = 1, signed: bool = False) -> str:
    """Return a share, or a relative change, in percent. Near nothing and near all it has as many digits as it needs, so
    that it is neither; beyond `FAINTEST`, only on which side it is."""
    if not math.isfinite(share):
        return UNKNOWN
    value, near = 100 * share, 0.5 * 10**-decimals
    size = abs(value)
    left = 100 - size
    if 0 < abs(share) < FAINTEST / 100 or NO_ERROR < left < FAINTEST:  # 100 * 1e-6 is under 1e-4
        return f"{_side(value, FAINTEST if size < 1 else 100 - FAINTEST, signed)}%"
    if 0 < size <= near:
        return f"{number(value, 2, signed)}%"
    decimals = max(decimals, -math.floor(math.log10(left))) if NO_ERROR < left <= near else decimals
    return f"{fixed(value, decimals, signed)}%"


def points(value: float, decimals: int = 1) -> str:
    """Return a difference between shares, given in percentage points."""
    return f"{fixed(value, decimals, True)} points" if math.isfinite(value) else UNKNOWN


def factor(value: float) -> str:
    """Return what odds are multiplied by."""
    return f"×{number(value)}"


def p_value(p: float) -> str:
    """Return a p value to two significant digits."""
    if not math.isfinite(p):
        return f"p {UNKNOWN}"
    return "p < .0001" if p < 0.0001 else f"p = {bare(number(p, 2))}".replace("0.", ".")


def tick(value: float, commas: bool = False) -> str:
    """Return a number as an axis label: 1.2M rather than 1,200,000. commas : whether thousands are set apart, which is
    not for years."""
    for unit, letter, least in ((1e9, "B", 1e9), (1e6, "M", 1e6), (1e3, "k", 1e4)):
        if abs(value) >= least:
            return f"{exact(value / unit, 4)}{letter}".replace("-", "\N{MINUS SIGN}")
    text = exact(value, 6).replace("-", "\N{MINUS SIGN}")
    return text if commas else text.replace(",", "")


def size(n_bytes: float) -> str:
    """Return a number of bytes in a suitable unit."""
    for name in ("bytes", "KB", "MB"):
        if n_bytes < 999.5:
            return f"{count(n_bytes)} {name}"
        n_bytes /= 1000
    return f"{fixed(n_bytes, 1)} GB"


def duration(seconds: float) -> str:
    """Return a duration in a suitable unit."""
    if seconds < 0.05:
        return "under 0.1 s"
    if seconds < 9.95:
        return f"{fixed(seconds, 1)} s"
    if seconds < 100:
        return f"{count(seconds)} s"
    return f"{count(seconds / MINUTE)} min" if seconds < 2 * HOUR else f"{fixed(seconds / HOUR, 1)} hours"


def bare(text: str) -> str:
    """Return a written number without zeros at its end that say nothing."""
    whole, point, decimals = text.partition(".")
    return f"{whole}{point}{decimals}".rstrip("0").rstrip(".") if point else text


def _side(value: float, end: float, signed: bool) -> str:
    """Return on which side of an end, which has the sign of a number, that number is."""
    sign = "-" if value < 0 else "+" if signed else ""
    return f"{'under' if (abs(value) < end) == (value > 0) else 'over'} {sign}{in_full(end)}"
