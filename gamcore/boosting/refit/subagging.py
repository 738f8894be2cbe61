"""Bags of rows as in the papers: subsamples, with one of four histogram strategies, and the bootstrap.

For studies only: bags of row groups (`rounds.GroupedRounds`) give equivalent models in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.rounds import MAX_LEAVES, Reals, StepwiseRounds, first_cells, weigh_groups
from gamcore.data.sampling import RowList, bootstraps, subsamples, tour
from gamcore.kernels import curve_step as step
from gamcore.kernels import subagging as rowbags
from gamcore.kernels import subagging_masks
from gamcore.kernels.layout import CodedTable, Fit, Rows, Settings, aligned, make_work
from gamcore.kernels.losses import is_paired
from gamcore.kernels.subagging import RowLists


def join(lists: list[RowList], times: list[NDArray[np.uint8]] | None = None) -> RowLists:
    """Lay lists of rows end to end."""
    offsets = np.concatenate([[0], np.cumsum([rows.size for rows in lists])]).astype(np.int64)
    repeated = np.concatenate(times) if times else np.empty(0, np.uint8)
    return RowLists(np.concatenate(lists).astype(np.int32), offsets, repeated)


def membership(table: CodedTable, rows: NDArray[np.int64], bags: list[RowList]) -> subagging_masks.Membership:
    """Return the training rows sorted by each feature's bins, padded to whole lanes, and the bags that hold them."""
    inside = np.zeros((len(bags), table.n_rows), bool)
    for line, bag in zip(inside, bags, strict=True):
        line[bag] = True
    held = np.packbits(inside, axis=0, bitorder="little")
    ends = np.zeros((table.last.size, table.n_codes + 1), np.int64)
    by_bin, words = [], []
    for j, line in enumerate(table.lines()):
        sorted_rows = rows[np.argsort(line[rows], kind="stable")]
        code = line[sorted_rows]
        size = np.bincount(code, minlength=table.n_codes)
        ends[j, 1:] = np.cumsum(-(-size // subagging_masks.LANES) * subagging_masks.LANES)
        place = np.arange(rows.size) + (ends[j, :-1] - np.cumsum(size) + size)[code]
        order = np.zeros(ends[j, -1], np.int32)
        word = np.zeros((held.shape[0], ends[j, -1]), np.uint8)
        order[place] = sorted_rows
        word[:, place] = held[:, sorted_rows]
        by_bin.append(order)
        words.append(word)
    return subagging_masks.Membership(tuple(by_bin), tuple(words), ends)


Fill = Callable[[int, Reals, Reals], None]
"""Fills the bags' histograms (B, 2 V) of a feature from the row gradients."""


def row_strategy(
    table: CodedTable,
    ensemble: str,
    strategy: str,
    rows: NDArray[np.int64],
    n_bags: int,
    share: float,
    seed: int,
    paired: bool,
    dtype: type,
) -> tuple[Fill, RowLists]:
    """Return the function that fills the bags' histograms, and the bags themselves.

    ensemble : "subagging" (without replacement; `strategy` says how to sum) or "bagging" (bootstrap).
    rows : the training rows.
    """
    codes = table.lines()
    if ensemble == "bagging":
        drawn = bootstraps(rows, n_bags, seed)
        lists = join([chosen for chosen, _ in drawn], [times for _, times in drawn])
        return (lambda j, gradient, out: rowbags.rescan(codes[j], gradient, paired, lists, out)), lists
    bags = subsamples(rows, n_bags, share, seed)
    lists = join(bags)
    if strategy == "rescan":
        return (lambda j, gradient, out: rowbags.rescan(codes[j], gradient, paired, lists, out)), lists
    if strategy == "complement":
        left_out = join([np.setdiff1d(rows, bag, True).astype(np.int32) for bag in bags])
        return (lambda j, gradient, out: rowbags.complement(codes[j], gradient, paired, left_out, out)), lists
    if strategy == "mst":
        walk = tour(bags)
        added, removed = join(walk.added), join(walk.removed)

        def along(j: int, gradient: Reals, out: Reals) -> None:
            rowbags.walk_tree(codes[j], gradient, paired, walk.order, walk.parent, added, removed, out)

        return along, lists
    member, run = membership(table, rows, bags), aligned((2, subagging_masks.RUN), dtype)

    def mask(j: int, gradient: Reals, out: Reals) -> None:
        subagging_masks.masked(member.by_bin[j], member.words[j], member.ends[j], gradient, paired, run, out)

    return mask, lists


class RowLevelRounds(StepwiseRounds):
    """Rounds with bags of rows: first the gradients of all rows, then the bags' histograms by the chosen strategy."""

    def __init__(
        self,
        table: CodedTable,
        rows: Rows,
        train: NDArray[np.int64],
        fit: Fit,
        settings: Settings,
        strategy: tuple[Fill, RowLists],
        constant: Reals,
    ) -> None:
        super().__init__(table, rows, fit)
        dtype = rows.score.dtype.type
        self._train = train
        self._fill, lists = strategy
        each = 2 if is_paired(settings.loss) else 1
        self._gradient = np.zeros(each * table.n_rows, dtype)
        self._line = np.zeros(2 * table.n_codes)
        self._work = make_work(settings.n_bags, MAX_LEAVES, dtype, table.n_codes)
        self._first = first_cells(table)
        self._total = weigh_groups(table, constant)[train].sum(axis=0)
        self._weights = _bag_weights(table, rows.weight, lists, self._first, dtype)
        self._constants = self._weights
        if not is_paired(settings.loss):
            self._constants = _bag_weights(table, constant, lists, self._first, dtype)

    def step(self, feature: int, settings: Settings) -> None:
        """Make one step on one feature."""
        work, table = self._work, self._table
        rowbags.row_gradients(table, self._rows, self._train, self._fit, settings.loss, work, self._gradient)
        rowbags.add_all(table.of(feature), self._gradient, is_paired(settings.loss), self._line, work.total)
        self._fill(feature, self._gradient, work.bags)
        cells = slice(self._first[feature], self._first[feature + 1])
        weight = self._weights[:, cells]
        rowbags.clear_empty(weight, is_paired(settings.loss), work.bags)
        if not is_paired(settings.loss):
            work.total[1, : table.last[feature] + 1] = self._total[cells]
        step.to_gradients(table.last[feature], settings.loss, work)
        step.cut_bags(table, feature, self._constants[:, cells], self._fit, settings, work)


def _bag_weights(table: CodedTable, weight: Reals, lists: RowLists, first: NDArray[np.int64], dtype: type) -> Reals:
    """Return row weights (or what else is summed once) per bag and bin, (B, cells); weight : (n,), or empty for 1."""
    weight = weight.astype(dtype) if weight.size else np.ones(table.n_rows, dtype)
    n_bags = lists.offsets.size - 1
    bags: Reals = np.empty((n_bags, int(first[-1])), dtype)
    line: Reals = np.empty((n_bags, table.n_codes), dtype)
    for j, code in enumerate(table.lines()):
        rowbags.rescan(code, weight, False, lists, line)
        bags[:, first[j] : first[j + 1]] = line[:, : first[j + 1] - first[j]]
    return bags
