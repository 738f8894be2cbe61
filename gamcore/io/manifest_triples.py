"""The triples of a model file, checked: no code's part lies beyond a table."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.data.binning import Bins
from gamcore.io.checks import ModelFileError, integers, require, split, whole_numbers
from gamcore.model.additive import AdditiveModel, PairTerm
from gamcore.model.grids import GridTerm

GRIDS: Final = "grids"
"""Array of the scores by part, (K, sum of cells): of each refit."""

GRID_MEMBERS: Final = ("grid_parts", "grid_counts")
"""Arrays that half-sample refits share: the part of each code of each feature, (sum of sizes,), and the training rows
of each cell, (sum of cells,)."""

MAX_TRIPLES: Final = 500
MAX_PARTS: Final = 256
MAX_CELLS: Final = 2**22


def grid_arrays(model: AdditiveModel) -> dict[str, NDArray[Any]]:
    """Return the arrays of a model's triples that all its refits share; none where there are none."""
    if len(model.triples) > MAX_TRIPLES or sum(triple.counts.size for triple in model.triples) > MAX_CELLS:
        raise ModelFileError(f"The model has {len(model.triples)} triples, more than a file can hold: use fewer.")
    if not model.triples:
        return {}
    parts = [part for triple in model.triples for part in triple.parts]
    counts = [triple.counts.ravel() for triple in model.triples]
    return dict(zip(GRID_MEMBERS, (np.concatenate(parts).astype(np.float64), np.concatenate(counts)), strict=True))


def grid_refits(model: AdditiveModel) -> dict[str, NDArray[Any]]:
    """Return the array of the refits of a model's triples; none where there are none."""
    tables = [triple.refits.reshape(model.n_refits, -1) for triple in model.triples]
    return {GRIDS: np.concatenate(tables, axis=1)} if tables else {}


def triples_entry(model: AdditiveModel) -> dict[str, Any]:
    """Return the manifest's entry for triples, which readers have to know."""
    if not model.triples:
        return {}
    names = [GRIDS, *GRID_MEMBERS]
    return {
        "triples": [
            {"features": list(triple.features), "shape": list(triple.counts.shape)} for triple in model.triples
        ],
        "required": ["triples", *[f"arrays/{name}.npy" for name in names]],
    }


def build_triples(
    manifest: dict[str, Any],
    arrays: dict[str, NDArray[np.float64]],
    bins: tuple[Bins, ...],
    n_refits: int,
    pairs: tuple[PairTerm, ...],
) -> tuple[GridTerm, ...]:
    """Return the checked triples of a file."""
    entries = manifest.get("triples", [])
    require(isinstance(entries, list) and len(entries) <= MAX_TRIPLES, "its triples are not a list, or too many")
    present = [name in arrays for name in (GRIDS, *GRID_MEMBERS)]
    require(all(present) if entries else not any(present), "its triples have no tables")
    if not entries:
        return ()
    known = {pair.features for pair in pairs}
    places, shapes = [], []
    for entry in entries:
        features = integers(entry["features"], 0, len(bins) - 1, "a triple's features are out of range")
        shape = integers(entry["shape"], 1, MAX_PARTS, "a triple has too many parts")
        require(len(features) == len(shape) == 3, "a triple is not of three features")
        require(features[0] < features[1] < features[2], "a triple's features are out of range")
        require(known >= set(itertools.combinations(features, 2)), "a pair of a triple is missing")
        places.append(tuple(features))
        shapes.append(tuple(shape))
    require(len(set(places)) == len(places), "a triple occurs twice")
    cells, sizes = [math.prod(shape) for shape in shapes], [bins[j].size for features in places for j in features]
    require(sum(cells) <= MAX_CELLS, "its triples have too many cells")
    parts, counts = (arrays[name] for name in GRID_MEMBERS)
    require(
        arrays[GRIDS].shape == (n_refits, sum(cells)) and counts.shape == (sum(cells),), "tables do not match triples"
    )
    require(parts.shape == (sum(sizes),), "parts do not match triples")
    most = np.repeat([side for shape in shapes for side in shape], sizes)
    require(bool(np.all(parts < most)), "a part is out of range")
    each = iter(split(whole_numbers(parts, 0, MAX_PARTS - 1, "a part").astype(np.uint8), sizes))
    return tuple(
        GridTerm(features, tuple(itertools.islice(each, 3)), table.reshape(n_refits, *shape), count.reshape(shape))
        for features, shape, table, count in zip(
            places, shapes, split(arrays[GRIDS], cells), split(counts, cells), strict=True
        )
    )
