"""Names of bins, so that a cut reads the same on a plot, in a rule and in a file."""

from __future__ import annotations

from collections.abc import Sequence

from gamcore.data.column_names import PLAIN, Measure
from gamcore.data.columns import Kind
from gamcore.data.dates import as_date
from gamcore.numbers import exact
from gamcore.types import Floats


def in_words(k: int, kind: Kind, edges: Floats, labels: tuple[str, ...], measure: Measure = PLAIN) -> str:
    """Name bin k: its level, or its range."""
    if labels:
        return labels[k]
    if kind == "date":
        low, high = (str(as_date(e).date()) for e in edges[k : k + 2])
        return low if low == high else f"{low} to {high}"
    low, high = (measure.number(float(e), exact(float(e), 6)) for e in edges[k : k + 2])
    return measure.dress(low if low == high else f"{low} to {high}")


def labels_of(members: Sequence[Sequence[str]], rare: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of bins by the levels of each. rare : those that are pooled into the last."""
    labels = [f"{', '.join(levels[:3])}{', ...' if len(levels) > 3 else ''}" for levels in members]
    return (*labels[:-1], f"(rare: {labels[-1]})") if rare else tuple(labels)


def cut(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
