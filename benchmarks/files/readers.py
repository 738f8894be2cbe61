"""The readers that are compared, each as it comes: by its defaults, without a word of help."""

from __future__ import annotations

import gzip
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import clevercsv
import pandas as pd

from shapewise.ingest.common import ReaderError
from shapewise.ingest.read import read_file

TEXTS: Final = (".csv", ".tsv", ".txt", ".gz")


@dataclass(frozen=True)
class Reading:
    """What a reader made of a file: a table and its words, or a refusal."""

    frame: pd.DataFrame | None
    words: list[str] = field(default_factory=list)
    refusal: str = ""


def read(reader: str, path: Path) -> Reading:
    """Read a file by one of the READERS; any exception of another's reader is a refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            frame, words = READERS[reader](path)
        except ReaderError as error:
            return Reading(None, refusal=str(error))
        except Exception as error:
            if reader == "ours":  # a crash is no refusal
                raise
            return Reading(None, refusal=f"{type(error).__name__}: {error}")
    warned = [str(warning.message) for warning in caught if issubclass(warning.category, pd.errors.ParserWarning)]
    return Reading(frame, [*words, *warned])


def takes(reader: str, path: Path) -> bool:
    """Return whether a reader takes files of this kind, without extensions that it would have to download."""
    if reader == "CleverCSV":
        return path.suffix in TEXTS
    return reader != "DuckDB" or path.suffix in (*TEXTS, ".parquet")


def _ours(path: Path) -> tuple[pd.DataFrame, list[str]]:
    loaded = read_file(path.name, path.read_bytes())
    return loaded.frame, loaded.notes


def _pandas(path: Path) -> tuple[pd.DataFrame, list[str]]:
    if path.suffix == ".xlsx":
        return pd.read_excel(path), []
    if path.suffix == ".parquet":
        return pd.read_parquet(path), []
    if path.suffix in (".feather", ".arrow"):
        return pd.read_feather(path), []
    return pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ","), []


def _duckdb(path: Path) -> tuple[pd.DataFrame, list[str]]:
    import duckdb

    how = "read_parquet" if path.suffix == ".parquet" else "read_csv_auto"
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        frame = connection.execute(f"from {how}(?)", [str(path)]).df()
    return frame, []


def _clevercsv(path: Path) -> tuple[pd.DataFrame, list[str]]:
    if path.suffix != ".gz":
        return clevercsv.read_dataframe(str(path)), []
    with tempfile.TemporaryDirectory() as folder:  # it reads no packed files
        plain = Path(folder) / path.stem
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return clevercsv.read_dataframe(str(plain)), []


READERS: Final[dict[str, Callable[[Path], tuple[pd.DataFrame, list[str]]]]] = {
    "ours": _ours, "pandas": _pandas, "DuckDB": _duckdb, "CleverCSV": _clevercsv,
}  # fmt: skip
