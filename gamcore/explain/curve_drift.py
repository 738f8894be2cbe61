"""Drift of curves between two fits of a model, on an older and on a newer version of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gamcore.common.types import Floats
from gamcore.explain.curve_difference import CompareError, difference, on_common_bins
from gamcore.explain.curves import Curve
from gamcore.model.scales import Scale, ratio
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Plot


@dataclass(frozen=True)
class CurveMove:
    """How far one curve moved, over the newer table's rows.

    distance : mean absolute difference of the centred curves. band_then, band_now : mean half-widths of their
        pointwise bands; NaN where there is none. clear : share of rows where the simultaneous band of the difference
        excludes zero; NaN where there is none. covered : share of rows whose values both curves know.
    """

    feature: str
    distance: float
    band_then: float
    band_now: float
    clear: float
    covered: float


@dataclass(frozen=True)
class CurveMoves(Explanation):
    """Drift of all curves, the largest first. left : features that cannot be compared, and why."""

    moves: tuple[CurveMove, ...]
    left: tuple[tuple[str, str], ...]
    scale: Scale

    def describe(self, **words: Any) -> Plot:
        """Return a bar per curve: how far it moved."""
        from gamcore.explain.plots.drifts import curves_moved

        return curves_moved(self, **words)

    def frame(self) -> pd.DataFrame:
        """Return one row per curve; on the ratio scale, distances and bands are typical factors."""
        table = pd.DataFrame([vars(move) for move in self.moves], columns=list(CurveMove.__annotations__))
        sizes = ["distance", "band_then", "band_now"]
        if self.scale == "ratio":
            table[sizes] = ratio(table[sizes].to_numpy(np.float64))
        return table


def curve_moves(then: dict[str, Curve], now: dict[str, Curve], scale: Scale = "link") -> CurveMoves:
    """Compare curves by feature (on the link scale) with those of a fit to newer rows."""
    moves, left = [], []
    for name, new in now.items():
        if name not in then:
            left.append((name, "it is in only one of the two"))
            continue
        try:
            moves.append(_moved(then[name], new, scale))
        except CompareError as error:
            left.append((name, str(error)))
    left += [(name, "it is in only one of the two") for name in then if name not in now]
    moves.sort(key=lambda move: -move.distance)
    return CurveMoves(tuple(moves), tuple(left), scale)


def _moved(then: Curve, now: Curve, scale: Scale) -> CurveMove:
    old, new = on_common_bins(then, now)
    minus = difference(then, now)
    total = float(now.counts.sum() + now.missing[3])
    if scale in ("points", "units"):  # each at its own base rate; ratios are compared as logs
        old, new = old.on(scale), new.on(scale)
    scores = [np.append(curve.scores, curve.missing[0]) for curve in (old, new)]
    # Where only one of the two has seen a missing cell, the other's score for it is meaningless.
    weight = np.append(new.counts, new.missing[3] if old.missing[3] else 0.0)
    if not weight.sum() > 0:
        raise CompareError(f"No row of the newer table has a value of {now.feature!r} that both know.")
    gap = scores[1] - scores[0]
    gap = gap - np.average(gap, weights=weight)
    clear = float("nan")
    if minus.has_whole and new.counts.sum() > 0:
        apart = (minus.whole[0] > 0) | (minus.whole[1] < 0)
        clear = float(np.average(apart, weights=new.counts))
    distance = float(np.average(np.abs(gap), weights=weight))
    return CurveMove(
        now.feature,
        distance,
        band_then=_band(old, new.counts),
        band_now=_band(new, new.counts),
        clear=clear,
        covered=float(weight.sum()) / total,
    )


def _band(curve: Curve, weight: Floats) -> float:
    """Return the mean half-width of a curve's band."""
    if not (curve.has_band and weight.sum() > 0):
        return float("nan")
    return float(np.average((curve.upper - curve.lower) / 2, weights=weight))
