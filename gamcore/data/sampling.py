"""Every random draw of the project: groups of rows, and the sets of groups and of rows made from them.

Rows are dealt once into G groups. A bag, a validation set, a refit and a thread's share are sets of groups. A union of
whole groups is still a uniform random subsample without replacement; only the overlap of two unions comes in steps of
one group. The paper's own row-level subsamples and the bootstrap are here too.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from gamcore.common.mixing import mixed
from gamcore.common.types import Ints

RowList = NDArray[np.int32]

POOL_DRAWS = 4
"""Draws of bags in the pool of a refit; features use them in turn (64 sets for 16 bags)."""

Seed = int | np.random.SeedSequence


@dataclass(frozen=True)
class Deal:
    """Rows in group order: group g holds the rows `order[starts[g] : starts[g + 1]]`."""

    order: Ints  # (n,)
    starts: Ints  # (G + 1,)

    @property
    def n_groups(self) -> int:
        return self.starts.size - 1


@dataclass(frozen=True)
class Split:
    """One refit's groups: those for training and those for early stopping."""

    train: Ints
    valid: Ints


def deal(
    n_rows: int, n_groups: int, seed: Seed, strata: NDArray[np.int64] | None = None, clusters: Ints | None = None
) -> Deal:
    """Deal rows into at most `n_groups` groups of equal size (up to one row).

    strata : (n,) class codes; each group then gets its share of every class.
    clusters : (n,) cluster codes 0..C-1; the rows of a cluster then stay together, there are at most C groups, as equal
        as the clusters allow, and `strata` is ignored.
    """
    rng = np.random.default_rng(seed)
    n_groups = max(1, min(n_groups, n_rows))
    if clusters is not None:
        group = _deal_clusters(clusters, n_groups, rng)
    else:
        shuffled = rng.permutation(n_rows)
        if strata is not None:
            shuffled = shuffled[np.argsort(strata[shuffled], kind="stable")]
        group = np.empty(n_rows, np.int64)
        group[shuffled] = np.arange(n_rows) % n_groups
    # Shuffled within a group too: a table sorted by its target must not make a group's chunks alike.
    mixed = rng.permutation(n_rows)
    order = mixed[np.argsort(group[mixed], kind="stable")]
    sizes = np.bincount(group)
    return Deal(order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _deal_clusters(clusters: Ints, n_groups: int, rng: np.random.Generator) -> Ints:
    """Return the group of each row: clusters in random order go to the group with the fewest rows so far."""
    sizes = np.bincount(clusters)
    heap = [(0, g) for g in range(min(n_groups, sizes.size))]
    group_of = np.empty(sizes.size, np.int64)
    for cluster in rng.permutation(sizes.size):
        filled, g = heapq.heappop(heap)
        group_of[cluster] = g
        heapq.heappush(heap, (filled + int(sizes[cluster]), g))
    return group_of[clusters]


BUCKETS: Final = 2**16
"""Number of buckets for the rows of a table on disk; a run of buckets is a random part of the rows."""


def buckets(keys: NDArray[np.uint64], seed: int) -> NDArray[np.uint16]:
    """Return the bucket (n,) of each key (a row number or a cluster's key); equal keys share a bucket."""
    start = np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    return (mixed(keys + start) >> np.uint64(48)).astype(np.uint16)


@dataclass(frozen=True)
class BucketRun:
    """A run of neighbouring buckets on the circle of all buckets."""

    first: int
    size: int

    def holds(self, bucket: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether each bucket is in the run, elementwise."""
        return np.asarray((bucket.astype(np.int64) - self.first) % BUCKETS < self.size)


def runs_of_buckets(sizes: Ints, most: int, n_runs: int) -> list[BucketRun]:
    """Return runs of at most `most` rows each, laid end to end and as full as possible.

    sizes : (BUCKETS,) rows of each bucket, more than `most` in all. A bucket larger than `most` is
    skipped.
    """
    total = np.concatenate([[0], np.cumsum(np.tile(sizes, 2))])
    runs: list[BucketRun] = []
    place = 0
    for _ in range(n_runs):
        for _ in range(BUCKETS):
            end = int(np.searchsorted(total, total[place] + most, side="right")) - 1
            if end > place and total[end] > total[place]:
                break
            place = (place + 1) % BUCKETS
        runs.append(BucketRun(place, min(end - place, BUCKETS)))
        place = end % BUCKETS
    return runs


def splits(n_groups: int, fraction: float, n_refits: int, seed: Seed) -> list[Split]:
    """Return the training and validation groups of each refit.

    Validation sets are taken in turn from random permutations laid end to end, so that over the refits each group
    validates about equally often. With one group, or a fraction of 0, there is no validation.
    """
    rng = np.random.default_rng(seed)
    size = min(max(1, round(fraction * n_groups)), n_groups - 1) if fraction > 0 else 0
    drawn = []
    waiting: list[int] = []
    for _ in range(n_refits):
        valid: list[int] = []
        while len(valid) < size:
            waiting = waiting or rng.permutation(n_groups).tolist()
            fresh = next((g for g in waiting if g not in valid), None)
            if fresh is None:
                waiting = []
                continue
            waiting.remove(fresh)
            valid.append(fresh)
        inside = np.ones(n_groups, bool)
        inside[valid] = False
        drawn.append(Split(np.flatnonzero(inside), np.flatnonzero(~inside)))
    return drawn


def bag_pool(n_groups: int, share: float, n_bags: int, seed: Seed) -> Ints:
    """Return bags as sets of training groups: (draws, n_bags, groups per bag), ascending."""
    rng = np.random.default_rng(seed)
    size = min(max(1, round(share * n_groups)), n_groups)
    draws = 1 if size == n_groups else POOL_DRAWS
    picked = [rng.permutation(n_groups)[:size] for _ in range(draws * n_bags)]
    return np.sort(np.array(picked, np.int64), axis=1).reshape(draws, n_bags, size)


def subsamples(rows: Ints, n_bags: int, share: float, seed: Seed) -> list[RowList]:
    """Return the paper's bags: floor(share n) rows each, without replacement, ascending."""
    rng = np.random.default_rng(seed)
    size = max(1, int(share * rows.size))
    return [np.sort(rng.permutation(rows)[:size]).astype(np.int32) for _ in range(n_bags)]


def bootstraps(rows: Ints, n_bags: int, seed: Seed) -> list[tuple[RowList, NDArray[np.uint8]]]:
    """Return bags of n rows drawn with replacement: the distinct rows, ascending, and their counts (at most 255)."""
    rng = np.random.default_rng(seed)
    bags = []
    for _ in range(n_bags):
        times = np.bincount(rng.integers(rows.size, size=rows.size), minlength=rows.size)
        inside = np.flatnonzero(times)
        bags.append((rows[inside].astype(np.int32), np.minimum(times[inside], 255).astype(np.uint8)))
    return bags


@dataclass(frozen=True)
class Tour:
    """A walk over the bags along their minimum spanning tree, breadth first from bag 0."""

    order: Ints  # (B,) bags, parents before children
    parent: Ints  # (B,) -1 for the root
    added: list[RowList]  # per bag: rows that its parent lacks (the root: all its rows)
    removed: list[RowList]  # per bag: its parent's rows that it lacks

    @property
    def cost(self) -> int:
        """Rows read for all histograms of one step."""
        return sum(rows.size for rows in self.added) + sum(rows.size for rows in self.removed)


def distances(bags: list[RowList]) -> Ints:
    """Return |A| + |B| - 2 |A and B| for all pairs of bags, (B, B).

    This is the number of rows in which two bags differ, so the cost of turning one's histogram into the other's.
    Lou et al. 2020 print |A or B| - 2 |A and B| in section 3.2.1, which can be negative; the tree is the same.
    """
    member = np.zeros((len(bags), 1 + max(int(bag.max()) for bag in bags)), np.float32)
    for line, bag in zip(member, bags, strict=True):
        line[bag] = 1.0
    shared = np.rint(member @ member.T).astype(np.int64)
    sizes = np.diag(shared)
    return np.asarray(sizes[:, None] + sizes[None, :] - 2 * shared, np.int64)


def tour(bags: list[RowList]) -> Tour:
    """Return the minimum spanning tree over `distances`, walked breadth first (Algorithm 4)."""
    cost = distances(bags).astype(np.float64)
    cost[~np.eye(len(bags), dtype=bool)] += 1.0  # a distance of 0 would read as "no edge"; the tree stays the same
    order, parent = breadth_first_order(minimum_spanning_tree(cost), 0, directed=False)
    parent = np.where(parent < 0, -1, parent).astype(np.int64)
    nothing = np.empty(0, np.int32)
    added = [bag if p < 0 else np.setdiff1d(bag, bags[p], True) for bag, p in zip(bags, parent, strict=True)]
    removed = [nothing if p < 0 else np.setdiff1d(bags[p], bag, True) for bag, p in zip(bags, parent, strict=True)]
    return Tour(order.astype(np.int64), parent, added, removed)
