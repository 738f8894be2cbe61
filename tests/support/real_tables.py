"""The real tables that benchmarks and tests run on where they are at hand, as a features frame and a target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, root_mean_squared_error

REGRESSION = ("compact", "pole", "bike", "calhousing")
BINARY = ("magic", "letter", "bank", "adult")

POSITIVE = {"magic": "g", "bank": "yes", "adult": "<=50K"}
SCALE = {"bike": 100.0, "calhousing": 10_000.0}
DROPPED = {"bike": ["instant", "dteday", "casual", "registered"]}


@dataclass(frozen=True)
class RealTable:
    """A table ready to fit; the units of the target are those of Lou et al. 2020."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    binary: bool

    @property
    def classifier(self) -> bool:
        """Whether a classifier is fitted to it."""
        return self.binary

    def score(self, X: pd.DataFrame, y: NDArray[Any], predicted: NDArray[Any]) -> float:
        """Return the metric of predictions for some rows: AUC, or root mean squared error."""
        return float((roc_auc_score if self.binary else root_mean_squared_error)(y, predicted))


def read(folder: Path, name: str) -> RealTable:
    """Read one table by name; its target is the last column of the file."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    X = frame.iloc[:, :-1].drop(columns=DROPPED.get(name, []))
    target = frame.iloc[:, -1]
    if name == "letter":
        y = target.le("M").astype(int)
    elif name in BINARY:
        y = target.eq(POSITIVE[name]).astype(int)
    else:
        y = target / SCALE.get(name, 1.0)
    return RealTable(name, X, y, name in BINARY)
