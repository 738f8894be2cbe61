"""Model files that earlier versions wrote, byte for byte, with their models' scores on the rows of `probe`.

Each is `SCHEMA-KIND.gamx.gz`; `scores.json` holds scores on the link scale as hexadecimal floats. `make` wrote them.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
NAMES = sorted(path.name.removesuffix(".gamx.gz") for path in FOLDER.glob("*.gamx.gz"))
TASKS = ("a", "b", "a", "nowhere")
"""Tasks of the rows of `probe`, in turn."""


def read(name: str) -> bytes:
    """Return a file as it was written."""
    return gzip.decompress((FOLDER / f"{name}.gamx.gz").read_bytes())


def scores(name: str) -> np.ndarray:
    """Return the scores of its model when it was written, (rows,)."""
    told = json.loads((FOLDER / "scores.json").read_text(encoding="utf-8"))
    return np.array([float.fromhex(text) for text in told[name]])


def probe() -> pd.DataFrame:
    """Make rows with every kind of difficult value: missing, unseen, extreme, and on the borders of those seen."""
    return pd.DataFrame({
        "size": [0.0, np.nan, 1e300, -1e300, 5e-324, 0.25, -0.5, 2.0],
        "age": [18.0, 90.0, np.nan, 40.5, 41.0, 1e9, -1.0, 63.0],
        "job": ["nurse", "clerk", None, "never seen", "", "cook", "rare 1", "nurse"],
        "member": [True, False, True, False, True, False, True, False],
        "since": pd.to_datetime(
            ["2020-01-01", None, "1970-01-01", "2262-01-01", "2020-06-15", "2021-01-31", "2020-02-29", "2020-12-31"]
        ),
    })  # fmt: skip
