"""The slides' take-away on public tables: `python -m benchmarks.boosting.takeaway --data DIR --json DIR`.

EBM (interpret, where it is installed) with its defaults, pairs included; ours in cyclic order, with no pairs
and with as many as pay (`interactions="auto"`); and ours in greedy order, each time the component that lowers the loss
most, as MB-boost does, with steps and with splines. Reported are the test metric, the features and pairs of the model,
how many terms carry nineteen twentieths of what all do (standard deviations of effects over test rows), and the CPU
seconds of the fit, in one thread, which other programs on the machine lengthen far less than its clock time.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.boosting.peers import split
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown
from gamcore import GAMClassifier, GAMRegressor, warmup
from tests.support.real_tables import RealTable, read

Array = NDArray[np.float64]

TABLES: Final = ("calhousing", "bike", "magic")
MOST_OF_ALL: Final = 0.95
FEW: Final = 400
EBM_BAGS: Final = 14
"""What an EBM has unless it is asked."""

OURS: Final[dict[str, dict[str, Any]]] = {
    "ours, cyclic": {},
    "ours, cyclic, pairs": {"interactions": "auto"},
    "ours, greedy": {"order": "greedy"},
    "ours, greedy, splines": {"order": "greedy", "shapes": "smooth"},
}


@dataclass(frozen=True)
class Kind:
    """A kind of model: how it is made for a seed, the parts of its score at rows, how many terms are pairs, and whether
    its first fit compiles."""

    make: Callable[[bool, int], Any]
    parts: Callable[[Any, pd.DataFrame], Array]
    n_pairs: Callable[[Any], int]
    compiles: bool


def some_of(table: RealTable, rows: int | None) -> RealTable:
    """Return a table with so many of its rows, drawn at random; all where it has no more, or None is asked for."""
    if rows is None or rows >= len(table.y):
        return table
    chosen = np.sort(np.random.default_rng(0).choice(len(table.y), rows, replace=False))
    return RealTable(table.name, table.X.iloc[chosen], table.y.iloc[chosen], table.binary)


def ours(classifier: bool, seed: int, parameters: dict[str, Any]) -> Any:
    """Return one of our models, not fitted."""
    return (GAMClassifier if classifier else GAMRegressor)(**parameters, random_state=seed, n_jobs=1)


def ebm(classifier: bool, seed: int, outer_bags: int) -> Any:
    """Return an EBM, not fitted."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind: Any = ExplainableBoostingClassifier if classifier else ExplainableBoostingRegressor
    return kind(outer_bags=outer_bags, random_state=seed, n_jobs=1)


def kinds(outer_bags: int) -> dict[str, Kind]:
    """Return the kinds of models by name; EBM, with so many outer bags, where it is installed."""
    known = {
        name: Kind(
            partial(ours, parameters=parameters),
            lambda model, X: np.asarray(model.explain_rows(X).contributions),
            lambda model: len(model.model_.pairs),
            compiles=True,
        )
        for name, parameters in OURS.items()
    }
    of_ebm = Kind(
        partial(ebm, outer_bags=outer_bags),
        lambda model, X: np.asarray(model.eval_terms(X)),
        lambda model: sum(len(term) > 1 for term in model.term_features_),
        compiles=False,
    )
    return known | ({"EBM": of_ebm} if importlib.util.find_spec("interpret") else {})


def measure(table: RealTable, kind: Kind, seed: int) -> Cell:
    """Fit one model and describe it."""
    X, X_test, y, y_test = split(table, seed)
    if kind.compiles:
        kind.make(table.classifier, seed).fit(X[:FEW], y[:FEW])
    model = kind.make(table.classifier, seed)
    started = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - started
    predicted = model.predict_proba(X_test)[:, 1] if table.classifier else model.predict(X_test)
    sizes, n_pairs = kind.parts(model, X_test).std(axis=0), kind.n_pairs(model)
    share = np.cumsum(np.sort(sizes)[::-1]) / sizes.sum()
    return {
        "metric": table.score(X_test, y_test, predicted), "pairs": n_pairs,
        "features": int((sizes > 0).sum()) - n_pairs, "CPU seconds": seconds,
        "most": int(np.searchsorted(share, MOST_OF_ALL) + 1),
    }  # fmt: skip


def table_of(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per table and model: means over splits, the metric with its deviation."""
    rows = []
    for (name, model), part in cells.groupby(["table", "model"], sort=False):
        digits = 4 if part["binary"].iloc[0] else 3
        mean, deviation = part["metric"].mean(), part["metric"].std()
        rows.append(
            {"table": name, "model": model,
             "metric": f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if len(part) > 1 else ""),
             "features": part["features"].mean(), "pairs": part["pairs"].mean(),
             "terms that carry 95%": part["most"].mean(), "CPU seconds": f"{part['CPU seconds'].mean():.1f}"}
        )  # fmt: skip
    order = pd.CategoricalDtype(["EBM", *OURS], ordered=True)
    return pd.DataFrame(rows).astype({"model": order}).sort_values(["table", "model"]).set_index("table")


def main() -> None:
    """Measure the missing cells, then print the table."""
    options = parser(__doc__, TABLES)
    options.add_argument("--splits", type=int, default=3)
    options.add_argument("--rows", type=int, help="of each table, drawn at random; all where not given")
    options.add_argument(
        "--ebm-bags", type=int, default=EBM_BAGS, help="outer bags of an EBM; its seconds go with them"
    )
    asked = options.parse_args()
    warmup()
    for seed in range(asked.splits):
        for name in asked.tables:
            table = some_of(read(asked.data, name), asked.rows)
            about = {"table": name, "seed": seed, "binary": table.binary, "rows": len(table.y),
                     "columns": table.X.shape[1]}  # fmt: skip
            for model, kind in kinds(asked.ebm_bags).items():
                path = asked.json / f"{name}-{model.replace(', ', '-')}-{seed}.json"
                known = (
                    about | {"model": model} | ({"outer_bags": asked.ebm_bags} if model == "EBM" else {"code": code()})
                )
                if not known.items() <= load(path).items():
                    machine = describe(*(["interpret-core"] if model == "EBM" else []))
                    keep(path, known | measure(table, kind, seed) | {"machine": machine})
                    print(path.stem, flush=True)
    print("\n".join(markdown(table_of(load_all(asked.json)))))


if __name__ == "__main__":
    main()
