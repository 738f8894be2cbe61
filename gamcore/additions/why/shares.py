"""The arithmetic: how much of the difference of two groups' rates each term has, by who came and by what changed.

Rows of A and B; models F_A and F_B; g turns scores into predictions. Where the score of a row goes from s0 to s1, the
change of its prediction is shared among terms by their parts of s1 - s0: each part times the mean slope of g along the
straight path (the integrated gradient). This adds up for every link.

- behaviour of a term: the path from F_A to F_B, averaged over the rows of B and over those of A; the mean of both. The
  change of a term is counted from its mean over the rows of A. These means, and the change of the intercept, are the
  level: what changed for rows as those of A. (Counted from the mean over all rows, the sign of a term's behaviour would
  depend on which group has more rows, and it would be 0 where they have equally many and g is the identity.)
- composition of a term: the path from the average parts over all rows to a row's own, averaged over B less over A;
  under F_A and under F_B; the mean of both.
- residual: outcome less prediction by the group's own model, in B less in A.

All of these are means over rows, so their errors from sampling rows are too; those of the models come from half-sample
refits. What a model gets wrong at a value does not depend on how often the value is drawn, so the two are added. Curves
that err also let the rows spread more, and rows that were drawn by chance the curves: this product of both errors is in
either, and is taken off once. It is all that behaviour has where nobody came and nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from gamcore.additions.why.curves import Curves, Learned, Link
from gamcore.common.pauses import pause
from gamcore.common.types import Codes, Floats, Ints
from gamcore.stats.bands import LEVEL

AT_ONCE: Final = 4_000
"""Rows that are computed together."""

MOST_ROWS: Final = 10_000
"""Rows of each group over which the half-sample refits are compared: their spread needs no more."""


@dataclass(frozen=True)
class Rows:
    """The rows of one group.

    outcome : (n,), per unit of exposure. weight : (n,) weights times exposure. codes : (p, n) by the bins of either
    model. given : scores (n, K) beside the models', or None. clusters : (n,) or None, numbered over
    both groups together. size : rows, or their exposure.
    """

    outcome: Floats
    weight: Floats
    codes: tuple[Codes, Codes]
    given: Floats | None
    clusters: Ints | None
    size: float

    @property
    def share(self) -> Floats:
        """The weights (n,), which add up to 1."""
        return np.asarray(self.weight / self.weight.sum(), np.float64)

    def take(self, rows: Ints | slice) -> Rows:
        """Return some of the rows."""
        return replace(
            self, outcome=self.outcome[rows], weight=self.weight[rows],
            codes=(self.codes[0][:, rows], self.codes[1][:, rows]),
            given=None if self.given is None else self.given[rows],
            clusters=None if self.clusters is None else self.clusters[rows],
        )  # fmt: skip

    def some(self) -> Rows:
        """Return the rows, or a fixed draw of them where they are many."""
        n = self.weight.size
        return self if n <= MOST_ROWS else self.take(np.sort(np.random.default_rng(0).permutation(n)[:MOST_ROWS]))

    def blocks(self) -> Iterator[tuple[slice, Rows]]:
        """Yield the rows in blocks."""
        for start in range(0, self.weight.size, AT_ONCE):
            pause()
            block = slice(start, start + AT_ONCE)
            yield block, self.take(block)


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval, and the chance p of one as far from 0 by rows alone; NaN where not known."""

    value: float
    lower: float
    upper: float
    p: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.lower, self.upper


@dataclass(frozen=True)
class Shares:
    """The parts of a difference, which add up to it: the composition of T terms, their behaviour, level, residual.

    values : (2 T + 2,). refits : (R, 2 T + 2) the parts by half-sample refits; R is 0 where there are none. rows : (2 T
    + 2, 2 T + 2) the covariance of the parts from sampling rows; product : as much of it as errors of the curves make,
    which the spread of refits has, too. n_clusters : how many were drawn, rows or clusters.
    """

    values: Floats
    refits: Floats
    rows: Floats
    product: Floats
    n_clusters: int

    def variance(self, parts: Floats) -> float:
        """Return the variance of a sum of parts. parts : (2 T + 2,) how often each is in it."""
        of_rows, of_curves = self._variances(parts)
        of_both = max(float(parts @ self.product @ parts), 0.0)
        return of_rows + of_curves - min(of_both, of_rows, of_curves)

    def _variances(self, parts: Floats) -> tuple[float, float]:
        """Return the variance of a sum of parts by errors of the rows, and by those of the curves."""
        refits = self.refits @ parts
        of_curves = float(refits.var(ddof=1)) if refits.size > 1 else 0.0
        return max(float(parts @ self.rows @ parts), 0.0), of_curves

    def estimate(self, parts: Floats) -> Estimate:
        """Return a sum of parts with its interval. parts : (2 T + 2,) how often each is in it."""
        value, (of_rows, of_curves), total = float(parts @ self.values), self._variances(parts), self.variance(parts)
        if self.n_clusters < 2 or not np.isfinite(total):
            return Estimate(value, np.nan, np.nan, np.nan)
        if total <= np.square(np.abs(parts) @ np.abs(self.values) * 1e-12):  # no more than rounding
            return Estimate(value, value, value, 1.0 if abs(value) <= 1e-12 else 0.0)
        freedom = total**2 / (of_rows**2 / (self.n_clusters - 1) + of_curves**2 / max(len(self.refits) - 1, 1))
        error = float(np.sqrt(total))
        reach = error * float(stdtrit(freedom, 0.5 + LEVEL / 2))
        return Estimate(value, value - reach, value + reach, 2 * float(stdtr(freedom, -abs(value) / error)))


@dataclass(frozen=True)
class Centres:
    """What the parts of rows are counted from. means : (T, K) of the parts over the rows of both groups, under either
    model. change : (T, K) mean change of the parts over the rows of A. slopes : (K,) mean slopes of that change."""

    means: tuple[Floats, Floats]
    change: Floats
    slopes: Floats


@dataclass(frozen=True)
class Pair:
    """Two models on two groups of rows, A first; in `curves`, the terms of both are in one order."""

    groups: tuple[Rows, Rows]
    curves: tuple[Curves, Curves]
    link: Link

    @property
    def is_one_model(self) -> bool:
        return self.curves[0] is self.curves[1]

    def _parts(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the parts (n, T, K) of rows under either model."""
        first, second = self.curves
        parts = first.parts(rows.codes[0], rows.given)
        return parts, parts if self.is_one_model else second.parts(rows.codes[1], rows.given)

    def centres(self) -> Centres:
        """Return what the parts of rows are counted from."""
        totals = [float(group.weight.sum()) for group in self.groups]
        by_group: list[tuple[Floats, Floats]] = []
        slopes = np.zeros(self.curves[0].intercept.size)
        for group, total in zip(self.groups, totals, strict=True):
            sums: list[Floats] = []
            for _, rows in group.blocks():
                both = self._parts(rows)
                block = [np.tensordot(rows.weight, parts, 1) for parts in both]
                sums = [total + other for total, other in zip(sums, block, strict=True)] if sums else block
                if not self.is_one_model:
                    slopes += rows.weight @ self._slopes(both) / total / 2
            by_group.append((sums[0], sums[1]))
        means = tuple((by_group[0][k] + by_group[1][k]) / sum(totals) for k in (0, 1))
        return Centres((means[0], means[1]), (by_group[0][1] - by_group[0][0]) / totals[0], slopes)

    def _slopes(self, parts: tuple[Floats, Floats]) -> Floats:
        """Return the mean slopes (n, K) on the way from one model to the other."""
        scores = [curves.intercept + part.sum(axis=1) for curves, part in zip(self.curves, parts, strict=True)]
        return self.link.slopes(scores[0], scores[1])

    def of_rows(self, rows: Rows, centres: Centres, sign: int) -> Floats:
        """Return what each row says of the parts (n, 2 T + 2).

        Their weighted means over A (sign -1) and over B (sign 1) add up to the parts.
        """
        parts = self._parts(rows)
        bases = [curves.intercept + mean.sum(axis=0) for curves, mean in zip(self.curves, centres.means, strict=True)]
        centred = [part - mean for part, mean in zip(parts, centres.means, strict=True)]
        scores = [base + part.sum(axis=1) for base, part in zip(bases, centred, strict=True)]
        n, n_terms = parts[0].shape[:2]
        lines = np.zeros((n, 2 * n_terms + 2))
        for part, base, score in zip(centred, bases, scores, strict=True):
            slopes = self.link.slopes(np.broadcast_to(base, score.shape), score)
            lines[:, :n_terms] += sign * _along(slopes, part) / 2
        if not self.is_one_model:
            slopes, change = self._slopes(parts), parts[1] - parts[0] - centres.change
            intercepts = self.curves[1].intercept - self.curves[0].intercept
            lines[:, n_terms:-2] = _along(slopes, change) / 2
            lines[:, -2] = slopes @ (intercepts + centres.change.sum(axis=0)) / 2
            if sign < 0:  # the rows of A also say where the centre is: on average nothing, so only errors know it
                shift = _along(np.broadcast_to(centres.slopes, slopes.shape), change)
                lines[:, n_terms:-2] -= shift
                lines[:, -2] += shift.sum(axis=1)
        lines[:, -1] = sign * (rows.outcome - self.link.predict(scores[sign > 0]))
        return lines

    def seen_with(self, learned: tuple[Learned, Learned], order: list[str], k: int | None) -> Pair:
        """Return the rows as the k-th half-sample refits of both models see them; None for the mean of all refits."""
        first = learned[0].refit(k, order)
        return replace(self, curves=(first, first if self.is_one_model else learned[1].refit(k, order)))

    def some(self) -> Pair:
        """Return the two models on rows enough for the spread of refits."""
        return replace(self, groups=(self.groups[0].some(), self.groups[1].some()))


def _along(slopes: Floats, parts: Floats) -> Floats:
    """Return the parts (n, T, K) of a step, each times the slopes (n, K), as changes of the prediction (n, T)."""
    if parts.shape[2] == 1:
        return np.asarray(slopes * parts[:, :, 0])
    return np.asarray(np.einsum("nk,ntk->nt", slopes, parts))


def shares(pair: Pair, learned: tuple[Learned, Learned], order: list[str]) -> Shares:
    """Return the parts of the difference between two groups, with what their errors are made of."""
    values, covariance, of_left, n_clusters = _over_rows(pair)
    n_refits = min(model.n_halves for model in learned)
    few, refits, product = pair.some(), np.empty((n_refits, values.size)), np.zeros_like(covariance)
    if n_refits:
        for k in range(n_refits):
            refits[k], moving, *_ = _over_rows(few.seen_with(learned, order, k))
            product += moving / n_refits
        product -= _over_rows(few.seen_with(learned, order, None))[1]
        product *= min(
            some.weight.size / every.weight.size for some, every in zip(few.groups, pair.groups, strict=True)
        )
        if not pair.is_one_model and pair.link.loss.is_of_mean:
            refits, covariance = _with_level(pair, learned, refits, covariance + 0.0, of_left)
    return Shares(values, refits, covariance, product, n_clusters)


def _with_level(
    pair: Pair, learned: tuple[Learned, Learned], refits: Floats, covariance: Floats, of_left: Floats
) -> tuple[Floats, Floats]:
    """Return refits and covariance in which the level errs as the mean outcome of the rows that were learned from.

    Halves have the same share of each class, so their spread lacks that of the mean. A model's mean prediction is the
    mean outcome of its rows; what it misses is on average level, and is left over with the opposite sign. of_left :
    (2,) the variance of the mean residual of either group.
    """
    refits = refits.copy()
    refits[:, -2] += refits[:, -1] - refits[:, -1].mean()
    refits[:, -1] = refits[:, -1].mean()
    for group, model, variance in zip(pair.groups, learned, of_left, strict=True):
        counts = [term.counts.sum() for term in model.models[0].terms]
        n_learned = float(max(counts, default=0.0)) or group.weight.size
        covariance[-2:, -2:] += variance * group.weight.size / n_learned * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return refits, covariance


def _over_rows(pair: Pair) -> tuple[Floats, Floats, Floats, int]:
    """Return the parts (P,), their covariance (P, P) from sampling rows, the variance of the mean residual of either
    group (2,), and the number of rows or clusters."""
    centres = pair.centres()
    n_parts = 2 * len(centres.change) + 2
    if pair.groups[0].clusters is not None:
        return _over_clusters(pair, centres, n_parts)
    values, covariance, of_left = np.zeros(n_parts), np.zeros((n_parts, n_parts)), []
    for sign, group in zip((-1, 1), pair.groups, strict=True):
        share = group.share
        mean, square = np.zeros(n_parts), np.zeros((n_parts, n_parts))
        shift, doubled = np.zeros(n_parts), np.zeros(n_parts)  # squares about the first block's mean lose no digits
        for block, rows in group.blocks():
            lines, part = pair.of_rows(rows, centres, sign), share[block]
            if block.start == 0:
                shift = part @ lines / (part.sum() or 1.0)
            mean += part @ lines
            weighed = part[:, None] * (lines - shift)
            square += weighed.T @ weighed
            doubled += part @ weighed
        off, squares = mean - shift, float(np.square(share).sum())
        cross = np.outer(off, doubled)
        n = share.size
        values += mean
        mine = (square - cross - cross.T + squares * np.outer(off, off)) * (n / (n - 1) if n > 1 else np.nan)
        covariance += mine
        of_left.append(mine[-1, -1])
    return values, covariance, np.array(of_left), min(group.weight.size for group in pair.groups)


def _over_clusters(pair: Pair, centres: Centres, n_parts: int) -> tuple[Floats, Floats, Floats, int]:
    """As `_over_rows`, where rows were drawn by whole clusters; one that is in both groups was drawn once."""
    labels = [group.clusters for group in pair.groups if group.clusters is not None]
    n_clusters = 1 + max(int(label.max()) for label in labels)
    values, sums, of_left = np.zeros(n_parts), np.zeros((n_clusters, n_parts)), []
    for sign, group, clusters in zip((-1, 1), pair.groups, labels, strict=True):
        share, mean, before = group.share, np.zeros(n_parts), sums[:, -1].copy()
        for block, rows in group.blocks():
            lines, part = pair.of_rows(rows, centres, sign), share[block]
            mean += part @ lines
            np.add.at(sums, clusters[block], part[:, None] * lines)
        sums -= np.outer(np.bincount(clusters, share, n_clusters), mean)
        of_left.append(float(np.square(sums[:, -1] - before).sum()))
        values += mean
    n = min(np.unique(label).size for label in labels)
    return values, sums.T @ sums * (n / (n - 1) if n > 1 else np.nan), np.array(of_left), n
