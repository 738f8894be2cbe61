"""Quality of predictions: ranking, calibration, costs, residuals, means over time; and training progress."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from gamcore.common.numbers import count, counted, fixed, number, percent
from gamcore.common.types import Floats
from gamcore.stats.metrics import Costs
from gamcore.stats.metrics import RankingLine as Ranked
from gamcore.stats.rates import Kind
from gamcore.viz.spec import Area, Axis, Bars, Line, Mark, Panel, Path, Plot, Points, Whiskers, single

HEIGHT = 340
WHOLE = (0.0, 1.02)
MOST_POINTS = 1_000
with_four_digits = partial(number, digits=4)


def ranked(line: Ranked, name: str, words: str, axes: tuple[str, str], guide: tuple[list[float], list[float]]) -> Plot:
    """Return a curve of shares, with the line of a model without skill (`guide`)."""
    each = [f"{percent(x)}\n{percent(y)}" for x, y in zip(line.x, line.y, strict=True)]
    marks = (Path(np.array(guide[0]), np.array(guide[1]), "zero", 1.0, "dot"), Path(line.x, line.y, hover=each))
    x, y = (Axis(title, limits=WHOLE, format="percent") for title in axes)
    numbers = pd.DataFrame({axes[0]: line.x, axes[1]: line.y})
    summary = f"{axes[1]} by {axes[0]}. {words}"
    return Plot(
        name,
        words,
        detail="held-out rows",
        panels=single(Panel(x, with_grid(y), marks)),
        words=summary,
        numbers=numbers,
        height=HEIGHT,
    )


def calibration(parts: pd.DataFrame, predicted: Floats, kind: Kind = "share", target: str = "") -> Plot:
    """Return observed against predicted rates, with intervals; a histogram of predicted rates (n,) below.

    kind : of the outcome, as for `metrics.calibration`. target : the rate in words, such as claims per year, where it
    is not a chance.
    """
    share = kind == "share"
    top = float(max(parts["upper"].max(), parts["observed"].max(), parts["predicted"].max())) * 1.05
    counts, edges = np.histogram(predicted, np.linspace(0, min(top, 1.0) if share else top, 41))
    bars = Bars(
        (edges[:-1] + edges[1:]) / 2, 0.12 * top * counts / max(counts.max(), 1), width=np.diff(edges), roles="density",
        hover=[counted(n, "row") for n in counts],
    )  # fmt: skip
    ends, write = np.array([0.0, top]), percent if share else with_four_digits
    marks = (Path(ends, ends, "zero", 1.0, "dot"), bars, *with_interval(parts, "predicted", "observed", write))
    titles = ("predicted chance", "what happened") if share else (f"predicted {target}", f"{target}, observed")
    x, y = (Axis(title, limits=(0.0, top), format="percent" if share else "plain") for title in titles)
    inside = int(((parts["predicted"] >= parts["lower"]) & (parts["predicted"] <= parts["upper"])).sum())
    words = f"Observed against predicted; {inside} of {len(parts)} parts agree."
    return Plot(
        "calibration", f"Well calibrated in {inside} of {len(parts)} groups of held-out rows",
        detail="each part with its 95% interval; on the dotted line, predicted and observed agree",
        panels=single(Panel(x, with_grid(y), marks)), words=words, numbers=parts, height=420,
    )  # fmt: skip


def cost_line(costs: Costs, chosen: float) -> Plot:
    """Return the cost per row by threshold; the cheapest and the chosen threshold are marked."""
    hover = [f"{percent(x)}\n{number(y, 4)} per row" for x, y in zip(costs.thresholds, costs.costs, strict=True)]
    marks = (
        Path(costs.thresholds, costs.costs, hover=hover),
        Line(chosen, True, "accent", False, 1.6),
        Points(np.array([costs.best]), np.array([costs.least]), size=9),
    )
    x, y = Axis("say yes from a chance of", limits=(0.0, 1.0), format="percent"), Axis("cost per row", from_zero=True)
    numbers = pd.DataFrame({"threshold": costs.thresholds, "cost per row": costs.costs})
    sentence = f"Cost per row by threshold; the cheapest is {fixed(costs.best, 3)}."
    return Plot(
        "costs",
        f"Cost per row is lowest with the line at {percent(costs.best)}",
        detail=f"held-out rows · the line is at {percent(chosen)}",
        panels=single(Panel(x, with_grid(y), marks)),
        words=sentence,
        numbers=numbers,
        height=HEIGHT,
    )


def residuals(parts: pd.DataFrame, predicted: Floats, gaps: Floats, target: str) -> Plot:
    """Return the residuals of some rows, and their means by prediction."""
    dots = Points(predicted, gaps, "density", 4, opacity=0.6)
    marks = (dots, Line(0.0), *with_interval(parts, "predicted", "residual", with_four_digits))
    x, y = Axis(f"predicted {target}"), Axis("observed minus predicted")
    off = int(((parts["lower"] > 0) | (parts["upper"] < 0)).sum())
    return Plot(
        "residuals",
        _off_zero(off, len(parts)),
        detail=f"a dot per row; means by parts of equal size, with 95% intervals · {target}",
        panels=single(Panel(x, with_grid(y), marks)),
        words="Residuals against predictions.",
        numbers=parts,
        height=420,
    )


def _off_zero(off: int, n_parts: int) -> str:
    """Return in how many parts of some rows residuals are clearly off zero."""
    if n_parts == 1:
        return f"Residuals of the held-out rows are {'off' if off else 'about'} zero on the whole"
    return f"Residuals are off zero in {count(off) if off else 'none'} of {count(n_parts)} parts of the held-out rows"


def actual(predicted: Floats, y: Floats, target: str) -> Plot:
    """Return actual against predicted values of some rows."""
    both = np.concatenate([predicted, y])
    ends = np.array([float(both.min()), float(both.max())])
    hover = [f"{number(a, 4)}\n{number(b, 4)}" for a, b in zip(predicted, y, strict=True)]
    marks = (Points(predicted, y, size=4, opacity=0.35, hover=hover), Path(ends, ends, "zero", 1.0, "dot"))
    panel = Panel(Axis(f"predicted {target}"), with_grid(Axis(f"{target}, observed")), marks)
    numbers = pd.DataFrame({"predicted": predicted, "actual": y})
    return Plot(
        "actual",
        f"{target}: observed against predicted",
        detail="held-out rows; on the dotted line, they agree",
        panels=single(panel),
        words="Targets against predictions.",
        numbers=numbers,
        height=420,
    )


def over_time(periods: pd.DataFrame, labels: list[str], binary: bool, held_from: float | None) -> Plot:
    """Return observed means with intervals and predicted means by period; held-out periods are shaded."""
    at, write = np.arange(len(periods), dtype=np.float64), percent if binary else with_four_digits
    marks: list[Mark] = []
    if held_from is not None:
        marks.append(Area(held_from - 0.5, len(periods) - 0.5, "density", 0.25, "held out"))
    marks += with_interval(periods.assign(at=at), "at", y="observed", write=write, name="observed", labels=labels)
    predicted = periods["predicted"].to_numpy(np.float64)
    hover = [f"{write(value)} predicted" for value in predicted]
    marks.append(Path(at, predicted, "accent", 1.8, "dash", name="predicted", hover=hover))
    step = max(1, len(labels) // 12)
    x = Axis(ticks=tuple((float(k), labels[k]) for k in range(0, len(labels), step)))
    y = Axis("rate" if binary else "mean", format="percent" if binary else "plain")
    words = f"Means of {len(periods)} periods."
    return Plot(
        "over-time", "Observed and predicted values over time", detail="by period, with 95% intervals of the means",
        panels=single(Panel(x, with_grid(y), tuple(marks))), words=words, numbers=periods.assign(period=labels),
        height=360,
    )  # fmt: skip


def with_grid(axis: Axis) -> Axis:
    """Return an axis with grid lines."""
    return Axis(
        axis.title,
        axis.kind,
        limits=axis.limits,
        ticks=axis.ticks,
        format=axis.format,
        grid=True,
        from_zero=axis.from_zero,
    )


def with_interval(
    table: pd.DataFrame, x: str, y: str, write: Callable[[float], str], name: str = "", labels: list[str] | None = None
) -> list[Mark]:
    """Return points with intervals, joined by a line."""
    at, values = table[x].to_numpy(np.float64), table[y].to_numpy(np.float64)
    lower, upper = table["lower"].to_numpy(np.float64), table["upper"].to_numpy(np.float64)
    where = labels or [write(place) for place in at]
    hover = [
        f"{place}\n{write(value)} ({write(low)} to {write(high)})\n{counted(rows, 'row')}"
        for place, value, low, high, rows in zip(where, values, lower, upper, table["rows"], strict=True)
    ]
    return [
        Whiskers(at, lower, upper=upper, role="primary", width=1.4, capped=True), Path(at, values, width=1.4),
        Points(at, values, name=name, hover=hover),
    ]  # fmt: skip


def progress(points: Floats) -> Plot:
    """Return the losses by round: the validation loss of each refit, and the training loss of the latest.

    points : (n, 4) refit, round, training loss, validation loss; NaN where not measured.
    """
    marks: list[Mark] = []
    latest = points[-1, 0] if len(points) else 0
    for refit in np.unique(points[:, 0]):
        mine = points[points[:, 0] == refit]
        mine = mine[:: max(1, len(mine) // MOST_POINTS)]
        newest = refit == latest
        name = "validation, latest refit" if newest else ""
        marks.append(Path(mine[:, 1], mine[:, 3], width=2.2 if newest else 1, opacity=1 if newest else 0.35, name=name))
        measured = mine[np.isfinite(mine[:, 2])]
        if newest and len(measured):
            marks.append(Path(measured[:, 1], measured[:, 2], "muted", 1.5, "dot", name="training"))
    late = points[points[:, 1] > 0.1 * points[:, 1].max(initial=0), 2:]
    limits = None
    if np.isfinite(late).sum() > 20:  # the first rounds fall so far that the rest would look flat
        low, high = float(np.nanmin(late)), float(np.nanmax(late))
        limits = (low - 0.1 * (high - low), high + 0.3 * (high - low))
    numbers = pd.DataFrame(points, columns=["refit", "round", "training", "validation"])
    panel = Panel(Axis("round"), Axis("mean loss", limits=limits, grid=True), tuple(marks))
    words = "Training and validation loss by round."
    return Plot("progress", words, detail="mean loss", panels=single(panel), words=words, numbers=numbers, height=260)
