"""Read experiments from rows or from counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.data.table import Table, as_table
from gamcore.decide.experiment_effects import (
    Arm,
    Effect,
    ReadOut,
    SampleRatio,
    anytime,
    concluded,
    effect_of_rates,
    sample_ratio,
    sample_ratio_of_arms,
)
from gamcore.decide.experiment_plan import ExperimentError, MetricRole
from gamcore.decide.outcomes import Outcome, outcome_of, read_outcomes
from gamcore.stats.intervals import wilson
from gamcore.types import Bools


def read_rows(
    frame: pd.DataFrame | Table, treated: Bools | NDArray[np.int64], assigned: NDArray[np.int64], names: Sequence[str],
    metrics: Mapping[str, MetricRole], shares: Sequence[float] = (0.5, 0.5), arms: Sequence[str] = ("treated",),
    planned: Mapping[tuple[str, str], float] | None = None, before: Mapping[str, str] | None = None,
    customers: float = 0.0, outcomes: Mapping[str, Outcome] | None = None,
) -> ReadOut:  # fmt: skip
    """Read an experiment from its rows.

    treated : (n,) the arm, 0 or False for the control, else 1 + its index in `arms`. assigned : (n,) the strategy that
    each row would get, as an index into `names`; negative for none. metrics : columns and their roles; 0 and 1 (or
    booleans) are a rate, other numbers a mean. outcomes : those of them that are made of columns in another way.
    shares : planned, the control's first, up to a factor. planned : lifts by (strategy, metric). before : by metric,
    the column with its pre-experiment values. customers : of all arms and strategies at the planned end, if the test
    may be looked at before; 0 for one look, at the end.
    """
    table, inside, arm = as_table(frame), assigned >= 0, np.asarray(treated, np.int64)
    if not inside.any():
        raise ExperimentError("No row would get a strategy: check the columns that the rules use.")

    def ratio(rows: Bools, where: str = "all") -> SampleRatio:
        counts = np.bincount(arm[rows], minlength=len(arms) + 1)
        return sample_ratio_of_arms(counts.tolist(), shares, where)

    ratios = [ratio(inside)]
    units = read_outcomes(table, {name: (outcomes or {}).get(name, Outcome(name)) for name in metrics}, inside)
    earlier = {metric: outcome_of(table, column) for metric, column in (before or {}).items()}
    for metric in metrics:  # whether an outcome is known may depend on the arm
        known = inside & units[metric].known
        if known.sum() < inside.sum():
            ratios.append(ratio(known, f"with {metric}"))
    effects = []
    for place, strategy in enumerate(names):
        mine = assigned == place
        ratios.append(ratio(mine, strategy))
        for k, name in enumerate(arms, 1):
            for metric, role in metrics.items():
                known = mine & units[metric].known
                rows = known & (arm == k), known & (arm == 0)
                hoped = (planned or {}).get((strategy, metric), math.nan)
                past = earlier.get(metric)
                effect = units[metric].effect(strategy, metric, role, rows=rows, past=past, planned=hoped)
                effects.append(replace(effect, arm=name if len(arms) > 1 else ""))
    return replace(concluded(whenever(effects, int(inside.sum()), customers), ratios), customers=customers)


def whenever(effects: Sequence[Effect], rows: int, customers: float) -> list[Effect]:
    """Return effects that hold at every look of a test of `customers` in all, of which `rows` are in; as they are if
    that is 0. Each comparison was planned with its part of the customers."""
    if not customers:
        return list(effects)
    parts = [(effect.treated.n + effect.control.n) / max(rows, 1) for effect in effects]
    return [anytime(effect, customers * part) if part else effect for effect, part in zip(effects, parts, strict=True)]


def _whole(cell: Any) -> float:
    """Return a count, NaN of a cell that is no whole number."""
    try:
        number = math.nan if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError):
        return math.nan
    return number if number.is_integer() else math.nan


def _counted(n: int, successes: float) -> Arm:
    """Return an arm of which successes were counted."""
    rate = successes / n if n else math.nan
    return Arm(n, rate, interval=wilson(rate, n))


COUNTS: Final = ("strategy", "metric", "treated", "treated successes", "control", "control successes")


def read_counts(
    counts: pd.DataFrame, roles: Mapping[str, MetricRole], share: float = 0.5,
    planned: Mapping[tuple[str, str], float] | None = None, names: Sequence[str] | None = None,
    customers: float = 0.0,
) -> ReadOut:  # fmt: skip
    """Read an experiment from counts: the columns of `COUNTS`, one row per strategy and metric. `names`: the known
    strategies, if given. customers : see `read_rows`."""
    lacking = [name for name in COUNTS if name not in counts.columns]
    if lacking:
        raise ExperimentError(f"The counts lack {', '.join(lacking)}: the columns are {', '.join(COUNTS)}.")
    effects: list[Effect] = []
    sizes: dict[str, tuple[int, int]] = {}
    for row, cells in enumerate(counts[list(COUNTS)].itertuples(index=False), 1):
        strategy, metric, n, x, m, y = cells
        n, x, m, y = (_whole(cell) for cell in (n, x, m, y))
        if not (0 <= x <= n and 0 <= y <= m):
            raise ExperimentError(
                f"Row {row} of the counts: successes have to be whole numbers from 0 to the customers."
            )
        treated, control = _counted(int(n), x), _counted(int(m), y)
        if (str(strategy), str(metric)) in {(effect.strategy, effect.metric) for effect in effects}:
            raise ExperimentError(f"Row {row} of the counts: {metric!r} of {strategy!r} occurs twice: remove one.")
        if names is not None and strategy not in names:
            raise ExperimentError(f"Row {row} of the counts: there is no strategy {strategy!r} on the board.")
        hoped = (planned or {}).get((strategy, metric), math.nan)
        role = roles.get(metric, "primary")
        effects.append(
            effect_of_rates(str(strategy), str(metric), role, treated=treated, control=control, planned=hoped)
        )
        size = sizes.setdefault(str(strategy), (int(n), int(m)))
        sizes[str(strategy)] = max(size[0], int(n)), max(size[1], int(m))
    if not effects:
        raise ExperimentError("There are no counts yet: fill in at least one row.")
    whole = sample_ratio(sum(n for n, _ in sizes.values()), sum(m for _, m in sizes.values()), share)
    effects = whenever(effects, whole.treated + whole.control, customers)
    ratios = [whole, *(sample_ratio(n, m, share, name) for name, (n, m) in sizes.items())]
    return replace(concluded(effects, ratios), customers=customers)
