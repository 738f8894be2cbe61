"""The frame that tells which features entered a model, and how often chance does as much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gamcore.boosting.features.entry import Entries
from gamcore.common.types import Ints


def entries_frame(entries: Entries, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per feature: feature, entered (its place in the order, 0 if outside), chance; those inside first."""
    order = np.zeros(len(names), np.int64)
    order[entries.chosen] = np.arange(1, entries.chosen.size + 1)
    outside = np.flatnonzero(order == 0)
    places = np.concatenate([entries.chosen, outside[np.argsort(entries.chances[outside], kind="stable")]])
    return frame_of([[names[j], int(order[j]), float(entries.chances[j])] for j in places])


def entered(frame: pd.DataFrame, names: Sequence[str]) -> Ints:
    """Return the places of the features that entered."""
    inside = set(frame.loc[frame["entered"] > 0, "feature"])
    return np.array([j for j, name in enumerate(names) if name in inside], np.int64)


def frame_of(rows: Sequence[Any]) -> pd.DataFrame:
    """Return the frame from its rows; what is not such a row is left out."""
    known = [row for row in rows if isinstance(row, list) and [type(cell) for cell in row] == [str, int, float]]
    return pd.DataFrame(known, columns=["feature", "entered", "chance"])
