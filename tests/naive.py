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
