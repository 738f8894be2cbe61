"""Strategies compared: reach, rows taken by higher strategies, overlap of rules, and measured lifts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gamcore.common.numbers import count, counted, percent
from gamcore.data.labels import cut, cut_apart
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_effects import Effect
from gamcore.decide.results import Scale
from gamcore.decide.strategies import Ledger
from gamcore.decide.verdicts import levels
from gamcore.explain.plots.curves import widened
from gamcore.viz.axes import level_axis
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import (
    Axis,
    Bars,
    Cells,
    ColorRole,
    ColorScale,
    Line,
    Mark,
    Panel,
    Plot,
    Points,
    Whiskers,
    single,
)

ROW = 46
PALE = 1.8
"""Value of full colour in a matrix of shares: above 1, so that text stays readable on all cells."""


def ledger_frame(ledger: Ledger, names: Sequence[str]) -> pd.DataFrame:
    """Return the ledger as a table."""
    return pd.DataFrame(
        {"strategy": [*names, "(none)"], "raw reach": [*ledger.raw, ledger.remainder], "lost": [*ledger.lost, 0],
         "exclusive reach": [*ledger.exclusive, ledger.remainder]}
    )  # fmt: skip


def reach(ledger: Ledger, names: Sequence[str], detail: str = "") -> Plot:
    """Return a bar per strategy, the highest first: exclusive reach and rows taken by higher ones; last, the rest."""
    k = len(names)
    at, whole = np.arange(k + 1, dtype=np.float64), max(ledger.eligible, 1)
    exclusive, lost = np.asarray(ledger.exclusive, np.float64), np.asarray(ledger.lost, np.float64)
    taken = [", ".join(cut(names[j], 40) for j in range(k) if ledger.lost_to[i, j]) for i in range(k)]
    marks = (
        Bars(at[:k], exclusive, lying=True, name="exclusive reach",
             hover=[f"{counted(n, 'row')} reached" for n in exclusive],
             texts=[f"{count(n)} · {percent(n / whole, 0)}" for n in exclusive]),
        Bars(at[:k], lost, exclusive, roles="density", lying=True, name="taken by a higher strategy",
             hover=[f"{counted(n, 'row', 'goes', 'go')} to {who}" for n, who in zip(lost, taken, strict=True)]),
        Bars(at[k:], np.array([float(ledger.remainder)]), roles="background", lying=True, name="remainder",
             outlined=True, hover=[f"{counted(ledger.remainder, 'eligible row', 'gets', 'get')} nothing"],
             texts=[f"{count(ledger.remainder)} · {percent(ledger.remainder / whole, 0)}"]),
    )  # fmt: skip
    y = level_axis([*cut_apart(names, MOST_LABEL), "not reached"])
    panel = Panel(Axis("eligible rows", format="count", grid=True, from_zero=True), y, marks, stacked=True)
    reached = 1 - ledger.remainder / whole
    who = f"{k} strategies reach" if k != 1 else "1 strategy reaches"
    title = f"{who} {percent(reached, 0)} of {counted(ledger.eligible, 'eligible row')}"
    return Plot(
        "reach",
        title if ledger.eligible else "No row is eligible",
        detail=detail or "each row counts once, for the highest strategy that it matches",
        panels=single(panel),
        words="Reach of each strategy, the highest first.",
        numbers=ledger_frame(ledger, names),
        height=90 + ROW * (k + 1),
        legend="left",
    )


def overlap(ledger: Ledger, names: Sequence[str], detail: str = "") -> Plot:
    """Return the eligible rows that each pair of rules matches, and their share of the rule at left."""
    k = len(names)
    labels = cut_apart(names, MOST_LABEL)
    share = ledger.overlap / np.maximum(ledger.raw, 1)[:, None]
    texts = np.array(
        [[f"{count(ledger.overlap[i, j])}\n{percent(share[i, j], 0)}" for j in range(k)] for i in range(k)], object
    )
    edges = np.arange(k + 1, dtype=np.float64) - 0.5
    cells = Cells(edges, edges, share, ColorScale(0.0, PALE, ("background", "primary"), shown=False),
                  np.zeros((k, k), bool), texts=texts.reshape(k, k), gap=2.0)  # fmt: skip
    panel = Panel(level_axis(labels, flipped=False), level_axis(labels), (cells,))
    numbers = pd.DataFrame(ledger.overlap, columns=list(names))
    numbers.insert(0, "strategy", list(names), allow_duplicates=True)
    return Plot(
        "overlap",
        "How rules overlap",
        detail=detail or "eligible rows that both match, and their share of the rule at left",
        panels=single(panel),
        words="Eligible rows matched by each pair of rules.",
        numbers=numbers,
        height=110 + 64 * k,
        width=220 + 110 * k,
    )


def lifts(outcome: ReadOut, detail: str, scale: Scale) -> Plot:
    """Return measured lifts with intervals, one line per comparison, and the planned lifts. scale : "relative", or a
    "difference" of one metric."""
    measured = _with_interval(outcome.effects, "difference")
    listed = _with_interval(outcome.effects, scale)
    if not listed and len({effect.metric for effect in measured}) == 1:  # a control about 0 or below has no share
        listed, scale = measured, "difference"
    factor = 100.0 if scale == "difference" and any(effect.is_rate for effect in listed) else 1.0
    marks: list[Mark] = [Line(0.0, True)]
    groups: list[tuple[bool, str, ColorRole]] = [(True, "significant", "primary"), (False, "not significant", "few")]
    for held, name, role in groups:
        some = [(k, effect) for k, effect in enumerate(listed) if effect.is_significant == held]
        if some:
            marks += _intervals(some, name, role, scale, factor)
    planned = [(k, e.planned) for k, e in enumerate(listed) if e.role == "primary" and np.isfinite(e.planned)
               and scale == "relative"]  # fmt: skip
    if planned:
        at, lift = (np.array(part, np.float64) for part in zip(*planned, strict=True))
        hover = [f"{percent(value, 0, signed=True)} planned" for value in lift]
        marks.append(Points(lift, at, "accent", 16, "bar", name="planned", hover=hover))
    names = cut_apart([f"{e.strategy} · {e.what}{_aside(e)}" for e in listed], 60)
    ends = [0.0, *(factor * end for effect in listed for end in effect.on(scale).interval)]
    limits = widened(min(ends), max(ends), "link")
    x = Axis("measured lift, relative", limits=limits, format="signed percent", grid=True)
    if scale == "difference":
        unit = "points" if factor > 1 else listed[0].measure.shown_unit if listed else ""
        x = Axis(f"measured difference{f', {unit}' if unit else ''}", limits=limits, grid=True)
    n_found, left = sum(effect.is_significant for effect in measured), len(measured) - len(listed)
    are = "is" if n_found == 1 else "are"
    return Plot(
        "lifts",
        f"{n_found} of {len(measured)} measured lifts {are} significant" if measured else "No lift has an interval",
        detail=f"{detail}; {left} without a relative lift, as the control is about 0 or below" if left else detail,
        panels=single(Panel(x, level_axis(names), tuple(marks))),
        words="Measured lifts with 95% intervals.",
        numbers=outcome.frame(),
        height=110 + 30 * max(len(listed), 3),
        legend="left",
    )


def _with_interval(effects: Sequence[Effect], scale: Scale) -> list[Effect]:
    return [effect for effect in effects if effect.on(scale).is_known and effect.on(scale).has_interval]


def _aside(effect: Effect) -> str:
    """Return the addition to a comparison's name."""
    if effect.role == "expected null":
        return " (expected null)"
    return (
        f" (planned {percent(effect.planned, 0, signed=True)})"
        if effect.role == "primary" and np.isfinite(effect.planned)
        else ""
    )


def _intervals(some: list[tuple[int, Effect]], name: str, role: ColorRole, scale: Scale, factor: float) -> list[Mark]:
    at = np.array([k for k, _ in some], np.float64)
    lift = factor * np.array([effect.on(scale).value for _, effect in some])
    low, high = factor * np.array([effect.on(scale).interval for _, effect in some]).T
    hover = [f"{effect.on(scale).words()}\n{levels(effect)}" for _, effect in some]
    return [Whiskers(at, low, high, role, lying=True), Points(lift, at, role, 9, name=name, hover=hover)]
