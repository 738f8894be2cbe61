"""When the customers of a test come: from which day on, and how many on which day of the week."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

import numpy as np

from gamcore.data.columns import read_dates
from gamcore.data.table import Table
from gamcore.decide.experiment_plan import ExperimentError

WEEK: Final = 7
MONDAY: Final = 4
"""The first Monday, in days since 1970-01-01."""
FEWEST_DAYS: Final = 2 * WEEK
"""Days between the first and the last of a table from which weekdays are told apart."""


@dataclass(frozen=True)
class Arrivals:
    """When customers come. first : the first day; None where it is not set, and days are then counted alone.

    weekdays : customers on a Monday to a Sunday, up to a factor, at least one above 0; () where all days are alike.
    Without a first day, they do not count.
    """

    first: date | None = None
    weekdays: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        known = all(math.isfinite(weekday) and weekday >= 0 for weekday in self.weekdays)
        if self.weekdays and not (len(self.weekdays) == WEEK and known and sum(self.weekdays) > 0):
            raise ExperimentError("Weekdays need seven numbers from 0, Monday first, and one of them above 0.")

    def after(self, days: int) -> float:
        """Return how many average days' worth of customers have come after a number of days."""
        if self.first is None or not self.weekdays:
            return float(days)
        weeks, rest = divmod(days, WEEK)
        begun = (self.weekdays[(self.first.weekday() + k) % WEEK] for k in range(rest))
        return WEEK * (weeks + sum(begun) / sum(self.weekdays))

    def until(self, worth: float) -> int:
        """Return the fewest days after which so many average days' worth of customers have come."""
        days = WEEK * max(int(worth // WEEK) - 1, 0)
        while self.after(days) < worth:
            days += 1
        return days

    def last(self, days: int) -> date | None:
        """Return the last of a number of days; None where the first is not set, or they end beyond all calendars."""
        try:
            return None if self.first is None or not days else self.first + timedelta(days - 1)
        except OverflowError:
            return None


ALIKE: Final = Arrivals()
"""As many on every day, from a day that is not set."""


def weekdays_of(table: Table, column: str) -> tuple[float, ...]:
    """Return the rows of a table on an average Monday to Sunday; ExperimentError where it has too few days.

    column : of dates, on which each row came. Days without rows count, from the first to the last with any.
    """
    if column not in table or table.usable_kind(column) != "date":
        raise ExperimentError(f"{column!r} has no dates: choose a column that says when each row came.")
    days = np.floor(read_dates(table.frame[column]))
    days = days[np.isfinite(days)].astype(np.int64)
    if not days.size or days.max() - days.min() + 1 < FEWEST_DAYS:
        raise ExperimentError(f"{column!r} has fewer than {FEWEST_DAYS} days, so weekdays cannot be told apart.")
    rows = np.bincount((days - MONDAY) % WEEK, minlength=WEEK)
    every = np.bincount((np.arange(days.min(), days.max() + 1) - MONDAY) % WEEK, minlength=WEEK)
    return tuple((rows / every).tolist())
