"""What each part of a thing is, by its name, and how to see whether it is that."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gamcore.common.types import Floats
from gamcore.io import gamx
from gamcore.io.checks import ModelFileError
from gamcore.io.tables_file import load_tables


def read_expected(path: Path) -> Floats:
    """Return what was expected of each row (n,); ValueError if the file holds no such numbers."""
    array = _read_array(path)
    if array.ndim != 1:
        raise ValueError("it is no column")
    return array


def read_unseen(path: Path) -> Floats:
    """Return what is said of each row by a model that has not seen it (2 + k, n); ValueError if the file holds no such
    numbers."""
    array = _read_array(path)
    if array.ndim != 2 or len(array) < 2:
        raise ValueError("it is no table of numbers")
    return array


def _read_array(path: Path) -> Floats:
    with path.open("rb") as file:  # of an archive, NumPy would return something else
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False), np.float64)


def _read_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        archive.getinfo("[Content_Types].xml")


READERS: Final[dict[tuple[str, str], Callable[[Path], object]]] = {
    ("models", "model"): gamx.load, ("models", "tables"): load_tables, ("models", "expected"): read_expected,
    ("models", "unseen"): read_unseen,
    ("tables", "table"): pq.read_metadata, ("tables", "sample"): pq.read_metadata, ("templates", "template"): _read_zip,
}  # fmt: skip
"""By kind and part, what raises if a file is not such a part."""

WRONG: Final = (ModelFileError, pa.ArrowException, zipfile.BadZipFile, OSError, EOFError, ValueError, KeyError)


def wrong_in(kind: str, name: str, path: Path) -> str:
    """Return what is wrong with a part whose bytes are whole; empty if nothing is, or if this version does not know
    such a part."""
    reader = READERS.get((kind, name))
    try:
        if reader is not None:
            reader(path)
    except ModelFileError as error:
        return str(error) if name == "model" else f"its {name}: {error}"
    except WRONG as error:
        return f"its {name} is something else ({str(error)[:100]})".replace("\n", " ")
    return ""


def lacking(kind: str, about: Mapping[str, Any], names: set[str]) -> list[str]:
    """Return the parts that a thing must have and has not."""
    match kind:
        case "models":
            needed = ["model", *(["tables"] if about.get("counted") else [])]
            needed += ["unseen"] if about.get("unseen") is not None else []
        case "tables":
            needed = [*([] if about.get("dataset") else ["table"]), *(["sample"] if about.get("sampled") else [])]
        case "templates":
            needed = ["template"]
        case _:
            needed = []
    return [name for name in needed if name not in names]
