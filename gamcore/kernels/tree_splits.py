"""The best split of a node of a tree, from its histogram.

The codes of a feature:

    0         1 .. last                     last + 1    last + 2
    missing   values left to right, levels  unseen      absent: the row's task lacks the feature

Values are cut along a line: numbers in their own order, levels in the order of their leaf values. Missing rows and
absent rows are each sent to the side where the gain is larger. Codes that no row of the node has (always including
unseen) go to the heavier side, except numbers, which stay on their side of the cut.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels import N_CODES, kernel
from gamcore.kernels.scalars import greater, lesser
from gamcore.kernels.sorting import sort_codes

Sums = NDArray[np.complex128]

NONE, ENTROPY, ENTROPY_PER_ROW, VARIANCE, VARIANCE_RELATIVE, POOLED = range(6)
"""Split criteria; see `score_tasks`."""

EMPTY: Final = 1e-12
TIE: Final = 1e-6
"""Share by which a split must be better: equal splits differ by float32 rounding, and the first must win whatever the
order of rows."""

CHANCE: Final = 1.0 / math.pi
"""What each level of a category is charged, in units of the noise of a row.

Ordered by leaf values that are pure noise, the best split of K levels gains K (2 / pi) noise, so features with many
levels, such as tasks, would win by chance. Half of that is charged: the full charge stops strong effects of many small
tasks too soon (measured: as good on School, worse on Computer; docs/method/multitask.md).
"""

SMOOTH: Final = 10.0
"""Hessian added to that of each level when levels are ordered, so that levels with few rows stay near the middle."""

FEATURE, SCORE, GAIN, PLACES, MISSING, ABSENT, LEFT_G, LEFT_H = range(8)
"""Places of a split's numbers: feature (-1: none), score, pooled gain, number of places of the line that go left,
whether missing and absent rows go left, and the gradient and hessian of the rows that go left."""
SPLIT_SIZE: Final = 8


class Splitting(NamedTuple):
    """Scalars of the search for a split."""

    criterion: int
    penalty: float  # lambda, added to every hessian
    least_hessian: float  # of a child
    least_gain: float  # gamma: a split must gain more
    beta: float  # weight of the variance of the tasks' gains
    noise: float = 0.0  # sum of squared gradients / sum of hessians: what a level gains by chance


class Search(NamedTuple):
    """Scratch of a search."""

    order: NDArray[np.int64]  # (V,) codes of the line
    key: NDArray[np.float64]  # (V,)
    total: Sums  # (V,) sums over tasks
    left: Sums  # (T,) sums left of a cut
    running: Sums  # (T,) sums over the line's places so far
    whole: Sums  # (T,)
    gains: NDArray[np.float64]  # (T,)
    by_score: NDArray[np.float64]  # (SPLIT_SIZE,)
    by_gain: NDArray[np.float64]


def make_search(n_tasks: int) -> Search:
    """Return scratch for nodes of `n_tasks` tasks."""
    of_codes = (np.zeros(N_CODES, np.int64), np.zeros(N_CODES), np.zeros(N_CODES, np.complex128))
    left, running, whole = (np.zeros(n_tasks, np.complex128) for _ in range(3))
    best = np.zeros(SPLIT_SIZE), np.zeros(SPLIT_SIZE)
    return Search(*of_codes, left, running, whole, np.zeros(n_tasks), *best)


@kernel
def gain_of(low: complex, high: complex, penalty: float) -> float:
    """Return the loss reduction of separating two sums (gradient + i hessian): G^2 / (H + lambda) of each part, added,
    minus that of both together."""
    both = low + high
    gain = low.real * low.real / (low.imag + penalty) if low.imag + penalty > EMPTY else 0.0
    gain += high.real * high.real / (high.imag + penalty) if high.imag + penalty > EMPTY else 0.0
    return gain - (both.real * both.real / (both.imag + penalty) if both.imag + penalty > EMPTY else 0.0)


@kernel
def sum_of(sums: NDArray[np.complexfloating]) -> complex:
    """Return the sum, in order and in double precision."""
    total = 0j
    for t in range(sums.size):
        total += sums[t]
    return total


@kernel
def harm(left: Sums, whole: Sums, penalty: float) -> float:
    """Return the harm of a split: the loss per row that the shared leaves add to a task, averaged over the tasks in the
    node, times the rows."""
    low, both = sum_of(left), sum_of(whole)
    high = both - low
    w_low, w_high, w_both = (
        low.real / (low.imag + penalty),
        high.real / (high.imag + penalty),
        both.real / (both.imag + penalty),
    )
    excess, present = 0.0, 0
    for t in range(whole.size):
        if whole[t].imag <= EMPTY:
            continue
        present += 1
        rest = whole[t] - left[t]
        taken = 2 * left[t].real * w_low - left[t].imag * w_low * w_low
        taken += 2 * rest.real * w_high - rest.imag * w_high * w_high
        taken -= 2 * whole[t].real * w_both - whole[t].imag * w_both * w_both
        excess += greater(-taken, 0.0) / whole[t].imag
    return float(excess * both.imag / greater(present, 1))


@kernel
def task_gains(left: Sums, whole: Sums, how: Splitting, gains: NDArray[np.float64]) -> int:
    """Write what each task in a node would gain by a split with leaves of its own; return how many tasks are in it.

    Their gains come first in `gains` (T,).
    """
    present = 0
    for t in range(whole.size):
        if whole[t].imag <= EMPTY:
            continue
        gains[present] = gain_of(left[t], whole[t] - left[t], how.penalty)
        if how.criterion == ENTROPY_PER_ROW:
            gains[present] /= whole[t].imag
        present += 1
    return present


@kernel
def score_tasks(left: Sums, whole: Sums, how: Splitting, pooled: float, gains: NDArray[np.float64]) -> float:
    """Return the score of a split with pooled gain `pooled`, from its effect on each task (Zhang and Li 2019, section
    3.2).

    left, whole : (T,) sums of each task left of the cut, and in the node; gains : (T,) scratch.
    entropy : pooled gain times the entropy of the tasks' shares of the gains (Eq. 5), or of the gains per row.
    variance : pooled gain less beta times the variance of the gains over the tasks in the node (Eq. 6), or that
        variance divided by their mean.
    pooled : pooled gain less the harm of the shared leaves.
    """
    if how.criterion == POOLED:
        return float(pooled - harm(left, whole, how.penalty))
    present = task_gains(left, whole, how, gains)
    if how.criterion in (VARIANCE, VARIANCE_RELATIVE):
        if present < 2:
            return pooled
        mean, spread = 0.0, 0.0
        for t in range(present):
            mean += gains[t]
        mean /= present
        for t in range(present):
            spread += (gains[t] - mean) ** 2
        spread /= present - 1
        relative = how.criterion == VARIANCE_RELATIVE
        return float(pooled - how.beta * (spread / (abs(mean) + EMPTY) if relative else spread))
    total = 0.0
    for t in range(present):
        total += greater(gains[t], 0.0)
    entropy = 0.0
    for t in range(present):
        if gains[t] > 0.0:
            share = gains[t] / total
            entropy -= share * math.log(share)
    return pooled * entropy


@kernel
def order_line(total: Sums, last: int, nominal: bool, search: Search) -> None:
    """Write the order of a feature's values along the line: codes 1 .. last, levels by their shrunken leaf value."""
    for k in range(last):
        search.order[k] = k + 1
        search.key[k] = total[k + 1].real / (total[k + 1].imag + SMOOTH)
    if nominal:
        sort_codes(search.key, last, search.order)


@kernel
def sum_tasks(hist: Sums, j: int, n_codes: int, search: Search) -> complex:
    """Write the sums per code to `search.total` and per task to `search.whole`; return the grand total."""
    search.total[:n_codes] = 0
    search.whole[:] = 0
    for t in range(hist.shape[0]):
        for v in range(n_codes):
            search.total[v] += hist[t, j, v]
            search.whole[t] += hist[t, j, v]
    return complex(sum_of(search.whole))


@kernel
def note(
    best: NDArray[np.float64], which: int, j: int, score: float, gain: float, k: int, side: int, left: complex
) -> None:
    """Keep a split in `best` where it is better than the best so far by SCORE or GAIN, as `which` says."""
    if (score if which == SCORE else gain) > best[which] + TIE * abs(best[which]):
        best[FEATURE], best[SCORE], best[GAIN], best[PLACES] = j, score, gain, k
        best[MISSING], best[ABSENT] = side & 1, side >> 1
        best[LEFT_G], best[LEFT_H] = left.real, left.imag


@kernel
def search_feature(hist: Sums, j: int, last: int, nominal: bool, how: Splitting, search: Search) -> None:
    """Keep a feature's best split where it beats `search.by_score` or `search.by_gain`; ties go to the first cut."""
    n_codes, apart = last + 3, how.criterion != NONE
    whole = sum_tasks(hist, j, n_codes, search)
    total, absent = search.total, last + 2
    order_line(total, last, nominal, search)
    floor = greater(how.least_hessian, EMPTY)
    charge = 0.0
    if nominal:
        levels = 0
        for k in range(1, last + 1):
            levels += total[k].imag > 0.0
        charge = CHANCE * how.noise * greater(levels - 2, 0)
    low = 0j
    search.running[:] = 0
    for k in range(last + 1):  # places of the line that go left; 0: only missing or absent rows do
        if k > 0:
            code = search.order[k - 1]
            if total[code].imag == 0.0:
                continue
            low += total[code]
            if apart:
                for t in range(hist.shape[0]):
                    search.running[t] += hist[t, j, code]
        for side in range(4):
            if (side & 1 and total[0].imag == 0.0) or (side & 2 and total[absent].imag == 0.0):
                continue
            left = low + (total[0] if side & 1 else 0j) + (total[absent] if side & 2 else 0j)
            if lesser(left.imag, whole.imag - left.imag) < floor:
                continue
            gain = gain_of(left, whole - left, how.penalty) - charge
            if not gain > how.least_gain:
                continue
            score = gain
            if apart:
                for t in range(hist.shape[0]):
                    search.left[t] = search.running[t]
                    search.left[t] += (hist[t, j, 0] if side & 1 else 0j) + (hist[t, j, absent] if side & 2 else 0j)
                score = score_tasks(search.left, search.whole, how, gain, search.gains)
                note(search.by_gain, GAIN, j, score, gain, k, side, left)
            note(search.by_score, SCORE, j, score, gain, k, side, left)


@kernel
def search(
    hist: Sums,
    features: NDArray[np.int64],
    last: NDArray[np.int64],
    nominal: NDArray[np.bool_],
    how: Splitting,
    best: Search,
    split: NDArray[np.float64],
) -> None:
    """Write the best split (SPLIT_SIZE,) of a node with histogram (T, p, V); split[FEATURE] is -1 for none.

    Splits are compared by the criterion. The entropy is 0 where only one task gains; if it is 0 for all splits, they
    are compared by pooled gain.
    """
    best.by_score[:] = 0.0
    best.by_gain[:] = 0.0
    best.by_score[FEATURE] = best.by_gain[FEATURE] = -1.0
    best.by_score[SCORE] = how.least_gain if how.criterion in (VARIANCE, VARIANCE_RELATIVE, POOLED) else 0.0
    for j in features:
        search_feature(hist, j, last[j], nominal[j], how, best)
    entropy = how.criterion in (ENTROPY, ENTROPY_PER_ROW)
    chosen = best.by_gain if entropy and best.by_score[FEATURE] < 0 else best.by_score
    for k in range(SPLIT_SIZE):
        split[k] = chosen[k]


@kernel
def left_codes(
    hist: Sums, split: NDArray[np.float64], last: int, nominal: bool, search: Search, goes: NDArray[np.bool_]
) -> None:
    """Write which codes (V,) of the split's feature go left."""
    j = int(split[FEATURE])
    whole = sum_tasks(hist, j, last + 3, search)
    order_line(search.total, last, nominal, search)
    heavier = split[LEFT_H] * 2 > whole.imag
    goes[:] = heavier
    for k in range(last):
        code = search.order[k]
        if not nominal or search.total[code].imag != 0.0:
            goes[code] = k < split[PLACES]
    if search.total[0].imag != 0.0:
        goes[0] = split[MISSING] > 0
    if search.total[last + 2].imag != 0.0:
        goes[last + 2] = split[ABSENT] > 0
