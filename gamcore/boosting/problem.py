"""What a refit is given: the numbers of a fit, rows in group order, and the groups that train and validate."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.rounds import MAX_BAGS, MAX_LEAVES, weigh_groups
from gamcore.data.sampling import Split
from gamcore.kernels import SUM
from gamcore.kernels.layout import CodedTable
from gamcore.model.losses import Loss

COARSE_ROWS: Final = 25_000
"""Rows from which coarse rounds pay: small tables are quick without, and three leaves follow their noise."""

COARSE_LEAVES: Final = 3

_COUNTING = threading.Lock()


def first_leaves(asked: int | str | None, n_rows: int) -> int:
    """Return the leaves of the first rounds' trees: as asked, by the number of rows where that is "auto", 0 for no such
    rounds."""
    if asked == "auto":
        return COARSE_LEAVES if n_rows >= COARSE_ROWS else 0
    return int(asked or 0)


@dataclass(frozen=True)
class Parameters:
    """Numbers of a fit, already checked; the estimators explain them."""

    ensemble: str
    histogram: str
    mart: bool
    n_bags: int
    subsample: float
    max_rounds: int
    learning_rate: float
    max_leaves: int
    greedy_ratio: float
    early_stopping_rounds: int
    smoothing_rounds: int = 0  # rounds with one cut per bag, anywhere, before all others
    coarse_leaves: int = 0  # leaves of the first rounds' trees; no such rounds unless more than max_leaves
    tolerance: float = 1e-5
    min_node_weight: float = 5.0  # rows' weight that a node needs to be cut
    min_node_hessian: float = 1.0  # the same for LogitBoost, which weighs rows by p (1 - p): rare classes must pass
    max_delta: float = 10.0  # the largest Newton step, where a loss has hessians
    dtype: type = SUM

    def __post_init__(self) -> None:
        # What kernels index without a look: an estimator checks it in better words, a caller that forgot to ends here.
        leaves = max(self.max_leaves, self.coarse_leaves)
        if not (self.max_leaves >= 1 and leaves <= MAX_LEAVES and 1 <= self.n_bags <= MAX_BAGS):
            raise ValueError(
                f"max_leaves must be 1 to {MAX_LEAVES} and n_bags 1 to {MAX_BAGS:,}; got {leaves} and {self.n_bags}."
            )


@dataclass(frozen=True)
class Problem:
    """A fit's data in group order: what all refits share."""

    table: CodedTable
    y: NDArray[np.float64]
    weight: NDArray[np.float64]  # (n,) or empty where all rows weigh 1
    loss: Loss

    @property
    def row_weight(self) -> NDArray[np.float64]:
        """Weights as an array of length n."""
        return self.weight if self.weight.size else np.ones(self.y.size)

    def needs_weight(self, parameters: Parameters) -> bool:
        """Return whether trees are split on, or divided by, row weights per bin; LogitBoost has hessians instead."""
        return parameters.mart or not self.loss.has_hessian

    @property
    def group_weight(self) -> NDArray[np.float64]:
        """Row weights per group and bin, (G, cells): counted once for all refits."""
        with _COUNTING:
            return self._group_weight

    @cached_property
    def _group_weight(self) -> NDArray[np.float64]:
        return weigh_groups(self.table, self.weight)


@dataclass(frozen=True)
class Share:
    """What one refit learns from."""

    problem: Problem
    split: Split

    def load(self) -> Share:
        """Itself: its rows are in memory."""
        return self


class LazyShare(Protocol):
    """A share whose rows may be elsewhere, on disk say: read again each time it is asked for. Plain data."""

    def load(self) -> Share:
        """Return the share with its rows in memory."""
        ...


Shares = Sequence[LazyShare]
"""The shares of all refits: of the same rows where memory holds them, else each of some of its own."""


def rows_of(table: CodedTable, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row numbers of some groups, ascending."""
    runs = [np.arange(table.starts[g], table.starts[g + 1]) for g in groups]
    return np.concatenate(runs) if runs else np.empty(0, np.int64)
