"""The arrays that kernels share, bundled so that kernels have few arguments.

Rows are stored in group order: the rows of group g are `starts[g] : starts[g + 1]` of every row array and of every line
of `codes`, so a pass over a group is one sequential read.

    codes[j]:  | group 0 ........ | group 1 ........ | ... | group G-1 ....... |
                ^starts[0]         ^starts[1]               ^starts[G-1]        ^starts[G] = n

A histogram is one line of bins. A *paired* histogram keeps the gradient and hessian of a bin side by side, so that
adding a row touches one cache line. If the hessians of a loss are the row weights, which never change, its histograms
hold gradients only.

    paired: | g0 h0 | g1 h1 | ... |  (2 V,)        else: | g0 | g1 | ... |  (V,)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes
from gamcore.kernels import CODE, CURVE, N_CODES, SUM, WIDE_CODE

if TYPE_CHECKING:
    from gamcore.kernels.losses import Form

CHUNK: Final = 512
"""Rows whose gradients are computed and used while still in the first-level cache."""

CHAINS: Final = 4
"""Groups that a pass interleaves: successive adds go to different histograms, so they need not wait for each other even
where a column has one heavy bin."""

_CACHE_LINE = 64
_PER_LINE = _CACHE_LINE // 4
"""Values of four bytes on a cache line."""


class CodedTable(NamedTuple):
    """The part of the data that never changes in a fit; shared by all refits.

    Lines of bytes are in `codes`. Those of wide features, whose codes need 16 bits, are in `wide`, and `line` tells
    which is where: k >= 0 is codes[k], k < 0 is wide[-1 - k]. Without wide features `line` is empty, and feature j has
    codes[j].
    """

    codes: Codes  # (p, n): bytes, or the 16 bits of a pair's cells
    starts: NDArray[np.int64]  # (G + 1,)
    last: NDArray[np.int64]  # (p,) K, the largest value code
    nominal: NDArray[np.bool_]  # (p,) whether codes have no order of their own
    active: NDArray[np.int64]  # features with at least two codes in use; the others keep f = 0
    line: NDArray[np.int64] = np.empty(0, np.int64)
    wide: Codes = np.empty((0, 0), CODE)  # (w, n)

    def of(self, feature: int) -> Codes:
        """Return the codes (n,) of a feature."""
        place = int(self.line[feature]) if self.line.size else feature
        line: Codes = self.codes[place] if place >= 0 else self.wide[-1 - place]
        return line

    def lines(self) -> list[Codes]:
        """Return the codes (n,) of every feature."""
        return [self.of(j) for j in range(self.last.size)]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    @property
    def n_codes(self) -> int:
        """V: at least one more than the largest code that a curve needs; whole cache lines."""
        return N_CODES if not self.line.size else max(N_CODES, -(-(int(self.last.max()) + 2) // _PER_LINE) * _PER_LINE)


class Rows(NamedTuple):
    """The state of each row in one refit; `score` is written in place."""

    score: NDArray[np.floating]  # (n,) or (2 n,) the state: see losses.py
    target: NDArray[np.uint8]  # (n,) the class, or empty where the loss has none
    weight: NDArray[np.floating]  # (n,) or empty where all rows weigh 1
    outcome: NDArray[np.float64] = np.empty(0)


class Sets(NamedTuple):
    """Training groups of one refit, the pool of bags over them, and what is summed per bin once, by bag.

    That is the row weights (for Poisson loss, the outcomes). Those of feature j are at `first[j] : first[j + 1]`, codes
    0 .. last[j]; where no kernel needs them (rows have two channels), `total` and `weight` have no cells.
    """

    train: NDArray[np.int64]  # (T,) groups
    member: NDArray[np.int64]  # (draws, B, groups per bag) indices into `train`
    first: NDArray[np.int64]  # (p + 1,)
    total: NDArray[np.float64]  # (cells,) of all training rows
    weight: NDArray[np.floating]  # (draws, B, cells)


class Fit(NamedTuple):
    """What boosting updates: the curves, and the last update, which the next pass over the rows applies."""

    curves: NDArray[np.float64]  # (p, V)
    gains: NDArray[np.float64]  # (p,) loss drop of each feature's last step
    steps: NDArray[np.int64]  # (p,) steps so far
    moved: NDArray[np.float64]  # (p, V) change since the validation rows were last brought up to date
    pending: NDArray[np.int64]  # (1,) feature of the last update
    factor: NDArray[np.floating]  # (V,) or (2 V,) by what a row's state changes: `losses.factors_of` the update
    signs: NDArray[
        np.int64
    ]  # (p, 2) 1 where a line may only rise along its codes, -1 only fall, 0 free; pairs have two


class Work(NamedTuple):
    """Scratch, one per thread."""

    gathered: NDArray[np.floating]  # (2 CHUNK,) factors of rows
    gradient: NDArray[np.floating]  # (CHAINS, 2 CHUNK) channels of rows, side by side if there are two
    bags: NDArray[np.floating]  # (B, 2 V) histogram of each bag
    prefix: NDArray[np.float64]  # (3, V) running sums along the line: gradient, denominator of leaves, weight (MART)
    value: NDArray[np.floating]  # (V,) loss reduction of each cut
    bits: NDArray[np.signedinteger]  # (V,) the same memory as integers
    ends: NDArray[np.int64]  # (L + 1,) leaf i holds the places ends[i] + 1 .. ends[i + 1]
    cuts: NDArray[np.int64]  # (L,) best cut of each leaf
    reductions: NDArray[np.float64]  # (L,) its reduction
    total: NDArray[np.float64]  # (2, V) gradient and hessian of all training rows, by code
    order: Codes  # (V,) the line: the code at its k-th place
    update: NDArray[np.float64]  # (V,) sum of the bags' trees, by place
    slack: NDArray[np.float64]  # (V,) of a curve with a sign: how far it moves the right way after each place


class Settings(NamedTuple):
    """Scalars of a fit."""

    loss: Form
    mart: bool  # logistic: split on row weights (Algorithm 2) instead of hessians (Algorithm 5)
    learning_rate: float
    max_leaves: int
    min_node_weight: float  # a node no heavier than this is not cut
    max_delta: float  # largest leaf value before the learning rate
    n_bags: int
    random: bool = False  # smoothing rounds: cut each line once, at a random place
    seed: int = 0  # of those random cuts
    bend: float = 1.0  # what the penalties of smoothers are multiplied by


def aligned(shape: tuple[int, ...], dtype: type) -> Any:
    """Return zeros that begin on a cache line: vector reads that straddle two lines cost about a quarter of the time in
    which a step combines histograms."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + _CACHE_LINE, np.uint8)
    begin = -raw.ctypes.data % _CACHE_LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)


def make_work(n_bags: int, max_leaves: int, dtype: type = SUM, n_codes: int = N_CODES) -> Work:
    """Return scratch for one thread."""
    value = aligned((n_codes,), dtype)
    return Work(
        gathered=aligned((2 * CHUNK,), dtype),
        gradient=aligned((CHAINS, 2 * CHUNK), dtype),
        bags=aligned((n_bags, 2 * n_codes), dtype),
        prefix=aligned((3, n_codes), CURVE),
        value=value,
        bits=value.view(np.int32 if value.itemsize == 4 else np.int64),
        ends=np.zeros(max_leaves + 1, np.int64),
        cuts=np.zeros(max_leaves, np.int64),
        reductions=np.zeros(max_leaves, CURVE),
        total=np.zeros((2, n_codes), CURVE),
        order=np.arange(n_codes, dtype=CODE if n_codes <= N_CODES else WIDE_CODE),
        update=aligned((n_codes,), CURVE),
        slack=np.zeros(n_codes, CURVE),
    )


def make_fit(n_features: int, no_change: float, dtype: type = SUM, n_codes: int = N_CODES, n_states: int = 1) -> Fit:
    """Return a fit before its first step: flat curves, and a pending update that changes nothing."""
    return Fit(
        curves=np.zeros((n_features, n_codes), CURVE),
        gains=np.full(n_features, -np.inf, CURVE),
        steps=np.zeros(n_features, np.int64),
        moved=np.zeros((n_features, n_codes), CURVE),
        pending=np.zeros(1, np.int64),
        factor=np.full(n_states * n_codes, no_change, dtype),
        signs=np.zeros((n_features, 2), np.int64),
    )
