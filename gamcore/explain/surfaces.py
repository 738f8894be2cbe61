"""Joint effects of two features, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.boosting.rows.source import Encoded
from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins, merge_bins
from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.columns import Kind
from gamcore.data.cuts import names_of_bins
from gamcore.data.labels import levels_in_words, listed, set_apart
from gamcore.explain.cell_support import around
from gamcore.explain.curves import Curve, explain_shape
from gamcore.explain.places import cell_of, place_of
from gamcore.explain.support import FEW_ROWS
from gamcore.model.additive import MOST_BINS, AdditiveModel, AnyTerm, PairTerm, Term, reading_bins
from gamcore.model.classes import ClassesModel, class_losses
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, say_in_a_sentence
from gamcore.stats.bands import FEWEST_QUICK, USUAL_SHARE, deviation, half_scale, pointwise, quick_scale, simultaneous
from gamcore.stats.intervals import student
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

ROUNDING: Final = 1e-12
"""Of the largest effect of the two features alone: a joint effect below is none."""

MOST_NAMED: Final = 6
"""Levels of a slice that are named."""

SLICES: Final = (0.1, 0.5, 0.9)
"""Shares of the rows at which slices begin."""


@dataclass(frozen=True)
class SurfaceAxis:
    """One axis of a surface, with the bins that it shows; `edges` and `labels` as in `Curve`.

    merge : (size,) for each code of the feature, 1 + its bin; 0 for missing and unseen. members : the levels of each
    bin. measure : unit and form of its values. values : what the values in each bin are called, for a number whose
    values have names; empty where they have none. between : (2, K - 1) the training values next to each inner border;
    empty where they are not known.
    """

    feature: str
    kind: Kind
    edges: Floats
    labels: tuple[str, ...]
    merge: Codes
    members: tuple[tuple[str, ...], ...] = ()
    measure: Measure = PLAIN
    values: tuple[str, ...] = ()
    between: Floats = field(default_factory=lambda: np.empty((2, 0)))

    @property
    def tails(self) -> tuple[int, int]:
        """As of a curve: behind its first bin and before its last, as all of them have rows."""
        return 1, self.edges.size - 2

    @property
    def display(self) -> Floats:
        """The middle of each bin of numbers or dates."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    def place(self, k: int) -> str:
        """Return bin k in words: its level, or its range."""
        return (self.values or self.labels or self._ranges)[k]

    @cached_property
    def _ranges(self) -> tuple[str, ...]:
        return names_of_bins(self.edges, self.between, self.display, self.kind, self.measure)

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.labels) or max(self.edges.size - 1, 0)

    def nearest(self, low: float, high: float) -> tuple[int, int]:
        """Return the whole bins nearest to a dragged range, first and last (exclusive): at least one."""
        borders = np.arange(self.size + 1) - 0.5 if self.labels else self.edges  # levels are drawn around 0, 1, ...
        first, end = (int(np.abs(borders - value).argmin()) for value in (low, high))
        if first == end:  # inside one bin
            first = int(np.searchsorted(borders, (low + high) / 2, side="right")) - 1
        first = min(max(first, 0), self.size - 1)
        return first, min(max(end, first + 1), self.size)

    def range_words(self, first: int, end: int) -> str:
        """Return neighbouring bins in words."""
        if self.labels:
            parts = self.members or [(name,) for name in self.labels]
            levels = [level for members in parts[first:end] for level in members]
            return f"{self.feature} is {levels_in_words(levels, 'or', MOST_NAMED)}"
        if self.values:
            return f"{self.feature} is {listed(self.values[first:end], 'or')}"
        return f"{self.feature} is {place_of(self, np.arange(first, end)).words}"


@dataclass(frozen=True)
class Rectangle:
    """Neighbouring bins on both axes of a surface: (first, last) on each, the last exclusive."""

    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True)
class Surface(Explanation):
    """The interaction of two features.

    scores, lower, upper : (K_1, K_2) by bins of the axes, on `scale`, with a pointwise band of the same kind as that
        of the curves. whole : (2, K_1, K_2) the simultaneous band over all cells; empty where there is none.
    counts : (K_1, K_2) training rows.
    missing_first : (K_2,) scores where the first feature is missing; missing_second : (K_1,); missing_both.
    margins : the curves of the two features in the model, over all their bins. alone : (K_1,), (K_2,) their means in
        the bins of the axes.
    pure : whether the surface's main effects were moved to those curves. n_by_hand : cells with scores set by hand.
    is_smooth : whether it goes on from cell to cell without steps.
    """

    first: SurfaceAxis
    second: SurfaceAxis
    scores: Floats
    lower: Floats
    upper: Floats
    counts: Floats
    missing_first: Floats
    missing_second: Floats
    missing_both: float
    margins: tuple[Curve, Curve]
    alone: tuple[Floats, Floats]
    pure: bool
    whole: Floats
    base: float
    scale: Scale = "link"
    n_by_hand: int = 0
    is_smooth: bool = False

    def on(self, scale: Scale) -> Surface:
        """Return the surface on another scale; a target in its own units has only one."""
        margins = self.margins[0].on(scale), self.margins[1].on(scale)
        loss = LOSSES[self.margins[0].loss]
        if scale == self.scale or scale not in loss.scales:
            return self
        names = ("scores", "lower", "upper", "whole", "missing_first", "missing_second")
        arrays: dict[str, Any] = {name: loss.effect(getattr(self, name), scale, self.base) for name in names}
        alone = loss.effect(self.alone[0], scale, self.base), loss.effect(self.alone[1], scale, self.base)
        both = float(loss.effect(np.array(self.missing_both), scale, self.base))
        return replace(self, **arrays, margins=margins, alone=alone, missing_both=both, scale=scale)

    @property
    def has_whole(self) -> bool:
        """Whether there is a simultaneous band over all cells."""
        return self.whole.size == 2 * self.scores.size > 0

    @property
    def zero(self) -> float:
        """The value of no effect."""
        return self.margins[0].zero

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two features."""
        return self.first.feature, self.second.feature

    @property
    def axes(self) -> tuple[SurfaceAxis, SurfaceAxis]:
        """Both axes."""
        return self.first, self.second

    @property
    def beyond(self) -> str:
        """What the surface comes on top of, in words; empty where it has the effects of each feature in it."""
        return "beyond each alone" if self.pure else ""

    @property
    def n_rows(self) -> float:
        """All training rows, also those without a value; NaN where they were not counted."""
        curve = self.margins[0]
        return float(curve.counts.sum() + curve.missing[3] + curve.unseen[3]) if curve.is_counted else math.nan

    @property
    def shades(self) -> Floats:
        """Effects (K_1, K_2) that cells are coloured by; for ratios, their logs. A cell with few rows has that of the
        cells around it, so that none is stronger than what rows bear out; NaN without rows."""
        return around(np.log(self.scores) if self.scale == "ratio" else self.scores, self.counts)

    @property
    def reach(self) -> float:
        """The strongest of the shades: the limit of a symmetric colour scale."""
        return float(np.nanmax(np.abs(self.shades), initial=0.0))

    def usual_slices(self, most: int) -> list[int]:
        """Return up to `most` bins of the second feature to begin with: all that have enough rows, or those at even
        shares of the rows; the fullest bin where none has enough."""
        rows = self.counts.sum(axis=0)
        thick = np.flatnonzero(rows >= FEW_ROWS)
        if not thick.size:
            return [int(rows.argmax())] if rows.any() else []
        if thick.size <= most:
            return [int(k) for k in thick]
        share = np.cumsum(rows[thick]) / rows[thick].sum()
        return sorted({int(thick[np.searchsorted(share, q)]) for q in SLICES})

    def turned(self) -> Surface:
        """Return the surface with its axes exchanged."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            scores=self.scores.T,
            lower=self.lower.T,
            upper=self.upper.T,
            counts=self.counts.T,
            whole=self.whole.transpose(0, 2, 1),
            missing_first=self.missing_second,
            missing_second=self.missing_first,
            margins=(self.margins[1], self.margins[0]),
            alone=(self.alone[1], self.alone[0]),
        )

    def rectangle_words(self, chosen: Rectangle) -> str:
        """Return a rectangle in words."""
        return f"{self.first.range_words(*chosen.rows)} and {self.second.range_words(*chosen.columns)}"

    def mean(self, chosen: Rectangle) -> float:
        """Return the mean score of a rectangle over its training rows; NaN without any."""
        part = slice(*chosen.rows), slice(*chosen.columns)
        counts = self.counts[part]
        return float((self.scores[part] * counts).sum() / counts.sum()) if counts.sum() > 0 else math.nan

    def inside(self, chosen: Rectangle, first: Codes, second: Codes) -> NDArray[np.bool_]:
        """Return which rows (n,), given as codes of the two features, lie in a rectangle."""
        inside = np.ones(first.size, bool)
        for axis, (low, end), codes in ((self.first, chosen.rows, first), (self.second, chosen.columns, second)):
            places = axis.merge[codes].astype(np.int64) - 1
            inside &= (places >= low) & (places < end)
        return inside

    def describe(self, target: str = "the target", detail: str | None = None, **words: Any) -> Plot:
        """Return the plot of the joint effect; further words are those of `plots.surfaces.surface`, such as chosen."""
        from gamcore.explain.plots.surfaces import surface

        units = LOSSES[self.margins[0].loss].unit(self.scale, target)
        return surface(self, target, f"effect on {target} · {units}" if detail is None else detail, **words)

    def words(self) -> str:
        """Return the surface in a sentence, for those who cannot see it."""
        if not (self.counts > 0).any():
            return f"No training row has both {self.names[0]} and {self.names[1]}."
        full = self.counts >= FEW_ROWS  # single rows have the largest effects, and say nothing
        seen = np.where(full if full.any() else self.counts > 0, self.scores, np.nan)
        cells = {name: int(find(seen)) for name, find in (("lowest", np.nanargmin), ("highest", np.nanargmax))}
        parts = [f"{name} {self._cell(k)}" for name, k in cells.items()]
        beyond = ", beyond each alone" if self.pure else ""
        if not (np.abs(np.nan_to_num(seen, nan=self.zero) - self.zero) > 0).any():
            return f"No joint effect of {self.names[0]} and {self.names[1]}{beyond}."
        effects = ", ".join(parts) if cells["lowest"] != cells["highest"] else self._cell(cells["lowest"])
        return f"Joint effect of {self.names[0]} and {self.names[1]}{beyond}: {effects}."

    def _cell(self, k: int) -> str:
        i, j = divmod(k, self.scores.shape[1])
        where = f"{cell_of(self.first, i).words} and {cell_of(self.second, j).words}"
        return f"{say_in_a_sentence(float(self.scores[i, j]), self.scale)} where {where}"

    def frame(self) -> pd.DataFrame:
        """Return the numbers behind the surface, one row per cell.

        Columns named after the features hold the bins in words; numbers and dates (in days since 1970-01-01) also have
        their edges. The names (score), (lower), (upper) and (rows) have parentheses to differ from features' names.
        """
        cells = [(self.first.place(i), self.second.place(j)) for i, j in np.ndindex(*self.scores.shape)]
        table = pd.DataFrame(cells, columns=list(self.names))
        for axis, places in zip((self.first, self.second), np.indices(self.scores.shape), strict=True):
            if not axis.labels:
                table[f"{axis.feature} (from)"] = axis.edges[places.ravel()]
                table[f"{axis.feature} (below)"] = axis.edges[places.ravel() + 1]
        columns = [("score", self.scores), ("lower", self.lower), ("upper", self.upper)]
        if self.has_whole:
            columns += [("lower, all cells", self.whole[0]), ("upper, all cells", self.whole[1])]
        for name, values in columns:
            table[f"({name})"] = values.ravel()
        table["(rows)"] = self.counts.ravel()
        return table


def pair_worth(model: AdditiveModel | ClassesModel, data: Encoded) -> pd.DataFrame:
    """Return the worth of each pair on some rows; see `_worth`."""
    return _worth(model, data, lambda fitted: fitted.pairs)


def triple_worth(model: AdditiveModel, data: Encoded) -> pd.DataFrame:
    """Return the worth of each triple on some rows; see `_worth`."""
    return _worth(model, data, lambda fitted: fitted.triples)


def _worth(
    model: AdditiveModel | ClassesModel, data: Encoded, terms_of: Callable[[AdditiveModel], Sequence[AnyTerm]]
) -> pd.DataFrame:
    """Return the worth of some terms of a model on some rows.

    One row per term, in the model's order: feature_1, feature_2 (and feature_3 of triples), worth (rise of the mean
    loss, squared error or log-loss, without it), share (of the loss without it), low and high (95% interval of the
    worth, over independent rows; NaN for one row). A term of several classes is taken from all.
    """
    models = (model,) if isinstance(model, AdditiveModel) else model.models
    codes, y = data.binned.codes, data.y
    score = np.stack([fitted.score(codes) for fitted in models], axis=1)
    if data.offset is not None:
        score += data.offset.reshape(score.shape)
    names = [bins.feature.name for bins in model.bins]

    def losses(scores: Floats) -> Floats:
        return class_losses(y.astype(np.int64), scores) if len(models) > 1 else model.loss.loss(y, scores[:, 0])

    whole, rows = losses(score), []
    for terms in zip(*map(terms_of, models), strict=True):
        without = losses(score - np.stack([term.at(codes) for term in terms], axis=1))
        worth, loss_without = (float(np.average(each, weights=data.weight)) for each in (without - whole, without))
        features = {f"feature_{k}": names[j] for k, j in enumerate(terms[0].features, 1)}
        low, high = student(without - whole, data.weight)
        share = worth / loss_without if loss_without > 0 else 0.0
        rows.append({**features, "worth": worth, "share": share, "low": low, "high": high})
    return pd.DataFrame(rows, columns=None if rows else ["feature_1", "feature_2", "worth", "share", "low", "high"])


def explain_pair(model: AdditiveModel, place: int, train_share: float = USUAL_SHARE) -> Surface:
    """Return the surface of one of the model's pairs, with bands like those of a curve (`curves.explain_shape`).

    Bins are merged to as many as the rows allow (`additive.reading_bins`). A cell's score is the mean over its training
    rows.
    """
    term = model.pairs[place]
    n_rows = float(term.counts.sum())
    sides = [
        _axis(model.bins[j], model.terms[j], term.counts.sum(axis=1 - k), n_rows) for k, j in enumerate(term.features)
    ]
    refits, inside = _drawn(term, sides), slice(1, None)
    scores, counts = refits.mean(axis=0), _added(term.counts, sides)[inside, inside]
    error, reach, whole = np.zeros(counts.shape), 0.0, np.empty((2, 0, 0))
    seen = scores[inside, inside]
    if model.halves is not None:
        halves = _drawn(model.halves.pairs[place], sides)[:, inside, inside]
        error, reach = half_scale(train_share, model.clarity) * deviation(halves), pointwise(len(halves))
        wide = simultaneous(halves.reshape(len(halves), -1), counts.ravel() > 0) * error
        whole = np.stack([seen - wide, seen + wide])
    elif len(refits) >= FEWEST_QUICK:
        error, reach = quick_scale(train_share) * deviation(refits)[inside, inside], pointwise(len(refits))
    margins = [explain_shape(model, feature, train_share) for feature in term.features]
    size = max(float(np.abs(curve.scores).max(initial=0.0)) for curve in margins)
    scores = np.where(np.abs(scores) > ROUNDING * size, scores, 0.0)  # what purification leaves of nothing
    seen = scores[inside, inside]
    return Surface(
        first=sides[0],
        second=sides[1],
        scores=seen,
        lower=seen - reach * error,
        upper=seen + reach * error,
        counts=counts,
        missing_first=scores[0, inside],
        missing_second=scores[inside, 0],
        missing_both=float(scores[0, 0]),
        margins=(margins[0], margins[1]),
        alone=(_alone(model.terms[term.features[0]], sides[0]), _alone(model.terms[term.features[1]], sides[1])),
        pure=term.pure,
        whole=whole,
        base=model.base_score,
        n_by_hand=0 if term.drawn is None else _n_drawn(term.drawn, sides),
        is_smooth=term.is_smooth,
    )


def _n_drawn(drawn: Floats, sides: list[SurfaceAxis]) -> int:
    """Return how many cells of a surface have a score set by hand; NaN where it is as fitted."""
    return int((_added(np.where(np.isnan(drawn), 0.0, 1.0), sides)[1:, 1:] > 0).sum())


def _drawn(term: PairTerm, sides: list[SurfaceAxis]) -> Floats:
    """Return each refit's scores by the bins of the axes, missing first, (K, 1 + K_1, 1 + K_2)."""
    return np.stack([_merged(term.refit(k), term.counts, sides) for k in range(len(term.surfaces))])


def _axis(bins: Bins, term: Term, counts: Floats, n_rows: float) -> SurfaceAxis:
    """Return the reading bins of one feature as an axis; levels in order of their main effects, merged where there are
    many."""
    if not bins.feature.is_category:
        return axis_of(bins, reading_bins(bins, counts, n_rows))
    codes = np.arange(1, bins.n_values + 1)
    line = codes[np.argsort(term.scores[codes], kind="stable")]
    return axis_of(bins, merge_bins(counts, line, MOST_BINS, 0.0)[: bins.size], line)


def axis_of(bins: Bins, merge: Codes, line: Ints | None = None) -> SurfaceAxis:
    """Return some bins of one feature as an axis. merge : see `SurfaceAxis`. line : the codes of levels in the order in
    which a bin names them; None for that of the codes."""
    feature, last = bins.feature, int(merge.max(initial=0))
    if feature.is_category:
        codes = np.arange(1, bins.n_values + 1) if line is None else line
        named = bins.members
        members = tuple(
            tuple(level for code in codes if merge[code] == k + 1 for level in named[code - 1]) for k in range(last)
        )
        labels = tuple(map(several_levels, members))
        return SurfaceAxis(feature.name, feature.kind, np.empty(0), labels, merge=merge, members=members)
    ends = np.flatnonzero(np.diff(merge[1:-1]))  # the last code of each bin but the last
    edges = np.concatenate([[bins.low], bins.cuts[ends], [bins.high]]) if last else np.empty(0)
    between = bins.beside[:, ends] if bins.beside.size else bins.beside
    return SurfaceAxis(feature.name, feature.kind, edges, (), merge, between=between)


def several_levels(names: Sequence[str]) -> str:
    """Return the label of a bin of one level or of several."""
    return names[0] if len(names) == 1 else f"{set_apart(names[0])}, … ({len(names)} levels)"


def _alone(term: Term, axis: SurfaceAxis) -> Floats:
    """Return the mean score of a feature over the training rows of each bin of an axis."""
    rows = np.bincount(axis.merge, term.counts, axis.size + 1)[1:]
    sums = np.bincount(axis.merge, term.counts * term.scores, axis.size + 1)[1:]
    return np.asarray(sums / np.where(rows > 0, rows, 1.0))


def _added(values: Floats, sides: list[SurfaceAxis]) -> Floats:
    """Return the sums of a table over merged codes, leaving out the unseen code."""
    first, second = (np.eye(int(side.merge.max(initial=0)) + 1)[side.merge[:-1]] for side in sides)
    return np.asarray(first.T @ values[:-1, :-1] @ second)


def _merged(scores: Floats, counts: Floats, sides: list[SurfaceAxis]) -> Floats:
    """Return the mean score of each merged cell over its rows; over its bins where it has no rows."""
    rows, cells = _added(counts, sides), _added(np.ones_like(counts), sides)
    with_rows = _added(scores * counts, sides) / np.where(rows > 0, rows, 1.0)
    return np.where(rows > 0, with_rows, _added(scores, sides) / cells)
