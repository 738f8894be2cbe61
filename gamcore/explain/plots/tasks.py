"""Similarity of tasks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore.common.numbers import fixed
from gamcore.viz.palette import shorten
from gamcore.viz.spec import Axis, Cells, ColorScale, Panel, Plot, single

MOST_NAMED, MOST_WRITTEN = 40, 12
"""Most tasks for which a matrix has room for their names, and for numbers in its cells."""


def similarity(cosines: pd.DataFrame, detail: str = "") -> Plot:
    """Return a matrix of how similar the curves of each pair of tasks are: similar blue, reversed orange."""
    n = len(cosines)
    if n > 2:  # neighbours are alike
        _, vectors = np.linalg.eigh(np.nan_to_num(cosines.to_numpy(np.float64)))
        order = np.argsort(vectors[:, -1], kind="stable")
        cosines = cosines.iloc[order, order]
    names = [shorten(str(name), n) for name in cosines.index]
    values = cosines.to_numpy(np.float64)
    hover, texts = np.empty((n, n), object), np.empty((0, 0), object)
    for i, j in np.ndindex(n, n):
        hover[i, j] = f"{names[i]}, {names[j]}: {fixed(values[i, j], 2)}"
    if n <= MOST_WRITTEN:
        texts = np.array([["" if np.isnan(value) else fixed(value, 2) for value in row] for row in values], object)
    ends = ((-1.0, "reversed"), (0.0, "unlike"), (1.0, "alike"))
    edges = np.arange(n + 1, dtype=np.float64) - 0.5
    cells = Cells(
        x=edges, y=edges, values=values, scale=ColorScale(-1.0, 1.0, ("accent", "background", "primary"), ticks=ends),
        pale=np.zeros((n, n), bool), hover=hover, texts=texts, gap=1.0,
    )  # fmt: skip
    ticks = tuple((float(k), name) for k, name in enumerate(names)) if n <= MOST_NAMED else ()
    axis = Axis(ticks=ticks, named=n <= MOST_NAMED, limits=(-0.5, n - 0.5))
    flipped = Axis(ticks=ticks, named=n <= MOST_NAMED, limits=(-0.5, n - 0.5), flipped=True)
    side = min(max(44 * n, 160), 640)
    return Plot(
        "alike",
        "How alike the curves of each pair of tasks are",
        detail=detail or "1: the same up to a factor; -1: reversed",
        panels=single(Panel(axis, flipped, (cells,))),
        words="A matrix of how alike the curves of each pair of tasks are.",
        numbers=cosines.reset_index(names="task"),
        height=side + 90,
        width=300 + 2 * side,
    )
