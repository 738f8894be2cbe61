"""Observed against predicted shares, counts and amounts, per unit of exposure: calibration, lift, concentration.

Arrays are (n,). y is the outcome of a row and `predicted` its expected value, both for the row's whole exposure (above
0; None for 1 each); rates are these divided by it. Weights multiply rows (None for 1 each).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.stats.intervals import Interval, poisson_rate, skewed_mean, wilson
from gamcore.stats.parts import equal_parts, parts, thin
from gamcore.stats.weights import effective_rows

Kind = Literal["share", "count", "amount"]
"""What an outcome is: 0 or 1; a number of events; an amount of 0 or more."""

TENTHS = 10


def rate(y: Floats, kind: Kind, exposure: Floats | None = None, weight: Floats | None = None) -> tuple[float, Interval]:
    """Return the mean per unit of exposure and its 95% interval; NaN without rows.

    The interval is Wilson's for a share, Garwood's for a count and Hall's for an amount. Weighted rows count as their
    effective number, for a count of events (after Fay and Feuer 1997, on weighted sums of Poisson counts); where rows
    spread more about their mean rate than independent events do, events count as fewer by that factor.
    """
    w = np.ones(y.size) if weight is None else weight
    size = w if exposure is None else w * exposure
    if not size.sum() > 0:
        return float("nan"), (float("nan"), float("nan"))
    mean = float((w * y).sum() / size.sum())
    match kind:
        case "share":
            if exposure is not None:
                raise ValueError("A share has no exposure: leave exposure out, or call the outcome a count.")
            return mean, wilson(mean, effective_rows(w))
        case "count":
            events = w * y
            known = events if events.any() else size  # without events, exposures say what one would weigh
            unit = float((w * known).sum() / known.sum())
            unit *= max(spread(events, size) / (unit * float(events.sum())), 1.0) if events.any() else 1.0
            return mean, poisson_rate(float(events.sum()) / unit, float(size.sum()) / unit)
        case "amount":
            return mean, skewed_mean(y if exposure is None else y / exposure, size)


def spread(totals: Floats, sizes: Floats) -> float:
    """Return the variance of the sum of some rows' totals (n,), from how they spread about their mean rate."""
    n, mean = effective_rows(sizes), float(totals.sum() / sizes.sum())
    return n / max(n - 1, 1e-9) * float(np.square(totals - sizes * mean).sum())


def in_parts(
    y: Floats, predicted: Floats, kind: Kind, n_parts: int, *, exposure: Floats | None, weight: Floats | None
) -> pd.DataFrame:
    """Return predicted and observed rates in parts by predicted rate, of equal exposure; without one, of equal rows.

    Columns: predicted, observed, lower, upper (95%; see `rate`), rows, and exposure (weighted) where there is one.
    """
    weights = np.ones(y.size) if weight is None else weight
    size = weights if exposure is None else weights * exposure
    by = predicted if exposure is None else predicted / exposure
    rows = []
    for _, here, w, _ in parts(equal_parts(by, n_parts, None if exposure is None else size), weight):
        mean, (low, high) = rate(y[here], kind, None if exposure is None else exposure[here], w)
        expected = float((w * predicted[here]).sum() / size[here].sum())
        rows.append((expected, mean, low, high, int(here.sum()), float(size[here].sum())))
    table = pd.DataFrame(rows, columns=["predicted", "observed", "lower", "upper", "rows", "exposure"])
    return table if exposure is not None else table.drop(columns="exposure")


def lift_by_tenth(
    y: Floats, predicted: Floats, kind: Kind, *, exposure: Floats | None = None, weight: Floats | None = None
) -> pd.DataFrame:
    """Return predicted and observed rates in ten parts, from the lowest to the highest predicted rate.

    There are fewer parts where many predictions are equal. Columns: those of `in_parts`, after `part`, from 1; and
    `lift`, the observed rate divided by that of all rows, which is `attrs["mean"]`.
    """
    table = in_parts(y, predicted, kind, TENTHS, exposure=exposure, weight=weight)
    mean, _ = rate(y, kind, exposure, weight)
    table.insert(0, "part", np.arange(1, len(table) + 1))
    table["lift"] = table["observed"] / mean if mean > 0 else np.nan
    table.attrs["mean"] = mean
    return table


@dataclass(frozen=True)
class Concentration:
    """How far predictions tell rows with much of an outcome from rows with little.

    x, y : (m,) shares of exposure and of the outcome, from 0 to 1, of the rows with the lowest predicted rates, at most
    400 points.
    perfect_x, perfect_y : the same by observed rate. gini, perfect : twice the area between each curve and the
    diagonal.
    """

    x: Floats
    y: Floats
    perfect_x: Floats
    perfect_y: Floats
    gini: float
    perfect: float

    @property
    def ratio(self) -> float:
        """The Gini as a share of that of the perfect order; for an outcome of 0 and 1, that is 2 AUC - 1."""
        return self.gini / self.perfect if self.perfect > 0 else float("nan")


def concentration(
    y: Floats, predicted: Floats, exposure: Floats | None = None, weight: Floats | None = None
) -> Concentration:
    """Return the concentration curve of an outcome of 0 or more by predicted rate, and its Gini.

    This is the ordered Lorenz curve of Frees, Meyers and Cummings (2011) with exposures in the place of premiums. Rows
    of equal rates have no order: the curve is straight there. NaN where nothing was observed.
    """
    w = np.ones(y.size) if weight is None else weight
    size = w if exposure is None else w * exposure
    by = [values if exposure is None else values / exposure for values in (predicted, y)]
    (x, line, gini), (perfect_x, perfect_y, perfect) = (_lorenz(w * y, size, each) for each in by)
    return Concentration(x, line, perfect_x, perfect_y, gini=gini, perfect=perfect)


def _lorenz(amounts: Floats, sizes: Floats, by: Floats) -> tuple[Floats, Floats, float]:
    """Return cumulative shares of sizes and of amounts in order of `by`, and twice the area below the diagonal."""
    order = np.argsort(by, kind="stable")
    last = np.append(np.diff(by[order]) != 0, True)
    x, y = (np.concatenate([[0.0], np.cumsum(values[order])[last]]) for values in (sizes, amounts))
    if not y[-1] > 0:
        return np.array([0.0, 1.0]), np.full(2, np.nan), float("nan")
    x, y = x / x[-1], y / y[-1]
    return *thin(x, y), float(1 - (np.diff(x) * (y[1:] + y[:-1])).sum())
