"""Segments: rules read off a model's curves, and their evidence on held-out rows.

Three quantities have three names. *Opportunity*: the difference of the target's mean inside and outside, an
association. *Model contrast*: how predictions inside differ from those with the rule's features at their average
effect, an adjusted association. *Measured lift* comes only from an experiment (`experiment_effects`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Bools, Codes, Floats
from gamcore.data.binning import Bins, encode_table
from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.cuts import cut_of, is_two_valued
from gamcore.data.table import Table, as_table
from gamcore.decide.clusters import interval_by_clusters
from gamcore.decide.results import Result, Source, effect_of
from gamcore.decide.rules import Levels, Missing, Not, Range, Rule, both
from gamcore.explain.curves import Curve, explain_shape
from gamcore.explain.piecewise import LEAST_SHARE, simplify
from gamcore.explain.surfaces import Rectangle, Surface, SurfaceAxis, explain_pair
from gamcore.model.additive import AdditiveModel, PairTerm
from gamcore.stats.intervals import (
    ALPHA,
    UNKNOWN,
    Interval,
    difference_by_ends,
    difference_of_means,
    newcombe,
    student,
    wilson,
)
from gamcore.stats.rates import rate

SAME: Final = 0.9
"""Overlap (rows in both over rows in either) above which two segments count as one."""

RECTANGLES: Final = 2
"""Most rectangles per pair and direction."""


@dataclass(frozen=True)
class Evidence:
    """Evidence for a rule from held-out rows.

    rows, inside : held-out rows, and those that match. mean, rest : means of the target inside and outside (rates for
    a binary one, and per unit of exposure where there is one), the first with a 95% interval (Wilson; Garwood, by how
    rows spread, for a count; Hall for an amount; Student for another number). opportunity : their difference (Newcombe,
    whose method takes the ends of any intervals; Welch). contrast : mean change of predictions inside against the
    average effect of the rule's features; NaN where the model has none of them. agree : share of refits with the
    model's sign. tried : candidate rules tried to find it. exposure : that of the rows inside; NaN where rows have
    none. effect : the unit of the effect that an experiment measured, where that is the target (`uplift.signals`); else
    None. at_once : of how many ranges, which the same rows chose, the intervals hold at once (Bonferroni); 1 for this
    one alone.
    """

    rows: int
    inside: int
    mean: float
    interval: Interval
    rest: float
    opportunity: float
    opportunity_interval: Interval
    contrast: float
    agree: float
    tried: int
    binary: bool
    exposure: float = float("nan")
    effect: str | None = None
    at_once: int = 1

    @property
    def share(self) -> float:
        """Share of the rows that are inside."""
        return self.inside / self.rows if self.rows else 0.0

    @property
    def size(self) -> float:
        """Opportunity times reach, by which segments are ranked."""
        return abs(self.opportunity) * self.share if math.isfinite(self.opportunity) else 0.0

    def inside_result(self, measure: Measure = PLAIN) -> Result:
        """Return the mean inside: of an experiment's effect, the effect that it measured. measure : of the target."""
        if self.effect is None:
            return Result(self.mean, self.interval, n=self.inside, is_rate=self.binary, measure=measure)
        return self._gap(self.mean, self.interval, "measured", measure)

    def per_row(self, measure: Measure = PLAIN) -> Result:
        """Return the mean inside per row: of a rate, for the mean exposure of these rows."""
        inside, size = self.inside_result(measure), self.exposure / max(self.inside, 1)
        if not math.isfinite(size):
            return inside
        low, high = inside.interval
        return replace(inside, value=size * inside.value, interval=(size * low, size * high))

    def outside_result(self, measure: Measure = PLAIN) -> Result:
        """Return the mean outside, likewise, without an interval."""
        outside = replace(self, mean=self.rest, interval=UNKNOWN, inside=self.rows - self.inside)
        return outside.inside_result(measure)

    def opportunity_result(self, measure: Measure = PLAIN) -> Result:
        """Return by how much the mean inside is above that outside."""
        source: Source = "observed" if self.effect is None else "measured"
        return self._gap(self.opportunity, self.opportunity_interval, source, measure)

    def contrast_result(self, measure: Measure = PLAIN) -> Result:
        """Return what the model says of the rows inside."""
        return self._gap(self.contrast, UNKNOWN, "model", measure)

    def rows_of_file(self, measure: Measure = PLAIN, **known: Any) -> list[dict[str, Any]]:
        """Return what a file has of a segment, a row per number (`results.table_of`). known : what is beside it."""
        numbers = {"inside": self.inside_result(measure), "outside": self.outside_result(measure),
                   "opportunity": self.opportunity_result(measure),
                   "model contrast": self.contrast_result(measure)}  # fmt: skip
        beside = {"reach": self.share, "refits agree": self.agree, "ranges tried": self.tried}
        return [{**known, "number": name, **result.cells(), **beside} for name, result in numbers.items()]

    def _gap(self, value: float, interval: Interval, source: Source, measure: Measure) -> Result:
        if self.effect:
            return effect_of(value, interval, self.effect, self.inside, source)
        return Result(value, interval, source, "difference", self.inside, is_rate=self.binary, measure=measure)


@dataclass(frozen=True)
class Segment:
    """A rule with its evidence; `up`: whether its effect is above average; `features`: those that it uses."""

    rule: Rule
    up: bool
    features: tuple[str, ...]
    evidence: Evidence


class HeldOutRows:
    """Held-out rows, encoded once to judge many rules.

    y : (n,) target, 0 and 1 where the model's is binary; weight : (n,) or None. offset : (n,) given part of the score;
    of one of several classes, what takes its score to the log-odds against the others. exposure : (n,) or None.
    effect : as in `Evidence`. clusters : (n,) of an effect, which rows were assigned together, so that intervals go by
    them.
    """

    def __init__(
        self,
        model: AdditiveModel,
        X: pd.DataFrame | Table,
        y: Floats,
        weight: Floats | None = None,
        offset: Floats | float = 0.0,
        exposure: Floats | None = None,
        *,
        effect: str | None = None,
        clusters: NDArray[Any] | None = None,
    ) -> None:
        self.exposure, self.effect = exposure, effect
        self._alike = None if clusters is None else pd.factorize(clusters, use_na_sentinel=False)[0]
        self.model, self.table, self.y, self.weight = model, as_table(X), np.asarray(y, np.float64), weight
        self.codes = encode_table(self.table, model.bins)
        self.score = model.score(self.codes) + offset

    @property
    def binary(self) -> bool:
        """Whether the target is binary."""
        return self.model.loss.is_binary

    def evidence(self, rule: Rule, tried: int = 1) -> Evidence:
        """Return these rows' evidence for a rule."""
        inside, known = self.members(rule)
        outside = known & ~inside
        at_once = self.at_once(rule)
        alpha = ALPHA / at_once
        means = [self._mean(part, alpha) for part in (inside, outside)]
        (mean, interval, n), (rest, outer, m) = means
        apart = float("nan"), float("nan")
        if self._alike is not None and n > 0:
            interval, apart = interval_by_clusters(self.y[known], inside[known], self._alike[known], alpha)
        elif n > 0 and m > 0:
            if self.binary:
                apart = newcombe(mean, n, rest, m)
            elif self.model.loss.outcome_kind != "number":
                apart = difference_by_ends((mean, interval), (rest, outer))
            else:
                apart = difference_of_means(self.y[inside], self.y[outside], *map(self._weights, (inside, outside)),
                                            alpha=alpha)  # fmt: skip
        contrast, agree = self._contrast(rule, rule.holds(self.table))
        return Evidence(
            rows=int(known.sum()),
            inside=int(inside.sum()),
            mean=mean,
            interval=interval,
            rest=rest,
            opportunity=mean - rest,
            opportunity_interval=apart,
            contrast=contrast,
            agree=agree,
            tried=tried,
            binary=self.binary,
            exposure=float("nan") if self.exposure is None else float(self.exposure[inside].sum()),
            effect=self.effect,
            at_once=at_once,
        )

    def at_once(self, rule: Rule) -> int:
        """Return of how many ranges these rows have chosen a rule: of none but itself, where they are held out."""
        return 1

    def members(self, rule: Rule) -> tuple[Bools, Bools]:
        """Return which rows (n,) are inside a rule, and which say anything about it: all."""
        return rule.holds(self.table), np.ones(self.y.size, bool)

    def _weights(self, rows: Bools) -> Floats | None:
        return None if self.weight is None else self.weight[rows]

    def _mean(self, part: Bools, alpha: float) -> tuple[float, Interval, float]:
        """Return the mean of some rows, its interval, and their effective number. alpha : error of that of a mean."""
        y, w = self.y[part], np.ones(int(part.sum())) if self.weight is None else self.weight[part]
        if not w.sum() > 0:
            return float("nan"), (float("nan"), float("nan")), 0.0
        n, kind = float(w.sum() ** 2 / np.square(w).sum()), self.model.loss.outcome_kind
        if kind in ("count", "amount"):
            exposure = None if self.exposure is None else self.exposure[part]
            return *rate(y, kind, exposure, None if self.weight is None else w), n
        mean = float(np.average(y, weights=w))
        return mean, wilson(mean, n) if self.binary else student(y, None if self.weight is None else w, alpha), n

    def _sizes(self, rows: NDArray[np.intp]) -> Floats | None:
        """Return by how much some rows count in a mean of rates: their weights times exposures; None for 1 each."""
        if self.exposure is None:
            return None if self.weight is None else self.weight[rows]
        return self.exposure[rows] if self.weight is None else self.exposure[rows] * self.weight[rows]

    def _contrast(self, rule: Rule, inside: Bools) -> tuple[float, float]:
        """Return the model contrast, and the share of refits that agree with its sign."""
        model = self.model
        mine = {j for j, bins in enumerate(model.bins) if bins.feature.column in rule.columns}
        more = [k for k, term in enumerate(model.all_terms) if len(term.features) > 1 and mine & set(term.features)]
        rows = np.flatnonzero(inside)
        if not mine or not rows.size:
            return float("nan"), float("nan")
        codes = self.codes[:, rows]
        part = sum((model.terms[j].scores[codes[j]] for j in mine), np.zeros(rows.size))
        for k in more:
            part += model.all_terms[k].at(codes)
        score, loss = self.score[rows], model.loss
        weight = self._sizes(rows)
        if weight is not None and not weight.sum() > 0:
            return float("nan"), float("nan")
        moved = loss.inverse_link(score) - loss.inverse_link(score - part)
        refits = self._refit_means(sorted(mine), more, codes, weight)
        sign = np.sign(np.average(part, weights=weight))
        return float(np.average(moved, weights=weight)), float((np.sign(refits) == sign).mean())

    def _refit_means(self, mine: list[int], more: list[int], codes: Codes, weight: Floats | None) -> Floats:
        """Return the mean effect (K,) of some features, and of terms of several, over some rows: in each half-sample
        refit, or in each outer refit where there are none."""
        fitted = self.model.halves or self.model
        n = codes.shape[1] if weight is None else float(weight.sum())
        means = np.zeros(fitted.n_refits)
        for j in mine:
            refits = fitted.terms[j].refits
            means += refits @ np.bincount(codes[j], weight, refits.shape[1]) / n
        for k in more:
            pair = fitted.all_terms[k]
            if not isinstance(pair, PairTerm):
                means += np.average(pair.each_at(codes), axis=1, weights=weight)
                continue
            (i, j), shape = pair.features, pair.counts.shape
            cells = np.bincount(codes[i].astype(np.int64) * shape[1] + codes[j], weight, shape[0] * shape[1])
            seen = np.flatnonzero(cells)
            means += pair.refits_at(*np.divmod(seen, shape[1])) @ cells[seen] / n
        return means


def suggest(
    model: AdditiveModel,
    X: pd.DataFrame | Table,
    y: Floats,
    weight: Floats | None = None,
    threshold: float = 0.0,
    train_share: float = 0.85,
) -> list[Segment]:
    """Return the segments suggested by a model's curves and pairs, with their evidence; the largest opportunity x reach
    first.

    Cuts come from the model alone, so held-out rows can judge them. `threshold` : distance from the average, on the
    link scale, that the simultaneous band must clear. Segments with under 1% of the training rows or of these rows are
    left out; of nearly equal ones, only that with the largest effect x rows is kept.
    """
    return suggest_by(HeldOutRows(model, X, y, weight), threshold, train_share)


def suggest_by(rows: HeldOutRows, threshold: float = 0.0, train_share: float = 0.85) -> list[Segment]:
    """Return the segments suggested by a model, judged by held-out rows; see `suggest`."""
    model, table = rows.model, rows.table
    candidates: list[tuple[Rule, float, tuple[str, ...]]] = []
    for j, bins in enumerate(model.bins):
        if bins.feature.part == "value":
            candidates += [
                (rule, size, (bins.feature.name,)) for rule, size in _of_curve(model, j, threshold, train_share)
            ]
    for place, pair in enumerate(model.pairs):
        sides = [model.bins[j] for j in pair.features]
        if all(bins.feature.part == "value" for bins in sides):
            surface = explain_pair(model, place, train_share)
            if surface.n_by_hand:
                continue
            both_names = sides[0].feature.name, sides[1].feature.name
            candidates += [(rule, size, both_names) for rule, size in _rectangles(surface, sides, threshold)]
    kept: list[tuple[Rule, float, tuple[str, ...]]] = []
    masks: list[Bools] = []
    for rule, size, names in sorted(candidates, key=lambda candidate: -abs(candidate[1])):
        inside = rule.holds(table)
        if inside.mean() >= LEAST_SHARE and not any(_alike(inside, other) for other in masks):
            kept.append((rule, size, names))
            masks.append(inside)
    segments = [Segment(rule, size > 0, names, rows.evidence(rule, len(candidates))) for rule, size, names in kept]
    return sorted(segments, key=lambda segment: -segment.evidence.size)


def _alike(first: Bools, other: Bools) -> bool:
    return bool((first & other).sum() > SAME * (first | other).sum())


def _of_curve(model: AdditiveModel, place: int, threshold: float, train_share: float) -> list[tuple[Rule, float]]:
    """Return the rules of one feature, each with the sum of its effect over its training rows."""
    bins, curve = model.bins[place], explain_shape(model, place, train_share)
    if curve.by_hand.size:  # no row says that what was set by hand is clear
        return []
    column, total = bins.feature.column, float(model.terms[place].counts.sum())
    candidates: list[tuple[Rule, float]] = []
    for up in (True, False):
        if curve.labels:
            candidates += _levels(bins, curve, threshold, up, total)
        else:
            candidates += _runs(bins, curve, threshold, up)
    if curve.missing_whole is not None and curve.missing[3] >= LEAST_SHARE * total:
        low, high = curve.missing_whole
        if low > threshold or high < -threshold:
            candidates.append((Missing(column), curve.missing[0] * curve.missing[3]))
    return candidates


def _levels(bins: Bins, curve: Curve, threshold: float, up: bool, total: float) -> list[tuple[Rule, float]]:
    if not curve.has_whole:
        return []
    clear = curve.whole[0] > threshold if up else curve.whole[1] < -threshold
    chosen = np.flatnonzero(clear & ~curve.thin)
    if not chosen.size or curve.counts[chosen].sum() < LEAST_SHARE * total:
        return []
    names = level_names(bins, chosen)
    return [(Levels(bins.feature.column, names), float(curve.scores[chosen] @ curve.counts[chosen]))]


def level_names(bins: Bins, places: Sequence[int] | NDArray[np.intp]) -> tuple[str, ...]:
    """Return the names of the levels in some value bins of a feature; the last bin may pool several rare levels."""
    return tuple(name for k in places for name in bins.members[k])


def _runs(bins: Bins, curve: Curve, threshold: float, up: bool) -> list[tuple[Rule, float]]:
    """Return the maximal runs of pieces whose band clears the threshold."""
    pieces = simplify(curve)
    clear = [piece.lower > threshold if up else piece.upper < -threshold for piece in pieces]
    candidates: list[tuple[Rule, float]] = []
    first = 0
    for k in range(len(pieces) + 1):
        if k < len(pieces) and clear[k]:
            continue
        run = pieces[first:k]
        if run and len(run) < len(pieces):
            rule = range_of(bins, run[0].start, run[-1].end)
            candidates.append((rule, sum(piece.score * piece.rows for piece in run)))
        first = k + 1
    return candidates


def range_of(bins: Bins, start: int, end: int) -> Rule:
    """Return the rule of the value bins from `start` to `end` (exclusive): of a number that has two values, one of
    them; else a range, in which the outermost bins have open ends. It has the training rows of these bins."""
    column, date = bins.feature.column, bins.feature.kind == "date"
    low = cut_of(bins, start) if start > 0 else None
    high = cut_of(bins, end) if end < bins.n_values else None
    if low is None and high is None:
        return Not(Missing(column))
    if is_two_valued(bins):
        value = float(bins.display[start])
        return Range(column, value, value, high_in=True)
    return Range(column, low, high, date=date)


def rectangle_rule(sides: Sequence[Bins], surface: Surface, chosen: Rectangle) -> Rule:
    """Return the rule of a rectangle on a surface: the AND of a range on each axis."""
    axes = zip(sides, (surface.first, surface.second), (chosen.rows, chosen.columns), strict=True)
    return both(axis_rule(bins, axis, start, end) for bins, axis, (start, end) in axes)


def axis_rule(bins: Bins, axis: SurfaceAxis, first: int, end: int) -> Rule:
    """Return the rule of some neighbouring bins of an axis."""
    codes = np.flatnonzero((axis.merge > first) & (axis.merge <= end))
    if bins.feature.is_category:
        return Levels(bins.feature.column, level_names(bins, codes - 1))
    return range_of(bins, int(codes[0]) - 1, int(codes[-1]))


def _rectangles(surface: Surface, sides: list[Bins], threshold: float) -> list[tuple[Rule, float]]:
    """Return the rectangles with the largest margin of the joint effect over the threshold x rows: at most two per
    direction.

    Averaging the lower ends of the simultaneous band over a rectangle's rows is conservative for its mean effect.
    """
    if not surface.has_whole:
        return []
    candidates: list[tuple[Rule, float]] = []
    total = surface.counts.sum()
    for sign in (1.0, -1.0):
        gains = surface.counts * (sign * surface.whole[0 if sign > 0 else 1] - threshold)
        for _ in range(RECTANGLES):
            chosen, gain = largest_rectangle(gains)
            part = slice(*chosen.rows), slice(*chosen.columns)
            if gain <= 0 or surface.counts[part].sum() < LEAST_SHARE * total:
                break
            whole = (chosen.rows, chosen.columns) == ((0, gains.shape[0]), (0, gains.shape[1]))
            if not whole:
                size = float((surface.scores[part] * surface.counts[part]).sum())
                candidates.append((rectangle_rule(sides, surface, chosen), size))
            gains[part] = -np.abs(gains).sum() - 1.0  # the next one must not overlap it
    return candidates


def largest_rectangle(gains: Floats) -> tuple[Rectangle, float]:
    """Return the rectangle of a table (m, n) with the largest sum: for each range of rows, the best run of column
    sums."""
    best, rectangle = -np.inf, Rectangle((0, gains.shape[0]), (0, gains.shape[1]))
    for top in range(gains.shape[0]):
        for end in range(top + 1, gains.shape[0] + 1):
            running = np.concatenate([[0.0], np.cumsum(gains[top:end].sum(axis=0))])
            lowest = np.minimum.accumulate(running)[:-1]
            sums = running[1:] - lowest
            k = int(sums.argmax())
            if sums[k] > best:
                start = int(running[: k + 1].argmin())
                best, rectangle = float(sums[k]), Rectangle((top, end), (start, k + 1))
    return rectangle, best
