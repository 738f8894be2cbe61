"""The child process that reads a file: a file of unknown worth and parsers in C++ stay out of the server.

It works on a folder, by the protocol of every child (`shapewise.processes`): its first report says that it is ready.
Text goes by batches, and so does a Parquet table that does not fit (parquet_large.py); others are read whole.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from shapewise.errors import StoreError, room
from shapewise.ingest.arrow import memory_of, open_parquet, refusing
from shapewise.ingest.common import ReaderError, is_text
from shapewise.ingest.parquet_large import read_parquet
from shapewise.ingest.read import read_file
from shapewise.ingest.text import TextFile, Typed
from shapewise.ingest.writer import Tell, Written, sample_size, sampled_rows, threshold, write
from shapewise.processes import ABOUT, Reporter, leave_with, report, resident, write_end
from shapewise.store.atomic_files import read_json

TABLE_TIMES: Final = 6
TOO_LARGE: Final = "The file needs more memory than there is: keep fewer rows or columns."


def load(job: dict[str, Any], into: Path, tell: Reporter) -> dict[str, Any]:
    """Read `source`, a file or folder, into a folder; return the size of its table, and notes."""
    source, notes = Path(job["source"]), list[str]()
    kind, limit = job["kind"], job["table"]
    if kind == "folder" or (kind == ".parquet" and _is_large(source, job["memory"])):
        written = read_parquet(source, into, limit, notes, tell)
    elif is_text(kind):
        text = TextFile[Written](source, kind.endswith(".gz"), notes, tell)
        written = text.read(partial(write_text, into=into, limit=limit, tell=tell))
    else:
        loaded = read_file(f"table{kind}", source.read_bytes(), tell)
        notes.extend(loaded.notes)
        written = _write_whole(loaded.frame, into, limit)
    return {"rows": written.rows, "columns": written.columns, "memory": written.memory, "sampled": written.sampled,
            "notes": notes}  # fmt: skip


def _is_large(source: Path, memory: int) -> bool:
    if source.stat().st_size == 0:
        return False
    with refusing("parquet"), open_parquet(source) as file:
        return source.stat().st_size + TABLE_TIMES * memory_of(file) > memory


def write_text(typed: Typed, into: Path, limit: int, tell: Tell) -> Written:
    """Write typed rows as table.parquet; also a sample if they exceed `limit` bytes as a DataFrame."""
    sample = sample_size(typed.rows, typed.memory, limit) if typed.memory > limit else 0
    return write(typed.batches, typed.schema, typed.rows, sample=sample, into=into, tell=tell, share=typed.share)


def _write_whole(frame: pd.DataFrame, into: Path, limit: int) -> Written:
    """Write a table of moderate size, with a sample if a caller's limit is small."""
    memory = int(frame.memory_usage(deep=True, index=False).sum())
    _write(frame, into / "table.parquet")
    sampled = 0
    if memory > limit:
        size = sample_size(len(frame), memory, limit)
        some = frame.iloc[sampled_rows(0, len(frame), threshold(size, len(frame)))[:size]]
        _write(some, into / "sample.parquet")
        sampled = len(some)
    return Written(len(frame), frame.shape[1], memory, sampled)


def _write(frame: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa.parquet.write_table(table, path, compression="zstd", row_group_size=2**17)


def peak() -> int:
    """Return the peak memory of this process in bytes, 0 if the system does not report it; polling can miss a short
    peak."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def main(argument: str) -> None:
    """Read the file that the job of a folder names."""
    run(Path(argument), load, "Reading the file", TOO_LARGE)


def run(
    folder: Path, make: Callable[[dict[str, Any], Path, Reporter], dict[str, Any]], words: str, too_large: str
) -> NoReturn:
    """Run the job of a folder and report the result; any error but ReaderError is logged and ends the process.

    make : makes the table. words : the first report. too_large : what is said where memory ends."""
    job = read_json(folder / ABOUT)
    leave_with(job["server"])
    base = resident(os.getpid())  # ready: everything is imported
    report(folder, share=0.0, words=words, base=base)
    end: dict[str, Any] = {"state": "failed"}
    try:
        with room():
            end |= {"state": "done", "table": make(job, folder, Reporter(folder, base=base))}
    except (ReaderError, StoreError) as error:
        end["message"] = str(error)
    except MemoryError:
        end["message"] = too_large
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    write_end(folder, end | {"peak": peak()})
    os._exit(0)  # exit at once: the server waits, and unloading libraries takes longer than reading a small file
