"""How far curves and tasks have moved: a bar each, the largest first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore.common.numbers import fixed, number
from gamcore.data.labels import cut
from gamcore.explain.curve_drift import CurveMoves
from gamcore.explain.task_outliers import APART, TaskOutliers
from gamcore.explain.tasks import Agreement
from gamcore.stats.plots.drifts import MOST, bars_height, bars_panel
from gamcore.viz.explanation import Explanation
from gamcore.viz.spec import Axis, Bars, ColorRole, Line, Mark, Plot, Points


def curves_moved(moves: CurveMoves, detail: str = "") -> Plot:
    """Return how far each curve moved between two fits, and the half-width of its band now."""
    table = moves.frame().head(MOST)
    names = table["feature"].tolist()
    at, zero = np.arange(len(names), dtype=np.float64), 1.0 if moves.scale == "ratio" else 0.0
    sizes, bands = (table[name].to_numpy(np.float64) for name in ("distance", "band_now"))
    hover = [f"{cut(name, 400)}\nmoved by {number(size)}" for name, size in zip(names, sizes, strict=True)]
    marks: tuple[Mark, ...] = (Bars(at, sizes - zero, zero, lying=True, hover=hover),)
    if np.isfinite(bands).any():
        marks = (*marks, Points(bands, at, "accent", 14, "bar", name="half-width of its band"))
    words = "No curve can be compared" if not names else "No curve moved"
    if names and sizes[0] > zero:
        words = f"{names[0]} moved most"
    axis = Axis("mean distance of the curves", "log" if moves.scale == "ratio" else "number", grid=True)
    return Plot(
        "curves moved", words, detail or "over the newer rows, each curve centred", bars_panel(axis, names, marks),
        words=words, numbers=moves.frame(), height=bars_height(names), legend="left",
    )  # fmt: skip


def agreement(correlations: Agreement, detail: str = "") -> Plot:
    """Return the correlation of each task's curve with the common one; tasks with a flat curve have none."""
    n_agree = correlations.verdict.count("agrees")
    n = len(correlations.tasks)
    words = f"{correlations.feature}: {n_agree} of {n} task{'s' * (n != 1)} agree with the common curve"
    axis = "correlation with the common curve"
    table = correlations.frame()[["task", "correlation", "verdict"]]
    return _by_task(correlations, table, axis, ("agreement", words, detail))


def task_outliers(ranking: TaskOutliers, detail: str = "") -> Plot:
    """Return how far the curves of each task go with those of the others, the farthest first; where no task is
    an outlier, none is called one."""
    table = ranking.frame()[["task", "score", "verdict"]]
    if not ranking.outliers:
        table = table.replace({"verdict": dict.fromkeys(APART, "unclear")})
    words = ranking.words().removesuffix(".")
    axis = "correlation with the other tasks' curves"
    return _by_task(ranking, table, axis, ("outliers", words, detail))


def _by_task(explanation: Explanation, table: pd.DataFrame, axis: str, texts: tuple[str, str, str]) -> Plot:
    """Return a bar per task.

    table : names, correlations and verdicts. texts : the plot's name, its title, and the line under it.
    """
    name, words, detail = texts
    columns = (table[column].tolist()[:MOST] for column in table)
    tasks, sizes, verdicts = columns
    names, at = [str(task) for task in tasks], np.arange(len(tasks), dtype=np.float64)
    colors: dict[str, ColorRole] = {"agrees": "primary", "shares": "primary", "reverses": "accent", "outlier": "accent"}
    roles = [colors.get(verdict, "few") for verdict in verdicts]
    hover = [f"{cut(task, 400)}\n{verdict}, correlation {fixed(size, 2)}"
             for task, verdict, size in zip(names, verdicts, sizes, strict=True)]  # fmt: skip
    bars = Bars(at, np.nan_to_num(sizes), roles=roles, lying=True, hover=hover, texts=tuple(verdicts))
    panel = bars_panel(Axis(axis, limits=(-1.25, 1.25), grid=True), names, (bars, Line(0.0, True)))
    return Plot(
        name, words, detail or "1: the same up to a factor; -1: reversed", panel,
        words=words, numbers=explanation.frame(), height=bars_height(names),
    )  # fmt: skip
