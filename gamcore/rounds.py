"""How a round's histograms are made: from groups of rows, or from row-level bags.

Both end in the same second half of a step (`cut_bags`): the line of a feature's bins is cut for every bag, and the mean
of the trees, shrunk, is added to the feature's curve.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.executor import Executor
from gamcore.groups import RowList, bootstraps, subsamples, tour
from gamcore.kernels import N_CODES, histogram, rowbags, step
from gamcore.kernels.layout import CHAINS, LOGISTIC, Fit, Rows, Sets, Settings, Table, make_work
from gamcore.kernels.rowbags import RowLists

Floats = NDArray[np.floating]


class Rounds(Protocol):
    """Runs one round: a step on each feature, then greedy steps."""

    def run(self, n_greedy: int) -> None: ...


def choose(table: Table, fit: Fit, n_greedy: int) -> list[Callable[[], int]]:
    """The features of a round, each decided when its turn comes: first all, then those that gained most."""
    cyclic = [(lambda j=j: int(j)) for j in table.active]
    return [*cyclic, *[lambda: int(np.argmax(fit.gains))] * n_greedy]


class GroupedRounds:
    """Bags as sums of groups; serially a round is one compiled call; with threads, each fills its share."""

    def __init__(
        self, table: Table, rows: Rows, sets: Sets, fit: Fit, settings: Settings, executor: Executor | None = None
    ) -> None:
        dtype = rows.score.dtype.type
        self._table, self._rows, self._sets, self._fit, self._settings = table, rows, sets, fit, settings
        self._hist = np.zeros((sets.train.size, 2 * N_CODES), dtype)
        self._executor = executor
        n_shares = executor.n_workers if executor else 1
        fours = np.arange(0, sets.train.size, CHAINS)  # whole fours to a thread keep its chains apart
        self._shares = [slice(int(s[0]), int(s[-1]) + CHAINS) for s in np.array_split(fours, n_shares) if s.size]
        self._works = [make_work(settings.n_bags, settings.mart, dtype) for _ in self._shares]

    def run(self, n_greedy: int) -> None:
        """One cyclic pass and `n_greedy` greedy steps."""
        if self._executor is None or len(self._shares) == 1:
            arguments = (self._table, self._rows, self._sets, self._fit, self._settings, n_greedy)
            step.grouped_round(*arguments, self._works[0], self._hist)
            return
        for pick in choose(self._table, self._fit, n_greedy):
            feature = pick()
            self._executor.map(partial(self._fill, feature), range(len(self._shares)))
            step.grouped_trees(self._table, self._sets, feature, self._hist, self._fit, self._settings, self._works[0])

    def _fill(self, feature: int, k: int) -> None:
        share = self._shares[k]
        histogram.add_groups(
            self._table,
            self._rows,
            self._sets.train[share],
            self._fit,
            feature,
            self._settings.loss,
            self._works[k],
            self._hist[share],
        )


def join(lists: list[RowList], times: list[NDArray[np.uint8]] | None = None) -> RowLists:
    """Lists of rows laid end to end."""
    offsets = np.concatenate([[0], np.cumsum([rows.size for rows in lists])]).astype(np.int64)
    repeated = np.concatenate(times) if times else np.empty(0, np.uint8)
    return RowLists(np.concatenate(lists).astype(np.int32), offsets, repeated)


Fill = Callable[[NDArray[np.uint8], Floats, Floats, Floats], None]


def row_strategy(
    ensemble: str, strategy: str, rows: NDArray[np.int64], n_rows: int, n_bags: int, share: float, seed: int
) -> tuple[Fill, RowLists]:
    """The function that fills the bags' histograms, and the bags themselves.

    ensemble : "subagging" (drawn without replacement; `strategy` says how to add up) or "bagging" (bootstrap).
    rows : the training rows among the `n_rows` of the table.
    """
    if ensemble == "bagging":
        drawn = bootstraps(rows, n_bags, seed)
        lists = join([chosen for chosen, _ in drawn], [times for _, times in drawn])
        return (lambda code, g, h, out: rowbags.rescan(code, g, h, lists, out)), lists
    bags = subsamples(rows, n_bags, share, seed)
    lists = join(bags)
    if strategy == "rescan":
        return (lambda code, g, h, out: rowbags.rescan(code, g, h, lists, out)), lists
    if strategy == "complement":
        left_out = join([np.setdiff1d(rows, bag, True).astype(np.int32) for bag in bags])
        return (lambda code, g, h, out: rowbags.complement(code, g, h, left_out, out)), lists
    if strategy == "mst":
        walk = tour(bags)
        added, removed = join(walk.added), join(walk.removed)
        order, parent = walk.order, walk.parent
        return (lambda code, g, h, out: rowbags.walk_tree(code, g, h, order, parent, added, removed, out)), lists
    member = np.zeros((n_rows, n_bags), np.uint8)
    for b, bag in enumerate(bags):
        member[bag, b] = 1
    return (lambda code, g, h, out: _mask(code, g, h, member, out)), lists


def _mask(code: NDArray[np.uint8], g: Floats, h: Floats, member: NDArray[np.uint8], out: Floats) -> None:
    rowbags.masked(code, g, h, member, np.empty((N_CODES, 2, member.shape[1]), g.dtype), out)


class RowLevelRounds:
    """The paper's bags of rows: gradients of all rows first, then the bags' histograms by the chosen strategy."""

    def __init__(
        self,
        table: Table,
        rows: Rows,
        train: NDArray[np.int64],
        fit: Fit,
        settings: Settings,
        strategy: tuple[Fill, RowLists],
    ) -> None:
        dtype = rows.score.dtype.type
        self._table, self._rows, self._train, self._fit, self._settings = table, rows, train, fit, settings
        self._fill, lists = strategy
        self._gradient, self._hessian = (np.zeros(rows.score.size, dtype) for _ in range(2))
        self._work = make_work(settings.n_bags, settings.mart, dtype)
        self._total, self._weights = _row_weights(table, rows, train, lists, settings.n_bags)

    def run(self, n_greedy: int) -> None:
        """One cyclic pass and `n_greedy` greedy steps."""
        for pick in choose(self._table, self._fit, n_greedy):
            self._step(pick())

    def _step(self, feature: int) -> None:
        work, loss = self._work, self._settings.loss
        code = self._table.codes[feature]
        rowbags.row_gradients(self._table, self._rows, self._train, self._fit, loss, self._gradient, self._hessian)
        rowbags.add_all(code, self._gradient, self._hessian, loss, work.total)
        self._fill(code, self._gradient, self._hessian, work.bags)
        rowbags.clear_empty(self._weights[feature], work.bags)
        if loss != LOGISTIC:  # in squared loss the weights are the hessians
            work.bags[:, 1::2] = self._weights[feature]
            work.total[1::2] = self._total[feature]
        elif self._settings.mart:
            work.weights[:] = self._weights[feature]
        step.cut_bags(self._table, feature, self._fit, self._settings, work)


def _row_weights(
    table: Table, rows: Rows, train: NDArray[np.int64], lists: RowLists, n_bags: int
) -> tuple[Floats, Floats]:
    """Row weights a feature and bin: of all training rows (p, V), and of each bag (p, B, V)."""
    dtype = rows.score.dtype.type
    n_features = table.codes.shape[0]
    weight = rows.weight if rows.weight.size else np.ones(rows.score.size, dtype)
    groups = np.zeros((n_features, train.size, N_CODES), dtype)
    histogram.weigh_groups(table, rows.weight, train, groups)
    bags = np.empty((n_features, n_bags, N_CODES), dtype)
    both = np.empty((n_bags, 2 * N_CODES), dtype)
    for j in range(n_features):
        rowbags.rescan(table.codes[j], weight, weight, lists, both)
        bags[j] = both[:, ::2]
    return groups.sum(axis=1, dtype=np.float64), bags
