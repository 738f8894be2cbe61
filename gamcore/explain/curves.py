"""Curves and the parts of a prediction, as data that figures and files are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gamcore.common.numbers import count, exact, number, percent
from gamcore.common.types import Bools, Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.column_names import PAIR, PLAIN, Measure, free_name, members
from gamcore.data.columns import Kind
from gamcore.data.cuts import names_of_bins
from gamcore.data.dates import as_date
from gamcore.data.labels import labels_of
from gamcore.data.table import MONTHS, WEEKDAYS
from gamcore.explain import support
from gamcore.explain.importance import term_names
from gamcore.explain.places import typical_of
from gamcore.explain.support import FEW_ROWS
from gamcore.model.additive import AdditiveModel, Given, OpenEffect
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, check_scale, no_effect, say_in_a_sentence
from gamcore.model.shapes import Shape
from gamcore.stats.bands import FEWEST_QUICK, USUAL_SHARE, deviation, half_scale, pointwise, quick_scale
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

NO_BAND = "no band yet"
POINTWISE = "95% band, point by point"
WHOLE = "95% band, whole curve"


@dataclass(frozen=True)
class Spread:
    """Uncertainty of a term: standard errors (size,), and half-widths of bands in units of these.

    words : description of the pointwise band. whole : half-width of the simultaneous band; NaN where there are too few
    refits. refits : (K, size) from which the errors come.
    """

    error: Floats
    pointwise: float
    whole: float
    words: str
    refits: Floats


@dataclass(frozen=True)
class Curve(Explanation):
    """One shape function.

    edges : (K + 1,) borders of the value bins, for numbers and dates (in days since 1970-01-01); the outer two are the
        range seen in training. Empty for categories.
    labels : (K,) the level of each bin, for categories.
    scores, lower, upper, counts : (K,) per value bin: effects on `scale`, and training rows.
    missing, unseen : (score, lower, upper, training rows) of those two bins.
    band : description of the band from `lower` to `upper`.
    whole : (2, K) lower and upper end of the simultaneous band; empty where there is none.
    reach : half-width of that band on the link scale, in standard deviations over `refits`.
    base : score of the base rate. refits : (R, K) the refits behind the band, on the link scale.
    rare : levels pooled into the last bin because few rows have them. members : the levels of each bin. shape : how it
        was learnt.
    missing_whole : ends of the simultaneous band at the missing bin; None where there is none.
    given : what its effects are added to, as in the model. measure : unit and form of its values.
    room : (2, K) between which ends the curve may be redrawn at a chosen loss (`explain.room`); empty where it is not
        asked for. room_words : at which.
    by_hand : (K,) whether a bin's score was set by hand, so that it has no band; empty where none was.
    values : what the one value of each bin is called, for a number whose values have names; empty where they have none.
    beside : (2, K - 1) the training values next to each inner border, below and above; empty where it is not known.
    open_effect : what rows show, where the curve has no clear effect (`OpenEffect`); None where it is nothing.
    shared_with : features that say nearly the same, where it has a clear effect only together with them; the strongest
        first.
    is_counted : whether `counts` are in proportion to rows in these bins; else they are sums of weights, or shares of
        the rows of wider bins.
    """

    feature: str
    kind: Kind
    edges: Floats
    display: Floats
    labels: tuple[str, ...]
    scores: Floats
    lower: Floats
    upper: Floats
    counts: Floats
    missing: tuple[float, float, float, float]
    unseen: tuple[float, float, float, float]
    band: str
    intercept: float
    loss: str
    whole: Floats = field(default_factory=lambda: np.empty((2, 0)))
    scale: Scale = "link"
    reach: float = float("nan")
    base: float = 0.0
    refits: Floats = field(default_factory=lambda: np.empty((0, 0)))
    rare: tuple[str, ...] = ()
    members: tuple[tuple[str, ...], ...] = ()
    shape: Shape = "steps"
    missing_whole: tuple[float, float] | None = None
    measure: Measure = PLAIN
    values: tuple[str, ...] = ()
    given: tuple[Given, ...] = ()
    by_hand: Bools = field(default_factory=lambda: np.zeros(0, bool))
    room: Floats = field(default_factory=lambda: np.empty((2, 0)))
    room_words: str = ""
    beside: Floats = field(default_factory=lambda: np.empty((2, 0)))
    is_counted: bool = True
    open_effect: OpenEffect | None = None
    shared_with: tuple[str, ...] = ()

    def on(self, scale: Scale) -> Curve:
        """Return the curve on another scale; a target in its own units has only one."""
        check_scale(scale)
        loss = LOSSES[self.loss]
        if scale == self.scale or scale not in loss.scales:
            return self
        if self.scale != "link":
            raise ValueError(f"The curve is already converted to {self.scale}: convert the one on the link scale.")

        def at(place: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
            score, lower, upper = (float(v) for v in loss.effect(np.array(place[:3]), scale, self.base))
            return score, lower, upper, place[3]

        names = ("scores", "lower", "upper", "whole", "room")
        arrays: dict[str, Any] = {name: loss.effect(getattr(self, name), scale, self.base) for name in names}
        if self.missing_whole is not None:
            low, high = loss.effect(np.array(self.missing_whole), scale, self.base)
            arrays["missing_whole"] = (float(low), float(high))
        return replace(self, **arrays, missing=at(self.missing), unseen=at(self.unseen), scale=scale)

    @property
    def tails(self) -> tuple[int, int]:
        """The borders between which its rows are not few: see `explain.support.tails`."""
        return support.tails(self.counts)

    @property
    def unit(self) -> str:
        """Unit of its effects; empty where it is that of the target."""
        return LOSSES[self.loss].unit(self.scale, "")

    def detail(self, target: str) -> list[str]:
        """Return the target, unit and base rate of its effects: the grey line under a plot's title."""
        per = " per unit of exposure" if "exposure" in self.given else ""
        added = ["added to the given score"] if "init_score" in self.given else []
        if not self.unit:
            return [f"effect on {target}", *added]
        loss = LOSSES[self.loss]
        if loss.is_partial:
            return [f"effect on {target}", self.unit, *added]
        base = float(loss.inverse_link(np.array(self.base)))
        mean = f"base rate {percent(base)}" if loss.is_binary else f"mean {number(base, 4)}{per}"
        return [f"effect on {target}", self.unit, *added, mean]

    @property
    def has_whole(self) -> bool:
        """Whether there is a simultaneous band."""
        return bool(self.scores.size) and self.whole.shape[1] == self.scores.size

    @property
    def is_two_valued(self) -> bool:
        """Whether it is of a number that has only two values in training: those at both ends of its axis."""
        return self.edges.size == 3 and self.has_single_values

    @property
    def has_single_values(self) -> bool:
        """Whether it is of a number, and each bin holds one value: the values beside all borders are those of the bins;
        where these are not known, cuts are halfway between neighbours."""
        values, edges = self.display, self.edges
        if self.kind != "number" or values.size < 2 or edges.size != values.size + 1:
            return False
        if self.beside.size:
            known = np.array_equal(self.beside, [values[:-1], values[1:]])
            return known and np.array_equal(edges[[0, -1]], values[[0, -1]])
        halfway = np.concatenate([values[:1], values[:-1] / 2 + values[1:] / 2, values[-1:]])
        return bool(np.allclose(edges, halfway, rtol=1e-9))

    @property
    def between(self) -> Floats:
        """The values next to each inner border (2, K - 1), below and above; empty where they are not known."""
        if not self.beside.size and self.has_single_values:
            return np.stack([self.display[:-1], self.display[1:]])
        return self.beside

    @cached_property
    def runs(self) -> tuple[Ints, ...]:
        """The bins that are read together, left to right; levels in order of effect, which the calendar has its own.

        See `explain.support`. Where no neighbourhood has enough rows, each bin with rows is one.
        """
        order, amount = self._order, self._evidence
        read_together = tuple(order[run] for run in support.runs(amount[order]))
        return read_together or tuple(np.array([k]) for k in order if self.counts[k] > 0)

    @property
    def thin(self) -> Bools:
        """Which bins (K,) have too few rows, also with their neighbours: they are drawn grey, and not read."""
        thin = np.zeros(self.scores.size, bool)
        thin[self._order] = support.thin(self._evidence[self._order])
        return thin

    @property
    def missing_is_thin(self) -> bool:
        """Whether too few cells are missing to read their effect."""
        return self.missing[3] < FEW_ROWS

    @property
    def _order(self) -> Ints:
        by_effect = bool(self.labels) and self.labels not in (MONTHS, WEEKDAYS)
        return np.argsort(self.scores, kind="stable") if by_effect else np.arange(self.scores.size)

    @property
    def few(self) -> str:
        """What thin bins lack, in words."""
        return f"under {FEW_ROWS} rows" + (f" or {count(support.FEW_EVENTS)} events" if _knows_events(self) else "")

    @property
    def _evidence(self) -> Floats:
        """How much of what a reading needs each bin has (K,). Events are expected by the mean or by the curve,
        whichever are more."""
        if not _knows_events(self):
            return support.evidence(self.counts)
        loss = LOSSES[self.loss]
        base = float(loss.inverse_link(np.array(self.base)))
        match self.scale:
            case "points" | "units":
                rates = base + self.scores / (100.0 if self.scale == "points" else 1.0)
            case "ratio":
                rates = loss.inverse_link(self.base + np.log(np.maximum(self.scores, 1e-300)))
            case _:
                rates = loss.inverse_link(self.base + self.scores)
        events = np.maximum(rates, base)
        if loss.is_binary:
            events = np.minimum(events, np.maximum(1.0 - rates, 1.0 - base))
        return support.evidence(self.counts, events)

    def as_levels(self) -> Curve:
        """Return the curve of a number of two values as that of two levels; any other as it is."""
        if not self.is_two_valued:
            return self
        labels = tuple(exact(value) for value in self.display)
        return replace(self, kind="category", labels=labels, members=tuple((label,) for label in labels),
                       edges=np.empty(0))  # fmt: skip

    def of_levels(self, places: Ints) -> Curve:
        """Return the curve of some levels of a category, by their places (m,)."""
        per_level = ("scores", "lower", "upper", "counts")
        arrays: dict[str, Any] = {name: getattr(self, name)[places] for name in per_level}
        arrays["by_hand"] = self.by_hand[places] if self.by_hand.size else self.by_hand
        arrays |= {
            name: value[:, places] for name in ("whole", "refits", "room") if (value := getattr(self, name)).shape[1]
        }
        arrays |= {name: tuple(getattr(self, name)[k] for k in places) for name in ("labels", "members")}
        return replace(self, rare=self.rare if self.scores.size - 1 in places else (), **arrays)

    @property
    def bin_of(self) -> dict[str, int]:
        """The place of each level that is known by name; empty for numbers and dates."""
        return {level: k for k, levels in enumerate(self.members) for level in levels}

    @property
    def zero(self) -> float:
        """The value of no effect."""
        return no_effect(self.scale)

    @property
    def has_band(self) -> bool:
        """Whether there is a pointwise band."""
        return self.band != NO_BAND

    def place(self, k: int) -> str:
        """Return bin k in words: its level, or its range."""
        return (self.values or self.labels or self._ranges)[k]

    @cached_property
    def _ranges(self) -> tuple[str, ...]:
        return names_of_bins(self.edges, self.between, self.display, self.kind, self.measure)

    @property
    def slope(self) -> tuple[float, float, float] | None:
        """The coefficient of a straight line on the link scale, per unit or day, and its 95% interval: NaN without
        half-sample refits. None for other curves."""
        if self.shape != "linear" or self.scores.size < 2 or self.scale != "link":
            return None
        run = float(self.display[-1] - self.display[0])
        value, wide = float(self.scores[-1] - self.scores[0]) / run, float("nan")
        if self.has_whole:
            wide = pointwise(len(self.refits)) * float(deviation((self.refits[:, -1:] - self.refits[:, :1]) / run)[0])
        return value, value - wide, value + wide

    def describe(self, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
        """Return the plot of the curve; further words are those of `plots.curves.curve`, such as before and title."""
        from gamcore.explain.plots.curves import curve

        shown = f"effect on {target} · {LOSSES[self.loss].unit(self.scale, target)}" if detail is None else detail
        return curve(self, target, shown, **words)

    def words(self) -> str:
        """Return the curve in a sentence, for those who cannot see it."""
        if not self.scores.size:
            return f"{self.feature} has no values in training, so no effect."
        (low, least), (high, most) = ends_of(self)
        lowest, highest, missing = (say_in_a_sentence(v, self.scale) for v in (least, most, self.missing[0]))
        return (
            f"Effect of {self.feature}: lowest {lowest} at {typical_of(self, low).spoken}, highest {highest} at "
            f"{typical_of(self, high).spoken}; missing {missing}."
        )

    def frame(self) -> pd.DataFrame:
        """Return the numbers behind the curve, one row per bin, missing and unseen last."""
        if self.kind in ("category", "boolean"):
            names: dict[str, object] = {"level": [*self.labels, "(missing)", "(unseen)"]}
        else:
            edges = [as_date(e).date() for e in self.edges] if self.kind == "date" else self.edges.tolist()
            names = {
                "bin": [*(self.values or map(str, range(1, self.scores.size + 1))), "(missing)", "(unseen)"],
                "from": [*edges[:-1], None, None],
                "below": [*edges[1:], None, None],
            }
        columns = zip(
            ("score", "lower", "upper", "rows"), (self.scores, self.lower, self.upper, self.counts), strict=True
        )
        numbers = {
            name: [*values.tolist(), self.missing[i], self.unseen[i]] for i, (name, values) in enumerate(columns)
        }
        if self.has_whole:
            ends = zip(("lower, whole curve", "upper, whole curve"), self.whole, strict=True)
            numbers |= {name: [*values.tolist(), None, None] for name, values in ends}
        if self.by_hand.size:
            numbers["by hand"] = [*self.by_hand.tolist(), None, None]
        return pd.DataFrame({**names, **numbers})


def _knows_events(curve: Curve) -> bool:
    """Return whether rows have expected events: not known of a score given beside the model's, or of an exposure."""
    loss = LOSSES[curve.loss]
    return not (curve.given or loss.is_partial) and (loss.is_binary or loss.outcome_kind == "count")


@dataclass(frozen=True)
class Breakdown(Explanation):
    """Predictions as sums: intercept + contributions.sum(axis=1) = scores, exactly additive."""

    features: tuple[str, ...]
    intercept: float
    contributions: Floats  # (n, terms)
    scores: Floats  # (n,)
    loss: str = "squared"

    def describe(self, row: int = 0, target: str = "the target", scale: Scale = "link", **words: Any) -> Plot:
        """Return the plot of one row's parts; further words are those of `plots.bars.waterfall`, such as cells."""
        from gamcore.explain.plots.bars import waterfall

        n = self.scores.size
        if not n:
            raise ValueError("The breakdown has no rows, so there is nothing to draw: explain at least one.")
        place = {"detail": f"row {row + 1} of {n}, its parts, the largest first"} if n > 1 else {}
        return waterfall(self, row, target, scale, **(place | words))

    def frame(self) -> pd.DataFrame:
        """Return one row per prediction: intercept, one column per term, score."""
        table = pd.DataFrame(self.contributions, columns=list(self.features))
        table.insert(0, free_name(self.features, "(intercept)"), self.intercept)
        table[free_name(self.features, "(score)")] = self.scores
        return table

    def parts(self, row: int, cells: Mapping[str, str]) -> pd.DataFrame:
        """Return the parts of one row's score (term, cell, contribution), the largest first; a pair has both cells."""
        frame = pd.DataFrame({
            "term": self.features,
            "cell": [PAIR.join(cells.get(part, "") for part in members(name, cells)) for name in self.features],
            "contribution": self.contributions[row],
        })  # fmt: skip
        return frame.sort_values("contribution", key=np.abs, ascending=False)


def explain_shape(model: AdditiveModel, feature: int, train_share: float = USUAL_SHARE) -> Curve:
    """Return the curve of one feature with its band: from half-sample refits where there are any, else a quick one from
    the outer refits, each trained on `train_share` of the rows."""
    term = model.terms[feature]
    spread = quick_spread(term.refits, train_share)
    if model.halves is not None:
        half = model.halves.terms[feature]
        scale, mean = half_scale(train_share, model.clarity), half.refits.mean(axis=0)
        refits = mean + scale * (half.refits - mean)
        spread = Spread(scale * half.deviation, pointwise(len(refits)), half.reach, POINTWISE, refits)
    bins = model.bins[feature]
    curve = make_curve(
        bins,
        term.scores,
        spread=spread,
        counts=term.counts,
        centre=(model.intercept, model.base_score),
        loss=model.loss.name,
        given=model.given,
        shape=model.shapes[feature] if model.shapes else "steps",
    )
    marks = model.by_hand(feature)[1:-1]
    is_counted = model.halves is None or model.halves.evenness == 1  # else counts are sums of weights
    curve = replace(curve, by_hand=marks if marks.any() else curve.by_hand, is_counted=is_counted)
    known = () if model.halves is None else model.halves.open_effects
    effect = next((effect for effect in known if effect.feature == feature), None)
    others = () if effect is None else tuple(model.bins[k].feature.name for k in effect.others)
    return replace(curve, open_effect=effect, shared_with=others)


def quick_spread(refits: Floats, train_share: float) -> Spread | None:
    """Return the spread of the outer refits (K, size): a wide pointwise band, and no simultaneous one."""
    scale = quick_scale(train_share)
    if len(refits) < FEWEST_QUICK or not scale:
        return None
    words = f"quick 95% band of {len(refits)} refits, point by point"
    return Spread(scale * deviation(refits), pointwise(len(refits)), float("nan"), words, refits)


def ends_of(curve: Curve) -> tuple[tuple[Ints, float], tuple[Ints, float]]:
    """Return the bins where a curve is lowest, with its mean there, and those where it is highest; the mean of ratios
    is geometric, so that a curve has the same ends as ratios and as their logarithms."""
    alone = np.flatnonzero(curve.counts > 0) if curve.counts.any() else np.arange(curve.scores.size)
    runs = curve.runs if len(curve.runs) > 1 else tuple(alone[:, None])
    heights = np.log(curve.scores) if curve.scale == "ratio" else curve.scores
    means = np.array([np.average(heights[run], weights=curve.counts[run] + 1e-9) for run in runs])
    low, high = int(means.argmin()), int(means.argmax())
    least, most = (np.exp(means) if curve.scale == "ratio" else means)[[low, high]].tolist()
    return (runs[low], least), (runs[high], most)


def make_curve(
    bins: Bins,
    scores: Floats,
    spread: Spread | None,
    counts: Floats,
    centre: tuple[float, float],
    loss: str,
    given: tuple[Given, ...] = (),
    shape: Shape = "steps",
) -> Curve:
    """Return a curve from a feature's scores and training rows (size,) by code; centre: intercept and base score."""
    wide = spread.pointwise * spread.error if spread else np.zeros(scores.size)
    lower, upper = scores - wide, scores + wide
    inside = slice(1, bins.n_values + 1)
    members = bins.members if bins.feature.is_category else ()
    is_line = not bins.feature.is_category and bins.n_values > 0
    edges = np.concatenate([[bins.low], bins.cuts, [bins.high]]) if is_line else np.empty(0)
    whole, of_missing = np.empty((2, 0)), None
    if spread and np.isfinite(spread.whole):
        reach = spread.whole * spread.error[inside]
        whole = np.stack([scores[inside] - reach, scores[inside] + reach])
        wide_missing = float(spread.whole * spread.error[0])
        of_missing = float(scores[0]) - wide_missing, float(scores[0]) + wide_missing

    def at(code: int) -> tuple[float, float, float, float]:
        return float(scores[code]), float(lower[code]), float(upper[code]), float(counts[code])

    return Curve(
        feature=bins.feature.name,
        kind=bins.feature.kind,
        edges=edges,
        display=bins.display,
        labels=labels_of(members, bins.pooled),
        scores=scores[inside],
        lower=lower[inside],
        upper=upper[inside],
        counts=counts[inside],
        missing=at(0),
        unseen=at(bins.unseen),
        band=spread.words if spread else NO_BAND,
        intercept=centre[0],
        loss=loss,
        whole=whole,
        reach=spread.whole if spread else float("nan"),
        base=centre[1],
        refits=spread.refits[:, inside] if spread else np.empty((0, bins.n_values)),
        rare=bins.pooled,
        members=members,
        missing_whole=of_missing,
        given=given,
        shape=shape,
        beside=bins.beside,
    )


def explain_rows(model: AdditiveModel, codes: Codes) -> Breakdown:
    """Return the parts of the scores of some rows."""
    parts = model.contributions(codes)
    return Breakdown(term_names(model), model.intercept, parts, model.score(codes), model.loss.name)
