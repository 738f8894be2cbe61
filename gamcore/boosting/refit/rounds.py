"""Rounds of boosting, with histograms from groups of rows or from row-level bags.

The second half of a step is the same for both: the line of a feature's bins is cut for each bag, and the shrunken mean
of the trees is added to the feature's curve.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.running.executor import Executor
from gamcore.data.sampling import bag_pool
from gamcore.kernels import curve_step as step
from gamcore.kernels import histogram
from gamcore.kernels.early_stopping import Course, StopRule, grouped_rounds, judge, validate
from gamcore.kernels.layout import CodedTable, Fit, Rows, Sets, Settings, Work, aligned, make_work
from gamcore.kernels.losses import is_paired
from gamcore.kernels.smoothers import TREES, Smoothers, smooth_step

MAX_BAGS: Final = 1_000
MAX_LEAVES: Final = 64
"""Most leaves of a tree."""

Reals = NDArray[np.floating]


class Rounds(Protocol):
    """Runs rounds: a step per feature, `n_greedy` steps on those that gained most, validation, and the stop rule."""

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        ...


class StepwiseRounds:
    """Rounds in which each step is a separate call."""

    def __init__(self, table: CodedTable, rows: Rows, fit: Fit) -> None:
        self._table, self._rows, self._fit = table, rows, fit

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        for k in range(n_rounds):
            self.round(settings, n_greedy)
            course.history[k] = validate(self._table, self._rows, self._fit, settings.loss, course)
            if judge(self.criterion(course.history[k], settings), self._fit, rule, course):
                return k + 1, True
        return n_rounds, False

    def round(self, settings: Settings, n_greedy: int) -> None:
        """Make a step on each feature, and `n_greedy` steps on those whose last step gained most."""
        for j in self._table.active:
            self.step(int(j), settings)
        for _ in range(n_greedy):
            self.step(int(np.argmax(self._fit.gains)), settings)

    def criterion(self, valid_loss: float, settings: Settings) -> float:
        """Return what the best round has the least of, given the validation loss, NaN where there are no such rows."""
        return valid_loss

    def step(self, feature: int, settings: Settings) -> None:
        """Make one step on one feature."""
        raise NotImplementedError


def first_cells(table: CodedTable) -> NDArray[np.int64]:
    """Return the offset of each feature's bins when all bins are laid end to end: (p + 1,)."""
    return np.concatenate([[0], np.cumsum(table.last + 1)]).astype(np.int64)


def weigh_groups(table: CodedTable, weight: Reals) -> NDArray[np.float64]:
    """Return row weights (or what else is summed once) per group and bin, (G, cells).

    weight : (n,), or empty if all rows weigh 1.
    """
    first = first_cells(table)
    out = np.empty((table.starts.size - 1, int(first[-1])))
    for j, group in np.ndindex(table.last.size, out.shape[0]):
        rows = slice(table.starts[group], table.starts[group + 1])
        weights = weight[rows] if weight.size else None
        out[group, first[j] : first[j + 1]] = np.bincount(table.of(j)[rows], weights, first[j + 1] - first[j])
    return out


def make_sets(
    table: CodedTable,
    train: NDArray[np.int64],
    group_weight: NDArray[np.float64] | None,
    subsample: float,
    n_bags: int,
    seed: int,
    dtype: type,
) -> Sets:
    """Return the pool of bags over the training groups, with weights per bin if `group_weight` (G, cells) is given."""
    member = bag_pool(train.size, subsample, n_bags, seed)
    draws = member.shape[0]
    if group_weight is None:
        return Sets(train, member, first_cells(table), np.empty(0), np.empty((draws, n_bags, 0), dtype))
    total = group_weight[train].sum(axis=0)
    mine: Reals = group_weight[train].astype(dtype)
    weight = np.empty((draws, n_bags, total.size), dtype)
    for draw, bag in np.ndindex(draws, n_bags):  # not a matrix product: the threads of its library would busy-wait
        histogram.combine(mine, member[draw, bag], total.size, weight[draw, bag])
    return Sets(train, member, first_cells(table), total, weight)


class GroupedRounds:
    """Rounds with bags as sums of groups; one compiled call runs many rounds."""

    def __init__(self, table: CodedTable, rows: Rows, sets: Sets, fit: Fit, settings: Settings) -> None:
        dtype = rows.score.dtype.type
        self._table, self._rows, self._sets, self._fit = table, rows, sets, fit
        self._buffer = aligned((sets.train.size * 2 * table.n_codes,), dtype)
        self._work = make_work(settings.n_bags, MAX_LEAVES, dtype, table.n_codes)

    def run(self, settings: Settings, n_greedy: int, rule: StopRule, course: Course, n_rounds: int) -> tuple[int, bool]:
        """Run at most `n_rounds` rounds; return how many were run, and whether the refit has stalled."""
        ran, stalled = grouped_rounds(
            self._table, self._rows, self._sets, self._fit, settings, n_greedy, self._work, self._buffer,
            rule, course, n_rounds,
        )  # fmt: skip
        return int(ran), bool(stalled)


class GroupSteps(StepwiseRounds):
    """Rounds of separate steps, with bags as sums of groups."""

    def __init__(self, table: CodedTable, rows: Rows, sets: Sets, fit: Fit) -> None:
        super().__init__(table, rows, fit)
        self._sets, self._dtype = sets, rows.score.dtype.type
        self._buffer = aligned((sets.train.size * 2 * table.n_codes,), self._dtype)

    def lines(self, feature: int, settings: Settings) -> Reals:
        """Return room for the groups' histograms of a feature."""
        width = histogram.width(self._table.last[feature], is_paired(settings.loss))
        return histogram.lines(self._buffer, self._sets.train.size, width)


class SmoothRounds(GroupSteps):
    """Grouped rounds in which some curves are learnt by smoothers. They are apart from the others, which compile
    without them."""

    def __init__(
        self, table: CodedTable, rows: Rows, sets: Sets, fit: Fit, settings: Settings, smoothers: Smoothers
    ) -> None:
        super().__init__(table, rows, sets, fit)
        self._smoothers = smoothers
        self._work = make_work(settings.n_bags, MAX_LEAVES, self._dtype, table.n_codes)

    def step(self, feature: int, settings: Settings) -> None:
        """Make one step on one feature."""
        self.update(feature, self.histogram(feature, settings), self._fit, settings)

    def histogram(self, feature: int, settings: Settings) -> Reals:
        """Apply the pending update, and return the groups' histograms of a feature."""
        hist = self.lines(feature, settings)
        histogram.add_groups(
            self._table, self._rows, self._sets.train, self._fit, feature, settings.loss, self._work, hist
        )
        return hist

    def update(self, feature: int, hist: Reals, fit: Fit, settings: Settings) -> None:
        """Add to a feature's curve in `fit` what the histograms ask for."""
        if self._smoothers.kind[feature] == TREES:
            step.grouped_trees(self._table, self._sets, feature, hist, fit, settings, self._work)
        else:
            smooth_step(self._table, self._sets, feature, hist, self._smoothers, fit, settings, self._work)


class ThreadedRounds(GroupSteps):
    """Grouped rounds with the groups of a step shared between threads; the results are the same to the bit."""

    def __init__(
        self, table: CodedTable, rows: Rows, sets: Sets, fit: Fit, settings: Settings, executor: Executor
    ) -> None:
        super().__init__(table, rows, sets, fit)
        self._executor = executor
        n_shares = min(executor.n_workers, sets.train.size)
        shares = [slice(int(s[0]), int(s[-1]) + 1) for s in np.array_split(np.arange(sets.train.size), n_shares)]
        self._shares = [(share, make_work(settings.n_bags, MAX_LEAVES, self._dtype, table.n_codes)) for share in shares]

    def step(self, feature: int, settings: Settings) -> None:
        """Make one step on one feature."""
        table, fit, sets = self._table, self._fit, self._sets
        hist = self.lines(feature, settings)

        def fill(share: tuple[slice, Work]) -> None:
            groups, work = sets.train[share[0]], share[1]
            histogram.add_groups(table, self._rows, groups, fit, feature, settings.loss, work, hist[share[0]])

        self._executor.map(fill, self._shares)
        step.grouped_trees(table, sets, feature, hist, fit, settings, self._shares[0][1])
