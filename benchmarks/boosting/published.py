"""Smooth and linear curves beside R: `python -m benchmarks.boosting.published [--bodyfat CSV] [--doc FILE]`.

Coefficients of the tutorial of mboost (Hofner et al. 2014, section 3.1), from the rows of R's `TH.data::bodyfat` as a
CSV file; and errors on the four-term example of Gu and Wahba (1991), which mgcv has as `gamSim(1)`, beside mgcv itself
where `Rscript` is installed (Debian: r-cran-mgcv, r-cran-th.data), and beside gamfit and mgcv-rust where these are
(from the package index).
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.harness.page import markdown, publish
from gamcore import GAMRegressor
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.refit.state import RefitState
from gamcore.data.sampling import Split
from gamcore.estimators.additive import bin_rows
from gamcore.estimators.base import read_rows, read_table

MARKS = ("<!-- published -->", "<!-- /published -->")
PUBLISHED: Final = {"hipcirc": 0.5114861, "kneebreadth": 1.9005386, "anthro3a": 8.9071301}
"""Coefficients after 100 steps of a learning rate of .1."""

STEPS, NOISE, RUNS = 100, 2.0, 20
MGCV = """
library(mgcv); folder <- commandArgs(TRUE)[1]
for (file in list.files(folder, "[.]csv$", full.names = TRUE)) {
  rows <- read.csv(file); fit <- gam(y ~ s(x0) + s(x1) + s(x2) + s(x3), data = rows, method = "REML")
  write(mean((fitted(fit) - rows$truth)^2), sub("csv$", "error", file)) }
"""
OURS: Final[dict[str, dict[str, Any]]] = {
    "smooth": {"shapes": "smooth"},
    "smooth, greedy": {"shapes": "smooth", "order": "greedy"},
    "smooth, greedy, by AIC": {"shapes": "smooth", "order": "greedy", "validation_fraction": 0.0, "outer_bags": 1,
                               "learning_rate": 0.1},
    "steps": {},
}  # fmt: skip


def coefficients(rows: pd.DataFrame) -> dict[str, float]:
    """Return the slopes of three features after STEPS greedy steps on all rows."""
    X, y = rows[list(PUBLISHED)], rows["DEXfat"].to_numpy()
    model = GAMRegressor(order="greedy", shapes="linear", learning_rate=0.1)
    read = read_rows(model, read_table(model, X, reset=True), y, None, None)
    data = model._encoded(read, bin_rows(model, read, 256, 256), None)
    problem = data.problem(data.deal(1, Seeds.of(0).groups))
    state = RefitState(problem, Split(np.arange(1), np.empty(0, np.int64)), model._plan(data, list(X)).parameters, 0)
    rounds: Any = state.rounds(None)
    for _ in range(STEPS):
        rounds.step(rounds.best(state.settings()), state.settings())
    slopes_by_name = {}
    for j, learner in enumerate(state.parameters.learners):
        assert learner is not None
        curve = state.fit.curves[j, 1 : len(learner.positions) + 1] * state.scale
        slopes_by_name[list(PUBLISHED)[j]] = float(np.polyfit(learner.positions, curve, 1)[0])
    return slopes_by_name


def gu_and_wahba(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return four uniform features, of which the last has no effect, targets, and their means."""
    rng = np.random.default_rng(seed)
    x = rng.random((n_rows, 4))
    truth = (
        2 * np.sin(np.pi * x[:, 0]) + np.exp(2 * x[:, 1])
        + 0.2 * x[:, 2] ** 11 * (10 * (1 - x[:, 2])) ** 6 + 10 * (10 * x[:, 2]) ** 3 * (1 - x[:, 2]) ** 10
    )  # fmt: skip
    return pd.DataFrame(x, columns=["x0", "x1", "x2", "x3"]), truth + NOISE * rng.normal(size=n_rows), truth


def by_gamfit(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return the means of rows by gamfit."""
    import gamfit

    with warnings.catch_warnings(action="ignore"):  # it tells at length which refinements it gave up
        predictions = gamfit.fit(X.assign(y=y), "y ~ s(x0) + s(x1) + s(x2) + s(x3)").predict(X)
    return np.ravel(predictions["posterior_mean"] if isinstance(predictions, pd.DataFrame) else predictions)


def by_mgcv_rust(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return the means of rows by mgcv-rust."""
    from mgcv_rust import Gam

    return np.ravel(Gam(family="gaussian").fit(X, y).predict(X))


PEERS: Final[dict[str, Callable[[pd.DataFrame, np.ndarray], np.ndarray]]] = {
    "gamfit": by_gamfit,
    "mgcv_rust": by_mgcv_rust,
}
"""What else predicts the rows it was fitted on, by module."""


def errors(n_rows: int, folder: Path) -> dict[str, float]:
    """Return the mean squared error of each way of fitting, at the rows."""
    peers = {name: fit for name, fit in PEERS.items() if importlib.util.find_spec(name)}
    by_way: dict[str, list[float]] = {name: [] for name in (*OURS, *peers)}
    for seed in range(RUNS):
        X, y, truth = gu_and_wahba(n_rows, seed)
        X.assign(y=y, truth=truth).to_csv(folder / f"{seed}.csv", index=False)
        for name, settings in OURS.items():
            model = GAMRegressor(random_state=0, **settings).fit(X, y)
            by_way[name].append(float(np.mean((model.predict(X) - truth) ** 2)))
        for name, predicted in peers.items():
            by_way[name].append(float(np.mean((predicted(X, y) - truth) ** 2)))
    if shutil.which("Rscript"):
        subprocess.run(["Rscript", "-e", MGCV, str(folder)], check=True, capture_output=True)
        by_way = {"mgcv, REML": [float(path.read_text()) for path in folder.glob("*.error")]} | by_way
    return {name: float(np.mean(error)) for name, error in by_way.items()}


def main() -> None:
    """Measure, print, and put the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodyfat", type=Path, help="the rows of TH.data::bodyfat as a CSV file")
    parser.add_argument("--doc", type=Path, help="page between whose marks the tables go")
    asked = parser.parse_args()
    by_rows = {}
    for n_rows in (400, 2000):
        with tempfile.TemporaryDirectory() as folder:
            by_rows[f"{n_rows:,} rows"] = errors(n_rows, Path(folder))
    lines = markdown(pd.DataFrame(by_rows).rename_axis(f"squared error, mean of {RUNS} runs"))
    if asked.bodyfat:
        own = coefficients(pd.read_csv(asked.bodyfat))
        both = pd.DataFrame({"mboost, as published": PUBLISHED, "ours": own}).rename_axis("coefficient")
        print("\n".join(markdown(both, 7)))
    publish(lines, asked.doc, MARKS)


if __name__ == "__main__":
    main()
