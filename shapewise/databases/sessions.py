"""What a child knows of a database: a session that reads only, the shape of a query's rows, and the rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from gamcore.common.numbers import count
from shapewise.ingest.arrow_types import ArrowColumn
from shapewise.ingest.common import ReaderError

CONNECT_SECONDS: Final = 10
BATCH_BYTES: Final = 2**24
MOST_BATCH: Final = 20_000
FIRST_BATCH: Final = 200
YEARS: Final = ("0001-01-01", "9999-12-31")


@dataclass
class Lost:
    """Cells that become missing or lose digits on the way, by column."""

    days: dict[str, int] = field(default_factory=dict)
    digits: dict[str, int] = field(default_factory=dict)

    def count_days(self, name: str, n: int) -> None:
        """Count days that are infinite, or in years that no date here has."""
        self.days[name] = self.days.get(name, 0) + n

    def count_digits(self, name: str, n: int) -> None:
        """Count decimals with more digits than a float keeps."""
        self.digits[name] = self.digits.get(name, 0) + n

    def notes(self) -> list[str]:
        """Return what was lost, in sentences."""
        return [
            *(f"{name}: {count(n)} dates that are infinite or outside the years 1 to 9999 are missing here."
              for name, n in self.days.items() if n),
            *(f"{name}: {count(n)} decimals of more than 15 digits are rounded here."
              for name, n in self.digits.items() if n),
        ]  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """The rows of a query. schema : all of its columns, in the types of the database. batches : yields the rows with
    all columns, of which only the given ones need to have values. notes : what of the types has to be said."""

    schema: pa.Schema
    batches: Callable[[Sequence[ArrowColumn], Lost], Iterator[pa.Table]]
    notes: list[str] = field(default_factory=list)


class EndedError(ReaderError):
    """A query that was ended before it had given its rows."""


class Session(Protocol):
    """A session with a database that reads only."""

    def ask(self, text: str) -> Answer:
        """Begin a query; ReaderError where it is not one that reads, or is wrong."""
        ...

    def cancel(self) -> None:
        """End the query where it runs; called by another thread."""
        ...

    def refusal(self, error: Exception) -> ReaderError | None:
        """Return what an error of the database means, in a sentence; None if it is none of the database's."""
        ...


def placed(words: str, text: str, position: int | None, hint: str = "") -> ReaderError:
    """Return the refusal of a query with an error. position : of its first wrong character, from 0, if known."""
    where = ""
    if position is not None:
        before = text[:position]
        where = f" at line {count(before.count(chr(10)) + 1)}, character {count(position - before.rfind(chr(10)))}"
    more = f" ({hint.rstrip('.?!')})" if hint else ""
    return ReaderError(f"The database cannot run the query{where}: {words.rstrip('.!')}{more}. Correct it there.")


def reads_only(why: str) -> ReaderError:
    """Return the refusal of what is not a single query that reads."""
    return ReaderError(f"Only one query that reads is run here, a single SELECT or WITH ... SELECT: {why}.")


def days_within(values: pa.ChunkedArray, name: str, lost: Lost) -> pa.ChunkedArray:
    """Return dates or times without those that are infinite or beyond the years that dates have here, which are
    counted."""
    first, last = (pa.scalar(day, pa.string()).cast(pa.date32()) for day in YEARS)
    days = values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values.cast(pa.int32()).cast(pa.int64())
    each = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit] * 86400 if pa.types.is_timestamp(
        values.type) else 1  # fmt: skip
    low, high = first.value * each, (last.value + 1) * each  # a date32 is a number of days
    if each == 86400 * 10**9:  # nanoseconds reach fewer years: only the infinite ones are beyond
        low, high = -(2**63) + 2, 2**63 - 2
    beyond = pc.or_(pc.less(days, pa.scalar(low)), pc.greater_equal(days, pa.scalar(high)))
    n = pc.sum(beyond).as_py() or 0
    lost.count_days(name, n)
    return pc.if_else(beyond, pa.scalar(None, values.type), values) if n else values
