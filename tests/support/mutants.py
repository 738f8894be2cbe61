"""Seeded mutations of model files at every level: bytes, the ZIP around them, the manifest, the arrays.

Changes of the manifest and of arrays come with correct checksums, so that they reach the checks behind them.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support import golden

Change = Callable[[random.Random, bytes], bytes]
Parts = tuple[dict[str, Any], dict[str, bytes]]

RAW = "@raw@"
"""Before texts that go into the manifest without quotes: what a writer of JSON would never write."""
TOKENS = (
    "NaN", "-Infinity", "1e999", "-1e999", "1e-999", "9" * 400, "9" * 5000, '"\\ud800"', "[" * 40 + "]" * 40, "01", "",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 255, 2**31, 2**53, 2**63, -(2**63) - 1, 10**30, 0.0, -0.0, 0.5, 1e200, 1e300,
    -1e300, 5e-324, 719_163, -719_163, -2_900_000, 2_932_999, "", "a", "../x", "value", "month", "date", "category",
    "number", "boolean", "squared", "logistic", "regressor", "multitask_regressor", "x" * 70_000, "\0", "\u202e", "1",
    "01", [], {}, [[]], [None], [0], [0, 1], ["a", "a"], [0.5, 1], {"a": 1}, list(range(3000)), [[0] * 50] * 50,
)  # fmt: skip
FLOATS = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 63.0, 64.0, 254.0, 255.0, 256.0, 1e3, 1e9, 2.0**31,
    2.0**53, 2.0**63, 1e15, 1e16, 1e199, -1e199, 1e200, 1e201, 1e308, -1e308, 5e-324, 719_163.0, -719_163.0,
    -2_900_000.0,
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 12, 20, 0x800, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF)
NAMES = (
    "../x", "/etc/x", "manifest.json/", "MANIFEST.JSON", "arrays/x.npy", "a\0b", "x" * 65_000, "", "arrays\\x.npy",
)  # fmt: skip


def take_apart(data: bytes) -> Parts:
    """Return the manifest and members of an intact file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("manifest.json")), members


def to_text(manifest: Any) -> bytes:
    """Return a manifest as JSON, with raw texts inserted where it asks for them."""
    text = json.dumps(manifest)
    for token in TOKENS:
        text = text.replace(json.dumps(RAW + token), token)
    return text.encode()


def put_together(manifest: Any, members: dict[str, bytes]) -> bytes:
    """Return a file of these, with correct checksums where the manifest has a place for them."""
    if isinstance(manifest, dict) and isinstance(told := manifest.get("members"), dict):
        for name in set(told) & set(members):
            if isinstance(told[name], dict) and {"sha256", "bytes"} <= set(told[name]):
                told[name] = {"sha256": hashlib.sha256(members[name]).hexdigest(), "bytes": len(members[name])}
    text = manifest if isinstance(manifest, bytes) else to_text(manifest)
    return pack([("manifest.json", text), *members.items()])


def pack(members: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a ZIP of these, duplicates included."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            entry = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name or "x")
            entry.compress_type = method
            if entry.filename in archive.NameToInfo:
                del archive.NameToInfo[entry.filename]  # or it would warn of the duplicate
            archive.writestr(entry, data)
    return out.getvalue()


# Bytes


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """Change bytes of the file, half the time near its end, where the directory is."""
    found = bytearray(data)
    low = max(len(found) - 1500, 0) if rng.random() < 0.5 else 0
    at, until = sorted(rng.randrange(low, len(found)) for _ in range(2))
    kind = rng.randrange(6)
    if kind == 0:
        for _ in range(rng.choice([1, 1, 4, 40])):
            found[rng.randrange(low, len(found))] = rng.randrange(256)
    elif kind == 1:
        del found[at:]
    elif kind == 2:
        del found[at : min(until, at + 64)]
    elif kind == 3:
        found[at:at] = found[at:until][: rng.choice([1, 30, 5000])]
    elif kind == 4:
        found[at:at] = rng.randbytes(rng.choice([1, 4, 100]))
    else:
        found[at:until] = bytes(until - at)
    return bytes(found)


# The ZIP


def change_record(rng: random.Random, data: bytes) -> bytes:
    """Change a field of the end record, of a directory entry or of a member's own header."""
    mark, length = rng.choice([(b"PK\x05\x06", 22), (b"PK\x01\x02", 46), (b"PK\x01\x02", 46), (b"PK\x03\x04", 30)])
    places = [at for at in range(len(data)) if data.startswith(mark, at)]
    at = rng.choice(places) + rng.randrange(4, length - 1)
    width = rng.choice([1, 2, 4])
    number = rng.choice([*NUMBERS, rng.getrandbits(32)]) & (2 ** (8 * width) - 1)
    return data[:at] + number.to_bytes(width, "little") + data[at + width :]


def change_members(rng: random.Random, data: bytes) -> bytes:
    """Duplicate, rename, drop or add members, mark them as links, or give them extra fields, comments or methods."""
    manifest, members = take_apart(data)
    listed: list[tuple[Any, bytes]] = [("manifest.json", to_text(manifest)), *members.items()]
    method = zipfile.ZIP_STORED
    k = rng.randrange(len(listed))
    entry = zipfile.ZipInfo(listed[k][0])
    kind = rng.randrange(9)
    if kind == 0:
        listed.append((listed[k][0], listed[rng.randrange(len(listed))][1]))
    elif kind == 1:
        listed[k] = (rng.choice(NAMES), listed[k][1])
    elif kind == 2:
        del listed[k]
    elif kind == 3:
        listed += [(f"{rng.choice(NAMES)}{n}", b"x") for n in range(rng.choice([1, 60, 300]))]
    elif kind == 4:
        entry.external_attr = rng.choice([0o120777 << 16, 0o040755 << 16, 0o010600 << 16, 0x10, 0o060600 << 16])
    elif kind == 5:
        large = struct.pack("<HHQQ", 1, 16, 2**60, 2**60)
        entry.extra = rng.choice([large, b"\1\0\xff\xff", b"up\4\0abcd", bytes(60_000)])
    elif kind == 6:
        entry.comment = rng.randbytes(rng.choice([1, 60_000]))
    elif kind == 7:
        method = rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    else:
        rng.shuffle(listed)
    if kind in (4, 5, 6):
        listed[k] = (entry, listed[k][1])
    made = pack(listed, method)
    if kind == 4 or rng.random() > 0.2:
        return made
    return rng.choice([made[:-2] + b"\5\0hello", b"MZ" + made, made + bytes(30), pack([("m.gamx", made)])])


def add_bomb(rng: random.Random, data: bytes) -> bytes:
    """Add members that unpack to far more than they take, some with a false size, some within another ZIP."""
    manifest, members = take_apart(data)
    name = rng.choice(["manifest.json", *members])
    size = rng.choice([10**5, 10**6, 3 * 10**6, 2 * 10**7])
    filler = rng.choice([b"\0", b" ", b"[],", b'"a",', rng.randbytes(99)])
    bomb = (filler * (size // len(filler) + 1))[:size]
    if rng.random() < 0.2:
        bomb = pack([("arrays/scores.npy", bomb)], zipfile.ZIP_DEFLATED)
    listed = {"manifest.json": to_text(manifest), **members}
    if name == "manifest.json" and rng.random() < 0.7:
        listed[name] = b'{"x": [' + bomb.strip(b",") + b"], " + listed[name].lstrip()[1:]
    else:
        listed[name] += bomb
    made = bytearray(pack(list(listed.items()), zipfile.ZIP_DEFLATED))
    if rng.random() < 0.5:  # the directory entry declares another size
        at = made.rfind(name.encode()) - 46
        made[at + 24 : at + 28] = rng.choice([0, 100, 10**5, len(members.get(name, b"x")), 2**31]).to_bytes(4, "little")
    return bytes(made)


# The manifest


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values within a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inside for found in [(*path, key), *places(one, (*path, key))]]


def at_place(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at the end of a path."""
    for key in path:
        value = value[key]
    return value


def change_value(rng: random.Random, manifest: dict[str, Any]) -> None:
    """Remove, duplicate, reorder, alter or replace one value of a manifest."""
    found = [path for path in places(manifest) if path[0] != "members" or rng.random() < 0.1]
    *way, key = rng.choice(found)
    holder = at_place(manifest, tuple(way))
    kind = rng.random()
    if kind < 0.12:
        del holder[key]
    elif kind < 0.25:
        holder[key] = copy.deepcopy(at_place(manifest, rng.choice(found)))
    elif kind < 0.35 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[rng.randrange(len(holder))]))
    elif kind < 0.42 and isinstance(holder, list):
        rng.shuffle(holder)
    elif kind < 0.5 and isinstance(holder[key], int | float):
        holder[key] += rng.choice([1, -1, 0.5, -holder[key] * 2])
    elif kind < 0.65:
        holder[key] = RAW + rng.choice(TOKENS)
    elif kind < 0.7 and isinstance(holder, dict):
        holder[rng.choice(["required", "optional", "schema", "x"])] = holder.pop(key)
    else:
        holder[key] = copy.deepcopy(rng.choice(VALUES))


def change_manifest(rng: random.Random, data: bytes) -> bytes:
    """Change one to three values of the manifest."""
    manifest, members = take_apart(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change_value(rng, manifest)
    return put_together(manifest, members)


def change_text(rng: random.Random, data: bytes) -> bytes:
    """Change the manifest as text: duplicate names, nesting, other encodings, no object, another schema's fields."""
    manifest, members = take_apart(data)
    text = to_text(manifest)
    kind = rng.randrange(7)
    if kind == 0:
        text = b'{"kind": "regressor", ' + text[1:]
    elif kind == 1:
        depth = rng.choice([20, 40, 5000, 100_000])
        text = b'{"x": ' + b"[" * depth + b"]" * depth + b", " + text[1:]
    elif kind == 2:
        text = text.decode().encode(rng.choice(["utf-16", "utf-32", "utf-8-sig"]))
    elif kind == 3:
        text = rng.choice([b"", b"null", b"[]", b"7", b'"x"', b"9" * 10_000, b"\xff\xfe", text * 2, b"{" * 100_000])
    elif kind == 4:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice([b"\\", b'"', b"{", b"}", b",", b"\\ud800", b"\0", b"\xff"]) + text[at:]
    elif kind == 5:
        filler = rng.choice([b"[]", b"{}", b"1", b'"a"', b"123456", '"\U0001f600"'.encode()])
        text = b'{"x": [' + b",".join([filler] * rng.choice([10_000, 100_000])) + b"], " + text[1:]
    else:
        schema = rng.choice([[1, 9], [1, 4], [2, 0], [0, 9], [1, -1], [1, 10**30], [1, 0]])
        asked = rng.choice([["splines"], ["kind"], ["arrays/scores.npy"], "x", [1]])
        text = to_text({**manifest, "schema": schema, rng.choice(["required", "optional"]): asked})
    return put_together(text, members)


# Arrays


def npy(array: np.ndarray) -> bytes:
    """Return an array as its member holds it."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def header_of(rng: random.Random, array: np.ndarray) -> bytes:
    """Return a header with a false type, order, shape or version."""
    shape = rng.choice([
        array.shape, array.shape[::-1], (-1,), (10**12,), (2**63,), (0,), (10**9, 10**9), (0, 10**9), (), (1.0,),
        ((1,),), (array.size,), (True, array.size), (array.size, 1), (1, array.size), (2**64, 0),
        (len(array) - 1, *array.shape[1:]),
    ])  # fmt: skip
    kinds = ["<f8", "|O", "<f4", ">f8", "|u1", "<i8", "<U4", "|V8", "<c16", "<M8[D]", [("a", "<f8")], "O", "<f8 "]
    kind, fortran = rng.choice([array.dtype.str, rng.choice(kinds)]), rng.choice([False, False, True, 0, None])
    text = rng.choice([
        repr({"descr": kind, "fortran_order": fortran, "shape": shape, **rng.choice([{}, {}, {"x": 1}])}),
        repr({"descr": kind, "shape": shape}), "__import__('os').system('true')", "(" * 9000, "", "x" * 60_000,
        f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {shape} + (lambda: ())(), }}",
    ])  # fmt: skip
    head = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
    version = rng.choice([b"\1\0"] * 6 + [b"\2\0", b"\3\0", b"\xff\0"])
    length = rng.choice([len(head)] * 6 + [0, 65_535, len(head) + 1]).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + length + head


def number_for(dtype: np.dtype, value: float) -> np.generic:
    """Return a number as an array of a type holds it: integers wrap, or end at their own limits."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(value).astype(dtype)[()]


def change_numbers(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Change the numbers, their order or the shape."""
    found = array.copy()
    kind = rng.randrange(9 if found.size else 1)
    if kind == 0:
        return np.concatenate([found, found[..., : rng.choice([1, 3])]], axis=-1)
    if kind == 1:
        return np.ascontiguousarray(found[..., : rng.randrange(found.shape[-1])])
    if kind == 2:
        others = [found[::-1], found[..., ::-1], found.T, found.reshape(-1), found[None]]
        return np.ascontiguousarray(rng.choice(others))
    if kind == 3:
        return found.astype(rng.choice([np.float32, np.int64, np.uint8, ">f8", np.complex128]))
    for _ in range(rng.choice([1, 1, 2, 10])):
        at = rng.randrange(found.size)
        if kind == 4:
            found.flat[at] = found.flat[rng.randrange(found.size)]
        elif kind == 5 and found.dtype != np.uint8:
            found.flat[at] += rng.choice([1, -1, 0.5, 2, -2])
        elif found.dtype == np.uint8:
            found.flat[at] = rng.randrange(256)
        elif kind == 6:
            found[(*[slice(None)] * (found.ndim - 1), rng.randrange(found.shape[-1]))] = number_for(
                found.dtype, rng.choice(FLOATS)
            )
        else:
            found.flat[at] = number_for(found.dtype, rng.choice(FLOATS))
    return found


def change_arrays(rng: random.Random, data: bytes) -> bytes:
    """Change the numbers or the headers of one to three arrays."""
    manifest, members = take_apart(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name = rng.choice(list(members))
        array = np.load(io.BytesIO(members[name]))
        if rng.random() < 0.12:
            members[name] = header_of(rng, array) + rng.choice([array.tobytes(), b"", bytes(64)])
            break
        members[name] = npy(change_numbers(rng, array))
    if rng.random() < 0.2:
        change_value(rng, manifest)
    return put_together(manifest, members)


# Parameters


def odd_values(rng: random.Random) -> Any:
    """Return a value that is invalid or unusual for a parameter."""
    return rng.choice([
        *VALUES, 65, 64, 63, 5000, 1000, 10_000, 100_000, 10**9, 2**62, -5, -1.0, 30.0, 1.0000001, 0.999, 1e-300, 1.5,
        "auto", "infer", "grouped", "subagging", "bagging", "mst", "mask", "refined", "rss", "mart", "entropy", "all",
        [[0, 1]], [[0, 0]], [[1, 0], [0, 1]], [["x", "y"]], [[0, 99]], ["x"], RAW + "1e999", RAW + "9" * 400,
    ])  # fmt: skip


def change_parameters(rng: random.Random, data: bytes) -> bytes:
    """Change one to four parameters of the estimator, which its methods would compute with; checksums are correct."""
    manifest, members = take_apart(data)
    parameters = manifest["about"].setdefault("parameters", {})
    for _ in range(rng.choice([1, 1, 2, 4])):
        name = rng.choice([*parameters, "boosting", "coarse_leaves", "max_leaves", "smoothing_rounds", "criterion"])
        parameters[name] = copy.deepcopy(odd_values(rng))
    if rng.random() < 0.1:
        manifest["about"]["parameters"] = copy.deepcopy(odd_values(rng))
    return put_together(manifest, members)


LEVELS: dict[str, tuple[Change, int]] = {
    "bytes": (change_bytes, 3), "records": (change_record, 3), "members": (change_members, 3), "bombs": (add_bomb, 2),
    "manifest": (change_manifest, 10), "text": (change_text, 2), "arrays": (change_arrays, 10),
    "parameters": (change_parameters, 10),
}  # fmt: skip


def mutant(seed: int, number: int, levels: Sequence[str] = tuple(LEVELS)) -> tuple[str, str, bytes]:
    """Return the golden file that a mutant is made of, the level at which it was changed, and its bytes."""
    rng = random.Random(f"{seed} {number}")
    name = rng.choice(golden.NAMES)
    (level,) = rng.choices(levels, [LEVELS[level][1] for level in levels])
    return name, level, LEVELS[level][0](rng, golden.read(name))
