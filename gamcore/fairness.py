"""Features that a strategy should not go by unseen, and whether it reaches people alike."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.table import kind_of, read_texts

PLACE: Final = "place, which may stand for origin"
SENSITIVE: Final = {
    "sex": "sex", "gender": "sex", "female": "sex", "male": "sex", "age": "age", "birth": "age", "birthday": "age",
    "dob": "age", "race": "origin", "ethnic": "origin", "ethnicity": "origin", "nationality": "origin",
    "citizenship": "origin", "country": "origin", "language": "origin", "religion": "belief", "political": "belief",
    "union": "belief", "marital": "family", "married": "family", "children": "family", "pregnant": "family",
    "pregnancy": "family", "partner": "family", "dependents": "family", "disability": "health", "disabled": "health",
    "health": "health", "diagnosis": "health", "orientation": "orientation",
    "postcode": PLACE, "zip": PLACE, "zipcode": PLACE,
}  # fmt: skip
"""Words in names of columns that tell a protected characteristic, or one that stands for it."""

FOUR_FIFTHS: Final = 0.8
"""Least ratio of selection rates that the four-fifths rule lets pass (Uniform Guidelines, 29 CFR 1607.4 D)."""

GROUP: Final = "(group)"
ROWS: Final = "(rows)"
ANY: Final = "(any)"

MOST_GROUPS: Final = 8
FEWEST_ROWS: Final = 30


def sensitive(columns: list[str]) -> dict[str, str]:
    """Columns whose names tell of a protected characteristic, and of which."""
    found = {}
    for name in columns:
        words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
        told = next((SENSITIVE[word] for word in words if word in SENSITIVE), None)
        if told:
            found[name] = told
    return found


def groups_of(series: pd.Series) -> pd.Series:
    """The group of each row by a column: a level, or one of four parts of equal size; missing cells are one."""
    if kind_of(series) in ("number", "date") and series.nunique() > MOST_GROUPS:
        parts = pd.qcut(series, 4, duplicates="drop")
        return parts.astype("string").fillna("missing")
    codes, names = read_texts(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    kept = set(np.argsort(-counts, kind="stable")[:MOST_GROUPS].tolist())
    labels = [name if k in kept else "others" for k, name in enumerate(names)]
    return pd.Series(np.array([*labels, "missing"], object)[codes], series.index)


def parity(column: pd.Series, assigned: NDArray[np.int64], names: list[str]) -> pd.DataFrame:
    """Share of each group's eligible rows that each strategy reaches.

    assigned : (n,) places of strategies; -1 none, -2 not eligible. Columns: (group), (rows) that are eligible, one a
    strategy, and (any); attrs["ratio"] is the lowest share in the highest of groups with 30 rows or more, by strategy.
    """
    eligible = assigned >= -1
    labels = groups_of(column)[eligible]
    reached = pd.DataFrame({name: assigned[eligible] == k for k, name in enumerate(names)}, index=labels.index)
    reached[ANY] = assigned[eligible] >= 0
    found = reached.groupby(labels.to_numpy()).mean()
    found.insert(0, ROWS, labels.value_counts().reindex(found.index).to_numpy())
    large = found[found[ROWS] >= FEWEST_ROWS]
    ratios = {}
    for name in [*names, ANY]:
        most = float(large[name].max()) if len(large) else 0.0
        ratios[name] = float(large[name].min()) / most if most > 0 else 1.0
    found.attrs["ratio"] = ratios
    return found.rename_axis(GROUP).reset_index()
