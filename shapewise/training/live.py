"""Live training: one refit in the server's own process, short enough to answer a click.

Kernels release the interpreter lock, so other sessions go on meanwhile. A refit that takes longer than it should is
stopped at its best round so far, and says so.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass

from gamcore.boosting.progress import Progress
from gamcore.estimators.gam import GAMClassifier, GAMRegressor, from_saved
from gamcore.io.gamx import from_bytes, to_bytes
from shapewise.training.cost import estimate
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.training.train import evaluate, fit

LIVE_SECONDS = 0.5
"""A refit is live where its estimate is below this."""

MOST_SECONDS = 2.0
"""A live refit that takes so long is stopped."""


@dataclass(frozen=True)
class Draft:
    """One refit of a specification: enough to see a curve move, too little for a band."""

    estimator: GAMRegressor | GAMClassifier
    metrics: dict[str, float]
    seconds: float
    complete: bool  # false where it was stopped for time

    def packed(self) -> Packed:
        """Return what to keep of it."""
        return Packed(zlib.compress(to_bytes(self.estimator.to_saved()), 1), self.metrics, self.seconds, self.complete)


@dataclass(frozen=True)
class Packed:
    """A draft in a tenth of its bytes: pairs count the rows of every two bins, which are mostly none.

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


def seconds_of(rows: int, features: int, spec: Spec) -> float:
    """Estimate for one refit on so many training rows."""
    return estimate(rows, features, {**spec.parameters(), "outer_bags": 1}, 1).seconds


def draft(data: Data, spec: Spec) -> Draft:
    """Fit one refit of a specification's data, and measure it on the held-out rows."""
    started, boosting = time.monotonic(), 0.0
    complete = True

    def watch(progress: Progress) -> bool:
        nonlocal complete, boosting
        boosting = boosting or time.monotonic()  # kernels that were not compiled yet are by now
        complete = time.monotonic() - boosting < MOST_SECONDS
        return not complete

    estimator = fit(data, spec, callback=watch, outer_bags=1).set_params(callback=None)
    seconds = time.monotonic() - started
    return Draft(estimator, evaluate(data, estimator), seconds, complete)
