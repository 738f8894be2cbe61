"""The unfitted estimator for a specification."""

from __future__ import annotations

from typing import Any

from gamcore.boosting.running.progress import Callback
from gamcore.estimators.gam import Estimator, GAMClassifier, GAMRegressor
from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec

KINDS: dict[tuple[str, bool], type[Estimator]] = {
    ("additive", False): GAMRegressor,
    ("additive", True): GAMClassifier,
    ("tasks", False): MultiTaskTreesRegressor,
    ("tasks", True): MultiTaskTreesClassifier,
}


def learner(data: Data, spec: Spec, n_jobs: int, callback: Callback | None, **changes: Any) -> Estimator:
    """Return an unfitted estimator for the rows of a specification; `changes` override its parameters."""
    return KINDS[spec.kind, data.binary or bool(data.classes)](
        **{**spec.parameters(), **spec.objective(), **changes},
        categorical_features=[c for c in spec.categories if c in data.X.columns] or "infer",
        n_jobs=n_jobs,
        random_state=spec.seed,
        callback=callback,
    )
