"""Quality of the probabilities of K classes on held-out rows: confusion, one class against the rest, and losses.

codes (n,) are the rows' classes from 0 to K - 1; probabilities are (n, K), and each row of them has the sum 1; weights
are (n,) or None for 1 each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gamcore.common.types import Floats, Ints
from gamcore.stats.metrics import RankingLine, roc

LEAST_CHANCE = float(np.finfo(np.float64).eps)
"""Smallest probability whose logarithm is taken, as in scikit-learn: that of 0 is infinite."""


@dataclass(frozen=True)
class ClassConfusion:
    """Held-out rows by their class and by the class that the model says, its likeliest.

    counts : (K, K) rows (or weights) of each class (down) by what is said (across). names : (K,).
    """

    names: tuple[str, ...]
    counts: Floats

    @property
    def recall(self) -> Floats:
        """The share of each class's rows for which it is said, (K,); NaN for a class without rows."""
        return _shares(self.counts.diagonal(), self.counts.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """The share of rows for which a class is said that are of it, (K,); NaN for a class never said."""
        return _shares(self.counts.diagonal(), self.counts.sum(axis=0))

    @property
    def accuracy(self) -> float:
        """The share of all rows for which their class is said; NaN without rows."""
        return float(_shares(self.counts.trace(), self.counts.sum()))

    def frame(self) -> pd.DataFrame:
        """Return the counts as a table, with the recall of each class at its right and its precision below."""
        answers = [f"said {name}" for name in self.names]
        table = pd.DataFrame(self.counts, [f"was {name}" for name in self.names], answers)
        table["recall"] = self.recall
        table.loc["precision"] = [*self.precision, self.accuracy]
        return table


def _shares(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, NaN where the whole is 0."""
    shares = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=shares, where=np.asarray(whole) > 0)
    return shares


def class_confusion(
    codes: Ints, probabilities: Floats, names: Sequence[str], weight: Floats | None = None
) -> ClassConfusion:
    """Return the confusion of K classes; of equally likely ones, the first is said."""
    k = len(names)
    cells = codes * k + probabilities.argmax(axis=1)
    return ClassConfusion(tuple(names), np.bincount(cells, weight, minlength=k * k).astype(np.float64).reshape(k, k))


def class_rankings(codes: Ints, probabilities: Floats, weight: Floats | None = None) -> tuple[RankingLine, ...]:
    """Return the ROC curve of each class against all others, with its AUC; without points and NaN where one side is
    empty."""
    w = np.ones(codes.size) if weight is None else weight
    lines = []
    for k in range(probabilities.shape[1]):
        here = codes == k
        both = w[here].sum() > 0 and w[~here].sum() > 0
        none = RankingLine(np.empty(0), np.empty(0), float("nan"))
        lines.append(roc(here.astype(np.float64), probabilities[:, k], weight) if both else none)
    return tuple(lines)


def class_losses(codes: Ints, probabilities: Floats, base: Floats, weight: Floats | None = None) -> pd.DataFrame:
    """Return three measures of the model's probabilities and of constant ones, such as the shares of training rows.

    base : (K,). The rows are "log-loss" (mean of -log of the probability of the row's class), "Brier score" (mean sum
    over classes of squared differences from 0 or 1, as Brier (1950) has it: 0 to 2) and "accuracy" (share of rows whose
    class is the likeliest); the columns are "model", "base shares" and "explained", the share of the latter's
    loss that the model takes away (NaN for accuracy).
    """
    constant = np.broadcast_to(base, probabilities.shape)
    table = pd.DataFrame({"model": _measures(codes, probabilities, weight),
                          "base shares": _measures(codes, constant, weight)})  # fmt: skip
    explained = 1 - table["model"] / table["base shares"]
    table["explained"] = explained.where(table["base shares"] > 0)
    table.loc["accuracy", "explained"] = np.nan
    return table


def _measures(codes: Ints, probabilities: Floats, weight: Floats | None) -> pd.Series:
    """Return the measures of some probabilities by name."""
    rows = np.arange(codes.size)
    chosen = probabilities[rows, codes]
    # sum over k of (p_k - y_k)^2, without the (n, K) matrix of y
    squares = np.square(probabilities).sum(axis=1) - 2 * chosen + 1
    hits = probabilities.argmax(axis=1) == codes
    means = {"log-loss": -np.log(np.maximum(chosen, LEAST_CHANCE)), "Brier score": squares, "accuracy": hits}
    return pd.Series({name: float(np.average(values, weights=weight)) for name, values in means.items()})
