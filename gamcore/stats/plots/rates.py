"""Predicted against observed rates from the lowest to the highest prediction: lift and concentration."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore.common.numbers import fixed, number, percent
from gamcore.common.types import Floats
from gamcore.stats.plots.quality import HEIGHT, WHOLE, with_grid, with_interval
from gamcore.stats.rates import Concentration, Kind
from gamcore.viz.spec import Axis, Line, Panel, Path, Plot, single


def lift_by_tenth(parts: pd.DataFrame, kind: Kind, target: str) -> Plot:
    """Return observed rates with intervals, and predicted rates, by tenth of `stats.rates.lift_by_tenth`.

    target : the rate in words, such as claims per year.
    """
    share = kind == "share"
    at = parts["part"].to_numpy(np.float64)
    each = [f"part {k} of {len(parts)}" for k in parts["part"]]
    predicted = parts["predicted"].to_numpy(np.float64)
    hover = [f"{place}\n{_write(value, share)} predicted" for place, value in zip(each, predicted, strict=True)]
    marks = (
        Line(float(parts.attrs["mean"]), text="mean of all"),
        *with_interval(
            parts, "part", "observed", write=lambda value: _write(value, share), name="observed", labels=each
        ),
        Path(at, predicted, "accent", 1.8, "dash", name="predicted", hover=hover),
    )
    x = Axis("part, from the lowest to the highest prediction",
             ticks=tuple((place, str(k)) for place, k in zip(at, parts["part"], strict=True)))  # fmt: skip
    y = Axis(target, format="percent" if share else "plain", from_zero=True)
    title = _lifts(parts, target)
    return Plot(
        "lift", title, detail="held-out rows in parts of equal size by prediction, each with its 95% interval",
        panels=single(Panel(x, with_grid(y), marks)), words=f"Observed and predicted {target} by part. {title}.",
        numbers=parts, height=360,
    )  # fmt: skip


def _lifts(parts: pd.DataFrame, target: str) -> str:
    """Return the lifts of both ends in a sentence."""
    if len(parts) == 1 or parts["lift"].isna().any():
        return f"{target}: nothing tells the rows apart"
    low, high = (number(float(parts["lift"].iloc[k]), 2) for k in (0, -1))
    return f"{target}: {high} times the mean in the highest part, {low} in the lowest"


def _write(value: float, share: bool) -> str:
    return percent(value) if share else number(value, 4)


def concentration(line: Concentration, target: str, size: str = "rows") -> Plot:
    """Return the concentration curve of a model, beside that of the perfect order.

    target : the outcome in words, such as claims. size : what is on the x axis, such as exposure.
    """
    titles = f"share of {size}, lowest prediction first", f"share of {target}"
    ends = np.array([0.0, 1.0])
    marks = (
        Path(ends, ends, "zero", 1.0, "dot"),
        Path(line.perfect_x, line.perfect_y, "muted", 1.4, "dash", name="perfect order",
             hover=_shares(line.perfect_x, line.perfect_y, size, target)),
        Path(line.x, line.y, name="model", hover=_shares(line.x, line.y, size, target)),
    )  # fmt: skip
    x, y = (Axis(title, limits=WHOLE, format="percent") for title in titles)
    title = f"Gini {fixed(line.gini, 3)}, {percent(line.ratio, 0)} of the {fixed(line.perfect, 3)} of the perfect order"
    numbers = pd.DataFrame({titles[0]: line.x, titles[1]: line.y})
    return Plot(
        "concentration", title,
        detail="held-out rows; chance keeps every model from the perfect order",
        panels=single(Panel(x, with_grid(y), marks)), words=f"{titles[1]} by {titles[0]}. {title}.", numbers=numbers,
        height=HEIGHT + 40,
    )  # fmt: skip


def _shares(x: Floats, y: Floats, size: str, target: str) -> list[str]:
    return [f"{percent(a)} of {size}\n{percent(b)} of {target}" for a, b in zip(x, y, strict=True)]
