"""The models of the multi-task benchmark by name, and which of them each study has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.multitask.baselines import dirty, lasso, ridge, rmtfl
from benchmarks.multitask.studies import RARE, Trial
from gamcore.estimators.multitask import MultiTaskTrees, MultiTaskTreesClassifier, MultiTaskTreesRegressor

Array = NDArray[np.float64]
Parameters = Mapping[str, Any]

PAPER: Final = {
    "learning_rate": 0.5, "max_rounds": 5, "specific_rounds": 5, "max_depth": 5, "specific_depth": 5, "l2": 0.1,
    "common_features": "shared", "task_column": False,
    "outer_bags": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """A model by its name for readers, the parameters of ours, and how it predicts the test rows of a trial."""

    label: str
    run: Callable[[Trial, int], Array]
    ours: bool
    parameters: Parameters = field(default_factory=dict)


def _model(binary: bool, seed: int, parameters: Parameters) -> MultiTaskTrees:
    kind = MultiTaskTreesClassifier if binary else MultiTaskTreesRegressor
    return kind(**{"n_jobs": 1, **parameters}, random_state=seed)


def _ask(model: Any, X: pd.DataFrame, task: Any = None) -> Array:
    """Return the probabilities of the second class, or predictions."""
    answers = model.predict_proba(X, task)[:, 1] if hasattr(model, "predict_proba") else model.predict(X, task)
    return np.asarray(answers)


def together(trial: Trial, seed: int, parameters: Parameters) -> Array:
    """Predict by one model that knows the tasks."""
    model = _model(trial.binary, seed, parameters)
    return _ask(model.fit(trial.train.X, trial.train.y, trial.train.task), trial.test.X, trial.test.task)


def independent(trial: Trial, seed: int, parameters: Parameters) -> Array:
    """Predict by a separate model for each task."""
    score = np.empty(len(trial.test.y))
    for task, at in trial.test.task.groupby(trial.test.task).indices.items():
        own = trial.train.take(trial.train.task.to_numpy() == task)
        X = own.X.dropna(axis=1, how="all")
        score[at] = _ask(_model(trial.binary, seed, parameters).fit(X, own.y), trial.test.X.iloc[at][X.columns])
    return score


def everything(trial: Trial, seed: int, parameters: Parameters) -> Array:
    """Predict by one model of all rows that does not know the tasks."""
    return _ask(_model(trial.binary, seed, parameters).fit(trial.train.X, trial.train.y), trial.test.X)


def truth(trial: Trial, seed: int) -> Array:
    """Return the true means of the test rows."""
    assert trial.truth is not None
    return trial.truth


def _ours(label: str, how: Callable[[Trial, int, Parameters], Array] = together, **parameters: Any) -> Contender:
    return Contender(label, partial(how, parameters=parameters), True, parameters)


CRITERIA: Final = {
    "entropy": _ours("entropy (Eq. 5)", criterion="entropy"),
    "variance": _ours("variance (Eq. 6)", criterion="variance"),
}
PARTS: Final = {
    "pooled_quit": _ours("pooled quit instead of own", own_quit=False),
    "no_stage_2": _ours("no trees of a task's own", specific_depth=0),
    "no_task_column": _ours("task not a column", task_column=False),
    "neither": _ours("task not a column, pooled quit", task_column=False, own_quit=False),
    "one_split": _ours("one split instead of the mean of several", outer_bags=1),
}
OTHERS: Final = {"paper": _ours("the paper's setting, entropy", criterion="entropy", **PAPER)}
REFERENCE: Final = {
    "independent": _ours("independent trees", independent),
    "global": _ours("global trees", everything),
}
OF_COLUMNS: Final = {"common_columns": _ours("common trees on columns of all tasks only", common_features="shared")}
LINEAR: Final = {
    "ridge": Contender("ridge, a column per task", ridge, False),
    "lasso": Contender("LASSO, each task alone", lasso, False),
    "rmtfl": Contender("rMTFL", rmtfl, False),
    "dirty": Contender("DIRTY", dirty, False),
}
TRUTH: Final = {"truth": Contender("the true chances", truth, False)}
CONTENDERS: Final = (
    {"default": _ours("ours, default")} | CRITERIA | PARTS | OF_COLUMNS | OTHERS | REFERENCE | LINEAR | TRUTH
)
SEVEN: Final = ("lasso", "rmtfl", "dirty", "global", "independent", "variance", "entropy")
"""The methods of Table 1 of Zhang and Li 2019."""


def contenders(study: str) -> list[str]:
    """Return the names of the models of a study."""
    if study in RARE:
        return ["default", *reversed(SEVEN), *TRUTH]
    without = set(TRUTH) | (set() if study == "heterogeneous" else set(OF_COLUMNS))
    return [name for name in CONTENDERS if name not in without]
