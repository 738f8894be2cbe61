"""Verification of exported strategies by running them on a table: SQL in SQLite, Python as a separate program."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.numbers import count
from gamcore.data.codes import NO_CODES, MissingCodes, clear_codes
from gamcore.data.column_names import free_name
from gamcore.data.columns import Kind, read_dates, read_numbers, read_texts
from gamcore.data.dates import DAY
from gamcore.decide.rules_code import COLUMN, NOBODY, NOT_ELIGIBLE, Cascade, kinds_of, to_python, to_sql
from gamcore.decide.strategies import StrategySet

Labels = NDArray[np.object_]

SECONDS: Final = 300


class ProofError(RuntimeError):
    """An export that did not run; the message ends with its output."""


@dataclass(frozen=True)
class Proof:
    """Rows per strategy as counted by the board, SQL and Python, and whether all three agree on every row."""

    counts: pd.DataFrame
    same: bool


def prove(strategies: StrategySet, frame: pd.DataFrame, codes: MissingCodes = NO_CODES) -> Proof:
    """Run both exports on a table and compare them with the board, row by row. codes : in the table, for missing."""
    cascade = strategies.cascade().on_codes(codes)
    names = np.array([*(name for name, _ in cascade.named), NOT_ELIGIBLE, NOBODY], object)
    wanted = names[strategies.assign(clear_codes(frame, codes))]  # -1 and -2 count from the end
    kinds = kinds_of(frame, cascade.columns)
    rows = pd.DataFrame({name: _stored(frame[name], kind) for name, kind in kinds.items()}, index=range(len(frame)))
    try:
        by = {"board": wanted, "SQL": by_sql(cascade, rows, kinds), "Python": by_python(cascade, rows, kinds)}
    except (TypeError, OverflowError, pd.errors.DatabaseError) as error:
        raise ProofError(f"A column cannot be exported for counting: {error}.") from error
    counts = pd.DataFrame({way: pd.Series(labels).value_counts().reindex(names) for way, labels in by.items()})
    counts = counts.fillna(0).astype(int).rename_axis("strategy").reset_index()
    return Proof(counts, all(labels.shape == wanted.shape and bool((labels == wanted).all()) for labels in by.values()))


def _stored(series: pd.Series, kind: Kind) -> Any:
    """Return a column as a database would hold it: doubles, timestamps, booleans or text; missing as None or NaN."""
    if kind == "date":
        days = read_dates(series)
        stamps = np.round(np.nan_to_num(days) * DAY).astype(np.int64).astype("datetime64[us]")
        return pd.Series(stamps).where(~np.isnan(days)).to_numpy()
    if kind == "number":
        return read_numbers(series)
    codes, names = read_texts(series)
    cells: list[Any] = [name == "True" for name in names] if kind == "boolean" else names
    return np.array([*cells, None], object)[codes]


def by_sql(cascade: Cascade, rows: pd.DataFrame, kinds: dict[str, Kind]) -> Labels:
    """Return the strategy (n,) of each row by the SQL export, in SQLite."""
    rows = rows if len(rows.columns) else pd.DataFrame({"row": np.arange(len(rows))})
    alias = free_name(rows.columns, COLUMN)
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "rows.sqlite")
        try:
            rows.to_sql("rows", base, index=False, chunksize=50_000)
            query = to_sql(cascade, "rows", kinds, alias).rstrip().rstrip(";")
            # the names in the query are ours and quoted; results come in row order
            answers = base.execute(f'SELECT "{alias}" FROM ({query}) AS told').fetchall()  # noqa: S608
        except sqlite3.Error as error:
            raise ProofError(f"The SQL did not run in SQLite: {error}.") from error
        finally:
            base.close()
    return np.array([label for (label,) in answers], object)


def by_python(cascade: Cascade, rows: pd.DataFrame, kinds: dict[str, Kind]) -> Labels:
    """Return the strategy (n,) of each row by the Python export, run as a program that reads JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        program, lines = Path(folder) / "strategies.py", Path(folder) / "rows.jsonl"
        program.write_text(to_python(cascade, kinds), encoding="utf-8")
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in _lines(rows))
        with lines.open("rb") as file:
            try:
                done = subprocess.run(  # noqa: S603 (our own interpreter, and code that we wrote)
                    [sys.executable, "-I", "-X", "utf8", str(program)], stdin=file, capture_output=True,
                    timeout=SECONDS, check=True,
                )  # fmt: skip
            except subprocess.CalledProcessError as error:
                complaint = error.stderr.decode("utf-8", "replace")[-300:]
                raise ProofError(f"The Python module did not run: {complaint}") from error
            except subprocess.TimeoutExpired as error:
                raise ProofError(f"The Python module took more than {SECONDS} s on {count(len(rows))} rows.") from error
    return np.array(done.stdout.decode("utf-8").split("\n")[:-1], object)


def _lines(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the rows as JSON lines, missing as null."""
    plain = {name: _cells(rows[name]) for name in rows.columns}
    for k in range(len(rows)):
        yield json.dumps({name: cells[k] for name, cells in plain.items()})


def _cells(series: pd.Series) -> list[Any]:
    """Return the cells as JSON values."""
    cells = series.dt.strftime("%Y-%m-%dT%H:%M:%S.%f") if series.dtype.kind == "M" else series
    return [None if gone else cell for cell, gone in zip(cells.tolist(), series.isna(), strict=True)]
