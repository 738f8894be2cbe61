"""What kept counts tell of a model without its rows: the price of an edit, a model around it, a path of fewer curves.

With squared loss all of it is sums over cells: an edit d of feature j changes the sum of squared residuals by
-2 sum_c d[c] R[c] + sum_c d[c]^2 H[c], with the sums of residuals R and of weights H by code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import lars_path_gram

from gamcore.boosting.counts.bin_pairs import block
from gamcore.boosting.features.garrote import Path, to_the_end
from gamcore.boosting.refit.from_counts import make_left
from gamcore.boosting.updating.tables import KeptTables
from gamcore.common.types import Floats, Ints
from gamcore.kernels import N_CODES
from gamcore.kernels import tables as kernels
from gamcore.model.additive import AdditiveModel
from gamcore.model.monotone import keeping


@dataclass(frozen=True)
class Price:
    """The mean squared error over all counted rows before and after an edit, in squared units of the target."""

    before: float
    after: float


def price(tables: KeptTables, model: AdditiveModel, feature: int, scores: Floats) -> Price:
    """Return the price of other scores (size,) for one feature, all else as it is."""
    curves, every = _curves(tables, model), np.arange(tables.origin.n_groups)
    base = (model.intercept - tables.origin.centre) / tables.origin.spread
    weight = float(tables.tables.group[:, 0].sum())
    before = _squares(tables, curves, base, every)
    residual, count = _residuals(tables, feature, curves, base, every)
    moved = (scores - model.terms[feature].scores)[: residual.size] / tables.origin.spread
    after = before - 2.0 * float(np.sum(moved * residual)) + float(np.sum(moved * moved * count))
    unit = tables.origin.spread**2 / weight
    return Price(before * unit, after * unit)


def without(tables: KeptTables, feature: int, scores: Floats) -> KeptTables:
    """Return counts whose targets lack the scores (size,) of one feature, for a model of the others around them."""
    origin, known = tables.origin, tables.tables
    last, groups = int(origin.last[feature]), np.arange(origin.n_groups)
    curves = np.zeros((origin.last.size, N_CODES))
    curves[feature, : last + 1] = scores[: last + 1] / origin.spread
    weight, target = (_of_feature(tables, sums, feature) for sums in (known.weight, known.target))
    group, own = known.group.copy(), curves[feature, : last + 1]
    group[:, 1] -= (weight * own).sum(axis=1)
    group[:, 2] += (weight * own**2 - 2.0 * target * own).sum(axis=1)
    sums, left = known.target.copy(), make_left(known, N_CODES, 0, np.float64)
    for m in origin.counted:
        mine = slice(known.place[m], known.place[m + 1])
        kernels.move(tables.problem.table._replace(active=origin.counted), known, groups, curves, place=0, m=m,
                     left=left, out=sums[mine])  # fmt: skip
    parts = origin.scale.unit / origin.scale.exact
    whole = tables.whole._replace(target=sums / parts, group=group / np.array([origin.scale.unit, parts, parts]))
    return replace(tables, whole=whole, fixed=(*tables.fixed, feature))


def around(model: AdditiveModel, feature: int, scores: Floats, base: float) -> AdditiveModel:
    """Return a model, fitted `without` a feature, with that feature's scores (size,): they are centred as others are.

    base : score of the mean target. A promised order that these scores break is no longer promised.
    """
    term = model.terms[feature]
    mean = float(np.average(scores, weights=term.counts)) if term.counts.sum() > 0 else 0.0
    centred = np.where(term.counts > 0, scores - mean, 0.0)
    terms = list(model.terms)
    terms[feature] = replace(term, scores=centred, refits=np.tile(centred, (model.n_refits, 1)))
    intercepts = model.refit_intercepts + mean
    return keeping(replace(model, terms=tuple(terms), refit_intercepts=intercepts, base=base))


def path_of_counts(tables: KeptTables, model: AdditiveModel, valid: Iterable[Ints]) -> Path:
    """Return the path of fewer curves. valid : the groups that each refit did not learn from.

    Every refit's terms are weighed on its own validation groups only: on the rows they learned from, curves of noise
    would look useful.
    """
    parts = [_products(tables, model, k, int(g)) for k, groups in enumerate(valid) for g in groups]
    gram, slope = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("gram", "slope"))
    penalties, _, steps = lars_path_gram(slope, gram, n_samples=1, method="lasso", positive=True)
    factors = to_the_end(penalties, steps.T, gram=gram, cross=slope, least=0.0)[1][::-1]
    losses = np.array([[part.loss(factor) for part in parts] for factor in factors]).reshape(len(factors), -1)
    weights = np.array([part.weight for part in parts])
    means, unit = losses.sum(axis=1) / weights.sum(), tables.origin.spread**2
    spread = np.sqrt(np.square(losses / weights - means[:, None]).sum(axis=1) / max(len(parts) - 1, 1))
    return Path(factors, means * unit, spread / np.sqrt(len(parts)) * unit, steady=np.empty(0))


@dataclass(frozen=True)
class _Products:
    """Sums over the rows of a group: products of terms (p, p), terms times targets (p,), squares, and weights."""

    gram: Floats
    slope: Floats
    squares: float
    weight: float

    def loss(self, factor: Floats) -> float:
        """Return the sum of squared residuals of terms times their factors (p,)."""
        quadratic = _product(factor, self.gram, factor)
        return self.squares - 2.0 * float(np.sum(factor * self.slope)) + quadratic


def _products(tables: KeptTables, model: AdditiveModel, k: int, g: int) -> _Products:
    """Return the products of the terms of refit k in group g, in units of the spread."""
    origin, known = tables.origin, tables.tables
    curves = [term.refits[k] / origin.spread for term in model.terms]
    base = (model.refit_intercepts[k] - origin.centre) / origin.spread
    p = len(curves)
    gram, slope = np.zeros((p, p)), np.zeros(p)
    for j in origin.counted:
        weight, target = (_of_feature(tables, sums, j)[g] for sums in (known.weight, known.target))
        own = curves[j][: weight.size]
        gram[j, j], slope[j] = np.sum(weight * own * own), np.sum((target - base * weight) * own)
    for j, m in itertools.combinations(origin.counted.tolist(), 2):
        lines = block(known, origin.last, j, m)[:, g, : int(origin.last[m]) + 1].astype(np.float64)
        cells = np.diff(lines, axis=0, prepend=0.0) * origin.scale.unit
        gram[j, m] = gram[m, j] = _product(curves[j][: len(cells)], cells, curves[m][: cells.shape[1]])
    weight_sum, first, second = known.group[g]
    return _Products(gram, slope, float(second - 2.0 * base * first + base * base * weight_sum), float(weight_sum))


def _product(first: Floats, cells: Floats, second: Floats) -> float:
    """Return the sum of cells (n, m) times first (n,) times second (m,)."""
    return float(np.sum(first * (cells * second).sum(axis=1)))


def _curves(tables: KeptTables, model: AdditiveModel) -> Floats:
    """Return the scores (p, V) of all features, in units of the spread."""
    curves = np.zeros((len(model.terms), N_CODES))
    for j, term in enumerate(model.terms):
        curves[j, : term.scores.size] = term.scores / tables.origin.spread
    return curves


def _of_feature(tables: KeptTables, sums: Floats, j: int) -> Floats:
    """Return the sums (G, codes) of a feature."""
    known = tables.tables
    lines = sums[known.place[j] : known.place[j + 1]].reshape(tables.origin.n_groups, -1)
    return lines[:, : int(tables.origin.last[j]) + 1]


def _residuals(tables: KeptTables, j: int, curves: Floats, base: float, groups: Ints) -> tuple[Floats, Floats]:
    """Return the sums of residuals and of weights by code of a feature, over some groups."""
    known, left = tables.tables, make_left(tables.tables, N_CODES, 0, np.float64)
    mine = slice(known.place[j], known.place[j + 1])
    sums = known.target[mine] - base * known.weight[mine]
    table = tables.problem.table._replace(active=tables.origin.counted)
    kernels.move(table, known, np.arange(tables.origin.n_groups), curves, place=0, m=j, left=left, out=sums)
    residual = sums.reshape(tables.origin.n_groups, -1)[:, : int(tables.origin.last[j]) + 1]
    return residual[groups].sum(axis=0), _of_feature(tables, known.weight, j)[groups].sum(axis=0)


def _squares(tables: KeptTables, curves: Floats, base: float, groups: Ints) -> float:
    """Return the sum of squared residuals over some groups: y'y - sum_j f_j (S_j + R_j)."""
    weight, first, second = tables.tables.group[groups].sum(axis=0)
    total = float(second - 2.0 * base * first + base * base * weight)
    for j in tables.origin.counted:
        residual, count = _residuals(tables, j, curves, base, groups)
        target = _of_feature(tables, tables.tables.target, j)[groups].sum(axis=0)
        total -= float(np.sum(curves[j, : residual.size] * (target - base * count + residual)))
    return total
