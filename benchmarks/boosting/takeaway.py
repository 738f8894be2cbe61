"""The slides' take-away on public tables: `python -m benchmarks.boosting.takeaway --data DIR --json DIR [--doc FILE]`.

EBM (interpret, where it is installed) as it is without being asked, pairs included; ours in cyclic order, with no pairs
and with as many as pay (`interactions="auto"`); and ours in greedy order, each time the component that lowers the loss
most, as MB-boost does. Reported are the test metric, the features and pairs of the model, and how many terms carry
nineteen twentieths of what all do (standard deviations of effects over test rows).
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.boosting.peers import split
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, publish
from gamcore import GAMClassifier, GAMRegressor
from tests.support.real_tables import RealTable, read

Array = NDArray[np.float64]

MARKS: Final = ("<!-- takeaway -->", "<!-- /takeaway -->")
TABLES: Final = ("calhousing", "compact", "magic")
MOST_OF_ALL: Final = 0.95
OURS: Final[dict[str, dict[str, Any]]] = {
    "ours, cyclic": {},
    "ours, cyclic, pairs": {"interactions": "auto"},
    "ours, greedy": {"order": "greedy"},
}


def ours(table: RealTable, seed: int, parameters: dict[str, Any]) -> tuple[float, Array, int]:
    """Return the metric of one of our models, the sizes of its terms, and how many of them are pairs."""
    X, X_test, y, y_test = split(table, seed)
    kind: Any = GAMClassifier if table.classifier else GAMRegressor
    model = kind(**parameters, random_state=seed, n_jobs=1).fit(X, y)
    predicted = model.predict_proba(X_test)[:, 1] if table.classifier else model.predict(X_test)
    sizes = np.asarray(model.explain_rows(X_test).contributions).std(axis=0)
    return table.score(X_test, y_test, predicted), sizes, len(model.model_.pairs)


def ebm(table: RealTable, seed: int) -> tuple[float, Array, int]:
    """Return the same of an EBM."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    X, X_test, y, y_test = split(table, seed)
    kind: Any = ExplainableBoostingClassifier if table.classifier else ExplainableBoostingRegressor
    model = kind(random_state=seed, n_jobs=1).fit(X, y)
    predicted = model.predict_proba(X_test)[:, 1] if table.classifier else model.predict(X_test)
    n_pairs = sum(len(term) > 1 for term in model.term_features_)
    return table.score(X_test, y_test, predicted), np.asarray(model.eval_terms(X_test)).std(axis=0), n_pairs


def models() -> dict[str, Callable[[RealTable, int], tuple[float, Array, int]]]:
    """Return the models by name; EBM where it is installed."""
    known: dict[str, Callable[[RealTable, int], tuple[float, Array, int]]] = {
        name: partial(ours, parameters=parameters) for name, parameters in OURS.items()
    }
    return known | ({"EBM": ebm} if importlib.util.find_spec("interpret") else {})


def measure(table: RealTable, fit: Callable[[RealTable, int], tuple[float, Array, int]], seed: int) -> Cell:
    """Fit one model and describe it."""
    started = time.perf_counter()
    metric, sizes, n_pairs = fit(table, seed)
    seconds = time.perf_counter() - started
    share = np.cumsum(np.sort(sizes)[::-1]) / sizes.sum()
    return {
        "metric": metric, "pairs": n_pairs, "features": int((sizes > 0).sum()) - n_pairs, "seconds": seconds,
        "most": int(np.searchsorted(share, MOST_OF_ALL) + 1),
    }  # fmt: skip


def table_of(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per table and model: means over splits, the metric with its deviation."""
    rows = []
    for (name, model), part in cells.groupby(["table", "model"], sort=False):
        digits = 4 if part["binary"].iloc[0] else 3
        mean, deviation = part["metric"].mean(), part["metric"].std()
        rows.append(
            {"table": name, "model": model, "splits": len(part),
             "metric": f"{mean:.{digits}f} ± {deviation:.{digits}f}",
             "of features": part["columns"].iloc[0], "features": part["features"].mean(), "pairs": part["pairs"].mean(),
             "terms that carry 95%": part["most"].mean()}
        )  # fmt: skip
    order = pd.CategoricalDtype(["EBM", *OURS], ordered=True)
    return pd.DataFrame(rows).astype({"model": order}).sort_values(["table", "model"]).set_index("table")


def main() -> None:
    """Measure the missing cells, then print the table."""
    options = parser(__doc__, TABLES)
    options.add_argument("--splits", type=int, default=3)
    options.add_argument("--doc", type=Path, help="a page between whose marks the table goes")
    asked = options.parse_args()
    for seed in range(asked.splits):
        for name in asked.tables:
            table = read(asked.data, name)
            about = {"table": name, "seed": seed, "binary": table.binary, "columns": table.X.shape[1]}
            for model, fit in models().items():
                path = asked.json / f"{name}-{model.replace(', ', '-')}-{seed}.json"
                known = about | {"model": model} | ({} if model == "EBM" else {"code": code()})
                if not known.items() <= load(path).items():
                    machine = describe(*(["interpret-core"] if model == "EBM" else []))
                    keep(path, known | measure(table, fit, seed) | {"machine": machine})
                    print(path.stem, flush=True)
    written = ["", *markdown(table_of(load_all(asked.json))), ""]
    publish(written, asked.doc, MARKS)


if __name__ == "__main__":
    main()
