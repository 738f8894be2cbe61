"""Many trees as arrays, end to end: their predictions, attributions and partial dependence.

Tree t is nodes[ends[t] : ends[t + 1]], its root first. Child indices count from the first node of the first tree.
Codes that go left are bits: code c is bit 7 - c % 8 of byte c // 8 (numpy.packbits).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats, Ints
from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.tree_growth import Nodes

N_BYTES = N_CODES // 8


class Trees(NamedTuple):
    """Trees end to end; fields as in `tree_growth.Nodes`."""

    feature: NDArray[np.int32]  # (N,)
    child: NDArray[np.int32]  # (N,)
    left: NDArray[np.uint8]  # (N, N_BYTES)
    value: Floats  # (N,)
    weight: Floats  # (N,)
    gain: Floats  # (N,)
    ends: Ints  # (trees + 1,)


@kernel
def child_of(trees: Trees, node: int, code: int) -> int:
    """Return the child of a split node to which a code leads."""
    bit = (trees.left[node, code >> 3] >> (7 - (code & 7))) & 1
    return int(trees.child[node] + 1 - bit)


@kernel
def add_trees(codes: Codes, rows: Ints, trees: Trees, first: int, last: int, score: Floats) -> None:
    """Add the values of trees first to last - 1 to the scores (n,) of some rows of a table."""
    for t in range(first, last):
        root = trees.ends[t]
        for i in range(rows.size):
            node = root
            while trees.feature[node] >= 0:
                node = child_of(trees, node, codes[trees.feature[node], rows[i]])
            score[rows[i]] += trees.value[node]


@kernel
def add_leaves(nodes: Nodes, n_nodes: int, index: NDArray[np.int32], score: Floats) -> None:
    """Add a tree just grown to the scores (n,) of the rows it was grown on, which its leaves list."""
    for at in range(n_nodes):
        if nodes.feature[at] < 0:
            for i in range(nodes.start[at], nodes.stop[at]):
                score[index[i]] += nodes.value[at]


@kernel
def attribute(codes: Codes, rows: Ints, trees: Trees, first: int, last: int, out: Floats) -> float:
    """Add each split's change of value along a row's path to its feature's contribution; return the sum of the roots.

    out : (rows, p). A node's value is the mean of its leaves over the training rows, so root + changes = leaf (Fang
    et al. 2018).
    """
    roots = 0.0
    for t in range(first, last):
        root = trees.ends[t]
        roots += trees.value[root]
        for i in range(rows.size):
            node = root
            while trees.feature[node] >= 0:
                below = child_of(trees, node, codes[trees.feature[node], rows[i]])
                out[i, trees.feature[node]] += trees.value[below] - trees.value[node]
                node = below
    return roots


@kernel
def splits_on(trees: Trees, t: int, feature: int) -> bool:
    """Return whether a tree splits on the feature."""
    splits = False
    for node in range(trees.ends[t], trees.ends[t + 1]):
        splits |= trees.feature[node] == feature
    return splits


@kernel
def partial(
    trees: Trees, first: int, last: int, feature: int, given: Ints, scratch: tuple[Ints, Floats], out: Floats
) -> None:
    """Add the trees' partial dependence on one feature, a value per code, to `out` (n_codes,).

    Splits on other features are averaged by the training rows of their sides, except where `given` (p,) holds a code.
    Trees without the feature are left out: they add the same to every code. scratch : both longer than the largest
    tree.
    """
    waiting, shares = scratch
    for t in range(first, last):
        if not splits_on(trees, t, feature):
            continue
        for code in range(out.size):
            waiting[0], shares[0], n_waiting = trees.ends[t], 1.0, 1
            while n_waiting:
                n_waiting -= 1
                node, share = waiting[n_waiting], shares[n_waiting]
                j = trees.feature[node]
                if j < 0:
                    out[code] += share * trees.value[node]
                    continue
                known = code if j == feature else given[j]
                left = trees.child[node]
                if known >= 0:
                    waiting[n_waiting], shares[n_waiting] = child_of(trees, node, known), share
                    n_waiting += 1
                    continue
                of_left = trees.weight[left] / trees.weight[node] if trees.weight[node] > 0 else 0.5
                waiting[n_waiting], shares[n_waiting] = left, share * of_left
                waiting[n_waiting + 1], shares[n_waiting + 1] = left + 1, share * (1.0 - of_left)
                n_waiting += 2
