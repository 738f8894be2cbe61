"""Slow, obvious twins of the kernels: numpy and plain loops, no call into gamcore."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np


def histogram(codes, gradient, hessian, rows, times=None):
    """Sums (256, 2) of gradient and hessian over the given rows of one feature."""
    out = np.zeros((256, 2))
    for k, i in enumerate(rows):
        factor = 1 if times is None else int(times[k])
        out[codes[i], 0] += factor * float(gradient[i])
        out[codes[i], 1] += factor * float(hessian[i])
    return out


def logistic_state(odds, target, weight=None):
    """Gradient y - p and hessian p (1 - p) of odds exp(F)."""
    weight = np.ones(len(odds)) if weight is None else weight
    p = np.array([e / (1 + e) for e in odds])
    return (target - p) * weight, p * (1 - p) * weight


def log_loss(odds, target, weight=None):
    """Weighted sum of -log P(y)."""
    weight = np.ones(len(odds)) if weight is None else weight
    chances = [e / (1 + e) for e in odds]
    return sum(-w * math.log(p if y else 1 - p) for p, y, w in zip(chances, target, weight, strict=True))


def reduction(g, s, left, low, high):
    """Drop in squared error when places low..high-1 are cut before `left`."""

    def score(a, b):
        return sum(g[a:b]) ** 2 / sum(s[a:b]) if sum(s[a:b]) > 1e-8 else 0.0

    if sum(s[low:left]) <= 1e-8 or sum(s[left:high]) <= 1e-8:
        return 0.0
    return score(low, left) + score(left, high) - score(low, high)


def best_cut(g, s, low, high):
    """(reduction, first place of the right part) of the best cut; ties to the lowest place."""
    best = (0.0, low)
    for left in range(low + 1, high):
        gain = reduction(g, s, left, low, high)
        if gain > best[0] * (1 + 1e-12) + 1e-300:
            best = (gain, left)
    return best


def line_tree(g, s, d, max_leaves, min_node_weight=5.0, most=10.0):
    """Values (places,) of the best-first tree over a line; every cut is tried anew, nothing is remembered.

    Empty places (s = 0) take the leaf of the nearer non-empty one, the exact middle the left one.
    """
    full = [k for k in range(len(s)) if s[k] > 0]
    if not full:
        return np.zeros(len(s))
    gf, sf, df = [g[k] for k in full], [s[k] for k in full], [d[k] for k in full]
    leaves = [(0, len(full))]
    while len(leaves) < max_leaves:
        options = []
        for n, (low, high) in enumerate(leaves):
            gain, left = best_cut(gf, sf, low, high)
            if gain > 0 and sum(sf[low:high]) > min_node_weight:
                options.append((gain, n, left))
        if not options:
            break
        _, n, left = max(options, key=lambda option: option[0])
        low, high = leaves[n]
        leaves[n : n + 1] = [(low, left), (left, high)]
    of_full = np.zeros(len(full))
    for low, high in leaves:
        weight = sum(df[low:high])
        of_full[low:high] = np.clip(sum(gf[low:high]) / weight, -most, most) if weight > 1e-8 else 0.0
    values = np.empty(len(s))
    values[: full[0] + 1] = of_full[0]
    values[full[-1] :] = of_full[-1]
    for (a, va), (b, vb) in pairwise(zip(full, of_full, strict=True)):
        for k in range(a, b):
            values[k] = va if k - a <= b - k else vb
        values[b] = vb
    return values


def step(codes, last, gradient, hessian, weight, bags, mart, max_leaves, rate):
    """Mean over bags of the trees of one numeric feature: updates (last + 1,), place 0 the missing bin.

    bags : lists of (row, times).
    """
    update = np.zeros(last + 1)
    for bag in bags:
        sums = np.zeros((last + 1, 3))
        for i, times in bag:
            sums[codes[i]] += times * np.array([gradient[i], hessian[i], weight[i]])
        split = 2 if mart else 1
        update[1:] += line_tree(sums[1:, 0], sums[1:, split], sums[1:, 1], max_leaves)
        update[0] += np.clip(sums[0, 0] / sums[0, 1], -10, 10) if sums[0, 1] > 1e-8 else 0.0
    return rate * update / len(bags)


def bin_ends(weights, n_bins):
    """The heavy-atom rule, value by value: index of the last value of each bin."""
    ends = []
    start, left = 0, float(sum(weights))
    while start < len(weights):
        target = left / (n_bins - len(ends))
        if len(ends) == n_bins - 1:
            ends.append(len(weights) - 1)
            break
        total, k = 0.0, start
        while k < len(weights) and total + weights[k] < target - 1e-9:
            total += weights[k]
            k += 1
        if k >= len(weights):
            ends.append(len(weights) - 1)
            break
        over, under = total + weights[k] - target, target - total
        end = k if k == start or over < under else k - 1
        ends.append(end)
        left -= sum(weights[start : end + 1])
        start = end + 1
    return ends


def set_distance(a, b):
    """Rows in exactly one of two bags."""
    return len(set(a) ^ set(b))


def pair_leaf(a, b, tree):
    """The leaf of a row with codes a and b in a tree (axis, at, below, above, missing) over a pair's grid."""
    axis, at, *cuts = tree
    root, other = (a, b) if axis == 0 else (b, a)
    part = 2 if root == 0 else 0 if root <= at else 1
    return part, 2 if other == 0 else 0 if other <= cuts[part] else 1


def pair_sums(a, b, g, h, tree):
    """Gradient and weight of each leaf, (3, 3, 2)."""
    out = np.zeros((3, 3, 2))
    for i in range(len(a)):
        out[pair_leaf(a[i], b[i], tree)] += (g[i], h[i])
    return out


def leaf_scores(sums, floor):
    """G^2 / H of each leaf; one lighter than the floor stays 0."""
    return np.array([[g * g / h if h >= max(floor, 1e-8) else 0.0 for g, h in part] for part in sums])


def best_cross(a, b, g, h, last, floor):
    """(value, tree) of the best cross; every pair of cuts is tried on the rows themselves."""
    best = (0.0, None)
    for i in range(1, last[0]):
        for j in range(1, last[1]):
            sums = pair_sums(a, b, g, h, (0, i, j, j, j))
            value = leaf_scores(sums, floor).sum()
            if sums[:2, :2, 1].min() >= floor and value > best[0] * (1 + 1e-12):
                best = (value, (0, i, j, j, j))
    return best


def best_refined(a, b, g, h, last, floor):
    """(value, tree) of the best tree with cuts of its own in each part."""
    best = (0.0, None)
    for axis in range(2):
        for at in range(1, last[axis]):
            tree, value = [axis, at, 0, 0, 0], 0.0
            for part in range(3):
                options = []
                for cut in range(1, last[1 - axis] + 1):
                    sums = pair_sums(a, b, g, h, (axis, at, cut, cut, cut))[part]
                    allowed = cut == last[1 - axis] or sums[:2, 1].min() >= floor
                    options.append(leaf_scores(sums[None], floor)[0].sum() if allowed else -1.0)
                whole = pair_sums(a, b, g, h, (axis, at, last[1 - axis], last[1 - axis], last[1 - axis]))[part]
                if part < 2 and whole[0, 1] < floor:
                    value = -np.inf
                most = max(options)
                uncut = options[-1] >= most * (1 - 1e-12)
                tree[2 + part] = last[1 - axis] if uncut else 1 + int(np.argmax(options))
                value += most
            if value > best[0] * (1 + 1e-12):
                best = (value, tuple(tree))
    return best


def beyond_main_effects(g, h):
    """What a table of leaves takes off a squared loss beyond its rows and columns, by least squares."""
    if np.min(h) <= 0:
        return 0.0
    rows, columns = np.indices(g.shape)
    design = np.stack([np.ones(g.size), rows.ravel() == 1, columns.ravel() == 1], axis=1) * np.sqrt(h.ravel())[:, None]
    goal = (g / h).ravel() * np.sqrt(h.ravel())
    left = goal - design @ np.linalg.lstsq(design, goal, rcond=None)[0]
    return float(left @ left)


def purified_strength(a, b, g, h, last, floor):
    """The largest gain of a cross beyond main effects: of its quarters, and of missing against seen rows."""
    best = 0.0
    for i in range(1, last[0]):
        for j in range(1, last[1]):
            s = pair_sums(a, b, g, h, (0, i, j, j, j))
            seen_a, seen_b = s[:2].sum(axis=0), s[:, :2].sum(axis=1)
            tables = [
                s[:2, :2],
                np.stack([seen_a[:2], s[2, :2]]),
                np.stack([seen_b[:2], s[:2, 2]]),
                np.array([[s[:2, :2].sum(axis=(0, 1)), s[:2, 2].sum(axis=0)], [s[2, :2].sum(axis=0), s[2, 2]]]),
            ]
            gains = [beyond_main_effects(t[..., 0], t[..., 1]) if t[..., 1].min() >= floor else 0.0 for t in tables]
            if tables[0][..., 1].min() >= floor and sum(gains) > best:
                best = sum(gains)
    return best


def two_way(surface, weight, sweeps=20_000):
    """Weighted row and column effects and the mean of a surface, by alternating centring until nothing moves."""
    left = surface.astype(float).copy()
    rows, columns = np.zeros(surface.shape[0]), np.zeros(surface.shape[1])
    for _ in range(sweeps):
        before = left.copy()
        for i in range(surface.shape[0]):
            if weight[i].sum() > 0:
                mean = np.average(left[i], weights=weight[i])
                left[i] -= mean
                rows[i] += mean
        for j in range(surface.shape[1]):
            if weight[:, j].sum() > 0:
                mean = np.average(left[:, j], weights=weight[:, j])
                left[:, j] -= mean
                columns[j] += mean
        if np.abs(left - before).max() < 1e-13:
            break
    return rows, columns, left
