"""Counterfactuals: the most usual changes of up to three features that take a row's score across a line.

A change goes only to bins with enough training rows, those of their neighbours included, and to such cells of the pairs
and triples that it touches; it only counts where the band of the new score lies wholly beyond the line. It is as
unusual as the share of training rows that it passes. Unless it is asked for (`Possible`), no step leads from or to a
sentinel, undoes the past, is no clear gain by itself, or goes against the direction in which the feature's whole curve
clearly leads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.pauses import pause
from gamcore.common.types import Bools, Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.column_names import NO_NAMES, ColumnNames
from gamcore.data.cuts import values_in_words
from gamcore.data.labels import levels_in_words
from gamcore.data.past import of_the_past
from gamcore.explain import support
from gamcore.explain.cell_support import supported
from gamcore.explain.curves import Curve, explain_shape
from gamcore.model.additive import AdditiveModel, PairTerm
from gamcore.stats.bands import FEWEST_QUICK, USUAL_SHARE, deviation, half_scale, pointwise, quick_scale

MOST_FEATURES: Final = 3
MOST_TOGETHER: Final = 12
"""Features that are combined with each other: those that can move the score furthest."""

MOST_STEPS: Final = 10
"""Changes of a feature that are combined with those of others, from the most usual to the strongest."""

MOST_TRIED: Final = 400
"""Combinations of a number of features that are checked exactly, the most usual first."""


@dataclass(frozen=True)
class Step:
    """A change of one feature.

    bins, code : those of the feature, and the new one. passed : share of training rows with values between the old and
    the new one; for a level, with any other level than the new one.
    """

    feature: str
    bins: Bins
    code: int
    passed: float
    names: ColumnNames = NO_NAMES

    @property
    def words(self) -> str:
        """The new value in words."""
        return _words(self.bins, self.code, self.names)


@dataclass(frozen=True)
class Change:
    """Changes of one to three features. score : the row's score then; low, high : its band, NaN without refits."""

    steps: tuple[Step, ...]
    score: float
    low: float
    high: float

    @property
    def passed(self) -> float:
        """How unusual it is: the shares of training rows that its steps pass, summed."""
        return sum(step.passed for step in self.steps)

    @property
    def words(self) -> str:
        """The change in words."""
        return " and ".join(f"{step.feature} {step.words}" for step in self.steps)


@dataclass(frozen=True)
class Possible:
    """What may change.

    fixed : columns that may not. limits : by column, the lowest and highest value that a number (days for a date) may
    take; None where there is no limit. past : whether dates, years, and columns whose names speak of the past may
    change (`data.past`). sentinels : whether values that stand for no amount count as any others (`data.sentinels`).
    any_way : whether a step may also be unclear by itself, go against the direction of its feature's curve, or lead to
    levels that have rows enough only together.
    """

    fixed: Collection[str] = ()
    limits: Mapping[str, tuple[float | None, float | None]] | None = None
    past: bool = False
    sentinels: bool = False
    any_way: bool = False

    def is_free(self, bins: Bins, code: int) -> bool:
        """Return whether a feature of a row may change, given its code."""
        over = not self.past and of_the_past(bins)
        return bins.feature.column not in self.fixed and not over and (self.sentinels or not bins.of_sentinels[code])

    def codes(self, bins: Bins) -> NDArray[np.bool_]:
        """Return which codes (size,) of a feature a row may change to: never missing, never unseen."""
        allowed = np.ones(bins.size, bool)
        allowed[[0, -1]] = False
        if not self.sentinels:
            allowed &= ~bins.of_sentinels
        if bins.pooled and not self.any_way:  # rows enough only together: nobody changes to "one of them"
            allowed[len(bins.levels) + 1] = False
        low, high = (self.limits or {}).get(bins.feature.column, (None, None))
        if not bins.feature.is_category:
            allowed[1:-1] &= (bins.display >= (-np.inf if low is None else low)) & (
                bins.display <= (np.inf if high is None else high)
            )
        return allowed


USUAL: Final = Possible()


@dataclass(frozen=True)
class _Options:
    """The changes of one feature that move the score towards the line: codes by rising `passed` and rising `gain`."""

    place: int
    codes: NDArray[np.intp]
    gain: Floats
    passed: Floats

    @cached_property
    def most(self) -> float:
        """The largest gain."""
        return float(self.gain[-1])

    @cached_property
    def least(self) -> float:
        """The fewest rows passed."""
        return float(self.passed[0])


def scores_by_code(model: AdditiveModel, codes: Codes, place: int) -> Floats:
    """Return the score (size,) of a row (p,) for each code of one feature, all else unchanged."""
    own, rows = int(codes[place]), _changed(codes, place, np.arange(model.bins[place].size))
    score = np.full(model.bins[place].size, float(model.score(codes[:, None])[0]))
    for term in model.all_terms:
        if place in term.features:
            line = term.at(rows)
            score += line - line[own]
    return score


def _changed(codes: Codes, place: int, news: Ints) -> Codes:
    """Return a row (p,) with each of some codes of one feature, (p, m)."""
    rows = np.repeat(codes[:, None], news.size, axis=1)
    rows[place] = news
    return rows


def score_band(model: AdditiveModel, codes: Codes, train_share: float = USUAL_SHARE) -> tuple[Floats, Floats]:
    """Return the ends of the 95% band of the scores (n,) of rows (p, n), from half-sample refits where there are any;
    NaN where there are too few refits."""
    score = model.score(codes)
    spread, scale = _spread(model, train_share)
    if not scale:
        return np.full(score.size, np.nan), np.full(score.size, np.nan)
    refits = np.repeat(spread.refit_intercepts[:, None], score.size, axis=1)
    for term in spread.all_terms:
        refits = refits + term.each_at(codes)
    reach = scale * deviation(refits)
    return score - reach, score + reach


def _spread(model: AdditiveModel, train_share: float) -> tuple[AdditiveModel, float]:
    """Return the refits that bands come from, and half of a band's width in their standard deviations; 0 where there
    are too few."""
    spread = model.halves if model.halves is not None else model
    scale = half_scale(train_share, model.clarity) if model.halves is not None else quick_scale(train_share)
    return spread, pointwise(spread.n_refits) * scale if spread.n_refits >= FEWEST_QUICK else 0.0


def _is_clear(model: AdditiveModel, codes: Codes, place: int, news: Ints, gain: Floats, train_share: float) -> Bools:
    """Return for which new codes (m,) of one feature the band of a row's gain (m,) excludes 0; all where there is no
    band."""
    spread, scale = _spread(model, train_share)
    if not scale or not news.size:
        return np.ones(news.size, bool)
    rows = _changed(codes, place, np.append(news, int(codes[place])))
    refits = np.zeros((spread.n_refits, rows.shape[1]))
    for term in spread.all_terms:
        if place in term.features:
            refits = refits + term.each_at(rows)
    return np.abs(gain) > scale * deviation(refits[:, :-1] - refits[:, -1:])


def direction(curve: Curve, usable: Bools) -> int:
    """Return 1 where a curve clearly rises between some of its `usable` bins (K,) and nowhere clearly falls, -1 where
    it only falls, and 0 where neither or both is clear. A move is clear where the band at one end is wholly beyond that
    at the other."""
    if curve.labels or not curve.has_band:
        return 0
    low, high = curve.whole if curve.has_whole else (curve.lower, curve.upper)
    low, high = low[usable], high[usable]
    if low.size < 2:
        return 0
    rises = bool((low[1:] > np.minimum.accumulate(high)[:-1]).any())
    falls = bool((high[1:] < np.maximum.accumulate(low)[:-1]).any())
    return int(rises) - int(falls)


def among_rows(bins: Bins, counts: Floats) -> Bools:
    """Return the codes (size,) of a feature whose bins have training rows, and enough of them: by themselves, or with
    their neighbours. Levels have none. counts : (size,) training rows by code."""
    if bins.feature.is_category:
        return np.asarray(counts >= support.FEW_ROWS)
    near = np.zeros(counts.size, bool)
    near[1:-1] = ~support.thin(support.evidence(counts[1:-1]))
    return np.asarray(near & (counts > 0))


def _directions(model: AdditiveModel, train_share: float) -> tuple[int, ...]:
    """Return the direction of the score along each feature: that which the model promises, or its curve shows."""
    signs = list(model.signs or [0] * len(model.bins))
    for place, (bins, term) in enumerate(zip(model.bins, model.terms, strict=True)):
        usable = (among_rows(bins, term.counts) & ~bins.of_sentinels)[1:-1]
        signs[place] = signs[place] or direction(explain_shape(model, place, train_share), usable)
    return tuple(signs)


@dataclass(frozen=True)
class Ways:
    """What may change in the rows of a model, found once for all of them. directions : of each feature, where steps may
    only go with it; 0 where they may go either way. supported : of each pair, then triple, the cells with enough
    rows."""

    model: AdditiveModel
    possible: Possible
    train_share: float
    directions: tuple[int, ...]
    supported: tuple[Bools, ...]

    def codes(self, codes: Codes, place: int, gain: Floats, side: float) -> Ints:
        """Return to which codes of one feature a row (p,) may change.

        gain : (size,) of the score by each code, towards the side of the line: 1 above it, -1 below it.
        """
        bins, counts, own = self.model.bins[place], self.model.terms[place].counts, int(codes[place])
        allowed = self.possible.codes(bins) & among_rows(bins, counts) & (gain > 0)
        allowed[own] = False
        way = int(side) * self.directions[place]
        if way and 0 < own < bins.size - 1:
            allowed &= way * (np.arange(bins.size) - own) > 0
        news = np.flatnonzero(allowed)
        if self.possible.any_way:
            return news
        return news[_is_clear(self.model, codes, place, news, gain=gain[news], train_share=self.train_share)]

    def among_rows(self, rows: Codes, codes: Codes) -> Bools:
        """Return which changed rows (p, n) lie, in all pairs and triples where they differ from the row (p,), in cells
        with enough rows."""
        fine = np.ones(rows.shape[1], bool)
        for term, cells in zip(self.model.interactions, self.supported, strict=True):
            own = [rows[j] for j in term.features]
            same = np.all([line == codes[j] for line, j in zip(own, term.features, strict=True)], axis=0)
            fine &= same | cells[tuple(own) if isinstance(term, PairTerm) else term.cells(rows)]
        return fine


def ways(model: AdditiveModel, possible: Possible = USUAL, train_share: float = USUAL_SHARE) -> Ways:
    """Return what may change in the rows of a model."""
    free = (0,) * len(model.bins)
    directions = free if possible.any_way else _directions(model, train_share)
    cells = *(supported(model, pair) for pair in model.pairs), *(t.counts >= support.FEW_ROWS for t in model.triples)
    return Ways(model, possible, train_share, directions, cells)


def smallest_changes(codes: Codes, line: float, ways: Ways) -> list[Change]:
    """Return the changes that take the score of a row (p,) across `line`, the most usual first: the best of each
    feature alone, and the best of two and of three features where those pass fewer rows.

    Features made from one date column do not change alone, so they are left out.
    """
    model = ways.model
    now = float(model.score(codes[:, None])[0])
    side = -1.0 if now >= line else 1.0
    columns = [bins.feature.column for bins in model.bins]
    free = [j for j, bins in enumerate(model.bins)
            if columns.count(columns[j]) == 1 and ways.possible.is_free(bins, int(codes[j]))]  # fmt: skip
    options = [option for j in free if (option := _options(ways, codes, j, (now, side))) is not None]
    search = _Search(ways, codes, line, side)
    changes = [change for option in options for change in search.first([option])]
    best = min((change.passed for change in changes), default=np.inf)
    strongest = sorted(options, key=lambda option: -option.gain.max())[:MOST_TOGETHER]
    for n in range(2, MOST_FEATURES + 1):
        for change in search.first(strongest, n, best):
            changes.append(change)
            best = change.passed
    return sorted(changes, key=lambda change: change.passed)


def _options(ways: Ways, codes: Codes, place: int, start: tuple[float, float]) -> _Options | None:
    """Return a feature's changes towards the line, of which none is both less usual and weaker than another.

    start : the score of the row, and 1 where the line is above it, -1 where it is below.
    """
    now, side = start
    bins, counts = ways.model.bins[place], ways.model.terms[place].counts
    gain = side * (scores_by_code(ways.model, codes, place) - now)
    passed = _passed(bins, counts, int(codes[place]))
    order = ways.codes(codes, place, gain, side)
    order = order[np.lexsort((-gain[order], passed[order]))]
    before = np.concatenate([[0.0], np.maximum.accumulate(gain[order])[:-1]]) if order.size else np.empty(0)
    kept = order[gain[order] > before]
    return _Options(place, kept, gain[kept], passed[kept]) if kept.size else None


@dataclass(frozen=True)
class _Search:
    """A search for changes of one row (p,) that cross a line. side : 1 to go up, -1 to go down."""

    ways: Ways
    codes: Codes
    line: float
    side: float

    @property
    def model(self) -> AdditiveModel:
        """The model whose score is to cross the line."""
        return self.ways.model

    def first(self, options: list[_Options], n: int = 1, below: float = np.inf) -> list[Change]:
        """Return the most usual change of n features that crosses the line and passes fewer rows than `below`, or
        nothing."""
        pause()
        needed = self.side * (self.line - float(self.model.score(self.codes[:, None])[0]))
        tried = sorted(self._combined(options, n, needed, below), key=lambda combination: combination[0])[:MOST_TRIED]
        if not tried:
            return []
        rows = np.repeat(self.codes[:, None], len(tried), axis=1)
        for k, (_, chosen) in enumerate(tried):
            for place, code in chosen:
                rows[place, k] = code
        scores, (low, high) = self.model.score(rows), score_band(self.model, rows, self.ways.train_share)
        end = np.where(np.isnan(low), scores, low if self.side > 0 else high)
        crossed = np.flatnonzero((self.side * (end - self.line) > 0) & self.ways.among_rows(rows, self.codes))
        if not crossed.size:
            return []
        k = int(crossed[0])
        steps = tuple(self._step(place, code) for place, code in tried[k][1])
        return [Change(steps, float(scores[k]), float(low[k]), float(high[k]))]

    def _combined(
        self, options: list[_Options], n: int, needed: float, below: float
    ) -> Iterator[tuple[float, list[tuple[int, int]]]]:
        """Yield the changes of n features whose gains add up to what is needed: the rows passed, and the new codes.

        Where features interact, gains do not add up exactly: what is yielded is checked afterwards.
        """
        for thin in combinations([_thinned(option) for option in options] if n > 1 else options, n):
            if sum(option.most for option in thin) <= needed or sum(option.least for option in thin) >= below:
                continue
            gain = thin[0].gain
            passed = thin[0].passed
            for option in thin[1:]:
                gain = np.add.outer(gain, option.gain)
                passed = np.add.outer(passed, option.passed)
            fits = np.argwhere((gain > needed) & (passed < below))
            cost = passed[tuple(fits.T)]
            for k in np.argsort(cost, kind="stable")[: MOST_STEPS if n > 1 else None]:
                chosen = [(option.place, int(option.codes[at])) for option, at in zip(thin, fits[k], strict=True)]
                yield float(cost[k]), chosen

    def _step(self, place: int, code: int) -> Step:
        bins, term = self.model.bins[place], self.model.terms[place]
        old = int(self.codes[place])
        passed = float(_passed(bins, term.counts, old)[code])
        return Step(bins.feature.name, bins, code, passed)


def _thinned(options: _Options) -> _Options:
    """Return some of many changes of a feature, from the most usual to the strongest."""
    if options.codes.size <= MOST_STEPS:
        return options
    kept = np.unique(np.round(np.linspace(0, options.codes.size - 1, MOST_STEPS)).astype(np.intp))
    return _Options(options.place, options.codes[kept], options.gain[kept], options.passed[kept])


def _passed(bins: Bins, counts: Floats, code: int) -> Floats:
    """Return the distance (size,) to each code, as a share of the training rows with a value."""
    inside = counts.copy()
    inside[0] = inside[-1] = 0.0
    total = max(float(inside.sum()), 1e-300)
    if bins.feature.is_category:
        return np.asarray(1.0 - inside / total)
    middle = (np.cumsum(inside) - inside / 2) / total
    return np.abs(middle - (middle[code] if 0 < code < counts.size - 1 else 0.5))


def _words(bins: Bins, new: int, names: ColumnNames) -> str:
    """Return in words the values of a code."""
    if bins.feature.is_category:
        if new > len(bins.levels):
            return "is one of the rare levels"
        return f"is {levels_in_words([names.levels.get(level, level) for level in bins.members[new - 1]], 'or')}"
    return values_in_words(bins, new - 1, names.measure)
