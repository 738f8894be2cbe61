"""Read experiments from rows or from counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.data.table import TableError, kind_of, read_numbers
from gamcore.decide.experiment_effects import (
    Arm,
    Effect,
    ReadOut,
    _mean,
    concluded,
    effect_of_means,
    effect_of_rates,
    sample_ratio,
)
from gamcore.decide.experiment_plan import ExperimentError, MetricRole
from gamcore.types import Bools, Floats


def read_rows(
    frame: pd.DataFrame, treated: Bools, assigned: NDArray[np.int64], names: Sequence[str],
    metrics: Mapping[str, MetricRole], share: float = 0.5, planned: Mapping[tuple[str, str], float] | None = None,
    before: Mapping[str, str] | None = None,
) -> ReadOut:  # fmt: skip
    """Read an experiment from its rows.

    treated : (n,) the arm. assigned : (n,) the strategy that each row would get, as an index into `names`; negative
    for none. metrics : columns and their roles; 0 and 1 (or booleans) are a rate, other numbers a mean. planned :
    planned lifts by (strategy, metric). before : by metric, the column with its pre-experiment values.
    """
    inside = assigned >= 0
    if not inside.any():
        raise ExperimentError("No row would get a strategy: check the columns that the rules look at.")
    ratios = [sample_ratio(int((treated & inside).sum()), int((~treated & inside).sum()), share)]
    columns = {name: _outcome(frame, name) for name in {*metrics, *(before or {}).values()}}
    for metric in metrics:  # whether an outcome is known may depend on the arm
        known = inside & np.isfinite(columns[metric])
        if known.sum() < inside.sum():
            ratios.append(
                sample_ratio(int((known & treated).sum()), int((known & ~treated).sum()), share, f"with {metric}")
            )
    effects = []
    for place, strategy in enumerate(names):
        arms = assigned == place
        ratios.append(sample_ratio(int((arms & treated).sum()), int((arms & ~treated).sum()), share, strategy))
        for metric, role in metrics.items():
            known = arms & np.isfinite(columns[metric])
            rows = known & treated, known & ~treated
            values = columns[metric][rows[0]], columns[metric][rows[1]]
            hoped = (planned or {}).get((strategy, metric), math.nan)
            earlier = (before or {}).get(metric)
            if earlier is None and np.isin(columns[metric][inside & np.isfinite(columns[metric])], (0.0, 1.0)).all():
                treated_arm, control_arm = (Arm(part.size, _mean(part)) for part in values)
                effects.append(
                    effect_of_rates(strategy, metric, role, treated=treated_arm, control=control_arm, planned=hoped)
                )
            else:
                past = None if earlier is None else (columns[earlier][rows[0]], columns[earlier][rows[1]])
                effects.append(effect_of_means(strategy, metric, role=role, arms=values, before=past, planned=hoped))
    return concluded(effects, ratios)


def _outcome(frame: pd.DataFrame, name: str) -> Floats:
    if name not in frame.columns:
        raise ExperimentError(f"The table of outcomes has no column {name!r}: choose another metric.")
    if kind_of(frame[name]) not in ("number", "boolean"):
        raise ExperimentError(f"Column {name!r} is not a number: a metric is 0 and 1, truth, or a number.")
    try:
        return read_numbers(frame[name])
    except TableError as error:
        raise ExperimentError(str(error)) from error


COUNTS: Final = ("strategy", "metric", "treated", "treated successes", "control", "control successes")


def read_counts(
    counts: pd.DataFrame, roles: Mapping[str, MetricRole], share: float = 0.5,
    planned: Mapping[tuple[str, str], float] | None = None, names: Sequence[str] | None = None,
) -> ReadOut:  # fmt: skip
    """Read an experiment from counts: the columns of `COUNTS`, one row per strategy and metric. `names`: the known
    strategies, if given."""
    lacking = [name for name in COUNTS if name not in counts.columns]
    if lacking:
        raise ExperimentError(f"The counts lack {', '.join(lacking)}: the columns are {', '.join(COUNTS)}.")
    effects: list[Effect] = []
    sizes: dict[str, tuple[int, int]] = {}
    for row, cells in enumerate(counts[list(COUNTS)].itertuples(index=False), 1):
        strategy, metric, n, x, m, y = cells
        numbers = [n, x, m, y]
        if any(not math.isfinite(v) or v < 0 or v != int(v) for v in numbers) or x > n or y > m:
            raise ExperimentError(
                f"Row {row} of the counts: successes have to be whole numbers from 0 to the customers."
            )
        treated, control = Arm(int(n), x / n if n else math.nan), Arm(int(m), y / m if m else math.nan)
        if (str(strategy), str(metric)) in {(effect.strategy, effect.metric) for effect in effects}:
            raise ExperimentError(f"Row {row} of the counts: {metric!r} of {strategy!r} is there twice, leave one out.")
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
    return concluded(effects, [whole, *(sample_ratio(n, m, share, name) for name, (n, m) in sizes.items())])
