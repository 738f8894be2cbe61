"""How a round's histograms are made: from groups of rows, or from row-level bags.

Both end in the same second half of a step: the line of a feature's bins is cut for every bag, and the mean of the
trees, shrunk, is added to the feature's curve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.executor import Executor
from gamcore.data.sampling import RowList, bag_pool, bootstraps, subsamples, tour
from gamcore.kernels import N_CODES, histogram
from gamcore.kernels import curve_step as step
from gamcore.kernels import subagging as rowbags
from gamcore.kernels import subagging_masks as rowmask
from gamcore.kernels.early_stopping import Course, Rule, grouped_rounds, judge, validate
from gamcore.kernels.layout import LOGISTIC, SQUARED, Fit, Rows, Sets, Settings, Table, Work, aligned, make_work
from gamcore.kernels.subagging import RowLists

MAX_BAGS: Final = 1_000
MAX_LEAVES: Final = 64
"""Leaves that a tree may have."""

Floats = NDArray[np.floating]


class Rounds(Protocol):
    """Runs rounds: a step a feature, `n_greedy` steps on those that gained most, validation, and the stop rule."""

    def run(self, settings: Settings, n_greedy: int, rule: Rule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """At most `n_rounds` rounds; how many were run, and whether the refit has stalled."""
        ...


class _StepwiseRounds:
    """Rounds whose steps are calls of their own."""

    def __init__(self, table: Table, rows: Rows, fit: Fit) -> None:
        self._table, self._rows, self._fit = table, rows, fit

    def run(self, settings: Settings, n_greedy: int, rule: Rule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """At most `n_rounds` rounds; how many were run, and whether the refit has stalled."""
        table, fit = self._table, self._fit
        for k in range(n_rounds):
            for j in table.active:
                self.step(int(j), settings)
            for _ in range(n_greedy):
                self.step(int(np.argmax(fit.gains)), settings)
            course.history[k] = validate(table, self._rows, fit, settings.loss, course)
            if judge(course.history[k], fit, rule, course):
                return k + 1, True
        return n_rounds, False

    def step(self, feature: int, settings: Settings) -> None:
        """One step on one feature."""
        raise NotImplementedError


def first_cells(table: Table) -> NDArray[np.int64]:
    """Where the bins of each feature stand when they are laid end to end: (p + 1,)."""
    return np.concatenate([[0], np.cumsum(table.last + 1)]).astype(np.int64)


def weigh_groups(table: Table, weight: Floats) -> NDArray[np.float64]:
    """Row weights of each group a bin, (G, cells); `weight` is (n,), or empty where all rows weigh 1."""
    first = first_cells(table)
    out = np.empty((table.starts.size - 1, int(first[-1])))
    histogram.weigh_groups(table, weight, first, out)
    return out


def make_sets(
    table: Table,
    train: NDArray[np.int64],
    group_weight: NDArray[np.float64] | None,
    subsample: float,
    n_bags: int,
    seed: int,
    dtype: type,
) -> Sets:
    """The pool of bags over the training groups, with their weights a bin where `group_weight` (G, cells) is given."""
    member = bag_pool(train.size, subsample, n_bags, seed)
    draws = member.shape[0]
    if group_weight is None:
        return Sets(train, member, first_cells(table), np.empty(0), np.empty((draws, n_bags, 0), dtype))
    total = group_weight[train].sum(axis=0)
    mine: Floats = group_weight[train].astype(dtype)
    weight = np.empty((draws, n_bags, total.size), dtype)
    for draw, bag in np.ndindex(draws, n_bags):  # not a matrix product: its library's threads would wait in a busy loop
        histogram.combine(mine, member[draw, bag], total.size, weight[draw, bag])
    return Sets(train, member, first_cells(table), total, weight)


class GroupedRounds:
    """Bags as sums of groups; many rounds are one compiled call."""

    def __init__(self, table: Table, rows: Rows, sets: Sets, fit: Fit, settings: Settings) -> None:
        dtype = rows.score.dtype.type
        self._table, self._rows, self._sets, self._fit = table, rows, sets, fit
        self._buffer = aligned((sets.train.size * 2 * N_CODES,), dtype)
        self._work = make_work(settings.n_bags, MAX_LEAVES, dtype)

    def run(self, settings: Settings, n_greedy: int, rule: Rule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """At most `n_rounds` rounds; how many were run, and whether the refit has stalled."""
        data = (self._table, self._rows, self._sets, self._fit)
        ran, stalled = grouped_rounds(*data, settings, n_greedy, self._work, self._buffer, rule, course, n_rounds)
        return int(ran), bool(stalled)


class ThreadedRounds(_StepwiseRounds):
    """The same with the groups of a step shared between threads: each fills its own histograms, so the bits stay."""

    def __init__(self, table: Table, rows: Rows, sets: Sets, fit: Fit, settings: Settings, executor: Executor) -> None:
        super().__init__(table, rows, fit)
        dtype = rows.score.dtype.type
        self._sets, self._executor = sets, executor
        self._buffer = aligned((sets.train.size * 2 * N_CODES,), dtype)
        n_shares = min(executor.n_workers, sets.train.size)
        shares = [slice(int(s[0]), int(s[-1]) + 1) for s in np.array_split(np.arange(sets.train.size), n_shares)]
        self._shares = [(share, make_work(settings.n_bags, MAX_LEAVES, dtype)) for share in shares]

    def step(self, feature: int, settings: Settings) -> None:
        """One step on one feature."""
        table, fit, sets = self._table, self._fit, self._sets
        hist = histogram.lines(self._buffer, sets.train.size, histogram.width(table.last[feature], settings.loss))

        def fill(share: tuple[slice, Work]) -> None:
            groups, work = sets.train[share[0]], share[1]
            histogram.add_groups(table, self._rows, groups, fit, feature, settings.loss, work, hist[share[0]])

        self._executor.map(fill, self._shares)
        step.grouped_trees(table, sets, feature, hist, fit, settings, self._shares[0][1])


def join(lists: list[RowList], times: list[NDArray[np.uint8]] | None = None) -> RowLists:
    """Lists of rows laid end to end."""
    offsets = np.concatenate([[0], np.cumsum([rows.size for rows in lists])]).astype(np.int64)
    repeated = np.concatenate(times) if times else np.empty(0, np.uint8)
    return RowLists(np.concatenate(lists).astype(np.int32), offsets, repeated)


def membership(table: Table, rows: NDArray[np.int64], bags: list[RowList]) -> rowmask.Membership:
    """The training rows in the order of each feature's bins, filled up to whole lanes, and the bags that hold them."""
    inside = np.zeros((len(bags), table.codes.shape[1]), bool)
    for line, bag in zip(inside, bags, strict=True):
        line[bag] = True
    held = np.packbits(inside, axis=0, bitorder="little")
    ends = np.zeros((table.codes.shape[0], N_CODES + 1), np.int64)
    by_bin, words = [], []
    for j, line in enumerate(table.codes):
        sorted_rows = rows[np.argsort(line[rows], kind="stable")]
        code = line[sorted_rows]
        size = np.bincount(code, minlength=N_CODES)
        ends[j, 1:] = np.cumsum(-(-size // rowmask.LANES) * rowmask.LANES)
        place = np.arange(rows.size) + (ends[j, :-1] - np.cumsum(size) + size)[code]
        order = np.zeros(ends[j, -1], np.int32)
        word = np.zeros((held.shape[0], ends[j, -1]), np.uint8)
        order[place] = sorted_rows
        word[:, place] = held[:, sorted_rows]
        by_bin.append(order)
        words.append(word)
    return rowmask.Membership(tuple(by_bin), tuple(words), ends)


Fill = Callable[[int, Floats, Floats], None]
"""Fills the bags' histograms (B, 2 V) of a feature from the rows' gradients."""


def row_strategy(
    table: Table,
    ensemble: str,
    strategy: str,
    rows: NDArray[np.int64],
    n_bags: int,
    share: float,
    seed: int,
    loss: int,
    dtype: type,
) -> tuple[Fill, RowLists]:
    """The function that fills the bags' histograms, and the bags themselves.

    ensemble : "subagging" (drawn without replacement; `strategy` says how to add up) or "bagging" (bootstrap).
    rows : the training rows.
    """
    codes = table.codes
    if ensemble == "bagging":
        drawn = bootstraps(rows, n_bags, seed)
        lists = join([chosen for chosen, _ in drawn], [times for _, times in drawn])
        return (lambda j, gradient, out: rowbags.rescan(codes[j], gradient, loss, lists, out)), lists
    bags = subsamples(rows, n_bags, share, seed)
    lists = join(bags)
    if strategy == "rescan":
        return (lambda j, gradient, out: rowbags.rescan(codes[j], gradient, loss, lists, out)), lists
    if strategy == "complement":
        left_out = join([np.setdiff1d(rows, bag, True).astype(np.int32) for bag in bags])
        return (lambda j, gradient, out: rowbags.complement(codes[j], gradient, loss, left_out, out)), lists
    if strategy == "mst":
        walk = tour(bags)
        tree = (walk.order, walk.parent, join(walk.added), join(walk.removed))
        return (lambda j, gradient, out: rowbags.walk_tree(codes[j], gradient, loss, *tree, out)), lists
    member, run = membership(table, rows, bags), aligned((2, rowmask.RUN), dtype)

    def mask(j: int, gradient: Floats, out: Floats) -> None:
        rowmask.masked(member.by_bin[j], member.words[j], member.ends[j], gradient, loss, run, out)

    return mask, lists


class RowLevelRounds(_StepwiseRounds):
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
        super().__init__(table, rows, fit)
        dtype = rows.score.dtype.type
        self._train = train
        self._fill, lists = strategy
        each = 2 if settings.loss == LOGISTIC else 1
        self._gradient = np.zeros(each * rows.score.size, dtype)
        self._line = np.zeros(2 * N_CODES)
        self._work = make_work(settings.n_bags, MAX_LEAVES, dtype)
        self._first = first_cells(table)
        self._total = weigh_groups(table, rows.weight)[train].sum(axis=0)
        self._weights = _bag_weights(table, rows, lists, self._first, settings.n_bags)

    def step(self, feature: int, settings: Settings) -> None:
        """One step on one feature."""
        work, table = self._work, self._table
        rowbags.row_gradients(table, self._rows, self._train, self._fit, settings.loss, work, self._gradient)
        rowbags.add_all(table.codes[feature], self._gradient, settings.loss, self._line, work.total)
        self._fill(feature, self._gradient, work.bags)
        cells = slice(self._first[feature], self._first[feature + 1])
        weight = self._weights[:, cells]
        rowbags.clear_empty(weight, settings.loss, work.bags)
        if settings.loss != LOGISTIC:
            work.total[1, : table.last[feature] + 1] = self._total[cells]
        step.cut_bags(table, feature, weight, self._fit, settings, work)


def _bag_weights(table: Table, rows: Rows, lists: RowLists, first: NDArray[np.int64], n_bags: int) -> Floats:
    """Row weights of each bag a bin: (B, cells)."""
    dtype = rows.score.dtype.type
    weight = rows.weight if rows.weight.size else np.ones(rows.score.size, dtype)
    bags = np.empty((n_bags, int(first[-1])), dtype)
    line = np.empty((n_bags, N_CODES), dtype)
    for j, code in enumerate(table.codes):
        rowbags.rescan(code, weight, SQUARED, lists, line)
        bags[:, first[j] : first[j + 1]] = line[:, : first[j + 1] - first[j]]
    return bags
