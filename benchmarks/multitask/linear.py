"""Linear models of many tasks at once: rMTFL and DIRTY by FISTA, and for each task on its own a LASSO.

Task t has rows (X_t, y_t) and the score X_t (p_t + q_t) + b_t, a number or a log-odds. The p_t are the columns of P,
the q_t those of Q, both d x T. Minimised is the loss summed over all rows (squares or log-losses) plus lam1 and lam2 of

    rMTFL (Gong, Ye, Zhang 2012):   sum of l2 norms of P's rows,    sum of l2 norms of Q's columns
    DIRTY (Jalali et al. 2010):     sum of linf norms of P's rows,  sum of moduli in Q

Intercepts b are free. Columns are standardised over the rows of all tasks; coefficients are in the columns' units.
No cell may be missing, and a task needs at least one row. A column that is constant within a task has coefficient 0
there. The loss is a sum, so strengths grow with the number of rows: `grid` takes them relative to the least ones that
leave nothing but intercepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold

Array = NDArray[np.floating]
Arrays = Sequence[Array]
Masks = Sequence[NDArray[np.bool_]]
Pair = tuple[float, float]

MAX_STEPS = 5000
SPELL = 10
TOLERANCE = 1e-6
"""A fit ends where so many steps lower the objective by no more than this share; single steps without momentum are
small far from the minimum, too."""

N_FOLDS = 5
GRID = tuple(product(10.0 ** -np.arange(0.0, 3.0, 0.5), repeat=2))
LASSO_SHARES = tuple((share, share) for share in np.geomspace(1.0, 1e-2, 9))
"""Strengths tried, as shares of those that leave nothing but intercepts."""


class Linear(NamedTuple):
    """Coefficients (d, T) and intercepts (T,)."""

    coef: Array
    intercept: Array

    def scores(self, Xs: Arrays) -> list[Array]:
        """Return the predicted numbers or log-odds, one array per task."""
        return [X @ w + b for X, w, b in zip(Xs, self.coef.T, self.intercept, strict=True)]


def shrink(V: Array, tau: float, axis: int) -> Array:
    """Compute the prox of tau times the sum of l2 norms along an axis."""
    norms = np.linalg.norm(V, axis=axis, keepdims=True)
    return V * (1.0 - tau / np.maximum(norms, tau + np.finfo(float).tiny))


def soften(V: Array, tau: float) -> Array:
    """Compute the prox of tau times the sum of moduli."""
    return V - np.clip(V, -tau, tau)


def level(V: Array, tau: float) -> Array:
    """Compute the prox of tau times the sum of the rows' linf norms: the residual of projecting on
    the l1 ball of radius tau.

    The threshold of that projection is the largest (sum of the k largest moduli - tau) / k of any k.
    """
    moduli = -np.sort(-np.abs(V), axis=1)
    excess = (np.cumsum(moduli, axis=1) - tau) / np.arange(1, V.shape[1] + 1)
    threshold = np.maximum(excess.max(axis=1, keepdims=True), 0.0)
    return np.clip(V, -threshold, threshold)


class Norm(NamedTuple):
    """A norm of a d x T matrix with its dual and the prox of its multiples."""

    value: Callable[[Array], float]
    dual: Callable[[Array], float]
    prox: Callable[[Array, float], Array]


def _lengths(axis: int) -> Norm:
    """Return the sum of l2 norms along an axis."""
    return Norm(
        lambda V: np.linalg.norm(V, axis=axis).sum(),
        lambda V: np.linalg.norm(V, axis=axis).max(),
        lambda V, tau: shrink(V, tau, axis),
    )


ROW_MAXIMA = Norm(lambda V: np.abs(V).max(axis=1).sum(), lambda V: np.abs(V).sum(axis=1).max(), level)
MODULI = Norm(lambda V: np.abs(V).sum(), lambda V: np.abs(V).max(), soften)
NORMS = {"rmtfl": (_lengths(1), _lengths(0)), "dirty": (ROW_MAXIMA, MODULI)}
"""Norms of P and of Q."""


class Problem(NamedTuple):
    """Standardised rows, centred within their task, in blocks of equal height m filled up with zeros."""

    X: Array
    """(T, m, d + 1), a column of ones last."""
    y: Array
    """(T, m)."""
    logistic: bool
    means: Array
    """(T, d), of the columns within a task."""
    scale: Array
    """(d,), standard deviations of the columns over all rows."""
    start: Array
    """(T,), intercepts of a model of nothing else; of a task of one class, a finite guess."""
    steepness: float
    """A Lipschitz constant of the gradient in P, Q and b; that P and Q share their columns doubles it."""

    def score(self, W: Array) -> Array:
        """Return the scores (T, m) of coefficients and intercepts (d + 1, T), in which they are linear."""
        return (self.X @ W.T[..., None])[..., 0]

    def loss(self, score: Array) -> float:
        """Return the loss of scores."""
        if self.logistic:
            losses = np.maximum(score, 0.0) + np.log(1.0 + np.exp(-np.abs(score))) - self.y * score
            return float((self.X[..., -1] * losses).sum())
        return float(np.square(score - self.y).sum())

    def gradient(self, score: Array) -> Array:
        """Return the gradient of the loss in coefficients and intercepts, (d + 1, T), at their scores."""
        slope = 0.5 + 0.5 * np.tanh(0.5 * score) - self.y if self.logistic else 2.0 * (score - self.y)
        return (slope[:, None] @ self.X)[:, 0].T


def make_problem(Xs: Arrays, ys: Arrays, loss: str) -> Problem:
    """Standardise and stack the tasks; targets are numbers ("squared") or 0 and 1 ("logistic")."""
    scale = _spread(np.concatenate(Xs))
    means = np.array([X.mean(axis=0) for X in Xs])
    blocks = [np.column_stack([(X - m) / scale, np.ones(len(X)), y]) for X, m, y in zip(Xs, means, ys, strict=True)]
    if loss == "squared":
        # A triangle of d + 2 rows has the same squared loss as all rows of a task.
        blocks = [np.linalg.qr(block, mode="r") for block in blocks]
    stack = np.zeros((len(blocks), max(map(len, blocks)), len(scale) + 2))
    for place, block in zip(stack, blocks, strict=True):
        place[: len(block)] = block
    start = np.array([_constant(y, loss) for y in ys])
    X, y, logistic = stack[..., :-1], stack[..., -1], loss == "logistic"
    return Problem(X, y, logistic, means, scale, start, 2.0 * (0.25 if logistic else 2.0) * _largest_square(X))


def _largest_square(X: Array) -> float:
    """Return the largest squared singular value of the blocks (T, m, d), which is cheap where they are tall."""
    return float(np.linalg.eigvalsh(X.transpose(0, 2, 1) @ X).max())


def _spread(X: Array) -> Array:
    """Return the standard deviations of the columns, or 1 for constant columns."""
    scale = X.std(axis=0)
    return np.where(scale > 1e-12, scale, 1.0)


def _constant(y: Array, loss: str) -> float:
    """Return the best score without features; finite for a single class."""
    if loss == "squared":
        return float(y.mean())
    n, k = len(y), min(max(float(y.sum()), 0.5), len(y) - 0.5)
    return float(np.log(k / (n - k)))


def _join(Z: Array) -> Array:
    """Return P + Q and b from P, Q and b stacked by rows."""
    d = len(Z) // 2
    return np.vstack([Z[:d] + Z[d:-1], Z[-1:]])


def nothing(problem: Problem) -> Array:
    """Return P, Q and b of a model of intercepts alone."""
    return np.vstack([np.zeros((2 * len(problem.scale), len(problem.start))), problem.start])


def penalty(which: str, lams: Pair, Z: Array) -> float:
    """Return the penalties of P, Q and b stacked by rows."""
    d, (shared, own), (lam1, lam2) = len(Z) // 2, NORMS[which], lams
    return float(lam1 * shared.value(Z[:d]) + lam2 * own.value(Z[d:-1]))


def objective(problem: Problem, which: str, lams: Pair, Z: Array) -> float:
    """Return the loss plus penalties of P, Q and b stacked by rows."""
    return problem.loss(problem.score(_join(Z))) + penalty(which, lams, Z)


def _descend(which: str, lams: Pair, Z: Array, gradient: Array, size: float) -> Array:
    """Take one proximal step against a gradient, and return the result."""
    d, (shared, own), (lam1, lam2) = len(Z) // 2, NORMS[which], lams
    slope = size * gradient
    P, Q = Z[:d] - slope[:-1], Z[d:-1] - slope[:-1]
    return np.vstack([shared.prox(P, size * lam1), own.prox(Q, size * lam2), Z[-1:] - slope[-1:]])


def minimise(problem: Problem, which: str, lams: Pair, Z: Array, tolerance: float = TOLERANCE) -> Array:
    """Run FISTA from Z, restarting the momentum where the objective would rise.

    Scores go along with their coefficients, so that a step reads the rows twice.
    """
    score = problem.score(_join(Z))
    ahead, score_ahead, momentum = Z, score, 1.0
    before = now = problem.loss(score) + penalty(which, lams, Z)
    for step in range(1, MAX_STEPS + 1):
        new = _descend(which, lams, ahead, problem.gradient(score_ahead), 1.0 / problem.steepness)
        score_new = problem.score(_join(new))
        then = problem.loss(score_new) + penalty(which, lams, new)
        if then <= now:
            grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            lead = (momentum - 1.0) / grown
            ahead, score_ahead = new + lead * (new - Z), score_new + lead * (score_new - score)
            Z, score, momentum, now = new, score_new, grown, then
        else:
            ahead, score_ahead, momentum = Z, score, 1.0
        if step % SPELL == 0:
            if before - now <= tolerance * abs(now):
                break
            before = now
    return Z


def fits(problem: Problem, which: str, lams: Iterable[Pair], tolerance: float = TOLERANCE) -> Iterator[Linear]:
    """Yield a model for each pair of strengths, each started from the previous solution."""
    Z = nothing(problem)
    for pair in lams:
        Z = minimise(problem, which, pair, Z, tolerance)
        coef = _join(Z)[:-1] / problem.scale[:, None]
        yield Linear(coef, Z[-1] - np.einsum("td,dt->t", problem.means, coef))


def fit_rmtfl(Xs: Arrays, ys: Arrays, lam1: float, lam2: float, loss: str = "squared") -> Linear:
    """Fit robust multi-task feature learning with given strengths."""
    return next(fits(make_problem(Xs, ys, loss), "rmtfl", [(lam1, lam2)]))


def fit_dirty(Xs: Arrays, ys: Arrays, lam1: float, lam2: float, loss: str = "squared") -> Linear:
    """Fit DIRTY with given strengths; for one task and equal strengths, this is a LASSO."""
    return next(fits(make_problem(Xs, ys, loss), "dirty", [(lam1, lam2)]))


def _strengths(problem: Problem, which: str, shares: Iterable[Pair]) -> list[Pair]:
    """Convert shares to strengths."""
    slope = problem.gradient(problem.score(_join(nothing(problem))))[:-1]
    most1, most2 = (norm.dual(slope) for norm in NORMS[which])
    return [(share1 * most1, share2 * most2) for share1, share2 in shares]


def grid(Xs: Arrays, ys: Arrays, which: str, loss: str = "squared", shares: Iterable[Pair] = GRID) -> list[Pair]:
    """Return the pairs (lam1, lam2) that are shares of the least ones with P = 0 and with Q = 0 where the other is 0,
    too."""
    return _strengths(make_problem(Xs, ys, loss), which, shares)


def mean_loss(model: Linear, Xs: Arrays, ys: Arrays, loss: str) -> float:
    """Return the mean square or log-loss of all rows."""
    score, y = np.concatenate(model.scores(Xs)), np.concatenate(ys)
    each = np.logaddexp(0.0, score) - y * score if loss == "logistic" else np.square(score - y)
    return float(each.mean())


def _held_out(Xs: Arrays, ys: Arrays, held: Masks, which: str, loss: str, shares: Sequence[Pair]) -> Array:
    """Return the mean loss on rows held out of each pair of shares, whose strengths are relative to the rows that
    stay."""
    problem = make_problem(_rows(Xs, held, False), _rows(ys, held, False), loss)
    models = fits(problem, which, _strengths(problem, which, shares))
    return np.array([mean_loss(model, _rows(Xs, held, True), _rows(ys, held, True), loss) for model in models])


def _rows(arrays: Arrays, held: Masks, which: bool) -> list[Array]:
    return [array[mask == which] for array, mask in zip(arrays, held, strict=True)]


def choose(
    Xs: Arrays, ys: Arrays, held: Masks, which: str, loss: str = "squared", shares: Sequence[Pair] = GRID
) -> tuple[Linear, Pair]:
    """Return the model of all rows with the shares that are best on the rows held out, and these shares."""
    best = shares[int(_held_out(Xs, ys, held, which, loss, shares).argmin())]
    problem = make_problem(Xs, ys, loss)
    return next(fits(problem, which, _strengths(problem, which, [best]))), best


def lasso(Xs: Arrays, ys: Arrays, loss: str = "squared", seed: int = 0) -> Linear:
    """Fit a separate LASSO for each task, with its strength chosen by five-fold cross-validation.

    A task with fewer than ten rows, or fewer than five of a class, or of one value, gets its constant.
    """
    make = _lasso_logistic if loss == "logistic" else _lasso_squared
    models = [make(X, y, seed) if _enough(y, loss) else _flat(X, y, loss) for X, y in zip(Xs, ys, strict=True)]
    return Linear(np.hstack([model.coef for model in models]), np.hstack([model.intercept for model in models]))


def _enough(y: Array, loss: str) -> bool:
    """Return whether a task has enough rows for cross-validation."""
    if loss == "logistic":
        return bool(N_FOLDS <= y.sum() <= len(y) - N_FOLDS)
    return len(y) >= 2 * N_FOLDS and bool(np.ptp(y) > 0.0)


def _flat(X: Array, y: Array, loss: str) -> Linear:
    return Linear(np.zeros((X.shape[1], 1)), np.array([_constant(y, loss)]))


def _lasso_squared(X: Array, y: Array, seed: int) -> Linear:
    mean, scale = X.mean(axis=0), _spread(X)
    model = LassoCV(cv=KFold(N_FOLDS, shuffle=True, random_state=seed), max_iter=100_000)
    coef = model.fit((X - mean) / scale, y).coef_ / scale
    return Linear(coef[:, None], np.array([model.intercept_ - mean @ coef]))


def _lasso_logistic(X: Array, y: Array, seed: int) -> Linear:
    fold = np.empty(len(y), int)
    shuffled = np.random.default_rng(seed).permutation(len(y))
    fold[shuffled[np.argsort(y[shuffled], kind="stable")]] = np.arange(len(y)) % N_FOLDS  # stratified by class
    losses = [_held_out([X], [y], [fold == k], "dirty", "logistic", LASSO_SHARES) for k in range(N_FOLDS)]
    share = LASSO_SHARES[int(np.mean(losses, axis=0).argmin())]
    return fit_dirty([X], [y], *grid([X], [y], "dirty", "logistic", [share])[0], "logistic")
