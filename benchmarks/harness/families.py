"""Synthetic families of tasks with known functions, seeded and with large test sets.

Features are independent and uniform on (0, 1). A function is the sum of a step or wave in each feature and the product
of two features, scaled to mean 0 and variance 1. Numeric targets get normal noise of SD `noise`; a class is 1 where the
function plus logistic noise of that SD is positive, so that the signal is equally strong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]

N_FEATURES = 10
N_TEST = 5_000
LETTERS = np.array(list(ascii_lowercase))
LOGISTIC_SD = np.pi / np.sqrt(3.0)

N_MATTER, N_OWN_MATTER, OWN_SHARE = 12, 6, 0.3
"""Of tasks of rare positives: see `rare`."""

COMMON = [f"x{j}" for j in range(6)]
OWN = {letter: [f"{letter}{j}" for j in range(3)] for letter in "ab"}
"""Columns of heterogeneous tasks: those of both and those of one."""


@dataclass(frozen=True)
class Sample:
    """The rows of all tasks, task by task, with a plain index."""

    X: pd.DataFrame
    y: pd.Series
    """A number, or 0 and 1."""
    task: pd.Series
    """A letter, in the order of the tasks."""
    truth: pd.Series
    """The mean of y given X: the function, or the probability of a 1."""


@dataclass(frozen=True)
class Family:
    """Tasks to be learned together; each is tested on the same rows of features, by default N_TEST."""

    train: Sample
    test: Sample
    binary: bool


def imbalanced(
    similarity: float, sizes: Sequence[int] = (10_000, 100), seed: int = 0, binary: bool = False, noise: float = 1.0
) -> Family:
    """Return tasks whose functions have this pairwise correlation (0 to 1); by default two, the second one small."""
    rng = np.random.default_rng(seed)
    X = rng.random((sum(sizes) + N_TEST, N_FEATURES))
    return _deal(_frame(X), _alike(X, len(sizes), similarity, rng), sizes, rng, binary, noise)


def outlier(seed: int = 0, size: int = 500, binary: bool = False, noise: float = 1.0) -> Family:
    """Return six tasks of this size: five whose functions correlate at .9, and a last one with the sign reversed."""
    rng = np.random.default_rng(seed)
    X = rng.random((6 * size + N_TEST, N_FEATURES))
    truths = _alike(X, 6, 0.9, rng) * [1, 1, 1, 1, 1, -1]
    return _deal(_frame(X), truths, [size] * 6, rng, binary, noise)


def mixed(shares: Sequence[float], seed: int = 0, size: int = 500, binary: bool = False, noise: float = 1.0) -> Family:
    """Return tasks of this size whose functions correlate with a common one by these shares."""
    rng = np.random.default_rng(seed)
    X = rng.random((len(shares) * size + N_TEST, N_FEATURES))
    truths = _mix(X, np.asarray(shares), rng)
    return _deal(_frame(X), truths, [size] * len(shares), rng, binary, noise)


def unrelated(seed: int = 0, size: int = 500, binary: bool = False, noise: float = 1.0) -> Family:
    """Return four tasks of this size with uncorrelated functions."""
    return imbalanced(0.0, [size] * 4, seed, binary, noise)


def heterogeneous(
    seed: int = 0, sizes: Sequence[int] = (2_000, 500), binary: bool = False, noise: float = 1.0
) -> Family:
    """Return two tasks: half of each function's variance is common, half comes from the task's own columns, which the
    other task lacks."""
    rng = np.random.default_rng(seed)
    columns = [*COMMON, *OWN["a"], *OWN["b"]]
    frame = pd.DataFrame(rng.random((sum(sizes) + N_TEST, len(columns))), columns=columns)
    common = _function(frame[COMMON].to_numpy(), rng)
    truths = np.column_stack([common + _function(frame[OWN[letter]].to_numpy(), rng) for letter in OWN])
    deal = _deal(frame, truths / np.sqrt(2.0), sizes, rng, binary, noise)
    for sample in (deal.train, deal.test):
        for letter, own in OWN.items():
            sample.X.loc[sample.task != letter, own] = np.nan
    return deal


def rare(
    sizes: Sequence[int],
    rates: Sequence[float],
    columns: tuple[int, int],
    n_test: int = N_TEST,
    seed: int = 0,
    noise: float = 1.0,
) -> Family:
    """Return two tasks of rare positives, of this share each, whose functions correlate at .8 in common columns.

    columns : how many both have, of which the first N_MATTER matter, and how many the second alone has, of which the
    first N_OWN_MATTER make OWN_SHARE of the variance of its function. The rest is noise.
    """
    rng = np.random.default_rng(seed)
    n_common, n_own = columns
    X = rng.random((sum(sizes) + n_test, n_common + n_own), np.float32)
    truths = _alike(X[:, :N_MATTER].astype(np.float64), 2, 0.8, rng)
    own = [f"b{j}" for j in range(n_own)]
    if n_own:
        extra = _function(X[:, n_common : n_common + N_OWN_MATTER].astype(np.float64), rng)
        truths[:, 1] = np.sqrt(1.0 - OWN_SHARE) * truths[:, 1] + np.sqrt(OWN_SHARE) * extra
    truths = truths + [_shift(truth, rate, noise) for truth, rate in zip(truths.T, rates, strict=True)]
    frame = pd.DataFrame(X, columns=[*(f"x{j}" for j in range(n_common)), *own])
    family = _deal(frame, truths, sizes, rng, True, noise)
    for sample in (family.train, family.test):
        sample.X.loc[sample.task != "b", own] = np.nan
    return family


def _shift(values: Array, rate: float, noise: float) -> float:
    """Return what makes the mean chance of a 1 this rate where it is added to the values."""
    return float(brentq(lambda shift: _chance(values + shift, noise).mean() - rate, -100.0, 100.0))


def _frame(X: Array) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _function(X: Array, rng: np.random.Generator) -> Array:
    """Return a random function of all columns at the rows of X."""
    columns = X.T[rng.permutation(X.shape[1])]
    terms = [_standard((columns[0] - 0.5) * (columns[1] - 0.5))]
    for place, x in enumerate(columns):
        wave = np.sin(2.0 * np.pi * (rng.uniform(0.5, 1.0) * x + rng.random()))
        terms.append(_standard(wave if place % 2 else np.sign(x - rng.uniform(0.2, 0.8))))
    weights = rng.uniform(0.5, 1.5, len(terms)) * rng.choice([-1.0, 1.0], len(terms))
    return _standard(weights @ terms)


def _standard(values: Array) -> Array:
    """Return the values scaled to mean 0 and variance 1 down the rows."""
    return (values - values.mean(axis=0)) / values.std(axis=0)


def _alike(X: Array, n_tasks: int, similarity: float, rng: np.random.Generator) -> Array:
    """Return equally correlated functions at the rows of X, one per column, each a mix of a common one and its own."""
    return _mix(X, np.full(n_tasks, np.sqrt(similarity)), rng)


def _mix(X: Array, shares: Array, rng: np.random.Generator) -> Array:
    """Return functions at the rows of X, one per column, that correlate with a common one by these shares."""
    drawn = np.column_stack([_function(X, rng) for _ in range(1 + len(shares))])
    # Random functions of the same features correlate somewhat by chance, hence the QR.
    common, own = np.split(_standard(np.linalg.qr(drawn)[0]), [1], axis=1)
    return shares * common + np.sqrt(1.0 - shares**2) * own


def _deal(
    frame: pd.DataFrame, truths: Array, sizes: Sequence[int], rng: np.random.Generator, binary: bool, noise: float
) -> Family:
    """Return a family in which each task trains on its own rows, and the rows after those test every task."""
    tasks, n = np.arange(len(sizes)), sum(sizes)

    def sample(rows: NDArray[np.intp], task: NDArray[np.intp]) -> Sample:
        truth, y = _draw(truths[rows, task], rng, binary, noise)
        X = frame.iloc[rows].reset_index(drop=True)
        return Sample(X, pd.Series(y), pd.Series(LETTERS[task]), pd.Series(truth))

    train = sample(np.arange(n), np.repeat(tasks, sizes))
    test = sample(np.tile(np.arange(n, len(frame)), len(tasks)), np.repeat(tasks, len(frame) - n))
    return Family(train, test, binary)


def _draw(values: Array, rng: np.random.Generator, binary: bool, noise: float) -> tuple[Array, NDArray[np.number]]:
    """Return the means of the target, and drawn targets, given the function's values."""
    if not binary:
        return values, values + noise * rng.standard_normal(len(values))
    chance = _chance(values, noise)
    return chance, (rng.random(len(values)) < chance).astype(int)


def _chance(values: Array, noise: float) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-LOGISTIC_SD / noise * values)))
