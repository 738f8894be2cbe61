"""Two models on the same rows as an explanation: which predicts better, where they differ, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.additions.two_models.claims import LONGEST_NAME, BetterClaim, GroupClaim, TenthClaim, way
from gamcore.additions.two_models.parts import Part
from gamcore.data.labels import cut
from gamcore.explain.gap import Difference
from gamcore.explain.row_groups import Groups
from gamcore.explanation import Explanation
from gamcore.numbers import count
from gamcore.types import Floats
from gamcore.viz.spec import Plot

FEWEST_NAMED: Final = 30
"""Rows of a group that a sentence names, at least."""


@dataclass(frozen=True)
class Column:
    """A column in groups. parts : of each, in the column's order. spread : mean square by which the change of its
    groups differs from that of all rows."""

    cut: Groups
    parts: tuple[Part, ...]
    spread: float

    @property
    def name(self) -> str:
        """The column's name."""
        return self.cut.column


@dataclass(frozen=True)
class TwoModels(Explanation):
    """Two models on the same rows; see `compare_models`.

    metric : its name, values : of the first and of the second model, gap : the second less the first. tenths : of the
    rows, by the ratio of the predictions (by_ratio) or their difference. whole : all rows. columns : those by whose
    groups the change of predictions differs most come first. per : what means are per unit of, "row" or "exposure".
    """

    names: tuple[str, str]
    metric: str
    values: tuple[float, float]
    gap: Difference
    tenths: tuple[Part, ...]
    by_ratio: bool
    whole: Part
    columns: tuple[Column, ...]
    is_share: bool
    per: str
    worth: float | None

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def nearer(self) -> tuple[int, int]:
        """In how many tenths what is observed is nearer to the first model, and to the second."""
        second = sum(part.nearer for part in self.tenths)
        return len(self.tenths) - second, second

    def frame(self) -> pd.DataFrame:
        """Return the double lift: a row per tenth of the rows, by how much more the second model predicts.

        Columns: tenth, from 1 on; rows; exposure (weighted; rows where there is none); observed with lower and upper
        (95%); first, second: predicted by either model; change (second less first) with its ends, ratio; nearer, the
        model that is nearer to what is observed.
        """
        table = self._frame(self.tenths)
        table.insert(0, "tenth", np.arange(1, len(table) + 1))
        table["nearer"] = [self.names[part.nearer] for part in self.tenths]
        return table

    def by_group(self, column: str | None = None) -> pd.DataFrame:
        """Return a row per group of a column, or of all columns: who scores more, and who less.

        Columns: column, group; those of `frame` from rows to ratio; money, with a worth: what the change comes to over
        these rows.
        """
        frames = []
        for one in [self.column(column)] if column else self.columns:
            table = self._frame(one.parts)
            table.insert(0, "column", one.name)
            table.insert(1, "group", list(one.cut.names))
            if self.worth is not None:
                table["money"] = [self._money(part) for part in one.parts]
            frames.append(table)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _frame(self, parts: tuple[Part, ...]) -> pd.DataFrame:
        return pd.DataFrame({
            "rows": [part.rows for part in parts], "exposure": [part.size for part in parts],
            "observed": [part.observed for part in parts], "lower": [part.interval[0] for part in parts],
            "upper": [part.interval[1] for part in parts], "first": [part.predicted[0] for part in parts],
            "second": [part.predicted[1] for part in parts], "change": [part.change for part in parts],
            "change_lower": [part.change_interval[0] for part in parts],
            "change_upper": [part.change_interval[1] for part in parts], "ratio": [part.ratio for part in parts],
        })  # fmt: skip

    def _money(self, part: Part) -> float | None:
        return None if self.worth is None else part.change * part.amount * self.worth

    @property
    def better(self) -> BetterClaim:
        """The headline: which of the two predicts better."""
        return BetterClaim(self.names, self.values, self.gap, self.whole.rows, self.metric == "AUC")

    def claims(self) -> tuple[BetterClaim | TenthClaim | GroupClaim, ...]:
        """Return what `words` says, as claims that rows can refute."""
        made: list[BetterClaim | TenthClaim | GroupClaim] = [self.better]
        if len(self.tenths) > 1:
            ends = ((0, False), (len(self.tenths) - 1, True))
            shared = {"by_ratio": self.by_ratio, "is_share": self.is_share}
            made += [TenthClaim(self.names, place, is_last, self.tenths[place], **shared) for place, is_last in ends]
        return (*made, *self._extremes())

    def _extremes(self) -> list[GroupClaim]:
        """Return the groups for whom the second model predicts most and least, of the column that tells most."""
        for column in self.columns[:1]:
            named = [(part, name) for part, name in zip(column.parts, column.cut.names, strict=True)
                     if part.rows >= FEWEST_NAMED]  # fmt: skip
            named.sort(key=lambda one: -one[0].change)
            if len(named) > 1:
                return [GroupClaim(column.name, name, part, self.is_share, self._money(part))
                        for part, name in (named[0], named[-1])]  # fmt: skip
        return []

    def words(self) -> str:
        """Return which model predicts better, what is observed where they differ, and who scores more and less."""
        return f"{_sentence(self.better.words())} {self.where()}".rstrip()

    def where(self) -> str:
        """Return what is observed where the models differ most, and who scores more and less; empty where nobody
        does."""
        claims, lines = self.claims(), []
        if tenths := [claim.words() for claim in claims if isinstance(claim, TenthClaim)]:
            lines.append("; ".join(reversed(tenths)))
        if groups := [claim for claim in claims if isinstance(claim, GroupClaim)]:
            lines.append(self._for_whom(*groups))
        return " ".join(map(_sentence, lines))

    def _for_whom(self, most: GroupClaim, least: GroupClaim) -> str:
        first, second = (cut(name, LONGEST_NAME) for name in self.names)
        return (
            f"{second} is {way(most.part.change, True)} {first} {most.words()}, and "
            f"{way(least.part.change, False)} {least.words()}"
        )

    @property
    def notes(self) -> str:
        """What the numbers rest on, in words."""
        return f"{count(self.whole.rows)} rows that neither has seen · 95% intervals, paired over rows"

    def describe(self, **words: Any) -> Plot:
        """Return the double lift. words : target, title and detail; column, for the groups of a column instead."""
        from gamcore.additions.two_models.plots import double_lift, groups

        column = words.pop("column", "")
        return groups(self, column, **words) if column else double_lift(self, **words)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def spread_of(parts: tuple[Part, ...], whole: Part) -> float:
    """Return the mean square by which the change of groups differs from that of all rows."""
    changes: Floats = np.array([part.change - whole.change for part in parts])
    return float(np.average(np.square(changes), weights=[part.size for part in parts]))
