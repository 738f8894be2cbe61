"""The bins of a model in a file's manifest, and back: features, cuts, levels, and codes that mean missing."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamcore.data.binning import MAX_VALUES, Bins
from gamcore.data.codes import is_number
from gamcore.data.columns import BOOLEANS
from gamcore.data.dates import DAYS_AFTER, FIRST_DAY
from gamcore.data.table import MONTHS, WEEKDAYS, Feature
from gamcore.io.checks import require, with_required

Arrays = dict[str, NDArray[np.float64]]

MAX_FEATURES: Final = 100_000

BESIDE: Final = "beside"
"""The array of the values beside all cuts, (2, sum of cuts); where they are not known, the cut itself, twice."""


def beside_arrays(bins: tuple[Bins, ...]) -> Arrays:
    """Return the values beside the cuts of all features, if any are known."""
    if not any(of_feature.beside.size for of_feature in bins):
        return {}
    each = [of_feature.beside if of_feature.beside.size else np.stack([of_feature.cuts] * 2) for of_feature in bins]
    return {BESIDE: np.concatenate(each, axis=1)}


def beside_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entry about them: readers that do not know them still predict."""
    return {"optional": [f"arrays/{BESIDE}.npy"]} if any(of_feature.beside.size for of_feature in bins) else {}


def edge_arrays(bins: tuple[Bins, ...]) -> Arrays:
    """Return the cuts and display values of all features, concatenated."""
    return {
        "edges": np.concatenate([np.empty(0), *[of_feature.cuts for of_feature in bins]]),
        "display": np.concatenate([np.empty(0), *[of_feature.display for of_feature in bins]]),
    }


def codes_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entry for codes that mean missing; readers that do not know it must refuse the file."""
    features = [of_feature.feature for of_feature in bins]
    codes = {feature.column: list(feature.missing) for feature in features if feature.missing}
    return {"missing_codes": codes, "required": ["missing_codes"]} if codes else {}


def merged_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entry for levels that share a bin by choice; readers that do not know it must refuse."""
    merged = {of_feature.feature.name: merged_levels(of_feature) for of_feature in bins if of_feature.merged}
    return {"merged_levels": merged, "required": ["merged_levels"]} if merged else {}


def merged_levels(bins: Bins) -> dict[str, list[str]]:
    """Return the merged levels of a feature as plain JSON: by the first of each bin, the others."""
    return {level: list(others) for level, others in bins.merged.items()}


def zoned_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entry for columns of times with a zone; readers that do not know it must refuse."""
    zoned = list(dict.fromkeys(of_feature.feature.column for of_feature in bins if of_feature.feature.zoned))
    return {"zoned": zoned, "required": ["zoned"]} if zoned else {}


def sentinels_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entry for numbers that stand for no amount; predictions do not need it."""
    alone = {of_feature.feature.name: list(of_feature.sentinels) for of_feature in bins if of_feature.sentinels}
    return {"sentinels": alone} if alone else {}


def bins_entry(bins: tuple[Bins, ...]) -> dict[str, Any]:
    """Return the manifest's entries about values that are not as they seem."""
    return with_required(codes_entry(bins), merged_entry(bins), zoned_entry(bins), sentinels_entry(bins))


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


def read_merged(entry: Any, levels: tuple[str, ...], pooled: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return checked merged levels, see `merged_levels`. levels, pooled : those of the bins."""
    require(isinstance(entry, dict) and set(entry) <= set(levels), "merged levels have no bin")
    merged = {level: read_texts(others, "merged levels") for level, others in entry.items()}
    names = [*levels, *pooled, *(level for others in merged.values() for level in others)]
    require(len(set(names)) == len(names), "a level has two bins")
    return merged


def read_feature(
    entry: dict[str, Any],
    levels: tuple[str, ...],
    pooled: tuple[str, ...],
    merged: dict[str, tuple[str, ...]],
    missing: Any = None,
    zoned: Any = False,
) -> Feature:
    """Return a checked feature.

    levels : those of its bins; pooled : those of the last; merged : as in `read_merged`; missing : codes that mean so.
    zoned : whether it has times of a zone.
    """
    name, column, kind, part = (entry[key] for key in ("name", "column", "kind", "part"))
    require(isinstance(name, str) and isinstance(column, str), "a feature has no name")
    require(kind in ("number", "boolean", "date", "category"), "a feature's kind is unknown")
    require(part in ("value", "month", "weekday"), "a feature's part is unknown")
    require(not merged or (kind == "category" and part == "value"), "levels are merged that cannot be")
    fixed = {"month": MONTHS, "weekday": WEEKDAYS}.get(part, BOOLEANS if kind == "boolean" else None)
    require(fixed is None or (levels == fixed and not pooled), "levels are not those of the feature's kind")
    require(part == "value" or kind == "category", "a part of a date is not a category")
    require(len(levels) + bool(pooled) <= MAX_VALUES, "a feature has too many bins")
    codes = read_texts([] if missing is None else missing, "codes of missing cells")
    require(not codes or (part == "value" and kind in ("number", "category")), "a kind without codes has some")
    require(kind != "number" or all(map(is_number, codes)), "a code of a number is not one")
    others = tuple(level for levels_of in merged.values() for level in levels_of)
    require(zoned is False or (zoned is True and (kind == "date" or part != "value")), "what is no time has a zone")
    feature = Feature(name, column, kind, part, levels + others + pooled, missing=codes, zoned=zoned)
    require(feature.is_category or not feature.levels, "a number has levels")
    return feature


def read_sentinels(values: Any, feature: Feature) -> tuple[float, ...]:
    """Return the checked sentinels of a feature."""
    fine = isinstance(values, list) and all(type(value) is float and math.isfinite(value) for value in values)
    require(fine and (feature.kind == "number" or not values), "sentinels are not numbers")
    return tuple(values)


class _Special(NamedTuple):
    """What a manifest says of values that are not as they seem; see `bins_entry`.

    missing_codes : by column. merged_levels, sentinels : by feature. zoned : columns.
    """

    missing_codes: dict[str, Any]
    merged_levels: dict[str, Any]
    sentinels: dict[str, Any]
    zoned: tuple[str, ...]

    @classmethod
    def read(cls, manifest: dict[str, Any]) -> _Special:
        """Return the entries, checked as far as their features need not be known."""
        codes = manifest.get("missing_codes", {})
        fine = isinstance(codes, dict) and all(isinstance(listed, list) for listed in codes.values())
        require(fine, "its codes are not lists")
        merged = manifest.get("merged_levels", {})
        require(isinstance(merged, dict), "its merged levels are not by feature")
        zoned = read_texts(manifest.get("zoned", []), "columns of a zone")
        sentinels = manifest.get("sentinels", {})
        require(isinstance(sentinels, dict), "its sentinels are not by feature")
        return cls(codes, merged, sentinels, zoned)


def _read_bins(
    entry: dict[str, Any],
    edges: NDArray[np.float64],
    display: NDArray[np.float64],
    beside: NDArray[np.float64],
    special: _Special,
) -> Bins:
    """Return one feature's checked bins: their codes never index beyond the scores of its term."""
    levels, pooled = read_texts(entry["levels"], "levels"), read_texts(entry["pooled"], "pooled levels")
    merged = read_merged(special.merged_levels.get(entry["name"], {}), levels, pooled)
    missing = special.missing_codes.get(entry["column"]) if entry["part"] == "value" else None
    feature = read_feature(entry, levels, pooled, merged, missing=missing, zoned=entry["column"] in special.zoned)
    require(display.size <= MAX_VALUES, "a feature has too many bins")
    if feature.is_category:
        require(edges.size == display.size == 0, "a category has cuts")
    else:
        require(edges.size == max(display.size - 1, 0), "cuts and bins do not match")
    require(bool(np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)), "cuts do not ascend")
    require(bool(np.all(np.isfinite(display))), "display values are not finite")
    if beside.size:
        require(bool(np.all((beside[0] <= edges) & (edges <= beside[1]))), "cuts are not between their values")
    low, high = entry["range"] or (np.nan, np.nan)
    require(bool(entry["range"]) == (display.size > 0), "a range is missing")
    if entry["range"]:
        require(all(type(end) in (int, float) and math.isfinite(end) for end in (low, high)), "a range is not finite")
        within = np.concatenate([[low], edges, [high]])
        require(bool(np.all(np.diff(within) >= 0)), "a range does not contain its cuts")
        days = np.concatenate([within, display])
        dates = (days >= FIRST_DAY) & (days < DAYS_AFTER)
        require(feature.kind != "date" or bool(np.all(dates)), "a date is out of range")
    return Bins(
        feature=feature, cuts=edges, display=display, levels=levels, pooled=pooled, low=float(low), high=float(high),
        merged=merged, beside=beside, sentinels=read_sentinels(special.sentinels.get(entry["name"], []), feature),
    )  # fmt: skip


def _besides(array: NDArray[Any] | None, cut_ends: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Return the values beside the cuts of each feature; empty where a file has none."""
    if array is None:
        return [np.empty((2, 0)) for _ in cut_ends]
    require(array.shape == (2, cut_ends[-1]), "values beside cuts are missing")
    return np.split(array, cut_ends[:-1], axis=1)


def read_bins(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[Bins, ...]:
    """Return the checked bins of all features."""
    features = manifest["features"]
    require(isinstance(features, list) and 0 < len(features) <= MAX_FEATURES, "it has no features")
    cut_ends = np.cumsum([count_of(f["n_cuts"], MAX_VALUES, "a number of cuts") for f in features])
    display_ends = np.cumsum([count_of(f["n_display"], MAX_VALUES, "a number of bins") for f in features])
    require(cut_ends[-1] == arrays["edges"].size and display_ends[-1] == arrays["display"].size, "bins are missing")
    cuts, displays = np.split(arrays["edges"], cut_ends[:-1]), np.split(arrays["display"], display_ends[:-1])
    besides = _besides(arrays.get(BESIDE), cut_ends)
    special = _Special.read(manifest)
    each = zip(features, cuts, displays, besides, strict=True)
    bins = tuple(_read_bins(*of_feature, special) for of_feature in each)
    require(len({b.feature.name for b in bins}) == len(bins), "feature names are not distinct")
    read_as: dict[str, set[str]] = {}
    for b in bins:  # a month or weekday is part of a date
        kind = b.feature.kind if b.feature.part == "value" else "date"
        read_as.setdefault(b.feature.column, set()).add(kind)
    require(all(len(kinds) == 1 for kinds in read_as.values()), "a column is read in two ways")
    return bins
