"""Conversion of a model to a file's manifest of plain values and arrays, and back, with every number checked.

Files are not trusted: every mismatch raises `ModelFileError` before the numbers reach a kernel. `gamx` documents the
layout of the arrays.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.data.binning import MAX_VALUES, Bins
from gamcore.data.codes import is_number
from gamcore.data.columns import BOOLEANS
from gamcore.data.table import MONTHS, WEEKDAYS, Feature
from gamcore.data.targets import MOST_CLASSES
from gamcore.io.checks import ModelFileError, require
from gamcore.io.manifest_pairs import MAX_CELLS, MAX_PAIRS, build_pairs
from gamcore.model.additive import GIVEN, AdditiveModel, Given, Term
from gamcore.model.classes import ClassesModel
from gamcore.model.losses import LOSSES, Loss
from gamcore.model.monotone import is_monotone
from gamcore.multitask.model import TaskModel

Arrays = dict[str, NDArray[np.float64]]

MEMBERS: Final = ("edges", "display", "scores", "counts", "intercepts")
PAIR_MEMBERS: Final = ("surfaces", "merges", "cells", "effects")
HALF: Final = "half_"
HALF_MEMBERS: Final = tuple(HALF + name for name in ("scores", "intercepts"))
HALF_PAIR_MEMBERS: Final = tuple(HALF + name for name in ("surfaces", "merges", "effects"))
"""Arrays of the half-sample refits; they share bins, counts and cells with the model."""

WIDE: Final = (
    "scores", "surfaces", "merges", "effects", "cells", "rows", "nodes", "left", "refits",
    "half_scores", "half_surfaces", "half_merges", "half_effects", "scale_scores", "calibration",
)  # fmt: skip
"""Two-dimensional members, such as those with a row per refit."""

SCORED: Final = ("scores", "intercepts", "surfaces", "effects")

MAX_COUNT: Final = 1e15
MAX_FEATURES: Final = 100_000
MAX_REFITS: Final = 10_000
MAX_SCORE: Final = 1e200
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""Days of the years 1 and 9999, since 1970-01-01: Python has no dates beyond them."""


@dataclass(frozen=True)
class Saved:
    """A model with its provenance; `about` is plain JSON (parameters, versions, data fingerprint)."""

    kind: str  # "regressor" or "classifier", with the prefix "multitask_" if there are tasks
    model: AdditiveModel | ClassesModel | TaskModel
    classes: tuple[str | int | float | bool, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)


def bin_arrays(bins: tuple[Bins, ...]) -> Arrays:
    """Return the cuts and display values of all features, concatenated."""
    return {
        "edges": np.concatenate([np.empty(0), *[of_feature.cuts for of_feature in bins]]),
        "display": np.concatenate([np.empty(0), *[of_feature.display for of_feature in bins]]),
    }


def arrays_of(model: AdditiveModel) -> Arrays:
    """Return the arrays of a model; raise ModelFileError if a file cannot hold them."""
    if len(model.pairs) > MAX_PAIRS or sum(pair.counts.size for pair in model.pairs) > MAX_CELLS:
        raise ModelFileError(f"The model has {len(model.pairs)} pairs, more than a file can hold: use fewer.")
    arrays: Arrays = {
        **bin_arrays(model.bins),
        **refit_arrays(model),
        "counts": np.concatenate([np.empty(0), *[term.counts for term in model.terms]]),
    }
    if model.pairs:
        counts = np.concatenate([pair.counts.ravel() for pair in model.pairs])
        filled = np.flatnonzero(counts)
        arrays["cells"] = np.stack([filled, counts[filled]]).astype(np.float64)
    if model.halves is not None:
        arrays |= {HALF + name: array for name, array in refit_arrays(model.halves).items()}
    return arrays


def refit_arrays(model: AdditiveModel) -> dict[str, NDArray[Any]]:
    """Return the arrays that differ between a model's refits."""
    pairs, n_refits = model.pairs, model.n_refits
    arrays = {
        "scores": np.concatenate([np.empty((n_refits, 0)), *[term.refits for term in model.terms]], axis=1),
        "intercepts": model.refit_intercepts,
    }
    if not pairs:
        return arrays
    return arrays | {
        "surfaces": np.concatenate([pair.surfaces.reshape(n_refits, -1) for pair in pairs], axis=1),
        "merges": np.concatenate([merge for pair in pairs for merge in pair.merges], axis=1),
        "effects": np.concatenate(
            [part for pair in pairs for part in (pair.means[:, None], pair.rows, pair.columns)], axis=1
        ),
    }


def loss_entry(loss: Loss) -> dict[str, Any]:
    """Return the manifest's entry of a loss's parameters; none if it has none."""
    return {"loss_parameters": asdict(loss)} if fields(loss) else {}


def read_loss(manifest: dict[str, Any]) -> Loss:
    """Return the checked loss of a manifest."""
    name, given = manifest["loss"], manifest.get("loss_parameters", {})
    require(isinstance(name, str) and name in LOSSES, "its loss is unknown")
    loss = LOSSES[name]
    if not fields(loss):
        return loss
    fine = isinstance(given, dict) and set(given) == set(asdict(loss))
    require(fine and all(type(value) is float for value in given.values()), "its loss has no parameters")
    made: Loss = replace(loss, **given)
    require(made.is_valid, "a parameter of its loss is out of range")
    return made


def manifest_of(saved: Saved, model: AdditiveModel) -> dict[str, Any]:
    """Return the manifest's entries for a model."""
    return {
        "kind": saved.kind,
        "loss": model.loss.name,
        **loss_entry(model.loss),
        "classes": list(saved.classes),
        "features": [describe(bins) for bins in model.bins],
        "terms": [{"feature": term.feature} for term in model.terms],
        "pairs": [{"features": list(pair.features), "pure": pair.pure} for pair in model.pairs],
        "base": model.base if math.isfinite(model.base) else None,
        "about": saved.about,
        **({"given": list(model.given)} if model.given else {}),
        **({"evenness": model.halves.evenness} if model.halves and model.halves.evenness < 1 else {}),
        **_required(codes_entry(model.bins), signs_entry(model)),
    }


def _required(*entries: dict[str, Any]) -> dict[str, Any]:
    """Return entries that may each have fields that are required."""
    required = [name for entry in entries for name in entry.get("required", [])]
    merged = {name: value for entry in entries for name, value in entry.items()}
    return merged | ({"required": required} if required else {})


def signs_entry(model: AdditiveModel) -> dict[str, Any]:
    """Return the manifest's entry for monotone features; of their pairs, codes without rows have scores of their own,
    which readers have to know."""
    if not any(model.signs):
        return {}
    return {"signs": list(model.signs)} | ({"required": ["signs"]} if any(pair.ordered for pair in model.pairs) else {})


def codes_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entry for codes that mean missing; readers that do not know it must refuse the file."""
    codes = {of.feature.column: list(of.feature.missing) for of in bins if of.feature.missing}
    return {"missing_codes": codes, "required": ["missing_codes"]} if codes else {}


def describe(bins: Bins) -> dict[str, Any]:
    """Return the manifest's entry for a feature."""
    feature = bins.feature
    return {
        "name": feature.name,
        "column": feature.column,
        "kind": feature.kind,
        "part": feature.part,
        "levels": list(bins.levels),
        "pooled": list(bins.pooled),
        "n_cuts": bins.cuts.size,
        "n_display": bins.display.size,
        "range": [] if math.isnan(bins.low) else [bins.low, bins.high],
    }


def read_texts(value: Any, what: str) -> tuple[str, ...]:
    require(isinstance(value, list) and all(isinstance(text, str) for text in value), f"{what} are not strings")
    require(len(set(value)) == len(value), f"{what} are not distinct")
    return tuple(value)


def count_of(value: Any, most: int, what: str) -> int:
    """Return a whole number from 0 to `most`."""
    require(type(value) is int and 0 <= value <= most, f"{what} is out of range")
    return int(value)


def read_feature(
    entry: dict[str, Any], levels: tuple[str, ...], pooled: tuple[str, ...], missing: Any = None
) -> Feature:
    """Return a checked feature. levels : those with their own bins; pooled : those that share a bin; missing : codes
    that mean missing."""
    name, column, kind, part = (entry[key] for key in ("name", "column", "kind", "part"))
    require(isinstance(name, str) and isinstance(column, str), "a feature has no name")
    require(kind in ("number", "boolean", "date", "category"), "a feature's kind is unknown")
    require(part in ("value", "month", "weekday"), "a feature's part is unknown")
    require(not set(levels) & set(pooled), "a level is both pooled and not pooled")
    fixed = {"month": MONTHS, "weekday": WEEKDAYS}.get(part, BOOLEANS if kind == "boolean" else None)
    require(fixed is None or (levels == fixed and not pooled), "levels are not those of the feature's kind")
    require(part == "value" or kind == "category", "a part of a date is not a category")
    require(len(levels) + bool(pooled) <= MAX_VALUES, "a feature has too many bins")
    codes = read_texts([] if missing is None else missing, "codes of missing cells")
    require(not codes or (part == "value" and kind in ("number", "category")), "a kind without codes has some")
    require(kind != "number" or all(map(is_number, codes)), "a code of a number is not one")
    feature = Feature(name, column, kind, part, levels + pooled, missing=codes)
    require(feature.is_category or not feature.levels, "a number has levels")
    return feature


def _read_bins(
    entry: dict[str, Any], edges: NDArray[np.float64], display: NDArray[np.float64], codes: dict[str, Any]
) -> Bins:
    """Return one feature's checked bins: their codes never index beyond the scores of its term."""
    levels, pooled = read_texts(entry["levels"], "levels"), read_texts(entry["pooled"], "pooled levels")
    feature = read_feature(entry, levels, pooled, codes.get(entry["column"]) if entry["part"] == "value" else None)
    require(display.size <= MAX_VALUES, "a feature has too many bins")
    if feature.is_category:
        require(edges.size == display.size == 0, "a category has cuts")
    else:
        require(edges.size == max(display.size - 1, 0), "cuts and bins do not match")
    require(bool(np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)), "cuts do not ascend")
    require(bool(np.all(np.isfinite(display))), "display values are not finite")
    low, high = entry["range"] or (np.nan, np.nan)
    require(bool(entry["range"]) == (display.size > 0), "a range is missing")
    if entry["range"]:
        require(all(type(end) in (int, float) and math.isfinite(end) for end in (low, high)), "a range is not finite")
        within = np.concatenate([[low], edges, [high]])
        require(bool(np.all(np.diff(within) >= 0)), "a range does not contain its cuts")
        days = np.concatenate([within, display])
        dates = (days >= FIRST_DAY) & (days < LAST_DAY + 1)
        require(feature.kind != "date" or bool(np.all(dates)), "a date is out of range")
    return Bins(
        feature=feature, cuts=edges, display=display, levels=levels, pooled=pooled, low=float(low), high=float(high)
    )


def read_bins(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[Bins, ...]:
    """Return the checked bins of all features."""
    features = manifest["features"]
    require(isinstance(features, list) and 0 < len(features) <= MAX_FEATURES, "it has no features")
    cut_ends = np.cumsum([count_of(f["n_cuts"], MAX_VALUES, "a number of cuts") for f in features])
    display_ends = np.cumsum([count_of(f["n_display"], MAX_VALUES, "a number of bins") for f in features])
    require(cut_ends[-1] == arrays["edges"].size and display_ends[-1] == arrays["display"].size, "bins are missing")
    cuts, displays = np.split(arrays["edges"], cut_ends[:-1]), np.split(arrays["display"], display_ends[:-1])
    codes = manifest.get("missing_codes", {})
    require(isinstance(codes, dict) and all(isinstance(of, list) for of in codes.values()), "its codes are not lists")
    bins = tuple(_read_bins(f, c, d, codes) for f, c, d in zip(features, cuts, displays, strict=True))
    require(len({b.feature.name for b in bins}) == len(bins), "feature names are not distinct")
    read_as: dict[str, set[str]] = {}
    for b in bins:  # a month or weekday is part of a date
        kind = b.feature.kind if b.feature.part == "value" else "date"
        read_as.setdefault(b.feature.column, set()).add(kind)
    require(all(len(kinds) == 1 for kinds in read_as.values()), "a column is read in two ways")
    return bins


def read_labels(entries: Any, what: str) -> tuple[str | int | float | bool, ...]:
    """Return the labels of classes or tasks: plain and distinct."""
    require(
        isinstance(entries, list) and all(isinstance(label, str | int | float) for label in entries),
        f"{what} are invalid",
    )
    require(len(set(entries)) == len(entries), f"{what} are not distinct")
    fits = all(type(label) is not int or -(2**63) <= label < 2**64 for label in entries)
    require(fits, f"{what} are out of range")
    return tuple(entries)


def read_classes(entries: Any, kind: str, several: bool = False) -> tuple[str | int | float | bool, ...]:
    """Return the labels of two classes (of 3 to 20 if `several`), or none if the target is a number.

    All are of one type, as in an array.
    """
    classes = read_labels(entries, "classes")
    least, most = (3, MOST_CLASSES) if several else (2, 2) if kind.endswith("classifier") else (0, 0)
    require(least <= len(classes) <= most, "classes do not match")
    numbers = {float if type(label) is int else type(label) for label in classes}
    require(len(numbers) <= 1, "classes are of several types")
    return classes


def read_about(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a file's `about`: its description of the model."""
    require(isinstance(manifest["about"], dict), "its description is not a table")
    return dict(manifest["about"])


def build(manifest: dict[str, Any], arrays: dict[str, NDArray[np.float64]]) -> Saved:
    """Return the checked model of a file."""
    bins = read_bins(manifest, arrays)
    kind, loss = manifest["kind"], check_arrays(manifest, arrays, bins)
    classes = read_classes(manifest["classes"], kind)
    require(not loss.is_partial, "it is one of several classes")
    model = build_model(manifest, arrays, bins)
    model = replace(model, base=read_base(manifest), given=read_given(manifest))
    return Saved(kind, model, classes, read_about(manifest))


def check_arrays(manifest: dict[str, Any], arrays: dict[str, NDArray[np.float64]], bins: tuple[Bins, ...]) -> Loss:
    """Require that the numbers of a file are in range, and that terms and kind fit; return the loss."""
    terms = manifest["terms"]
    require(all(bool(np.all(np.isfinite(array))) for array in arrays.values()), "a number is not finite")
    counts = [arrays[name] for name in arrays if name in ("counts", "cells")]
    require(all(bool(np.all((c >= 0) & (c <= MAX_COUNT))) for c in counts), "a count is out of range")
    scored = [arrays[name] for name in arrays if name.removeprefix(HALF) in SCORED]
    largest = max(float(np.max(np.abs(array), initial=0.0)) for array in scored)
    require(largest <= MAX_SCORE, "a score is out of range")
    loss = read_loss(manifest)
    require(manifest["kind"] == loss.kind, "kind and loss do not match")
    require([t["feature"] for t in terms] == list(range(len(bins))), "terms do not match features")
    return loss


def build_model(
    manifest: dict[str, Any], arrays: dict[str, NDArray[np.float64]], bins: tuple[Bins, ...]
) -> AdditiveModel:
    """Return a model with its half-sample refits, if it has any; the arrays are those of one score per row."""
    model = _build_refits(manifest, arrays, bins)
    require(all(is_monotone(model, j) for j in range(len(bins))), "its score is not monotone where it says so")
    if HALF + "scores" not in arrays:
        return model
    own = {name.removeprefix(HALF): array for name, array in arrays.items() if name.startswith(HALF)}
    require(own["intercepts"].size > 1, "a single half-sample refit gives no spread")
    shared = {name: arrays[name] for name in ("counts", "cells") if name in arrays}
    evenness = manifest.get("evenness", 1.0)
    require(type(evenness) is float and 0 < evenness <= 1, "the evenness of its weights is out of range")
    return replace(model, halves=replace(_build_refits(manifest, own | shared, bins), evenness=evenness))


def read_base(manifest: dict[str, Any]) -> float:
    """Return the checked base score of a model; NaN where a file lacks it."""
    base = manifest.get("base")
    require(base is None or (type(base) in (int, float) and abs(base) <= MAX_SCORE), "its base score is invalid")
    return math.nan if base is None else float(base)


def read_given(manifest: dict[str, Any]) -> tuple[Given, ...]:
    """Return what a model's scores are added to."""
    entries = manifest.get("given", [])
    require(isinstance(entries, list) and len(entries) <= len(GIVEN), "what is given is not a list")
    require(all(entry in GIVEN for entry in entries), "what is given is unknown")
    return tuple(name for name in GIVEN if name in entries)


def _build_refits(
    manifest: dict[str, Any], arrays: dict[str, NDArray[np.float64]], bins: tuple[Bins, ...]
) -> AdditiveModel:
    """Return the checked model of some refits."""
    n_refits = arrays["intercepts"].size
    require(0 < n_refits <= MAX_REFITS and arrays["scores"].shape[0] == n_refits, "refits do not match")
    ends = np.cumsum([b.size for b in bins])
    require(ends[-1] == arrays["scores"].shape[1] == arrays["counts"].size, "scores do not match bins")
    scores = np.split(arrays["scores"], ends[:-1], axis=1)
    counts = np.split(arrays["counts"], ends[:-1])
    made = tuple(Term(j, s.mean(axis=0), s, c) for j, (s, c) in enumerate(zip(scores, counts, strict=True)))
    intercepts = arrays["intercepts"]
    signs = _read_signs(manifest, len(bins))
    pairs = build_pairs(manifest.get("pairs", []), arrays, bins, n_refits, signs)
    return AdditiveModel(
        bins,
        made,
        refit_intercepts=intercepts,
        loss=read_loss(manifest),
        pairs=pairs,
        signs=signs,
    )


def _read_signs(manifest: dict[str, Any], n_features: int) -> tuple[int, ...]:
    """Return the signs of the features along which the score is monotone."""
    signs = manifest.get("signs", [])
    fine = isinstance(signs, list) and len(signs) in (0, n_features)
    require(fine and all(type(sign) is int and -1 <= sign <= 1 for sign in signs), "its signs do not match features")
    return tuple(signs)
