"""Small tables and quick fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from gamcore.boosting.refit.loop import RefitTask, run_all
from gamcore.boosting.refit.problem import Parameters, Problem, Share
from gamcore.data.sampling import deal, splits
from gamcore.kernels.layout import CodedTable
from gamcore.model.losses import LOSSES


def friendly(n=1500, seed=0, binary=True):
    """Make two numbers, a category with meaningless names, missing cells, and a target additive in the features."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.uniform(0, 1, n).round(2), "c": rng.choice(list("pqrstu"), n)})
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    effect = X["c"].map(dict(zip("pqrstu", [2, -2, 1, -1, 2, -2], strict=True)))
    score = np.sin(2 * X["a"]) + 2 * (X["b"] > 0.5) + X["b"].isna() + effect
    if binary:
        return X, (rng.random(n) < 1 / (1 + np.exp(-score + 1))).astype(int)
    return X, score + rng.normal(size=n)


def outcomes(loss, score, rng):
    """Draw targets of a loss whose scores are known."""
    if loss in ("squared", "quantile"):
        return score + rng.normal(size=score.size)
    if loss == "logistic":
        return (rng.random(score.size) < 1 / (1 + np.exp(-score))).astype(float)
    if loss == "gamma":
        return rng.gamma(2.0, np.exp(score) / 2)
    counts = rng.poisson(np.exp(score - 0.5))
    return counts.astype(float) if loss == "poisson" else np.where(counts, rng.gamma(2.0 * np.maximum(counts, 1)), 0.0)


def tweedie(mean, phi, power, rng):
    """Draw sums of a Poisson number of Gamma amounts, of variance phi mean^power."""
    number = rng.poisson(mean ** (2 - power) / (phi * (2 - power)))
    shape, unit = (2 - power) / (power - 1), phi * (power - 1) * mean ** (power - 1)
    return np.where(number, rng.gamma(np.maximum(number, 1) * shape) * unit, 0.0)


def problem(loss, n=900, p=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 30, size=(p, n)).astype(np.uint8)
    score = np.sin(codes[0] / 5.0) + (codes[1] > 12)
    y = outcomes(loss, score, rng)
    dealt = deal(n, 16, seed)
    table = CodedTable(
        codes[:, dealt.order].copy(), dealt.starts, np.full(p, 29), np.array([False, False, True]), np.arange(p)
    )
    return Problem(table, y[dealt.order], np.empty(0), LOSSES[loss])


def fit(of, ensemble="grouped", histogram="rescan", dtype=np.float64, n_jobs=1, n_refits=3, callback=None, **changes):
    chosen = {
        "mart": False, "n_bags": 10, "subsample": 0.65, "max_rounds": 25, "learning_rate": 0.2, "max_leaves": 3,
        "greedy_ratio": 1.0, "early_stopping_rounds": 50, "dtype": dtype,
    } | changes  # fmt: skip
    chosen_splits = splits(16, 0.2, n_refits, 0)
    parameters, watch = Parameters(ensemble, histogram, **chosen), callback is not None
    tasks = [RefitTask(Share(of, chosen_splits[k]), parameters, k + 1, watch) for k in range(n_refits)]
    return run_all(tasks, of.y.size, n_jobs, callback)


QUICK = {"outer_bags": 2, "max_rounds": 30, "specific_rounds": 20, "random_state": 0}


def two_tasks(seed=0, n=600, small=120):
    """Make two tasks with a common effect of `shared`; only a has `extra`, only b has `own`."""
    rng = np.random.default_rng(seed)
    task = np.array(["a"] * n + ["b"] * small)
    is_a = task == "a"
    X = pd.DataFrame({"shared": rng.normal(size=n + small), "level": rng.choice(["x", "y", "z"], n + small)})
    X["extra"] = np.where(is_a, rng.normal(size=n + small), np.nan)
    X["own"] = np.where(is_a, None, rng.choice(["left", "right"], n + small))
    X.loc[rng.random(n + small) < 0.05, "shared"] = np.nan
    y = np.sin(2 * X["shared"].fillna(0.5)) + (X["level"] == "y") + np.nan_to_num(X["extra"]) * is_a
    y = y + 1.5 * (X["own"] == "right") + 0.3 * rng.normal(size=n + small)
    return X, y.to_numpy(float), task


def ten_of(n_features, n_rows, seed, together=0.0):
    """Return uniform features of which ten have an effect, and the sum of the effects. together : their correlation."""
    rng = np.random.default_rng(seed)
    drawn = np.sqrt(1 - together) * rng.normal(size=(n_rows, n_features))
    u = norm.cdf(drawn + np.sqrt(together) * rng.normal(size=(n_rows, 1)))
    effect = (
        np.sin(2 * np.pi * u[:, 0]) + 2 * u[:, 1] + 1.5 * (u[:, 2] > 0.5) + 6 * (u[:, 3] - 0.5) ** 2
        + 0.8 * np.exp(u[:, 4]) + np.cos(3 * u[:, 5]) + 1.5 * u[:, 6] + 1.5 * (u[:, 7] > 0.8)
        + 3 * np.abs(u[:, 8] - 0.5) - 1.5 * u[:, 9]
    )  # fmt: skip
    return pd.DataFrame(u, columns=[f"x{j}" for j in range(n_features)]), effect, rng
