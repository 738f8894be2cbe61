"""Lou et al. 2020 (CIKM) reproduced: `python -m benchmarks.boosting.paper --data DIR --json DIR`.

Figure 3: rows read for the histograms of a step. Figure 4: CPU time of 50 rounds relative to MART with bagging, on the
public tables, beside the printed factors, with the rounds that take as long as finding the order of the bags. One step
on synthetic rows, by strategy. Tables 2 and 3 are those of `benchmarks.boosting.alphas`. The runs of a comparison
alternate in one thread and are kept as one cell."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.boosting import paper_tables
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from benchmarks.harness.synthetic import grouped, make_settings, make_table, make_workload, row_level, step_seconds
from benchmarks.harness.watch import Watch
from gamcore import GAMClassifier, GAMRegressor
from gamcore.data.sampling import subsamples, tour
from gamcore.kernels import SUM
from gamcore.kernels.losses import LOGISTIC
from tests.support.real_tables import BINARY, REGRESSION, RealTable, read

TABLES = (*REGRESSION, *BINARY)
ALPHAS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
ALPHA = 0.65
STRATEGIES = ("rescan", "mst", "complement", "mask")
TRAIN_SHARE = 0.64
TURNS = 3
FIGURES = ("3", "step", "4", "order")

PAPER: dict[str, Any] = {
    "max_leaves": 3,
    "coarse_leaves": None,
    "smoothing_rounds": 0,
    "learning_rate": 0.01,
    "greedy_ratio": 0.0,
    "outer_bags": 1,
    "n_groups": 40,  # every alpha is a whole number of groups
    "validation_fraction": 0.0,
    "n_jobs": 1,
    "random_state": 0,
}

Times = dict[str, float]


def rows_read(n_rows: int, n_bags: int, alpha: float) -> Times:
    """Return the rows that a step's histograms read per bag, as a share of all rows: counted, not derived."""
    bags = subsamples(np.arange(n_rows), n_bags, alpha, 0)
    inside, whole = sum(bag.size for bag in bags), n_rows * n_bags
    return {
        "rescan": inside / whole,
        "mst": tour(bags).cost / whole,
        "complement": (n_rows + whole - inside) / whole,  # all rows once, then the rows that each bag leaves out
        "grouped": n_rows / whole,
    }


def order_seconds(n_rows: int, n_bags: int, alpha: float) -> dict[str, float]:
    """Return the CPU seconds of the order of the bags, which a fit finds once: of the median of some turns."""
    bags, seconds = subsamples(np.arange(n_rows), n_bags, alpha, 0), []
    for _ in range(TURNS):
        started = time.process_time()
        tour(bags)
        seconds.append(time.process_time() - started)
    return {"CPU seconds": float(np.median(seconds))}


def in_turn(runs: dict[str, Callable[[], list[float]]]) -> dict[str, Times]:
    """Return the median seconds of each run; runs alternate, so that a slow spell of the machine affects all."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(TURNS):
        for name, run in runs.items():
            seconds[name] += run()
    return {"seconds": {name: float(np.median(times)) for name, times in seconds.items()}}


def one_step(n_rows: int, n_features: int, n_bags: int, seconds: float) -> dict[str, Times]:
    """Return the seconds of a step by ensemble, strategy and precision, for logistic loss, 256 bins, synthetic rows."""
    table = make_table(n_rows, n_features, PAPER["n_groups"])

    def prepare(ensemble: str, strategy: str, dtype: type) -> Callable[[], list[float]]:
        work = make_workload(table, LOGISTIC, dtype)
        settings = make_settings(LOGISTIC, n_bags, PAPER["max_leaves"], mart=ensemble == "bagging")
        if ensemble == "grouped":
            rounds = grouped(work, settings, ALPHA)
        else:
            rounds = row_level(work, settings, ALPHA, ensemble, strategy)
        return lambda: step_seconds(rounds, settings, work, seconds)

    runs = {"MART-bagging rescan": prepare("bagging", "rescan", SUM)}
    runs |= {f"Logit-subagging {name}": prepare("subagging", name, SUM) for name in STRATEGIES}
    runs |= {"Logit-grouped": prepare("grouped", "", SUM)}
    return in_turn(runs | {"MART-bagging rescan, float64": prepare("bagging", "rescan", np.float64)})


def variants(binary: bool) -> dict[str, dict[str, Any]]:
    """Return the names and parameters of the variants of Figure 4; the first is the baseline."""
    named_settings: dict[str, dict[str, Any]] = {}
    for boosting in ("mart", "logit") if binary else ("",):
        chosen = {"boosting": boosting} if boosting else {}
        prefix = {"mart": "MART-", "logit": "Logit-", "": ""}[boosting]
        named_settings[f"{prefix}bagging"] = chosen | {"ensemble": "bagging"}
        for name in STRATEGIES:
            named_settings[f"{prefix}subagging {name}"] = chosen | {"ensemble": "subagging", "histogram": name}
        named_settings[f"{prefix}grouped"] = chosen | {"ensemble": "grouped"}
    return named_settings


def round_seconds(table: RealTable, parameters: dict[str, Any], n_rounds: int) -> list[float]:
    """Return the CPU seconds of `n_rounds` rounds, from the first round's report to the last's, so that the one-time
    work (binning, drawing the bags and their tree) does not count."""
    stamps: list[float] = []
    kind = GAMClassifier if table.binary else GAMRegressor
    chosen = {**PAPER, **parameters, "max_rounds": n_rounds + 1}
    kind(**chosen, callback=lambda _: stamps.append(time.process_time())).fit(table.X, table.y)
    return [stamps[-1] - stamps[0]]


def training_rows(table: RealTable) -> RealTable:
    """Return the paper's share of rows for training."""
    strata = table.y if table.binary else None
    X, _, y, _ = train_test_split(table.X, table.y, train_size=TRAIN_SHARE, random_state=0, stratify=strata)
    return RealTable(table.name, X, y, table.binary)


def figure_4(table: RealTable, alpha: float, n_bags: int, n_rounds: int) -> dict[str, Times]:
    """Return the seconds that every variant takes for its rounds on the training rows of one table."""
    chosen = {name: parameters | {"subsample": alpha} for name, parameters in variants(table.binary).items()}
    for parameters in chosen.values():  # compiles
        round_seconds(table, parameters | {"n_bags": 2}, 1)
    return in_turn({k: partial(round_seconds, table, v | {"n_bags": n_bags}, n_rounds) for k, v in chosen.items()})


def measure(path: Path, about: dict[str, Any], run: Callable[..., dict[str, Any]], *arguments: Any) -> None:
    """Measure one cell unless it exists."""
    if path.exists():
        return
    with Watch() as watch:
        result = run(*arguments)
    keep(path, about | {"machine": describe(), "others_cores": watch.others} | result)
    print(path.stem, flush=True)


def measure_all(asked: argparse.Namespace) -> None:
    """Measure every missing cell."""
    folder, bags = asked.json, asked.bags
    for alpha in asked.alphas if "3" in asked.figures else ():
        about = {"alpha": alpha, "bags": bags, "rows": asked.rows_read}
        measure(folder / f"figure3-{alpha}.json", about, rows_read, asked.rows_read, bags, alpha)
    if "step" in asked.figures:
        about = {"alpha": ALPHA, "bags": bags, "rows": asked.rows, "features": asked.features}
        measure(folder / "step.json", about, one_step, asked.rows, asked.features, bags, asked.seconds)
    for name in asked.tables if {"4", "order"} & set(asked.figures) else ():
        table = training_rows(read(asked.data, name))
        if "order" in asked.figures:
            about = {"table": name, "alpha": ALPHA, "bags": bags, "rows": len(table.y)}
            measure(folder / f"order-{name}.json", about, order_seconds, len(table.y), bags, ALPHA)
        if "4" not in asked.figures:
            continue
        for alpha in asked.alphas:
            about = {"table": name, "alpha": alpha, "bags": bags, "rounds": asked.rounds}
            measure(folder / f"figure4-{name}-{alpha}.json", about, figure_4, table, alpha, bags, asked.rounds)


def main() -> None:
    """Measure the missing cells, then print the tables."""
    options = parser(__doc__, TABLES)
    options.add_argument("--figures", nargs="*", default=list(FIGURES), choices=FIGURES, help="what to measure")
    options.add_argument("--alphas", type=float, nargs="*", default=list(ALPHAS))
    options.add_argument("--bags", type=int, default=100)
    options.add_argument("--rounds", type=int, default=50, help="of Figure 4")
    options.add_argument("--rows-read", type=int, default=20_000, help="rows of Figure 3")
    options.add_argument("--rows", type=int, default=150_000, help="rows of the one step")
    options.add_argument("--features", type=int, default=4, help="features of the one step")
    options.add_argument("--seconds", type=float, default=1.0, help="of measuring, a variant of the one step and turn")
    asked = options.parse_args()
    measure_all(asked)
    print("\n".join([*paper_tables.lines(asked.json), *markdown(paper_tables.speedups(asked.json))]))


if __name__ == "__main__":
    main()
