"""Cells of a measurement: JSON files, each measured in a separate process."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

Cell = dict[str, Any]

NOISE = 0.1
LEAST_NOISE = 0.05
"""Cores that others took while a cell was measured, and core seconds, above both of which its seconds are doubtful."""

TRIES = 3


def keep(path: Path, cell: Cell) -> None:
    """Write a cell and the time atomically, so that a stopped run leaves no partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".tmp")
    half.write_text(json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), **cell}, indent=1))
    half.replace(path)


def load(path: Path) -> Cell:
    """Return a cell, or an empty one if there is none yet."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


def load_all(folder: Path, pattern: str = "*.json") -> pd.DataFrame:
    """Return all cells of a folder, one row each."""
    return pd.DataFrame([load(path) for path in sorted(folder.glob(pattern))])


def pack(folder: Path, file: Path) -> None:
    """Write all cells of a folder into one file, a line of JSON each, so that a later run can go on elsewhere."""
    lines = (json.dumps({"cell": path.name, **load(path)}) + "\n" for path in sorted(folder.glob("*.json")))
    file.write_text("".join(lines))


def unpack(file: Path, folder: Path) -> None:
    """Put the cells of a packed file, if there is one, into a folder that lacks them."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in file.read_text().splitlines() if file.exists() else ():
        cell = json.loads(line)
        path = folder / cell.pop("cell")
        if not path.exists():
            path.write_text(json.dumps(cell, indent=1))


def run_module(module: str, arguments: Iterable[object], limit: float | None = None) -> str:
    """Run `python -m module` to its end; return a sentence on what went wrong, or an empty string."""
    process = subprocess.Popen([sys.executable, "-m", module, *map(str, arguments)])
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        _end(process.pid)
        process.wait()
        return f"Took more than {limit:.0f} seconds."
    return f"Ended with code {code}." if code else ""


def noisy(cell: Cell) -> bool:
    """Return whether other processes used so much of the machine that a cell's seconds are doubtful.

    Thread pools that busy-wait are slowed many times over when another process holds one of their cores. The system
    counts in hundredths of a second, so very short fits are not judged.
    """
    others = cell.get("others_cores", 0.0)
    return bool(others > NOISE and others * cell.get("seconds", math.inf) > LEAST_NOISE)


def quietest(run: Callable[[], Cell]) -> Cell:
    """Measure, repeating while other processes keep the machine busy; return the quietest attempt."""
    best = run()
    for _ in range(TRIES - 1):
        if noisy(best):
            best = min(best, run(), key=lambda cell: cell.get("others_cores", math.inf))
    return best


def _end(pid: int) -> None:
    """End a process and the workers it started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for process in [*parent.children(recursive=True), parent]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
