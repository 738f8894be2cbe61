"""Metrics of predictions on held-out rows: ranking, calibration, costs, residuals, and drift.

Targets y (n,) are 0 or 1 where predictions are probabilities, else numbers; weights are (n,) or None for 1 each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn import metrics

from gamcore.common.types import Floats
from gamcore.stats.parts import equal_parts, parts, thin
from gamcore.stats.rates import Kind, in_parts, rate
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

FEWEST_IN_PART: Final = 30
MOST_ALONE: Final = 1.5
"""Fewest effective rows for which a mean has an interval."""


@dataclass(frozen=True)
class RankingLine:
    """Points of a curve, and a single number that summarizes it."""

    x: Floats
    y: Floats
    summary: float


def roc(y: Floats, chance: Floats, weight: Floats | None = None) -> RankingLine:
    """Return the true positive rate (y) by false positive rate (x); summary: the area under the curve."""
    false, true, _ = metrics.roc_curve(y, chance, sample_weight=weight)
    return RankingLine(*thin(false, true), float(metrics.roc_auc_score(y, chance, sample_weight=weight)))


def precision_recall(y: Floats, chance: Floats, weight: Floats | None = None) -> RankingLine:
    """Return precision (y) by recall (x); summary: average precision."""
    precision, recall, _ = metrics.precision_recall_curve(y, chance, sample_weight=weight)
    x, line = thin(recall[::-1], precision[::-1])
    return RankingLine(x, line, float(metrics.average_precision_score(y, chance, sample_weight=weight)))


def gain(y: Floats, chance: Floats, weight: Floats | None = None) -> RankingLine:
    """Return the share of positives (y) found in the likeliest share of rows (x); summary: in the first tenth."""
    weights = np.ones(y.size) if weight is None else weight
    order = np.argsort(-chance, kind="stable")
    rows, hits = np.cumsum(weights[order]), np.cumsum((weights * y)[order])
    last = np.append(np.diff(chance[order]) != 0, True)  # rows of equal probability have no order
    x = np.concatenate([[0.0], rows[last] / rows[-1]])
    share = np.concatenate([[0.0], hits[last] / hits[-1]])
    tenth = float(np.interp(0.1, x, share))
    return RankingLine(*thin(x, share), tenth)


def calibration(
    y: Floats, predicted: Floats, weight: Floats | None = None, n_bins: int = 10, *, kind: Kind = "share",
    exposure: Floats | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return predicted and observed rates in `n_bins` parts of equal size by prediction.

    kind, exposure : what the outcome is, and what rates are per unit of; see `rates`. Columns: predicted, observed,
    lower, upper (95%; weighted rows count as their effective number), rows, and exposure where there is one.
    """
    return in_parts(y, predicted, kind, n_bins, exposure=exposure, weight=weight)


@dataclass(frozen=True)
class Costs(Explanation):
    """Cost of decisions by threshold.

    thresholds, costs : (m,) cost per row of saying yes from each probability on. best : the cheapest threshold.
    least : its cost.
    never, always : costs of the same answer for all rows.
    """

    thresholds: Floats
    costs: Floats
    best: float
    least: float
    never: float
    always: float

    def describe(self, chosen: float | None = None, **words: Any) -> Plot:
        """Return the cost by threshold. chosen : the threshold that is marked, by default the best one."""
        from gamcore.stats.plots.quality import cost_line

        return cost_line(self, self.best if chosen is None else chosen, **words)


def costs(y: Floats, chance: Floats, false_alarm: float, miss: float, weight: Floats | None = None) -> Costs:
    """Return the costs of false alarms and misses at every threshold that these rows distinguish."""
    weights = np.ones(y.size) if weight is None else weight
    order = np.argsort(chance, kind="stable")
    sorted_chance, total = chance[order], weights.sum()
    missed = np.concatenate([[0.0], np.cumsum((weights * y)[order])])  # by the number of lowest rows answered no
    refused = np.concatenate([[0.0], np.cumsum((weights * (1 - y))[order])])
    each = (miss * missed + false_alarm * (refused[-1] - refused)) / total
    distinct = np.concatenate([[True], np.diff(sorted_chance) > 0, [True]])
    borders = np.concatenate([[0.0], (sorted_chance[:-1] + sorted_chance[1:]) / 2, [1.0]])
    thresholds, losses = borders[distinct], each[distinct]
    k = int(losses.argmin())
    return Costs(*thin(thresholds, losses), float(thresholds[k]), float(losses[k]), float(each[-1]), float(each[0]))


def confusion(y: Floats, chance: Floats, threshold: float) -> pd.DataFrame:
    """Return the confusion matrix: rows by their class and by the model's answer at a threshold."""
    answer = chance >= threshold
    cells = [[int((answer & (y == 1)).sum()), int((~answer & (y == 1)).sum())],
             [int((answer & (y == 0)).sum()), int((~answer & (y == 0)).sum())]]  # fmt: skip
    return pd.DataFrame(cells, index=["was yes", "was no"], columns=["said yes", "said no"])


def deviance(
    y: Floats, predicted: Floats, baseline: float, binary: bool, weight: Floats | None = None
) -> tuple[float, float]:
    """Return the mean deviance per row, and the share explained of the deviance of the constant `baseline`."""
    constant = np.full(y.size, baseline)
    if binary:
        losses = [2 * metrics.log_loss(y, p, sample_weight=weight, labels=[0, 1]) for p in (predicted, constant)]
    else:
        losses = [metrics.mean_squared_error(y, p, sample_weight=weight) for p in (predicted, constant)]
    return float(losses[0]), float(1 - losses[0] / losses[1]) if losses[1] > 0 else 0.0


def residuals(y: Floats, predicted: Floats, weight: Floats | None = None, n_bins: int = 20) -> pd.DataFrame:
    """Return the mean residual and its interval in parts of equal size by prediction.

    There are at most `n_bins` parts, of about 30 rows or more.

    Columns: predicted, residual, lower, upper (95%, t), rows.
    """
    n_bins = max(min(n_bins, y.size // FEWEST_IN_PART), 1)
    rows = []
    for _, here, w, n in parts(equal_parts(predicted, n_bins), weight):
        gap = y[here] - predicted[here]
        mean = float(np.average(gap, weights=w))
        error = _half_width(gap, mean, w, n)
        at = float(np.average(predicted[here], weights=w))
        rows.append((at, mean, mean - error, mean + error, int(here.sum())))
    return pd.DataFrame(rows, columns=["predicted", "residual", "lower", "upper", "rows"])


def _half_width(values: Floats, mean: float, weight: Floats, n: float) -> float:
    """Return the half-width of the 95% interval of a weighted mean of n effective rows; NaN for a single one."""
    if n < MOST_ALONE:
        return float("nan")
    return float(stdtrit(n - 1, 0.975) * np.sqrt(np.average((values - mean) ** 2, weights=weight) / (n - 1)))


def stability(counts: Floats, others: Floats) -> tuple[float, float]:
    """Return the population stability index of two distributions over the same bins, and its mean without drift.

    0 means no shift, .1 to .25 a shift worth a look, more a strong one (Siddiqi 2006, chapter 8). By chance alone it is
    about (bins - 1) (1 / n + 1 / m), which is large for few rows. An empty bin counts as half a row.
    """
    kept = counts + others > 0
    sizes = [max(float(part.sum()), 1.0) for part in (counts, others)]
    p, q = (np.maximum(part[kept], 0.5) / size for part, size in zip((counts, others), sizes, strict=True))
    chance = max(int(kept.sum()) - 1, 0) * (1 / sizes[0] + 1 / sizes[1])
    return float(((p - q) * np.log(p / q)).sum()), chance


def over_time(
    period: NDArray[np.int64], y: Floats, predicted: Floats, kind: Kind | Literal["number"], *,
    exposure: Floats | None = None, weight: Floats | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the means by period (n,): observed, with its 95% interval, and predicted; per unit of exposure if given.

    kind : what the outcome y (n,) is, for its interval (`stats.rates`); that of a number is Student's.
    Columns: period, observed, lower, upper, predicted, rows.
    """
    rows = []
    for k, here, w, n in parts(period, weight):
        beside = None if exposure is None else exposure[here]
        size = w if beside is None else w * beside
        if kind == "number":
            mean = float(np.average(y[here], weights=w))
            error = _half_width(y[here], mean, w, n)
            low, high = mean - error, mean + error
        else:
            mean, (low, high) = rate(y[here], kind, beside, w)
        rows.append((k, mean, low, high, float((w * predicted[here]).sum() / size.sum()), int(here.sum())))
    return pd.DataFrame(rows, columns=["period", "observed", "lower", "upper", "predicted", "rows"])
