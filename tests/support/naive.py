"""Slow, obvious reference versions of the kernels: numpy and plain loops, no call into gamcore."""

from __future__ import annotations

import math
import operator
from itertools import pairwise

import numpy as np
from scipy import stats


def histogram(codes, gradient, hessian, rows, times=None):
    """Return the sums (256, 2) of gradient and hessian over the given rows of one feature."""
    out = np.zeros((256, 2))
    for k, i in enumerate(rows):
        factor = 1 if times is None else int(times[k])
        out[codes[i], 0] += factor * float(gradient[i])
        out[codes[i], 1] += factor * float(hessian[i])
    return out


def logistic_state(odds, target, weight=None):
    """Return the gradient y - p and hessian p (1 - p) of odds exp(F)."""
    weight = np.ones(len(odds)) if weight is None else weight
    p = np.array([e / (1 + e) for e in odds])
    return (target - p) * weight, p * (1 - p) * weight


def log_loss(odds, target, weight=None):
    """Return the weighted sum of -log P(y)."""
    weight = np.ones(len(odds)) if weight is None else weight
    chances = [e / (1 + e) for e in odds]
    return sum(-w * math.log(p if y else 1 - p) for p, y, w in zip(chances, target, weight, strict=True))


def power_state(y, score, power, weight):
    """Return a = y mu^(1-p) and b = mu^(2-p) of each row, weighted."""
    a = [w * v * math.exp(f) ** (1 - power) for v, f, w in zip(y, score, weight, strict=True)]
    b = [w * math.exp(f) ** (2 - power) for f, w in zip(score, weight, strict=True)]
    return np.array(a), np.array(b)


def power_deviance(y, score, power):
    """Return the deviance of each row, as textbooks have it."""
    made = []
    for v, f in zip(y, score, strict=True):
        mu = math.exp(f)
        if power == 1:
            made.append(2 * ((v * math.log(v / mu) if v else 0.0) - v + mu))
        elif power == 2:
            made.append(2 * (v / mu - 1 - math.log(v / mu)))
        else:
            one, two = 1 - power, 2 - power
            made.append(2 * (v**two / (one * two) - v * mu**one / one + mu**two / two))
    return np.array(made)


def tweedie_log_density(y, mean, phi, power, most=5_000):
    """Return the log density of a Poisson number of Gamma amounts, summed over the numbers."""
    rate = mean ** (2 - power) / (phi * (2 - power))
    unit, shape = phi * (power - 1) * mean ** (power - 1), (2 - power) / (power - 1)
    if y == 0:
        return -rate
    number = np.arange(1, most)
    each = stats.poisson.logpmf(number, rate) + stats.gamma.logpdf(y, number * shape, scale=unit)
    return each.max() + math.log(np.exp(each - each.max()).sum())


def check_loss(residual, level, width=0.0):
    """Return the check loss of each residual, smoothed over a width."""
    return np.array([(level - 0.5) * r + math.sqrt(r * r + width * width) / 2 for r in residual])


def check_state(residual, level, width, weight):
    """Return minus the gradient of the smoothed check loss and the weight of each row, weighted."""
    g = [w * (level - 0.5 + r / (2 * math.sqrt(r * r + width * width))) for r, w in zip(residual, weight, strict=True)]
    s = [w / (4 * math.sqrt(r * r + width * width)) for r, w in zip(residual, weight, strict=True)]
    return np.array(g), np.array(s)


def share_below(values, weight, level):
    """Return the smallest value with at least a share `level` of the weight up to it."""
    return min(
        v for v in values if sum(w for u, w in zip(values, weight, strict=True) if u <= v) >= level * sum(weight)
    )


def reduction(g, s, left, low, high):
    """Return the drop in squared error when places low..high-1 are cut before `left`."""

    def score(a, b):
        return sum(g[a:b]) ** 2 / sum(s[a:b]) if sum(s[a:b]) > 1e-8 else 0.0

    if sum(s[low:left]) <= 1e-8 or sum(s[left:high]) <= 1e-8:
        return 0.0
    return score(low, left) + score(left, high) - score(low, high)


def best_cut(g, s, low, high):
    """Return (reduction, first place of the right part) of the best cut; ties go to the lowest place."""
    best = (0.0, low)
    for left in range(low + 1, high):
        gain = reduction(g, s, left, low, high)
        if gain > best[0] * (1 + 1e-12) + 1e-300:
            best = (gain, left)
    return best


def newton(g, d, most=10.0):
    """Return the value of a leaf by Newton's method."""
    return float(np.clip(g / d, -most, most)) if d > 1e-8 else 0.0


def line_tree(g, s, d, max_leaves, min_node_weight=5.0, leaf=newton):
    """Return the values (places,) of the best-first tree over a line, trying every cut again without caching.

    Empty places (s = 0) take the leaf of the nearer non-empty place; exact middles take the left one.
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
        of_full[low:high] = leaf(sum(gf[low:high]), sum(df[low:high]))
    values = np.empty(len(s))
    values[: full[0] + 1] = of_full[0]
    values[full[-1] :] = of_full[-1]
    for (a, va), (b, vb) in pairwise(zip(full, of_full, strict=True)):
        for k in range(a, b):
            values[k] = va if k - a <= b - k else vb
        values[b] = vb
    return values


def step(codes, last, gradient, hessian, weight, bags, mart, max_leaves, rate, leaf=newton):
    """Return the mean over bags of the trees of one numeric feature: updates (last + 1,), place 0 the missing bin.

    bags : lists of (row, times).
    """
    update = np.zeros(last + 1)
    for bag in bags:
        sums = np.zeros((last + 1, 3))
        for i, times in bag:
            sums[codes[i]] += times * np.array([gradient[i], hessian[i], weight[i]])
        split = 2 if mart else 1
        update[1:] += line_tree(sums[1:, 0], sums[1:, split], sums[1:, 1], max_leaves, leaf=leaf)
        update[0] += leaf(sums[0, 0], sums[0, 1])
    return rate * update / len(bags)


def bin_ends(weights, n_bins):
    """Apply the heavy-atom rule value by value; return the index of the last value of each bin."""
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
    """Return the number of rows in exactly one of two bags."""
    return len(set(a) ^ set(b))


def pair_leaf(a, b, tree):
    """Return the leaf of a row with codes a and b in a tree (axis, at, below, above, missing) over a pair's grid."""
    axis, at, *cuts = tree
    root, other = (a, b) if axis == 0 else (b, a)
    part = 2 if root == 0 else 0 if root <= at else 1
    return part, 2 if other == 0 else 0 if other <= cuts[part] else 1


def pair_sums(a, b, g, h, tree):
    """Return the gradient and weight of each leaf, (3, 3, 2)."""
    out = np.zeros((3, 3, 2))
    for i in range(len(a)):
        out[pair_leaf(a[i], b[i], tree)] += (g[i], h[i])
    return out


def leaf_scores(sums, floor):
    """Return G^2 / H of each leaf; a leaf lighter than the floor stays 0."""
    return np.array([[g * g / h if h >= max(floor, 1e-8) else 0.0 for g, h in part] for part in sums])


def best_cross(a, b, g, h, last, floor):
    """Return (value, tree) of the best cross, trying every pair of cuts on the rows themselves."""
    best = (0.0, None)
    for i in range(1, last[0]):
        for j in range(1, last[1]):
            sums = pair_sums(a, b, g, h, (0, i, j, j, j))
            value = leaf_scores(sums, floor).sum()
            if sums[:2, :2, 1].min() >= floor and value > best[0] * (1 + 1e-12):
                best = (value, (0, i, j, j, j))
    return best


def best_refined(a, b, g, h, last, floor):
    """Return (value, tree) of the best tree with separate cuts in each part."""
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
    """Return the squared loss a table of leaves removes beyond its row and column effects, by least squares."""
    if np.min(h) <= 0:
        return 0.0
    rows, columns = np.indices(g.shape)
    design = np.stack([np.ones(g.size), rows.ravel() == 1, columns.ravel() == 1], axis=1) * np.sqrt(h.ravel())[:, None]
    goal = (g / h).ravel() * np.sqrt(h.ravel())
    left = goal - design @ np.linalg.lstsq(design, goal, rcond=None)[0]
    return float(left @ left)


def purified_strength(a, b, g, h, last, floor):
    """Return the largest gain of a cross beyond main effects: of its quarters, and of missing against seen rows."""
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
    """Return the weighted row and column effects and the mean of a surface, by alternating centring to convergence."""
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


def split_gain(low, high, penalty):
    """Return the sum of G^2 / (H + lambda) of two sums (G, H) less that of both together."""

    def worth(sums):
        return sums[0] * sums[0] / (sums[1] + penalty) if sums[1] + penalty > 1e-12 else 0.0

    return worth(low) + worth(high) - worth((low[0] + high[0], low[1] + high[1]))


def split_score(parts, criterion, penalty, beta, charge=0.0):
    """Return the score of a split; parts: ((G, H) left, (G, H) right) per task. Zhang and Li 2019, Eq. 5 and 6."""
    present = [(low, high) for low, high in parts if low[1] + high[1] > 1e-12]
    low, high = (tuple(sum(part[side][k] for part in present) for k in (0, 1)) for side in (0, 1))
    pooled = split_gain(low, high, penalty) - charge
    gains = [split_gain(a, b, penalty) for a, b in present]
    if criterion == "none":
        return pooled
    if criterion == "pooled":
        both = (low[0] + high[0], low[1] + high[1])
        leaves = [sums[0] / (sums[1] + penalty) for sums in (low, high, both)]

        def taken(sums, leaf):
            return 2 * sums[0] * leaf - sums[1] * leaf * leaf

        harms = []
        for a, b in present:
            whole = (a[0] + b[0], a[1] + b[1])
            own = taken(a, leaves[0]) + taken(b, leaves[1]) - taken(whole, leaves[2])
            harms.append(max(-own, 0.0) / whole[1])
        return pooled - both[1] * sum(harms) / len(harms)
    if criterion in ("variance", "variance_relative"):
        if len(gains) < 2:
            return pooled
        mean = sum(gains) / len(gains)
        spread = sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
        return pooled - beta * (spread / (abs(mean) + 1e-12) if criterion == "variance_relative" else spread)
    if criterion == "entropy_per_row":
        gains = [gain / (a[1] + b[1]) for gain, (a, b) in zip(gains, present, strict=True)]
    total = sum(max(gain, 0.0) for gain in gains)
    shares = [gain / total for gain in gains if gain > 0]
    return pooled * -sum(share * math.log(share) for share in shares)


def tree_split(codes, rows, g, h, task, last, nominal, criterion="none", penalty=1.0, beta=0.5, least=1e-12, noise=0.0):
    """Return (score, gain, feature, codes that go left) of the best split of rows by brute force; None if none.

    codes (p, n): 0 missing, 1 .. last values, last + 1 unseen, last + 2 absent. Ties: the first feature, the first cut.
    """
    best, best_by_gain = None, None
    for j in range(len(codes)):
        present = {int(codes[j][i]) for i in rows}
        line = list(range(1, last[j] + 1))
        if nominal[j]:
            key = {}
            for code in line:
                inside = [i for i in rows if codes[j][i] == code]
                key[code] = sum(g[i] for i in inside) / (sum(h[i] for i in inside) + 10.0)
            line.sort(key=key.__getitem__)
        levels = len(present & set(line))
        charge = 1 / math.pi * noise * max(levels - 2, 0) if nominal[j] else 0.0
        for places in range(last[j] + 1):
            if places and line[places - 1] not in present:
                continue
            for side in range(4):
                if (side & 1 and 0 not in present) or (side & 2 and last[j] + 2 not in present):
                    continue
                left = set(line[:places]) | ({0} if side & 1 else set()) | ({last[j] + 2} if side & 2 else set())
                parts = []
                for t in range(int(max(task)) + 1):
                    mine = [i for i in rows if task[i] == t]
                    sums = [[0.0, 0.0], [0.0, 0.0]]
                    for i in mine:
                        where = 0 if int(codes[j][i]) in left else 1
                        sums[where][0] += g[i]
                        sums[where][1] += h[i]
                    parts.append((tuple(sums[0]), tuple(sums[1])))
                low, high = (tuple(sum(part[s][k] for part in parts) for k in (0, 1)) for s in (0, 1))
                if min(low[1], high[1]) < least:
                    continue
                gain = split_gain(low, high, penalty) - charge
                if not gain > 0:
                    continue
                found = (split_score(parts, criterion, penalty, beta, charge), gain, j, left)
                if found[0] > (best[0] if best else 0.0):
                    best = found
                if gain > (best_by_gain[1] if best_by_gain else 0.0):
                    best_by_gain = found
    return best_by_gain if best is None and criterion.startswith("entropy") else best


def tree(codes, rows, g, h, task, last, nominal, depth, rate=1.0, penalty=1.0, leaf=operator.truediv, **how):
    """Grow a tree as nested dicts, level by level to a depth; leaf values are rate G / (H + lambda)."""
    value = rate * leaf(sum(g[i] for i in rows), sum(h[i] for i in rows) + penalty)
    how.setdefault("noise", sum(g[i] ** 2 for i in rows) / sum(h[i] for i in rows))  # of the root's rows
    node = {"value": value, "rows": len(rows)}
    found = tree_split(codes, rows, g, h, task, last, nominal, penalty=penalty, **how) if depth else None
    if found is None:
        return node
    _, node["gain"], node["feature"], node["left"] = found
    sides = [[i for i in rows if (int(codes[found[2]][i]) in found[3]) == side] for side in (True, False)]
    node["children"] = [
        tree(codes, side, g, h, task, last, nominal, depth - 1, rate, penalty, leaf, **how) for side in sides
    ]
    return node


def tree_value(node, row):
    """Return the value of a tree for a row of codes that occurred in training."""
    while "children" in node:
        node = node["children"][0 if int(row[node["feature"]]) in node["left"] else 1]
    return node["value"]


def tree_contributions(node, row, n_features):
    """Return (root, contributions (p,)) of a tree for a row: changes at the splits of its path (Fang et al. 2018)."""

    def mean(at):
        if "children" not in at:
            return at["value"]
        a, b = at["children"]
        return (a["rows"] * mean(a) + b["rows"] * mean(b)) / at["rows"]

    root, found = mean(node), np.zeros(n_features)
    while "children" in node:
        below = node["children"][0 if int(row[node["feature"]]) in node["left"] else 1]
        found[node["feature"]] += mean(below) - mean(node)
        node = below
    return root, found


def tree_partial(node, feature, code, given):
    """Return the mean of a tree given one feature's code and those in `given`, other splits weighted by rows."""
    if "children" not in node:
        return node["value"]
    known = code if node["feature"] == feature else given.get(node["feature"])
    a, b = (tree_partial(child, feature, code, given) for child in node["children"])
    if known is not None:
        return a if known in node["left"] else b
    sizes = [child["rows"] for child in node["children"]]
    return (sizes[0] * a + sizes[1] * b) / sum(sizes)


def smooth_pair(sums, dense, penalties, products, bend, shrunken):
    """Return the step (A, B) of a smooth pair by dense algebra, given gradient and hessian (2, A, B) of its cells.

    dense, penalties, products : of either feature its functions (A, R), what bends cost, and the functions' products.
    bend : what the former is multiplied by. shrunken : what the surface's size costs.
    """
    design, heavy = np.kron(*dense), sums[1].sum()
    penalty = np.kron(penalties[0], products[1]) + np.kron(products[0], penalties[1])
    system = design.T @ (sums[1].reshape(-1, 1) * design) + heavy * (
        bend * penalty + shrunken * np.kron(*products) + 1e-9 * np.eye(len(penalty))
    )
    return (design @ np.linalg.solve(system, design.T @ sums[0].ravel())).reshape(sums[0].shape)
