"""Curves and surfaces by hand, with the bands that a test asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamcore.explain.curves import Curve
from gamcore.explain.surfaces import Surface, SurfaceAxis

NOTHING = (0.0, 0.0, 0.0, 0.0)


def line(scores, half=0.1, edges=None, **changes):
    """Make a curve with these scores and a simultaneous band of this half-width."""
    scores = np.asarray(scores, float)
    edges = np.arange(scores.size + 1.0) if edges is None else np.asarray(edges, float)
    display = edges[:-1] + 0.3 * np.diff(edges)  # not halfway: bins of several values
    rng = np.random.default_rng(0)
    refits = scores + half / 4 * rng.normal(size=(30, scores.size))
    told = {"kind": "number", "counts": np.full(scores.size, 100.0), "loss": "squared", **changes}
    return Curve(
        "age", edges=edges, display=display, labels=(), scores=scores, lower=scores - half / 2,
        upper=scores + half / 2, missing=NOTHING, unseen=NOTHING, band="b", intercept=0.0,
        whole=np.stack([scores - half, scores + half]), refits=refits, reach=4.0, **told,
    )  # fmt: skip


def levels(scores, half=0.1, **changes):
    names = tuple("abcdefgh"[: len(scores)])
    return replace(
        line(scores, half),
        kind="category",
        labels=names,
        members=tuple(zip(names, strict=True)),
        edges=np.empty(0),
        **changes,
    )


def surface(scores, half, counts=100.0):
    scores = np.asarray(scores, float)
    axis = SurfaceAxis("a", "number", np.arange(scores.shape[0] + 1.0), (), np.arange(3, dtype=np.uint8))
    other = SurfaceAxis("b", "category", np.empty(0), ("x", "y"), np.arange(3, dtype=np.uint8))
    margins = line(np.zeros(2)), levels(np.zeros(2))
    return Surface(
        axis, other, scores, scores - half / 2, scores + half / 2, np.full(scores.shape, counts), np.zeros(2),
        np.zeros(scores.shape[0]), 0.0, margins, (np.zeros(2), np.zeros(2)), True,
        np.stack([scores - half, scores + half]), 0.0,
    )  # fmt: skip
