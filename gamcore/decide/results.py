"""One number of a decision as it is shown everywhere: its value, interval, size, unit, source and scale.

A number keeps these together from the computation to the page, the table and the slide, so that it reads the same at
each. What is *measured* comes from a comparison of arms; what is *observed* is a mean of rows, or a gap between them;
what the *model* says is read off its curves; what is *assumed* was typed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd

from gamcore.common.numbers import counted, decimals_of, estimate, fixed, percent
from gamcore.data.column_names import PLAIN, SYMBOLS, Measure
from gamcore.stats.intervals import UNKNOWN, Interval

Source = Literal["measured", "observed", "model", "assumed"]
Scale = Literal["level", "difference", "relative", "sum"]

ABSENT: Final = "not known"
MOST_DECIMALS: Final = 8
POINTS: Final = "points"
"""The unit of effects that a model of a rate has: 100 of them are a share of 1."""


@dataclass(frozen=True)
class Result:
    """A number of a decision.

    value : a share (0.58) where `is_rate` or `scale` is relative, else in the unit of `measure`; NaN where it is not
    known. interval : of 95%, or from the lowest to the highest that is assumed; NaN where it is not known. n : rows or
    customers that it rests on; None where it rests on none. scale : a "level" (a rate or a mean), a "difference" of
    two, a "relative" change, or a "sum" over customers.
    """

    value: float
    interval: Interval = UNKNOWN
    source: Source = "observed"
    scale: Scale = "level"
    n: int | None = None
    is_rate: bool = False
    measure: Measure = PLAIN

    @property
    def is_known(self) -> bool:
        """Whether there is a number."""
        return math.isfinite(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return all(map(math.isfinite, self.interval))

    @property
    def text(self) -> str:
        """The number with its unit, to the digits that its interval leaves."""
        return self._with_unit(self._number(self.value)) if self.is_known else ABSENT

    @property
    def ends(self) -> str:
        """The interval with its unit; empty where it is not known."""
        if not self.has_interval:
            return ""
        low, high = map(self._number, self.interval)
        if self._in_percent and self.scale == "level":
            low = low.removesuffix("%")
        return self._with_unit(f"{low} to {high}")

    @property
    def grounds(self) -> str:
        """Where the number comes from, in words."""
        match self.source:
            case "measured":
                return (
                    "measured in a test"
                    if self.n is None
                    else f"measured among {counted(self.n, 'customer')} of a test"
                )
            case "observed":
                return "observed" if self.n is None else f"observed in {counted(self.n, 'row')}"
            case "model":
                return "by the model"
        return "assumed"

    def words(self) -> str:
        """Return the number and its interval: +4.5 points (+3.9 to +5.2)."""
        if not self.is_known or not self.has_interval:
            return self.text
        low, high = map(self._number, self.interval)
        between = f"{low} to {high}"
        return f"{self.text} ({between if self._signed else self.ends})"

    def sentence(self) -> str:
        """Return the number, its interval and where it comes from."""
        return f"{self.words()}, {self.grounds}" if self.is_known else ABSENT

    def cells(self) -> dict[str, Any]:
        """Return the number as each file has it: `value` and the ends of its interval, of a share or a relative change
        as 0.05 for 5%; `scale`, `unit`, `n` and `source`; and `shown`, how pages and slides write it."""
        low, high = self.interval
        unit = "" if self.scale == "relative" else "share" if self.is_rate else self.measure.as_stored
        return {"scale": self.scale, "value": self.value, "lower": low, "upper": high, "unit": unit, "n": self.n,
                "source": self.source, "shown": self.words()}  # fmt: skip

    @property
    def _signed(self) -> bool:
        return self.scale in ("difference", "relative")

    @property
    def _in_percent(self) -> bool:
        return self.scale == "relative" or (self.is_rate and self.scale == "level")

    @property
    def _in_points(self) -> bool:
        return self.is_rate and self.scale == "difference"

    def _decimals(self, factor: float, least: int) -> int:
        """Return the decimals of a fifth of the interval's width, or of two digits where there is none; at least
        `least`."""
        low, high = self.interval
        if not self.has_interval or not high > low:
            return max(least, min(decimals_of([factor * self.value], 2), MOST_DECIMALS))
        return min(max(least, -math.floor(math.log10(factor * (high - low) / 5))), MOST_DECIMALS)

    def _plain_decimals(self) -> int:
        """Return the decimals of a number that is no share: of a twentieth of its interval's width, so that numbers as
        sure as each other have as many; of three digits where there is none."""
        low, high = self.interval
        if not self.has_interval or not high > low:
            return decimals_of([self.value])
        return min(max(0, -math.floor(math.log10((high - low) / 20))), MOST_DECIMALS)

    def _number(self, value: float) -> str:
        """Return a number, or an end of its interval, without the unit of points or of a column."""
        if self._in_percent:
            return percent(value, self._decimals(100, 1), signed=self._signed)
        if self._in_points:
            return fixed(100 * value, self._decimals(100, 1), signed=True)
        if self.scale == "sum":
            return estimate(value)
        text = fixed(value, self._plain_decimals(), signed=self._signed)
        plain = self.measure.number(float(value), text)
        return f"+{plain}" if self._signed and value > 0 and not plain.startswith("+") else plain

    def _with_unit(self, text: str) -> str:
        if self._in_percent:
            return text
        return f"{text} points" if self._in_points else self.measure.dress(text)


def money(value: float, interval: Interval, currency: str, source: Source, n: int | None = None) -> Result:
    """Return a sum of money. currency : "" where none is known; a symbol stands before the number."""
    measure = Measure(currency, "money") if currency in SYMBOLS else Measure(currency)
    return Result(value, interval, source, "sum", n, measure=measure)


def effect_of(value: float, interval: Interval, unit: str, n: int | None = None, source: Source = "measured") -> Result:
    """Return an effect as a model of effects holds it. unit : `POINTS` for one on a rate, else that of the outcome."""
    factor = 100.0 if unit == POINTS else 1.0
    low, high = interval
    return Result(value / factor, (low / factor, high / factor), source, "difference", n, is_rate=unit == POINTS,
                  measure=PLAIN if unit == POINTS else Measure(unit))  # fmt: skip


def table_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return numbers of a decision as the table of a file: a row each, what it is of beside its `Result.cells`."""
    table = pd.DataFrame(list(map(dict, rows)))
    return table.astype({"n": "Int64"} if "n" in table else {}).drop_duplicates(ignore_index=True)
