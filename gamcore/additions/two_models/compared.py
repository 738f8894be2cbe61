"""Two models on the same rows as an explanation: which predicts better, where they differ, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.additions.two_models.claims import LONGEST_NAME, BelowClaim, BetterClaim, GroupClaim, TenthClaim, way
from gamcore.additions.two_models.parts import Part
from gamcore.common.numbers import counted
from gamcore.common.types import Floats
from gamcore.data.labels import cut_apart
from gamcore.explain.gap import Difference
from gamcore.explain.row_groups import Groups
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

Claim = BetterClaim | TenthClaim | BelowClaim | GroupClaim
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
    groups the change of predictions differs most come first. is_share : whether predictions are shares. per : what
    means are per unit of, "row" or "exposure". level : how many rows should be below a prediction, of models of that
    quantile; None of models of means.
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
    level: float | None = None

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
        model that is nearer to what is observed. Of quantiles, the share of rows below either prediction stands for
        what is observed: first_below and second_below, each with _lower and _upper.
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
        for own in [self.column(column)] if column else self.columns:
            table = self._frame(own.parts)
            table.insert(0, "column", own.name)
            table.insert(1, "group", list(own.cut.names))
            if self.worth is not None:
                table["money"] = [self._money(part) for part in own.parts]
            frames.append(table)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _frame(self, parts: tuple[Part, ...]) -> pd.DataFrame:
        checks: dict[str, list[float]] = {}
        for k, (name, start) in enumerate(self._observed.items()):
            checks[name] = [part.checks[k].observed for part in parts]
            for place, end in enumerate(("lower", "upper")):
                checks[f"{start}{end}"] = [part.checks[k].interval[place] for part in parts]
        return pd.DataFrame({
            "rows": [part.rows for part in parts], "exposure": [part.size for part in parts],
            **checks, "first": [part.predicted[0] for part in parts],
            "second": [part.predicted[1] for part in parts], "change": [part.change for part in parts],
            "change_lower": [part.change_interval[0] for part in parts],
            "change_upper": [part.change_interval[1] for part in parts], "ratio": [part.ratio for part in parts],
        })  # fmt: skip

    @property
    def _observed(self) -> dict[str, str]:
        """What is observed, in a table: the column, and the beginning of those of its ends."""
        if self.level is None:
            return {"observed": ""}
        return {"first_below": "first_below_", "second_below": "second_below_"}

    def _money(self, part: Part) -> float | None:
        return None if self.worth is None else part.change * part.amount * self.worth

    @property
    def better(self) -> BetterClaim:
        """The headline: which of the two predicts better."""
        return BetterClaim(self.names, self.values, self.gap, self.whole.rows, self.metric == "AUC")

    def claims(self) -> tuple[Claim, ...]:
        """Return what `words` says, as claims that rows can refute."""
        claims: list[Claim] = [self.better]
        if len(self.tenths) > 1:
            claims += [self._tenth(0, False), self._tenth(len(self.tenths) - 1, True)]
        return (*claims, *self._extremes())

    def _tenth(self, place: int, is_last: bool) -> TenthClaim | BelowClaim:
        """Return what is observed of a tenth at one of the ends."""
        which = (self.names, place, is_last, self.tenths[place], self.by_ratio)
        return TenthClaim(*which, self.is_share) if self.level is None else BelowClaim(*which, self.level)

    def _extremes(self) -> list[GroupClaim]:
        """Return the groups for whom the second model predicts most and least, of the column that tells most."""
        for column in self.columns[:1]:
            named = [(part, name) for part, name in zip(column.parts, column.cut.names, strict=True)
                     if part.rows >= FEWEST_NAMED]  # fmt: skip
            named.sort(key=lambda pair: -pair[0].change)
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
        if tenths := [claim.words() for claim in claims if isinstance(claim, TenthClaim | BelowClaim)]:
            lines.append("; ".join(reversed(tenths)))
        if groups := [claim for claim in claims if isinstance(claim, GroupClaim)]:
            lines.append(self._for_whom(*groups))
        return " ".join(map(_sentence, lines))

    def _for_whom(self, most: GroupClaim, least: GroupClaim) -> str:
        first, second = cut_apart(self.names, LONGEST_NAME)
        return (
            f"{second} is {way(most.part.change, True)} {first} {most.words()}, and "
            f"{way(least.part.change, False)} {least.words()}"
        )

    @property
    def notes(self) -> str:
        """What the numbers rest on, in words."""
        return f"{counted(self.whole.rows, 'row')} that neither has seen · 95% intervals, paired over rows"

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
