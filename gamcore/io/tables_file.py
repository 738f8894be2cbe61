"""Kept counts as files: a ZIP of plain arrays, as `numpy.savez_compressed` writes it. No pickle, no executable content.

    about      JSON: the features, the scale and the deal
    edges, display   as in a `.gamx` file
    weight, target   sums per group and code of all features, end to end (G, sum of codes); group (G, 3)
    pair_J_M   rows (units of weight) per group and cell of features J < M, (G, codes of J, codes of M)

What an add relies on is checked when a file is read: shapes, ranges, and that the cells of every pair have the sums of
both their features.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import zipfile
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import MOST_COUNTED, block, empty_tables
from gamcore.boosting.counts.whole_numbers import EXACT_BITS, Scale
from gamcore.boosting.updating.origin import MOST_BYTES, Origin
from gamcore.boosting.updating.tables import KeptTables
from gamcore.common.types import Floats
from gamcore.io.checks import ModelFileError, require
from gamcore.io.manifest import read_given
from gamcore.io.manifest_bins import bins_entry, count_of, describe, edge_arrays, read_bins
from gamcore.io.whole_files import written_whole
from gamcore.kernels.tables import Tables

FORMAT: Final = "gamcore-tables"
SCHEMA: Final = 1
MOST_ROWS: Final = 2**40
MOST_GROUPS: Final = 4096
MOST_ABOUT: Final = 16 * 2**20


def save_tables(tables: KeptTables, path: str | os.PathLike[str]) -> None:
    """Write kept counts to a file, whole or not at all. They are as personal as the rows: see `KeptTables`."""
    origin, whole = tables.origin, tables.whole
    about = {
        "format": FORMAT, "schema": SCHEMA, "n_rows": tables.n_rows, "squared_weight": tables.squared_weight,
        "scale": list(origin.scale), "centre": origin.centre, "spread": origin.spread, "weight_by": origin.weight_by,
        "seed": origin.seed, "n_groups": origin.n_groups, "given": list(origin.given),
        "features": [describe(bins) for bins in origin.bins], **bins_entry(origin.bins),
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {
        "about": np.frombuffer(json.dumps(about, allow_nan=False).encode(), np.uint8),
        **edge_arrays(origin.bins),
        "weight": _by_code(origin, whole, whole.weight),
        "target": _by_code(origin, whole, whole.target),
        "group": whole.group,
    }
    for j, m in itertools.combinations(origin.counted.tolist(), 2):
        lines = block(whole, origin.last, j, m)[:, :, : int(origin.last[m]) + 1]
        cells = np.diff(lines, axis=0, prepend=np.zeros_like(lines[:1]))  # wraps back where it wrapped
        arrays[f"pair_{j}_{m}"] = np.ascontiguousarray(cells.transpose(1, 0, 2))
    with written_whole(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_tables(path: str | os.PathLike[str]) -> KeptTables:
    """Read kept counts from a file; raise ModelFileError, which names the fault, if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
        require(total <= 2 * MOST_BYTES, "it is too large")
        with np.load(path, allow_pickle=False) as arrays:
            return _build(arrays)
    except ModelFileError:
        raise
    except (OSError, zipfile.BadZipFile) as error:
        _refuse(f"The file of counts cannot be read: {error}.", error)
    except Exception as error:  # a malicious file can raise almost any error in zipfile, json and numpy
        _refuse(f"The file of counts is damaged: {type(error).__name__}: {str(error)[:200]}.", error)


def _refuse(message: str, error: Exception) -> NoReturn:
    raise ModelFileError(message) from error


def _build(arrays: Any) -> KeptTables:
    """Return the checked counts of a file."""
    text = arrays["about"]
    require(text.dtype == np.uint8 and text.ndim == 1 and text.size <= MOST_ABOUT, "it does not say what it is")
    about = json.loads(text.tobytes())
    require(isinstance(about, dict) and about.get("format") == FORMAT, "it is not a file of counts")
    if about["schema"] != SCHEMA:
        raise ModelFileError(f"The counts have schema {about['schema']}, and this version reads {SCHEMA}: update it.")
    bins = read_bins(about, {name: _numbers(arrays, name) for name in ("edges", "display")})
    unit, exact, is_weighted = about["scale"]
    for scale in (unit, exact, about["spread"], about["weight_by"]):
        require(type(scale) is float and math.isfinite(scale) and scale > 0, "a scale is not a number above 0")
    require(type(is_weighted) is bool and math.isfinite(about["centre"]), "its scale is not complete")
    origin = Origin(
        bins, Scale(unit, exact, is_weighted), float(about["centre"]), spread=about["spread"],
        weight_by=about["weight_by"], seed=count_of(about["seed"], 2**63, "the seed"),
        n_groups=count_of(about["n_groups"], MOST_GROUPS, "the number of groups"), given=read_given(about),
    )  # fmt: skip
    n_rows = count_of(about["n_rows"], MOST_ROWS, "the number of rows")
    require(math.isfinite(about["squared_weight"]) and about["squared_weight"] >= 0, "its weights are not numbers")
    return KeptTables(origin, _read_whole(origin, arrays), n_rows, float(about["squared_weight"]))


def _read_whole(origin: Origin, arrays: Any) -> Tables:
    """Return the counts in both orders of each pair."""
    sizes = (origin.last + 1).tolist()
    needed = origin.n_groups * sum(a * b for a, b in itertools.permutations(sizes, 2)) * 2
    require(origin.n_groups > 0 and needed <= 2 * MOST_BYTES, "it has too many cells")
    weight, target, group = (_numbers(arrays, name) for name in ("weight", "target", "group"))
    shape = (origin.n_groups, sum(sizes))
    require(weight.shape == target.shape == shape and group.shape == (origin.n_groups, 3), "a sum is missing")
    require(float(weight.min(initial=0.0)) >= 0, "a count is below 0")
    weights = np.split(weight, np.cumsum(sizes)[:-1], axis=1)
    is_wide = np.array([sums.max(initial=0.0) > MOST_COUNTED for sums in weights]) | origin.scale.is_weighted
    tables = empty_tables(origin.last, origin.counted, origin.n_groups, is_wide, origin.scale)
    targets = np.split(target, np.cumsum(sizes)[:-1], axis=1)
    for j, (of_weight, of_target) in enumerate(zip(weights, targets, strict=True)):
        for sums, read in ((tables.weight, of_weight), (tables.target, of_target)):
            sums[tables.place[j] : tables.place[j + 1]].reshape(origin.n_groups, -1)[:, : sizes[j]] = read
    for j, m in itertools.combinations(origin.counted.tolist(), 2):
        cells = arrays[f"pair_{j}_{m}"]
        right = cells.dtype in (np.uint16, np.int32) and cells.shape == (origin.n_groups, sizes[j], sizes[m])
        require(right, f"the cells of features {j} and {m} are not counts")
        sums_fit = all(np.array_equal(cells.sum(axis=axis, dtype=np.float64), weights[feature])
                       for axis, feature in ((2, j), (1, m)))  # fmt: skip
        require(sums_fit and int(cells.min(initial=0)) >= 0, f"the cells of features {j} and {m} do not add up")
        block(tables, origin.last, j, m)[:, :, : sizes[m]] = np.cumsum(cells, axis=1, dtype=np.int64).transpose(1, 0, 2)
        block(tables, origin.last, m, j)[:, :, : sizes[j]] = np.cumsum(cells, axis=2, dtype=np.int64).transpose(2, 0, 1)
    tables.group[:] = group
    return tables


def _by_code(origin: Origin, whole: Tables, sums: Floats) -> Floats:
    """Return sums per group and code of all features, end to end."""
    lines = [
        sums[whole.place[j] : whole.place[j + 1]].reshape(origin.n_groups, -1)[:, : int(last) + 1]
        for j, last in enumerate(origin.last)
    ]
    return np.concatenate(lines, axis=1)


def _numbers(arrays: Any, name: str) -> Floats:
    """Return an array of finite numbers in the range of exact sums (of others, of float64)."""
    values = arrays[name]
    most = np.inf if name in ("edges", "display") else 2.0 ** (EXACT_BITS + 1)
    require(values.dtype == np.float64 and bool((np.abs(values) < most).all()), f"{name} is not made of numbers")
    return np.asarray(values)
