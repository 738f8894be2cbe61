"""Quantiles on simulated rows whose true quantiles are known: `python -m benchmarks.boosting.quantiles [--json FILE]`.

Reported are geometric means over tables, numbers of rows, quantiles and seeds of the *excess*: held-out pinball loss
above that of the truth, as a share of what the truth takes off the loss of a constant; the share of held-out rows below
the prediction, less the quantile; and CPU seconds. Other widths of the smoothing are beside the usual one, and a model
of scikit-learn whose trees have one cut, and so is additive as well.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from gamcore import GAMRegressor
from gamcore.common.types import Floats
from gamcore.model import quantile_loss
from gamcore.model.quantile_loss import QuantileLoss

FEATURES: Final = 5
HELD: Final = 20_000
NOISE: Final = {"heavy tails": stats.t(2), "skewed": stats.expon()}
TABLES: Final = ("even", "spread out", "narrow and wide", "little noise", "heavy tails", "skewed")
MOST_ITERATIONS: Final = 500


class Known(NamedTuple):
    """Rows with the true quantile of each."""

    X: Floats
    y: Floats
    truth: Floats


def draw(table: str, n_rows: int, tau: float, seed: int) -> Known:
    """Return rows whose quantiles are additive in the features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, FEATURES))
    mean = np.sin(3.0 * X[:, 0]) + (X[:, 1] > 0) + X[:, 2] ** 2
    size = {
        "spread out": 0.1 + X[:, 3] + 1.0, "narrow and wide": 0.02 + 0.5 * (X[:, 0] > 0),
        "little noise": np.full(n_rows, 0.05), "skewed": np.exp(X[:, 3]),
    }.get(table, np.full(n_rows, 0.5))  # fmt: skip
    noise = NOISE.get(table, stats.norm())
    return Known(X, mean + size * noise.rvs(n_rows, random_state=rng), mean + size * noise.ppf(tau))


def ours(tau: float) -> Any:
    return GAMRegressor(objective="quantile", quantile=tau, n_jobs=1, random_state=0)


def one_cut(tau: float) -> Any:
    return HistGradientBoostingRegressor(
        loss="quantile", quantile=tau, max_leaf_nodes=2, early_stopping=True, max_iter=MOST_ITERATIONS,
        n_iter_no_change=20, random_state=0,
    )  # fmt: skip


def fixed(loss: QuantileLoss, state: Floats, weight: Floats) -> Any:
    """Stand in for `form_at`: the width of the target, whatever the residuals."""
    rows = float(weight.sum()) if weight.size else float(state.size)
    return loss.form._replace(width=quantile_loss.WIDTH * (np.log(rows) / rows) ** 0.4)


def measure(make: Callable[[float], Any], rows: list[int], seeds: int) -> dict[str, float]:
    """Return the excess, the gap of the share below, and the CPU seconds."""
    excess, gaps, seconds = [], [], []
    for table, n_rows, tau, seed in itertools.product(TABLES, rows, (0.5, 0.9), range(seeds)):
        known, held = draw(table, n_rows, tau, seed), draw(table, HELD, tau, seed + 1000)
        began = time.process_time()
        predicted = make(tau).fit(known.X, known.y).predict(held.X)
        seconds.append(time.process_time() - began)
        constant = np.full(HELD, np.quantile(known.y, tau))
        least, whole, now = (
            mean_pinball_loss(held.y, prediction, alpha=tau) for prediction in (held.truth, constant, predicted)
        )
        excess.append((now - least) / (whole - least))
        gaps.append(np.mean(held.y < predicted) - tau)
    return {
        "excess": float(np.exp(np.mean(np.log(excess)))), "gap": float(np.mean(gaps)),
        "mean |gap|": float(np.mean(np.abs(gaps))), "CPU s": float(np.median(seconds)),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 8_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    points = []
    for n_rows in asked.rows:
        ours(0.9).fit(*draw("even", 100, 0.9, 0)[:2])  # compiles
        about = {"rows": n_rows}
        for factor in (1.0, 0.5, 2.0):
            with mock.patch.object(quantile_loss, "WIDTH", factor * quantile_loss.WIDTH):
                points.append(about | {"model": f"width x {factor:g}"} | measure(ours, [n_rows], asked.seeds))
        with mock.patch.object(QuantileLoss, "form_at", fixed):
            points.append(about | {"model": "the same width throughout"} | measure(ours, [n_rows], asked.seeds))
        points.append(about | {"model": "scikit-learn, one cut a tree"} | measure(one_cut, [n_rows], asked.seeds))
    if asked.json:
        keep(asked.json, {"machine": describe(), "points": points})
    print(pd.DataFrame(points).to_string(index=False, float_format="{:.4f}".format))


if __name__ == "__main__":
    main()
