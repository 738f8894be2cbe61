"""Bar charts: feature importance, pairs by strength, and the contributions to one prediction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import expit

from gamcore.common.numbers import number, percent
from gamcore.common.types import Floats
from gamcore.data.labels import cut, cut_apart
from gamcore.explain.curves import Breakdown
from gamcore.explain.importance import Importance
from gamcore.explain.plots.curves import effect_axis
from gamcore.explain.tasks import TaskImportance
from gamcore.model.losses import LOSSES
from gamcore.model.scales import Scale, say, say_all
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, Bars, ColorRole, Line, Mark, Panel, Plot, Points, TickFormat, single

FEWEST_SHOWN, MOST_SHOWN = 8, 25
ROW = 26
LONGEST = 36
FAR_FROM_ZERO = 1 / 3
"""Parts of a prediction that take less of the way from 0 than this are drawn without it, between two marks for the
totals: they could hardly be seen. So are those of logarithms, whose 0 says nothing."""
LARGE = 1_000
"""Gains from which an axis writes them short: 500k."""
MARKED = 0.02
"""Width of such a mark, as a share of the way between the ends of the parts."""


def importance(
    ranking: Importance, most: int = 20, measure: str = "mean_abs", axis: str | None = None, detail: str = ""
) -> Plot:
    """Return bars of feature importance, the largest on top; `axis` is their title where they are not effects."""
    frame = ranking.frame().sort_values(measure, ascending=False, ignore_index=True).head(most)
    what = "mean effect" if measure == "mean_abs" else "range of the effect"
    sizes = frame[measure].to_numpy(np.float64)
    written = [say(size, ranking.scale).lstrip("+") for size in sizes]
    hover = [f"{cut(name, 400)}\n{text}" for name, text in zip(frame["feature"], written, strict=True)]
    bars = Bars(np.arange(len(frame), dtype=np.float64), sizes - ranking.zero, ranking.zero, lying=True, hover=hover)
    unit = LOSSES[ranking.loss].unit(ranking.scale, "units of the target").removesuffix(" at the base rate")
    title = axis or f"{what} ({unit})"
    axis_of_sizes = effect_axis(title, ranking.scale)
    panel = Panel(axis_of_sizes, level_axis(cut_apart(frame["feature"].tolist(), MOST_LABEL)), (bars,))
    first = str(frame["feature"].iloc[0]) if len(frame) else "Nothing"
    return Plot(
        "importance",
        f"{first} moves predictions most",
        detail=detail or title,
        panels=single(panel),
        words=f"Bars of feature importance; {first} is the most important.",
        numbers=frame,
        height=60 + ROW * max(len(frame), 4),
    )


def task_importance(ranking: TaskImportance, most: int = 20, detail: str = "") -> Plot:
    """Return stacked bars of gain per feature, the common part before the specific part, the largest on top."""
    whole = ranking.frame()
    frame, common = whole.head(most), float(whole["common"].sum())
    at = np.arange(len(frame), dtype=np.float64)
    marks: list[Mark] = []
    parts: list[tuple[str, str, ColorRole]] = [
        ("common", "in the trees that tasks share", "primary"), ("specific", "in trees of one task", "accent"),
    ]  # fmt: skip
    base = np.zeros(len(frame))
    for part, label, role in parts:
        sizes = frame[part].to_numpy(np.float64)
        hover = [
            f"{cut(name, 400)}\n{percent(size)} {label}" for name, size in zip(frame["feature"], sizes, strict=True)
        ]
        marks.append(Bars(at, sizes, base, roles=role, lying=True, name=label, hover=hover))
        base = base + sizes
    x = Axis("share of the total gain", format="percent", grid=True)
    panel = Panel(x, level_axis(cut_apart(frame["feature"].tolist(), MOST_LABEL)), tuple(marks), stacked=True)
    return Plot(
        "importance",
        f"{percent(common, 0)} of the trees' gain is shared by the tasks",
        detail=detail or "share of the total gain, by feature",
        panels=single(panel),
        words=f"Bars of importance over all tasks: {percent(common, 0)} of the gain is common.",
        numbers=frame,
        height=90 + ROW * max(len(frame), 3),
        legend="left",
    )


def pair_ranking(
    ranking: pd.DataFrame, worth: pd.DataFrame, loss: str, detail: str = "", most: int = MOST_SHOWN
) -> Plot:
    """Return bars of the strongest pairs; the model's pairs have the primary colour and a dot at their held-out gain.

    ranking : feature_1, feature_2, strength, rank, strongest first, with attrs["chance"]; worth : feature_1, feature_2,
    worth. most : bars at most.
    """
    fitted = {(a, b): w for a, b, w in worth[["feature_1", "feature_2", "worth"]].itertuples(index=False)}
    chance = ranking.attrs["chance"]
    known = [pair in fitted for pair in ranking[["feature_1", "feature_2"]].itertuples(index=False, name=None)]
    telling = np.flatnonzero(np.array(known, bool) | (ranking["strength"].to_numpy() > chance))
    most = min(max(telling.max(initial=0) + 3, FEWEST_SHOWN), most)  # all later pairs are no stronger than chance
    shown = ranking.head(most)
    pairs = list(zip(shown["feature_1"], shown["feature_2"], strict=True))
    at, strength = np.arange(len(shown), dtype=np.float64), shown["strength"].to_numpy(np.float64)
    names = [cut(f"{a} × {b}", 200) for a, b in pairs]
    error = LOSSES[loss].error
    hover = [
        f"{name}\nrank {rank}: {error} lower by {number(size)}"
        for name, rank, size in zip(names, shown["rank"], strength, strict=True)
    ]  # fmt: skip
    roles: list[ColorRole] = ["primary" if pair in fitted else "density" for pair in pairs]
    y = replace(level_axis(cut_apart(names, 44)), above=True)
    marks: list[Mark] = [Bars(at, strength, roles=roles, lying=True, hover=hover), Line(chance, True)]
    if fitted:
        gains = np.array([fitted.get(pair, np.nan) for pair in pairs], np.float64)
        hover = [f"{name}\n{error} of held-out rows lower by {number(value)}"
                 for name, value in zip(names, gains, strict=True)]  # fmt: skip
        marks.append(Points(gains, at, "accent", 9, name="gain on held-out rows", hover=hover))
    form: TickFormat = "small" if strength.max(initial=0.0) < LARGE else "amount"
    panel = Panel(Axis(f"gain in {error}", format=form, grid=True), y, tuple(marks))
    title = "No pair interacts more than chance would produce"
    if pairs and strength[0] > chance:
        title = f"{pairs[0][0]} and {pairs[0][1]} interact most"
    return Plot(
        "pairs",
        title,
        detail=detail or "pairs of features by strength; those of the model in blue",
        panels=single(panel),
        words=f"Bars of the {len(shown)} strongest pairs.",
        numbers=shown.reset_index(drop=True),
        height=90 + 24 * max(len(shown), 3),
        legend="left",
    )


def waterfall(
    breakdown: Breakdown, row: int, target: str, scale: Scale = "link", cells: dict[str, str] | None = None,
    most: int = 12, detail: str = "",
) -> Plot:  # fmt: skip
    """Return one row's contributions from the average to its score, the largest first; small ones are summed.

    cells : the row's values by term name.

    In points, each part is what it adds to the chance after the parts above it. Their sum is exact; their sizes depend
    slightly on the order.
    """
    parts = breakdown.contributions[row]
    order = np.argsort(-np.abs(parts), kind="stable")
    order = order[parts[order] != 0.0]
    shown, rest = (order[:most], order[most:]) if order.size > most + 1 else (order, order[:0])
    known = cells or {}
    names = [f"{name} = {known[name]}" if name in known else name for name in (breakdown.features[j] for j in shown)]
    values = [float(parts[j]) for j in shown]
    if rest.size:
        names.append(f"{rest.size} others")
        values.append(float(parts[rest].sum()))
    at = breakdown.intercept + np.concatenate([[0.0], np.cumsum(values)])
    at[-1] = breakdown.scores[row]
    drawn = _drawn(at, breakdown.loss, scale)
    steps = np.diff(drawn)
    loss = breakdown.loss
    ticks = [_total(at[0], loss, scale), *_parts(at, loss, scale), _total(at[-1], loss, scale)]
    roles: list[ColorRole] = ["muted", *("accent" if step > 0 else "primary" for step in steps), "muted"]
    low, high = float(drawn.min()), float(drawn.max())
    span = high - low
    if span > 0 and (_is_log(loss, scale) or span < FAR_FROM_ZERO * max(abs(low), abs(high))):
        mark = MARKED * span
        starts = np.array([drawn[0] - mark / 2, *np.minimum(drawn[:-1], drawn[1:]), drawn[-1] - mark / 2])
        sizes = np.array([mark, *np.abs(steps), mark])  # to the right, where there is room for all numbers
        left, right = 0.1 * span, 0.4 * span
    else:
        starts, sizes = np.array([0.0, *drawn[:-1], 0.0]), np.array([drawn[0], *steps, drawn[-1]])
        low, high = min(low, 0.0), max(high, 0.0)
        left = right = (0.24 if low < 0 else 0.12) * (high - low or 1.0)
    at_rows = np.arange(len(names) + 2, dtype=np.float64)
    bars = Bars(at_rows, sizes, starts, roles=roles, lying=True, texts=ticks)
    x = Axis(_axis(breakdown.loss, scale, target), limits=(low - left, high + right), format="amount", grid=True)
    y = level_axis(cut_apart(["average row", *names, "this row"], LONGEST))
    numbers = pd.DataFrame({"part": ["average row", *names, "this row"], "score": [at[0], *np.diff(at), at[-1]]})
    end = _total(at[-1], breakdown.loss, scale)
    return Plot(
        "row", f"From {ticks[0]} to {end}: {names[0] if names else 'nothing'} moves this row most",
        detail=detail or "the parts of one prediction, the largest first", panels=single(Panel(x, y, (bars,))),
        words=f"From the average row ({ticks[0]}) to this row ({end}), part by part.", numbers=numbers,
        height=60 + ROW * len(ticks),
    )  # fmt: skip


def _drawn(at: Floats, loss: str, scale: Scale) -> Floats:
    """Return scores as they are drawn: as chances in percent, as predictions, or as they are."""
    if scale == "points":
        return np.asarray(100 * expit(at))
    return LOSSES[loss].inverse_link(at) if scale == "units" else at


def _is_log(loss: str, scale: Scale) -> bool:
    """Return whether scores are drawn as logarithms, of which 0 is as good as any."""
    return scale not in ("points", "units") and (LOSSES[loss].has_log_link or LOSSES[loss].is_binary)


def _parts(at: Floats, loss: str, scale: Scale) -> list[str]:
    """Return the steps between consecutive scores, as text."""
    if scale in ("points", "units"):
        return say_all([*np.diff(_drawn(at, loss, scale))], scale)
    steps = np.diff(at)
    return say_all([*(np.exp(steps) if scale == "ratio" else steps)], scale)


def _total(score: float, loss: str, scale: Scale) -> str:
    """Return a total score as text."""
    if LOSSES[loss].has_log_link and scale != "link":
        return number(np.exp(score), 4)
    if not LOSSES[loss].is_binary or scale == "link":
        return number(score, 4)
    return percent(expit(score)) if scale == "points" else f"odds {number(np.exp(score))}"


def _axis(loss: str, scale: Scale, target: str) -> str:
    if not LOSSES[loss].is_binary:
        return f"log of {target}" if LOSSES[loss].has_log_link and scale != "units" else target
    return {"link": "log-odds", "ratio": f"log-odds of {target}", "points": f"chance of {target}, %"}[scale]
