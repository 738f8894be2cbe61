"""Seconds, memory and test metrics next to other libraries: `python -m benchmarks.boosting.peers --data DIR --json
DIR`.

All models get the same rows: 80% for fitting, 20% for testing, one split per seed. A cell is one table, model and seed.
It is measured in its own process, which first warms the model up on a few rows, and kept as one JSON file, so that a
stopped run can be resumed; our own cells are measured again when the code of the core changes. The models of one table
and seed run in direct succession, and ratios are taken within a seed, so that they compare like with like.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.boosting import standing
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import Cell, keep, load, load_all, quietest, run_module
from benchmarks.harness.contenders import Contender, contenders
from benchmarks.harness.machine import code, describe
from benchmarks.harness.watch import Watch
from tests.support.real_tables import BINARY, REGRESSION, read

WARM_ROWS = 300
TEST_SHARE = 0.2
PREDICTIONS = 5


class Measured(Protocol):
    """A table that models are fitted to, and its metric."""

    X: pd.DataFrame
    y: pd.Series

    @property
    def classifier(self) -> bool: ...

    def score(self, X: pd.DataFrame, y: NDArray[Any], predicted: NDArray[Any]) -> float: ...


def split(table: Measured, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return the features to fit and those to test, then the targets to fit and those to test."""
    strata = table.y if table.classifier else None
    parts = train_test_split(table.X, table.y.to_numpy(), test_size=TEST_SHARE, random_state=seed, stratify=strata)
    return tuple(parts)


def measure(table: Measured, contender: Contender, seed: int) -> dict[str, Any]:
    """Fit one model and score it on its test rows."""
    X, X_given, y, y_test = split(table, seed)
    X, X_test = contender.prepare(X, X_given)
    # Compiled code, thread pools and worker processes must exist before the clock starts.
    few, model = contender.make(table.classifier, seed, warming=True), contender.make(table.classifier, seed)
    contender.fit(few, X[:WARM_ROWS], y[:WARM_ROWS], seed)
    contender.ask(few, X[:WARM_ROWS])
    with Watch() as watch:
        started = time.perf_counter()
        contender.fit(model, X, y, seed)
        seconds = time.perf_counter() - started
    scores = contender.ask(model, X_test)
    return {
        "seconds": seconds,
        "predict_seconds": float(np.median([_timed(contender.ask, model, X_test) for _ in range(PREDICTIONS)])),
        "metric": table.score(X_given, y_test, scores),
        "memory_mib": watch.mib,
        "others_cores": watch.others,
        "rounds": contender.rounds(model),
        "rows": len(X),
        "test_rows": len(X_test),
    }


def _timed(function: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def known(table: str, name: str, seed: int, contender: Contender) -> dict[str, Any]:
    """Return what is known about a cell before it is measured."""
    about = {"table": table, "model": name, "seed": seed, "parameters": contender.parameters}
    about |= {} if contender.packages else {"code": code()}
    try:
        return about | {"machine": describe(*contender.packages)}
    except ModuleNotFoundError:
        return about | {"machine": describe()}


def up_to_date(cell: Cell, contender: Contender) -> bool:
    """Return whether a cell was made with the current parameters and, for our models, the current code."""
    return cell.get("parameters") == contender.parameters and (bool(contender.packages) or cell.get("code") == code())


def one_cell(data: Path, table: str, name: str, seed: int, out: Path) -> None:
    """Measure one cell; if a library fails, keep the text of its error."""
    try:
        cell = measure(read(data, table), contenders(table)[name], seed)
    except Exception as error:  # whatever fails in any library: the text is the result
        cell = {"error": f"{type(error).__name__}: {error}"}
    keep(out, known(table, name, seed, contenders(table)[name]) | cell)


def in_own_process(asked: argparse.Namespace, table: str, name: str, seed: int, out: Path) -> Cell:
    """Measure one cell in its own process, which writes it to `out`, and return it."""
    cell = ["--cell", table, name, seed, "--data", asked.data, "--json", asked.json, "--out", out]
    contender = contenders(table)[name]
    fault = run_module("benchmarks.boosting.peers", cell, min(asked.limit, contender.most_seconds))
    result = load(out) or known(table, name, seed, contender) | {"error": fault or "Left no result."}
    out.unlink(missing_ok=True)
    return result


def measure_all(asked: argparse.Namespace) -> None:
    """Measure every missing cell."""
    for seed in range(asked.seeds):
        for table in asked.tables:
            for name in contenders(table):
                out = asked.json / f"{table}-{name}-{seed}.json"
                if not up_to_date(load(out), contenders(table)[name]) and (not asked.models or name in asked.models):
                    keep(out, quietest(partial(in_own_process, asked, table, name, seed, out.with_suffix(".attempt"))))
                    print(f"{table:12}{name:20}{seed}", flush=True)


def main() -> None:
    """Measure the missing cells, then print the tables."""
    options = parser(__doc__, [*REGRESSION, *BINARY])
    options.add_argument("--models", nargs="*", help="only these models")
    options.add_argument("--seeds", type=int, default=5, help="splits")
    options.add_argument("--limit", type=float, default=3600.0, help="seconds after which a cell is given up")
    options.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    options.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.cell:
        table, name, seed = asked.cell
        one_cell(asked.data, table, name, int(seed), asked.out)
        return
    measure_all(asked)
    cells = load_all(asked.json)
    with pd.option_context("display.width", 160, "display.max_rows", None, "display.max_columns", None):
        for title, frame in standing.everything(cells).items():
            print(f"\n{title}\n{frame.to_string(float_format='{:.4g}'.format)}")


if __name__ == "__main__":
    main()
