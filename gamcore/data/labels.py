"""Bins in words: one place, so that a cut reads the same on a plot, in a rule and in a file."""

from __future__ import annotations

from gamcore.data.dates import as_date
from gamcore.data.table import Kind
from gamcore.types import Floats


def in_words(k: int, kind: Kind, edges: Floats, labels: tuple[str, ...]) -> str:
    """Name bin k: its level, or its range."""
    if labels:
        return labels[k]
    low, high = (str(as_date(e).date()) if kind == "date" else f"{e:g}" for e in edges[k : k + 2])
    return low if low == high else f"{low} to {high}"
