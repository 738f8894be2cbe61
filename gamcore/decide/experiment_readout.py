"""A test of a board's strategies that has been counted: read from customers and successes of two arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from gamcore.decide.arms import ArmsTest, ReadOut, sizes_of
from gamcore.decide.experiment_effects import Arm, Effect, concluded, effect_of_rates, whenever
from gamcore.decide.experiment_plan import ExperimentError, MetricRole
from gamcore.stats.intervals import wilson

MOST: Final = 2**53
"""From here on, whole numbers run into each other."""


def _whole(cell: Any) -> float:
    """Return a count, NaN of a cell that is no whole number below 2^53."""
    try:
        number = math.nan if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if number.is_integer() and number < MOST else math.nan


def _counted(n: int, successes: float) -> Arm:
    """Return an arm of which successes were counted."""
    rate = successes / n if n else math.nan
    return Arm(n, rate, interval=wilson(rate, n))


COUNTS: Final = ("strategy", "metric", "treated", "treated successes", "control", "control successes")


def read_counts(
    counts: pd.DataFrame, roles: Mapping[str, MetricRole], share: float = 0.5,
    planned: Mapping[tuple[str, str], float] | None = None, names: Sequence[str] | None = None,
    customers: int = 0,
) -> ReadOut:  # fmt: skip
    """Read an experiment from counts: the columns of `COUNTS`, one row per strategy and metric. names : the
    known strategies, if given. planned : as of `arms.ByStrategy`. customers : as of `arms.ArmsTest`."""
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
                f"Row {row} of the counts: customers have to be a whole number below 2^53, and successes one from 0 to "
                "the customers."
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
    shares = {"control": 1 - share, "treated": share}
    metrics: dict[str, MetricRole] = {effect.metric: effect.role for effect in effects}
    by_strategy = {name: sizes_of({"control": m, "treated": n}, shares) for name, (n, m) in sizes.items()}
    whole = sizes_of({arm: sum(size.counts[arm] for size in by_strategy.values()) for arm in shares}, shares)
    test = ArmsTest("", "control", metrics, shares=shares, customers=customers)
    done = concluded(whenever(effects, sum(whole.counts.values()), customers))
    return ReadOut(test, tuple(shares), sizes={"all": whole}, effects=done, by_strategy=by_strategy)
