"""Observed against predicted by the groups of columns: where a model is wrong, ranked, in words and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.additions.by_group.claims import LONGEST_NAME, GroupClaim, MetricClaim, metric_in_words
from gamcore.additions.by_group.judged import Group
from gamcore.common.numbers import counted
from gamcore.common.types import Floats
from gamcore.data.labels import cut
from gamcore.explain.row_groups import Groups
from gamcore.stats.intervals import ALPHA, Interval, adjusted_by_holm
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

MOST_NAMED: Final = 3
"""Groups that a sentence names."""


@dataclass(frozen=True)
class Quality:
    """The main metric of a model over the rows of a group, with its 95% interval; p : that it is that of all rows."""

    value: float
    interval: Interval
    p: float


@dataclass(frozen=True)
class Column:
    """A column in groups. groups, qualities : of each, in the column's order."""

    cut: Groups
    groups: tuple[Group, ...]
    qualities: tuple[Quality, ...]
    in_model: bool

    @property
    def name(self) -> str:
        """The column's name."""
        return self.cut.column


@dataclass(frozen=True)
class CalibrationByGroup(Explanation):
    """What is observed and what a model predicts by the groups of columns; see `calibration_by_group`.

    whole : all rows together. columns : in the order of the table. metric : its name, and `quality` its value over all
    rows. is_share : whether means are shares. per : what means are per unit of: "row" or "exposure". outcome : what is
    observed, where that is not the target itself; of quantiles, "below the prediction".
    """

    whole: Group
    columns: tuple[Column, ...]
    metric: str
    quality: Quality
    is_share: bool
    per: str
    outcome: str

    @cached_property
    def holm(self) -> tuple[float, tuple[Floats, ...]]:
        """The p value of all rows together, and of the groups of each column: by Holm over all of them, so that where
        the model is right, any is called wrong in at most 5% of tables. NaN where too few rows can say."""
        each = [tuple(group.p for group in column.groups) for column in self.columns]
        whole, *own = _by_holm([(self.whole.p,), *each])
        return float(whole[0]), tuple(own)

    @cached_property
    def metric_holm(self) -> tuple[Floats, ...]:
        """The p values that the metric of a group is that of all rows, by Holm over all groups of all columns."""
        return tuple(_by_holm([tuple(quality.p for quality in column.qualities) for column in self.columns]))

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The names of the columns, that with the clearest error first."""
        own = [(_least(holm), _least(np.array([group.p for group in column.groups])))
               for column, holm in zip(self.columns, self.holm[1], strict=True)]  # fmt: skip
        return tuple(self.columns[k].name for k in sorted(range(len(own)), key=own.__getitem__))

    @property
    def wrong(self) -> tuple[tuple[str, str], ...]:
        """The column and name of each group in which the model is clearly wrong, the clearest first."""
        called = []
        for column, own in zip(self.columns, self.holm[1], strict=True):
            each = zip(own, column.groups, column.cut.names, strict=True)
            called += [(holm, group.p, column.name, name) for holm, group, name in each if holm < ALPHA]
        return tuple((column, name) for _, _, column, name in sorted(called))

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)

    def frame(self, column: str | None = None) -> pd.DataFrame:
        """Return a row per group of a column, or of all columns, that with the clearest error first.

        Columns: column, group; rows; exposure (weighted; rows where there is none); observed with lower and upper
        (95%), predicted, difference (observed less predicted) and ratio, p and p_holm (over all groups of all columns
        and the rows together), wrong; the metric by its name, with _lower and _upper, and _p, that it differs from that
        of all rows, by Holm over all groups of all columns.
        """
        holm = {named.name: both for named, *both in zip(self.columns, self.holm[1], self.metric_holm, strict=True)}
        frames = [self._frame(self.column(name), *holm[name]) for name in ([column] if column else self.ranked)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _frame(self, column: Column, holm: Floats, metric_holm: Floats) -> pd.DataFrame:
        groups, qualities = column.groups, column.qualities
        return pd.DataFrame({
            "column": column.name, "group": list(column.cut.names), "rows": [group.rows for group in groups],
            "exposure": [group.size for group in groups], "observed": [group.observed for group in groups],
            "lower": [group.interval[0] for group in groups], "upper": [group.interval[1] for group in groups],
            "predicted": [group.predicted for group in groups], "difference": [group.difference for group in groups],
            "ratio": [group.ratio for group in groups], "p": [group.p for group in groups], "p_holm": holm,
            "wrong": holm < ALPHA, self.metric: [quality.value for quality in qualities],
            f"{self.metric}_lower": [quality.interval[0] for quality in qualities],
            f"{self.metric}_upper": [quality.interval[1] for quality in qualities], f"{self.metric}_p": metric_holm,
        })  # fmt: skip

    def by_column(self) -> pd.DataFrame:
        """Return a row per column, that with the clearest error first: its number of groups and of those that are
        wrong, the clearest group, observed and predicted there, and its p value."""
        rows = []
        for name in self.ranked:
            frame = self.frame(name)
            order = np.lexsort((frame["p"].fillna(2.0), frame["p_holm"].fillna(2.0)))
            worst = frame.iloc[int(order[0])]
            rows.append((name, self.column(name).in_model, len(frame), int(frame["wrong"].sum()), worst["group"],
                         worst["observed"], worst["predicted"], worst["ratio"], worst["p_holm"]))  # fmt: skip
        names = ["column", "in_model", "groups", "wrong", "group", "observed", "predicted", "ratio", "p_holm"]
        return pd.DataFrame(rows, columns=names)

    def claims(self) -> tuple[GroupClaim, ...]:
        """Return what `words` says of groups, as claims that rows can refute: the clearest groups, at most three."""
        claims = []
        for name, of_group in self.wrong[:MOST_NAMED]:
            column = self.column(name)
            group = column.groups[column.cut.names.index(of_group)]
            claims.append(GroupClaim(name, of_group, group, self.whole.rows, self.is_share))
        return tuple(claims)

    def metric_claims(self, column: str) -> tuple[MetricClaim, ...]:
        """Return the groups of a column in which the metric is clearly another than over all rows, the clearest first,
        at most three."""
        own = self.column(column)
        holm = dict(zip((other.name for other in self.columns), self.metric_holm, strict=True))[column]
        clear = [k for k in np.argsort(holm, kind="stable") if holm[k] < ALPHA]
        return tuple(
            MetricClaim(column, own.cut.names[k], self.metric, value=own.qualities[k].value,
                        interval=own.qualities[k].interval, whole=self.quality.value) for k in clear[:MOST_NAMED]
        )  # fmt: skip

    def metric_words(self, column: str) -> str:
        """Return in which groups of a column the model tells rows apart clearly better or worse than all rows."""
        whole, claims = metric_in_words(self.metric, self.quality.value), self.metric_claims(column)
        if not claims:
            return f"{whole} over all rows, and clearly another in no group of {cut(column, LONGEST_NAME)}."
        return f"{whole} over all rows, and {'; '.join(claim.words() for claim in claims)}."

    def words(self) -> str:
        """Return where the model is clearly wrong, or that it is nowhere."""
        n = sum(len(column.groups) for column in self.columns)
        looked = f"{counted(n, 'group')} of {counted(len(self.columns), 'column')}"
        whole = GroupClaim("", "", self.whole, self.whole.rows, self.is_share)
        overall = f"Over all rows, {whole.words()}. " if self.holm[0] < ALPHA else ""
        claims = self.claims()
        if not claims:
            nowhere = "no group is clearly off beside that" if overall else "the model is clearly wrong in none"
            return f"{overall}Of {looked}, {nowhere}."
        rest = len(self.wrong) - len(claims)
        more = f"; and in {counted(rest, 'other group')}" if rest else ""
        where = "; ".join(claim.words() for claim in claims)
        return f"{overall}Of {looked}, the model is most clearly wrong where {where}{more}."

    @property
    def notes(self) -> str:
        """What the numbers rest on, in words."""
        return f"{counted(self.whole.rows, 'row')} that the model has not seen · 95% intervals"

    def describe(self, column: str | None = None, **words: Any) -> Plot:
        """Return observed and predicted means by the groups of a column, by default that with the clearest error.

        words : target, title and detail; metric, for the metric by group instead.
        """
        from gamcore.additions.by_group.plots import by_group, metric_by_group

        draw = metric_by_group if words.pop("metric", False) else by_group
        return draw(self, self.ranked[0] if column is None else column, **words)


def _by_holm(p: list[tuple[float, ...]]) -> list[Floats]:
    """Return p values of several columns by Holm over all of them; NaN stay."""
    if not p:
        return []
    joined = np.array([value for of_column in p for value in of_column])
    known = np.isfinite(joined)
    joined[known] = adjusted_by_holm(joined[known])
    return np.split(joined, np.cumsum([len(of_column) for of_column in p])[:-1])


def _least(p: Floats) -> float:
    return float(np.nanmin(p)) if np.isfinite(p).any() else 2.0
