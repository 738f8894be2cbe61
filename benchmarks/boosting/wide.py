"""Many levels and fine bins: `python -m benchmarks.boosting.wide [--data DIR] [--seeds N] [--json FILE]`.

*Levels*: a category of thousands of levels with normal effects, a curve and a line, drawn with known truth; excess is
the held-out loss above that of the truth. LightGBM has its own categories, with one cut per tree and with its default
trees, and stops on held-out rows. With `--data`, *bins*: the public tables with 256 bins, with `max_bins="auto"`, with
1,024 and small first steps, and EBM with its 1,024; the splits are those of `benchmarks.boosting.peers`. Libraries that
are not installed are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.boosting.peers import split
from benchmarks.harness.cells import keep
from benchmarks.harness.contenders import Contender, make_ebm, make_lightgbm, make_ours
from benchmarks.harness.machine import describe
from gamcore.common.types import Floats
from tests.support.real_tables import BINARY, REGRESSION, read

CASES: Final = [  # rows, levels, spread of effects, how unequally frequent levels are
    (30_000, 3000, 1.0, 0.0), (100_000, 3000, 0.5, 0.0), (100_000, 3000, 0.5, 1.0), (300_000, 3000, 0.3, 0.8),
    (100_000, 3000, 0.15, 0.0), (100_000, 3000, 0.0, 0.0), (100_000, 6000, 0.5, 0.7),
]  # fmt: skip
TEST_ROWS: Final = 100_000
JOBS: Final = 2


def ours(**parameters: Any) -> Contender:
    """Return our default model with some parameters."""
    contender = make_ours("balanced", JOBS)
    contender.parameters.update(parameters)
    return contender


def draw(case: tuple[int, int, float, float], n: int, seed: int, binary: bool) -> tuple[pd.DataFrame, Any, Floats]:
    """Return rows, their targets and the true scores; the effects of levels are the same for all seeds."""
    rng, (_, levels, spread, unequal) = np.random.default_rng(seed), case
    weight = 1.0 / np.arange(1, levels + 1) ** unequal
    effects = np.random.default_rng(99).normal(0.0, spread, levels)
    level = rng.choice(levels, n, p=weight / weight.sum())
    X = pd.DataFrame({"product": level, "a": rng.normal(size=n), "b": rng.uniform(size=n)})
    X["product"] = "p" + X["product"].astype(str)
    score = effects[level] + np.sin(2 * X["a"]) + X["b"]
    y = rng.random(n) < 1 / (1 + np.exp(-score)) if binary else score + rng.normal(size=n)
    return X, np.asarray(y, int if binary else float), score.to_numpy()


def loss(y: NDArray[Any], predicted: Floats, binary: bool) -> float:
    """Return the mean log-loss of probabilities, or the mean squared error."""
    if not binary:
        return float(np.mean((y - predicted) ** 2))
    chance = np.clip(predicted, 1e-9, 1 - 1e-9)
    return float(-np.mean(np.log(np.where(y == 1, chance, 1 - chance))))


def fitted(
    contender: Contender, rows: tuple[Any, Any, Any], binary: bool, seed: int
) -> tuple[Floats, float]:  # fmt: skip
    """Return the predictions of the test rows, and the seconds of the fit; a small fit goes before it."""
    X, X_test = contender.prepare(rows[0], rows[1])
    warm = contender.make(binary, seed, warming=True)
    contender.fit(warm, X[:2000], rows[2][:2000], seed)
    model, began = contender.make(binary, seed), time.perf_counter()
    contender.fit(model, X, rows[2], seed)
    seconds = time.perf_counter() - began
    return contender.ask(model, X_test), seconds


def levels(seeds: int) -> pd.DataFrame:
    """Return excess losses and seconds, means over seeds."""
    models: dict[str, Contender] = {"ours": ours(), "pooled": ours(max_bins=255)}
    if find_spec("lightgbm"):
        slow = {"n_estimators": 5000, "learning_rate": 0.1, "n_jobs": JOBS}
        models |= {"LightGBM": make_lightgbm(num_leaves=2, **slow), "LightGBM, 31 leaves": make_lightgbm(**slow)}
    cells = []
    for binary in (False, True):
        _one_draw({"ours": models["ours"]}, CASES[0], 0, binary)  # compiles
        for case in CASES:
            row: dict[str, Any] = {"target": "binary" if binary else "number"}
            row |= dict(zip(("rows", "levels", "spread", "unequal"), case, strict=True))
            runs = [_one_draw(models, case, seed, binary) for seed in range(seeds)]
            row |= pd.DataFrame(runs).mean().to_dict()
            cells.append(row)
            print(pd.DataFrame([row]).to_string(index=False, float_format="{:.4g}".format), flush=True)
    return pd.DataFrame(cells)


def _one_draw(models: dict[str, Contender], case: Any, seed: int, binary: bool) -> dict[str, float]:
    X, y, _ = draw(case, case[0], seed, binary)
    X_test, y_test, score = draw(case, TEST_ROWS, 1000 + seed, binary)
    best = loss(y_test, 1 / (1 + np.exp(-score)) if binary else score, binary)
    excess: dict[str, float] = {}
    for name, contender in models.items():
        predicted, seconds = fitted(contender, (X, X_test, y), binary, seed)
        excess |= {name: loss(y_test, predicted, binary) - best, f"{name}, s": seconds}
    return excess


def bins(data: Path, seeds: int) -> pd.DataFrame:
    """Return test metrics and seconds on the public tables, means over splits."""
    models: dict[str, Callable[[], Contender]] = {
        "256": ours, "auto": partial(ours, max_bins="auto"),
        "1024, small steps": partial(ours, max_bins=1024, smoothing_rounds=0),
    }  # fmt: skip
    if find_spec("interpret"):
        models["EBM"] = make_ebm
    cells = []
    for name in (*REGRESSION, *BINARY):
        table, runs = read(data, name), []
        for seed in range(seeds):
            X, X_test, y, y_test = split(table, seed)
            run: dict[str, float] = {}
            for label, make in models.items():
                predicted, seconds = fitted(make(), (X, X_test, y), table.classifier, seed)
                run |= {label: table.score(X_test, y_test, predicted), f"{label}, s": seconds}
            runs.append(run)
        each = pd.DataFrame(runs)
        row = {"table": name} | each.mean().to_dict()
        for mine in [label for label in models if label != "EBM" and "EBM" in each]:
            gap = each[mine] - each["EBM"]
            row |= {f"{mine} - EBM": gap.mean(), f"{mine}, standard error": gap.sem()}
            row[f"EBM / {mine}"] = float((each["EBM, s"] / each[f"{mine}, s"]).median())
        cells.append(row)
        print(pd.DataFrame([row]).to_string(index=False, float_format="{:.5g}".format), flush=True)
    return pd.DataFrame(cells)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the public tables (Parquet)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only-bins", action="store_true", help="leave out the levels")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    frames = {} if asked.only_bins else {"levels": levels(asked.seeds)}
    if asked.data:
        frames["bins"] = bins(asked.data, asked.seeds)
    if asked.json:
        keep(asked.json, {"machine": describe(), **{name: frame.to_dict("records") for name, frame in frames.items()}})


if __name__ == "__main__":
    main()
