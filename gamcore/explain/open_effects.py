"""Effects that rows show, though the band of no curve does.

**Of a feature alone.** A curve of many bins has a band that must hold in all of them at once, and refits on halves of
few rows each learn little, or nothing. Whether there is an effect at all is a smaller question, and a test of the rows
answers it: do residuals without the feature go with its values, in a straight line, or by any of a few directions? The
curves of all other features are allowed for. Chance answers yes as rarely as it gives a curve a direction
(`readings.CHANCE`).

**Of several features that say nearly the same**, so that no row tells whose it is. This is the concurvity of a
generalized additive model (Buja, Hastie and Tibshirani, Annals of Statistics 1989), where it hides an effect. A feature
may be a copy of another, a number that was also cut into classes, or what a sum of others leaves. Its own curve is
what the refits happened to make of it, often nothing, though the features together have an effect. Three things are
asked:

1. Do other features, in a straight line and each by a curve, tell nearly all of this one, as a number or as what it
   says of the prediction? Shapes are taken from half of the rows, and judged on the others. (`NEARLY_THE_SAME`)
2. Do they have an effect together: do residuals without them go with their values, more than by chance? It is a score
   test of all their directions, with the errors of the rows or clusters as they are. (`CHANCE`)
3. Is what is left for the feature alone too little to say that its part is small? (`OPEN`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.special import fdtrc, logsumexp

from gamcore.boosting.rows.source import Encoded
from gamcore.common.types import Codes, Floats, Ints
from gamcore.data.binning import Bins
from gamcore.explain import readings
from gamcore.explain.claims import NEARLY_THE_SAME, told_by_others
from gamcore.explain.curves import explain_shape
from gamcore.explain.sentences import is_unclear
from gamcore.model.additive import AdditiveModel, OpenEffect
from gamcore.model.classes import ClassesModel
from gamcore.stats.bands import half_scale

OPEN: Final = 16.0
"""Squared size of a joint effect, in squared errors of a feature's part of it, below which the part is open: its 95%
interval is then wider than from none of the effect to half of it."""

CHANCE: Final = 0.05
"""Share of features without an effect together that may be said to have one."""

FEWEST_ROWS: Final = 120
MOST_ROWS: Final = 4_000
MOST_TESTED: Final = 20_000
"""Most rows that are looked at for what features share, and for the effect of one alone, which costs less."""

MOST_LEVELS: Final = 8
MOST_FEATURES: Final = 300
MOST_CANDIDATES: Final = 8
"""Others that are looked at by what they tell together in a straight line, and as many by what each tells alone."""

UNTOLD: Final = 0.5
"""Share of another column that a group does not tell, from which on it is no part of what the group may have."""

AS_GOOD: Final = 1.5
"""Factor by which what others leave open may grow for naming one fewer."""

ROUNDING: Final = 0.005
"""What others leave of a feature that they tell whole: bins are coarser than values."""

MANY_FEATURES: Final = 40
"""Beyond, fewer rows are looked at."""

RIDGE: Final = 1e-6
ALIKE: Final = 1e-9
TINY: Final = 1e-12


def with_open_effects(
    model: AdditiveModel | ClassesModel, data: Encoded, train_share: float
) -> AdditiveModel | ClassesModel:
    """Return a model whose half-sample refits know which features have an effect, of those whose curves show no clear
    one; those of each class know it of theirs.

    data : the rows of the refits. train_share : of each half, what its refit trained on.
    """
    codes, offset = data.binned.codes, 0.0 if data.offset is None else data.offset
    if isinstance(model, ClassesModel):
        scores = model.score(codes) + np.reshape(offset, (-1, 1))
        each = []
        for place, class_model in enumerate(model.models):
            rest = -logsumexp(np.delete(scores, place, axis=1), axis=1)
            each.append(_of_score(class_model, data, data.y == place, rest + offset, train_share))
        return replace(model, models=tuple(each))
    return _of_score(model, data, data.y, offset, train_share)


def _of_score(
    model: AdditiveModel, data: Encoded, y: Floats, offset: Floats | float, train_share: float
) -> AdditiveModel:
    p, n = data.binned.codes.shape
    if model.halves is None or p > MOST_FEATURES or n < FEWEST_ROWS:
        return model
    scale = half_scale(train_share, model.clarity)
    y, offset = y.astype(np.float64), np.broadcast_to(offset, n)
    some = _Rows.of(model, data, y, offset, scale)
    more = some if n <= MOST_ROWS else _Rows.of(model, data, y, offset, scale, most=MOST_TESTED)
    effects = []
    for j in range(p):
        may_own = more.may_have_own(j)
        if may_own and not is_unclear(explain_shape(model, j, train_share)):
            continue
        effect = (more.own(j) if may_own else None) or (some.shared(j) if p > 1 else None)
        if effect and effect.others and more is not some and not more.say_the_same([j, *effect.others]):
            continue  # a few rows far out, of which the fewer rows had others
        if effect and (may_own or is_unclear(explain_shape(model, j, train_share))):
            effects.append(effect)
    return replace(model, halves=replace(model.halves, open_effects=tuple(effects)))


@dataclass(frozen=True)
class _Rows:
    """Some rows of a model in random order, of `n_rows`.

    values : (p, n) what can be read as a number, standardized; 0 for categories. effects : (p, n) of each feature.
    y, offset, weight, clusters : (n,).
    scale : see `stats.bands.half_scale`.
    """

    model: AdditiveModel
    codes: Codes
    values: Floats
    effects: Floats
    y: Floats
    offset: Floats
    weight: Floats
    clusters: Ints
    scale: float
    n_rows: int

    @classmethod
    def of(
        cls, model: AdditiveModel, data: Encoded, y: Floats, offset: Floats, scale: float, *, most: int = MOST_ROWS
    ) -> _Rows:
        p, n = data.binned.codes.shape
        most = max(most * MANY_FEATURES // max(p, MANY_FEATURES), FEWEST_ROWS)
        rows = np.random.default_rng(0).permutation(n)[:most]
        codes = data.binned.codes[:, rows]
        values = _standard(np.stack([_values(bins)[line] for bins, line in zip(model.bins, codes, strict=True)]))
        effects = np.stack([term.scores[line] for term, line in zip(model.terms, codes, strict=True)])
        weight = np.ones(rows.size) if data.weight is None else data.weight[rows]
        clusters = rows if data.clusters is None else data.clusters[rows]
        return cls(
            model, codes, values=values, effects=effects, y=y[rows], offset=offset[rows], weight=weight,
            clusters=np.unique(clusters, return_inverse=True)[1], scale=scale, n_rows=n,
        )  # fmt: skip

    @cached_property
    def _near(self) -> Floats:
        """How much features tell of each other (p, p), in a straight line of all."""
        return _partial(self.values)

    @property
    def _half(self) -> int:
        return int(self.codes.shape[1]) // 2

    def may_have_own(self, j: int) -> bool:
        """Return whether a feature may have an effect of its own: a quick look, which allows for nothing else."""
        if not np.ptp(self.effects[j]) > 0:
            return False
        chance, _ = self._test(_standard(self._along(j)), self._residual([j]), 0)
        return chance <= CHANCE

    def own(self, j: int) -> OpenEffect | None:
        """Return the effect of a feature beside all others; None if it may be chance."""
        lines = self._along(j)
        known, residual = self._beside_others([j], lines)
        first, every = (_beside(known, _standard(own)) for own in (lines[:1], lines))
        has_way = self._is_number(j) and self._test(first, residual, len(known))[0] <= readings.CHANCE / 2
        if not has_way and self._test(every, residual, len(known))[0] > readings.CHANCE / 2:
            return None
        up = -float(first[0] @ residual)
        agrees = up * float(_standard(lines[:1])[0] @ self.effects[j]) > 0
        return OpenEffect(j, way=int(np.sign(up)) if has_way and agrees else 0)

    def _along(self, j: int) -> Floats:
        """Return the directions (q, n) of a feature's own effect: ranks, which no far value rules, and their bend; or
        levels."""
        if not self._is_number(j):
            return self._directions(j)
        codes, size = self.codes[j], self.model.bins[j].size
        rows = np.bincount(codes, minlength=size)[1:-1]
        middle = np.concatenate([[0.5], (np.cumsum(rows) - rows / 2) / max(rows.sum(), 1), [0.5]])
        ranks = middle[codes] - 0.5
        return np.stack([ranks, ranks**2])

    def _is_number(self, j: int) -> bool:
        return bool(self.values[j].any())

    def shared(self, j: int) -> OpenEffect | None:
        """Return with which others a feature shares an effect; None if it does not."""
        shapes = [self.values[j]] if self.values[j].any() else []
        shapes.append(self._told_by(j, self.effects.sum(axis=0)))
        candidates = [candidate for shape in shapes if (candidate := self._of_shape(j, shape))]
        return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None

    def _of_shape(self, j: int, shape: Floats) -> tuple[float, OpenEffect] | None:
        """Return what is left to the feature of a joint effect along a shape (n,) of it, and the group."""
        judged = slice(self._half, None)
        curves = {i: self._told_by(i, shape) for i in range(len(self.codes)) if i != j}
        alone = np.zeros(len(self.codes))
        for i, curve in curves.items():
            alone[i] = _correlation(curve[judged], shape[judged])
        ranked = [np.argsort(-correlations, kind="stable")[:MOST_CANDIDATES] for correlations in (self._near[j], alone)]
        chosen = sorted({int(i) for ranking in ranked for i in ranking} - {j})
        fit = _Fit.of(shape[judged], {i: np.stack([self.values[i], curves[i]])[:, judged] for i in chosen})
        others, left = self._fewest(fit)
        if left > 1 - NEARLY_THE_SAME:
            return None
        group = [j, *others]
        if not np.ptp(self.effects[group].sum(axis=0)) > 0:  # the model makes nothing of them
            return None
        evidence = self._together(group)
        known = min(evidence * left, self._as_refits_agree(j, shape, group))
        if not evidence or known >= OPEN:
            return None
        return (known, OpenEffect(j, tuple(others), determined=1 - left)) if self.say_the_same(group) else None

    def say_the_same(self, group: list[int]) -> bool:
        """Return whether the other features of a group tell nearly all of its first."""
        effects = self.effects[group].sum(axis=0)
        return told_by_others([self._cells(i) for i in group], effects) > NEARLY_THE_SAME

    def _cells(self, i: int) -> Any:
        """Return a feature's cells (n,) as a claim is checked by them: numbers, NaN where missing, or names of levels.
        Columns that share no more than the rows where they are missing do not say nearly the same."""
        numbers = np.where(self.codes[i] == 0, np.nan, self.values[i])
        return numbers if self.values[i].any() else self.codes[i].astype(str)

    def _as_refits_agree(self, j: int, shape: Floats, group: list[int]) -> float:
        """Return the squared size of a joint effect along a shape (n,) of a feature, in squared errors of the feature's
        part of it over half-sample refits."""
        assert self.model.halves is not None
        along = _standard(shape[None])[0] / shape.size
        parts = self.model.halves.terms[j].refits[:, self.codes[j]] @ along
        error = self.scale**2 * float(np.var(parts, ddof=1))
        size = float(self.effects[group].sum(axis=0) @ along) ** 2
        return size / error if error > 0 else np.inf

    def _told_by(self, i: int, shape: Floats) -> Floats:
        """Return the mean (n,) of a shape at each value of feature i: over the first half of the rows, between whose
        numbers a line is drawn."""
        first, size = self.codes[i, : self._half], self.model.bins[i].size
        rows, sums = np.bincount(first, minlength=size), np.bincount(first, shape[: self._half], size)
        means = np.divide(sums, rows, out=np.full(size, shape[: self._half].mean()), where=rows > 0)
        known = np.flatnonzero(rows[1:-1]) + 1
        if known.size and not self.model.bins[i].feature.is_category:
            means[1:-1] = np.interp(np.arange(1, size - 1), known, means[known])
        return np.asarray(means[self.codes[i]])

    def _fewest(self, fit: _Fit) -> tuple[list[int], float]:
        """Return the fewest others that tell about as much as all, strongest first, and what they leave open. Of equals
        those with the stronger effects stay."""
        size = self.effects.std(axis=1)
        others = sorted(fit.places, key=lambda i: -size[i])
        most = max(AS_GOOD * fit.left(others), ROUNDING)
        for i in others[::-1]:
            fewer = [other for other in others if other != i]
            if fewer and fit.left(fewer) <= most:
                others = fewer
        return others, fit.left(others)

    def _together(self, group: list[int]) -> float:
        """Return the squared effect of a group in squared errors, for all rows; 0 where it may be chance."""
        directions = [self._directions(i) for i in group]
        every = np.concatenate(directions)
        first = np.concatenate(
            [lines[: 1 if self._is_number(i) else None] for i, lines in zip(group, directions, strict=True)]
        )
        known, residual = self._beside_others(group, every)
        tests = [self._test(_beside(known, _standard(own)), residual, len(known)) for own in (first, every)]
        if len(tests) * min(chance for chance, _ in tests) > CHANCE:
            return 0.0
        return max(evidence for _, evidence in tests) * self.n_rows / self.y.size

    def _beside_others(self, group: list[int], lines: Floats) -> tuple[Floats, Floats]:
        """Return what is known from features outside a group (k, n), but what directions (q, n) of the group tell; and
        the residual (n,) without the group and what is known."""
        rest = [i for i in range(len(self.codes)) if i not in group]
        known = _standard(np.concatenate([self.values[rest], self.effects[rest]]))
        known = known[np.square(_beside(_standard(lines), known)).mean(axis=1) > UNTOLD]
        return known, _beside(known, self._residual(group)[None])[0]

    def _residual(self, group: list[int]) -> Floats:
        """Return the gradient (n,) of the rows' loss without the curves of a group, centred."""
        score = self.offset + self.model.intercept + np.delete(self.effects, group, axis=0).sum(axis=0)
        for term in self.model.interactions:
            score += term.at(self.codes)
        residual = self.weight * self.model.loss.gradient(self.y, score)
        return np.asarray(residual - residual.mean())

    def _test(self, own: Floats, residual: Floats, n_known: int) -> tuple[float, float]:
        """Return the chance that residuals (n,) go along with directions (q, n) as they do, and the squared size of
        that in squared errors, less what is expected by chance."""
        size, turn = np.linalg.eigh(own @ own.T)
        kept = size > ROUNDING * size.max(initial=TINY)  # what others tell whole is no direction
        if not kept.any():
            return 1.0, 0.0
        own = turn[:, kept].T @ own / np.sqrt(size[kept])[:, None]  # of length 1, and at right angles
        slopes = own @ residual
        moves = np.stack([np.bincount(self.clusters, line * (residual - slopes @ own)) for line in own])
        n, q = moves.shape[1], len(own)
        free = max(n - q - n_known - 1, 1)
        size_in_errors = float(slopes @ np.linalg.lstsq(moves @ moves.T * n / free, slopes, rcond=ALIKE)[0])
        return float(fdtrc(q, free, size_in_errors / q)), max(size_in_errors - q, 0.0)

    def _directions(self, i: int) -> Floats:
        """Return the directions (q, n) that an effect of a feature may have: a line and a bend, or levels."""
        if self.values[i].any():
            return np.stack([self.values[i], self.values[i] ** 2])
        rows = np.bincount(self.codes[i])
        return np.stack([self.codes[i] == k for k in np.argsort(-rows, kind="stable")[:MOST_LEVELS]])


def _beside(known: Floats, lines: Floats) -> Floats:
    """Return what known lines (k, n) do not tell of others (q, n)."""
    if not len(known):
        return lines
    return np.asarray(lines - np.linalg.lstsq(known @ known.T, known @ lines.T, rcond=ALIKE)[0].T @ known)


@dataclass(frozen=True)
class _Fit:
    """A least-squares fit of a shape by what others say. places : of each other, where its columns are among all.
    gram : products (q + 1, q + 1) of the columns and, last, of the shape. n : rows."""

    places: dict[int, Ints]
    gram: Floats
    n: int

    @classmethod
    def of(cls, shape: Floats, columns: dict[int, Floats]) -> _Fit:
        ends = np.cumsum([0, *(len(column) for column in columns.values())])
        places = {i: np.arange(a, b) for i, a, b in zip(columns, ends[:-1], ends[1:], strict=True)}
        lines = _standard(np.concatenate([*columns.values(), shape[None]]))
        return cls(places, lines @ lines.T / shape.size, shape.size)

    def left(self, others: list[int]) -> float:
        """Return the share of the shape that others do not tell, less what bins and chance leave; 1 of a flat one."""
        at = np.concatenate([self.places[i] for i in others])
        along = self.gram[at, -1]
        slopes = np.linalg.lstsq(self.gram[np.ix_(at, at)], along, rcond=ALIKE)[0]
        left = max(float(self.gram[-1, -1] - along @ slopes), 0.0) if self.gram[-1, -1] > 0 else 1.0
        return max(left * (self.n - 1) / max(self.n - 1 - at.size, 1) - ROUNDING, 0.0)


def _standard(lines: Any) -> Floats:
    """Return lines (q, n) with a mean of 0 and a mean square of 1; 0 where they are flat, but for rounding."""
    lines = np.asarray(lines, np.float64)
    least = TINY * np.abs(lines).max(axis=1, keepdims=True, initial=0.0)
    lines = lines - lines.mean(axis=1, keepdims=True)
    size = lines.std(axis=1, keepdims=True)
    scaled: Floats = np.divide(lines, size, out=np.zeros_like(lines), where=size > least)
    return scaled


def _values(bins: Bins) -> Floats:
    """Return what each code (size,) is as a number: the mean for one that is none; 0 for those of categories."""
    if bins.feature.is_category or not bins.n_values:
        return np.zeros(bins.size)
    middle = bins.display.mean()
    return np.concatenate([[middle], bins.display, [middle]])


def _partial(values: Floats) -> Floats:
    """Return the sizes of the correlations (p, p) of features given all others; those that determine each other tell
    almost all."""
    together = values @ values.T / values.shape[1]
    inverse = np.linalg.inv(together + RIDGE * np.eye(len(values)))
    size = np.sqrt(np.diag(inverse))
    known = values.any(axis=1)
    return np.asarray(np.abs(inverse / np.outer(size, size)) * np.outer(known, known))


def _correlation(first: Floats, second: Floats) -> float:
    a, b = _standard(np.stack([first, second]))
    return abs(float(a @ b)) / first.size
