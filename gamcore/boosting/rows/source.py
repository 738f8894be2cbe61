"""The rows of a fit as codes, and parts of them as problems to boost.

`Source` is what a fit needs of its rows. Here they are in memory; those of `in_parts` are elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self, TypeVar, cast

import numpy as np

from gamcore.boosting.counts.bin_pairs import groups_for
from gamcore.boosting.refit.loop import run_all
from gamcore.boosting.refit.problem import Problem, Share, Shares
from gamcore.boosting.rows.sums import PartInMemory, Rows, RowsInMemory, added, base_of
from gamcore.boosting.running.executor import Task
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Binned, Bins
from gamcore.data.columns import TableError
from gamcore.data.sampling import Deal, Seed, deal, splits
from gamcore.kernels import CODE, WIDE_CODE
from gamcore.kernels.layout import CodedTable
from gamcore.model.additive import GIVEN, Given, count_bins, count_cells
from gamcore.model.losses import Loss
from gamcore.stats.weights import effective_rows

MOST_DRAWS: Final = 50

WEIGHT_BITS: Final = 36
"""Bits of a relative weight: more than float32 has, and fewer than are lost where weights are divided by their mean."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Dealing:
    """How rows become the shares of `n_refits` refits; seeds of the groups, and of their splits for validation."""

    n_refits: int
    n_groups: int
    validation_fraction: float
    groups: np.random.SeedSequence
    splits: np.random.SeedSequence


class Source(Protocol):
    """The training rows of a fit."""

    @property
    def bins(self) -> tuple[Bins, ...]: ...
    @property
    def loss(self) -> Loss: ...
    @property
    def n_rows(self) -> int:
        """Rows that a refit learns from, validation rows included."""
        ...

    def usual_groups(self, ensemble: str, halves: bool) -> int:
        """Return the groups that rows are dealt into where nobody asks for a number. halves : whether bands are to
        come from halves of the groups, where rows are counted."""
        ...

    def counted(self, dealing: Dealing, ensemble: str) -> Shares | None:
        """Return the shares for main effects where they are boosted from counts of all rows, which `shares` are not."""
        ...

    def shares(self, dealing: Dealing) -> Shares:
        """Return the share of each refit."""
        ...

    def counts(self) -> list[Floats]:
        """Return the rows (their weights) in each bin of each feature, over all training rows."""
        ...

    def cells(self, pair: tuple[int, int]) -> Floats:
        """Return the rows (their weights) of each cell of two features, (size_1, size_2)."""
        ...

    def base(self) -> float:
        """Return the score of the training rows' mean target, or of its mean per unit of exposure."""
        ...

    @property
    def given(self) -> tuple[Given, ...]:
        """What is given per row beside the features."""
        ...

    @property
    def evenness(self) -> float:
        """Share of the rows that they are effectively worth: see `AdditiveModel`."""
        ...

    @property
    def parts(self) -> Rows:
        """All training rows, to be summed or scored."""
        ...

    @property
    def ranks_by_parts(self) -> bool:
        """Whether pairs are ranked by sums over all rows, instead of on those of one refit."""
        ...

    def refit(
        self, tasks: Sequence[Task[Made]], n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits of the shares where the rows are; see `run_all`."""
        ...

    def with_loss(self, loss: Loss) -> Self:
        """Return the same rows for another loss."""
        ...


@dataclass(frozen=True)
class Encoded:
    """Rows of a fit.

    y : (n,); weight : (n,) or None for 1 each; clusters : (n,) codes of rows that stay together, or None; strata : (n,)
    classes to stratify by, or None; log_exposure, init_score : (n,) given parts of the score, or None; chosen : the
    features that are learnt, or None for all.
    """

    binned: Binned
    y: Floats
    weight: Floats | None
    loss: Loss
    clusters: Ints | None = None
    strata: Ints | None = None
    log_exposure: Floats | None = None
    init_score: Floats | None = None
    chosen: Ints | None = None

    @property
    def offset(self) -> Floats | None:
        """The given part of the score (n,), None for 0."""
        return added(self.log_exposure, self.init_score)

    @property
    def given(self) -> tuple[Given, ...]:
        """What is given per row beside the features."""
        return tuple(
            name for name, values in zip(GIVEN, (self.log_exposure, self.init_score), strict=True) if values is not None
        )

    @property
    def evenness(self) -> float:
        """Share of the rows that they are effectively worth: see `AdditiveModel`."""
        return 1.0 if self.weight is None else min(effective_rows(self.weight) / self.weight.size, 1.0)

    def deal(self, n_groups: int, seed: Seed) -> Deal:
        """Deal the rows into groups."""
        return deal(self.y.size, n_groups, seed, self.strata, self.clusters)

    @property
    def bins(self) -> tuple[Bins, ...]:
        return self.binned.bins

    @property
    def n_rows(self) -> int:
        """Rows that a refit learns from: all."""
        return self.y.size

    def usual_groups(self, ensemble: str, halves: bool) -> int:
        """Return the groups that rows are dealt into: fewer where they are boosted from counts."""
        sizes = [of_feature.n_values + 1 for of_feature in self.bins]
        return groups_for(self.y.size, sizes, self.loss, ensemble, self.weight is not None)

    def counted(self, dealing: Dealing, ensemble: str) -> Shares | None:
        """Return None: each share has all rows, and is counted where that pays."""
        return None

    def shares(self, dealing: Dealing) -> Shares:
        """Return all rows for each refit, with its own validation groups."""
        dealt = self.deal(dealing.n_groups, dealing.groups)
        return alike(self.problem(dealt), dealt.n_groups, dealing)

    def counts(self) -> list[Floats]:
        """Return the rows (their weights) of each bin of each feature."""
        return count_bins(self.binned.codes, self.bins, self.weight)

    def cells(self, pair: tuple[int, int]) -> Floats:
        """Return the rows (their weights) of each cell of two features, (size_1, size_2)."""
        return count_cells(self.binned.codes, pair, self.bins, self.weight)

    def base(self) -> float:
        """Return the score of the mean target, or of its mean per unit of exposure."""
        return base_of(self.parts, self.loss)

    @property
    def ranks_by_parts(self) -> bool:
        """No: a refit has all rows."""
        return False

    @property
    def parts(self) -> RowsInMemory:
        """All training rows, which are one part."""
        part = PartInMemory(
            self.binned.codes, self.y, self.weight, log_exposure=self.log_exposure, init_score=self.init_score
        )
        return RowsInMemory(part)

    def refit(
        self, tasks: Sequence[Task[Made]], n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits in threads."""
        return run_all(tasks, self.n_rows, n_jobs, callback, about)

    def with_loss(self, loss: Loss) -> Self:
        """Return the same rows for another loss."""
        return replace(self, loss=loss)

    def problem(self, dealt: Deal) -> Problem:
        """Return the rows in group order."""
        weight, offset = (np.empty(0) if array is None else array[dealt.order] for array in (self.weight, self.offset))
        return Problem(
            learning(group_order(self.binned, dealt), self.chosen), self.y[dealt.order], weight, self.loss, offset
        )

    def half(self, seed: Seed) -> Encoded:
        """Return a random half of the rows: whole clusters if there are any, at least two, and both classes.

        If one cluster has most of the rows, it may take several draws. Raise TableError if no draw is usable.
        """
        source = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        for draw in source.spawn(MOST_DRAWS):
            dealt = self.deal(2, draw)
            rows = np.sort(dealt.order[: dealt.starts[1]])
            if self._will_do(rows):
                return self.take(rows)
        raise TableError("One group has most of the rows, so halves of them cannot be drawn: leave the groups out.")

    def _will_do(self, rows: Ints) -> bool:
        """Return whether some rows can be split for training and validation: several clusters, all
        classes, events."""
        several = self.clusters is None or np.unique(self.clusters[rows]).size > 1
        several = several and (self.strata is not None or self.loss.is_bounded(self.y[rows]))
        return several and (self.strata is None or np.unique(self.strata[rows]).size == np.unique(self.strata).size)

    def take(self, rows: Ints) -> Encoded:
        """Return some of the rows."""
        return replace(
            self,
            binned=replace(self.binned, codes=np.ascontiguousarray(self.binned.codes[:, rows])),
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            clusters=None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1],
            strata=None if self.strata is None else self.strata[rows],
            log_exposure=None if self.log_exposure is None else self.log_exposure[rows],
            init_score=None if self.init_score is None else self.init_score[rows],
        )


def alike(problem: Problem, n_groups: int, dealing: Dealing) -> Shares:
    """Return shares of the same rows, with different validation groups."""
    chosen = splits(n_groups, dealing.validation_fraction, dealing.n_refits, dealing.splits)
    return [Share(problem, split) for split in chosen]


def relative_weight(weight: Floats, mean: float) -> Floats:
    """Return weights in units of their mean, without their last bits.

    Only ratios of weights matter: whatever counts rows, such as the floors of nodes and the penalty of leaves, counts a
    row of the mean weight as one. Without the last bits, weights times a constant are the same numbers (but for one in
    ten thousand): the rounding of the division would break ties otherwise, and a tie that is broken may change a tree.
    """
    size, power = np.frexp(weight / mean)
    return np.asarray(np.ldexp(np.rint(np.ldexp(size, WEIGHT_BITS)), power - WEIGHT_BITS), np.float64)


def group_order(binned: Binned, dealt: Deal) -> CodedTable:
    """Return the codes of all features, rows in group order."""
    table = room_for(binned.bins, dealt.starts)
    for j, line in enumerate(binned.codes):
        table.of(j)[:] = line[dealt.order]
    return filled(table)


Some = TypeVar("Some", bound=Source)


def with_features(source: Some, chosen: Ints) -> Some:
    """Return the same rows, of which only some features are learnt."""
    narrowed: Some = replace(cast(Any, source), chosen=chosen)
    return narrowed


def learning(table: CodedTable, chosen: Ints | None) -> CodedTable:
    """Return a table of which only some features are learnt; None for all."""
    return table if chosen is None else table._replace(active=np.intersect1d(table.active, chosen))


def room_for(bins: Sequence[Bins], starts: Ints) -> CodedTable:
    """Return a table whose codes are to be filled, in group order, and read by `filled`."""
    is_wide = np.array([of_feature.dtype is WIDE_CODE for of_feature in bins], bool)
    last = np.array([of_feature.n_values for of_feature in bins], np.int64)
    nominal = np.array([of_feature.feature.is_category for of_feature in bins], bool)
    n_rows, n_wide = int(starts[-1]), int(is_wide.sum())
    table = CodedTable(np.empty((last.size - n_wide, n_rows), CODE), starts, last, nominal, np.empty(0, np.int64))
    if not n_wide:
        return table
    line = np.where(is_wide, -np.cumsum(is_wide), np.cumsum(~is_wide) - 1)
    return table._replace(line=line.astype(np.int64), wide=np.empty((n_wide, n_rows), WIDE_CODE))


def filled(table: CodedTable) -> CodedTable:
    """Return a table whose codes have been filled: it knows which features vary."""
    varied = [bool(np.any(line != line[0])) for line in table.lines()]
    return table._replace(active=np.flatnonzero(varied).astype(np.int64))
