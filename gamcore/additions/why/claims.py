"""What is said of a difference between two groups, as data: sentences are made of it, and rows can refute it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from gamcore.additions.why.shares import Estimate
from gamcore.common.numbers import decimals_of, fixed, number, percent, within
from gamcore.data.labels import cut, cut_apart

Kind = Literal["difference", "composition", "behaviour", "level", "residual"]
CLOSE: Final = 1e-6
LONGEST_NAME: Final = 40
WORDS: Final[dict[Kind, str]] = {
    "difference": "difference", "composition": "who came", "behaviour": "what changed", "level": "of all rows alike",
    "residual": "left over",
}  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """How sizes that stand together are written. share : as points of percent. decimals : of all of them, at most."""

    share: bool
    decimals: int

    @classmethod
    def of(cls, values: list[float], share: bool) -> Sizes:
        return cls(share, 1 if share else decimals_of(values))

    def change(self, estimate: Estimate, signed: bool = True, unit: bool = True) -> str:
        """Return a change with its unit, with no more digits than its interval leaves."""
        factor = 100.0 if self.share else 1.0
        interval = (factor * estimate.lower, factor * estimate.upper)
        text = within(factor * estimate.value, interval, self.decimals, signed=signed)
        return f"{text} points" if self.share and unit else text

    def interval(self, estimate: Estimate) -> str:
        """Return an interval in words; empty where it is not known."""
        if not math.isfinite(estimate.upper - estimate.lower):
            return ""
        factor = 100.0 if self.share else 1.0
        low, high = (fixed(factor * end, self.decimals) for end in estimate.interval)
        return f"{low} to {high}"

    def mean(self, value: float) -> str:
        """Return the mean of a group."""
        return percent(value) if self.share else number(value, 4)


@dataclass(frozen=True)
class MoveClaim:
    """One thing that is said of the difference between two groups.

    estimate : of all parts of a kind. means : of the two groups, of the difference itself. leaders : the terms that
    clearly have most of the kind, with their parts, the largest first. label : what the kind is called.
    """

    kind: Kind
    estimate: Estimate
    sizes: Sizes
    names: tuple[str, str]
    means: tuple[float, float] = (math.nan, math.nan)
    leaders: tuple[tuple[str, Estimate], ...] = ()
    label: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.estimate.lower > 0 or self.estimate.upper < 0

    def words(self) -> str:
        """Return the claim as a part of a sentence."""
        interval = self.sizes.interval(self.estimate)
        if self.kind == "difference":
            return self._difference(interval)
        size = self.sizes.change(self.estimate)
        between = f" ({interval})" if interval else ""
        led = " and ".join(
            f"{cut(name, LONGEST_NAME)} ({self.sizes.change(part, unit=False)})" for name, part in self.leaders
        )
        return f"{self.label or WORDS[self.kind]} {size}{between}{f', most clearly by {led}' if led else ''}"

    def _difference(self, interval: str) -> str:
        means = " and ".join(
            f"{self.sizes.mean(mean)} for {name}"
            for name, mean in zip(cut_apart(self.names, LONGEST_NAME), self.means, strict=True)
        )
        if not self.is_clear:
            between = f" ({interval}{' points' * self.sizes.share})" if interval else ""
            return f"{means}: {'no clear difference' if interval else 'a difference without an interval'}{between}"
        low, high = sorted(map(abs, self.estimate.interval))
        size = Estimate(abs(self.estimate.value), low, high, self.estimate.p)
        way = "more" if self.estimate.value > 0 else "less"
        return f"{means}: {self.sizes.change(size, signed=False)} {way} ({self.sizes.interval(size)})"

    def holds(self, parts: Mapping[tuple[str, str], float]) -> bool:
        """Return whether parts that were added up in another way bear the claim out.

        parts : by kind and name of the term, of which level and residual have none ("").
        """
        mine = {name: value for (kind, name), value in parts.items() if kind == self.kind}
        total = sum(parts.values()) if self.kind == "difference" else sum(mine.values())
        if not math.isclose(total, self.estimate.value, rel_tol=CLOSE, abs_tol=CLOSE):
            return False
        if self.kind == "difference":
            return math.isclose(self.means[1] - self.means[0], total, rel_tol=CLOSE, abs_tol=CLOSE)
        sizes = [abs(mine.get(name, math.nan)) for name, _ in self.leaders]
        return sizes == sorted(sizes, reverse=True) and all(
            math.isclose(mine.get(name, math.nan), part.value, rel_tol=CLOSE, abs_tol=CLOSE)
            and not part.lower <= 0 <= part.upper
            for name, part in self.leaders
        )
