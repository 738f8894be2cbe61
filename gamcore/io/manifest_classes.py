"""Conversion of a model of several classes to a file's manifest and arrays, and back; checked as any other.

The arrays are those of an additive model. Where a row stands for a refit, there is one per class and refit, those of
the first class first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamcore.io.checks import ModelFileError, require
from gamcore.io.manifest import (
    HALF,
    MAX_SCORE,
    Saved,
    arrays_of,
    build_model,
    check_arrays,
    manifest_of,
    read_about,
    read_classes,
    read_given,
)
from gamcore.io.manifest_bins import BESIDE, Arrays, read_bins
from gamcore.io.manifest_open import open_entry
from gamcore.io.manifest_pairs import DRAWN, MAX_PAIRS
from gamcore.model.classes import ClassesModel

SHARED = ("edges", "display", BESIDE, "counts", "cells")
"""Arrays that all classes have in common."""


def class_arrays(model: ClassesModel) -> Arrays:
    """Return the arrays of a model; raise ModelFileError if a file cannot hold them."""
    if len(model.pairs) * model.n_classes > MAX_PAIRS:
        raise ModelFileError(
            f"The model has {len(model.pairs)} pairs for each of {model.n_classes} classes, more than a file can hold: "
            "use fewer."
        )
    each = [arrays_of(class_model) for class_model in model.models]
    return {
        name: array if name in SHARED else np.concatenate([arrays[name] for arrays in each])
        for name, array in each[0].items()
    }


def class_manifest(saved: Saved, model: ClassesModel) -> dict[str, Any]:
    """Return the manifest's entries for a model."""
    entries = manifest_of(saved, model.models[0])
    required = [*entries.get("required", []), "bases"]
    return {
        **entries,
        **open_entry(model.models),
        "base": None,
        "bases": [class_model.base_score for class_model in model.models],
        "required": required,
    }


def build_classes(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Saved:
    """Return the checked model of a file."""
    bins = read_bins(manifest, arrays)
    loss = check_arrays(manifest, arrays, bins)
    require(loss.is_partial and DRAWN not in arrays, "kind and loss do not match")
    classes, bases = read_classes(manifest["classes"], manifest["kind"], several=True), manifest["bases"]
    require(isinstance(bases, list) and len(bases) == len(classes), "its base scores do not match its classes")
    require(all(type(base) in (int, float) and abs(base) <= MAX_SCORE for base in bases), "a base score is invalid")
    parts = [_of_class(arrays, k, len(classes)) for k in range(len(classes))]
    given = read_given(manifest)
    models = [
        replace(build_model(manifest, own, bins, place), base=float(base), given=given)
        for place, (own, base) in enumerate(zip(parts, bases, strict=True))
    ]
    return Saved(manifest["kind"], ClassesModel(tuple(models)), classes, read_about(manifest))


def _of_class(arrays: dict[str, NDArray[Any]], k: int, n_classes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of one class."""
    own = dict(arrays)
    for name in set(arrays) - set(SHARED):
        rows = len(arrays[name])
        require(rows % n_classes == 0, f"{name.removeprefix(HALF)} do not match classes")
        each = rows // n_classes
        own[name] = arrays[name][k * each : (k + 1) * each]
    return own
