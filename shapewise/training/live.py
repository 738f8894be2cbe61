"""Live training: one refit in the server's own process, most often fast enough to answer a click.

Kernels release the interpreter lock, so other sessions continue. A refit that takes too long is stopped at its best
round so far and marked as incomplete.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from typing import Any

from gamcore.boosting.running.progress import Progress
from gamcore.estimators.additive_parameters import AUTO
from gamcore.estimators.base import to_saved
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.estimators.saved import from_saved
from gamcore.io.gamx import from_bytes, to_bytes
from gamcore.kernels import N_CODES
from shapewise.training.cost import estimate
from shapewise.training.dataset import Data
from shapewise.training.evaluation import evaluate
from shapewise.training.spec import Spec
from shapewise.training.train import fit

LIVE_SECONDS = 0.5
"""Estimated seconds of a refit above which a page says that it takes a moment."""

MOST_SECONDS = 30.0
"""A live refit is stopped after this time."""


@dataclass(frozen=True)
class Draft:
    """One refit of a specification: enough to see a curve move, too little for a band."""

    estimator: GAMRegressor | GAMClassifier
    metrics: dict[str, float]
    seconds: float
    complete: bool  # false if it was stopped for time

    def packed(self) -> Packed:
        """Return the draft in compressed form."""
        return Packed(zlib.compress(to_bytes(to_saved(self.estimator)), 1), self.metrics, self.seconds, self.complete)


@dataclass(frozen=True)
class Packed:
    """A draft in a tenth of its bytes: most of a model is row counts per cell of a pair, which are mostly zero.

    model : the content of a model file, compressed.
    """

    model: bytes
    metrics: dict[str, float]
    seconds: float
    complete: bool

    def draft(self) -> Draft:
        """Return the draft that was packed."""
        estimator = from_saved(from_bytes(zlib.decompress(self.model)))
        assert isinstance(estimator, GAMRegressor | GAMClassifier)
        return Draft(estimator, self.metrics, self.seconds, self.complete)


def seconds_of(rows: int, features: int, spec: Spec, n_scores: int = 1) -> float:
    """Return the estimated seconds of one refit on `rows` training rows."""
    return estimate(
        rows, features, {**spec.parameters(), "outer_bags": 1}, 1, loss=spec.loss, n_scores=n_scores
    ).seconds


def draft(data: Data, spec: Spec) -> Draft:
    """Fit one refit to the training rows, and measure it on the held-out rows."""
    started, boosting = time.monotonic(), 0.0
    complete = True

    def watch(progress: Progress) -> bool:
        nonlocal complete, boosting
        boosting = boosting or time.monotonic()  # starts after the kernels are compiled
        complete = time.monotonic() - boosting < MOST_SECONDS
        return not complete

    bins: dict[str, Any] = {"max_bins": N_CODES} if spec.changes.get("max_bins") == AUTO else {}
    estimator = fit(data, spec, callback=watch, outer_bags=1, **bins).set_params(callback=None)
    seconds = time.monotonic() - started
    return Draft(estimator, evaluate(data, estimator), seconds, complete)
