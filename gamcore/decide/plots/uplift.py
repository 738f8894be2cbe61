"""Who is moved by a treatment, as an experiment measured it: the effect by tenth of the prediction, and the gain."""

from __future__ import annotations

import numpy as np

from gamcore.common.numbers import counted, percent
from gamcore.common.types import Floats
from gamcore.decide.results import effect_of, table_of
from gamcore.decide.uplift import Uplift
from gamcore.stats.plots.quality import HEIGHT, with_grid
from gamcore.viz.spec import Axis, Line, Mark, Panel, Path, Plot, Points, Whiskers, single


def effect_by_tenth(read: Uplift, unit: str = "", detail: str = "") -> Plot:
    """Return the measured effect with its interval by tenth of the predicted effect, and what was predicted.

    unit : of effects, such as points.
    """
    n, axis = len(read.tenths), f"effect, {unit}" if unit else "effect"
    at = np.arange(1, n + 1, dtype=np.float64)
    values = np.array([tenth.measured for tenth in read.tenths])
    predicted = np.array([tenth.predicted for tenth in read.tenths])
    lower, upper = np.array([tenth.interval for tenth in read.tenths]).T
    results = [tenth.results(unit) for tenth in read.tenths]
    hover = [f"{read.part} {k} of {n}\n{shown['measured'].words()}\n{counted(tenth.rows, 'row')}"
             for k, (shown, tenth) in enumerate(zip(results, read.tenths, strict=True), 1)]  # fmt: skip
    marks: list[Mark] = [
        Line(0.0),
        Line(read.average[0], role="muted", text="mean of all"),
        Whiskers(at, lower, upper, role="primary", width=1.4, capped=True),
        Points(at, values, name="measured", hover=hover),
        Path(at, predicted, "accent", 1.8, "dash", name="predicted",
             hover=[f"{shown['predicted'].text} predicted" for shown in results]),
    ]  # fmt: skip
    x = Axis(f"{read.part}s of the rows, the strongest predicted effect first",
             ticks=tuple((float(k), str(k)) for k in range(1, n + 1)))  # fmt: skip
    return Plot(
        "uplift", _by_tenth(read, unit),
        detail=detail or "rows that the model has not seen, in parts by predicted effect, each with its 95% interval",
        panels=single(Panel(x, with_grid(Axis(axis)), tuple(marks))),
        words=f"Measured and predicted effect by part. {_by_tenth(read, unit)}.", numbers=read.frame(unit),
        height=HEIGHT + 20,
    )  # fmt: skip


def _by_tenth(read: Uplift, unit: str) -> str:
    """Return what the first and the last part were moved by, in a sentence."""
    if len(read.tenths) < 2:
        return "The model puts no row before another"
    first, last = (read.tenths[k].results(unit)["measured"].text for k in (0, -1))
    return f"Measured effect: {first} in the {read.part} predicted to move most, {last} in that to move least"


def gain(read: Uplift, unit: str = "", detail: str = "") -> Plot:
    """Return what is gained per row of all by treating a share of them in the model's order, beside any other order.

    unit : of effects, such as points.
    """
    shares: Floats = np.array([0.0, *(share for share, _, _ in read.gain)])
    gains: Floats = np.array([0.0, *(value for _, value, _ in read.gain)])
    lower: Floats = np.array([0.0, *(ends[0] for _, _, ends in read.gain)])
    upper: Floats = np.array([0.0, *(ends[1] for _, _, ends in read.gain)])
    results = [effect_of(value, (low, high), unit, read.rows)
               for value, low, high in zip(gains, lower, upper, strict=True)]  # fmt: skip
    hover = [f"{percent(share, 0)} treated\n{shown.words()}" for share, shown in zip(shares, results, strict=True)]
    marks: tuple[Mark, ...] = (
        Line(0.0),
        Path(np.array([0.0, 1.0]), np.array([0.0, read.average[0]]), "zero", 1.0, "dot", name="in any order"),
        Whiskers(shares[1:], lower[1:], upper[1:], role="primary", width=1.2, capped=True),
        Path(shares, gains, name="in the model's order", hover=hover),
    )
    x = Axis("share of the rows that is treated", limits=(0.0, 1.02), format="percent")
    y = Axis(f"gain per row, {unit}" if unit else "gain per row")
    numbers = table_of({"share treated": share, "number": "gain per row", **shown.cells()}
                       for share, shown in zip(shares.tolist(), results, strict=True))  # fmt: skip
    title = f"Qini {effect_of(*read.qini, unit, read.rows).words()}"
    return Plot(
        "gain", title, detail=detail or "rows that the model has not seen; 0 is as good as treating at random",
        panels=single(Panel(x, with_grid(y), marks)), words=f"Gain by share treated. {title}.", numbers=numbers,
        height=HEIGHT + 20,
    )  # fmt: skip
