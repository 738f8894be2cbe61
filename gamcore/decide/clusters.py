"""Effects where whole clusters were assigned to arms: stores, days, households.

Rows of a cluster are alike, so they say less than as many rows by themselves. The error of a mean is that of its
clusters' sums (the ratio estimator; Liang and Zeger 1986), and t has the freedom of the clusters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import read_texts
from gamcore.data.labels import levels_in_words
from gamcore.data.table import Table
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.stats.intervals import ALPHA, UNKNOWN, Interval, Z, freedom_of_both, ratio_around, wilson

FEWEST_CLUSTERS: Final = 2
"""Clusters of an arm from which its mean has an error."""


def read_assigned(table: Table, column: str, arm: Ints, arms: tuple[str, ...]) -> Ints:
    """Return the cluster (n,) of each row; ExperimentError where one is missing, or in two arms.

    arm : (n,) place of each row's arm in `arms`, -1 for none.
    """
    if column not in table:
        raise ExperimentError(f"The table has no column {column!r}: choose another column of clusters.")
    codes, names = read_texts(table.frame[column])
    inside = arm >= 0
    if (codes[inside] < 0).any():
        raise ExperimentError(f"{column!r} is missing in {int((codes[inside] < 0).sum())} rows: drop them first.")
    seen = np.zeros((len(names), len(arms)), bool)
    seen[codes[inside], arm[inside]] = True
    split = np.flatnonzero(seen.sum(axis=1) > 1)
    if split.size:
        both = levels_in_words([arms[k] for k in np.flatnonzero(seen[split[0]])[:2]])
        raise ExperimentError(
            f"{column!r} {names[split[0]]!r} has rows in {both}: whole clusters must be in one arm, or leave it out."
        )
    return codes


def by_clusters(effect: Effect, arms: tuple[Floats, Floats], clusters: tuple[Ints, Ints]) -> Effect:
    """Return an effect with the intervals and p that its clusters allow.

    arms : values of the treated and of the control, adjusted as the effect is. clusters : of the same rows.
    """
    sides = [_error(values, numbers) for values, numbers in zip(arms, clusters, strict=True)]
    (mean, square, n), (other, other_square, m) = sides
    if min(n, m) < FEWEST_CLUSTERS or not square + other_square > 0:
        return replace(effect, difference_interval=UNKNOWN, ratio_interval=UNKNOWN, p=math.nan)
    freedom = freedom_of_both(square, n, other_square, m)
    beyond, error = float(stdtrit(freedom, 1 - ALPHA / 2)), math.sqrt(square + other_square)
    difference, ratio_interval = mean - other, UNKNOWN
    if mean > 0 and other > 0:
        ratio_interval = ratio_around((mean, other), (math.sqrt(square), math.sqrt(other_square)), beyond)
    return replace(
        effect,
        difference=difference,
        difference_interval=(difference - beyond * error, difference + beyond * error),
        ratio_interval=ratio_interval,
        p=float(2 * stdtr(freedom, -abs(difference) / error)),
    )


def interval_of_level(values: Floats, clusters: Ints, is_rate: bool) -> Interval:
    """Return the 95% interval of an arm's own mean or rate, by its clusters (n,).

    That of a mean is Student's. That of a rate is Wilson's for the number of rows by themselves that would have the
    error of these, so that it stays between 0 and 1; t stands in for z (Korn and Graubard 1998). Where a rate does not
    vary, its clusters count as rows. NaN below `FEWEST_CLUSTERS`.
    """
    mean, square, n = _error(values, clusters)
    if n < FEWEST_CLUSTERS:
        return UNKNOWN
    beyond = float(stdtrit(n - 1, 1 - ALPHA / 2))
    if not is_rate:
        reach = beyond * math.sqrt(square)
        return mean - reach, mean + reach
    alone = min(mean * (1 - mean) / square, values.size) if square > 0 else n
    return wilson(mean, alone * (Z / beyond) ** 2)


def _error(values: Floats, clusters: NDArray[np.integer]) -> tuple[float, float, int]:
    """Return the mean of rows, its squared error, and the number of their clusters."""
    _, which = np.unique(clusters, return_inverse=True)
    n = int(which.max(initial=-1)) + 1
    if n < FEWEST_CLUSTERS:
        return (float(values.mean()) if values.size else math.nan), math.nan, n
    mean = float(values.mean())
    sums = np.bincount(which, values - mean)
    return mean, n / (n - 1) * float(np.square(sums).sum()) / values.size**2, n


def interval_by_clusters(
    y: Floats, inside: NDArray[np.bool_], cluster: Ints, alpha: float = ALPHA
) -> tuple[Interval, Interval]:
    """Return the intervals of the mean inside, and of its difference to the mean outside, by clusters.

    y : (n,) values. inside : (n,) rows. cluster : (n,) number of each row's cluster. NaN below `FEWEST_CLUSTERS`.
    """
    n, m = int(inside.sum()), int((~inside).sum())
    mean = float(y[inside].mean()) if n else math.nan
    rest = float(y[~inside].mean()) if m else math.nan
    parts = np.where(inside, (y - mean) / max(n, 1), 0.0)
    others = np.where(inside, 0.0, (y - rest) / max(m, 1)) if m else np.full(y.size, np.nan)
    alone = np.where(inside, cluster, -1)
    return _around(mean, parts, alone, alpha), _around(mean - rest, parts - others, cluster, alpha)


def _around(value: float, parts: Floats, cluster: Ints, alpha: float) -> Interval:
    """Return the interval of a value from the parts (n,) of its error; rows of no cluster (-1) have none."""
    known = cluster >= 0
    numbers, place = np.unique(cluster[known], return_inverse=True)
    if numbers.size < FEWEST_CLUSTERS or not math.isfinite(value):
        return math.nan, math.nan
    sums = np.bincount(place, parts[known])
    freedom = numbers.size - 1
    reach = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(float(sums @ sums) * numbers.size / freedom)
    return value - reach, value + reach
