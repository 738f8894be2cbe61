"""Test metrics of the paper's variants and of the presets: `python -m benchmarks.boosting.accuracy --data DIR --json
DIR`.

Splits are 64% training, 16% validation, 20% test, as in Lou et al. 2020; five seeds. A cell is one table, variant and
seed, kept as one JSON file, so that a stopped run can be resumed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks.harness.arguments import parser
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown, put_between
from gamcore import PRESETS, GAMClassifier, GAMRegressor, warmup
from tests.support.real_tables import BINARY, REGRESSION, RealTable, read

SEEDS = range(5)
MARKS = ("<!-- accuracy: begin -->", "<!-- accuracy: end -->")

# 40 groups: eight of them are exactly the paper's 20% for validation.
PAPER = {
    "n_bags": 100,
    "subsample": 0.65,
    "max_leaves": 3,
    "coarse_leaves": None,
    "smoothing_rounds": 0,
    "greedy_ratio": 0.0,
    "outer_bags": 1,
    "n_groups": 40,
    "validation_fraction": 0.2,
    "max_rounds": 20_000,
    "early_stopping_rounds": 50,
}


PRESET = "preset "
"""How variants that are presets begin; the others are told of in sentences."""


def variants(table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and parameters of each variant fitted to one table."""
    for preset in ("balanced", "fast", "accurate", "paper"):
        yield f"{PRESET}{preset}", dict(PRESETS[preset])
    boostings = ("logit", "mart") if table in BINARY else ("",)
    for boosting in boostings:
        for ensemble in ("grouped", "subagging", "bagging"):
            chosen = {**PAPER, "ensemble": ensemble, **({"boosting": boosting} if boosting else {})}
            yield f"{ensemble} {boosting} lr .1".replace("  ", " "), {**chosen, "learning_rate": 0.1}


def measure(table: RealTable, parameters: dict[str, Any], seed: int, n_jobs: int) -> dict[str, Any]:
    """Fit one cell and score it on its test rows."""
    strata = table.y if table.binary else None
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.2, random_state=seed, stratify=strata)
    kind = GAMClassifier if table.binary else GAMRegressor
    model = kind(**parameters, random_state=seed, n_jobs=n_jobs)
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    cell = {"seconds": seconds, "rounds": model.best_rounds_.tolist(), "n_jobs": n_jobs}
    if isinstance(model, GAMClassifier):
        scores = model.decision_function(X_test)
        return cell | {"auc": roc_auc_score(y_test, scores), "error": float(np.mean((scores > 0) != (y_test == 1)))}
    return cell | {"rmse": root_mean_squared_error(y_test, model.predict(X_test))}


def summary(folder: Path) -> pd.DataFrame:
    """Return the mean and standard deviation over seeds, one row per table and variant."""
    cells = pd.DataFrame([json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))])
    cells["metric"] = np.where(cells["table"].isin(BINARY), "AUC", "RMSE")
    cells["value"] = cells["auc"].where(cells["auc"].notna(), cells["rmse"]) if "rmse" in cells else cells["auc"]
    by = cells.groupby(["table", "variant", "metric"], sort=False)
    table = by.agg(
        mean=("value", "mean"), sd=("value", "std"), error=("error", "mean"), seconds=("seconds", "median"),
        seeds=("seed", "count"),
    )  # fmt: skip
    return table.reset_index().sort_values(["table", "variant"], ignore_index=True)


def document(folder: Path, path: Path) -> None:
    """Write the tables of presets as Markdown between the two marks of a page, so that no number is typed by hand."""
    table = summary(folder)
    table = table[table["variant"].str.startswith(PRESET)]
    table = table.assign(preset=table["variant"].str.removeprefix(PRESET))
    table["shown"] = [f"{m:.4f} ± {s:.4f}" if k == "AUC" else f"{m:.3f} ± {s:.3f}" for m, s, k in
                      zip(table["mean"], table["sd"], table["metric"], strict=True)]  # fmt: skip
    known = json.loads(next(iter(sorted(folder.glob("*.json")))).read_text())["machine"]
    versions = f"Python {known['python']}, numba {known['numba']}, numpy {known['numpy']}"
    lines = [f"{versions}. Mean ± standard deviation over {table['seeds'].max()} seeds."]
    for title, tables in (("Test RMSE", REGRESSION), ("Test AUC", BINARY)):
        part = table[table["table"].isin(tables)]
        wide = part.pivot_table(index="preset", columns="table", values="shown", aggfunc="first", sort=False)
        wide = wide.reindex(columns=[t for t in tables if t in wide]).fillna("")
        lines += ["", f"### {title}: {', '.join(wide.columns)}", "", *markdown(wide)]
    put_between(path, MARKS, lines)


def main() -> None:
    """Measure the missing cells, then print the table."""
    options = parser(__doc__, [*REGRESSION, *BINARY])
    options.add_argument("--only", default="", help="measure only variants whose name contains this")
    options.add_argument("--n-jobs", type=int, default=1)
    options.add_argument(
        "--doc", type=Path, help="a page whose table is to be made anew, such as docs/benchmarks/presets.md"
    )
    asked = options.parse_args()
    asked.json.mkdir(parents=True, exist_ok=True)
    warmup()
    for seed in SEEDS:
        for name in asked.tables:
            table = read(asked.data, name)
            for variant, parameters in variants(name):
                path = asked.json / f"{name}-{variant.replace(' ', '_')}-{seed}.json"
                if path.exists() or asked.only not in variant:
                    continue
                cell = measure(table, parameters, seed, asked.n_jobs)
                known = {"table": name, "variant": variant, "seed": seed, "parameters": parameters}
                path.write_text(json.dumps(known | cell | {"machine": describe()}, indent=1))
                print(name, variant, seed, {k: v for k, v in cell.items() if k != "rounds"}, flush=True)
    if asked.doc:
        document(asked.json, asked.doc)
    with pd.option_context("display.width", 140, "display.max_rows", None):
        print(summary(asked.json).to_string(float_format="{:.4f}".format))


if __name__ == "__main__":
    main()
