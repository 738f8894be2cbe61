"""Models as `.gamx` files: a ZIP of `manifest.json` and plain `.npy` arrays. No pickle, no executable content.

Files are not trusted: sizes are bounded before anything is allocated, every number is checked before it reaches a
kernel, and every fault raises `ModelFileError`. Arrays of features and terms are concatenated:

    edges.npy    cuts of all number features            offsets by manifest features[j].n_cuts
    display.npy  display values of their bins           features[j].n_display
    scores.npy   refit scores of all terms, (K, sum of sizes)
    counts.npy   training rows per bin, (sum of sizes,)
    intercepts.npy  (K,)

and, if the model has pairs, concatenated by pair:

    surfaces.npy (K, pairs SIDE SIDE)   merges.npy (K, sum of size_1 + size_2)   effects.npy (K, sum of
    1 + size_1 + size_2): mean, rows and columns of each surface    cells.npy (2, m): indices of the cells with training
    rows among all cells (sum of size_1 size_2), ascending, and their row counts

A model with bands also has its half-sample refits: half_scores, half_intercepts and, with pairs, half_surfaces,
half_merges and half_effects, each laid out like its namesake. If rows have unequal weights, the manifest's `evenness`
says what share of them they are worth; its `shared` says which effects rows show, and curves do not. Any model
has, for sentences about its curves, if they are known:

    beside.npy   the training values next to each cut, below and above, (2, sum of n_cuts)

A model with prediction intervals also has the model of their scale: scale_scores, scale_intercepts, scale_counts; and

    calibration.npy  scores of the calibration rows, ascending within parts of like predictions, their weights, and the
    part (3, m)

or the manifest's `law` of counts, or of amounts that may be 0, given their predictions, and

    levels.npy   levels of the calibration rows in it, laid out alike

These and `beside` are optional members: a reader that does not know them still predicts.

Multi-task trees have, besides edges and display:

    rows.npy     training rows by task and code, absent included, (T, sum of sizes + 1)
    nodes.npy    feature (-1: a leaf), left child, value, weight and gain of all nodes, trees concatenated, (5, N)
    ends.npy     where each tree begins, and the end (trees + 1,)      left.npy  codes that go left, bits (N, 32) bytes
    refits.npy   base score, first common tree, rounds kept, own trees and mean score by task, (K, 2 + 3 (T + 1))

Codes of a column that mean a missing cell are the manifest's `missing_codes`, which such a file requires. Columns of
times with a time zone are its `zoned`, which such a file requires, too.

A model of several classes has the arrays of an additive model, with the refits of each class below those of the one
before, and `bases`, a base score per class, which such a file requires.

Cells of pairs whose scores were drawn, not learnt, are `drawn`, places and scores (2, m), which such a file requires.
A model with triples has its `triples`, their features and the shapes of their tables, and

    grids.npy    scores of each refit, (K, sum of cells); with bands also half_grids
    grid_parts.npy  the part of each code of each feature of each triple    grid_counts.npy  training rows of the cells

which such a file requires, and `sides` and `half_sides`, the bins along an axis of each pair's surfaces where triples
have added to some. Merged bins of the pairs that `smooth` lists, which such a file requires, are fractions: 1.5 is the
mean of what the surface has at 1 and at 2, along either feature.
What additions keep with a model is in the manifest's `additions` and in optional members (`attached`).

A file of a later minor schema is read if possible: unknown fields are ignored, and so are unknown members that
`optional` lists. Everything that `required` lists has to be known, else the file is rejected and its schema named.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.numbers import size
from gamcore.io.attached import attached_names, attached_parts, earlier_fields, with_attached, with_earlier
from gamcore.io.checks import ModelFileError, require
from gamcore.io.manifest import (
    HALF,
    HALF_MEMBERS,
    HALF_PAIR_MEMBERS,
    MEMBERS,
    PAIR_MEMBERS,
    WIDE,
    Saved,
    arrays_of,
    build,
    manifest_of,
)
from gamcore.io.manifest_bins import BESIDE
from gamcore.io.manifest_classes import build_classes, class_arrays, class_manifest
from gamcore.io.manifest_intervals import (
    INTERVAL_MEMBERS,
    LAW_MEMBERS,
    interval_arrays,
    interval_manifest,
    with_intervals,
)
from gamcore.io.manifest_pairs import DRAWN
from gamcore.io.manifest_tasks import BYTE_MEMBERS, TASK_MEMBERS, build_tasks, task_arrays, task_manifest
from gamcore.io.manifest_triples import GRID_MEMBERS, GRIDS
from gamcore.io.whole_files import written_whole
from gamcore.model.classes import ClassesModel
from gamcore.multitask.model import TaskModel

FORMAT: Final = "gamcore-model"
SCHEMA: Final = (1, 3)
MAX_FILE: Final = 512 * 2**20
MAX_MANIFEST: Final = 16 * 2**20
MAX_DEPTH: Final = 32
MAX_MEMBERS: Final = 64
MAX_DIRECTORY: Final = 2**16
SPARE: Final = 2**21
"""Bytes that a small file's manifest may unpack to; all members may unpack to eight times that (`_check_entries`)."""

END: Final = b"PK\x05\x06"  # signature of the record that ends a ZIP, 22 bytes without a comment
FAR: Final = b"PK\x06\x07"  # signature of the 20-byte record before it in a ZIP64, which ours never are
TOKEN: Final = re.compile(r'[\[\]{},]|"[^"]*"?')
MAGIC: Final = b"\x93NUMPY\x01\x00"
HEADER: Final = re.compile(
    rb"\{'descr': '(<f8|\|u1)', 'fortran_order': False, 'shape': \((\d{1,10})(?:,|, (\d{1,10}))\), \} *\n"
)
"""Header that numpy writes before an array. It is matched, not evaluated as numpy does: no content is run as code."""

PAIRED: Final = (*MEMBERS, *PAIR_MEMBERS)
ADDITIVE: Final = (MEMBERS, PAIRED, (*MEMBERS, *HALF_MEMBERS), (*PAIRED, *HALF_MEMBERS, *HALF_PAIR_MEMBERS))
"""Arrays of an additive model, of one with pairs, and of each with bands."""

CONTENTS: Final = (
    *[(*names, *of_intervals) for names in ADDITIVE for of_intervals in ((), INTERVAL_MEMBERS, LAW_MEMBERS)],
    TASK_MEMBERS,
)
"""Those arrays, of each with prediction intervals, and of multi-task trees."""

BESIDES: Final = (BESIDE, DRAWN, GRIDS, *GRID_MEMBERS, HALF + GRIDS)
"""Arrays that any of these may have beside."""

UNDERSTOOD: Final = frozenset({
    "format", "schema", "members", "kind", "loss", "loss_parameters", "classes", "features", "terms", "pairs", "base",
    "bases", "about", "given", "tasks", "task_codes", "owned", "common", "aliases", "additive", "missing_codes",
    "intervals", "law", "evenness", "shared", "signs", "shapes", "merged_levels", "zoned", "sentinels", "ordered",
    "required", "optional", *[f"arrays/{name}.npy" for content in CONTENTS for name in (*content, *BESIDES)],
    "triples", "sides", "half_sides", "smooth",
})  # fmt: skip
"""Manifest fields and members that this version reads: all that a file may list as `required`."""


def save(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Write a model file, whole or not at all."""
    with written_whole(path) as file:
        file.write(to_bytes(saved))


def to_bytes(saved: Saved) -> bytes:
    """Return the file's content."""
    arrays, entries = _parts(saved)
    members = {f"arrays/{name}.npy": _npy(array, _type(name)) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "schema": list(SCHEMA),
        "members": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in members.items()
        },
        **entries,
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
            f"The model would take {size(out.tell())}, more than the {size(MAX_FILE)} allowed: "
            "use fewer pairs or rounds."
        )
    return out.getvalue()


def _parts(saved: Saved) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a model, and its entries in the manifest."""
    model = saved.model
    if isinstance(model, TaskModel):
        return task_arrays(model), task_manifest(saved, model)
    if isinstance(model, ClassesModel):
        return class_arrays(model), class_manifest(saved, model)
    arrays, entries = arrays_of(model), manifest_of(saved, model)
    more = [attached_parts(model)]
    if model.intervals is not None:
        more.insert(0, (interval_manifest(model.intervals), interval_arrays(model.intervals)))
    for of_more, more_arrays in more:
        optional = [*entries.get("optional", []), *of_more.get("optional", [])]
        arrays, entries = arrays | more_arrays, entries | of_more | ({"optional": optional} if optional else {})
    return arrays, entries


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # no clock in the file: same model, same bytes


def _type(name: str) -> np.dtype[Any]:
    """Return the dtype in which an array is stored."""
    return np.dtype(np.uint8 if name in BYTE_MEMBERS else np.float64)


def _npy(array: NDArray[Any], kept: np.dtype[Any]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array, kept), allow_pickle=False)
    return out.getvalue()


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file; raise ModelFileError, which names the fault, if it cannot be read."""
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device might never end
            raise ModelFileError(f"{str(path)[-80:]!r} is not a regular file, so it cannot be a model: choose another.")
        if status.st_size > MAX_FILE:
            raise ModelFileError(f"The model file has {size(status.st_size)}, more than the {size(MAX_FILE)} allowed.")
        with Path(path).open("rb") as file:
            data = file.read(status.st_size + 1)  # bounded, in case the file grows while it is read
    except OSError as error:
        raise ModelFileError(f"The model file cannot be read: {error}.") from error
    return from_bytes(data)


def from_bytes(data: bytes) -> Saved:
    """Read a model from a file's content."""
    try:
        _check_end(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = _check_entries(archive, len(data))
            manifest = _read_manifest(archive)
            names = _contents(manifest, set(sizes))
            arrays = {name: _read_array(archive, manifest, name, sizes) for name in names}
        return _build(manifest, names, arrays)
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        raise ModelFileError(f"This is not a complete .gamx model file: {_as_clause(error)}.") from error
    except KeyError as error:
        raise ModelFileError(f"The model file is damaged: it lacks {_as_clause(error)}.") from error
    except Exception as error:  # a malicious file can raise almost any error in zipfile, json and numpy
        raise ModelFileError(f"The model file is damaged: {type(error).__name__}: {_as_clause(error)}.") from error


def _as_clause(error: Exception) -> str:
    """Return an error's message as part of a sentence, cut: some messages quote the whole file."""
    return " ".join(str(error)[:200].split()).rstrip(".")


def _build(manifest: dict[str, Any], names: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> Saved:
    """Return the model; if a newer schema fails the checks, the error asks for a newer version."""
    try:
        if set(TASK_MEMBERS) <= set(names):
            return build_tasks(manifest, arrays)
        saved = (build_classes if "bases" in manifest else build)(manifest, arrays)
        saved = with_intervals(with_earlier(saved, manifest), manifest, arrays)
        return with_attached(saved, manifest, arrays)
    except Exception as error:
        if manifest["schema"] <= list(SCHEMA):
            raise
        raise _newer(manifest, "other content") from error


def _newer(manifest: dict[str, Any], what: str) -> ModelFileError:
    major, minor = manifest["schema"]
    if manifest["schema"] <= list(SCHEMA):
        return ModelFileError(
            f"The model file has schema {major}.{minor} with {what}, and this installation of gamcore lacks what reads "
            f"it: open it with a gamcore that reads {major}.{minor} and has all additions."
        )
    return ModelFileError(
        f"The model file has schema {major}.{minor} with {what}, and this version reads {SCHEMA[0]}.{SCHEMA[1]}: "
        f"open it with a gamcore that reads {major}.{minor}."
    )


def _files(names: tuple[str, ...]) -> set[str]:
    """Return the members of a file with these arrays."""
    return {"manifest.json", *[f"arrays/{name}.npy" for name in names]}


def _check_end(data: bytes) -> None:
    """Require that the file is one ZIP from first to last byte, with a short directory.

    `zipfile` creates an object per entry before the entries can be counted.
    """
    end, before = data[-22:], data[-42:-38]
    whole = len(end) == 22 and end[:4] == END and end[20:] == b"\0\0" and before != FAR
    size, offset = (int.from_bytes(end[place : place + 4], "little") for place in (12, 16))
    if not whole or size + offset + 22 != len(data):
        raise zipfile.BadZipFile("File is not a zip file, or has something before or after it")
    require(size <= MAX_DIRECTORY, "it has too many members")


def _check_entries(archive: zipfile.ZipFile, n_bytes: int) -> dict[str, int]:
    """Return the members' sizes; require few plain members that are small enough to open.

    A file may unpack to 16 MiB plus twice its size. Reading takes up to four times that: at most 64 MiB plus eight
    times the file.
    """
    entries = archive.infolist()
    sizes = {entry.filename: entry.file_size for entry in entries}
    require(len(sizes) == len(entries) <= MAX_MEMBERS, "it has a duplicate member, or too many")
    require("manifest.json" in sizes, "its members are not those of a model")
    for entry in entries:
        plain = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
        require(plain and not entry.is_dir(), f"{entry.filename[:80]!r} is not a plain file")
        require(not entry.flag_bits & 1, f"{entry.filename[:80]!r} is encrypted")
        require(entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), "its compression method is unknown")
        require(entry.file_size <= 100 * max(entry.compress_size, 1), f"{entry.filename[:80]!r} expands too much")
    total = sum(sizes.values())
    require(total <= MAX_FILE, "it is too large")
    require(total <= 8 * SPARE + 2 * n_bytes, "it expands too much: save the model again, without compression")
    require(sizes["manifest.json"] <= min(MAX_MANIFEST, SPARE + 2 * n_bytes), "its manifest is too large")
    return sizes


def _contents(manifest: dict[str, Any], members: set[str]) -> tuple[str, ...]:
    """Return the names of a file's arrays; unknown members that the manifest lists as optional are ignored."""
    required, optional = (manifest.get(key, []) for key in ("required", "optional"))
    lists = all(isinstance(listed, list) and all(isinstance(n, str) for n in listed) for listed in (required, optional))
    require(lists, "its requirements are not a list of names")
    unknown = [name for name in required if name not in UNDERSTOOD]
    if set(unknown) - set(earlier_fields() if unknown else ()):
        raise _newer(manifest, f"{unknown[0][:80]!r}, which has to be read")
    attached = attached_names(manifest)
    kept = {name for name in members if name in UNDERSTOOD or name not in optional or name == "manifest.json"}
    more = (*[name for name in BESIDES if _files((name,)) <= kept], *attached)
    for names in CONTENTS:
        if _files((*names, *more)) == kept | _files(attached):
            require(_files(attached) <= members, "it lacks an array of an addition")
            return (*names, *more)
    if manifest["schema"] > list(SCHEMA):
        raise _newer(manifest, "other members")
    raise ModelFileError("The model file is damaged: its members are not those of a model.")


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member's bytes, never more than its entry states: a forged entry must not unpack without end."""
    limit = archive.getinfo(name).file_size
    parts, size = [], 0
    with archive.open(name) as stream:
        while part := stream.read(2**20):
            size += len(part)
            require(size <= limit, f"{name} is longer than declared")
            parts.append(part)
    return b"".join(parts)


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    text = _read_member(archive, "manifest.json").decode("utf-8")
    _check_extent(text)
    manifest = json.loads(text, parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    require(isinstance(manifest, dict) and manifest.get("format") == FORMAT, "it is not a gamcore model")
    schema = manifest["schema"]
    fine = isinstance(schema, list) and len(schema) == 2 and all(type(n) is int and 0 <= n < 2**16 for n in schema)
    require(fine, "it has no schema version")
    if schema[0] != SCHEMA[0]:
        raise ModelFileError(
            f"The model file has schema {schema[0]}.{schema[1]}, and this version reads {SCHEMA[0]}.x: update gamcore."
        )
    if "\\u" in text:  # escapes can spell lone surrogates, which cannot be encoded
        json.dumps(manifest, ensure_ascii=False).encode("utf-8")
    return dict(manifest)


def _check_extent(text: str) -> None:
    """Require shallow nesting and few values, counted without recursion and without copying the values."""
    bare = text.replace("\\\\", "").replace('\\"', "")  # so that every quotation mark begins or ends a text
    # A value takes about 70 bytes in memory, however short its text; ours have more than 8 characters each.
    most = 2**16 + len(text) // 8
    depth = n_values = n_texts = 0
    for token in TOKEN.finditer(bare):
        char = bare[token.start()]
        depth += (char in "[{") - (char in "]}")
        n_values += char in "[{,"
        n_texts += char == '"'
        require(depth <= MAX_DEPTH, "its manifest is nested too deeply")
        require(n_values <= most and n_texts <= 2 * most, "its manifest has too many values")


def _finite(text: str) -> float:
    """Return a finite number: Python reads the valid JSON number 1e999 as infinity."""
    number = float(text)
    require(math.isfinite(number), "a number in its manifest is not finite")
    return number


def _no_constant(name: str) -> None:
    raise ModelFileError(f"The model file is damaged: its manifest holds {name}.")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    require(len(members) == len(pairs), "a name occurs twice in its manifest")
    return members


def _read_array(archive: zipfile.ZipFile, manifest: dict[str, Any], name: str, sizes: dict[str, int]) -> NDArray[Any]:
    member = f"arrays/{name}.npy"
    data = _read_member(archive, member)
    entry = manifest["members"][member]
    require(entry["bytes"] == len(data) == sizes[member], f"{member} has the wrong length")
    require(hashlib.sha256(data).hexdigest() == entry["sha256"], f"{member} does not match its checksum")
    begin = len(MAGIC) + 2
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    header = HEADER.fullmatch(data[begin:end])
    if not data.startswith(MAGIC) or header is None:
        raise ModelFileError(f"The model file is damaged: {member} is not a plain array.")
    shape = tuple(int(side) for side in header.groups()[1:] if side is not None)
    n_dims, expected = (1, 2) if "." in name else (2 if name in WIDE else 1,), _type(name)  # of additions: either
    require(header[1].decode() == expected.str and len(shape) in n_dims, f"{member} has the wrong type or shape")
    require(math.prod(shape) * expected.itemsize == len(data) - end, f"{member} has the wrong size")
    return np.frombuffer(data, expected, offset=end).reshape(shape).copy()
