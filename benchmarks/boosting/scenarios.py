"""Table 5 of Lou et al. 2020 on the sample funnel: `python -m benchmarks.boosting.scenarios --json DIR [--doc FILE]`.

Four scenarios, each of steps of `sample_data.generate.renewal`: ours with its defaults, without pairs and with as many
as pay, XGBoost tuned over depths 2 to 10, and the true chances, which no model is expected to beat. Splits are 64% for
training, 16% for validation, which stops XGBoost and chooses its depth, and 20% for testing; ours holds out its
validation rows by itself, out of the 80%.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, publish
from gamcore import GAMClassifier, warmup
from sample_data.generate import STEPS, renewal, renewal_truth

Array = NDArray[np.float64]

MARKS: Final = ("<!-- scenarios -->", "<!-- /scenarios -->")
SCENARIOS: Final = {
    "Renew vs. Not Now + Drop": ("renew", ("not now", "drop")),
    "Renew vs. Not Now": ("renew", ("not now",)),
    "Lower Risk vs. Not Now + Drop": ("lower risk", ("not now", "drop")),
    "Other Assets vs. Not Now + Drop": ("other assets", ("not now", "drop")),
}
PRINTED: Final = {
    "GAM, printed": ("0.7151 ± 0.0166", "0.7732 ± 0.0157", "0.6782 ± 0.0294", "0.6215 ± 0.0303"),
    "XGBoost, printed": ("0.7212 ± 0.0130", "0.7835 ± 0.0153", "0.6710 ± 0.0281", "0.6185 ± 0.0293"),
}
NO_FEATURES: Final = ["customer_id", "confirm_page_seconds", "step"]  # a name, and what is only known afterwards
DEPTHS: Final = range(2, 11)
OURS: Final[dict[str, dict[str, Any]]] = {
    "ours": {},
    "ours, with pairs": {"interactions": "auto"},
}


def rows_of(scenario: str) -> tuple[pd.DataFrame, Array, Array]:
    """Return the features, the targets and the true chances of a scenario."""
    table = renewal()
    step, others = SCENARIOS[scenario]
    scores = renewal_truth(table)
    odds = np.exp([scores[name] for name in STEPS])
    own, every = odds[STEPS.index(step)], sum(odds[STEPS.index(name)] for name in (step, *others))
    there = table["step"].isin([step, *others]).to_numpy()
    y = table["step"].eq(step).to_numpy(float)
    return table[there].drop(columns=NO_FEATURES).reset_index(drop=True), y[there], (own / every)[there]


def split(n: int, y: Array, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the rows for training, validation and testing."""
    rest, test = train_test_split(np.arange(n), test_size=0.2, random_state=seed, stratify=y)
    train, validation = train_test_split(rest, test_size=0.2, random_state=seed, stratify=y[rest])
    return train, validation, test


def by_ours(X: pd.DataFrame, y: Array, seed: int, parameters: dict[str, Any]) -> Cell:
    """Return the AUC of one of our models."""
    train, validation, test = split(len(X), y, seed)
    both = np.concatenate([train, validation])
    model = GAMClassifier(**parameters, random_state=seed, n_jobs=1).fit(X.iloc[both], y[both].astype(int))
    return {"auc": float(roc_auc_score(y[test], model.decision_function(X.iloc[test])))}


def by_xgboost(X: pd.DataFrame, y: Array, seed: int) -> Cell:
    """Return the AUC of XGBoost with the depth that is best on the validation rows, and that depth."""
    from xgboost import XGBClassifier

    train, validation, test = split(len(X), y, seed)
    days = {name: X[name].astype("int64") for name in X.select_dtypes("datetime")}
    levels = {name: X[name].astype("category") for name in X.select_dtypes(exclude=["number", "bool", "datetime"])}
    numbers = X.assign(**days, **levels)
    best: tuple[float, int, Any] = (-1.0, 0, None)
    for depth in DEPTHS:
        model = XGBClassifier(max_depth=depth, n_estimators=1000, learning_rate=0.1, early_stopping_rounds=50,
                              eval_metric="auc", enable_categorical=True, n_jobs=1, random_state=seed)  # fmt: skip
        model.fit(numbers.iloc[train], y[train], eval_set=[(numbers.iloc[validation], y[validation])], verbose=False)
        best = max(best, (float(model.best_score), depth, model), key=lambda tried: tried[0])
    return {"auc": float(roc_auc_score(y[test], best[2].predict_proba(numbers.iloc[test])[:, 1])), "depth": best[1]}


def models() -> dict[str, Callable[[pd.DataFrame, Array, int], Cell]]:
    """Return the models by name; XGBoost where it is installed."""
    known: dict[str, Callable[[pd.DataFrame, Array, int], Cell]] = {
        name: partial(by_ours, parameters=parameters) for name, parameters in OURS.items()
    }
    return known | ({"XGBoost": by_xgboost} if importlib.util.find_spec("xgboost") else {})


def measure(folder: Path, repeats: int) -> None:
    """Measure every missing cell."""
    for place, scenario in enumerate(SCENARIOS, 1):
        X, y, chance = rows_of(scenario)
        for seed in range(repeats):
            test = split(len(X), y, seed)[2]
            about = {"scenario": scenario, "seed": seed, "positives": int(y.sum()), "rows": len(y)}
            best = float(roc_auc_score(y[test], chance[test]))
            keep(folder / f"{place}-truth-{seed}.json", about | {"model": "the true chances", "auc": best})
            for name, fit in models().items():
                path = folder / f"{place}-{name.replace(' ', '-')}-{seed}.json"
                known = about | {"model": name} | ({} if name == "XGBoost" else {"code": code()})
                if not known.items() <= load(path).items():
                    machine = describe(*(["xgboost"] if name == "XGBoost" else []))
                    keep(path, known | fit(X, y, seed) | {"machine": machine})
                    print(path.stem, flush=True)


def spread(values: pd.Series) -> str:
    """Return the mean, with the deviation where there are several repeats."""
    return f"{values.mean():.4f}" + (f" ± {values.std():.4f}" if len(values) > 1 else "")


def signed(gaps: pd.Series) -> str:
    """Return the mean of differences and, in brackets, its standard errors from 0."""
    return f"{gaps.mean():+.4f}" + (f" ({abs(gaps.mean()) / gaps.sem():.1f})" if len(gaps) > 1 else "")


def table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per scenario: its size, the printed AUCs, and ours: means and deviations over repeats."""
    rows = {}
    for place, scenario in enumerate(SCENARIOS):
        part = cells[cells["scenario"] == scenario]
        if not len(part):
            continue
        wide = part.pivot_table(index="seed", columns="model", values="auc")
        positives, n = part[["positives", "rows"]].iloc[0]
        row: dict[str, Any] = {"% positive": 100 * positives / n}
        row |= {name: values[place] for name, values in PRINTED.items()}
        names = [name for name in (*OURS, "XGBoost", "the true chances") if name in wide]
        row |= {name: spread(wide[name].dropna()) for name in names}
        if "XGBoost" in wide:
            for name in (name for name in ("ours", "ours, with pairs") if name in wide):
                row[f"{name}, less XGBoost"] = signed((wide[name] - wide["XGBoost"]).dropna())
        rows[scenario] = row
    return pd.DataFrame(rows).T.rename_axis("scenario")


def main() -> None:
    """Measure the missing cells, then print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--json", type=Path, required=True, help="folder of the cells; existing ones are kept")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--doc", type=Path, help="a page between whose marks the table goes")
    asked = options.parse_args()
    warmup()
    measure(asked.json, asked.repeats)
    written = ["", *markdown(table(load_all(asked.json))), ""]
    publish(written, asked.doc, MARKS)


if __name__ == "__main__":
    main()
