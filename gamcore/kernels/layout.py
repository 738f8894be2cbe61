"""The arrays that kernels share, bundled so that a kernel keeps few arguments.

Rows stand in group order: the rows of group g are `starts[g] : starts[g + 1]` of every row array and of every line of
`codes`, so a pass over a group is one sequential read.

    codes[j]:  | group 0 ........ | group 1 ........ | ... | group G-1 ....... |
                ^starts[0]         ^starts[1]               ^starts[G-1]        ^starts[G] = n
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import CURVE, LANES, N_CODES, SUM

SQUARED: Final = 0
LOGISTIC: Final = 1

CHUNK: Final = 512
"""Rows whose gradients are made and used while still in the first-level cache."""

CHAINS: Final = 4
"""Groups that a pass adds up in turn: neighbouring adds then hit different tables, so they need not wait for each
other even where a column has one heavy bin."""


class Table(NamedTuple):
    """What never changes in a fit; shared by all refits."""

    codes: NDArray[np.uint8]  # (p, n)
    starts: NDArray[np.int64]  # (G + 1,)
    last: NDArray[np.int64]  # (p,) K, the largest value code
    nominal: NDArray[np.bool_]  # (p,) codes without an order of their own
    active: NDArray[np.int64]  # features with at least two codes in use; the others keep f = 0


class Rows(NamedTuple):
    """The state of each row in one refit; `score` is written in place."""

    score: NDArray[np.floating]  # (n,) squared: residual y - F; logistic: odds exp(F)
    target: NDArray[np.uint8]  # (n,) logistic only, else empty
    weight: NDArray[np.floating]  # (n,) or empty where all rows weigh 1


class Sets(NamedTuple):
    """Groups of one refit, and the pool of bags over its training groups."""

    train: NDArray[np.int64]  # (T,) groups
    member: NDArray[np.int64]  # (draws, B, groups a bag) indices into `train`
    weight: NDArray[np.floating]  # (p, T, V) row weights a group and bin; (p, 0, V) where no kernel needs them


class Fit(NamedTuple):
    """What boosting makes: the curves, and the last update, which the next pass over the rows applies."""

    curves: NDArray[np.float64]  # (p, V)
    gains: NDArray[np.float64]  # (p,) loss drop of each feature's last step
    steps: NDArray[np.int64]  # (p,) steps so far
    moved: NDArray[np.float64]  # (p, V) change since the validation rows were last brought up to date
    pending: NDArray[np.int64]  # (1,) feature of the last update
    factor: NDArray[np.floating]  # (V,) squared: the update; logistic: exp(update)


class Work(NamedTuple):
    """Scratch, one a thread."""

    gradient: NDArray[np.floating]  # (CHAINS, CHUNK)
    hessian: NDArray[np.floating]  # (CHAINS, CHUNK)
    bags: NDArray[np.floating]  # (B, 2 V) gradient and hessian of each bag, side by side as in a group
    weights: NDArray[np.floating]  # (B, V) row weights of each bag, (1, V) where no kernel needs them
    prefix: NDArray[np.float64]  # (3, V, LANES) running sums along the line: gradient, hessian, weight
    total: NDArray[np.float64]  # (2 V,) gradient and hessian of all training rows
    order: NDArray[np.int64]  # (V,) the line: code of its k-th place
    update: NDArray[np.float64]  # (V,) sum of the bags' trees


class Settings(NamedTuple):
    """Scalars of a fit."""

    loss: int  # SQUARED or LOGISTIC
    mart: bool  # logistic: split on row weights (Algorithm 2) instead of hessians (Algorithm 5)
    learning_rate: float
    max_leaves: int
    min_node_weight: float  # a node this light is not cut
    max_delta: float  # largest leaf value before the learning rate
    n_bags: int


def make_work(n_bags: int, mart: bool, dtype: type = SUM) -> Work:
    """Scratch for one thread."""
    return Work(
        gradient=np.zeros((CHAINS, CHUNK), dtype),
        hessian=np.zeros((CHAINS, CHUNK), dtype),
        bags=np.zeros((n_bags, 2 * N_CODES), dtype),
        weights=np.zeros((n_bags if mart else 1, N_CODES), dtype),
        prefix=np.zeros((3, N_CODES, LANES), CURVE),
        total=np.zeros(2 * N_CODES, CURVE),
        order=np.arange(N_CODES, dtype=np.int64),
        update=np.zeros(N_CODES, CURVE),
    )


def make_fit(n_features: int, loss: int, dtype: type = SUM) -> Fit:
    """A fit before its first step: flat curves, and a pending update that changes nothing."""
    return Fit(
        curves=np.zeros((n_features, N_CODES), CURVE),
        gains=np.full(n_features, -np.inf, CURVE),
        steps=np.zeros(n_features, np.int64),
        moved=np.zeros((n_features, N_CODES), CURVE),
        pending=np.zeros(1, np.int64),
        factor=np.full(N_CODES, 1.0 if loss == LOGISTIC else 0.0, dtype),
    )
