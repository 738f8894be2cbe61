"""Every curve's sentence, on every scale: by its claims, and read back from its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.wild.faults import Fault
from benchmarks.wild.read_back import faults as read_back
from benchmarks.wild.rows import CurveOnRows, curves
from gamcore.data.labels import cut
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain.claims import NO_CLEAR_EFFECT, Claim
from gamcore.explain.places import MISSING
from gamcore.explain.sentences import LONGEST_NAME, claims_of, read_curve

PREDICTS_WELL = 0.3
"""Share of what is to be explained, from which on the strongest feature of a model should have a clear effect."""


def check(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame, explained: float) -> tuple[list[Fault], int]:
    """Return the faults of all sentences about curves, and how many sentences there are.

    X : the training rows. explained : the share of the target that held-out predictions explain.
    """
    wrong, n, strongest = list[Fault](), 0, dict[str, CurveOnRows]()
    for curve_on_rows in curves(estimator, X):
        n += 1
        wrong += [replace(fault, column=curve_on_rows.column) for fault in of_curve(curve_on_rows)]
        if curve_on_rows.of not in strongest or curve_on_rows.importance > strongest[curve_on_rows.of].importance:
            strongest[curve_on_rows.of] = curve_on_rows
    if explained >= PREDICTS_WELL:
        wrong += [
            Fault(
                "strongest unclear", curve_on_rows.column, read_curve(curve_on_rows.curve), f"{explained:.2f} explained"
            )
            for curve_on_rows in strongest.values()
            if NO_CLEAR_EFFECT in read_curve(curve_on_rows.curve)
        ]
    return wrong, n


def of_curve(curve_on_rows: CurveOnRows) -> Iterator[Fault]:
    """Yield what the rows say against a curve's sentence."""
    curve, sentence = curve_on_rows.curve, read_curve(curve_on_rows.curve)
    for claim in claims_of(curve):
        if not holds(claim, curve_on_rows):
            yield Fault(
                "claim", said=sentence, right=f"the rows refute {claim.words()!r}, {_measured(claim, curve_on_rows)}"
            )
    as_levels = curve.labels or curve.is_two_valued
    rows = curve_on_rows.rows
    if curve.is_two_valued and rows.cells.dtype != object:
        names = dict(zip(curve.display.tolist(), curve.as_levels().labels, strict=True))
        rows = replace(rows, cells=np.array([names.get(cell, "") for cell in rows.cells.tolist()], object))
    kind = "category" if as_levels else curve.kind
    yield from read_back(sentence, cut(curve.feature, LONGEST_NAME), rows, kind)


def holds(claim: Claim, curve_on_rows: CurveOnRows) -> bool:
    """Return whether the training rows bear a claim out."""
    if claim.kind == "shared":
        return claim.holds(*curve_on_rows.group)
    return claim.holds(_cells(claim, curve_on_rows), curve_on_rows.rows.effects)


def _cells(claim: Claim, curve_on_rows: CurveOnRows) -> np.ndarray:
    cells = curve_on_rows.rows.cells
    return np.where(pd.isna(pd.Series(cells)) | (cells == ""), "", "a value") if claim.where is MISSING else cells


def _measured(claim: Claim, curve_on_rows: CurveOnRows) -> str:
    """Return what the rows say of a claim's place."""
    if claim.where is None:
        return f"interval {claim.interval}"
    inside = np.asarray(claim.where.holds(_cells(claim, curve_on_rows)))
    effect = curve_on_rows.rows.mean(inside)
    return f"value {claim.value:.6g}, share {claim.share:.4f}; rows: effect {effect:.6g}, share {inside.mean():.4f}"
