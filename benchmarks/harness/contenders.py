"""The models that are compared: how each is made, how its rows are prepared, and how it is fitted and predicts.

Ours and EBM take the frame as it is. The preparation that other libraries need (categories, codes, medians for missing
cells) is done before the clock starts, in their favour.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from gamcore import PRESETS, GAMRegressor
from tests.support.real_tables import REGRESSION

OURS = tuple(f"ours-{preset}" for preset in ("fast", "balanced", "accurate"))
JOBS = (1, 2)
MOST_JOBS = max(JOBS)
PATIENCE = 50
HELD_OUT = 0.15
MISSING = "(missing)"
PATIENT = 600.0
"""Seconds that a library gets whose defaults are known to take minutes to hours."""

Frames = tuple[pd.DataFrame, pd.DataFrame]


def _as_it_is(X: pd.DataFrame, X_test: pd.DataFrame) -> Frames:
    return X, X_test


def _fit(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    model.fit(X, y)


def _ask(model: Any, X: pd.DataFrame) -> NDArray[np.float64]:
    """Return the probabilities of the second class, or the predictions of a regressor."""
    return np.asarray(model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X))


def _unknown(model: Any) -> list[int]:
    return []


@dataclass(frozen=True)
class Contender:
    """A model described by its library's names; the library is imported only when a model is made."""

    packages: tuple[str, ...]  # whose versions are reported
    module: str
    classes: tuple[str, str]  # regressor, classifier
    parameters: dict[str, Any]
    few: dict[str, Any]  # parameters of a fit that only warms up
    prepare: Callable[[pd.DataFrame, pd.DataFrame], Frames] = _as_it_is
    fit: Callable[[Any, pd.DataFrame, NDArray[Any], int], None] = _fit
    ask: Callable[[Any, pd.DataFrame], NDArray[np.float64]] = _ask
    rounds: Callable[[Any], list[int]] = field(default=_unknown)
    seeded: bool = True
    most_seconds: float = math.inf  # after which a cell is given up, whatever the run allows

    def make(self, classifier: bool, seed: int, warming: bool = False) -> Any:
        """Return an unfitted model."""
        kind = getattr(importlib.import_module(self.module), self.classes[classifier])
        seeded = {"random_state": seed} if self.seeded else {}
        return kind(**{**self.parameters, **(self.few if warming else {}), **seeded})


def make_ours(preset: str, n_jobs: int) -> Contender:
    """Return our model with a preset."""
    return replace(ours_with(**{**PRESETS[preset], "n_jobs": n_jobs}), rounds=lambda model: model.best_rounds_.tolist())


def ours_with(**parameters: Any) -> Contender:
    """Return our model with these parameters, which counts its pairs as rounds."""
    return Contender(
        (),
        "gamcore",
        ("GAMRegressor", "GAMClassifier"),
        {"n_jobs": MOST_JOBS, **parameters},
        {"max_rounds": 5},
        rounds=lambda model: [len(model.model_.pairs)],
    )


def make_ebm(**parameters: Any) -> Contender:
    """Return an EBM, without pairs unless `parameters` ask for them."""
    return Contender(
        ("interpret",),
        "interpret.glassbox",
        ("ExplainableBoostingRegressor", "ExplainableBoostingClassifier"),
        {"interactions": 0, "n_jobs": MOST_JOBS, **parameters},
        {"max_rounds": 5},
        rounds=lambda model: np.asarray(model.best_iteration_)[0].tolist(),
    )


def ebm_with_pairs(binary: bool, **parameters: Any) -> Contender:
    """Return an EBM with its default number of pairs, which it counts as rounds."""
    ebm = make_ebm(interactions=f"{3 if binary else 5}x", **parameters)
    return replace(ebm, rounds=lambda model: [sum(len(term) > 1 for term in model.term_features_)])


def _as_categories(X: pd.DataFrame, X_test: pd.DataFrame) -> Frames:
    """Return text columns as categories with the levels of the training rows; missing and new levels are missing."""
    kinds = {name: pd.CategoricalDtype(X[name].dropna().unique()) for name in X.select_dtypes(exclude="number")}
    return X.astype(kinds), X_test.astype(kinds)


def held_out(X: pd.DataFrame, y: NDArray[Any], seed: int) -> tuple[Any, Any, Any, Any]:
    """Return rows to fit, then rows that stop the fit: X, y, X, y."""
    classes = y if len(np.unique(y)) == 2 else None
    X, X_held, y, y_held = train_test_split(X, y, test_size=HELD_OUT, random_state=seed, stratify=classes)
    return X, y, X_held, y_held


def _fit_lightgbm(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int, patience: int = PATIENCE) -> None:
    from lightgbm import early_stopping

    X, y, *held = held_out(X, y, seed)
    with warnings.catch_warnings(action="ignore"):  # newer versions want eval_X and eval_y, which older ones lack
        model.fit(X, y, eval_set=[tuple(held)], callbacks=[early_stopping(patience, verbose=False)])


def _fit_xgboost(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    X, y, *held = held_out(X, y, seed)
    model.fit(X, y, eval_set=[tuple(held)], verbose=False)


def make_lightgbm(patience: int = PATIENCE, **parameters: Any) -> Contender:
    """Return LightGBM, with its defaults or, where there are `parameters`, stopped by held-out rows."""
    additive = bool(parameters)
    return Contender(
        ("lightgbm",),
        "lightgbm",
        ("LGBMRegressor", "LGBMClassifier"),
        {"n_jobs": MOST_JOBS, "verbose": -1, **parameters},
        {"n_estimators": 5},
        prepare=_as_categories,
        fit=partial(_fit_lightgbm, patience=patience) if additive else _fit,
        rounds=lambda model: [int(model.best_iteration_ if additive else model.n_estimators)],
    )


def make_xgboost(**parameters: Any) -> Contender:
    additive = bool(parameters)
    return Contender(
        ("xgboost",),
        "xgboost",
        ("XGBRegressor", "XGBClassifier"),
        {"n_jobs": MOST_JOBS, "enable_categorical": True, **parameters},
        {"n_estimators": 5},
        prepare=_as_categories,
        fit=_fit_xgboost if additive else _fit,
        rounds=lambda model: [int(model.best_iteration + 1 if additive else model.get_num_boosting_rounds())],
    )


def _as_texts(X: pd.DataFrame, X_test: pd.DataFrame) -> Frames:
    """Return text columns with a text where a cell is missing."""
    text = dict.fromkeys(X.select_dtypes(exclude="number"), MISSING)
    return X.fillna(text).astype(dict.fromkeys(text, str)), X_test.fillna(text).astype(dict.fromkeys(text, str))


def _fit_catboost(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int, stopped: bool = False) -> None:
    held: dict[str, Any] = {}
    if stopped:
        X, y, *rest = held_out(X, y, seed)
        held = {"eval_set": tuple(rest)}
    model.fit(X, y, cat_features=list(X.select_dtypes(exclude="number")), **held)


def make_catboost(**parameters: Any) -> Contender:
    """Return CatBoost, with its defaults or, where it is to stop early, stopped by held-out rows."""
    stopped = "early_stopping_rounds" in parameters
    return Contender(
        ("catboost",),
        "catboost",
        ("CatBoostRegressor", "CatBoostClassifier"),
        {"thread_count": MOST_JOBS, "verbose": 0, "allow_writing_files": False, **parameters},
        {"n_estimators": 5},
        prepare=_as_texts,
        fit=partial(_fit_catboost, stopped=stopped),
        rounds=lambda model: [int(model.tree_count_)],
    )


def _as_numbers(X: pd.DataFrame, X_test: pd.DataFrame) -> Frames:
    """Return frames without missing cells: medians for numbers; categories as codes, most frequent
    first, and new levels get the code of the most frequent."""
    encoded: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    text = set(X.select_dtypes(exclude="number"))
    for name in X:
        levels = X[name].astype(object).fillna(MISSING).value_counts().index if name in text else None
        for part, columns in zip((X, X_test), encoded, strict=True):
            if levels is None:
                columns[name] = part[name].astype(float).fillna(float(X[name].median()))
            else:
                codes = levels.get_indexer(part[name].astype(object).fillna(MISSING)).clip(0)
                columns[name] = pd.Categorical(codes)
    return pd.DataFrame(encoded[0]), pd.DataFrame(encoded[1])


def _fit_pygam(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    from pygam import f, s
    from pygam.terms import TermList

    terms = [f(j) if isinstance(kind, pd.CategoricalDtype) else s(j) for j, kind in enumerate(X.dtypes)]
    model.set_params(terms=TermList(*terms))
    model.fit(X.to_numpy(float), y)


def _ask_pygam(model: Any, X: pd.DataFrame) -> NDArray[np.float64]:
    values = X.to_numpy(float)
    return np.asarray(model.predict_proba(values) if hasattr(model, "predict_proba") else model.predict(values))


def _pygam() -> Contender:
    return Contender(
        ("pygam",),
        "pygam",
        ("LinearGAM", "LogisticGAM"),
        {},
        {"max_iter": 2},
        prepare=_as_numbers,
        fit=_fit_pygam,
        ask=_ask_pygam,
        seeded=False,
    )


def _as_floats(X: pd.DataFrame, X_test: pd.DataFrame) -> Frames:
    """Return frames of floats: text as codes, most frequent first, which a model of bins may regroup as it likes."""
    return tuple(frame.astype(float) for frame in _as_numbers(X, X_test))  # type: ignore[return-value]


def _gpgam(**parameters: Any) -> Contender:
    return Contender(
        ("imodels",),
        "imodels",
        ("GPGamRegressor", "GPGamRegressor"),  # it has no classifier, and is given none to fit
        parameters,
        {"n_steps": 2, "n_bins": 8, "n_pairs": 0},
        prepare=_as_floats,
        seeded=False,
        most_seconds=PATIENT,
    )


def with_pairs(n_features: int, binary: bool) -> dict[str, Contender]:
    """Return the models with pairs for a table of `n_features` features; ours get EBM's default number of pairs."""
    n_pairs = min((3 if binary else 5) * n_features, n_features * (n_features - 1) // 2)
    return {
        "ours": ours_with(interactions=n_pairs),
        "ours-joint": ours_with(interactions=n_pairs, joint=True),
        "ours-refined": ours_with(interactions=n_pairs, pair_tree="refined"),
        "ours-auto": ours_with(interactions="auto"),
        "ours-none": ours_with(),
        "ebm": ebm_with_pairs(binary),
    }


def contenders(table: str) -> dict[str, Contender]:
    """Return the models fitted to one table, by name; the number of bins matters to EBM on `compact`."""
    slow = {"learning_rate": 0.1, "n_estimators": 20_000}
    default = GAMRegressor()
    quick = {"learning_rate": default.learning_rate, "patience": default.early_stopping_rounds}
    listed = {f"{name}-{n_jobs}": make_ours(name.removeprefix("ours-"), n_jobs) for n_jobs in JOBS for name in OURS}
    listed |= {
        "ebm": make_ebm(),
        "ebm-8": make_ebm(outer_bags=8),
        "ebm-matched": make_ebm(outer_bags=8, max_bins=256, max_leaves=default.max_leaves),
    }
    if table == "compact":
        listed["ebm-256"] = make_ebm(max_bins=256)
    if table in REGRESSION:
        listed |= {"gpgam": _gpgam(), "gpgam-64": _gpgam(n_bins=64, n_pairs=0)}
    return listed | {
        "lightgbm": make_lightgbm(),
        "lightgbm-additive": make_lightgbm(num_leaves=2, **slow),
        "lightgbm-additive-quick": make_lightgbm(num_leaves=2, **(slow | quick)),
        "xgboost": make_xgboost(),
        "xgboost-additive": make_xgboost(max_depth=1, early_stopping_rounds=PATIENCE, **slow),
        "pygam": _pygam(),
    }
