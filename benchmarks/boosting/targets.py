"""All kinds of targets next to other libraries: `python -m benchmarks.boosting.targets --data DIR [--json FILE]`.

Counts, amounts, an upper quantile and several classes: held-out deviance explained and seconds of ours, EBM, LightGBM
with one cut per tree, and linear models. A cell is one table, model and split; it is measured in a process of its own
that first fits a few rows (`benchmarks.boosting.peers`), and the models of a table and split run in succession. What a
library does not know is found by its signatures and reported as not available.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.boosting.peers import known, measure, split, up_to_date
from benchmarks.boosting.target_models import contenders, missing
from benchmarks.boosting.target_report import TRUTH, everything
from benchmarks.boosting.target_trials import TABLES, Trial
from benchmarks.harness.cells import Cell, keep, load, quietest, run_module
from benchmarks.harness.contenders import Contender

Cells = dict[tuple[str, str, int], Cell]


def trial_of(asked: argparse.Namespace, table: str, seed: int) -> Trial:
    """Return the table of a split."""
    return TABLES[table](asked.data, seed).cut(asked.rows, seed)


def one_cell(asked: argparse.Namespace) -> None:
    """Measure one cell in this process."""
    table, name, seed = asked.cell
    trial = trial_of(asked, table, int(seed))
    keep(asked.out, measure(trial, contenders(trial.kind)[name], int(seed)))


def in_own_process(asked: argparse.Namespace, table: str, name: str, seed: int, most_seconds: float) -> Cell:
    """Measure one cell in a process of its own, and return it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "cell.json"
        cell = ["--cell", table, name, seed, "--data", asked.data, "--rows", asked.rows, "--out", out]
        fault = run_module("benchmarks.boosting.targets", cell, min(asked.limit, most_seconds))
        return load(out) or {"error": fault or "Left no result."}


def truth_cell(trial: Trial, table: str, seed: int) -> Cell:
    """Return how much the truth explains of the rows that models are tested on."""
    assert trial.truth is not None
    _, X, _, y = split(trial, seed)
    score = trial.score(X, y, trial.truth[X.index].to_numpy())
    return {"table": table, "model": TRUTH, "seed": seed, "metric": score}


def measure_one(asked: argparse.Namespace, about: dict[str, Any], contender: Contender, reason: str) -> Cell:
    """Return a new cell: measured, or with the reason why it cannot be."""
    if reason:
        return about | {"missing": reason}
    run = partial(in_own_process, asked, about["table"], about["model"], about["seed"], contender.most_seconds)
    return about | (run() if asked.once else quietest(run))


def measure_split(asked: argparse.Namespace, cells: Cells, table: str, seed: int) -> None:
    """Measure the missing cells of one table and split, and add them."""
    trial = trial_of(asked, table, seed)
    if trial.truth is not None:
        cells[table, TRUTH, seed] = truth_cell(trial, table, seed)
    reasons = missing(trial)
    for name, contender in contenders(trial.kind).items():
        old = cells.get((table, name, seed), {})
        if (asked.models and name not in asked.models) or (
            up_to_date(old, contender) and old["most_rows"] == asked.rows
        ):
            continue
        about = known(table, name, seed, contender) | {"most_rows": asked.rows}
        cells[table, name, seed] = cell = measure_one(asked, about, contender, reasons.get(name, ""))
        result = cell.get("missing") or cell.get("error") or f"{cell['metric']:.2f}%  {cell['seconds']:.2f} s"
        print(f"{table:10}{name:20}{seed}  {result}", flush=True)
        if asked.json:
            keep(asked.json, {"cells": list(cells.values())})


def main() -> None:
    """Measure the missing cells, then print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real tables (Parquet)")
    parser.add_argument("--json", type=Path, help="a file of all cells; those of the same code are kept")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--models", nargs="*", help="only these models")
    parser.add_argument("--rows", type=int, default=1_000_000, help="most rows of a table")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a cell is given up")
    parser.add_argument("--once", action="store_true", help="repeat no cell, however busy the machine is")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cell:
        one_cell(asked)
        return
    kept = load(asked.json).get("cells", []) if asked.json else []
    cells: Cells = {(cell["table"], cell["model"], cell["seed"]): cell for cell in kept}
    for seed in range(asked.splits):
        for table in asked.tables:
            measure_split(asked, cells, table, seed)
    with pd.option_context("display.width", 160, "display.max_columns", None):
        for title, frame in everything(pd.DataFrame(list(cells.values()))).items():
            print(f"\n{title}\n{frame.to_string(float_format='{:.4g}'.format)}")


if __name__ == "__main__":
    main()
