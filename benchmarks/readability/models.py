"""The models of the comparison, each in one thread, and the search for parameters of the black boxes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import loguniform, randint, uniform
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import ParameterSampler

from benchmarks.harness.contenders import (
    Contender,
    ebm_with_pairs,
    held_out,
    make_catboost,
    make_lightgbm,
    make_xgboost,
    ours_with,
)

TRIALS: Final = 50
MOST_TREES: Final = 600
"""Of a trial, which stops earlier where held-out rows say so."""

TRIAL_PATIENCE: Final = 30

TRIPLES: Final = "ours, triples"
OURS: Final[dict[str, dict[str, Any]]] = {
    "ours, curves": {},
    "ours, pairs": {"interactions": "auto"},
    TRIPLES: {"interactions": "auto", "triples": "auto"},
    "ours, smooth": {"shapes": "smooth", "interactions": "auto"},
}
EBM: Final = "EBM"
LIBRARIES: Final = ("LightGBM", "XGBoost", "CatBoost")
SEARCHED: Final = ", searched"
"""What the name of a library ends with where its parameters were searched."""


@dataclass(frozen=True)
class Library:
    """A library of black boxes: how it is made with parameters, what else every fit gets, and where trials look."""

    make: Callable[..., Contender]
    always: dict[str, Any]
    space: dict[str, Any]

    def default(self) -> Contender:
        """Return the model with the library's own parameters."""
        return self.chosen({})

    def chosen(self, parameters: dict[str, Any]) -> Contender:
        """Return the model with these parameters, fitted to all rows."""
        plain = self.make()
        return replace(plain, parameters={**plain.parameters, **self.always, **parameters})

    def trial(self, parameters: dict[str, Any]) -> Contender:
        """Return the model with these parameters and as many trees as held-out rows ask for."""
        return self.make(**self.always, **parameters, **stopping(self.make))


def stopping(make: Callable[..., Contender]) -> dict[str, Any]:
    """Return what makes a trial stop."""
    patience = "patience" if make is make_lightgbm else "early_stopping_rounds"
    return {"n_estimators": MOST_TREES, patience: TRIAL_PATIENCE}


LIBRARY: Final = {
    "LightGBM": Library(
        make_lightgbm,
        {"n_jobs": 1},
        {
            "learning_rate": loguniform(0.02, 0.3),
            "num_leaves": randint(4, 64),
            "min_child_samples": randint(3, 60),
            "subsample": uniform(0.5, 0.5),
            "subsample_freq": [1],
            "colsample_bytree": uniform(0.4, 0.6),
            "reg_lambda": loguniform(1e-3, 30.0),
        },
    ),
    "XGBoost": Library(
        make_xgboost,
        {"n_jobs": 1},
        {
            "learning_rate": loguniform(0.02, 0.3),
            "max_depth": randint(2, 9),
            "min_child_weight": loguniform(0.5, 50.0),
            "subsample": uniform(0.5, 0.5),
            "colsample_bytree": uniform(0.4, 0.6),
            "reg_lambda": loguniform(1e-3, 30.0),
        },
    ),
    "CatBoost": Library(
        make_catboost,
        {"thread_count": 1},
        {
            "learning_rate": loguniform(0.03, 0.3),
            "depth": randint(3, 9),
            "l2_leaf_reg": loguniform(0.5, 30.0),
            "random_strength": loguniform(0.1, 10.0),
            "subsample": uniform(0.5, 0.5),
            "bootstrap_type": ["Bernoulli"],
        },
    ),
}


def defaults(binary: bool) -> dict[str, Contender]:
    """Return the models that are fitted without a search, by name."""
    ours = {name: ours_with(n_jobs=1, **parameters) for name, parameters in OURS.items()}
    triples = ours[TRIPLES]
    ours[TRIPLES] = replace(triples, few={**triples.few, "triples": 1})  # a small table has none, and compiles nothing
    ebm = replace(ebm_with_pairs(binary, n_jobs=1), packages=("interpret-core",))
    return ours | {name: LIBRARY[name].default() for name in LIBRARIES} | {EBM: ebm}


def searched(name: str, choice: dict[str, Any]) -> Contender:
    """Return a library's model with what its search chose."""
    return LIBRARY[name].chosen(choice)


def search(
    name: str, X: pd.DataFrame, y: NDArray[Any], classifier: bool, seed: int, trials: int = TRIALS
) -> dict[str, Any]:
    """Return the parameters, with the number of trees, of the trial with the least loss on held-out rows of X.

    Trials are drawn at random from the library's space. Each is fitted to 85% of the rows and stopped by the others,
    whose log loss, or root mean squared error, is what trials are compared by.
    """
    started, best, least = time.process_time(), dict[str, Any](), np.inf
    *_, X_held, y_held = held_out(X, y, seed)
    for drawn in ParameterSampler(LIBRARY[name].space, trials, random_state=seed):
        parameters = {key: value.item() if hasattr(value, "item") else value for key, value in drawn.items()}
        contender = LIBRARY[name].trial(parameters)
        X_fit, X_ask = contender.prepare(X, X_held)
        model = contender.make(classifier, seed)
        with warnings.catch_warnings(action="ignore"):
            contender.fit(model, X_fit, y, seed)
            loss = loss_of(y_held, contender.ask(model, X_ask), classifier)
        if loss < least:
            best, least = {**parameters, "n_estimators": max(1, contender.rounds(model)[0])}, loss
    return {"choice": best, "loss": least, "trials": trials, "seconds": time.process_time() - started}


def loss_of(y: NDArray[Any], predicted: NDArray[np.float64], classifier: bool) -> float:
    """Return the log loss of chances, or the root mean squared error of predictions."""
    return float((log_loss if classifier else root_mean_squared_error)(y, predicted.astype(float)))
