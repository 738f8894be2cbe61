"""What is said of a model on newer rows, as data: sentences are made of it, and rows can refute it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gamcore.additions.newer_rows.fall import Change, Fall
from gamcore.common.numbers import alike, fixed, percent
from gamcore.data.labels import cut_apart
from gamcore.explain.gap import DECIMALS, POINTS
from gamcore.stats.intervals import Interval

CLOSE: Final = 1e-6
LONGEST_NAME: Final = 40


@dataclass(frozen=True)
class FallClaim:
    """How a model's metric on newer rows stands to that on its own, and which of the two explains it."""

    names: tuple[str, str]
    metric: str
    fall: Fall

    def words(self) -> str:
        """Return the claim in one or two sentences."""
        own, newer = cut_apart(self.names, LONGEST_NAME)
        values = [fixed(value, 3) if self.metric == "AUC" else percent(value) for value in
                  (self.fall.newer, self.fall.own)]  # fmt: skip
        what = "the AUC" if self.metric == "AUC" else "the share explained"
        means = f"On {newer} {what} is {values[0]}, on {own} {values[1]}"
        whole = self.fall.whole
        if not math.isfinite(whole.upper):
            return f"{means}: too few rows to say more."
        if not whole.is_clear and not self.fall.changed.is_clear and not self.fall.came.is_clear:
            return f"{means}, which is no clear difference ({_ends(whole)} points)."
        way = "less" if whole.value < 0 else "more"
        size = (
            f"{whole.size.in_points()} points {way} ({_ends(whole.size)})"
            if whole.is_clear
            else f"no clear difference ({_ends(whole)} points)"
        )
        parts = f"Who came makes {_signed(self.fall.came)}, what changed {_signed(self.fall.changed)}"
        return f"{means}, {size}. {parts}{self._verdict()}."

    @property
    def cause(self) -> str:
        """What explains most of a clear difference: "came", "changed", or "" where neither clearly does."""
        clear = {"came": self.fall.came, "changed": self.fall.changed}
        sure = {name: abs(part.value) for name, part in clear.items() if part.is_clear}
        return max(sure, key=sure.__getitem__) if sure else ""

    def _verdict(self) -> str:
        if self.cause == "changed":
            return ", so rows with the same prediction have other outcomes now"
        if self.cause == "came":
            return ", so outcomes follow the predictions as before, and other rows came"
        return ", of which neither is clear alone"

    def holds(self, metrics: Iterable[float]) -> bool:
        """Return whether the metric, computed in another way on the own rows, on these weighted as the newer ones, and
        on the newer rows, bears the claim out."""
        own, weighted, newer = metrics
        values = ((own, self.fall.own), (weighted, self.fall.weighted), (newer, self.fall.newer),
                  (weighted - own, self.fall.came.value), (newer - weighted, self.fall.changed.value))  # fmt: skip
        return all(math.isclose(mine, other, rel_tol=CLOSE, abs_tol=CLOSE) for mine, other in values)


@dataclass(frozen=True)
class MeanClaim:
    """How the mean outcome of newer rows stands to that of the own ones. observed, predicted : of own and newer rows;
    interval : of what is observed of the newer ones. came, changed : add up to the difference of what is observed."""

    names: tuple[str, str]
    observed: tuple[float, float]
    predicted: tuple[float, float]
    interval: Interval
    came: Change
    changed: Change
    is_share: bool

    def words(self) -> str:
        """Return the claim in two sentences without the last full stop."""
        own, newer = cut_apart(self.names, LONGEST_NAME)
        values = [*self.observed, *self.predicted, *self.interval]
        was, now, before, says, low, high = map(percent, values) if self.is_share else alike(values)
        between = f" ({low} to {high})" if math.isfinite(self.interval[1] - self.interval[0]) else ""
        return (
            f"On {newer} {now}{between} is observed and {says} predicted, on {own} {was} and {before}. "
            f"Of the difference who came makes {self._part(self.came)}, what changed {self._part(self.changed)}"
        )

    def _part(self, change: Change) -> str:
        if self.is_share:
            return f"{_signed(change)} points" if math.isfinite(change.upper) else "an unknown part"
        value, *ends = alike([change.value, change.lower, change.upper])
        return f"{'+' * (change.value > 0)}{value} ({' to '.join(ends)})"

    def holds(self, rows: Iterable[tuple[bool, float, float, float]]) -> bool:
        """Return whether rows bear the claim out. rows : of each whether it is newer, the outcome, what is predicted,
        both of its whole exposure, and the exposure, all three times its weight."""
        known = list(rows)
        sums = [[math.fsum(row[k] for row in known if row[0] == is_newer) for k in (1, 2, 3)]
                for is_newer in (False, True)]  # fmt: skip
        seen, expected = ([total[k] / total[2] for total in sums] for k in (0, 1))
        pairs = [*zip(seen, self.observed, strict=True), *zip(expected, self.predicted, strict=True),
                 (expected[1] - expected[0], self.came.value),
                 (seen[1] - expected[1] - seen[0] + expected[0], self.changed.value)]  # fmt: skip
        return all(math.isclose(mine, other, rel_tol=CLOSE, abs_tol=1e-9) for mine, other in pairs)


def _signed(change: Change) -> str:
    return f"{change.in_points(signed=True)} ({_ends(change)})"


def _ends(change: Change) -> str:
    low, high = POINTS * change.lower, POINTS * change.upper
    decimals = 1 if max(abs(low), abs(high)) >= 1 else DECIMALS
    return f"{fixed(low, decimals)} to {fixed(high, decimals)}"
