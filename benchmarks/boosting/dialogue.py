"""A table with the shape of Lou et al. 2020, Table 4, end to end: `python -m benchmarks.boosting.dialogue --json DIR`.

`sample_data.dialogue`: 637 features in eight families, 88,051 rows, four scenarios, known truths. Each is fitted on
80% of its rows, with the defaults and in greedy order, in which only features enter that beat chance. Reported are the
AUC on the rest beside that of the true chances, which features enter, how many of the true ones are among as many that
rank first by importance, and the CPU seconds of the fit, in one thread.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Final

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, publish
from gamcore import GAMClassifier, warmup
from sample_data.dialogue import EFFECTS, N_ROWS, SCENARIOS, chances, dialogue, scores

MARKS: Final = ("<!-- dialogue -->", "<!-- /dialogue -->")
MATTER: Final = {
    SCENARIOS[0]: ("renew", "not now"),
    SCENARIOS[1]: ("renew", "not now"),
    SCENARIOS[2]: ("lower risk", "other"),
    SCENARIOS[3]: ("other", "lower risk"),
}
"""Steps whose effects make each scenario; the first most of it."""


def measure(table: pd.DataFrame, scenario: str, order: str) -> Cell:
    """Fit one scenario in one order and compare the model with the truth."""
    there = table[scenario].notna().to_numpy()
    X, y = table.loc[there].drop(columns=list(SCENARIOS)), table.loc[there, scenario].astype(int)
    chance = chances(scores(table))[scenario][there]
    parts = train_test_split(X, y, chance, test_size=0.2, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test, _, chance_test = parts
    started = time.process_time()
    model = GAMClassifier(order=order, random_state=0, n_jobs=1).fit(X_train, y_train)
    seconds = time.process_time() - started
    entries = model.entries_ if order == "greedy" else None
    return {
        "rows": len(X), "positives": int(y.sum()), "features": X.shape[1], "CPU seconds": seconds,
        "rounds": model.best_rounds_.tolist(), "auc": float(roc_auc_score(y_test, model.decision_function(X_test))),
        "true_auc": float(roc_auc_score(y_test, chance_test)),
        "entered": [] if entries is None else entries.loc[entries["entered"] > 0, "feature"].tolist(),
    }  # fmt: skip


def true_features(scenario: str) -> list[str]:
    """Return the features that matter for a scenario, those of its own step first."""
    return list(dict.fromkeys(name for step in MATTER[scenario] for name in EFFECTS[step]))


def table_of(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per scenario and order."""
    rows = []
    for cell in cells.rename(columns={"CPU seconds": "cpu_seconds"}).itertuples():
        scenario, true = str(cell.scenario), true_features(str(cell.scenario))
        right = [name for name in true if name in cell.entered]
        chosen = cell.order == "greedy"
        rows.append(
            {"scenario": scenario, "order": cell.order, "AUC": f"{cell.auc:.4f}",
             "of the true chances": f"{cell.true_auc:.4f}",
             "true features entered": f"{len(right)} of {len(true)}" if chosen else "",
             "others": f"{len(cell.entered) - len(right)} of {cell.features - len(true)}" if chosen else "",
             "CPU seconds": f"{cell.cpu_seconds:.0f}"}
        )  # fmt: skip
    place = {scenario: k for k, scenario in enumerate(SCENARIOS)}
    return (
        pd.DataFrame(rows)
        .sort_values(["scenario", "order"], key=lambda column: column.replace(place))
        .set_index("scenario")
    )


def main() -> None:
    """Measure the missing cells, then print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--json", type=Path, required=True, help="folder of the cells; existing ones are kept")
    options.add_argument("--rows", type=int, default=N_ROWS)
    options.add_argument("--scenarios", nargs="*", default=list(SCENARIOS), choices=SCENARIOS)
    options.add_argument("--doc", type=Path, help="a page between whose marks the table goes")
    asked = options.parse_args()
    customers = None
    warmup()
    for scenario in asked.scenarios:
        for order in ("cyclic", "greedy"):
            path = asked.json / f"{scenario.replace(' ', '-')}-{order}.json"
            about = {"scenario": scenario, "order": order, "of": asked.rows, "code": code()}
            if not about.items() <= load(path).items():
                customers = dialogue(asked.rows)[0] if customers is None else customers
                keep(path, about | measure(customers, scenario, order) | {"machine": describe()})
                print(path.stem, flush=True)
    written = ["", *markdown(table_of(load_all(asked.json))), ""]
    publish(written, asked.doc, MARKS)


if __name__ == "__main__":
    main()
