"""The loss of models with fewer curves, by their number."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from gamcore.common.numbers import are, counted, number
from gamcore.viz.spec import Axis, Line, Mark, Panel, Path, Plot, Points, Whiskers, single

OWN: Final = 4
"""Columns of a path before those of the features."""

STEEP: Final = 0.3
"""Share of the way from the best model to none that is drawn: the rest would flatten what there is to see."""


def fewer(path: pd.DataFrame, error: str, n_curves: int | None = None) -> Plot:
    """Return the loss by the number of curves, with its standard error; the number chosen by one standard error is
    marked, and a number that is looked at.

    path : as `fewer_curves` returns it. error : what the loss is called.
    """
    at, loss, spread = (path[name].to_numpy(np.float64) for name in ("curves", "loss", "error"))
    chosen, total = path[path["chosen"]].iloc[0], path.shape[1] - OWN
    hover = [f"{counted(n, 'curve')}\n{error} {number(value, 4)} ± {number(more, 2)}"
             for n, value, more in zip(at, loss, spread, strict=True)]  # fmt: skip
    marks: list[Mark] = [
        Path(at, loss, "muted", 1.4), Whiskers(at, loss - spread, loss + spread, "muted", 1.2),
        Points(at, loss, size=7, hover=hover),
        Points(np.array([float(chosen["curves"])]), np.array([float(chosen["loss"])]), "accent", 12,
               name="fewest within one standard error"),
    ]  # fmt: skip
    if n_curves is not None:
        marks.append(Line(float(n_curves), upright=True, role="accent", width=1.4))
    low, high = float((loss - spread).min()), float(loss.max())
    limits = (low - 0.02 * (high - low), max(low + STEEP * (high - low), float((loss + spread)[at > 0].min())))
    enough = int(chosen["curves"])
    return Plot(
        "fewer-curves",
        f"{enough} of {total} curves {are(enough)} enough" if enough < total else "All curves are needed",
        detail="rows that chose neither the curves nor how much of each is left; ± one standard error",
        panels=single(Panel(Axis("curves"), Axis(error, limits=limits, grid=True), tuple(marks))),
        words=(
            f"The {error} by the number of curves; {enough} of {total} {are(enough)} within one standard error of the "
            "best."
        ),
        numbers=path[["curves", "loss", "error", "chosen"]],
        height=300,
        legend="left",
    )
