"""A model on newer rows beside its own held-out ones, as an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gamcore.additions.newer_rows.claims import FallClaim, MeanClaim
from gamcore.additions.newer_rows.fall import Change, Fall
from gamcore.common.numbers import count, counted
from gamcore.common.types import Bools, Floats
from gamcore.explain.seen import Means
from gamcore.stats.intervals import ALPHA, adjusted_by_holm
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

PREDICTION = "(prediction)"
"""The column of the bins of the prediction itself."""


@dataclass(frozen=True)
class Side(Means):
    """Rows of one sample in a group; means are NaN where there are none. off_by : observed less predicted."""

    off_by: Change


@dataclass(frozen=True)
class Group:
    """A group of rows in both samples. change : by how much more it is off in the newer one."""

    name: str
    own: Side
    newer: Side
    change: Change


@dataclass(frozen=True)
class OnNewerRows(Explanation):
    """A model on newer rows; see `on_newer_rows`.

    metric : its name, and fall : how it differs. whole : all rows. came : how much more is
    predicted of the newer ones. columns : the groups by column, those of the
    prediction first, under `PREDICTION`. per : what means are per unit of, "row" or "exposure".
    """

    names: tuple[str, str]
    metric: str
    fall: Fall
    whole: Group
    came: Change
    columns: dict[str, tuple[Group, ...]]
    is_share: bool
    per: str

    def holm(self, column: str) -> Floats:
        """Return the p values of the groups of a column, that they are off as before, by Holm over the column."""
        p = np.array([group.change.p for group in self.columns[column]])
        known = np.isfinite(p)
        p[known] = adjusted_by_holm(p[known])
        return p

    def changed(self, column: str) -> Bools:
        """Return in which groups of a column the model is off otherwise than before."""
        return np.asarray(self.holm(column) < ALPHA)

    def frame(self, column: str = PREDICTION) -> pd.DataFrame:
        """Return a row per group of a column, by default per bin of the prediction.

        Columns: group; then, for the own rows and with newer_ before the name for the newer ones, rows, share (of all
        rows of the sample, by weighted exposure), observed with lower and upper (95%), predicted, off_by; change of
        off_by with its ends, p_holm, changed.
        """
        groups, whole = self.columns[column], self.whole
        table = pd.DataFrame({"group": [group.name for group in groups]})
        for start, name in (("", "own"), ("newer_", "newer")):
            sides: list[Side] = [getattr(group, name) for group in groups]
            table[f"{start}rows"] = [side.rows for side in sides]
            table[f"{start}share"] = [side.size / getattr(whole, name).size for side in sides]
            table[f"{start}observed"] = [side.observed for side in sides]
            table[f"{start}lower"] = [side.interval[0] for side in sides]
            table[f"{start}upper"] = [side.interval[1] for side in sides]
            table[f"{start}predicted"] = [side.predicted for side in sides]
            table[f"{start}off_by"] = [side.off_by.value for side in sides]
        changes = [group.change for group in groups]
        return table.assign(
            change=[change.value for change in changes], change_lower=[change.lower for change in changes],
            change_upper=[change.upper for change in changes], p_holm=self.holm(column), changed=self.changed(column),
        )  # fmt: skip

    def claims(self) -> tuple[FallClaim, MeanClaim]:
        """Return what `words` says, as claims that rows can refute."""
        own, newer = self.whole.own, self.whole.newer
        return FallClaim(self.names, self.metric, self.fall), MeanClaim(
            self.names, (own.observed, newer.observed), (own.predicted, newer.predicted), newer.interval,
            came=self.came, changed=self.whole.change, is_share=self.is_share,
        )  # fmt: skip

    def words(self) -> str:
        """Return how the metric differs and which of the two explains it, and what is observed and predicted."""
        fall, mean = (claim.words() for claim in self.claims())
        beyond = self.fall.beyond
        more = f" {count(100 * beyond)}% of the newer predictions are beyond all own ones." if beyond >= 0.01 else ""
        return f"{fall} {mean}.{more}"

    @property
    def notes(self) -> str:
        """What the numbers rest on, in words."""
        rows = [f"{counted(side.rows, 'row')} of {name}" for name, side in
                zip(self.names, (self.whole.own, self.whole.newer), strict=True)]  # fmt: skip
        return f"{' and '.join(rows)} · 95% intervals"

    def describe(self, **words: Any) -> Plot:
        """Return what is observed by bins of the prediction in both samples. words : target, title and detail; column,
        for the groups of a column instead."""
        from gamcore.additions.newer_rows.plots import by_group, calibration

        column = words.pop("column", PREDICTION)
        return calibration(self, **words) if column == PREDICTION else by_group(self, column, **words)
