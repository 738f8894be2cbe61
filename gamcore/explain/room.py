"""How far a curve may move: redrawings of nearly the same loss, with all other curves adapting.

Near a fit, the loss of moving curves by d is quadratic, so that all moves below a loss make an ellipsoid (Zhong et al.,
NeurIPS 2023, section 3, for models of few steps). Here moves of numbers are cubic splines of a few knots, since a
spike of one bin costs next to nothing and is no curve; levels move one by one. The room at a value is how far the
ellipsoid reaches there: other values of the curve, other curves and the intercept adapt as they like. Pairs stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gamcore.boosting.rows.source import Encoded
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.kernels.products import add_squares
from gamcore.kernels.smoothers import AT_ONCE
from gamcore.model.additive import AdditiveModel
from gamcore.stats.splines import along

KNOTS: Final = 6
"""Inner knots of a move: it may turn about that often."""

MOST_LEVELS: Final = 30
"""Levels of a category that move one by one; the rarer ones adapt together."""

MOST_ROWS: Final = 20_000
MOST_WORK: Final = 2e9
FEWEST_ROWS: Final = 2_000
RIDGE: Final = 1e-3
"""Share of the usual curvature that is added, so that what no row tells of stays finite."""


@dataclass(frozen=True)
class Room:
    """The ellipsoid of moves at one unit of mean loss; for a share of it, moves are the square root as large.

    functions : per feature (size, R) what each of its moves adds, by code. inverse : (U, U) of the curvature of all.
    starts : (p + 1,) where the moves of each feature begin.
    """

    functions: tuple[Floats, ...]
    inverse: Floats
    starts: tuple[int, ...]

    def width(self, feature: int) -> Floats:
        """Return how far the scores (size,) of a feature may move; 0 where no training row is."""
        own = slice(self.starts[feature], self.starts[feature + 1])
        functions = self.functions[feature]
        reach = ((functions @ self.inverse[own, own]) * functions).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(reach, 0.0)))

    def redrawing(self, feature: int, code: int) -> Floats:
        """Return the move (size,) of a feature that reaches as far as possible at one code."""
        own, functions = slice(self.starts[feature], self.starts[feature + 1]), self.functions[feature]
        reach = functions @ self.inverse[own, own] @ functions[code]
        return np.asarray(reach / np.sqrt(reach[code]) if reach[code] > 0 else np.zeros(len(functions)))


def room_of(model: AdditiveModel, rows: Encoded) -> Room:
    """Return the room of a fitted model. rows : those that it learnt from, of which at most `MOST_ROWS` are used."""
    functions = [_moves(bins, term.counts) for bins, term in zip(model.bins, model.terms, strict=True)]
    starts = np.concatenate([[0], np.cumsum([function.shape[1] for function in functions])])
    n_moves, n_rows = int(starts[-1]), rows.y.size
    most = min(MOST_ROWS, max(FEWEST_ROWS, int(MOST_WORK / max(n_moves, 1) ** 2)))
    chosen = np.arange(n_rows)
    if n_rows > most:
        chosen = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
    codes = rows.binned.codes[:, chosen]
    score = model.score(codes) + (0.0 if rows.offset is None else rows.offset[chosen])
    weight = np.ones(chosen.size) if rows.weight is None else rows.weight[chosen]
    bend = weight / weight.sum() * np.maximum(model.loss.curvature(rows.y[chosen], score), 0.0)
    columns = np.concatenate([function[line] for function, line in zip(functions, codes, strict=True)], axis=1)
    means = np.average(columns, axis=0, weights=bend if bend.sum() > 0 else None)
    low = np.zeros((n_moves, n_moves))
    add_squares(np.ascontiguousarray(columns - means), bend, low)
    curvature = model.loss.newton_drop * (low + np.tril(low, -1).T)
    curvature[np.diag_indices(n_moves)] += RIDGE * max(float(np.diag(curvature).mean()), 1e-300)
    inverse = np.linalg.inv(curvature)
    centred = tuple(
        np.where(np.any(function != 0.0, axis=1)[:, None], function - means[starts[j] : starts[j + 1]], 0.0)
        for j, function in enumerate(functions)
    )
    return Room(centred, np.asarray(inverse, np.float64), tuple(starts.tolist()))


def _moves(bins: Bins, counts: Floats) -> Floats:
    """Return the moves of a feature by code (size, R): splines or values, levels, and missing cells, where rows are."""
    moves = _of_levels(bins, counts) if bins.feature.is_category or bins.n_values <= AT_ONCE else _splines(bins, counts)
    if counts[0] > 0:
        missing = np.zeros((bins.size, 1))
        missing[0] = 1.0
        moves = np.concatenate([moves, missing], axis=1)
    return moves


def _of_levels(bins: Bins, counts: Floats) -> Floats:
    seen = np.flatnonzero(counts[1:-1] > 0) + 1
    often = np.sort(seen[np.argsort(-counts[seen], kind="stable")[:MOST_LEVELS]])
    moves = np.zeros((bins.size, often.size + (seen.size > often.size)))
    moves[often, np.arange(often.size)] = 1.0
    moves[np.setdiff1d(seen, often), often.size :] = 1.0
    return moves


def _splines(bins: Bins, counts: Floats) -> Floats:
    functions, begins, bend = along(bins.display, counts[1:-1], KNOTS)
    moves = np.zeros((bins.size, len(bend)))
    for k in range(AT_ONCE):
        moves[np.arange(1, bins.n_values + 1), begins + k] = functions[:, k]
    return moves
