"""Pairs next to EBM's, both the ranking and the whole model: `python -m benchmarks.boosting.pairs --data DIR`.

Models with pairs are fitted and tested as in `benchmarks.boosting.peers`, each cell in its own process; EBM takes
minutes per fit. The ranking is timed alternately with interpret's `measure_interactions`, on the same rows and from the
same scores: ours from binned rows, and our whole call from a frame. Theirs is a single call, from a frame of 31 values
per feature, with 33 bins, two of which are for missing and unseen values."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.boosting.peers import known, measure, up_to_date
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import TRIES, Cell, keep, load, load_all, noisy, run_module
from benchmarks.harness.contenders import JOBS, Contender, with_pairs
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, publish
from gamcore import GAMClassifier, GAMRegressor, pair_ranking
from gamcore.boosting.pairs.ranking import rank_without_pairs
from gamcore.boosting.rows.source import Encoded
from gamcore.data.binning import Binned, encode_table
from gamcore.data.table import as_frame
from gamcore.estimators.additive_parameters import pair_options
from tests.support.real_tables import BINARY, read

TABLES = ("bike", "calhousing", "magic", "adult")
SLOW_SECONDS: Final = 60.0
"""Fits as long as this are not repeated on a busy machine: what others take evens out, and it is told."""

WIDTHS = (10, 20, 35, 50)
RANKED_ROWS = 20_000
RANK_VALUES = 31
REPEATS = 5
MARKS = ("<!-- measured -->", "<!-- /measured -->")
APART = ("ours-joint", "ours-refined", "ours-none")
"""Models that the page tells of in a sentence."""


def contender(table: str, name: str, data: Path) -> Contender:
    """Return a contender by name, for a table's number of features."""
    return with_pairs(read(data, table).X.shape[1], table in BINARY)[name]


def one_cell(asked: argparse.Namespace) -> None:
    """Measure one cell in this process."""
    table, name, seed = asked.cell
    model = contender(table, name, asked.data)
    keep(asked.out, known(table, name, int(seed), model) | measure(read(asked.data, table), model, int(seed)))


def measure_models(asked: argparse.Namespace) -> None:
    """Measure every missing cell; repeat short ones where other processes kept the machine busy."""
    for seed in range(asked.seeds):
        for table in asked.tables:
            for name in with_pairs(2, True):
                out = asked.json / f"{table}-{name}-{seed}.json"
                if up_to_date(load(out), contender(table, name, asked.data)) or name in asked.without:
                    continue
                for _ in range(TRIES):
                    cell = ["--cell", table, name, seed, "--data", asked.data, "--json", asked.json, "--out", out]
                    fault = run_module("benchmarks.boosting.pairs", cell)
                    if fault or not noisy(load(out)) or load(out)["seconds"] > SLOW_SECONDS:
                        break
                print(f"{table:12}{name:14}{seed} {fault}", flush=True)


def planted(p: int, binary: bool, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Return correlated features of 31 values, and a target with three main effects and two interactions."""
    rng = np.random.default_rng(seed)
    values = np.sqrt(0.3) * rng.normal(size=(RANKED_ROWS, 1)) + np.sqrt(0.7) * rng.normal(size=(RANKED_ROWS, p))
    X = pd.DataFrame(np.clip(np.round(values * 5), -15, 15), columns=[f"x{j}" for j in range(p)])
    a, b, c, d = (X[f"x{j}"].to_numpy() / 5 for j in range(4))
    score = a + np.sin(2 * b) + 0.5 * c**2 + np.sign(c) * np.sign(d) + 0.5 * a * b
    y = (rng.random(RANKED_ROWS) < 1 / (1 + np.exp(-score))) if binary else score + rng.normal(size=RANKED_ROWS)
    return X, np.asarray(y, int if binary else float)


def rank_one(p: int, binary: bool) -> Cell:
    """Time the rankings alternately; return their seconds and how far they agree."""
    from interpret.utils import measure_interactions

    X, y = planted(p, binary)
    model = (GAMClassifier if binary else GAMRegressor)(outer_bags=2, strength="rss", random_state=0).fit(X, y)
    score = model.decision_function(X) if binary else model.predict(X)
    data = Encoded(Binned(encode_table(as_frame(X), model.model_.bins), model.model_.bins), y, None, model.loss)
    parameters = pair_options(model, len(X), 1).parameters
    theirs = partial(measure_interactions, X, y, init_score=score, max_interaction_bins=RANK_VALUES + 2)
    calls = {
        f"ours, {n_jobs} thread{'s' * (n_jobs > 1)}": partial(
            rank_without_pairs, data, model.model_, parameters, pure=False, n_jobs=n_jobs, chance=False
        )
        for n_jobs in JOBS
    }
    calls |= {"whole call": partial(pair_ranking, model, X, y, chance=False), "interpret": theirs}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS + 1):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    ours = pair_ranking(model, X, y).set_index(["feature_1", "feature_2"])["strength"]
    other = pd.Series({(f"x{i}", f"x{j}"): strength for (i, j), strength in theirs()})
    agreement = spearmanr(ours, other[ours.index]).statistic
    medians = {name: float(np.median(each[1:])) for name, each in seconds.items()}
    return {"p": p, "binary": binary, "rows": RANKED_ROWS, "seconds": medians, "agreement": float(agreement)}


def measure_ranking(asked: argparse.Namespace) -> None:
    """Measure every missing width."""
    for p in WIDTHS:
        for binary in (False, True):
            out = asked.json / "ranking" / f"{p}-{'binary' if binary else 'regression'}.json"
            if load(out).get("code") != code():
                keep(out, {"code": code(), "machine": describe("interpret")} | rank_one(p, binary))


def rankings(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per width."""
    seconds = pd.DataFrame(cells["seconds"].tolist())
    table = pd.DataFrame({"features": cells["p"], "pairs": cells["p"] * (cells["p"] - 1) // 2})
    table["target"] = np.where(cells["binary"], "binary", "number")
    for name in ("ours, 1 thread", "whole call", "interpret"):
        table[f"{name}, ms"] = 1e3 * seconds[name]
    table["times faster"] = seconds["interpret"] / seconds["ours, 1 thread"]
    table["times faster, whole call"] = seconds["interpret"] / seconds["whole call"]
    table["rank correlation"] = cells["agreement"]
    return table.sort_values(["features", "target"]).set_index("features")


def standing(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per table and model: metric, its difference from EBM's, seconds, and the speed-up over EBM."""
    ebm = cells[cells["model"] == "ebm"].set_index(["table", "seed"])
    rows = []
    for (table, name), mine in cells.groupby(["table", "model"], sort=False):
        theirs = ebm[["metric", "seconds"]].add_suffix("_ebm")
        both = mine.set_index(["table", "seed"]).join(theirs, how="inner")
        if both.empty:
            continue
        worse = both["metric_ebm"] - both["metric"] if table in BINARY else both["metric"] / both["metric_ebm"] - 1
        rows.append(
            {
                "table": table, "model": name, "pairs": float(np.mean([rounds[0] for rounds in both["rounds"]])),
                "metric": both["metric"].mean(),
                "worse by": f"{worse.mean():+.4f} AUC" if table in BINARY else f"{100 * worse.mean():+.2f}%",
                "seconds": both["seconds"].mean(),
                "times faster": float((both["seconds_ebm"] / both["seconds"]).median()),
            }
        )  # fmt: skip
    return pd.DataFrame(rows).set_index("table").loc[[t for t in TABLES if t in set(cells["table"])]]


def provenance(cells: pd.DataFrame) -> str:
    """Return when and on which machine it was measured, and how far apart in time the compared fits were."""
    at = pd.to_datetime(cells["at"])
    apart = at.groupby([cells["table"], cells["seed"]]).agg(np.ptp).max() / pd.Timedelta(minutes=1)
    machine = {name: value for each in cells["machine"] for name, value in each.items()}
    versions = ", ".join(f"{k} {v}" for k, v in sorted(machine.items()) if k not in ("processor", "cores"))
    others = cells["others_cores"].max()
    return (
        f"Measured {at.max():%Y-%m-%d} on {machine['processor']}, {machine['cores']} cores: {versions}. Fits of one "
        f"table and split were at most {apart:.0f} minutes apart; others took at most {others:.2f} of a core "
        "meanwhile."
    )


def main() -> None:
    """Measure the missing cells, print the tables, and write them to a page if one is named."""
    options = parser(__doc__, TABLES, Path("results/pairs"))
    options.add_argument("--seeds", type=int, default=2, help="splits")
    options.add_argument("--without", nargs="*", default=[], help="models that are not fitted")
    options.add_argument("--doc", type=Path, help="a page that has the table of models between two marks")
    options.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    options.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.cell:
        one_cell(asked)
        return
    measure_ranking(asked)
    measure_models(asked)
    print("\n".join(markdown(rankings(load_all(asked.json / "ranking")))))
    cells = load_all(asked.json)
    if len(cells) and (cells["model"] == "ebm").any():
        cells = cells[cells["metric"].notna()]
        apart = cells["model"].isin(APART)
        print("\n".join(markdown(standing(cells[apart | (cells["model"] == "ebm")]), 4)))
        publish(["", provenance(cells), "", *markdown(standing(cells[~apart]), 4), ""], asked.doc, MARKS)


if __name__ == "__main__":
    main()
