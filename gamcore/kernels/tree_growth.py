"""Regression trees on gradients, grown from histograms.

The rows of a node are contiguous in `places`; splitting a node partitions them stably. Of its children, the one with
fewer rows is counted, and the other is the parent minus it. A tree of depth D thus reads at most about (1 + D / 2) n
rows per feature, whatever the number of tasks.

    places: | rows of node 0 ............................. |
            | node 1 ............ | node 2 ............... |      after the first split
    hist:   (slots, T, p, V) gradient + i hessian of a node's rows; T is 1 if tasks are not distinguished

Where the link is a log, `losses.descent_of` gives S in place of the hessian.

One child takes over its parent's slot: grown depth-first, a tree needs only depth + 1 slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats, Ints
from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.losses import Form, tree_leaf
from gamcore.kernels.tree_splits import (
    FEATURE,
    GAIN,
    LEFT_G,
    LEFT_H,
    SPLIT_SIZE,
    Search,
    Splitting,
    Sums,
    left_codes,
    search,
    sum_of,
)

Stats = NDArray[np.complex64]


class Growth(NamedTuple):
    """Limits and order of growth: depth-first or best leaf first, up to a depth and a number of leaves."""

    depth: int
    most_leaves: int
    best_first: bool
    one_feature: bool  # all splits on the root's feature: the tree is a step function of it


class Leaves(NamedTuple):
    """How leaves get their values: the learning rate, the largest step before it, and the loss."""

    rate: float
    most: float
    loss: Form


class Columns(NamedTuple):
    """The features of a table: codes, largest value codes, whether nominal, and the features that may split."""

    codes: Codes  # (p, n)
    last: Ints  # (p,)
    nominal: NDArray[np.bool_]  # (p,)
    usable: Ints


class Members(NamedTuple):
    """The rows of a tree."""

    places: NDArray[np.int32]  # (m,) rows of the table
    stats: Stats  # (m,) gradient + i hessian, in the order of `places`
    task: NDArray[np.int32]  # (rows of the table,), or empty if tasks are not distinguished
    weight: Floats  # (rows of the table,), or empty: 1 each
    spare_places: NDArray[np.int32]  # (m,) scratch
    spare_stats: Stats


class Nodes(NamedTuple):
    """A tree, parents before children, with scratch for its growth."""

    feature: Ints  # (M,) of the split; -1: a leaf
    child: Ints  # (M,) the left child; the right one is the next
    goes_left: NDArray[np.bool_]  # (M, V) codes that go left
    value: Floats  # (M,) of a leaf; for a split node, the weighted mean of its leaves
    weight: Floats  # (M,) of its rows
    gain: Floats  # (M,) of its split
    start: Ints  # (M,) its rows are places[start:stop]
    stop: Ints
    depth: Ints
    slot: Ints
    sums: NDArray[np.complex128]  # (M,)
    split: Floats  # (M, SPLIT_SIZE) the best split; feature -1: none
    waiting: Ints  # (M + 1,) scratch: nodes to be split
    free: Ints  # (M + 1,) scratch: slots without a node


def make_nodes(most_leaves: int) -> Nodes:
    """Return buffers for a tree of at most `most_leaves` leaves."""
    m = 2 * most_leaves - 1
    feature, child, start, stop, depth, slot = (np.zeros(m, np.int64) for _ in range(6))
    value, weight, gain = (np.zeros(m) for _ in range(3))
    goes_left, split = np.zeros((m, N_CODES), np.bool_), np.zeros((m, SPLIT_SIZE))
    own = np.zeros(m, np.complex128), split, np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    return Nodes(feature, child, goes_left, value, weight, gain, start, stop, depth, slot, *own)


@kernel
def count(table: Columns, rows: Members, start: int, stop: int, features: Ints, hist: Sums) -> None:
    """Fill the histogram (T, p, V) of rows start : stop of `places`, four features per read of a row."""
    index, stats, codes = rows.places[start:stop], rows.stats[start:stop], table.codes
    for j in features:
        hist[:, j, : table.last[j] + 3] = 0
    if rows.task.size:
        for j in features:
            line = codes[j]
            for i in range(index.size):
                hist[rows.task[index[i]], j, line[index[i]]] += stats[i]
        return
    fours = features.size - features.size % 4
    for k in range(0, fours, 4):
        a, b, c, d = features[k], features[k + 1], features[k + 2], features[k + 3]
        line_a, line_b, line_c, line_d = codes[a], codes[b], codes[c], codes[d]
        sums_a, sums_b, sums_c, sums_d = hist[0, a], hist[0, b], hist[0, c], hist[0, d]
        for i in range(index.size):
            row, stat = index[i], stats[i]
            sums_a[line_a[row]] += stat
            sums_b[line_b[row]] += stat
            sums_c[line_c[row]] += stat
            sums_d[line_d[row]] += stat
    for j in features[fours:]:
        line, sums = codes[j], hist[0, j]
        for i in range(index.size):
            sums[line[index[i]]] += stats[i]


@kernel
def subtract(counted: Sums, table: Columns, features: Ints, hist: Sums) -> None:
    """Subtract the histogram of one child from that of the parent, which becomes that of the other child."""
    for t in range(hist.shape[0]):
        for j in features:
            for v in range(table.last[j] + 3):
                hist[t, j, v] -= counted[t, j, v]


@kernel
def part(line: Codes, goes_left: NDArray[np.bool_], start: int, stop: int, rows: Members) -> int:
    """Partition the rows of a node stably, those that go left first; return where the others begin."""
    left, right = start, 0
    for i in range(start, stop):
        row, stat = rows.places[i], rows.stats[i]
        if goes_left[line[row]]:
            rows.places[left], rows.stats[left] = row, stat
            left += 1
        else:
            rows.spare_places[right], rows.spare_stats[right] = row, stat
            right += 1
    for k in range(right):
        rows.places[left + k], rows.stats[left + k] = rows.spare_places[k], rows.spare_stats[k]
    return left


@kernel
def examine(table: Columns, how: Splitting, scratch: Search, hist: Sums, nodes: Nodes, at: int) -> None:
    """Find a node's best split, and the codes that go left."""
    own = hist[nodes.slot[at]]
    search(own, table.usable, table.last, table.nominal, how, scratch, nodes.split[at])
    j = int(nodes.split[at, FEATURE])
    if j >= 0:
        left_codes(own, nodes.split[at], table.last[j], table.nominal[j], scratch, nodes.goes_left[at])


@kernel
def begin(nodes: Nodes, at: int, start: int, stop: int, depth: int, sums: complex) -> None:
    """Begin a node over the rows start : stop, as a leaf."""
    nodes.feature[at], nodes.child[at], nodes.gain[at] = -1, 0, 0.0
    nodes.start[at], nodes.stop[at], nodes.depth[at], nodes.sums[at] = start, stop, depth, sums
    nodes.split[at, FEATURE] = -1.0


@kernel
def next_node(nodes: Nodes, waiting: Ints, n_waiting: int, best_first: bool) -> int:
    """Return the index in `waiting` of the node to split next: the last, or the one with the largest gain."""
    if not best_first:
        return n_waiting - 1
    best = 0
    for k in range(1, n_waiting):
        if nodes.split[waiting[k], GAIN] > nodes.split[waiting[best], GAIN]:
            best = k
    return best


@kernel
def settle(nodes: Nodes, n_nodes: int, rows: Members, penalty: float, leaves: Leaves) -> None:
    """Set the weight and value of every node: leaves by their sums, the others as the mean of their leaves."""
    for at in range(n_nodes - 1, -1, -1):
        child = nodes.child[at]
        if nodes.feature[at] >= 0:
            a, b = nodes.weight[child], nodes.weight[child + 1]
            nodes.weight[at] = a + b
            nodes.value[at] = (a * nodes.value[child] + b * nodes.value[child + 1]) / (a + b) if a + b > 0 else 0.0
            continue
        weight = float(nodes.stop[at] - nodes.start[at])
        if rows.weight.size:
            weight = 0.0
            for i in range(nodes.start[at], nodes.stop[at]):
                weight += rows.weight[rows.places[i]]
        nodes.weight[at] = weight
        sums = nodes.sums[at]
        nodes.value[at] = tree_leaf(sums.real, sums.imag + penalty, leaves.rate, leaves.most, leaves.loss)


@kernel
def grow(
    table: Columns,
    rows: Members,
    how: Splitting,
    growth: Growth,
    leaves: Leaves,
    search: Search,
    hist: Sums,
    nodes: Nodes,
) -> int:
    """Grow a tree and return its number of nodes.

    `rows.places` and `rows.stats` are reordered: a leaf has the rows start : stop of them. hist has a slot for each
    waiting node: depth + 1 of them, or as many as leaves if the best leaf is split first.
    """
    waiting, free, n_free = nodes.waiting, nodes.free, hist.shape[0] - 1
    for k in range(hist.shape[0]):
        free[k] = k
    begin(nodes, 0, 0, rows.places.size, 0, sum_of(rows.stats))
    nodes.slot[0] = free[n_free]
    n_nodes, n_waiting, n_leaves = 1, 0, 1
    if growth.depth > 0 and growth.most_leaves > 1:
        count(table, rows, 0, rows.places.size, table.usable, hist[nodes.slot[0]])
        examine(table, how, search, hist, nodes, 0)
        waiting[0], n_waiting = 0, 1
    while n_waiting and n_leaves < growth.most_leaves:
        place = next_node(nodes, waiting, n_waiting, growth.best_first)
        at = waiting[place]
        waiting[place] = waiting[n_waiting - 1]
        n_waiting -= 1
        j = int(nodes.split[at, FEATURE])
        if j < 0:
            free[n_free] = nodes.slot[at]
            n_free += 1
            continue
        middle = part(table.codes[j], nodes.goes_left[at], nodes.start[at], nodes.stop[at], rows)
        left, right, depth = n_nodes, n_nodes + 1, nodes.depth[at] + 1
        of_left = complex(nodes.split[at, LEFT_G], nodes.split[at, LEFT_H])
        begin(nodes, left, nodes.start[at], middle, depth, of_left)
        begin(nodes, right, middle, nodes.stop[at], depth, nodes.sums[at] - of_left)
        nodes.feature[at], nodes.child[at], nodes.gain[at] = j, left, nodes.split[at, GAIN]
        n_nodes, n_leaves = n_nodes + 2, n_leaves + 1
        if depth >= growth.depth or n_leaves >= growth.most_leaves:
            free[n_free] = nodes.slot[at]
            n_free += 1
            continue
        usable = nodes.feature[at : at + 1] if growth.one_feature else table.usable
        within = Columns(table.codes, table.last, table.nominal, usable)
        light, heavy = (left, right) if 2 * middle < nodes.start[at] + nodes.stop[at] else (right, left)
        n_free -= 1
        nodes.slot[light], nodes.slot[heavy] = free[n_free], nodes.slot[at]
        counted, rest = hist[nodes.slot[light]], hist[nodes.slot[heavy]]
        count(within, rows, nodes.start[light], nodes.stop[light], usable, counted)
        subtract(counted, within, usable, rest)
        for child in (light, heavy):
            examine(within, how, search, hist, nodes, child)
            waiting[n_waiting] = child
            n_waiting += 1
    settle(nodes, n_nodes, rows, how.penalty, leaves)
    return n_nodes
