"""Exports of strategies, run for real on a table: SQL in SQLite, Python as a program of its own."""

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

from gamcore.rulecode import COLUMN, NOBODY, NOT_ELIGIBLE, Cascade, kinds_of, to_python, to_sql
from gamcore.strategies import StrategySet

Labels = NDArray[np.object_]

SECONDS: Final = 300


class ProofError(RuntimeError):
    """An export that did not run; the message has its last words."""


@dataclass(frozen=True)
class Proof:
    """Rows of each strategy as the board, SQL and Python count them, and whether each row has the same one in all."""

    counts: pd.DataFrame
    same: bool


def prove(made: StrategySet, frame: pd.DataFrame) -> Proof:
    """Run both exports on a table and compare them with the board, row by row."""
    cascade = made.cascade()
    names = np.array([*(name for name, _ in cascade.named), NOT_ELIGIBLE, NOBODY], object)
    wanted = names[made.assign(frame)]  # -1 and -2 count from the end
    found = {"board": wanted, "SQL": by_sql(cascade, frame), "Python": by_python(cascade, frame)}
    counts = pd.DataFrame({way: pd.Series(labels).value_counts().reindex(names) for way, labels in found.items()})
    counts = counts.fillna(0).astype(int).rename_axis("strategy").reset_index()
    return Proof(counts, all(bool((labels == wanted).all()) for labels in found.values()))


def by_sql(cascade: Cascade, frame: pd.DataFrame) -> Labels:
    """The strategy (n,) of each row by the SQL export, in SQLite."""
    needed = frame[list(cascade.columns)].reset_index(drop=True)
    needed = needed if len(needed.columns) else pd.DataFrame({"row": np.arange(len(frame))})
    kinds = kinds_of(frame, cascade.columns)
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "rows.sqlite")
        try:
            needed.to_sql("rows", base, index=False, chunksize=50_000)
            query = to_sql(cascade, "rows", kinds).rstrip().rstrip(";")
            # the names in the query are ours and quoted; the order is that of the rows
            found = base.execute(f'SELECT "{COLUMN}" FROM ({query}) AS told').fetchall()  # noqa: S608
        except sqlite3.Error as error:
            raise ProofError(f"The SQL did not run in SQLite: {error}.") from error
        finally:
            base.close()
    return np.array([label for (label,) in found], object)


def by_python(cascade: Cascade, frame: pd.DataFrame) -> Labels:
    """The strategy (n,) of each row by the Python export, run as a program that reads JSON lines."""
    kinds = kinds_of(frame, cascade.columns)
    with tempfile.TemporaryDirectory() as folder:
        program, rows = Path(folder) / "strategies.py", Path(folder) / "rows.jsonl"
        program.write_text(to_python(cascade, kinds), encoding="utf-8")
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in _lines(frame[list(cascade.columns)]))
        with rows.open("rb") as file:
            try:
                done = subprocess.run(  # noqa: S603 (our own interpreter, and code that we wrote)
                    [sys.executable, "-I", "-X", "utf8", str(program)], stdin=file, capture_output=True,
                    timeout=SECONDS, check=True,
                )  # fmt: skip
            except subprocess.CalledProcessError as error:
                told = error.stderr.decode("utf-8", "replace")[-300:]
                raise ProofError(f"The Python module did not run: {told}") from error
            except subprocess.TimeoutExpired as error:
                raise ProofError(f"The Python module took more than {SECONDS} s on {len(frame):,} rows.") from error
    return np.array(done.stdout.decode("utf-8").split("\n")[:-1], object)


def _lines(frame: pd.DataFrame) -> Iterator[str]:
    """Rows as JSON, missing as null."""
    plain = {name: _cells(frame[name]) for name in frame.columns}
    for k in range(len(frame)):
        yield json.dumps({name: cells[k] for name, cells in plain.items()})


def _cells(series: pd.Series) -> list[Any]:
    """Cells as JSON knows them."""
    missing = series.isna().to_numpy()
    if pd.api.types.is_datetime64_any_dtype(series):
        told = series.dt.tz_localize(None).dt.strftime("%Y-%m-%dT%H:%M:%S.%f").tolist()
    else:
        told = [cell.item() if isinstance(cell, np.generic) else cell for cell in series.tolist()]
    return [None if gone else cell for cell, gone in zip(told, missing, strict=True)]
