"""The rows of one refit, gathered from the parts that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.refit.problem import Problem, Share
from gamcore.boosting.rows.source import Dealing, filled, learning, room_for
from gamcore.boosting.rows.sums import Part
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.data.sampling import BucketRun, Deal, Split, deal, runs_of_buckets, splits
from gamcore.model.losses import Loss

TOO_LARGE: Final = (
    "A group has as many rows as a refit may have in memory, so none would be left to validate on: leave the groups "
    "out, or give the training more memory."
)


@dataclass(frozen=True)
class Recipe:
    """How parts become a problem; see `RowsInParts`."""

    bins: tuple[Bins, ...]
    loss: Loss
    weighted: bool
    clustered: bool
    exposed: bool
    whole: bool
    chosen: Ints | None

    def deal(self, parts: Sequence[Part], rows: Sequence[Ints], n_groups: int, seed: np.random.SeedSequence) -> Deal:
        """Deal some rows of each part into groups: by whole clusters if there are any, else by class if binary."""
        n_rows = sum(inside.size for inside in rows)
        if not self.clustered:
            strata = gathered(parts, rows, target_of).astype(np.int64) if self.loss.is_binary else None
            return deal(n_rows, n_groups, seed, strata)
        clusters = by_appearance(gathered(parts, rows, cluster_of))
        if clusters.max(initial=0) == 0:
            raise TableError(TOO_LARGE)
        return deal(n_rows, n_groups, seed, None, clusters)

    def problem(self, parts: Sequence[Part], rows: Sequence[Ints], dealt: Deal) -> Problem:
        """Return some rows of each part in group order, read straight into their places: codes are never copied."""
        n_rows = int(dealt.starts[-1])
        place = np.empty(n_rows, np.int64)
        place[dealt.order] = np.arange(n_rows)
        table, y = room_for(self.bins, dealt.starts), np.empty(n_rows)
        weight, offset = np.empty(n_rows if self.weighted else 0), np.empty(n_rows if self.exposed else 0)
        first = 0
        for part, inside in zip(parts, rows, strict=True):
            here = place[first : first + inside.size]
            first += inside.size
            for j, line in enumerate(part.codes):
                table.of(j)[here] = line[inside]
            y[here] = part.y[inside]
            for values, out in ((part.weight, weight), (part.log_exposure, offset)):
                if values is not None:
                    out[here] = values[inside]
        return Problem(learning(filled(table), self.chosen), y, weight, self.loss, offset, whole=self.whole)


@dataclass(frozen=True)
class RowsOfRefit:
    """The rows of one refit: those in a run of buckets, or all (None); they are read when the refit begins.

    place : number of the refit among those of the dealing.
    """

    parts: Sequence[Any]
    run: BucketRun | None
    dealing: Dealing
    place: int

    def rows(self) -> list[Ints]:
        """Return the rows of each part."""
        rows = [rows_in(part, self.run) for part in self.parts]
        if not any(inside.size for inside in rows):
            raise TableError(TOO_LARGE)
        return rows

    def split(self, n_groups: int) -> Split:
        """Return the groups that the refit trains and validates on."""
        dealing = self.dealing
        return splits(n_groups, dealing.validation_fraction, dealing.n_refits, dealing.splits)[self.place]


def rows_of_refits(parts: Sequence[Any], sizes: Ints, most: int | None, dealing: Dealing) -> list[RowsOfRefit]:
    """Return the rows of each refit: at most `most`, those of its run of buckets; None for all rows.

    sizes : (BUCKETS,) rows of each bucket.
    """
    if most is None:
        return [RowsOfRefit(parts, None, dealing, place) for place in range(dealing.n_refits)]
    seeds = zip(dealing.groups.spawn(dealing.n_refits), dealing.splits.spawn(dealing.n_refits), strict=True)
    return [
        RowsOfRefit(parts, run, replace(dealing, groups=for_groups, splits=for_splits, n_refits=1), 0)
        for run, (for_groups, for_splits) in zip(runs_of_buckets(sizes, most, dealing.n_refits), seeds, strict=True)
    ]


@dataclass(frozen=True)
class ShareOfParts:
    """What one refit learns from, made of its rows when it begins."""

    recipe: Recipe
    refit_rows: RowsOfRefit

    def load(self) -> Share:
        """Read the rows, deal them, and draw the validation groups."""
        parts, rows, dealing = self.refit_rows.parts, self.refit_rows.rows(), self.refit_rows.dealing
        dealt = self.recipe.deal(parts, rows, dealing.n_groups, dealing.groups)
        return Share(self.recipe.problem(parts, rows, dealt), self.refit_rows.split(dealt.n_groups))


def rows_in(part: Part, run: BucketRun | None) -> Ints:
    """Return the rows of a part that are in a run of buckets, ascending."""
    if run is None:
        return np.arange(part.y.size)
    assert part.bucket is not None
    return np.flatnonzero(run.holds(part.bucket))


def target_of(part: Part) -> Floats:
    """Return the target (m,) of the rows of a part."""
    return part.y


def cluster_of(part: Part) -> NDArray[np.uint64]:
    """Return the names (m,) of the clusters of the rows of a part, which has some."""
    assert part.cluster is not None
    return part.cluster


def gathered(parts: Sequence[Part], rows: Sequence[Ints], column: Callable[[Part], NDArray[Any]]) -> NDArray[Any]:
    """Return a column of some rows of each part."""
    return np.concatenate([column(part)[inside] for part, inside in zip(parts, rows, strict=True)])


def by_appearance(names: NDArray[np.uint64]) -> Ints:
    """Return the codes (n,) of clusters, numbered by first appearance."""
    _, first, codes = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes].astype(np.int64)
