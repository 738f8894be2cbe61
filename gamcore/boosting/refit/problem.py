"""The inputs of a refit: its parameters, rows in group order, and training and validation groups."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import Counting, CountPlan, pays
from gamcore.boosting.counts.whole_numbers import Piece
from gamcore.boosting.refit.learners import Learner
from gamcore.boosting.refit.rounds import MAX_BAGS, MAX_LEAVES, first_cells, weigh_groups
from gamcore.common.numbers import count
from gamcore.data.sampling import Split
from gamcore.kernels import SUM
from gamcore.kernels.layout import CodedTable
from gamcore.model.losses import Loss

COARSE_ROWS: Final = 25_000
"""Rows from which coarse rounds pay: small tables are fast without them, and three leaves would fit their noise."""

COARSE_LEAVES: Final = 3

LATE_LEAVES: Final = 6
"""Leaves of the trees that go on where a target is nearly free of noise."""

SMALL_ROUNDS: Final = 5
"""Rounds of small steps; twice as many were no better."""

_COUNTING = threading.Lock()


def first_leaves(asked: int | str | None, n_rows: int) -> int:
    """Return the leaves of the coarse rounds' trees: as requested, or for "auto" by the number of rows; 0 for none."""
    if asked == "auto":
        return COARSE_LEAVES if n_rows >= COARSE_ROWS else 0
    return int(asked or 0)


@dataclass(frozen=True)
class Parameters:
    """Parameters of a fit, already checked; the estimators document them."""

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
    smoothing_rounds: int = 0  # rounds with one random cut per bag, before all others
    small_rounds: int = 0  # rounds of small steps, before the coarse ones
    coarse_leaves: int = 0  # leaves of the coarse rounds' trees; no such rounds unless more than max_leaves
    late_bags: int = 0  # bags of the later rounds of several classes, all of the same rows; as many as before if 0
    late_leaves: int = 0  # leaves once little loss is left; no such rounds unless more than max_leaves
    tolerance: float = 1e-5
    min_node_weight: float = 5.0  # row weight that a node needs to be cut
    min_node_hessian: float = 1.0  # the same for LogitBoost, whose hessians p (1 - p) are small for rare classes
    max_delta: float = 10.0  # the largest Newton step, where a loss has hessians
    dtype: type = SUM
    learners: tuple[Learner | None, ...] = ()  # of each feature, None for trees; empty if all are
    order: str = "cyclic"  # or greedy: steps go to the curve that gains most
    signs: tuple[int, ...] = ()  # of each feature 1 where its curve may only rise, -1 only fall; empty if all are free

    def __post_init__(self) -> None:
        # Kernels index by these without bounds checks. Estimators check them with clearer messages.
        leaves = max(self.max_leaves, self.coarse_leaves, self.late_leaves)
        if not (self.max_leaves >= 1 and leaves <= MAX_LEAVES and 1 <= self.n_bags <= MAX_BAGS):
            raise ValueError(
                f"max_leaves must be 1 to {MAX_LEAVES} and n_bags 1 to {count(MAX_BAGS)}; "
                f"got {leaves} and {self.n_bags}."
            )

    def steep(self) -> Parameters:
        """Return parameters that suit steep shapes: small steps come first, instead of smoothing rounds."""
        return replace(self, smoothing_rounds=0, small_rounds=SMALL_ROUNDS)


@dataclass(frozen=True)
class Problem:
    """The data of a fit in group order; refits with the same rows share it."""

    table: CodedTable
    y: NDArray[np.float64]  # (n,) targets; codes of the classes where there are several
    weight: NDArray[np.float64]  # (n,) or empty where all rows weigh 1
    loss: Loss
    offset: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # (n,) or empty where it is 0
    base: float | None = None  # the score of the best constant, if it is known
    whole: bool = True  # whether all refits have these rows

    def of_class(self, k: int) -> Problem:
        """Return the problem of one of several classes against the others."""
        if k not in self._of_classes:
            offset = np.ascontiguousarray(self.offset[:, k]) if self.offset.size else self.offset
            against_rest = Problem(self.table, (self.y == k).astype(np.float64), self.weight, self.loss, offset)
            self._of_classes[k] = against_rest
        return self._of_classes[k]

    @cached_property
    def _of_classes(self) -> dict[int, Problem]:
        return {}

    @property
    def n_rows(self) -> int:
        """Rows that were dealt into groups."""
        return self.y.size

    @property
    def row_weight(self) -> NDArray[np.float64]:
        """Weights as an array of length n."""
        return self.weight if self.weight.size else np.ones(self.y.size)

    def needs_weight(self, parameters: Parameters) -> bool:
        """Return whether trees need what is summed per bin once; rows with two channels do not, except with MART."""
        return parameters.mart or not self.loss.is_paired

    def base_score(self, rows: NDArray[np.int64] | slice) -> float:
        """Return the score of the best constant for some rows; an infinite one would swamp the mean of refits."""
        if self.base is not None:
            return self.base
        rows = rows if self.loss.is_bounded(self.y[rows]) else slice(None)
        offset = self.offset[rows] if self.offset.size else 0.0
        return self.loss.base_score(self.y[rows], self.row_weight[rows], offset)

    def score_from(self, base: float) -> NDArray[np.float64]:
        """Return the score that curves are added to: (n,), or (1,) if it is the same for all rows."""
        return base + self.offset if self.offset.size else np.array([base])

    @cached_property
    def unit(self) -> float:
        """What targets are divided by."""
        return self.loss.unit_of(self.y, self.row_weight)

    @cached_property
    def constant(self) -> NDArray[np.float64]:
        """What is summed per bin once, beside the rows' only channel: (n,), or empty if 1 for all rows."""
        return self.loss.constant(self.y, self.weight, self.unit)

    def on_tables(self, parameters: Parameters) -> bool:
        """Return whether refits are boosted from counts of bin pairs instead of rows."""
        if not self.whole or any(parameters.learners) or parameters.order == "greedy":
            return False
        sizes = [int(last) + 1 for last in self.table.last[self.table.active]]
        n_groups, is_weighted = self.table.starts.size - 1, self.weight.size > 0
        return pays(self.y.size, sizes, n_groups, self.loss, ensemble=parameters.ensemble, is_weighted=is_weighted)

    def least_node(self, parameters: Parameters) -> float:
        """Return the weight that a node needs to be cut."""
        if parameters.mart:
            return parameters.min_node_weight
        events = float(np.mean(self.y > 0)) if self.y.size else 1.0
        return self.loss.least_node(parameters.min_node_weight, parameters.min_node_hessian, events)

    @property
    def group_weight(self) -> NDArray[np.float64]:
        """`constant`, summed per group and bin, (G, cells); computed once for all refits."""
        with _COUNTING:
            return self._group_weight

    @property
    def counting(self) -> Counting:
        """Counts of its bin pairs, made once for all refits."""
        with _COUNTING:
            return self._counting

    @cached_property
    def _counting(self) -> Counting:
        def pieces() -> Iterable[Piece]:
            yield Piece(self.table.codes, self.table.starts, (self._given - self.centre) / self.spread, self.weight)

        return Counting(pieces, CountPlan(self.table.last, self.table.active, self.table.starts.size - 1, self.y.size))

    @cached_property
    def _given(self) -> NDArray[np.float64]:
        """Targets less what is given of their scores."""
        return self.y - self.offset if self.offset.size else self.y

    @cached_property
    def spread(self) -> float:
        """What targets are divided by before they are summed, so that squares neither overflow nor vanish."""
        centred = self._given - self.centre
        largest = float(np.max(np.abs(centred))) or 1.0
        return largest * float(np.std(centred / largest)) or 1.0

    @cached_property
    def centre(self) -> float:
        """The mean of the targets less what is given, from which sums are taken so that none cancel."""
        return float(self._given.mean())

    @cached_property
    def table_weight(self) -> NDArray[np.float64]:
        """`group_weight` as the tables know it."""
        tables, (first, groups) = self.counting.tables(), (first_cells(self.table), self.table.starts.size - 1)
        out = np.zeros((groups, int(first[-1])))
        for m in self.table.active:
            mine = tables.weight[tables.place[m] : tables.place[m + 1]].reshape(groups, tables.pitch[m])
            out[:, first[m] : first[m + 1]] = mine[:, : first[m + 1] - first[m]]
        return out

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what was counted can be counted again."""
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}

    @cached_property
    def _group_weight(self) -> NDArray[np.float64]:
        return weigh_groups(self.table, self.constant)


@dataclass(frozen=True, kw_only=True)
class Counted(Problem):
    """Rows that are known by their counts alone: there are none, so refits are boosted from tables.

    count : returns the counts, when they are first asked for. mean_weight : of a row, in the unit of the counts.
    """

    y: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    weight: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    count: Callable[[], Counting]
    mean_weight: float = 1.0

    def on_tables(self, parameters: Parameters) -> bool:
        """Return True: there are no rows."""
        return True

    @property
    def n_rows(self) -> int:
        """Rows that are counted."""
        return self.counting.plan.n_rows

    def least_node(self, parameters: Parameters) -> float:
        """Return the weight that a node needs to be cut, in the unit of the counts."""
        return super().least_node(parameters) * self.mean_weight

    @cached_property
    def _counting(self) -> Counting:
        return self.count()

    @property
    def centre(self) -> float:
        """What targets are counted from."""
        return self.counting.plan.centre

    @property
    def spread(self) -> float:
        """What targets are divided by before they are counted."""
        return self.counting.plan.spread


@dataclass(frozen=True)
class Share:
    """The rows of one refit, and their split."""

    problem: Problem
    split: Split

    def load(self) -> Share:
        """Return the share itself: its rows are in memory."""
        return self


class LazyShare(Protocol):
    """A share whose rows may be on disk; if so, every `load` reads them again. Plain data."""

    def load(self) -> Share:
        """Return the share with its rows in memory."""
        ...


Shares = Sequence[LazyShare]
"""The shares of all refits: of the same rows if these fit into memory, else each with its own part of them."""


def rows_of(table: CodedTable, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of some groups, ascending if the groups are."""
    runs = [np.arange(table.starts[g], table.starts[g + 1]) for g in groups]
    return np.concatenate(runs) if runs else np.empty(0, np.int64)
