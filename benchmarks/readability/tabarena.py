"""Our estimators as a model of AutoGluon, which is what TabArena runs, and TabArena's protocol on the tables at hand:
`python -m benchmarks.readability.tabarena --data DIR --json DIR`.

The protocol is that of TabArena 0.1 for the first repetition: three outer folds, of which *Lite* takes the first; on
the other two thirds a bag of eight models, each fitted without one of eight inner folds, whose mean predicts. Features
go through AutoGluon's own generator, as all models of the arena get them. Beside ours, `--models` names models of
AutoGluon, each as it is there, on the same folds in one thread. What `autogluon` and `tabarena` bring is imported where
it is run; without them the wrapper can still be imported.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import Cell, keep, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown
from benchmarks.readability.models import loss_of
from benchmarks.readability.tables import by_size, names, read
from gamcore import GAMClassifier, GAMRegressor
from gamcore.estimators.parameters import searched
from tests.support.real_tables import RealTable

try:
    from autogluon.core.models import AbstractModel
except ImportError:  # the arena is not installed: the wrapper below can be read, and not be fitted
    AbstractModel = object

OUTER_FOLDS: Final = 3
INNER_FOLDS: Final = 8
SEED: Final = 0
OURS: Final = "ours"
OTHERS: Final = {
    "LightGBM": "LGBModel", "XGBoost": "XGBoostModel", "CatBoost": "CatBoostModel", "EBM": "EBMModel",
}  # fmt: skip
"""Classes of AutoGluon by the name of their library."""

EVEN: Final = 0.005
"""Errors whose ratio is nearer to 1 are even."""


class ShapewiseModel(AbstractModel):  # type: ignore[misc]
    """Curves, with pairs and triples as many as pay; parameters are those of `GAMRegressor` and `GAMClassifier`.

    A fit sets its own validation rows aside, so the fold that it is given to validate on stays unseen. Columns may be
    numbers and categories, with missing cells.
    """

    ag_key = "SHAPEWISE"
    ag_name = "Shapewise"
    seed_name = "random_state"

    def _fit(self, X: pd.DataFrame, y: pd.Series, num_cpus: int = 1, **kwargs: Any) -> None:
        kind = GAMRegressor if self.problem_type == "regression" else GAMClassifier
        X = self.preprocess(X, is_train=True)
        self.model = kind(**{"n_jobs": num_cpus, **self._get_model_params()}).fit(X, y)

    def _set_default_params(self) -> None:
        self._set_default_param_value("interactions", "auto")
        self._set_default_param_value("triples", 0 if self.problem_type == "multiclass" else "auto")

    def _get_default_auxiliary_params(self) -> dict[str, Any]:
        return {**super()._get_default_auxiliary_params(), "valid_raw_types": ["int", "float", "category"]}

    @classmethod
    def supported_problem_types(cls) -> list[str]:
        """Return the kinds of targets."""
        return ["binary", "multiclass", "regression"]

    @classmethod
    def config_generator(cls) -> Any:
        """Return what TabArena tunes: the defaults, then random draws of the values that our own tuning draws from."""
        from autogluon.common.space import Categorical
        from tabarena.utils.config_utils import ConfigGenerator

        space = {name: Categorical(*dict.fromkeys(values)) for name, values in searched(GAMRegressor).items()}
        del space["interactions"]  # as many as pay
        return ConfigGenerator(model_cls=cls, manual_configs=[{}], search_space=space)


def outer_folds(table: RealTable) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows for fitting and for testing of the first repetition's folds."""
    kind = StratifiedKFold if table.binary else KFold
    return list(kind(OUTER_FOLDS, shuffle=True, random_state=SEED).split(table.X, table.y))


def bagged(table: RealTable, rows: tuple[NDArray[np.intp], NDArray[np.intp]], model: str = OURS) -> Cell:
    """Fit the bag of one outer fold and score it. model : ours, or one of OTHERS."""
    core, generators = (importlib.import_module(f"autogluon.{name}") for name in ("core.models", "features.generators"))
    kind = ShapewiseModel
    if model != OURS:
        kind = getattr(importlib.import_module("autogluon.tabular.models"), OTHERS[model])
    fit, test = rows
    generator = generators.AutoMLPipelineFeatureGenerator(verbosity=0)
    X, X_test = generator.fit_transform(table.X.iloc[fit]), generator.transform(table.X.iloc[test])
    started = time.process_time()
    bag = core.BaggedEnsembleModel(kind(problem_type="binary" if table.binary else "regression"))
    bag.params["fold_fitting_strategy"] = "sequential_local"
    bag.fit(X=X, y=table.y.iloc[fit], k_fold=INNER_FOLDS, num_cpus=1)
    seconds = time.process_time() - started
    predicted = np.asarray(bag.predict_proba(X_test) if table.binary else bag.predict(X_test), float)
    y = table.y.to_numpy()[test]
    return {
        "metric": table.score(table.X.iloc[test], y, predicted), "loss": loss_of(y, predicted, table.binary),
        "seconds": seconds, "fitted_rows": len(fit),
    }  # fmt: skip


def measure(asked: argparse.Namespace) -> None:
    """Measure the missing folds, the quick tables first."""
    for name in by_size(asked.data, asked.tables or names()):
        table = read(asked.data, name)
        for fold, rows in enumerate(outer_folds(table)[: 1 if asked.lite else OUTER_FOLDS]):
            for model in asked.models:
                path = asked.json / f"{name}-{model}-{fold}.json"
                if not path.exists():
                    about = {"table": name, "model": model, "fold": fold, "binary": table.binary, "code": code()}
                    about |= {"machine": describe("autogluon.core")}
                    keep(path, about | bagged(table, rows, model))
                    print(path.stem, flush=True)


def report(cells: pd.DataFrame) -> Iterator[str]:
    """Yield our error in percent of that of each other model, on the folds on which both were measured, by kind of
    target, then the metric of each table. The error is the root mean squared one, or 1 - AUC, as in the arena."""
    error = cells["metric"].where(~cells["binary"].astype(bool), 1 - cells["metric"])
    by_fold = cells.assign(error=error).pivot_table(index=["binary", "table", "fold"], columns="model", values="error")
    seconds = cells.pivot_table(index=["table", "fold"], columns="model", values="seconds")
    rows = {}
    for model in [name for name in OTHERS if name in by_fold]:
        ratios = (by_fold[OURS] / by_fold[model]).dropna().groupby(["binary", "table"]).mean()
        times = np.exp(np.log(seconds[model] / seconds[OURS]).mean())
        for binary, of_kind in ratios.groupby("binary"):
            ahead, behind = int((of_kind < 1 - EVEN).sum()), int((of_kind > 1 + EVEN).sum())
            rows[model, "1 - AUC" if binary else "RMSE"] = {
                "tables": len(of_kind), "median, % of its error": 100 * of_kind.median(),
                "ours ahead": ahead, "even": len(of_kind) - ahead - behind, "behind": behind,
                "seconds / ours": times,
            }  # fmt: skip
    frame = pd.DataFrame.from_dict(rows, orient="index")
    yield from markdown(frame.rename_axis(["model", "error"]), 3)
    yield ""
    metrics = cells.pivot_table(index="table", columns="model", values="metric")
    yield from markdown(metrics[[name for name in (OURS, *OTHERS) if name in metrics]], 4)


def main() -> None:
    """Measure the missing folds, then print what they show."""
    options = parser(__doc__, [])
    options.add_argument("--models", nargs="+", default=[OURS], choices=[OURS, *OTHERS], metavar="MODEL")
    options.add_argument("--lite", action="store_true", help="only the first fold of each table")
    asked = options.parse_args()
    Path(asked.json).mkdir(parents=True, exist_ok=True)
    if AbstractModel is object:
        options.error("TabArena's protocol needs AutoGluon: pip install --pre tabarena.")
    measure(asked)
    print("\n".join(report(load_all(asked.json))))


if __name__ == "__main__":
    main()
