"""The pairs of a model file, checked: no code indexes beyond a surface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.data.binning import Bins
from gamcore.io.checks import integers, require, require_within, split, whole_numbers, with_required
from gamcore.kernels.pair_grid import SIDE
from gamcore.model.additive import AdditiveModel, PairTerm

MAX_PAIRS: Final = 2_000
MAX_CELLS: Final = 2**26
MAX_DRAWN: Final = 1e200
MAX_SIDE: Final = 2**12

DRAWN: Final = "drawn"
"""Array of the scores that stand in cells instead of those of the surfaces, (2, m): places and scores."""


def drawn_cells(pairs: Sequence[PairTerm]) -> dict[str, NDArray[np.float64]]:
    """Return the array of the drawn scores of pairs, if any are drawn; their half-sample refits have the same."""
    if all(pair.drawn is None for pair in pairs):
        return {}
    scores = [np.full(pair.counts.size, np.nan) if pair.drawn is None else pair.drawn.ravel() for pair in pairs]
    whole = np.concatenate(scores)
    places = np.flatnonzero(~np.isnan(whole))
    return {DRAWN: np.stack([places, whole[places]]).astype(np.float64)}


def pairs_entry(model: AdditiveModel) -> dict[str, Any]:
    """Return the manifest's entries for what pairs have beyond their surfaces, which readers have to know.

    ordered : the places of pairs that are so although no feature of theirs has a sign, as its promise was broken.
    sides, half_sides : of each pair the bins along an axis of its surfaces, and of those of half-sample refits, where
    triples have added to some. smooth : the places of pairs whose merged codes are fractions.
    """
    refits = {"sides": model, "half_sides": model.halves}
    sides = {name: [pair.surfaces.shape[1] for pair in fit.pairs] for name, fit in refits.items() if fit is not None}
    wide = {name: each for name, each in sides.items() if any(side != SIDE for side in each)}
    smooth = [k for k, pair in enumerate(model.pairs) if pair.is_smooth]
    return with_required(
        _beyond_surfaces(model),
        {**wide, "required": list(wide)} if wide else {},
        {"smooth": smooth, "required": ["smooth"]} if smooth else {},
    )


def _beyond_surfaces(model: AdditiveModel) -> dict[str, Any]:
    """Return the entries for cells that are drawn or in order."""
    ordered = [k for k, pair in enumerate(model.pairs) if pair.ordered != _is_ordered(pair.features, model.signs)]
    required = [f"arrays/{DRAWN}.npy"] if any(pair.drawn is not None for pair in model.pairs) else []
    if not ordered:
        return {"required": required} if required else {}
    return {"ordered": ordered, "required": [*required, "ordered"]}


def _is_ordered(place: tuple[int, int], signs: tuple[int, ...]) -> bool:
    """Return whether a pair is ordered by the signs of its features."""
    return any(signs[place[0] : place[0] + 1] + signs[place[1] : place[1] + 1])


def build_pairs(
    manifest: dict[str, Any],
    arrays: dict[str, NDArray[np.float64]],
    bins: tuple[Bins, ...],
    n_refits: int,
    signs: tuple[int, ...] = (),
) -> tuple[PairTerm, ...]:
    """Return the checked pairs of a file: no code indexes beyond a surface. signs : as in `AdditiveModel`."""
    entries = manifest.get("pairs", [])
    require(isinstance(entries, list) and len(entries) <= MAX_PAIRS, "its pairs are not a list, or too many")
    require(bool(entries) == ("surfaces" in arrays), "its pairs have no surfaces")
    ordered, smooth = (
        integers(manifest.get(name, []), 0, len(entries) - 1, f"its {name} pairs are not places of them")
        for name in ("ordered", "smooth")
    )
    if not entries:
        require(DRAWN not in arrays, "scores of pairs are drawn, and it has none")
        return ()
    places = [_read_pair(pair, len(bins)) for pair in entries]
    require(len(set(places)) == len(places), "a pair occurs twice")
    across = _read_sides(manifest, len(places))
    sides = [(bins[i].size, bins[j].size) for i, j in places]
    n_cells = [a * b for a, b in sides]
    require(sum(n_cells) <= MAX_CELLS, "its pairs have too many cells")
    widths = {
        "surfaces": [side * side for side in across],
        "merges": [a + b for a, b in sides],
        "effects": [1 + a + b for a, b in sides],
    }
    parts = {}
    for name, each in widths.items():
        require(arrays[name].shape == (n_refits, sum(each)), f"{name} do not match pairs")
        parts[name] = split(arrays[name], each)
    cells = split(_spread(arrays["cells"], sum(n_cells), 0.0), n_cells)
    drawn_in = arrays.get(DRAWN, np.empty((2, 0)))
    require(bool(np.all(np.abs(drawn_in[1:]) <= MAX_DRAWN)), "a drawn score is out of range")
    drawn = split(_spread(drawn_in, sum(n_cells), np.nan), n_cells)
    pairs = []
    for k, (place, (a, b)) in enumerate(zip(places, sides, strict=True)):
        merge, effects = _read_merges(parts["merges"][k], across[k], k in smooth), parts["effects"][k]
        pairs.append(
            PairTerm(
                features=place,
                surfaces=parts["surfaces"][k].reshape(n_refits, across[k], across[k]),
                merges=(merge[:, :a], merge[:, a:]),
                means=effects[:, 0],
                rows=effects[:, 1 : 1 + a],
                columns=effects[:, 1 + a :],
                counts=cells[k].reshape(a, b),
                pure=bool(entries[k]["pure"]),
                ordered=_is_ordered(place, signs) or k in ordered,
                drawn=None if np.isnan(drawn[k]).all() else drawn[k].reshape(a, b),
            )
        )
    return tuple(pairs)


def _read_merges(merges: NDArray[np.float64], across: int, smooth: bool) -> NDArray[Any]:
    """Return the merged codes of a pair, of which those of a smooth one are fractions. across : merged bins."""
    if not smooth:
        return whole_numbers(merges, 0, across - 1, "a merged bin").astype(np.min_scalar_type(across))
    require_within(merges, 0, across - 1, "a merged bin")
    return merges


def _read_sides(manifest: dict[str, Any], n_pairs: int) -> list[int]:
    """Return the bins along an axis of each pair's surfaces."""
    sides = integers(manifest.get("sides", [SIDE] * n_pairs), 1, MAX_SIDE, "its sides do not match pairs")
    require(len(sides) == n_pairs, "its sides do not match pairs")
    return sides


def _spread(cells: NDArray[np.float64], n_cells: int, empty: float) -> NDArray[np.float64]:
    """Return the numbers of all cells of all pairs (n_cells,), given those that are not empty with their places."""
    require(cells.shape[0] == 2, "cells are not two rows")
    places, numbers = cells
    require(bool(np.all(places == np.floor(places)) and np.all(np.diff(places) > 0)), "cells do not ascend")
    require(not places.size or 0 <= places[0] <= places[-1] < n_cells, "cells do not match pairs")
    spread = np.full(n_cells, empty)
    spread[places.astype(np.int64)] = numbers
    return spread


def _read_pair(entry: Any, n_features: int) -> tuple[int, int]:
    """Return the indices of a pair's features, the lower first."""
    features = integers(entry["features"], 0, n_features - 1, "a pair's features are out of range")
    require(len(features) == 2 and features[0] < features[1], "a pair's features are out of range")
    require(type(entry["pure"]) is bool, "a pair does not say whether it is pure")
    return features[0], features[1]
