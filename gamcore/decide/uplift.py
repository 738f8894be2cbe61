"""Who is moved, as an experiment measured it: the difference of the arms by tenth of the predicted effect, and Qini.

Rows must not have been trained on. Everything is measured from the outcomes of the arms, never from the model: the
model only puts the rows in order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from gamcore.common.types import Floats, Ints
from gamcore.decide.results import Result, effect_of, table_of
from gamcore.stats.intervals import ALPHA, UNKNOWN, Interval
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot

TENTHS: Final = 10
Z: Final = float(ndtri(1 - ALPHA / 2))


@dataclass(frozen=True)
class Tenth:
    """A tenth of the rows by predicted effect, the strongest first: its rows, the effect predicted, and the effect
    measured with its 95% interval."""

    rows: int
    predicted: float
    measured: float
    interval: Interval

    def results(self, unit: str = "") -> dict[str, Result]:
        """Return the effect "measured" and that "predicted". unit : of effects, such as points."""
        return {"measured": effect_of(self.measured, self.interval, unit, self.rows),
                "predicted": effect_of(self.predicted, UNKNOWN, unit, self.rows, "model")}  # fmt: skip


@dataclass(frozen=True)
class Uplift(Explanation):
    """What following a model's order of rows is worth.

    average : the mean effect over all rows, with its 95% interval. tenths : see `Tenth`. gain : by share of the rows
    treated, in order (10 points), what is gained per row of all over treating nobody, with 95% intervals. qini : the
    mean of the gains over all shares, less that of treating at random (Radcliffe 2007), with its interval; 0 where the
    order says nothing.
    """

    rows: int
    average: tuple[float, Interval]
    tenths: tuple[Tenth, ...]
    gain: tuple[tuple[float, float, Interval], ...]
    qini: tuple[float, Interval]

    @property
    def part(self) -> str:
        """What one of `tenths` is called: they are fewer parts, of other sizes, where predictions are alike."""
        return "tenth" if len(self.tenths) == TENTHS else "part"

    def describe(self, unit: str = "", detail: str = "", **words: Any) -> Plot:
        """Return the measured effect by tenth of the predicted one. unit : of effects, such as points."""
        from gamcore.decide.plots.uplift import effect_by_tenth

        return effect_by_tenth(self, unit, detail, **words)

    def frame(self, unit: str = "") -> pd.DataFrame:
        """Return what was measured and predicted in each part of the rows, a tenth, or less of them where predictions
        are alike: a row per number (`results.table_of`). unit : of effects, such as points."""
        return table_of(
            {"part": k, "number": name, **result.cells()}
            for k, tenth in enumerate(self.tenths, 1) for name, result in tenth.results(unit).items()
        )  # fmt: skip


def signals(y: Floats, treated: Floats, share: Floats, expected: Floats) -> Floats:
    """Return a signal (n,) per row whose mean over any rows is their effect without bias, as arms were drawn at random.

    expected : (n,) the outcome expected whatever the arm, by a model that did not see the row; it lowers the variance
    (augmented inverse propensity weights; Robins, Rotnitzky and Zhao 1994, with the same expectation in both arms).
    """
    return (treated - share) / (share * (1 - share)) * (y - expected)


def read_uplift(predicted: Floats, signal: Floats, clusters: NDArray[Any] | None = None) -> Uplift:
    """Return what an order of rows is worth.

    predicted : (n,) effects by a model that did not see the rows. signal : (n,) see `signals`. clusters : (n,) which
    rows are alike, if not all are independent; intervals go by them. Rows of equal prediction share their places, so a
    model that says nothing orders nothing.
    """
    alike = None if clusters is None else pd.factorize(clusters, use_na_sentinel=False)[0]
    n = predicted.size
    order = np.argsort(-predicted, kind="stable")
    place: Ints = np.empty(n, np.int64)
    place[order] = np.arange(n)
    # The mean of the places that rows of the same prediction share.
    _, which = np.unique(predicted, return_inverse=True)
    shared = np.bincount(which, place)[which] / np.bincount(which)[which]
    behind = 1.0 - (shared + 0.5) / n  # share of all shares at which the row is treated
    tenth = np.minimum((shared + 0.5) * TENTHS / n, TENTHS - 1).astype(np.int64)
    parts = []
    for number in range(TENTHS):
        inside = tenth == number
        if inside.any():
            own = None if alike is None else alike[inside]
            parts.append(Tenth(int(inside.sum()), float(predicted[inside].mean()), *_mean(signal[inside], own)))
    gains = []
    for number in range(1, TENTHS + 1):
        treated = np.clip(number / TENTHS * n - place, 0.0, 1.0)
        reach = (np.bincount(which, treated) / np.bincount(which))[which]  # rows of the same prediction alike
        gains.append((number / TENTHS, *_mean(reach * signal, alike)))
    return Uplift(n, _mean(signal, alike), tuple(parts), tuple(gains), _mean((behind - 0.5) * signal, alike))


def _mean(values: Floats, alike: Ints | None) -> tuple[float, Interval]:
    """Return a mean with its 95% interval. alike : (n,) the number of each row's cluster, or None."""
    mean, n = float(values.mean()), values.size
    apart = values - mean if alike is None else np.bincount(alike, values - mean)
    if alike is not None:
        apart = apart[np.unique(alike)]
    if apart.size < 2:
        return mean, (math.nan, math.nan)
    largest = float(np.abs(apart).max()) or 1.0  # so that no unit takes the squares out of range
    reach = Z * largest * math.sqrt(float(np.square(apart / largest).sum()) * apart.size / (apart.size - 1)) / n
    return mean, (mean - reach, mean + reach)
