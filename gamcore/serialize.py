"""Models as `.gamx` files: a ZIP of `manifest.json` and plain `.npy` arrays. No pickle, nothing that can run.

The file is data from outside: sizes are bounded before anything is allocated, every number is checked before a kernel
may see it, and whatever is wrong ends in `ModelFileError`. Members are stored end to end:

    edges.npy    cuts of all number features            offsets by manifest features[j].n_cuts
    display.npy  display values of their bins           features[j].n_display
    scores.npy   refit scores of all terms, (K, sum of sizes)
    counts.npy   training rows a bin, (sum of sizes,)
    intercepts.npy  (K,)

and, where the model has pairs, end to end by pair:

    surfaces.npy (K, pairs SIDE SIDE)   merges.npy (K, sum of size_1 + size_2)   cells.npy (sum of size_1 size_2,)
    effects.npy  (K, sum of 1 + size_1 + size_2): mean, rows and columns of each surface
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import secrets
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.binning import MAX_VALUES, Bins
from gamcore.kernels.grid import SIDE
from gamcore.losses import LOSSES
from gamcore.model import AdditiveModel, PairTerm, Term
from gamcore.table import BOOLEANS, MONTHS, WEEKDAYS, Feature

FORMAT: Final = "gamcore-model"
SCHEMA: Final = (1, 1)
MEMBERS: Final = ("edges", "display", "scores", "counts", "intercepts")
PAIR_MEMBERS: Final = ("surfaces", "merges", "cells", "effects")
WIDE: Final = ("scores", "surfaces", "merges", "effects")
"""Members of two dimensions, a line a refit."""

MAX_PAIRS: Final = 10_000
MAX_FILE: Final = 512 * 2**20
MAX_MANIFEST: Final = 16 * 2**20
MAX_DEPTH: Final = 32
MAX_FEATURES: Final = 100_000
MAX_REFITS: Final = 10_000
MAX_SCORE: Final = 1e200
MAX_DAYS: Final = 2_933_000
"""Days from 1970 to the end of the year 9999, and more than to the year 1."""


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or made by a newer version."""


@dataclass(frozen=True)
class Saved:
    """A model with what is known of its making; `about` is plain JSON (parameters, versions, data fingerprint)."""

    kind: str  # "regressor" or "classifier"
    model: AdditiveModel
    classes: tuple[str | int | float | bool, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)


def save(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(to_bytes(saved))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def to_bytes(saved: Saved) -> bytes:
    """The file's content."""
    model = saved.model
    arrays: dict[str, NDArray[Any]] = {
        "edges": np.concatenate([np.empty(0), *[bins.cuts for bins in model.bins]]),
        "display": np.concatenate([np.empty(0), *[bins.display for bins in model.bins]]),
        "scores": np.concatenate([np.empty((model.n_refits, 0)), *[term.refits for term in model.terms]], axis=1),
        "counts": np.concatenate([np.empty(0), *[term.counts for term in model.terms]]),
        "intercepts": model.refit_intercepts,
    }
    arrays |= _pair_arrays(model) if model.pairs else {}
    members = {f"arrays/{name}.npy": _npy(array) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "schema": list(SCHEMA),
        "kind": saved.kind,
        "loss": model.loss.name,
        "classes": list(saved.classes),
        "features": [_describe(bins) for bins in model.bins],
        "terms": [{"feature": term.feature} for term in model.terms],
        "pairs": [{"features": list(pair.features), "pure": pair.pure} for pair in model.pairs],
        "members": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in members.items()
        },
        "about": saved.about,
    }
    text = json.dumps(manifest, allow_nan=False, ensure_ascii=False, indent=1).encode()
    if len(text) > MAX_MANIFEST:
        raise ModelFileError("The names of the model's levels take more than 16 MiB: shorten them, or drop a column.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("manifest.json"), text)
        for name, data in members.items():
            archive.writestr(_entry(name), data)
    return out.getvalue()


def _pair_arrays(model: AdditiveModel) -> dict[str, NDArray[Any]]:
    pairs, n_refits = model.pairs, model.n_refits
    return {
        "surfaces": np.concatenate([pair.surfaces.reshape(n_refits, -1) for pair in pairs], axis=1),
        "merges": np.concatenate([merge for pair in pairs for merge in pair.merges], axis=1),
        "cells": np.concatenate([pair.counts.ravel() for pair in pairs]),
        "effects": np.concatenate(
            [part for pair in pairs for part in (pair.means[:, None], pair.rows, pair.columns)], axis=1
        ),
    }


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # no clock in the file: same model, same bytes


def _npy(array: NDArray[Any]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array, np.float64), allow_pickle=False)
    return out.getvalue()


def _describe(bins: Bins) -> dict[str, Any]:
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


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file; ModelFileError names what is wrong with it."""
    try:
        size = Path(path).stat().st_size
        if size > MAX_FILE:
            raise ModelFileError(f"The model file has {size:,} bytes, more than the {MAX_FILE:,} allowed.")
        return from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise ModelFileError(f"The model file cannot be read: {error}.") from error


def from_bytes(data: bytes) -> Saved:
    """Read a model from a file's content."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = _check_entries(archive)
            manifest = _read_manifest(archive)
            names = [*MEMBERS, *(PAIR_MEMBERS if len(sizes) > 1 + len(MEMBERS) else ())]
            arrays = {name: _read_array(archive, manifest, name, sizes) for name in names}
        return _build(manifest, arrays)
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        raise ModelFileError(f"This is not a whole .gamx model file: {error}.") from error
    except Exception as error:  # a hostile file reaches many corners of zipfile, json and numpy
        raise ModelFileError(f"The model file is damaged: {type(error).__name__}: {str(error)[:200]}.") from error


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ModelFileError(f"The model file is damaged: {what}.")


def _check_entries(archive: zipfile.ZipFile) -> dict[str, int]:
    """Exactly the expected members, plain, and small enough to open."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    expected = {"manifest.json", *[f"arrays/{name}.npy" for name in MEMBERS]}
    with_pairs = expected | {f"arrays/{name}.npy" for name in PAIR_MEMBERS}
    known = len(names) == len(set(names)) and set(names) in (expected, with_pairs)
    _require(known, "its members are not those of a model")
    for entry in entries:
        _require(not entry.is_dir() and not entry.flag_bits & 1, f"{entry.filename} is a folder or encrypted")
        _require(entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), "its compression is not known")
        _require(entry.file_size <= 100 * max(entry.compress_size, 1), f"{entry.filename} expands too much")
    _require(sum(entry.file_size for entry in entries) <= MAX_FILE, "it is too large")
    _require(archive.getinfo("manifest.json").file_size <= MAX_MANIFEST, "its manifest is too large")
    return {entry.filename: entry.file_size for entry in entries}


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member's bytes, never more than its entry says: a forged entry must not unpack without end."""
    limit = archive.getinfo(name).file_size
    parts, size = [], 0
    with archive.open(name) as stream:
        while part := stream.read(2**20):
            size += len(part)
            _require(size <= limit, f"{name} is longer than it says")
            parts.append(part)
    return b"".join(parts)


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    text = _read_member(archive, "manifest.json").decode("utf-8")
    _require(_depth(text) <= MAX_DEPTH, "its manifest is nested too deeply")
    manifest = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    _require(isinstance(manifest, dict) and manifest.get("format") == FORMAT, "it is not a gamcore model")
    schema = manifest["schema"]
    _require(isinstance(schema, list) and len(schema) == 2 and all(type(n) is int for n in schema), "no schema number")
    if schema[0] != SCHEMA[0]:
        raise ModelFileError(
            f"The model file has schema {schema[0]}.{schema[1]}, and this version reads {SCHEMA[0]}.x: update gamcore."
        )
    return dict(manifest)


def _depth(text: str) -> int:
    """Nesting of brackets outside strings, counted without recursion."""
    deepest = depth = 0
    inside = escaped = False
    for char in text:
        if inside:
            inside, escaped = not (char == '"' and not escaped), char == "\\" and not escaped
        elif char == '"':
            inside = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _no_constant(name: str) -> None:
    raise ModelFileError(f"The model file is damaged: its manifest holds {name}.")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    _require(len(found) == len(pairs), "a name occurs twice in its manifest")
    return found


def _read_array(
    archive: zipfile.ZipFile, manifest: dict[str, Any], name: str, sizes: dict[str, int]
) -> NDArray[np.float64]:
    member = f"arrays/{name}.npy"
    data = _read_member(archive, member)
    told = manifest["members"][member]
    _require(told["bytes"] == len(data) == sizes[member], f"{member} has the wrong length")
    _require(hashlib.sha256(data).hexdigest() == told["sha256"], f"{member} does not match its checksum")
    stream = io.BytesIO(data)
    _require(np.lib.format.read_magic(stream) == (1, 0), f"{member} is not a plain array")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    n_dims = 2 if name in WIDE else 1
    _require(dtype == np.float64 and not fortran and len(shape) == n_dims, f"{member} has the wrong type or shape")
    _require(all(side >= 0 for side in shape), f"{member} has a negative side")
    _require(math.prod(shape) * 8 == len(data) - stream.tell(), f"{member} has the wrong size")
    return np.frombuffer(data, np.float64, offset=stream.tell()).reshape(shape).copy()


def _texts(value: Any, what: str) -> tuple[str, ...]:
    _require(isinstance(value, list) and all(isinstance(text, str) for text in value), f"{what} are not texts")
    _require(len(set(value)) == len(value), f"{what} are not distinct")
    return tuple(value)


def _count(value: Any, most: int, what: str) -> int:
    _require(type(value) is int and 0 <= value <= most, f"{what} is out of range")
    return int(value)


def _read_bins(told: dict[str, Any], edges: NDArray[np.float64], display: NDArray[np.float64]) -> Bins:
    """One feature's bins, checked: a code they give never reaches beyond the scores of its term."""
    name, column, kind, part = (told[key] for key in ("name", "column", "kind", "part"))
    _require(isinstance(name, str) and isinstance(column, str), "a feature has no name")
    _require(kind in ("number", "boolean", "date", "category"), "a feature's kind is not known")
    _require(part in ("value", "month", "weekday"), "a feature's part is not known")
    levels, pooled = _texts(told["levels"], "levels"), _texts(told["pooled"], "pooled levels")
    feature = Feature(name, column, kind, part, levels + pooled)
    _require(not set(levels) & set(pooled), "a level is pooled and not")
    fixed = {"month": MONTHS, "weekday": WEEKDAYS}.get(part, BOOLEANS if kind == "boolean" else None)
    _require(fixed is None or (levels == fixed and not pooled), "levels are not those of the feature's kind")
    _require(part == "value" or kind == "category", "a part of a date is not a category")
    _require(len(levels) + bool(pooled) <= MAX_VALUES and display.size <= MAX_VALUES, "a feature has too many bins")
    if feature.is_category:
        _require(edges.size == display.size == 0, "a category has cuts")
    else:
        _require(not feature.levels and edges.size == max(display.size - 1, 0), "cuts and bins do not match")
    _require(bool(np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)), "cuts do not ascend")
    _require(bool(np.all(np.isfinite(display))), "display values are not finite")
    low, high = told["range"] or (np.nan, np.nan)
    _require(bool(told["range"]) == (display.size > 0), "a range is missing")
    if told["range"]:
        _require(all(type(end) in (int, float) and math.isfinite(end) for end in (low, high)), "a range is not finite")
        within = np.concatenate([[low], edges, [high]])
        _require(bool(np.all(np.diff(within) >= 0)), "a range does not hold its cuts")
        _require(kind != "date" or bool(np.all(np.abs(within) < MAX_DAYS)), "a date is out of range")
    return Bins(feature, edges, display, levels, pooled, float(low), float(high))


def _build(manifest: dict[str, Any], arrays: dict[str, NDArray[np.float64]]) -> Saved:
    features, terms = manifest["features"], manifest["terms"]
    _require(isinstance(features, list) and 0 < len(features) <= MAX_FEATURES, "it has no features")
    cut_ends = np.cumsum([_count(f["n_cuts"], MAX_VALUES, "a number of cuts") for f in features])
    display_ends = np.cumsum([_count(f["n_display"], MAX_VALUES, "a number of bins") for f in features])
    _require(cut_ends[-1] == arrays["edges"].size and display_ends[-1] == arrays["display"].size, "bins are missing")
    cuts, displays = np.split(arrays["edges"], cut_ends[:-1]), np.split(arrays["display"], display_ends[:-1])
    bins = tuple(_read_bins(f, c, d) for f, c, d in zip(features, cuts, displays, strict=True))
    _require(len({b.feature.name for b in bins}) == len(bins), "feature names are not distinct")
    n_refits = arrays["intercepts"].size
    _require(0 < n_refits <= MAX_REFITS and arrays["scores"].shape[0] == n_refits, "refits do not match")
    _require(all(bool(np.all(np.isfinite(array))) for array in arrays.values()), "a number is not finite")
    _require(
        all(bool(np.all(arrays[name] >= 0)) for name in arrays if name in ("counts", "cells")), "a count is negative"
    )
    scored = ("scores", "intercepts", "surfaces", "effects")
    largest = max(float(np.max(np.abs(arrays[name]), initial=0.0)) for name in arrays if name in scored)
    _require(largest <= MAX_SCORE, "a score is out of range")
    kind, loss = manifest["kind"], manifest["loss"]
    _require((kind, loss) in (("regressor", "squared"), ("classifier", "logistic")), "kind and loss do not match")
    classes = manifest["classes"]
    _require(isinstance(classes, list) and len(classes) == (2 if kind == "classifier" else 0), "classes do not match")
    _require(all(isinstance(label, str | int | float) for label in classes), "a class is not a plain value")
    _require(len(set(classes)) == len(classes), "classes are not distinct")
    _require([t["feature"] for t in terms] == list(range(len(bins))), "terms do not match features")
    ends = np.cumsum([b.size for b in bins])
    _require(ends[-1] == arrays["scores"].shape[1] == arrays["counts"].size, "scores do not match bins")
    scores = np.split(arrays["scores"], ends[:-1], axis=1)
    counts = np.split(arrays["counts"], ends[:-1])
    made = tuple(Term(j, s.mean(axis=0), s, c) for j, (s, c) in enumerate(zip(scores, counts, strict=True)))
    intercepts = arrays["intercepts"]
    pairs = _build_pairs(manifest.get("pairs", []), arrays, bins, n_refits)
    model = AdditiveModel(bins, made, float(intercepts.mean()), intercepts, LOSSES[loss], pairs)
    about = manifest["about"]
    _require(isinstance(about, dict), "its description is not a table")
    return Saved(kind, model, tuple(classes), about)


def _build_pairs(
    told: Any, arrays: dict[str, NDArray[np.float64]], bins: tuple[Bins, ...], n_refits: int
) -> tuple[PairTerm, ...]:
    """The pairs of a file, checked: no code leads beyond a surface."""
    _require(isinstance(told, list) and len(told) <= MAX_PAIRS, "its pairs are not a list")
    _require(bool(told) == ("surfaces" in arrays), "its pairs have no surfaces")
    if not told:
        return ()
    places = [_read_pair(pair, len(bins)) for pair in told]
    _require(len(set(places)) == len(places), "a pair occurs twice")
    sides = [(bins[i].size, bins[j].size) for i, j in places]
    n_cells = [a * b for a, b in sides]
    widths = {
        "surfaces": [SIDE * SIDE] * len(places),
        "merges": [a + b for a, b in sides],
        "effects": [1 + a + b for a, b in sides],
    }
    parts = {}
    for name, each in widths.items():
        _require(arrays[name].shape == (n_refits, sum(each)), f"{name} do not match pairs")
        parts[name] = np.split(arrays[name], np.cumsum(each)[:-1], axis=1)
    _require(arrays["cells"].size == sum(n_cells), "cells do not match pairs")
    cells = np.split(arrays["cells"], np.cumsum(n_cells)[:-1])
    merges = arrays["merges"]
    _require(
        bool(np.all((merges >= 0) & (merges < SIDE) & (merges == np.floor(merges)))), "a merged bin is out of range"
    )
    made = []
    for k, (place, (a, b)) in enumerate(zip(places, sides, strict=True)):
        merge, effects = parts["merges"][k].astype(np.uint8), parts["effects"][k]
        surfaces = parts["surfaces"][k].reshape(n_refits, SIDE, SIDE)
        means, rows, columns = effects[:, 0], effects[:, 1 : 1 + a], effects[:, 1 + a :]
        counts, pure = cells[k].reshape(a, b), bool(told[k]["pure"])
        made.append(PairTerm(place, surfaces, (merge[:, :a], merge[:, a:]), means, rows, columns, counts, pure))
    return tuple(made)


def _read_pair(told: Any, n_features: int) -> tuple[int, int]:
    """The places of a pair's features, lower first."""
    features = told["features"]
    fine = isinstance(features, list) and len(features) == 2 and all(type(place) is int for place in features)
    _require(fine and 0 <= features[0] < features[1] < n_features, "a pair's features are out of range")
    _require(type(told["pure"]) is bool, "a pair does not say whether it is pure")
    return features[0], features[1]
