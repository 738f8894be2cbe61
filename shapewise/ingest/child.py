"""The child process that reads a file: a file of unknown worth and parsers in C++ stay out of the server.

It works on a folder, by the protocol of every child (`shapewise.processes`): its first report says that it is ready.
Text goes by batches, and so does a Parquet table that does not fit; others are read whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from shapewise.errors import StoreError
from shapewise.ingest.common import ReaderError
from shapewise.ingest.read import Reader
from shapewise.ingest.writer import write
from shapewise.processes import ABOUT, Reporter, leave_with, outcome, report, resident, write_end
from shapewise.store.atomic_files import read_json

TOO_LARGE: Final = "The file needs more memory than there is: keep fewer rows or columns."


def load(job: dict[str, Any], into: Path, tell: Reporter) -> dict[str, Any]:
    """Read `source`, a file or folder, into a folder; return the size of its table, and notes."""
    reader = Reader([], tell, job["memory"])
    written = reader.read(Path(job["source"]), job["kind"], partial(write, limit=job["table"], into=into, tell=tell))
    return asdict(written) | {"notes": reader.notes}


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

    def work() -> dict[str, Any]:
        return {"table": make(job, folder, Reporter(folder, base=base))}

    end = outcome(work, (ReaderError, StoreError), too_large)
    write_end(folder, end | {"peak": peak()})
    os._exit(0)  # exit at once: the server waits, and unloading libraries takes longer than reading a small file
