"""Boosting rounds with trees: a single tree, and many rounds of one task in one call.

There may be many tasks with few rows each: a call per tree would take longer than the tree itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Floats, Ints
from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.losses import Form, descent_of, loss_of
from gamcore.kernels.scalars import greater
from gamcore.kernels.tree_growth import Columns, Growth, Leaves, Members, Nodes, grow
from gamcore.kernels.tree_predict import Trees, add_leaves
from gamcore.kernels.tree_splits import Search, Splitting


class Scheme(NamedTuple):
    """How trees are grown, and when boosting stops."""

    how: Splitting
    growth: Growth
    rate: float
    loss: Form
    patience: int
    tolerance: float  # by how much a round must lower the validation loss
    most: float = math.inf  # largest value of a leaf, before the rate


class Scratch(NamedTuple):
    """Scratch reused from tree to tree."""

    search: Search
    hist: NDArray[np.complex128]
    nodes: Nodes


@kernel
def fill_stats(y: Floats, weight: Floats, score: Floats, loss: Form, rows: Members) -> None:
    """Write minus the gradient plus i times the hessian of each row to `rows.stats`, in the order of `rows.places`."""
    for i in range(rows.places.size):
        row = rows.places[i]
        gradient, hessian = descent_of(y[row], score[row], loss)
        w = weight[row] if weight.size else 1.0
        rows.stats[i] = complex(w * gradient, w * hessian)


@kernel
def sum_loss(y: Floats, weight: Floats, score: Floats, loss: Form, rows: Ints) -> float:
    """Return the weighted loss of some rows."""
    total = 0.0
    for row in rows:
        total += loss_of(y[row], score[row], loss) * (weight[row] if weight.size else 1.0)
    return total


@kernel
def noise_of(rows: Members) -> float:
    """Return the weighted sum of squared gradients divided by that of hessians: what each level of a category gains by
    chance."""
    squares, hessians = 0.0, 0.0
    for i in range(rows.places.size):
        gradient = float(rows.stats[i].real)
        squares += gradient * gradient / (rows.weight[rows.places[i]] if rows.weight.size else 1.0)
        hessians += float(rows.stats[i].imag)
    return float(squares / greater(hessians, 1e-300))


@kernel
def plant(table: Columns, rows: Members, scheme: Scheme, scratch: Scratch, score: Floats, others: Ints) -> int:
    """Grow a tree, add it to the scores (n,) of its rows and of `others`, and return its number of nodes."""
    how, nodes = scheme.how, scratch.nodes
    charged = Splitting(how.criterion, how.penalty, how.least_hessian, how.least_gain, how.beta, noise_of(rows))
    leaves = Leaves(scheme.rate, scheme.most, scheme.loss)
    n_nodes = grow(table, rows, charged, scheme.growth, leaves, scratch.search, scratch.hist, nodes)
    add_leaves(nodes, n_nodes, rows.places, score)
    for row in others:
        node = 0
        while nodes.feature[node] >= 0:
            left = nodes.goes_left[node, table.codes[nodes.feature[node], row]]
            node = nodes.child[node] + (0 if left else 1)
        score[row] += nodes.value[node]
    return int(n_nodes)


@kernel
def keep(nodes: Nodes, n_nodes: int, trees: Trees, number: int) -> None:
    """Copy a tree just grown to place `number` in the buffers `trees`."""
    first = trees.ends[number]
    trees.ends[number + 1] = first + n_nodes
    for at in range(n_nodes):
        to = first + at
        trees.feature[to] = nodes.feature[at]
        trees.value[to], trees.weight[to], trees.gain[to] = nodes.value[at], nodes.weight[at], nodes.gain[at]
        trees.left[to] = 0
        trees.child[to] = 0
        if nodes.feature[at] < 0:
            continue
        trees.child[to] = first + nodes.child[at]
        for code in range(N_CODES):
            if nodes.goes_left[at, code]:
                trees.left[to, code >> 3] |= np.uint8(1 << (7 - (code & 7)))


@kernel
def boost_alone(
    table: Columns,
    rows: Members,
    places: NDArray[np.int32],
    y: Floats,
    scheme: Scheme,
    scratch: Scratch,
    score: Floats,
    valid: Ints,
    trees: Trees,
) -> tuple[int, int, float]:
    """Boost some rows until the validation loss has not fallen for `patience` rounds, or the buffers `trees` are full.

    places : (m,) the rows in their original order, copied to `rows.places` for each tree. y, rows.weight and score
    are (n,), by row of the table. Returns the number of trees grown, the best number of trees and its validation loss;
    without validation rows all trees are kept.
    """
    lowest = sum_loss(y, rows.weight, score, scheme.loss, valid)
    number = best = 0
    while number < trees.ends.size - 1 and (valid.size == 0 or number - best < scheme.patience):
        for i in range(places.size):
            rows.places[i] = places[i]
        fill_stats(y, rows.weight, score, scheme.loss, rows)
        n_nodes = plant(table, rows, scheme, scratch, score, valid)
        if n_nodes == 1:
            break
        keep(scratch.nodes, n_nodes, trees, number)
        number += 1
        loss = sum_loss(y, rows.weight, score, scheme.loss, valid)
        if valid.size == 0 or loss < lowest - scheme.tolerance:
            lowest, best = loss, number
    return number, best, lowest
