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
    for one in curves(estimator, X):
        n += 1
        wrong += [replace(fault, column=one.column) for fault in of_curve(one)]
        if one.of not in strongest or one.importance > strongest[one.of].importance:
            strongest[one.of] = one
    if explained >= PREDICTS_WELL:
        wrong += [
            Fault("strongest unclear", one.column, read_curve(one.curve), f"{explained:.2f} explained")
            for one in strongest.values()
            if NO_CLEAR_EFFECT in read_curve(one.curve)
        ]
    return wrong, n


def of_curve(one: CurveOnRows) -> Iterator[Fault]:
    """Yield what the rows say against a curve's sentence."""
    curve, said = one.curve, read_curve(one.curve)
    for claim in claims_of(curve):
        if not holds(claim, one):
            yield Fault("claim", said=said, right=f"the rows refute {claim.words()!r}, {_measured(claim, one)}")
    as_levels = curve.labels or curve.is_two_valued
    rows = one.rows
    if curve.is_two_valued and rows.cells.dtype != object:
        names = dict(zip(curve.display.tolist(), curve.as_levels().labels, strict=True))
        rows = replace(rows, cells=np.array([names.get(cell, "") for cell in rows.cells.tolist()], object))
    kind = "category" if as_levels else curve.kind
    yield from read_back(said, cut(curve.feature, LONGEST_NAME), rows, kind)


def holds(claim: Claim, one: CurveOnRows) -> bool:
    """Return whether the training rows bear a claim out."""
    if claim.kind == "shared":
        return claim.holds(*one.group)
    return claim.holds(_cells(claim, one), one.rows.effects)


def _cells(claim: Claim, one: CurveOnRows) -> np.ndarray:
    cells = one.rows.cells
    return np.where(pd.isna(pd.Series(cells)) | (cells == ""), "", "a value") if claim.where is MISSING else cells


def _measured(claim: Claim, one: CurveOnRows) -> str:
    """Return what the rows say of a claim's place."""
    if claim.where is None:
        return f"interval {claim.interval}"
    inside = np.asarray(claim.where.holds(_cells(claim, one)))
    effect = one.rows.mean(inside)
    return f"value {claim.value:.6g}, share {claim.share:.4f}; rows: effect {effect:.6g}, share {inside.mean():.4f}"
