"""The machine and the code that a measurement was made with."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

CORE = Path(__file__).parents[2] / "gamcore"
ROOMS = ("kernels", "data", "model", "boosting", "multitask", "estimators")
"""What fits a model."""


@cache
def code() -> str:
    """Return an identifier of the source that fits our models, to record with each cell."""
    digest = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (CORE / room).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def describe(*extra: str) -> dict[str, str | int]:
    """Return the processor, cores and versions; `extra` names further packages."""
    packages = {name: version(name) for name in ("numpy", "numba", "scikit-learn", "pandas", *extra)}
    return {"processor": _processor(), "cores": os.cpu_count() or 0, "python": platform.python_version(), **packages}
