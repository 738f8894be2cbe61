"""How often prediction intervals hold, and how wide they are: `python -m benchmarks.boosting.intervals --json DIR`.

A replication draws a table from a known model, fits it, calibrates intervals on fresh rows, and asks for them on many
more. Reported are the shares of these inside, below and above, as means over replications with their Monte Carlo
errors; the mean width beside that of the narrowest two-sided interval of the known noise with equal tails; and how the
logarithms of both widths go together over rows. One cell per replication is kept. Counts have a benchmark of their own
(`count_intervals`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown
from gamcore import GAMRegressor, fit_intervals, predict_interval
from gamcore.common.types import Floats

COVERAGES: Final = (0.8, 0.9, 0.95)
SHOWN: Final = "90%"
"""The coverage whose ends and widths are told."""

TRAIN, CALIBRATE, TEST = 2_000, 1_000, 5_000
"""Rows to fit, for `fit_intervals`, and to ask for intervals of."""

LEVELS: Final = ("a", "b", "c", "d")
MEANS: Final = np.array([0.5, -0.4, 0.1, -0.2])
SPREADS: Final = np.array([0.4, -0.4, 0.0, 0.0])

Quantile = Callable[[float, Floats, Floats], Floats]
"""The quantile of the outcomes (n,) at a share, given their means and the logs of their spreads."""


@dataclass(frozen=True)
class Scenario:
    """A kind of outcome: the objective, and the quantiles of the outcome given the mean on the link scale."""

    objective: str
    quantile: Quantile


SCENARIOS: Final[dict[str, Scenario]] = {
    "even noise": Scenario("squared", lambda q, f, s: f + 0.5 * stats.norm.ppf(q)),
    "wider at some places": Scenario("squared", lambda q, f, s: f + np.exp(s) * stats.norm.ppf(q)),
    "skewed": Scenario("squared", lambda q, f, s: f + np.exp(s) * (stats.expon.ppf(q) - 1.0)),
    "heavy tails": Scenario("squared", lambda q, f, s: f + np.exp(s) * stats.t.ppf(q, 3.0)),
    "amounts": Scenario("gamma", lambda q, f, s: stats.gamma.ppf(q, 2.0, scale=np.exp(f) / 2.0)),
}


def draw(scenario: Scenario, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Floats, Floats, Floats]:
    """Return a table of n rows, their outcomes, and the means and logs of spreads that these were drawn with."""
    X = pd.DataFrame({
        "wave": rng.uniform(-1, 1, n), "straight": rng.normal(size=n), "flat": rng.uniform(size=n),
        "level": rng.choice(LEVELS, n),
    })  # fmt: skip
    level = np.searchsorted(LEVELS, X["level"])
    mean = (np.sin(np.pi * X["wave"]) + 0.4 * X["straight"]).to_numpy() + MEANS[level]
    spread = (0.8 * X["wave"] - 0.7).to_numpy() + SPREADS[level]
    return X, scenario.quantile(rng.uniform(size=n), mean, spread), mean, spread


def replicate(name: str, seed: int) -> Cell:
    """Fit one table; return the shares of rows inside, below and above, and widths, by coverage."""
    scenario, rng = SCENARIOS[name], np.random.default_rng([seed, list(SCENARIOS).index(name)])
    model = GAMRegressor(objective=scenario.objective, random_state=seed)
    started = time.perf_counter()
    model.fit(*draw(scenario, TRAIN, rng)[:2])
    fitted = time.perf_counter()
    fit_intervals(model, *draw(scenario, CALIBRATE, rng)[:2])
    ended = time.perf_counter()
    X, y, mean, spread = draw(scenario, TEST, rng)
    cell: Cell = {"fit": fitted - started, "calibrate": ended - fitted, "machine": describe()}
    for coverage in COVERAGES:
        lower, upper = predict_interval(model, X, coverage).T
        low, high = (scenario.quantile(share, mean, spread) for share in ((1 - coverage) / 2, (1 + coverage) / 2))
        cell[f"{coverage:g}"] = {
            "inside": float(np.mean((y >= lower) & (y <= upper))), "below": float(np.mean(y < lower)),
            "above": float(np.mean(y > upper)), "width": float(np.mean(upper - lower)),
            "known width": float(np.mean(high - low)), "alike": _alike(upper - lower, high - low),
        }  # fmt: skip
    return cell


def _alike(width: Floats, known: Floats) -> float:
    """Return the correlation of the logs of two widths (n,); NaN where the known one is the same everywhere."""
    if np.ptp(known) < 1e-9 or known.min() <= 0:
        return float("nan")
    return float(np.corrcoef(np.log(width), np.log(known))[0, 1])


def measure(folder: Path, runs: int) -> None:
    """Measure every missing cell."""
    for name in SCENARIOS:
        for seed in range(runs):
            out = folder / f"{name.replace(' ', '-')}-{seed}.json"
            about = {"name": name, "seed": seed, "code": code()}
            if not about.items() <= load(out).items():
                keep(out, about | replicate(name, seed))


def table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind of noise and coverage: shares in percent, and widths."""
    rows = []
    for name in SCENARIOS:
        mine = cells[cells["name"] == name]
        for coverage in COVERAGES if len(mine) else ():
            each = pd.DataFrame(mine[f"{coverage:g}"].tolist())
            error = 100 * each["inside"].std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
            rows.append({
                "noise": name, "asked": f"{100 * coverage:g}%", "tables": len(each),
                "inside": f"{100 * each['inside'].mean():.2f} ± {error:.2f}",
                "below": f"{100 * each['below'].mean():.2f}", "above": f"{100 * each['above'].mean():.2f}",
                "within a point": abs(each["inside"].mean() - coverage) <= 0.01,
                "width / known": each["width"].mean() / each["known width"].mean(),
                "widths alike": each["alike"].mean(),
            })  # fmt: skip
    return pd.DataFrame(rows).set_index("noise")


def side_by_side(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per kind of noise: what lies inside at each coverage, and the ends and widths of one of them."""
    inside = rows.pivot_table(index="noise", columns="asked", values="inside", aggfunc="first", sort=False)
    of_one = rows[rows["asked"] == SHOWN].drop(columns=["asked", "inside", "tables", "within a point"])
    return inside.add_prefix("inside of ").join(of_one.add_suffix(f", {SHOWN}"))


def lines(folder: Path) -> list[str]:
    """Return the lines of the page."""
    cells = load_all(folder)
    seconds: dict[str, Any] = {what: cells[what].median() for what in ("fit", "calibrate")}
    machine = cells["machine"].iloc[-1]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "numpy", "numba"))
    head = (
        f"{TRAIN:,} rows to fit, {CALIBRATE:,} to calibrate, {TEST:,} to test; {machine['processor']}, {versions}. "
        f"A fit takes {seconds['fit']:.2f} s, its intervals {seconds['calibrate']:.2f} s (medians)."
    )
    return [head, "", *markdown(side_by_side(table(cells)))]


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--json", type=Path, required=True, help="folder of the cells; those of the same code are kept")
    asked.add_argument("--runs", type=int, default=200, help="tables of each kind")
    options = asked.parse_args()
    measure(options.json, options.runs)
    written = lines(options.json)
    print("\n".join(written))


if __name__ == "__main__":
    main()
