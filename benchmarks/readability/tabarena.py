"""Our estimators as a model of AutoGluon, which is what TabArena runs, and TabArena's protocol on the tables at hand:
`python -m benchmarks.readability.tabarena --data DIR --json DIR`.

The protocol is that of TabArena 0.1 for the first repetition: three outer folds, of which *Lite* takes the first; on
the other two thirds a bag of eight models, each fitted without one of eight inner folds, whose mean predicts. Features
go through AutoGluon's own generator, as all models of the arena get them. What `autogluon` and `tabarena` bring is
imported where it is run; without them the wrapper can still be imported.
"""

from __future__ import annotations

import argparse
import importlib
import time
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
from benchmarks.readability.tables import names, read
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


def bagged(table: RealTable, rows: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Cell:
    """Fit the bag of one outer fold and score it."""
    core, generators = (importlib.import_module(f"autogluon.{name}") for name in ("core.models", "features.generators"))
    fit, test = rows
    generator = generators.AutoMLPipelineFeatureGenerator(verbosity=0)
    X, X_test = generator.fit_transform(table.X.iloc[fit]), generator.transform(table.X.iloc[test])
    started = time.process_time()
    kind = "binary" if table.binary else "regression"
    bag = core.BaggedEnsembleModel(ShapewiseModel(problem_type=kind))
    bag.params["fold_fitting_strategy"] = "sequential_local"
    bag.fit(X=X, y=table.y.iloc[fit], k_fold=INNER_FOLDS)
    seconds = time.process_time() - started
    predicted = np.asarray(bag.predict_proba(X_test) if table.binary else bag.predict(X_test), float)
    y = table.y.to_numpy()[test]
    return {
        "metric": table.score(table.X.iloc[test], y, predicted), "loss": loss_of(y, predicted, table.binary),
        "seconds": seconds, "fitted_rows": len(fit),
    }  # fmt: skip


def measure(asked: argparse.Namespace) -> None:
    """Measure the missing folds."""
    for name in asked.tables or names():
        table = read(asked.data, name)
        for fold, rows in enumerate(outer_folds(table)[: 1 if asked.lite else OUTER_FOLDS]):
            path = asked.json / f"{name}-{fold}.json"
            if not path.exists():
                about = {"table": name, "fold": fold, "code": code(), "machine": describe("autogluon.core")}
                keep(path, about | bagged(table, rows))


def main() -> None:
    """Measure the missing folds, then print a row per table."""
    options = parser(__doc__, [])
    options.add_argument("--lite", action="store_true", help="only the first fold of each table")
    asked = options.parse_args()
    Path(asked.json).mkdir(parents=True, exist_ok=True)
    if AbstractModel is object:
        options.error("TabArena's protocol needs AutoGluon: pip install --pre tabarena.")
    measure(asked)
    by = load_all(asked.json).groupby("table")[["metric", "loss", "seconds"]].mean()
    print("\n".join(markdown(by, 4)))


if __name__ == "__main__":
    main()
