"""Conversion of prediction intervals to a file's manifest and arrays, and back, with every number checked.

They are optional: a reader that does not know them still predicts.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from gamcore.common.types import Floats
from gamcore.io.checks import ModelFileError, require, require_within
from gamcore.io.manifest import (
    MAX_COUNT,
    MAX_SCORE,
    Saved,
    build_model,
    loss_entry,
    read_base,
    refit_arrays,
)
from gamcore.io.manifest_bins import Arrays
from gamcore.model.additive import AdditiveModel
from gamcore.model.intervals import MOST_PARTS, Calibration, Intervals
from gamcore.model.outcomes import Drawn, Spread, Support
from gamcore.stats.laws import LAWS, LEAST_DISPERSION, MOST_ZEROS

SCALE: Final = "scale_"
ENDS: Final = ("least", "most")
INTERVAL_MEMBERS: Final = ("scale_scores", "scale_intercepts", "scale_counts", "calibration")
"""Arrays of the model of the scale, which shares the bins of the model, and of the calibration rows: (3, m), their
scores, weights and parts."""

LAW_MEMBERS: Final = ("levels",)
"""Of intervals by a law: (3, m), levels of the calibration rows, their weights and their parts."""

OPTIONAL: Final = ("intervals", *[f"arrays/{name}.npy" for name in INTERVAL_MEMBERS])
LAW_OPTIONAL: Final = ("law", *[f"arrays/{name}.npy" for name in LAW_MEMBERS])


def interval_arrays(intervals: Intervals) -> Arrays:
    """Return the arrays of intervals."""
    groups, scale = enumerate(intervals.groups), intervals.scale
    rows = np.concatenate([
        np.stack([group.scores, group.weights, np.full(group.scores.size, float(k))]) for k, group in groups
    ], axis=1)  # fmt: skip
    if scale is None:
        return {"levels": rows}
    return {
        **{SCALE + name: array for name, array in refit_arrays(scale).items()},
        SCALE + "counts": np.concatenate([np.empty(0), *[term.counts for term in scale.terms]]),
        "calibration": rows,
    }


def interval_manifest(intervals: Intervals) -> dict[str, Any]:
    """Return the manifest's entries for intervals."""
    cuts = intervals.cuts.tolist()
    if isinstance(intervals.outcomes, Drawn):
        law = intervals.outcomes.law
        kind = next(name for name, of_kind in LAWS.items() if isinstance(law, of_kind))
        return {"law": {"kind": kind, **asdict(law), "cuts": cuts}, "optional": list(LAW_OPTIONAL)}
    assert isinstance(intervals.outcomes, Spread)
    scale, support = intervals.outcomes.scale, asdict(intervals.outcomes.support)
    support |= {end: support[end] if math.isfinite(support[end]) else None for end in ENDS}
    base = scale.base if math.isfinite(scale.base) else None
    entry = {"loss": scale.loss.name, **loss_entry(scale.loss), "base": base, "support": support, "cuts": cuts}
    return {"intervals": entry, "optional": list(OPTIONAL)}


def with_intervals(saved: Saved, manifest: dict[str, Any], arrays: Arrays) -> Saved:
    """Return a checked model with its intervals, if it has any. arrays : those of the whole file, all finite."""
    read = _by_scale if INTERVAL_MEMBERS[0] in arrays else _by_law if LAW_MEMBERS[0] in arrays else None
    if read is None:
        return saved
    if not isinstance(saved.model, AdditiveModel) or saved.model.loss.is_binary:
        raise ModelFileError("The model file is damaged: only a model of a number has intervals.")
    return replace(saved, model=replace(saved.model, intervals=read(saved.model, manifest, arrays)))


def _by_scale(model: AdditiveModel, manifest: dict[str, Any], arrays: Arrays) -> Intervals:
    """Return checked intervals in units of a model of the scale."""
    entry = manifest["intervals"]
    require(isinstance(entry, dict), "its intervals are not a table")
    own = {name: arrays[SCALE + name] for name in ("scores", "intercepts", "counts")}
    require_within(own["counts"], 0, MAX_COUNT, "a count")
    for name in ("scores", "intercepts"):
        require_within(own[name], -MAX_SCORE, MAX_SCORE, "a score")
    scale = replace(build_model({**entry, "pairs": []}, own, model.bins), base=read_base(entry))
    require(scale.loss.has_log_link, "the scale of its intervals may be negative")
    rows = arrays["calibration"]
    require(bool(np.all(np.abs(rows[0]) <= MAX_SCORE)), "calibration rows do not ascend")
    if rows.shape[0] == 2:  # from before there were parts, and what there can be
        rows = np.concatenate([rows, np.zeros((1, rows.shape[1]))])
        support = Support(0.0 if model.loss.has_log_link else -math.inf)
        return Intervals(Spread(scale, support), *_parts({"cuts": []}, rows))
    return Intervals(Spread(scale, _support(entry)), *_parts(entry, rows))


def _support(entry: dict[str, Any]) -> Support:
    """Return the checked support of outcomes."""
    given = entry["support"]
    require(isinstance(given, dict) and set(given) == {each.name for each in fields(Support)}, "it has no support")
    ends = [given[end] for end in ENDS]
    known = all(end is None or (type(end) in (int, float) and abs(end) <= MAX_SCORE) for end in ends)
    require(known and all(type(given[name]) is bool for name in ("whole", "has_masses")), "its support is invalid")
    least, most = (
        beyond if end is None else float(end) for end, beyond in zip(ends, (-math.inf, math.inf), strict=True)
    )
    require(least <= most, "its support is empty")
    return Support(least, most, given["whole"], given["has_masses"])


def _by_law(model: AdditiveModel, manifest: dict[str, Any], arrays: Arrays) -> Intervals:
    """Return checked intervals by a law."""
    entry = manifest["law"]
    require(isinstance(entry, dict) and entry.get("kind") in LAWS, "the law of its intervals is unknown")
    zeros, dispersion, power = (entry[name] for name in ("zeros", "dispersion", "power"))
    require(all(type(value) is float for value in (zeros, dispersion, power)), "its law has no parameters")
    is_count = entry["kind"] == "counts"
    least, most = (LEAST_DISPERSION / 2, 1e6) if is_count else (1e-150, 1e150)
    fine = 0 <= zeros <= MOST_ZEROS and least <= dispersion <= most
    require(fine and (power == 1.0 if is_count else 1.0 < power < 2.0), "a parameter of its law is out of range")
    require(model.loss.has_log_link, "a law of counts or amounts is of predictions that may be negative")
    levels = arrays["levels"]
    require_within(levels[0], 0, 1, "a level of a calibration row")
    law = LAWS[entry["kind"]](zeros, dispersion, power)
    return Intervals(Drawn(law), *_parts(entry, levels))


def _parts(entry: dict[str, Any], rows: Any) -> tuple[tuple[Calibration, ...], Floats]:
    """Return the checked calibration rows (3, m) by their part, and the predictions between parts."""
    cuts = entry["cuts"]
    numbers = isinstance(cuts, list) and len(cuts) < MOST_PARTS and all(type(cut) is float for cut in cuts)
    require(numbers and all(low < high for low, high in pairwise(cuts)), "the parts of its calibration do not ascend")
    require(rows.shape[0] == 3 and rows.shape[1] > 0, "its intervals have no calibration rows")
    parts = [rows[:2, rows[2] == k] for k in range(len(cuts) + 1)]
    whole = sum(part.shape[1] for part in parts) == rows.shape[1] and all(part.shape[1] for part in parts)
    require(whole, "its parts have no calibration rows")
    return tuple(_calibration(part) for part in parts), np.array(cuts, np.float64)


def _calibration(rows: Any) -> Calibration:
    """Return checked calibration rows (2, m): scores and weights."""
    scores, weights = rows
    require(bool(np.all(np.diff(scores) >= 0)), "calibration rows do not ascend")
    require(bool(np.all((weights > 0) & (weights <= 1))), "a weight of a calibration row is out of range")
    return Calibration(scores.copy(), weights.copy())
