"""Quality of the probabilities of several classes: confusion, and each class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from gamcore.common.numbers import count, counted, fixed, percent
from gamcore.common.types import Floats
from gamcore.stats.classes import ClassConfusion
from gamcore.stats.metrics import RankingLine
from gamcore.stats.plots.quality import WHOLE, with_grid
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import OKABE_ITO, shorten
from gamcore.viz.spec import Axis, Bars, Cells, ColorScale, Mark, Panel, Path, Plot, single

MOST_WRITTEN = 12
"""Most classes for which cells have room for numbers."""

DARKEST = 1.6
"""Share of a class that would have the full colour: text stays legible up to 1."""

ROOM = (0.0, 1.3)
"""Limits of shares whose numbers stand at the ends of bars."""


def class_confusion(confusion: ClassConfusion, detail: str = "") -> Plot:
    """Return rows by class and by what is said, with the recall and the precision of each class beside them."""
    k = len(confusion.names)
    names = [shorten(name, k) for name in confusion.names]
    was = level_axis(names, "was")
    answers, bare = Axis("said", ticks=was.ticks, limits=was.limits), replace(was, title="", named=False)
    beside = [
        Panel(Axis(title, limits=ROOM, ticks=()), bare, (_bars(shares),))
        for title, shares in (("recall", confusion.recall), ("precision", confusion.precision))
    ]
    title = f"The likeliest class is right in {percent(confusion.accuracy)} of the rows"
    return Plot(
        "confusion", title, detail or "held-out rows; the stronger the colour, the more of the class's rows",
        panels=((Panel(answers, was, (_cells(confusion, names),)), *beside),), widths=(0.6, 0.2, 0.2),
        words=f"{title}. Rows by their class, and by the class that is said.",
        numbers=confusion.frame().reset_index(names="class"), height=100 + min(max(40 * k, 160), 800),
    )  # fmt: skip


def _cells(confusion: ClassConfusion, names: list[str]) -> Cells:
    """Return the matrix, coloured by the share of each class's rows."""
    k, counts, totals = len(names), confusion.counts, confusion.counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, np.nan), where=totals > 0)
    hover, texts = np.empty((k, k), object), np.empty((0, 0), object)
    for i, j in np.ndindex(k, k):
        rows, share = counted(float(counts[i, j]), "row"), percent(float(shares[i, j]))
        hover[i, j] = f"was {names[i]}, said {names[j]}\n{rows}, {share} of {names[i]}"
    if k <= MOST_WRITTEN:
        texts = np.array([[count(n) for n in row] for row in counts], object)
    edges = np.arange(k + 1, dtype=np.float64) - 0.5
    return Cells(
        x=edges, y=edges, values=shares, scale=ColorScale(0.0, DARKEST, ("background", "primary"), shown=False),
        pale=np.zeros((k, k), bool), hover=hover, texts=texts, gap=1.0,
    )  # fmt: skip


def _bars(shares: Floats) -> Bars:
    """Return bars of shares with their numbers; what is not known is empty."""
    texts = ["" if np.isnan(share) else percent(float(share), 0) for share in shares]
    at = np.arange(shares.size, dtype=np.float64)
    return Bars(at, np.nan_to_num(shares), roles="density", lying=True, texts=texts)


def class_rankings(lines: Sequence[RankingLine], names: Sequence[str], detail: str = "") -> Plot:
    """Return the ROC curve of each class against the rest, the best first; beyond eight classes, others are grey."""
    aucs = np.array([line.summary for line in lines])
    ranked = [int(k) for k in np.argsort(-aucs, kind="stable") if np.isfinite(aucs[k])]
    x = Axis("share of other rows that rank as high", limits=WHOLE, format="percent")
    y = Axis("share of the class found", limits=WHOLE, format="percent")
    each = [_ranking(lines[k], names[k], place, len(ranked)) for place, k in enumerate(ranked)]
    ends = np.array([0.0, 1.0])
    marks: list[Mark] = [Path(ends, ends, "zero", 1.0, "dot"), *each]
    title = "No class can be separated from the rest: these rows are all of one"
    if ranked:
        best, worst = (f"{names[k]} (AUC {fixed(aucs[k], 3)})" for k in (ranked[0], ranked[-1]))
        title = f"{best} is separated best from the rest, {worst} worst"
    parts = [pd.DataFrame({"class": names[k], x.title: lines[k].x, y.title: lines[k].y}) for k in ranked]
    numbers = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["class", x.title, y.title])
    return Plot(
        "classes", title, detail or "held-out rows; each class against all others",
        panels=single(Panel(x, with_grid(y), tuple(marks))), words=f"ROC curves of {len(ranked)} classes. {title}.",
        numbers=numbers, height=440, legend="left",
    )  # fmt: skip


def _ranking(line: RankingLine, name: str, place: int, n_ranked: int) -> Path:
    """Return the curve of one class, given its place among those that can be ranked."""
    label = f"{shorten(name, 1)}: AUC {fixed(line.summary, 3)}"
    hover = [f"{label}\n{percent(a)} of the others, {percent(b)} found" for a, b in zip(line.x, line.y, strict=True)]
    most = len(OKABE_ITO) - 1  # its last is the grey of the others
    if place < most:
        return Path(line.x, line.y, place, 2.0, name=label, hover=hover)
    named = f"{count(n_ranked - most)} more" if place == most else ""
    return Path(line.x, line.y, "few", 1.0, name=named, hover=hover)
