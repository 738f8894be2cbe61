"""How often intervals of counts hold in each tenth of the prediction: `python -m benchmarks.boosting.count_intervals`.

Tables of counts with an exposure, as they come about: the same chance for all rows of a mean, a rate that varies
between rows, and a share of rows that have 0 whatever their mean, also one that depends on a feature. Each has its own
model and calibration rows, of Poisson deviance at the row's exposure. Reported by tenth of the expected count, as means
over tables: the share of *levels* inside, each outcome at random within its mass, which is what was asked for but for
chance; and the share of *outcomes* inside, which is larger by those equal to an end.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.harness.page import markdown
from gamcore import GAMRegressor, fit_intervals, predict_interval
from gamcore.common.types import Floats
from gamcore.data.binning import encode_table
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import read_table
from gamcore.model.outcomes import Rows

COVERAGES: Final = (0.8, 0.9, 0.95)
TRAIN, CALIBRATE, TEST = 1_500, 3_000, 3_000
LEVELS: Final = (-0.6, 1.4)
"""Logs of the rate of a year, rare and frequent."""

KINDS: Final = ("gamma rates", "zeros", "lognormal rates", "zeros by a feature", "poisson")


def draw(kind: str, level: float, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return a table of n rows, their exposures and counts."""
    X = pd.DataFrame({"age": rng.uniform(18, 80, n).round(), "zone": rng.choice(list("abcd"), n)})
    exposure = np.where(rng.random(n) < 0.5, 1.0, rng.uniform(0.05, 1.0, n).round(2))
    mean = np.exp(level + np.sin(X["age"] / 12) + 0.5 * (X["zone"] == "b")).to_numpy() * exposure
    zeros = np.zeros(n)
    if kind == "zeros":
        zeros = np.full(n, 0.25)
    elif kind == "zeros by a feature":
        zeros = (0.1 + 0.4 * (X["zone"] == "a")).to_numpy()
    varied = np.ones(n)
    if kind in ("gamma rates", "zeros"):
        varied = rng.gamma(2.0, 0.5, n)
    elif kind == "lognormal rates":
        varied = np.exp(rng.normal(-0.32, 0.8, n))
    return X, exposure, rng.poisson(mean / (1.0 - zeros) * varied) * (rng.random(n) >= zeros) * 1.0


def replicate(seed: int) -> list[dict[str, Any]]:
    """Return the shares of one table by coverage and tenth: two seeds of a kind, all kinds of a level, and again."""
    kind, level = KINDS[seed // 2 % len(KINDS)], LEVELS[seed // (2 * len(KINDS)) % len(LEVELS)]
    rng = np.random.default_rng(seed)
    model = GAMRegressor(objective="poisson", outer_bags=2, max_rounds=60, random_state=seed)
    tables = [draw(kind, level, n, rng) for n in (TRAIN, CALIBRATE, TEST)]
    given = [{"exposure": exposure} for _, exposure, _ in tables]
    fit_intervals(model.fit(*tables[0][::2], **given[0]), *tables[1][::2], **given[1])
    X, _, y = tables[2]
    mean, intervals = model.predict(X, **given[2]), single_model(model).intervals
    assert intervals is not None
    codes = encode_table(read_table(model, X, reset=False), single_model(model).bins)
    place = intervals.outcomes.scores(y, Rows(mean, codes), rng)
    tenth = np.searchsorted(np.quantile(mean, np.arange(1, 10) / 10), mean)
    rows = []
    for coverage in COVERAGES:
        lower, upper = predict_interval(model, X, coverage, **given[2]).T
        low, high = intervals.scores_of_ends(mean, coverage).T
        for k in range(10):
            in_tenth = tenth == k
            rows.append({
                "kind": kind, "coverage": coverage, "tenth": k + 1,
                "levels": np.mean((place >= low) & (place <= high), where=in_tenth),
                "outcomes": np.mean((y >= lower) & (y <= upper), where=in_tenth),
            })  # fmt: skip
    return rows


def lines(cells: pd.DataFrame, tables: int) -> list[str]:
    """Return the lines of the page."""
    by = cells.pivot_table(index="coverage", columns="tenth", values=["levels", "outcomes"]) * 100
    rows = []
    for coverage in COVERAGES:
        for what in ("levels", "outcomes"):
            shares = [by.loc[coverage, (what, k)] for k in range(1, 11)]
            ends = {"least": f"{min(shares):.1f}", "most": f"{max(shares):.1f}"}
            rows.append({"asked": f"{100 * coverage:g}%", "inside": what, **ends})
    head = (
        f"{tables} tables: {TRAIN:,} rows to fit, {CALIBRATE:,} for `fit_intervals`, {TEST:,} to test. Percent, of "
        "the tenths of the expected count the least and the most."
    )
    return [head, "", *markdown(pd.DataFrame(rows).set_index("asked"))]


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--runs", type=int, default=200, help="tables")
    options = asked.parse_args()
    rows = [row for seed in range(options.runs) for row in replicate(seed)]
    written = lines(pd.DataFrame(rows), options.runs)
    print("\n".join(written))


if __name__ == "__main__":
    main()
