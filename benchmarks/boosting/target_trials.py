"""Kinds of targets, and a table of each: public tables where there is one, else tables with known truths.

Letter recognition has 26 letters, of which the first ten are kept. An exposure is a column of its table, which models
take out: so rows and their exposures are split alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import d2_log_loss_score, d2_pinball_score, d2_tweedie_score

from benchmarks.harness import outcomes
from benchmarks.harness.outcomes import POWER, QUANTILE, Outcome
from tests.support.real_tables import SCALE, read

EXPOSURE: Final = "exposure"
LAST_LETTER: Final = "J"


@dataclass(frozen=True)
class Kind:
    """What libraries call the loss of a kind of target, and the metric: the share of a constant's deviance explained.

    ours : parameters of `GAMRegressor`. ebm : an objective; empty where EBM has none. lightgbm : parameters.
    linear : the linear model of scikit-learn, with its parameters.
    explained : of targets and predictions, with `sample_weight`.
    """

    name: str
    ours: Mapping[str, Any]
    ebm: str
    lightgbm: Mapping[str, Any]
    linear: tuple[str, Mapping[str, Any]]
    explained: Callable[..., float]

    @property
    def classifier(self) -> bool:
        """Whether targets are classes."""
        return not self.ours


LITTLE: Final = {"alpha": 1e-5, "solver": "newton-cholesky", "max_iter": 1_000}
KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(
            "poisson",
            {"objective": "poisson"},
            ebm="poisson_deviance",
            lightgbm={"objective": "poisson"},
            linear=("PoissonRegressor", LITTLE),
            explained=partial(d2_tweedie_score, power=1),
        ),
        Kind(
            "gamma",
            {"objective": "gamma"},
            ebm="gamma_deviance",
            lightgbm={"objective": "gamma"},
            linear=("GammaRegressor", LITTLE),
            explained=partial(d2_tweedie_score, power=2),
        ),
        Kind(
            "tweedie",
            {"objective": "tweedie", "power": POWER},
            ebm=f"tweedie_deviance:variance_power={POWER}",
            lightgbm={"objective": "tweedie", "tweedie_variance_power": POWER},
            linear=("TweedieRegressor", {"power": POWER, "link": "log", **LITTLE}),
            explained=partial(d2_tweedie_score, power=POWER),
        ),
        Kind(
            "quantile",
            {"objective": "quantile", "quantile": QUANTILE},
            ebm="",
            lightgbm={"objective": "quantile", "alpha": QUANTILE},
            linear=("QuantileRegressor", {"quantile": QUANTILE, "alpha": 0.0, "solver": "highs"}),
            explained=partial(d2_pinball_score, alpha=QUANTILE),
        ),
        Kind(
            "classes",
            {},
            ebm="log_loss",
            lightgbm={"objective": "multiclass"},
            linear=("LogisticRegression", {"max_iter": 2_000}),
            explained=d2_log_loss_score,
        ),
    )
}


@dataclass(frozen=True)
class Trial:
    """A table of one kind of target. truth : the best predictions, by the index of X; None where nobody knows."""

    kind: Kind
    X: pd.DataFrame
    y: pd.Series
    truth: pd.Series | None = None

    @property
    def classifier(self) -> bool:
        """Whether a classifier is fitted to it."""
        return self.kind.classifier

    @property
    def exposed(self) -> bool:
        """Whether rows have an exposure."""
        return EXPOSURE in self.X

    def score(self, X: pd.DataFrame, y: NDArray[Any], predicted: NDArray[Any]) -> float:
        """Return the percentage of the deviance of rows that predictions explain, of what a constant leaves.

        The Poisson deviance of counts is that of rates weighted by exposure, and the constant is a rate.
        """
        if not self.exposed:
            return 100.0 * float(self.kind.explained(y, predicted))
        exposure = X[EXPOSURE].to_numpy()
        return 100.0 * float(self.kind.explained(y / exposure, predicted / exposure, sample_weight=exposure))

    def cut(self, most_rows: int, seed: int) -> Trial:
        """Return at most so many rows, drawn at random."""
        if len(self.X) <= most_rows:
            return self
        kept = np.sort(np.random.default_rng(seed).permutation(len(self.X))[:most_rows])
        return replace(self, X=self.X.iloc[kept], y=self.y.iloc[kept])


def _bike(data: Path, seed: int) -> Trial:
    table = read(data, "bike")
    return Trial(KINDS["poisson"], table.X, (table.y * SCALE["bike"]).round())


def _letter(data: Path, seed: int) -> Trial:
    frame = pd.read_parquet(data / "letter.parquet")
    kept = frame[frame["lettr"] <= LAST_LETTER].reset_index(drop=True)
    return Trial(KINDS["classes"], kept.drop(columns="lettr"), kept["lettr"].astype(object))


def _known(data: Path, seed: int, kind: str, draw: Callable[..., Outcome]) -> Trial:
    drawn = draw(seed=seed)
    if drawn.exposure is None:
        return Trial(KINDS[kind], drawn.X, pd.Series(drawn.y), pd.Series(drawn.truth))
    X = drawn.X.assign(**{EXPOSURE: drawn.exposure})
    return Trial(KINDS[kind], X, pd.Series(drawn.y), pd.Series(drawn.truth * drawn.exposure))


TABLES: Final[dict[str, Callable[[Path, int], Trial]]] = {
    "bike": _bike,
    "claims": partial(_known, kind="poisson", draw=outcomes.claims),
    "amounts": partial(_known, kind="gamma", draw=outcomes.amounts),
    "spend": partial(_known, kind="tweedie", draw=outcomes.spend),
    "upper": partial(_known, kind="quantile", draw=outcomes.upper),
    "letter": _letter,
}
"""By name; those with known truths are drawn anew for every split."""
