"""What a board's plan and read-out come to, from what is kept of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore.data.table import read_texts
from gamcore.decide.experiment_effects import ReadOut
from gamcore.decide.experiment_plan import ExperimentError, ExperimentPlan, Metric, plan
from gamcore.decide.experiment_readout import COUNTS, read_counts, read_rows
from gamcore.decide.strategies import Ledger, StrategySet

RULES: Final = "by the rules of the board"
"""In place of a column that names the strategy that each row would get."""


def metrics_of(form: dict[str, Any]) -> list[Metric]:
    """Return the metrics of a plan; ExperimentError names the row that is not complete."""
    metrics = []
    for k, row in enumerate(form["metrics"], 1):
        name, base, lift, deviation = (row.get(key) for key in ("metric", "base", "lift", "deviation"))
        if not name or any(value is None or not math.isfinite(value) for value in (base, lift)):
            raise ExperimentError(f"Row {k} of the metrics is not complete: it needs a name, today's rate and a lift.")
        known = None if deviation is None or not math.isfinite(deviation) else float(deviation)
        metrics.append(Metric(str(name), float(base), float(lift), row.get("role") or "primary", known))
    if len({metric.name for metric in metrics}) < len(metrics):
        raise ExperimentError("Two metrics have the same name: rename one.")
    return metrics


def planned(form: dict[str, Any], made: StrategySet, ledger: Ledger) -> ExperimentPlan:
    """Return the plan of a board, for the reach of its strategies."""
    reach = {one.name: int(n) for one, n in zip(made.strategies, ledger.exclusive, strict=True)}
    a_day = {name: form["a_day"] * n / max(ledger.eligible, 1) for name, n in reach.items()}
    return plan(a_day, metrics_of(form), form["share"], form["power"])


def read_out(
    made: StrategySet, way: str, form: dict[str, Any], metrics: Sequence[dict[str, Any]],
    frame_of: Callable[[str, Sequence[str]], pd.DataFrame],
) -> ReadOut:  # fmt: skip
    """Return an experiment as it was measured.

    way : from "rows" of a table, or from "counts"; told : which, as a board keeps it. metrics : of the plan, for the
    lifts that were hoped for. frame_of : all rows of a table by its id, and some columns at least.
    """
    names = [one.name for one in made.strategies]
    hoped = {(name, row["metric"]): row["lift"] for row in metrics for name in names if row.get("lift")}
    if way == "counts":
        frame = pd.DataFrame(form["counts"], columns=list(COUNTS)).dropna()
        return read_counts(frame, form["roles"], form["share"], hoped, names)
    by_rules = form.get("by", RULES) == RULES
    named = made.cascade().columns if by_rules else [form["by"]]
    frame = frame_of(form["table"], [form["arm"], *named, *form["roles"], *form["before"].values()])
    codes, levels = read_texts(frame[form["arm"]])
    if len(levels) != 2:
        raise ExperimentError(f"{form['arm']!r} has {len(levels)} values among all rows, and an arm is one of two.")
    known = codes >= 0
    treated = codes == levels.index(form["treated"])
    if by_rules:
        assigned = made.assign(frame)
    else:
        of, labels = read_texts(frame[form["by"]])
        place = np.array([names.index(label) if label in names else -1 for label in labels] + [-1])
        assigned = place[of]
    return read_rows(
        frame[known],
        treated[known],
        assigned=assigned[known],
        names=names,
        metrics=form["roles"],
        share=form["share"],
        planned=hoped,
        before=form["before"],
    )
