"""The frame that tells which features entered a model, and how often chance does as much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gamcore.boosting.entry import Entries


def entries_frame(entries: Entries, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per feature: feature, entered (its place in the order, 0 if outside), chance; those inside first."""
    entered = np.zeros(len(names), np.int64)
    entered[entries.chosen] = np.arange(1, entries.chosen.size + 1)
    outside = np.flatnonzero(entered == 0)
    places = np.concatenate([entries.chosen, outside[np.argsort(entries.chances[outside], kind="stable")]])
    return frame_of([[names[j], int(entered[j]), float(entries.chances[j])] for j in places])


def frame_of(rows: Sequence[Any]) -> pd.DataFrame:
    """Return the frame from its rows; what is not such a row is left out."""
    known = [row for row in rows if isinstance(row, list) and [type(cell) for cell in row] == [str, int, float]]
    return pd.DataFrame(known, columns=["feature", "entered", "chance"])
