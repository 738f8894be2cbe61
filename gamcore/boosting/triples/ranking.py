"""Curves, pairs and triples by what they would still take off the loss of a model: FAST (Lou et al. 2013) on coarse
grids, for one to three features, compared with chance.

The gradients of rows are summed over the cells of a grid, and what grids of fewer features have is taken out. The
energy that is left, the sum of G^2 / H, is compared with that under random signs of rows, or of whole clusters: these
leave no structure, but the same spread in every cell. A term is *clear* if it stands out more than the strongest of all
terms does under any of `FLIPS` draws of signs; so where there is nothing to find, anything is clear in at most one of
`FLIPS` + 1 tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.pairs.ranking import lines_in_order, merge_all
from gamcore.common.types import Bools, Codes, Floats, Ints
from gamcore.kernels.cubes import SIDE, GridRows, grid_scratch, purify_grid, purify_grids
from gamcore.model.classes import against_rest
from gamcore.model.loss import Loss

BINS: Final = SIDE - 1
"""Most bins of values on an axis."""

FEWEST_BINS: Final = 2
ROWS_A_CELL: Final = 5.0
"""Effective rows per cell of a triple that set the number of bins. With fewer, such as rare events in many cells, the
energies of what happened are more skewed than those under random signs."""

PARTS: Final = 6
"""The same on the axis of a triple whose feature has the fewest."""

FLIPS: Final = 19
TOLERANCE: Final = 0.01
"""What is left of grids of fewer features, in units of the energy of one cell by chance."""

ALL_TRIPLES: Final = 20
"""Features up to which all triples are looked at; of more, those with one of the `PAIRS_ON` strongest pairs."""

PAIRS_ON: Final = 30
MOST_FEATURES: Final = 50
"""Features that are looked at: of more, those whose curves are strongest."""

MOST_ROWS: Final = 100_000
"""Rows that rank: of more, a random part."""

LEAST_FREEDOM: Final = 0.1
"""Degrees of freedom below which a grid has nothing of its own, such as that of a feature with itself."""

SHORTLIST: Final = 100
"""Most triples that are ranked again after each that was taken."""

SEED: Final = 0

Features = tuple[int, ...]


@dataclass(frozen=True)
class Axes:
    """The coarse codes of features. merges : (2 p, V) of each code of each feature, by two numbers of bins.

    varying : the places of the features that have more than one coarse code, the strongest curves if there are many.
    """

    merges: NDArray[np.uint8]
    varying: Ints

    @classmethod
    def of(cls, counts: list[Floats], is_nominal: Bools, curves: Floats, rows: float) -> Axes:
        """Return the axes of features. counts : rows of each code. curves : (p, V) by which levels are ordered. rows :
        the effective rows (`Descent.rows`)."""
        most = min(max(round((rows / ROWS_A_CELL) ** (1 / 3)), FEWEST_BINS), BINS)
        last = np.array([count.size - 2 for count in counts])
        lines = lines_in_order(last, is_nominal, curves)
        merges = np.concatenate([merge_all(counts, lines, most, 0.0) for most in (most, min(most, PARTS))])
        sizes = np.array([np.unique(merges[j, : count.size][count > 0]).size for j, count in enumerate(counts)])
        strength = np.array([_spread(curves[j, : count.size], count) for j, count in enumerate(counts)])
        varying = np.flatnonzero(sizes > 1)
        order = varying[np.argsort(-strength[varying], kind="stable")]
        return cls(merges, np.sort(order[:MOST_FEATURES]))

    def coded(self, codes: Codes) -> NDArray[np.uint8]:
        """Return the coarse codes (2 p + 1, n) of codes (p, n); the last line is of one code."""
        p = len(codes)
        coded = np.zeros((2 * p + 1, codes.shape[1]), np.uint8)
        for j, merge in enumerate(self.merges):
            np.take(merge, codes[j % p], out=coded[j], mode="clip")
        return coded

    @cached_property
    def sizes(self) -> Ints:
        """Number of coarse codes of each line (2 p + 1,), the missing bin included."""
        return np.append(self.merges.max(axis=1).astype(np.int64) + 1, 1)

    def lines(self, term: Features) -> tuple[int, int, int]:
        """Return the lines of a term's axes: those of a triple are coarser on that with the fewest codes."""
        p = len(self.merges) // 2
        if len(term) < 3:
            return (*term, *[2 * p] * (3 - len(term)))  # type: ignore[return-value]
        few = min(reversed(term), key=lambda j: self.sizes[j])
        return tuple(j + p if j == few else j for j in term)  # type: ignore[return-value]


@dataclass(frozen=True)
class Descent:
    """What rows ask of their scores. gradient, weight : (K, n), of each score of a row the way downhill and the
    curvature, both times the row's weight. unit : of an energy in the mean loss."""

    gradient: Floats
    weight: Floats
    unit: float

    @classmethod
    def of(cls, loss: Loss, y: Floats, scores: Floats, weight: Floats) -> Descent:
        """Return it for targets (n,) and scores (n, K); several classes have one each, against the others."""
        several = scores.shape[1] > 1
        beside = against_rest(scores) if several else scores
        targets = [(y == k).astype(np.float64) if several else y for k in range(scores.shape[1])]
        gradient = np.stack([-loss.gradient(own, line) * weight for own, line in zip(targets, beside.T, strict=True)])
        curvature = np.stack([loss.curvature(own, line) * weight for own, line in zip(targets, beside.T, strict=True)])
        return cls(gradient, curvature, loss.newton_drop / float(weight.sum()))

    def take(self, rows: Ints) -> Descent:
        """Return that of some rows."""
        share = rows.size / self.weight.shape[1]
        return Descent(self.gradient[:, rows], self.weight[:, rows], self.unit / share)

    def after(self, steps: Floats) -> Descent:
        """Return what the rows ask once steps (n, K) are added to their scores, to first order."""
        return replace(self, gradient=self.gradient - self.weight * steps.T)

    @cached_property
    def spread(self) -> float:
        """Standard deviation of a gradient in units of the root of its curvature; 1 where none differs from 0."""
        heavy = float(self.weight.sum())
        return float(np.sqrt(np.square(self.gradient).sum() / heavy)) or 1.0 if heavy > 0 else 1.0

    @cached_property
    def rows(self) -> float:
        """How many rows of equal gradients have sums with as light tails: n / 3 of normal errors, and of rare events
        about their number."""
        squares = np.square(self.gradient)
        return float(squares.sum() ** 2 / np.square(squares).sum()) if squares.any() else 0.0

    def in_grids(self, codes: NDArray[np.uint8], sizes: Ints, signs: NDArray[np.float32]) -> list[GridRows]:
        """Return the rows, in coarse codes, with their gradients under signs (n, B): of each score."""
        lines = zip(self.gradient / self.spread, self.weight, strict=True)
        return [
            GridRows(codes, sizes, signs * line.astype(np.float32)[:, None], weight.astype(np.float32))
            for line, weight in lines
        ]


@dataclass(frozen=True)
class Ranked:
    """Terms by what each would take off the loss.

    strengths : (m,) fall of the mean loss, less that by chance. standing : (m,) how far each stands out of chance, in
    standard deviations. chance : how far the furthest does by chance.
    """

    terms: tuple[Features, ...]
    strengths: Floats
    standing: Floats
    chance: float

    @cached_property
    def clear(self) -> Bools:
        """Whether chance does not explain a term (m,)."""
        return self.standing > self.chance

    @cached_property
    def order(self) -> Ints:
        """The places of the terms: the clear ones by strength, then the others by how far they stand out."""
        return np.lexsort((-np.where(self.clear, self.strengths, self.standing), ~self.clear))


def ranked(
    axes: Axes, codes: NDArray[np.uint8], descent: Descent, clusters: Ints | None = None, *,
    pairs: Sequence[Features] = (), among: Sequence[Features] = (),
) -> Ranked:  # fmt: skip
    """Return the curves, pairs and triples of rows in coarse codes, ranked.

    clusters : (n,) of rows whose signs are flipped together, or None. pairs : those that lead to triples whatever their
    strength, where not all triples are looked at. among : all that are looked at, where that is known.
    """
    if codes.shape[1] > MOST_ROWS:
        some = np.sort(np.random.default_rng(SEED).choice(codes.shape[1], MOST_ROWS, replace=False))
        codes, descent = np.ascontiguousarray(codes[:, some]), descent.take(some)
        clusters = None if clusters is None else clusters[some]
    grids = descent.in_grids(codes, axes.sizes, _signs(codes.shape[1], clusters))
    terms = tuple(among) or _low(axes)
    energies = _energies(axes, grids, terms)
    if not among:
        triples = _triples(axes, terms, _standing(energies)[:, 0], pairs)
        terms, energies = (*terms, *triples), np.concatenate([energies, _energies(axes, grids, triples)])
    standing = _standing(energies)
    strengths = (energies[:, 0] - energies.mean(axis=1)) * descent.unit * descent.spread**2
    return Ranked(terms, strengths, standing[:, 0], float(standing[:, 1:].max(initial=0.0)))


def in_turn(
    first: Ranked, most: int, only_clear: bool, axes: Axes, codes: NDArray[np.uint8], *, descent: Descent,
    clusters: Ints | None = None,
) -> list[Features]:  # fmt: skip
    """Return the strongest triples, each ranked on what those before it leave.

    Ranked only once, triples that share two features and whose third says nearly the same, such as the day of the week
    and whether it is a working day, would all come first, for one and the same effect.

    Parameters
    ----------
    first : what `ranked` returned for these rows.
    most : how many.
    only_clear : whether to leave out what chance explained at first.
    """
    places = (k for k in first.order if len(first.terms[k]) == 3 and (first.clear[k] or not only_clear))
    left, taken = [first.terms[k] for k in places][: max(SHORTLIST, most)], list[Features]()
    while left and len(taken) < most:
        if taken:
            descent = descent.after(steps_of(axes, codes, taken[-1], cells_of(axes, codes, descent, taken[-1])))
            again = replace(ranked(axes, codes, descent, clusters, among=left), chance=first.chance)
            left = [again.terms[k] for k in again.order]
        taken.append(left.pop(0))
    return taken


def cells_of(axes: Axes, codes: NDArray[np.uint8], descent: Descent, term: Features) -> Floats:
    """Return what a term would add to the scores in each cell, (K, codes of its three axes): the mean step beyond grids
    of fewer features, shrunken by the share of its energy that chance explains."""
    signs = _signs(codes.shape[1], None)
    lines, board, energy = axes.lines(term), grid_scratch(1 + FLIPS), np.zeros(1 + FLIPS)
    shape = tuple(axes.sizes[line] for line in lines)
    cells = np.zeros((len(descent.gradient), *shape))
    for out, rows in zip(cells, descent.in_grids(codes, axes.sizes, signs), strict=True):
        n = purify_grid(rows, np.array(lines), TOLERANCE, board, energy)
        share = max(1.0 - float(energy[1:].mean()) / float(energy[0]), 0.0) if energy[0] > 0 else 0.0
        weight, sums = board.weight[:n], board.sums[:n, 0]
        out.flat = share * descent.spread * np.divide(sums, weight, out=np.zeros(n), where=weight > 0)
    return cells


def steps_of(axes: Axes, codes: NDArray[np.uint8], term: Features, cells: Floats) -> Floats:
    """Return what the cells of a term add to the scores (n, K) of rows in coarse codes."""
    first, second, third = (codes[line].astype(np.intp) for line in axes.lines(term))
    return np.ascontiguousarray(cells[:, first, second, third].T)


def _low(axes: Axes) -> tuple[Features, ...]:
    """Return all curves and pairs."""
    places = [int(j) for j in axes.varying]
    return (*((j,) for j in places), *itertools.combinations(places, 2))


def _triples(axes: Axes, low: Sequence[Features], standing: Floats, pairs: Sequence[Features]) -> list[Features]:
    """Return the triples that are looked at: all, or those with one of the strongest pairs or of some others."""
    triples = list(itertools.combinations([int(j) for j in axes.varying], 3))
    if axes.varying.size <= ALL_TRIPLES:
        return list(triples)
    order = [int(k) for k in np.argsort(-standing, kind="stable") if len(low[k]) == 2]
    leading = {*(low[k] for k in order[:PAIRS_ON]), *pairs}
    return [triple for triple in triples if not leading.isdisjoint(itertools.combinations(triple, 2))]


def _signs(n: int, clusters: Ints | None) -> NDArray[np.float32]:
    """Return the signs (n, B) of rows: as they are, and drawn anew for each row or cluster."""
    together = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    rng = np.random.default_rng(SEED)
    drawn = rng.choice(np.array([-1, 1], np.float32), (int(together.max(initial=0)) + 1, FLIPS))
    return np.concatenate([np.ones((n, 1), np.float32), drawn[together]], axis=1)


def _energies(axes: Axes, grids: list[GridRows], terms: Sequence[Features]) -> Floats:
    """Return the energy (m, B) of each term, under each draw of signs, summed over the scores of a row."""
    lines = np.array([axes.lines(term) for term in terms], np.int64).reshape(-1, 3)
    out = np.zeros((len(grids), len(lines), 1 + FLIPS))
    for rows, energies in zip(grids, out, strict=True):
        purify_grids(rows, lines, TOLERANCE, grid_scratch(1 + FLIPS), energies)
    return np.asarray(out.sum(axis=0))


def _standing(energies: Floats) -> Floats:
    """Return energies (m, B) in standard deviations beyond what they are by chance.

    By chance they are about chi-squared with their mean as degrees of freedom, whose cube root is nearly normal (Wilson
    and Hilferty 1931). The mean is over all draws of signs and the rows as they are, so that none of them is special.
    """
    freedom = energies.mean(axis=1, keepdims=True)
    known = np.maximum(freedom, LEAST_FREEDOM)
    spread = 2.0 / (9.0 * known)
    standing = (np.cbrt(energies / known) - (1.0 - spread)) / np.sqrt(spread)
    return np.where(freedom > LEAST_FREEDOM, standing, -np.inf)


def _spread(curve: Floats, count: Floats) -> float:
    """Return the mean |effect| of a curve over the rows of its codes."""
    return float(np.average(np.abs(curve - np.average(curve, weights=count)), weights=count)) if count.any() else 0.0
