"""Regression trees: grown one by one on the gradients of a loss, and stored end to end as a forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats, Ints
from gamcore.kernels import CODE, N_CODES
from gamcore.kernels import tree_predict as kernels
from gamcore.kernels import tree_rounds as alone
from gamcore.kernels.tree_growth import Columns, Growth, Members, make_nodes
from gamcore.kernels.tree_predict import N_BYTES, Trees
from gamcore.kernels.tree_rounds import Scheme, Scratch
from gamcore.kernels.tree_splits import NONE, make_search


@dataclass(frozen=True)
class Forest:
    """Trees stored end to end, with predictions and attributions; ranges of trees are [first, last)."""

    trees: Trees

    @property
    def n_trees(self) -> int:
        return self.trees.ends.size - 1

    def add(self, codes: Codes, rows: Ints, first: int, last: int, score: Floats) -> None:
        """Add the predictions of trees to the scores of some rows."""
        kernels.add_trees(codes, rows, self.trees, first, last, score)

    def attribute(self, codes: Codes, rows: Ints, first: int, last: int, out: Floats) -> float:
        """Add the trees' contributions to `out` (rows, p); return the part that is the same for every row."""
        return float(kernels.attribute(codes, rows, self.trees, first, last, out))

    def partial(self, first: int, last: int, feature: int, given: Ints, out: Floats) -> None:
        """Add the trees' mean over all other features to `out` (codes,), for each code of `feature`."""
        most = int(np.diff(self.trees.ends).max(initial=0)) + 1
        kernels.partial(self.trees, first, last, feature, given, (np.empty(most, np.int64), np.empty(most)), out)

    def gains(self, first: int, last: int, n_features: int) -> Floats:
        """Return the sum of the gains of the splits on each feature, (p,)."""
        inside = slice(int(self.trees.ends[first]), int(self.trees.ends[last]))
        feature = self.trees.feature[inside]
        split = feature >= 0
        return np.bincount(feature[split], self.trees.gain[inside][split], n_features).astype(np.float64)


def empty_trees() -> Trees:
    """Return an empty list of trees."""
    none, nothing = np.empty(0, np.int32), np.empty(0)
    return Trees(
        feature=none,
        child=none,
        left=np.empty((0, N_BYTES), np.uint8),
        value=nothing,
        weight=nothing,
        gain=nothing,
        ends=np.zeros(1, np.int64),
    )


def concatenate(parts: Iterable[Trees]) -> Trees:
    """Concatenate trees, in order."""
    forests = [empty_trees(), *parts]
    before = np.cumsum([0, *[part.feature.size for part in forests]])[:-1]
    shifted = [
        part._replace(child=np.where(part.feature >= 0, part.child + np.int32(n), np.int32(0)))
        for part, n in zip(forests, before, strict=True)
    ]
    ends = [part.ends[1:] + n for part, n in zip(forests, before, strict=True)]
    joined = {name: np.concatenate([getattr(part, name) for part in shifted]) for name in Trees._fields[:-1]}
    return Trees(**joined, ends=np.concatenate([[0], *ends]).astype(np.int64))


def scaled(trees: Trees, factor: float) -> Trees:
    """Return the trees for a target multiplied by `factor`."""
    return trees._replace(value=trees.value * factor, gain=trees.gain * factor**2)


@dataclass(frozen=True)
class TreeTable:
    """What trees are grown on: codes (p, n), and for each feature its largest value code and whether it is nominal."""

    codes: Codes
    last: Ints
    nominal: NDArray[np.bool_]

    @classmethod
    def of(cls, codes: NDArray[np.integer], last: Sequence[int], nominal: Sequence[bool]) -> TreeTable:
        """Return a table from plain lists."""
        return cls(np.ascontiguousarray(codes, CODE), np.array(last, np.int64), np.array(nominal, np.bool_))


class Grower:
    """Grows trees on rows of a table, one after the other; scratch is reused from tree to tree."""

    def __init__(
        self,
        table: TreeTable,
        usable: Ints,
        task: NDArray[np.int32],
        weight: Floats,
        scheme: Scheme,
        scratch: Scratch | None = None,
    ) -> None:
        """Prepare to grow trees.

        usable : features that may split. task : (n,) of each row. weight : (n,), or empty for 1 each.
        scratch : that of a Grower for a table with the same columns, to reuse.
        """
        apart = scheme.how.criterion != NONE
        self._columns = Columns(table.codes, table.last, table.nominal, usable)
        self._task, self._weight = task if apart else np.empty(0, np.int32), weight
        self._scheme = scheme._replace(growth=_bounded(scheme.growth))
        self.scratch = scratch or make_scratch(table, int(task.max(initial=0)) + 1 if apart else 1, scheme.growth)
        self._spare = np.empty(0, np.int32), np.empty(0, np.complex64)

    def _members(self, places: NDArray[np.int32], stats: NDArray[np.complex64]) -> Members:
        if self._spare[0].size < places.size:
            self._spare = np.empty_like(places), np.empty_like(stats)
        return Members(places, stats, self._task, self._weight, *self._spare)

    def stats(self, places: NDArray[np.int32], y: Floats, score: Floats) -> NDArray[np.complex64]:
        """Return what a tree is grown on: minus the gradient + i hessian of some rows."""
        stats = np.empty(places.size, np.complex64)
        alone.fill_stats(y, self._weight, score, self._scheme.loss, self._members(places, stats))
        return stats

    def grow(self, places: NDArray[np.int32], stats: NDArray[np.complex64], score: Floats, others: Ints) -> Trees:
        """Grow a tree on some rows, and add it to their scores and to those of the rows `others`.

        stats : minus gradient + i hessian of each row. `places` and `stats` are reordered.
        """
        rows = self._members(places, stats)
        n_nodes = alone.plant(self._columns, rows, self._scheme, self.scratch, score, others)
        kept = _buffers(1, n_nodes)
        alone.keep(self.scratch.nodes, n_nodes, kept, 0)
        return kept

    def boost(self, places: NDArray[np.int32], y: Floats, score: Floats, valid: Ints, most: int) -> tuple[float, Trees]:
        """Boost at most `most` trees on some rows, from their scores, with early stopping on the validation rows.

        Return the validation loss at the best round, and the trees up to it.
        """
        rows = self._members(places.copy(), np.empty(places.size, np.complex64))
        kept = _buffers(most, most * (2 * self._scheme.growth.most_leaves - 1))
        _, best, loss = alone.boost_alone(
            self._columns, rows, places, y, self._scheme, self.scratch, score, valid, kept
        )  # fmt: skip
        n_nodes = int(kept.ends[best])
        trees = {name: getattr(kept, name)[:n_nodes].copy() for name in Trees._fields[:-1]}
        return float(loss), Trees(**trees, ends=kept.ends[: best + 1].copy())


def _bounded(growth: Growth) -> Growth:
    """Set most_leaves to 2**depth; if the best leaf is split first, only cap it there."""
    at_most = 2**growth.depth
    return growth._replace(most_leaves=min(growth.most_leaves, at_most) if growth.best_first else at_most)


def make_scratch(table: TreeTable, n_tasks: int, growth: Growth) -> Scratch:
    """Return scratch for growing trees; n_tasks is 1 if tasks are not distinguished."""
    most_leaves = _bounded(growth).most_leaves
    n_slots = most_leaves if growth.best_first else growth.depth + 1
    width = min(int(table.last.max(initial=0)) + 3, N_CODES)
    hist = np.zeros((n_slots, n_tasks, len(table.codes), width), np.complex128)
    return Scratch(make_search(n_tasks), hist, make_nodes(most_leaves))


def _buffers(n_trees: int, n_nodes: int) -> Trees:
    """Return buffers for trees."""
    whole, real = (np.empty(n_nodes, np.int32) for _ in range(2)), (np.empty(n_nodes) for _ in range(3))
    feature, child = whole
    value, weight, gain = real
    return Trees(
        feature=feature,
        child=child,
        left=np.empty((n_nodes, N_BYTES), np.uint8),
        value=value,
        weight=weight,
        gain=gain,
        ends=np.zeros(n_trees + 1, np.int64),
    )
