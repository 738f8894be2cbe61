"""Fewer curves: the non-negative garrote (Breiman 1995) on fitted curves, for every loss of one score.

With z[i, j] what curve j adds to row i, the garrote looks for factors s >= 0 that minimise

    loss(sum_j s_j z_j) + penalty * sum_j s_j

so that, as the penalty grows, curves shrink and leave. The loss is its quadratic approximation at the model (Wang and
Leng 2007), exact for squared loss: a weighted regression whose whole path least angle regression gives from the sums of
products. A row's z are those of a refit that has not learnt from it: on its own rows a curve of noise would look
useful. The loss of a number of curves is that of groups of rows which did not choose its factors, either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from sklearn.linear_model import lars_path_gram

from gamcore.common.types import Floats, Ints
from gamcore.kernels.products import add_squares, multiply
from gamcore.model.losses import Loss

NO_VALIDATION: Final = "Curves are left out by rows that validate: set validation_fraction above 0, or add rows."
FOLDS: Final = 5
HALVES: Final = 30
"""Halves of the groups whose garrotes tell how steady each choice is."""

MOST_CURVES: Final = 200
"""Most curves of a path: of wider models those that move predictions most."""

EVERY: Final = 40
"""Numbers of curves up to which each is on the path; of larger ones about `SOME` are."""

SOME: Final = 20
FLAT: Final = 1e-12


@dataclass(frozen=True)
class Path:
    """A path of models with fewer curves.

    factors : (steps, p) what each curve is multiplied by. losses, errors : (steps,) mean loss of rows that chose
    neither curves nor factors, and its standard error over groups; from all curves to none. steady : (steps, p) share
    of half samples that keep each curve; empty where it was not measured.
    """

    factors: Floats
    losses: Floats
    errors: Floats
    steady: Floats

    @property
    def n_curves(self) -> Ints:
        """Curves (steps,) of each model."""
        return np.asarray(np.count_nonzero(self.factors > 0, axis=1), np.int64)

    @property
    def chosen(self) -> int:
        """The step with the fewest curves within one standard error of the least loss."""
        best = int(np.argmin(self.losses))
        within = np.flatnonzero(self.losses <= self.losses[best] + self.errors[best])
        return int(within[np.argmin(self.n_curves[within])])


@dataclass(frozen=True)
class Part:
    """Rows of one group, as a refit sees them that has not learnt from them.

    added : (m, p) what each curve adds. fixed : (m,) the rest of the score. y, weight : (m,).
    """

    group: int
    added: Floats
    fixed: Floats
    y: Floats
    weight: Floats


@dataclass(frozen=True)
class _Sums:
    """Weighted products of a constant and the curves, gram (1 + p, 1 + p), and with the response, cross (1 + p,)."""

    gram: Floats
    cross: Floats

    def without(self, other: _Sums) -> _Sums:
        return _Sums(self.gram - other.gram, self.cross - other.cross)

    def path(self, least: float = 0.0) -> tuple[Floats, Floats]:
        """Return the penalties (k,) at which the path turns, falling to the least, and the factors there (k, p)."""
        weight = self.gram[0, 0]
        means, mean = self.gram[0, 1:] / weight, self.cross[0] / weight
        gram = self.gram[1:, 1:] / weight - means[:, None] * means
        cross = self.cross[1:] / weight - means * mean
        moves = np.flatnonzero(np.diag(gram) > FLAT * max(np.diag(gram).max(initial=0.0), 1e-300))
        factors = np.zeros((1, cross.size))
        if not moves.size or not (cross[moves] > 0).any():
            return np.zeros(1), factors
        gram, cross = gram[np.ix_(moves, moves)], cross[moves]
        penalties, _, steps = lars_path_gram(cross, gram, n_samples=1, alpha_min=least, method="lasso", positive=True)
        penalties, steps = to_the_end(penalties, steps.T, gram=gram, cross=cross, least=least)
        factors = np.zeros((penalties.size, means.size))
        factors[:, moves] = steps
        return penalties, factors

    def constant(self, factors: Floats) -> Floats:
        """Return the constant (steps,) that goes with factors (steps, p)."""
        return np.asarray((self.cross[0] - (factors * self.gram[0, 1:]).sum(axis=1)) / self.gram[0, 0])


def to_the_end(penalties: Floats, steps: Floats, gram: Floats, cross: Floats, least: float) -> tuple[Floats, Floats]:
    """Return a path that goes to the least penalty.

    The library takes its last model, which is on the path, for that of the least penalty, where no other curve enters
    on the way. Its true penalty is what its curves still have in common with what is left.
    """
    inside = steps[-1] > 0
    if not inside.any():
        return penalties, steps
    left = cross - (gram * steps[-1]).sum(axis=1)
    reached = float(left[inside].mean())
    end = np.zeros_like(cross)
    end[inside] = np.linalg.solve(gram[np.ix_(inside, inside)], cross[inside] - least)
    return np.append(penalties[:-1], [reached, least]), np.vstack([steps, np.maximum(end, 0.0)])


def garrote(parts: Sequence[Part], loss: Loss) -> Path:
    """Return the path of fewer curves. parts : at least `FOLDS` groups of rows."""
    n_curves = parts[0].added.shape[1]
    places = _widest(parts)
    parts = [Part(part.group, part.added[:, places], part.fixed, part.y, part.weight) for part in parts]
    groups = sorted({part.group for part in parts})
    of_groups = {g: _summed([_sums(part, loss) for part in parts if part.group == g]) for g in groups}
    whole = _summed(list(of_groups.values()))
    penalties = _turns(*whole.path())
    factors = _at(whole, penalties)
    totals, weights = np.zeros((len(groups), penalties.size)), np.zeros(len(groups))
    for fold in range(FOLDS):
        held = groups[fold::FOLDS]
        learnt = whole.without(_summed([of_groups[g] for g in held]))
        own = _at(learnt, penalties)
        constants = learnt.constant(own)
        for part in (part for part in parts if part.group in held):
            place = groups.index(part.group)
            totals[place] += _losses(part, own, constants, loss)
            weights[place] += part.weight.sum()
    means = totals.sum(axis=0) / weights.sum()
    spread = np.sqrt(np.square(totals / weights[:, None] - means).sum(axis=0) / max(len(groups) - 1, 1))
    return Path(
        _spread_out(factors, places, n_curves), means, spread / np.sqrt(len(groups)),
        _spread_out(_steady(of_groups, penalties), places, n_curves),
    )  # fmt: skip


def _widest(parts: Sequence[Part]) -> Ints:
    """Return the curves of a path: all, or those that move predictions most."""
    moved = sum((part.weight[:, None] * np.abs(part.added)).sum(axis=0) for part in parts)
    return np.sort(np.argsort(-np.asarray(moved), kind="stable")[:MOST_CURVES])


def _spread_out(factors: Floats, places: Ints, n_curves: int) -> Floats:
    """Return factors (steps, p) of all curves: 0 for those that are not on the path."""
    out = np.zeros((len(factors), n_curves))
    out[:, places] = factors
    return out


def _sums(part: Part, loss: Loss) -> _Sums:
    """Return the sums of products of a part, about the model as it is."""
    score = part.fixed + part.added.sum(axis=1)
    bend = np.maximum(loss.curvature(part.y, score), FLAT)
    response = part.added.sum(axis=1) - loss.gradient(part.y, score) / bend
    columns, weight = np.column_stack([np.ones(len(part.y)), part.added]), part.weight * bend
    low = np.zeros((columns.shape[1], columns.shape[1]))
    add_squares(columns, weight, low)
    return _Sums(low + np.tril(low, -1).T, (columns * (weight * response)[:, None]).sum(axis=0))


def _summed(all_sums: Sequence[_Sums]) -> _Sums:
    return _Sums(np.sum([sums.gram for sums in all_sums], axis=0), np.sum([sums.cross for sums in all_sums], axis=0))


def _turns(penalties: Floats, factors: Floats) -> Floats:
    """Return the penalties of the path's models, rising: the least with each number of curves."""
    counts = np.count_nonzero(factors > 0, axis=1)
    least = {int(n): float(penalties[counts == n].min()) for n in np.unique(counts)}
    many = [n for n in least if n > EVERY]
    some = set(many[:: max(1, len(many) // SOME)]) | set(many[-1:])
    return np.array([least[n] for n in sorted(least, reverse=True) if n <= EVERY or n in some])


def _at(sums: _Sums, penalties: Floats) -> Floats:
    """Return the factors (steps, p) at some penalties: the path is straight between its turns."""
    turns, factors = sums.path(max(float(penalties.min()), 0.0))  # rounding may leave it below 0
    return np.stack([np.interp(penalties, turns[::-1], line[::-1]) for line in factors.T], axis=1)


def _losses(part: Part, factors: Floats, constants: Floats, loss: Loss) -> Floats:
    """Return the summed loss (steps,) of a part with each step's factors."""
    scores = np.empty((len(part.y), len(factors)))
    multiply(part.added, np.ascontiguousarray(factors.T), scores)
    scores += part.fixed[:, None] + constants
    return np.array([float(np.sum(part.weight * loss.loss(part.y, score))) for score in scores.T])


def _steady(of_groups: dict[int, _Sums], penalties: Floats) -> Floats:
    """Return the share (steps, p) of halves of the groups whose garrote keeps each curve at some penalties."""
    rng, groups = np.random.default_rng(0), list(of_groups)
    kept = []
    for _ in range(HALVES):
        half = _summed([of_groups[groups[k]] for k in rng.permutation(len(groups))[: len(groups) // 2]])
        kept.append(_at(half, penalties) > 0)
    return np.asarray(np.mean(kept, axis=0))
