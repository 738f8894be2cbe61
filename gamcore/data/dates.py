"""Dates as numbers of days since 1970-01-01, and back, for tables, rules, plots and files."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY: Final = 86_400_000_000
"""Microseconds in a day."""
FIRST_DAY, DAYS_AFTER = -719_162.0, 2_932_897.0
"""Days at which the year 1 begins, and at which the year 9999 is over, since 1970-01-01: Python has no others."""


def as_date(days: float) -> datetime:
    """Return the moment this many days after 1970-01-01."""
    return EPOCH + timedelta(days=float(days))


def day_number(day: date) -> float:
    """Return a calendar day as days since 1970-01-01."""
    return float((day - EPOCH.date()).days)


def stamp(days: float) -> str:
    """Write a number of days as ISO 8601, with microseconds where there are any."""
    return stamp_of(round(days * DAY))


def stamp_of(microseconds: int) -> str:
    """Write a number of microseconds since 1970-01-01 as ISO 8601."""
    return (EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None).isoformat(" ")


def days_of(text: str) -> float:
    """Parse the output of `stamp` into days; ValueError where it is no date."""
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    span = moment - EPOCH
    return (span.days * DAY + span.seconds * 1_000_000 + span.microseconds) / DAY
