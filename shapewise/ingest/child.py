"""The child process that reads a file: a file of unknown worth and parsers in C++ stay out of the server.

It is told its job as JSON in its argument and answers with JSON lines: when it is ready, how far it is, and the end.
A table that fits is read whole, by reader.py; a larger one goes by batches, by bigtext.py and bigparquet.py.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import IO, Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from shapewise.errors import StoreError, room
from shapewise.ingest.arrow import memory_of, open_parquet, refusing
from shapewise.ingest.common import ReaderError
from shapewise.ingest.parquet_large import read_parquet
from shapewise.ingest.read import read_file
from shapewise.ingest.streams import read_part, unpacked
from shapewise.ingest.text_large import read_big_text
from shapewise.ingest.writer import Written, sample_size, sampled_rows, threshold

TEXT_TIMES: Final = 16
"""Bytes of memory that reading a byte of text whole may take: decoded, parsed, typed, each for a moment twice."""

TABLE_TIMES: Final = 6
REPORT_SECONDS: Final = 0.1


class Voice:
    """Tells the server how the work goes."""

    def __init__(self, out: IO[str]) -> None:
        self._out, self._last = out, 0.0

    def say(self, **words: Any) -> None:
        """One line."""
        self._out.write(json.dumps(words) + "\n")
        self._out.flush()

    def tell(self, share: float, words: str) -> None:
        """How far the work is, at most ten times a second."""
        if time.monotonic() - self._last > REPORT_SECONDS:
            self._last = time.monotonic()
            self.say(share=round(min(share, 1.0), 4), words=words)


def load(job: dict[str, Any], voice: Voice) -> None:
    """Do a job: read `source`, a file or folder of some kind, into the folder `into`."""
    source, into, notes = Path(job["source"]), Path(job["into"]), list[str]()
    kind, limit = job["kind"], job["table"]
    gz = kind.endswith(".gz")
    if kind == "folder" or (kind == ".parquet" and _is_large(source, job["memory"])):
        written = read_parquet(source, into, limit, notes, voice.tell)
    elif kind in (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"):
        data = _whole(source, gz, job["memory"] // TEXT_TIMES)
        if data is None:
            written = read_big_text(source, gz, into=into, limit=limit, notes=notes, tell_=voice.tell)
        else:
            written = _write_whole(f"table{kind.removesuffix('.gz')}", data, into, limit, notes)
    else:
        written = _write_whole(f"table{kind}", source.read_bytes(), into, limit, notes)
    voice.say(
        done={"rows": written.rows, "columns": written.columns, "memory": written.memory,
              "sampled": written.sampled, "notes": notes},
        peak=peak(),
    )  # fmt: skip


def _is_large(source: Path, memory: int) -> bool:
    if source.stat().st_size == 0:
        return False
    with refusing("parquet"), open_parquet(source) as file:
        return source.stat().st_size + TABLE_TIMES * memory_of(file) > memory


def _whole(source: Path, gz: bool, most: int) -> bytes | None:
    """Return the unpacked bytes of a file; None where there are more than `most`."""
    size, parts = 0, []
    with unpacked(source, gz) as file:
        while size <= most and (part := read_part(file)):
            size += len(part)
            parts.append(part)
    return b"".join(parts) if size <= most else None


def _write_whole(name: str, data: bytes, into: Path, limit: int, notes: list[str]) -> Written:
    """Read a file of moderate size and write its table, and a sample where a caller's limit is small."""
    loaded = read_file(name, data)
    notes.extend(loaded.notes)
    frame = loaded.frame
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
    """Return the most bytes this process has held, 0 where the system does not say; a poll can miss a short peak."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def _end_with(server: int) -> None:
    """Stop this process when the server is gone: nobody would clear up after it."""
    while os.getppid() == server:
        time.sleep(1.0)
    os._exit(1)


def main(argument: str) -> None:
    """Do the job and say how it ended; what is no ReaderError is for the log, and ends the process."""
    # What libraries print must not get between the answers.
    voice = Voice(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)
    job = json.loads(argument)
    threading.Thread(target=_end_with, args=(job["server"],), daemon=True).start()
    voice.say(ready=True)
    try:
        with room():
            load(job, voice)
    except (ReaderError, StoreError) as error:
        voice.say(error=str(error), peak=peak())
    except MemoryError:
        voice.say(error="The file needs more memory than there is: keep fewer rows or columns.", peak=peak())
    except Exception:
        traceback.print_exc()
        sys.exit(1)
