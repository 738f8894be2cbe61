"""Outcomes of a test, each as a value per row: rates, means, ratios of two sums, and means of capped values.

Whatever an outcome is, its rows get values whose mean is the outcome and whose spread is its error. So one set of
tests, intervals and plans, for rows as for clusters, serves them all. Those of a ratio are its linear part (the delta
method: Deng, Knoblich and Lu 2018, *Applying the delta method in metric analytics*).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gamcore.common.numbers import exact
from gamcore.common.types import Bools, Floats
from gamcore.data.column_names import AS_THEY_ARE, Measure, Names
from gamcore.data.columns import TableError, read_numbers
from gamcore.data.table import Table
from gamcore.decide.experiment_effects import Arm, Effect, effect_of_means, effect_of_rates
from gamcore.decide.experiment_plan import ExperimentError, MetricRole
from gamcore.stats.intervals import UNKNOWN, Interval, student, wilson

LARGEST_OUTCOME, LEAST_OUTCOME = 1e75, 1e-75
"""Largest size of a metric, and the least that its largest value may have: tests take squares of variances."""


@dataclass(frozen=True)
class Outcome:
    """What an outcome is made of: the mean of a column, or its sum over that of another.

    per : the column of 0 or more whose sum it is divided by, such as visits; "" for the mean. cap : the share of known
    values, over all arms together, that are left as they are (0.99); those above get the largest of these. 0 for all.
    """

    column: str
    per: str = ""
    cap: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is read from."""
        return (self.column, self.per) if self.per else (self.column,)

    @property
    def name(self) -> str:
        """What it is called, by its columns' own names."""
        return self.called(AS_THEY_ARE)

    def called(self, names: Names) -> str:
        """Return what it is called."""
        over = f" per {names.column(self.per)}" if self.per else ""
        return f"{names.column(self.column)}{over}{f', capped at {exact(100 * self.cap, 4)}%' if self.cap else ''}"

    def shown(self, names: Names) -> Outcome:
        """Return it with its columns' shown names."""
        return replace(self, column=names.column(self.column), per=names.column(self.per) if self.per else "")

    def measure(self, names: Names) -> Measure:
        """Return the unit and form of its values."""
        return names.of(self.column).measure


@dataclass(frozen=True)
class Units:
    """An outcome by row: values (n,), and what their sum is divided by (n,), or None for a mean. NaN where not known.

    is_rate : whether all known values are 0 and 1, and it is their mean. is_share : whether it can only lie between 0
    and 1, so that it is shown in percent.
    """

    values: Floats
    per: Floats | None
    is_rate: bool
    is_share: bool

    @property
    def known(self) -> Bools:
        """The rows (n,) in which it is known."""
        return np.isfinite(self.values) if self.per is None else np.isfinite(self.values) & np.isfinite(self.per)

    def of(self, rows: Bools) -> Floats:
        """Return the values of some rows, all known: their mean is the outcome, their spread its error. NaN where the
        sum that it is divided by is 0."""
        values = self.values[rows]
        if self.per is None:
            return values
        per = self.per[rows]
        mean = float(per.mean()) if per.size else math.nan
        if not mean > 0:
            return np.full(values.size, math.nan)
        ratio = float(values.mean()) / mean
        return ratio + (values - ratio * per) / mean

    def effect(
        self, strategy: str, metric: str, role: MetricRole, *, rows: tuple[Bools, Bools], past: Floats | None = None
    ) -> Effect:
        """Return the effect on it. rows : known ones of the treated, and of the control. past : what each row (n,) had
        before, or was expected to have, as it adjusts `effect_of_means`."""
        values = self.of(rows[0]), self.of(rows[1])
        if self.is_rate and past is None:
            treated, control = (Arm(part.size, float(part.mean()) if part.size else math.nan) for part in values)
            effect = effect_of_rates(strategy, metric, role, treated=treated, control=control)
        else:
            before = None if past is None else (past[rows[0]], past[rows[1]])
            effect = effect_of_means(strategy, metric, role, arms=values, before=before)
        treated, control = (replace(side, interval=self.interval(part))
                            for side, part in zip((effect.treated, effect.control), values, strict=True))  # fmt: skip
        return replace(effect, treated=treated, control=control, is_rate=self.is_share)

    def interval(self, values: Floats) -> Interval:
        """Return the 95% interval of the outcome from values `of` some rows: Wilson's of a rate, else Student's."""
        if not values.size:
            return UNKNOWN
        return wilson(float(values.mean()), values.size) if self.is_rate else student(values)


def read_outcome(table: Table, outcome: Outcome, rows: Bools) -> Units:
    """Return an outcome by row of a table; ExperimentError says what cannot be read. rows : (n,) those of the test,
    over which values are capped."""
    values = outcome_of(table, outcome.column)
    per = outcome_of(table, outcome.per) if outcome.per else None
    if per is not None and (per[rows] < 0).any():
        raise ExperimentError(f"{outcome.per!r} is below 0 in some rows, so nothing can be divided by its sum.")
    units = Units(values, per, is_rate=False, is_share=False)
    known = rows & units.known
    if outcome.cap:
        values = _capped(values, known, outcome)
    inside = values[known]
    if per is None:
        is_rate = bool(np.isin(inside, (0.0, 1.0)).all())
        return replace(units, values=values, is_rate=is_rate, is_share=is_rate)
    parts = bool(((inside >= 0) & (inside <= per[known])).all())
    return replace(units, values=values, is_share=parts)


def read_outcomes(table: Table, outcomes: Mapping[str, Outcome], rows: Bools) -> dict[str, Units]:
    """Return outcomes by name; see `read_outcome`."""
    return {name: read_outcome(table, outcome, rows) for name, outcome in outcomes.items()}


def _capped(values: Floats, known: Bools, outcome: Outcome) -> Floats:
    """Return values (n,) of which the largest are set to a percentile of the known ones."""
    if not 0 < outcome.cap < 1:
        raise ExperimentError(
            f"{outcome.column!r} is capped at {exact(100 * outcome.cap)}%: choose a share below 100%."
        )
    if not known.any():
        return values
    most = float(np.quantile(values[known], outcome.cap, method="inverted_cdf"))
    if most <= values[known].min() < values[known].max():
        raise ExperimentError(
            f"{exact(100 * outcome.cap, 4)}% of {outcome.column!r} are {exact(most)}, so a cap there leaves nothing "
            "that varies: choose a higher one."
        )
    return np.minimum(values, most)


def outcome_of(table: Table, name: str) -> Floats:
    """Return the values (n,) of a column; ExperimentError where it is not there or not a number."""
    if name not in table:
        raise ExperimentError(f"The table of outcomes has no column {name!r}: choose another metric.")
    if table.kind(name) not in ("number", "boolean"):
        raise ExperimentError(f"Column {name!r} is not a number: a metric is 0 and 1, boolean, or a number.")
    try:
        values = read_numbers(table.frame[name])
    except TableError as error:
        raise ExperimentError(str(error)) from error
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > LARGEST_OUTCOME:
        raise ExperimentError(f"Column {name!r} has values beyond 1e75: divide it by a constant first.")
    if 0 < largest < LEAST_OUTCOME:
        raise ExperimentError(f"Column {name!r} has no values beyond 1e-75: multiply it by a constant first.")
    return values
