"""A model as points that people add up by hand: at most a few bins per feature, each with a whole number of points.

    points = offset + factor x log-odds,  factor = double / ln 2

so that `double` more points double the odds, and `base` points mean odds of `odds` to 1 (Siddiqi 2006, chapter 6). The
bins of a curve are merged into those that keep most of its variance, with the rows as weights (`piecewise`); levels are
merged with those of the nearest effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pandas as pd

from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.data.cuts import cut_in_words, cut_of
from gamcore.data.labels import set_apart
from gamcore.data.years import are_years
from gamcore.explain.curves import Curve, explain_shape
from gamcore.explain.piecewise import error_of_refits, partitions
from gamcore.explain.shown import shown
from gamcore.explain.support import FEW_ROWS
from gamcore.model.additive import AdditiveModel
from gamcore.stats.bands import deviation, pointwise

LEAST_SHARE: Final = 0.002
"""Least share of the rows in a bin of values, which has `FEW_ROWS` at least."""

MISSING: Final = "(missing)"
NEW: Final = "(new)"
EITHER: Final = "(missing or new)"


@dataclass(frozen=True)
class Points:
    """A scale of points. base : points at which the odds of the favoured class are `odds` to 1. double : points that
    double these odds. rising : whether the favoured class is the second one, whose log-odds are the model's score."""

    base: float = 600.0
    odds: float = 1.0
    double: float = 20.0
    rising: bool = True

    @property
    def factor(self) -> float:
        """Points per unit of log-odds of the second class."""
        return (1.0 if self.rising else -1.0) * self.double / math.log(2.0)

    @property
    def offset(self) -> float:
        """Points at even odds."""
        return self.base - self.double / math.log(2.0) * math.log(self.odds)

    def score(self, points: Floats) -> Floats:
        """Return the log-odds of the second class that points stand for."""
        return (points - self.offset) / self.factor


@dataclass(frozen=True)
class CardBin:
    """Some bins of a feature as one.

    label : a range, or levels. codes : those of the model's bins. points : whole. exactly : before rounding. lower,
    upper : ends of the 95% band of the curve around these points; NaN where there is none.
    rows : of training.
    """

    label: str
    codes: Ints
    points: int
    exactly: float
    lower: float
    upper: float
    rows: float


@dataclass(frozen=True)
class CardPart:
    """A feature of a card. place : among the model's features. average : mean points over its training rows."""

    feature: str
    place: int
    bins: tuple[CardBin, ...]
    average: float

    def table(self, size: int) -> Ints:
        """Return the points (size,) by code of the feature."""
        points = np.zeros(size, np.int64)
        for card_bin in self.bins:
            points[card_bin.codes] = card_bin.points
        return points


@dataclass(frozen=True)
class Scorecard:
    """A model as points: `start`, plus those of one bin per feature.

    parts : in the order of the model's features; a feature whose bins all have the same points has none. steps : what
    making the card cost, on the rows that it was given: AUC and log-loss of the model, without its pairs, with few
    bins, and in whole points; empty without rows. seen : population and observed rate of the same rows per bin.
    """

    bins: tuple[Bins, ...]
    points: Points
    start: int
    parts: tuple[CardPart, ...]
    classes: tuple[object, ...] = ()
    steps: pd.DataFrame = field(default_factory=pd.DataFrame)
    seen: pd.DataFrame = field(default_factory=pd.DataFrame)

    def total(self, codes: Codes) -> Ints:
        """Return the points (n,) of rows given as codes (p, n)."""
        sums = np.full(codes.shape[1], self.start, np.int64)
        for part in self.parts:
            sums += part.table(self.bins[part.place].size)[codes[part.place]]
        return sums

    def frame(self) -> pd.DataFrame:
        """Return a row per bin: feature, bin, points, the band of its curve, and population and rate where known."""
        rows = [("(start)", "", self.start, np.nan, np.nan, np.nan)]
        rows += [(part.feature, card_bin.label, card_bin.points, card_bin.lower, card_bin.upper, card_bin.rows)
                 for part in self.parts for card_bin in part.bins]  # fmt: skip
        table = pd.DataFrame(rows, columns=["feature", "bin", "points", "lower", "upper", "training rows"])
        return table if self.seen.empty else table.join(self.seen)


def make_card(
    model: AdditiveModel, points: Points, most: int, train_share: float, names: Names = AS_THEY_ARE
) -> tuple[Scorecard, list[Floats]]:
    """Return the card of a model of two classes, and the scores (size,) by code and feature of its merged curves before
    rounding. most : bins per feature, besides missing and new values. names : how columns and levels are shown."""
    merged: list[Floats] = []
    parts: list[CardPart] = []
    low = 0.0
    for place, bins in enumerate(model.bins):
        curve = shown(explain_shape(model, place, train_share).as_levels(), names)  # 0 and 1 are no ranges
        groups = _groups(curve, most)
        scores = _scores(curve, bins, groups)
        merged.append(scores)
        counts = model.terms[place].counts
        least = float((points.factor * scores[counts > 0]).min()) if (counts > 0).any() else 0.0
        each = _bins(curve, bins, groups=groups, scores=scores, points=points, least=least)
        if len({card_bin.points for card_bin in each}) > 1:
            part = CardPart(curve.feature, place, tuple(each), _average(each))
            low += least
            parts.append(part)
    start = round(points.offset + points.factor * model.intercept + low)
    return Scorecard(model.bins, points, start, tuple(parts)), merged


def _groups(curve: Curve, most: int) -> list[Ints]:
    """Return the value bins (from 0) that are merged, in their order; of levels, by their effect."""
    if not curve.scores.size or curve.counts.sum() <= 0:
        return []
    order = np.argsort(curve.scores, kind="stable") if curve.labels else np.arange(curve.scores.size)
    least = max(LEAST_SHARE, FEW_ROWS / float(curve.counts.sum()))
    starts = partitions(curve.scores[order], curve.counts[order], most, min(least, 1.0))[-1]
    return np.split(order, starts[1:])


def _scores(curve: Curve, bins: Bins, groups: list[Ints]) -> Floats:
    """Return the score (size,) by code after merging."""
    scores = np.empty(bins.size)
    scores[0], scores[bins.unseen] = curve.missing[0], curve.unseen[0]
    for group in groups:
        weight = np.maximum(curve.counts[group], 1e-12)
        scores[group + 1] = np.average(curve.scores[group], weights=weight)
    return scores


def _bins(
    curve: Curve, bins: Bins, *, groups: list[Ints], scores: Floats, points: Points, least: float
) -> list[CardBin]:
    """Return the bins of a feature. least : what its worst one has beside the average, in points; that gets 0."""
    each: list[CardBin] = []
    for group, reach in zip(groups, _half_widths(curve, groups), strict=True):
        centre, wide = points.factor * float(scores[group[0] + 1]), abs(points.factor) * reach
        each.append(CardBin(
            label=_label(curve, bins, group), codes=group + 1, points=round(centre - least), exactly=centre - least,
            lower=centre - least - wide, upper=centre - least + wide, rows=float(curve.counts[group].sum()),
        ))  # fmt: skip
    return [*_joined(each, curve, bins), *_others(curve, bins, points, least)]


def _others(curve: Curve, bins: Bins, points: Points, least: float) -> list[CardBin]:
    """Return the bins of missing and of new values; one for both where no cell of training was missing."""
    outside = []
    for label, code, (score, low, high, rows) in ((MISSING, 0, curve.missing), (NEW, bins.unseen, curve.unseen)):
        exactly = points.factor * score - least
        ends = sorted((points.factor * low - least, points.factor * high - least))
        ends = ends if curve.has_band and rows > 0 else [np.nan, np.nan]
        outside.append(CardBin(label=label, codes=np.array([code]), points=round(exactly), exactly=exactly,
                               lower=ends[0], upper=ends[1], rows=rows))  # fmt: skip
    missing, new = outside
    if missing.rows == 0 and missing.points == new.points:
        return [replace(missing, label=EITHER, codes=np.array([0, bins.unseen]))]
    return outside


def _average(each: Sequence[CardBin]) -> float:
    """Return the mean points over training rows."""
    rows = np.array([card_bin.rows for card_bin in each])
    return float(np.average([card_bin.points for card_bin in each], weights=rows)) if rows.sum() > 0 else 0.0


def _joined(each: Sequence[CardBin], curve: Curve, bins: Bins) -> list[CardBin]:
    """Return the bins with neighbours of equal points as one."""
    joined: list[CardBin] = []
    for card_bin in each:
        if joined and joined[-1].points == card_bin.points:
            last = joined.pop()
            codes, rows = np.concatenate([last.codes, card_bin.codes]), np.array([last.rows, card_bin.rows])
            weight = np.maximum(rows, 1e-12)

            def mean(first: float, second: float, weight: Floats = weight) -> float:
                return float(np.average([first, second], weights=weight))

            card_bin = replace(
                card_bin, label=_label(curve, bins, codes - 1), codes=codes,
                exactly=mean(last.exactly, card_bin.exactly), lower=mean(last.lower, card_bin.lower),
                upper=mean(last.upper, card_bin.upper), rows=float(rows.sum()),
            )  # fmt: skip
        joined.append(card_bin)
    return joined


def _half_widths(curve: Curve, groups: list[Ints]) -> Floats:
    """Return the half-width (groups,) of the pointwise band of each merged bin, on the link scale; NaN without one."""
    if len(curve.refits) < 2 or not curve.has_band or not groups:
        return np.full(len(groups), np.nan)
    means = np.stack([
        np.average(curve.refits[:, group], axis=1, weights=np.maximum(curve.counts[group], 1e-12)) for group in groups
    ], axis=1)  # fmt: skip
    return np.asarray(pointwise(len(curve.refits)) * error_of_refits(curve) * deviation(means))


def _label(curve: Curve, bins: Bins, group: Ints) -> str:
    """Return merged value bins in words."""
    if curve.labels:
        labels = [curve.labels[k] for k in sorted(group)]
        levels = {members[0] for members in curve.members if len(members) == 1}
        apart = [set_apart(label) if label in levels else label for label in labels]
        return ", ".join(apart) if labels[1:] else labels[0]
    start, end = int(group.min()), int(group.max()) + 1
    first, last = start == 0, end == bins.n_values
    if first and last:
        return "any value"

    measure = curve.measure.of_years(are_years(curve.display))

    def say(k: int) -> str:
        return cut_in_words(cut_of(bins, k), measure, curve.kind == "date")

    return f"below {say(end)}" if first else f"{say(start)} or more" if last else f"{say(start)} to below {say(end)}"
