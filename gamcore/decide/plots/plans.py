"""The plan of a test: the smallest lift that it detects, by days."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gamcore.common.numbers import count, counted, percent
from gamcore.common.types import Floats
from gamcore.data.labels import cut
from gamcore.decide.arms_plan import ExperimentPlan, PlanRow, percent_of_lift
from gamcore.decide.arrivals import WEEK
from gamcore.viz.palette import MOST_LABEL
from gamcore.viz.spec import Axis, ColorRole, Line, Mark, Panel, Path, Plot, Points, single

YEAR: Final = 364
LOOKS: Final = (7, 14, 28, 56)
"""Days in the table of numbers."""
POINTS: Final = 32
MOST_LINES: Final = 6
"""Comparisons that are drawn: the fastest and the slowest are always among them."""
TICKS: Final = (1, 2, 4, 8, 13)
TALL: Final = 4.0
"""Height of the axis as a multiple of the lift worth finding."""
COLORS: Final[tuple[ColorRole, ...]] = ("primary", 1, 2, 3, 5, "muted")


def detectable(plan: ExperimentPlan, metric: str = "", detail: str = "") -> Plot:
    """Return the smallest detectable lift by days, one line per comparison that differs; the days on which the lift
    worth finding is reached are marked. metric : its name; by default the first primary one."""
    metric = metric or plan.metrics[0]
    rows = _some(plan.comparisons(metric))
    wanted = next(row.metric.lift for row in plan.rows if row.metric.name == metric)
    last = _horizon(rows)
    days = np.unique(np.ceil(np.geomspace(1, last, POINTS)))
    marks: list[Mark] = [Line(wanted, role="accent", width=1.4, text="wanted")]
    for k, (name, row) in enumerate(rows.items()):
        color = COLORS[k % len(COLORS)]
        lifts = np.array([row.smallest(int(day), plan.power) for day in days])
        marks += _line(days, lifts, cut(name, MOST_LABEL) if len(rows) > 1 else "", color)
        if row.days <= last:
            hover = [f"day {row.days}: {percent_of_lift(wanted)} is reached"]
            marks.append(Points(np.array([float(row.days)]), np.array([wanted]), color, 11, hover=hover))
            if len(rows) == 1:
                marks.append(Line(float(row.days), True, role=color, text=f"day {row.days}"))
    x = Axis("days", limits=(0.0, float(last)), ticks=_weeks(last), grid=True)
    y = Axis("smallest lift that shows", limits=(0.0, TALL * wanted), format="percent", grid=True)
    return Plot(
        "detectable-lift",
        _headline(plan, metric, rows, wanted),
        detail=detail or f"{metric}, {percent(plan.power, 0)} power, {plan.split()}",
        panels=single(Panel(x, y, tuple(marks))),
        words=f"The smallest lift of {metric} that shows, by days.",
        numbers=plan.found_in(LOOKS, metric),
        height=310,
        legend="left",
    )


def _some(rows: dict[str, PlanRow]) -> dict[str, PlanRow]:
    """Return at most `MOST_LINES` comparisons, from the fastest to the slowest."""
    ordered = sorted(rows.items(), key=lambda item: item[1].days)
    kept = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_LINES)).round().astype(int))
    return dict(ordered[k] for k in kept)


def _horizon(rows: dict[str, PlanRow]) -> int:
    """Return the last day drawn: whole weeks, somewhat past the slowest comparison, a year at most."""
    slowest = max((row.days for row in rows.values()), default=0)
    return min(max(2 * WEEK, WEEK * math.ceil(1.3 * slowest / WEEK)), YEAR)


def _weeks(last: int) -> tuple[tuple[float, str], ...]:
    """Return ticks at whole weeks, at most eight or so."""
    weeks = last // WEEK
    step = next((step for step in TICKS if weeks <= 8 * step), TICKS[-1])
    return tuple((float(WEEK * k), str(WEEK * k)) for k in range(0, weeks + 1, step))


def _line(days: Floats, lifts: Floats, name: str, color: ColorRole) -> list[Mark]:
    """Return the line of a comparison, from the first day that detects anything."""
    known = np.isfinite(lifts)
    hover = [f"{name}\n" * bool(name) + f"day {count(day)}: {percent_of_lift(lift)}"
             for day, lift in zip(days[known], lifts[known], strict=True)]  # fmt: skip
    return [Path(days[known], lifts[known], color, name=name, hover=hover)] if known.any() else []


def _days(plan: ExperimentPlan, days: int) -> str:
    """Return a number of days, with the last of them where the first is set."""
    last = plan.arrivals.last(days)
    return counted(days, "day") + ("" if last is None else f" ({last})")


def _headline(plan: ExperimentPlan, metric: str, rows: dict[str, PlanRow], wanted: float) -> str:
    """Return when the lift worth finding is reached, and what an early look would detect."""
    if not rows:
        return f"No customers are left to test {metric} on"
    (first, fast), (last, slow) = next(iter(rows.items())), list(rows.items())[-1]
    lift = f"A lift of {percent_of_lift(wanted)}"
    if fast.days > YEAR:
        return (
            f"{lift} does not show within a year: it takes {_days(plan, fast.days)}{f' for {first}' if first else ''}"
        )
    if fast.days == slow.days:
        shows = f"{lift} shows after {_days(plan, slow.days)}"
    elif slow.days > YEAR:
        shows = f"{lift} shows after {_days(plan, fast.days)} for {first}, but not within a year for {last}"
    else:
        shows = f"{lift} shows after {_days(plan, fast.days)} for {first} and {_days(plan, slow.days)} for {last}"
    day, when = (WEEK, "a week") if slow.days > WEEK else (2 * WEEK, "two weeks")
    early = slow.smallest(day, plan.power)
    if not math.isfinite(early):
        return shows
    return f"{shows}; after {when} {'only ' if early > wanted else 'even '}{percent_of_lift(early)} would" + (
        f" for {last}" if len(rows) > 1 and fast.days != slow.days else "")  # fmt: skip
