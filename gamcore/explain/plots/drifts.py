"""How far curves and tasks have moved: a bar each, the largest first."""

from __future__ import annotations

import numpy as np

from gamcore.data.labels import cut
from gamcore.explain.curve_drift import CurveMoves
from gamcore.explain.tasks import Agreement
from gamcore.numbers import fixed, number
from gamcore.stats.plots.drifts import MOST, bars_height, bars_panel
from gamcore.viz.spec import Axis, Bars, ColorRole, Line, Mark, Plot, Points


def curves_moved(of: CurveMoves, detail: str = "") -> Plot:
    """Return how far each curve moved between two fits, and the half-width of its band now."""
    table = of.frame().head(MOST)
    names = table["feature"].tolist()
    at, zero = np.arange(len(names), dtype=np.float64), 1.0 if of.scale == "ratio" else 0.0
    sizes, bands = (table[name].to_numpy(np.float64) for name in ("distance", "band_now"))
    hover = [f"{cut(name, 400)}\nmoved by {number(size)}" for name, size in zip(names, sizes, strict=True)]
    marks: tuple[Mark, ...] = (Bars(at, sizes - zero, zero, lying=True, hover=hover),)
    if np.isfinite(bands).any():
        marks = (*marks, Points(bands, at, "accent", 14, "bar", name="half-width of its band"))
    words = "No curve can be compared" if not names else "No curve moved"
    if names and sizes[0] > zero:
        words = f"{names[0]} moved most"
    axis = Axis("mean distance of the curves", "log" if of.scale == "ratio" else "number", grid=True)
    return Plot(
        "curves moved", words, detail or "over the newer rows, each curve centred", bars_panel(axis, names, marks),
        words=words, numbers=of.frame(), height=bars_height(names), legend="left",
    )  # fmt: skip


def agreement(of: Agreement, detail: str = "") -> Plot:
    """Return the correlation of each task's curve with the common one; tasks with a flat curve have none."""
    names = [str(task) for task in of.tasks[:MOST]]
    at, sizes = np.arange(len(names), dtype=np.float64), np.nan_to_num(of.correlation[:MOST])
    colors: dict[str, ColorRole] = {"agrees": "primary", "reverses": "accent"}
    roles = [colors.get(verdict, "few") for verdict in of.verdict[:MOST]]
    hover = [f"{cut(name, 400)}\n{verdict}, correlation {fixed(value, 2)}"
             for name, verdict, value in zip(names, of.verdict, of.correlation, strict=False)]  # fmt: skip
    marks = Bars(at, sizes, roles=roles, lying=True, hover=hover, texts=of.verdict[:MOST]), Line(0.0, True)
    n_agree = of.verdict.count("agrees")
    words = f"{of.feature}: {n_agree} of {len(of.tasks)} task{'s' * (len(of.tasks) != 1)} agree with the common curve"
    axis = Axis("correlation with the common curve", limits=(-1.25, 1.25), grid=True)
    return Plot(
        "agreement", words, detail or "1: the same up to a factor; -1: reversed", bars_panel(axis, names, marks),
        words=words, numbers=of.frame(), height=bars_height(names),
    )  # fmt: skip
