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

from gamcore.data.binning import Bins
from gamcore.data.targets import MOST_CLASSES
from gamcore.io.checks import ModelFileError, integers, require, require_within, split, with_required
from gamcore.io.manifest_bins import Arrays, beside_arrays, beside_entry, bins_entry, describe, edge_arrays, read_bins
from gamcore.io.manifest_open import open_entry, read_open
from gamcore.io.manifest_pairs import DRAWN, MAX_CELLS, MAX_PAIRS, build_pairs, drawn_cells, pairs_entry
from gamcore.io.manifest_triples import GRID_MEMBERS, GRIDS, build_triples, grid_arrays, grid_refits, triples_entry
from gamcore.model.additive import GIVEN, AdditiveModel, Given, Term
from gamcore.model.classes import ClassesModel
from gamcore.model.losses import LOSSES, Loss
from gamcore.model.monotone import is_monotone
from gamcore.model.shapes import SHAPES, Shape
from gamcore.multitask.model import TaskModel

MEMBERS: Final = ("edges", "display", "scores", "counts", "intercepts")
PAIR_MEMBERS: Final = ("surfaces", "merges", "cells", "effects")
HALF: Final = "half_"
HALF_MEMBERS: Final = tuple(HALF + name for name in ("scores", "intercepts"))
HALF_PAIR_MEMBERS: Final = tuple(HALF + name for name in ("surfaces", "merges", "effects"))
"""Arrays of the half-sample refits; they share bins, counts and cells with the model."""

WIDE: Final = (
    "scores", "surfaces", "merges", "effects", "cells", "rows", "nodes", "left", "refits",
    "half_scores", "half_surfaces", "half_merges", "half_effects", "scale_scores", "calibration", "levels", "beside",
    DRAWN, GRIDS, HALF + GRIDS,
)  # fmt: skip
"""Two-dimensional members, such as those with a row per refit."""

SCORED: Final = ("scores", "intercepts", "surfaces", "effects", GRIDS)
COUNTED: Final = ("counts", "cells", "grid_counts")

MAX_COUNT: Final = 1e15
MAX_REFITS: Final = 10_000
MAX_SCORE: Final = 1e200


@dataclass(frozen=True)
class Saved:
    """A model with its provenance; `about` is plain JSON (parameters, versions, data fingerprint)."""

    kind: str  # "regressor" or "classifier", with the prefix "multitask_" if there are tasks
    model: AdditiveModel | ClassesModel | TaskModel
    classes: tuple[str | int | float | bool, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)


def arrays_of(model: AdditiveModel) -> Arrays:
    """Return the arrays of a model; raise ModelFileError if a file cannot hold them."""
    if len(model.pairs) > MAX_PAIRS or sum(pair.counts.size for pair in model.pairs) > MAX_CELLS:
        raise ModelFileError(f"The model has {len(model.pairs)} pairs, more than a file can hold: use fewer.")
    arrays: Arrays = {
        **edge_arrays(model.bins),
        **beside_arrays(model.bins),
        **refit_arrays(model),
        "counts": np.concatenate([np.empty(0), *[term.counts for term in model.terms]]),
    }
    if model.pairs:
        counts = np.concatenate([pair.counts.ravel() for pair in model.pairs])
        filled = np.flatnonzero(counts)
        arrays["cells"] = np.stack([filled, counts[filled]]).astype(np.float64)
        arrays |= drawn_cells(model.pairs)
    arrays |= grid_arrays(model)
    if model.halves is not None:
        arrays |= {HALF + name: array for name, array in refit_arrays(model.halves).items()}
    return arrays


def refit_arrays(model: AdditiveModel) -> dict[str, NDArray[Any]]:
    """Return the arrays that differ between a model's refits."""
    pairs, n_refits = model.pairs, model.n_refits
    arrays = {
        "scores": np.concatenate([np.empty((n_refits, 0)), *[term.refits for term in model.terms]], axis=1),
        "intercepts": model.refit_intercepts,
        **grid_refits(model),
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
    loss = replace(loss, **given)
    require(loss.is_valid, "a parameter of its loss is out of range")
    return loss


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
        **open_entry([model]),
        **with_required(bins_entry(model.bins), signs_entry(model), pairs_entry(model), triples_entry(model)),
        **({"shapes": list(model.shapes)} if model.shapes else {}),
        **beside_entry(model.bins),
    }


def signs_entry(model: AdditiveModel) -> dict[str, Any]:
    """Return the manifest's entry for monotone features; of their pairs, codes without rows have scores of their own,
    which readers have to know."""
    if not any(model.signs):
        return {}
    return {"signs": list(model.signs)} | ({"required": ["signs"]} if any(pair.ordered for pair in model.pairs) else {})


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
    for name, array in arrays.items():
        if name in COUNTED:
            require_within(array, 0, MAX_COUNT, "a count")
        if name.removeprefix(HALF) in SCORED:
            require_within(array, -MAX_SCORE, MAX_SCORE, "a score")
    loss = read_loss(manifest)
    require(manifest["kind"] == loss.kind, "kind and loss do not match")
    require([t["feature"] for t in terms] == list(range(len(bins))), "terms do not match features")
    return loss


def build_model(
    manifest: dict[str, Any], arrays: dict[str, NDArray[np.float64]], bins: tuple[Bins, ...], place: int = 0
) -> AdditiveModel:
    """Return a model with its half-sample refits, if it has any; the arrays are those of one score per row.

    place : of the score, where rows have several.
    """
    model = _build_refits(manifest, arrays, bins)
    require(all(is_monotone(model, j) for j in range(len(bins))), "its score is not monotone where it says so")
    if HALF + "scores" not in arrays:
        return model
    own = {name.removeprefix(HALF): array for name, array in arrays.items() if name.startswith(HALF)}
    require(own["intercepts"].size > 1, "a single half-sample refit gives no spread")
    shared = {name: arrays[name] for name in ("counts", "cells", DRAWN, *GRID_MEMBERS) if name in arrays}
    evenness = manifest.get("evenness", 1.0)
    require(type(evenness) is float and 0 < evenness <= 1, "the evenness of its weights is out of range")
    of_halves = {name: each for name, each in manifest.items() if name != "sides"}
    of_halves |= {"sides": manifest["half_sides"]} if "half_sides" in manifest else {}
    halves = _build_refits(of_halves, own | shared, bins)
    return replace(model, halves=replace(halves, evenness=evenness, open_effects=read_open(manifest, len(bins), place)))


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
    sizes = [of_feature.size for of_feature in bins]
    require(sum(sizes) == arrays["scores"].shape[1] == arrays["counts"].size, "scores do not match bins")
    each = zip(split(arrays["scores"], sizes), split(arrays["counts"], sizes), strict=True)
    terms = tuple(Term(j, scores.mean(axis=0), scores, counts) for j, (scores, counts) in enumerate(each))
    signs = read_signs(manifest, len(bins))
    pairs = build_pairs(manifest, arrays, bins, n_refits, signs)
    return AdditiveModel(
        bins,
        terms,
        refit_intercepts=arrays["intercepts"],
        loss=read_loss(manifest),
        pairs=pairs,
        triples=build_triples(manifest, arrays, bins, n_refits, pairs),
        signs=signs,
        shapes=_read_shapes(manifest, len(bins)),
    )


def _read_shapes(manifest: dict[str, Any], n_features: int) -> tuple[Shape, ...]:
    """Return how the curve of each feature was learnt."""
    shapes = manifest.get("shapes", [])
    fine = isinstance(shapes, list) and len(shapes) in (0, n_features)
    require(fine and all(shape in SHAPES for shape in shapes), "its shapes do not match features")
    return tuple(shapes)


def read_signs(manifest: dict[str, Any], n_features: int) -> tuple[int, ...]:
    """Return the signs of the features along which the score is monotone."""
    signs = integers(manifest.get("signs", []), -1, 1, "its signs do not match features")
    require(len(signs) in (0, n_features), "its signs do not match features")
    return tuple(signs)
