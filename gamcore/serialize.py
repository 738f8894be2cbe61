"""Models as `.gamx` files: a ZIP of `manifest.json` and plain `.npy` arrays. No pickle, nothing that can run.

The file is data from outside: sizes are bounded before anything is allocated, every number is checked before a kernel
may see it, and whatever is wrong ends in `ModelFileError`. Members are stored end to end:

    edges.npy    cuts of all number features            offsets by manifest features[j].n_cuts
    display.npy  display values of their bins           features[j].n_display
    scores.npy   refit scores of all terms, (K, sum of sizes)
    counts.npy   training rows a bin, (sum of sizes,)
    intercepts.npy  (K,)

and, where the model has pairs, end to end by pair:

    surfaces.npy (K, pairs SIDE SIDE)   merges.npy (K, sum of size_1 + size_2)   effects.npy (K, sum of
    1 + size_1 + size_2): mean, rows and columns of each surface    cells.npy (2, m): where the cells with training rows
    stand among all cells (sum of size_1 size_2), ascending, and their rows

A model with bands also has the refits on halves of its rows: half_scores, half_intercepts and, with pairs,
half_surfaces, half_merges and half_effects, each as its namesake.

Multi-task trees have, beside edges and display:

    rows.npy     training rows by task and code, absent included, (T, sum of sizes + 1)
    nodes.npy    feature (-1: a leaf), left child, value, weight and gain of all nodes, trees end to end, (5, N)
    ends.npy     where each tree begins, and the end (trees + 1,)      left.npy  codes that go left, bits (N, 32) bytes
    refits.npy   base score, first common tree, rounds kept, own trees and mean score by task, (K, 2 + 3 (T + 1))
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import secrets
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.modelfile import (
    HALF_MEMBERS,
    HALF_PAIR_MEMBERS,
    MEMBERS,
    PAIR_MEMBERS,
    WIDE,
    ModelFileError,
    Saved,
    arrays_of,
    build,
    manifest_of,
    require,
)
from gamcore.taskfile import BYTE_MEMBERS, TASK_MEMBERS, build_tasks, task_arrays, task_manifest
from gamcore.taskmodel import TaskModel

FORMAT: Final = "gamcore-model"
SCHEMA: Final = (1, 3)
MAX_FILE: Final = 512 * 2**20
MAX_MANIFEST: Final = 16 * 2**20
MAX_DEPTH: Final = 32
PAIRED: Final = (*MEMBERS, *PAIR_MEMBERS)
CONTENTS: Final = (
    MEMBERS,
    PAIRED,
    (*MEMBERS, *HALF_MEMBERS),
    (*PAIRED, *HALF_MEMBERS, *HALF_PAIR_MEMBERS),
    TASK_MEMBERS,
)
"""Arrays of an additive model, of one with pairs, of both with bands, and of multi-task trees."""


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
    arrays = task_arrays(model) if isinstance(model, TaskModel) else arrays_of(model)
    members = {f"arrays/{name}.npy": _npy(array, _type(name)) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "schema": list(SCHEMA),
        "members": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in members.items()
        },
        **(task_manifest(saved, model) if isinstance(model, TaskModel) else manifest_of(saved, model)),
    }
    text = json.dumps(manifest, allow_nan=False, ensure_ascii=False, indent=1).encode()
    if len(text) > MAX_MANIFEST:
        raise ModelFileError("The names of the model's levels take more than 16 MiB: shorten them, or drop a column.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("manifest.json"), text)
        for name, data in members.items():
            archive.writestr(_entry(name), data)
    if out.tell() > MAX_FILE:
        raise ModelFileError(
            f"The model would take {out.tell():,} bytes, more than {MAX_FILE:,} of a file: use fewer pairs or rounds."
        )
    return out.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # no clock in the file: same model, same bytes


def _type(name: str) -> np.dtype[Any]:
    """What the numbers of an array are kept as."""
    return np.dtype(np.uint8 if name in BYTE_MEMBERS else np.float64)


def _npy(array: NDArray[Any], kept: np.dtype[Any]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array, kept), allow_pickle=False)
    return out.getvalue()


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
            names = next(names for names in CONTENTS if _files(names) == set(sizes))
            arrays = {name: _read_array(archive, manifest, name, sizes) for name in names}
        return build_tasks(manifest, arrays) if names == TASK_MEMBERS else build(manifest, arrays)
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        raise ModelFileError(f"This is not a whole .gamx model file: {error}.") from error
    except Exception as error:  # a hostile file reaches many corners of zipfile, json and numpy
        raise ModelFileError(f"The model file is damaged: {type(error).__name__}: {str(error)[:200]}.") from error


def _files(names: tuple[str, ...]) -> set[str]:
    """The members of a file with these arrays."""
    return {"manifest.json", *[f"arrays/{name}.npy" for name in names]}


def _check_entries(archive: zipfile.ZipFile) -> dict[str, int]:
    """Exactly the expected members, plain, and small enough to open."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    known = len(names) == len(set(names)) and set(names) in [_files(content) for content in CONTENTS]
    require(known, "its members are not those of a model")
    for entry in entries:
        require(not entry.is_dir() and not entry.flag_bits & 1, f"{entry.filename} is a folder or encrypted")
        require(entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), "its compression is not known")
        require(entry.file_size <= 100 * max(entry.compress_size, 1), f"{entry.filename} expands too much")
    require(sum(entry.file_size for entry in entries) <= MAX_FILE, "it is too large")
    require(archive.getinfo("manifest.json").file_size <= MAX_MANIFEST, "its manifest is too large")
    return {entry.filename: entry.file_size for entry in entries}


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member's bytes, never more than its entry says: a forged entry must not unpack without end."""
    limit = archive.getinfo(name).file_size
    parts, size = [], 0
    with archive.open(name) as stream:
        while part := stream.read(2**20):
            size += len(part)
            require(size <= limit, f"{name} is longer than it says")
            parts.append(part)
    return b"".join(parts)


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    text = _read_member(archive, "manifest.json").decode("utf-8")
    require(_depth(text) <= MAX_DEPTH, "its manifest is nested too deeply")
    manifest = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    require(isinstance(manifest, dict) and manifest.get("format") == FORMAT, "it is not a gamcore model")
    schema = manifest["schema"]
    require(isinstance(schema, list) and len(schema) == 2 and all(type(n) is int for n in schema), "no schema number")
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
    require(len(found) == len(pairs), "a name occurs twice in its manifest")
    return found


def _read_array(archive: zipfile.ZipFile, manifest: dict[str, Any], name: str, sizes: dict[str, int]) -> NDArray[Any]:
    member = f"arrays/{name}.npy"
    data = _read_member(archive, member)
    told = manifest["members"][member]
    require(told["bytes"] == len(data) == sizes[member], f"{member} has the wrong length")
    require(hashlib.sha256(data).hexdigest() == told["sha256"], f"{member} does not match its checksum")
    stream = io.BytesIO(data)
    require(np.lib.format.read_magic(stream) == (1, 0), f"{member} is not a plain array")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    n_dims, expected = 2 if name in WIDE else 1, _type(name)
    require(dtype == expected and not fortran and len(shape) == n_dims, f"{member} has the wrong type or shape")
    require(all(side >= 0 for side in shape), f"{member} has a negative side")
    require(math.prod(shape) * expected.itemsize == len(data) - stream.tell(), f"{member} has the wrong size")
    return np.frombuffer(data, expected, offset=stream.tell()).reshape(shape).copy()
