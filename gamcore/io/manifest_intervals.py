"""Conversion of prediction intervals to a file's manifest and arrays, and back, with every number checked.

They are optional: a reader that does not know them still predicts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np

from gamcore.io.checks import ModelFileError, require
from gamcore.io.manifest import MAX_COUNT, MAX_SCORE, Saved, build_model, loss_entry, read_base, refit_arrays
from gamcore.io.manifest_bins import Arrays
from gamcore.model.additive import AdditiveModel
from gamcore.model.intervals import Intervals

SCALE: Final = "scale_"
INTERVAL_MEMBERS: Final = ("scale_scores", "scale_intercepts", "scale_counts", "calibration")
"""Arrays of the model of the scale, which shares the bins of the model, and of the calibration rows: (2, m), their
scores and weights."""

OPTIONAL: Final = ("intervals", *[f"arrays/{name}.npy" for name in INTERVAL_MEMBERS])


def interval_arrays(intervals: Intervals) -> Arrays:
    """Return the arrays of intervals."""
    scale = intervals.scale
    return {
        **{SCALE + name: array for name, array in refit_arrays(scale).items()},
        SCALE + "counts": np.concatenate([np.empty(0), *[term.counts for term in scale.terms]]),
        "calibration": np.stack([intervals.scores, intervals.weights]),
    }


def interval_manifest(intervals: Intervals) -> dict[str, Any]:
    """Return the manifest's entries for intervals."""
    scale = intervals.scale
    base = scale.base if math.isfinite(scale.base) else None
    entry = {"loss": scale.loss.name, **loss_entry(scale.loss), "base": base}
    return {"intervals": entry, "optional": list(OPTIONAL)}


def with_intervals(saved: Saved, manifest: dict[str, Any], arrays: Arrays) -> Saved:
    """Return a checked model with its intervals. arrays : those of the whole file, all finite."""
    model, entry = saved.model, manifest["intervals"]
    if not isinstance(model, AdditiveModel) or model.loss.is_binary:
        raise ModelFileError("The model file is damaged: only a model of a number has intervals.")
    require(isinstance(entry, dict), "its intervals are not a table")
    own = {name: arrays[SCALE + name] for name in ("scores", "intercepts", "counts")}
    require(bool(np.all((own["counts"] >= 0) & (own["counts"] <= MAX_COUNT))), "a count is out of range")
    require(all(_is_within(own[name]) for name in ("scores", "intercepts")), "a score is out of range")
    scale = replace(build_model({**entry, "pairs": []}, own, model.bins), base=read_base(entry))
    require(scale.loss.has_log_link, "the scale of its intervals may be negative")
    calibration = arrays["calibration"]
    require(calibration.shape[0] == 2 and calibration.shape[1] > 0, "its intervals have no calibration rows")
    scores, weights = calibration
    require(_is_within(scores) and bool(np.all(np.diff(scores) >= 0)), "calibration rows do not ascend")
    require(bool(np.all((weights > 0) & (weights <= 1))), "a weight of a calibration row is out of range")
    return replace(saved, model=replace(model, intervals=Intervals(scale, scores.copy(), weights.copy())))


def _is_within(scores: Any) -> bool:
    """Return whether scores are in range."""
    return bool(np.all(np.abs(scores) <= MAX_SCORE))
