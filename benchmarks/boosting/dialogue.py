"""A table with the shape of Lou et al. 2020, Table 4, end to end: `python -m benchmarks.boosting.dialogue --json DIR`.

`sample_data.dialogue`: 637 features in eight families, 88,051 rows, four scenarios, known truths. Each is fitted with
the defaults on 80% of its rows. Reported are the AUC on the rest beside that of the true chances, the rank of each
true feature by importance, and for how many features the model claims an effect: true ones, and false ones.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, Final

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, put_between
from gamcore import GAMClassifier
from gamcore.explain.sentences import is_unclear
from sample_data.dialogue import EFFECTS, N_ROWS, SCENARIOS, chances, dialogue, scores

MARKS: Final = ("<!-- dialogue -->", "<!-- /dialogue -->")
MATTER: Final = {
    SCENARIOS[0]: ("renew", "not now"),
    SCENARIOS[1]: ("renew", "not now"),
    SCENARIOS[2]: ("lower risk", "other"),
    SCENARIOS[3]: ("other", "lower risk"),
}
"""Steps whose effects make each scenario; the first most of it."""


def measure(table: pd.DataFrame, scenario: str) -> Cell:
    """Fit one scenario and compare the model with the truth."""
    there = table[scenario].notna().to_numpy()
    X, y = table.loc[there].drop(columns=list(SCENARIOS)), table.loc[there, scenario].astype(int)
    chance = chances(scores(table))[scenario][there]
    parts = train_test_split(X, y, chance, test_size=0.2, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test, _, chance_test = parts
    started = time.perf_counter()
    model = GAMClassifier(random_state=0, n_jobs=1).fit(X_train, y_train)
    seconds = time.perf_counter() - started
    claimed = [name for name in X if not is_unclear(model.explain_shape(name))]
    ranked = model.importance().frame()["feature"].tolist()
    return {
        "rows": len(X), "positives": int(y.sum()), "features": X.shape[1], "seconds": seconds,
        "auc": float(roc_auc_score(y_test, model.decision_function(X_test))),
        "true auc": float(roc_auc_score(y_test, chance_test)),
        "claimed": claimed, "ranks": {name: ranked.index(name) + 1 for name in true_features(scenario)},
    }  # fmt: skip


def true_features(scenario: str) -> list[str]:
    """Return the features that matter for a scenario, those of its own step first."""
    return list(dict.fromkeys(name for step in MATTER[scenario] for name in EFFECTS[step]))


def table_of(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per scenario."""
    rows = {}
    for cell in cells.set_index("scenario").reindex([s for s in SCENARIOS if s in set(cells["scenario"])]).itertuples():
        scenario, true = str(cell.Index), true_features(str(cell.Index))
        right = [name for name in true if name in cell.claimed]
        row: dict[str, Any] = {"rows": f"{cell.rows:,}", "positives": f"{cell.positives:,}", "AUC": f"{cell.auc:.4f}",
                               "of the true chances": f"{cell.true_auc:.4f}",
                               "true effects claimed": f"{len(right)} of {len(true)}",
                               "false ones": f"{len(cell.claimed) - len(right)} of {cell.features - len(true)}",
                               "not claimed": ", ".join(name for name in true if name not in right),
                               "ranks of the true": ", ".join(str(cell.ranks[name]) for name in true)}  # fmt: skip
        rows[scenario] = row
    return pd.DataFrame(rows).T.rename_axis("scenario")


def main() -> None:
    """Measure the missing cells, then print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--json", type=Path, required=True, help="folder of the cells; existing ones are kept")
    options.add_argument("--rows", type=int, default=N_ROWS)
    options.add_argument("--scenarios", nargs="*", default=list(SCENARIOS), choices=SCENARIOS)
    options.add_argument("--doc", type=Path, help="a page between whose marks the table goes")
    asked = options.parse_args()
    customers = None
    for scenario in asked.scenarios:
        path = asked.json / f"{scenario.replace(' ', '-')}.json"
        about = {"scenario": scenario, "of": asked.rows, "code": code()}
        if not about.items() <= load(path).items():
            customers = dialogue(asked.rows)[0] if customers is None else customers
            keep(path, about | measure(customers, scenario) | {"machine": describe()})
            print(path.stem, flush=True)
    written = ["", *markdown(table_of(load_all(asked.json).rename(columns={"true auc": "true_auc"}))), ""]
    if asked.doc:
        put_between(asked.doc, MARKS, written)
    print("\n".join(written))


if __name__ == "__main__":
    main()
