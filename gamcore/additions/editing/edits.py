"""Edits of a model by hand: of which curve or pair, where, how and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np

from gamcore.common.numbers import exact, number
from gamcore.common.types import Ints
from gamcore.data.binning import Bins
from gamcore.data.column_names import AS_THEY_ARE, PAIR, Names
from gamcore.data.columns import TableError
from gamcore.data.cuts import cut_in_words
from gamcore.data.dates import days_of, stamp
from gamcore.data.labels import levels_in_words

Operation = Literal[
    "set", "add", "equal", "straight", "smooth", "rising", "falling", "at_most", "at_least", "centre", "remove"
]
OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
IN_ORDER: Final = ("straight", "smooth", "rising", "falling")
"""Operations that need values in order: of one number or date."""

OF_CURVES: Final = (*IN_ORDER, "centre")
WITH_VALUE: Final = ("set", "add", "at_most", "at_least")
FREEDOM: Final = 4.0
"""Usual degrees of freedom of what is smoothed."""

LEAST_FREEDOM, MOST_FREEDOM = 2.0, 20.0
MOST_VALUE: Final = 1e100
MOST_NAMED: Final = 6
MOST_EDITS: Final = 1_000
MOST_REASON: Final = 500
MOST_DIGITS: Final = 7

WORDS: Final[Mapping[str, str]] = {
    "set": "set to {}", "add": "moved by {}", "equal": "made equal", "straight": "a straight line",
    "smooth": "smoothed", "rising": "only rising", "falling": "only falling", "at_most": "at most {}",
    "at_least": "at least {}", "centre": "moved to a mean of 0", "remove": "removed",
}  # fmt: skip


class EditError(TableError):
    """An edit that does not fit its model; the message names it and the way out."""


@dataclass(frozen=True)
class Where:
    """Cells of one feature; all its values where nothing is given.

    low, high : bins whose typical value is at least `low` and below `high`; of dates, in days since 1970-01-01.
    levels : of a category. missing, unseen : whether missing cells, and values that training did not have, are meant.
    date : whether the ends are dates.
    """

    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] = ()
    missing: bool = False
    unseen: bool = False
    date: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any] | Where | None) -> Where:
        """Return cells given in words: at_least and below (numbers, or dates as text), is (levels), missing, unseen."""
        if given is None or isinstance(given, Where):
            return given or cls()
        unknown = sorted(set(given) - {"at_least", "below", "is", "missing", "unseen"})
        if unknown:
            raise EditError(f"where has {unknown[0]!r}: use at_least, below, is, missing and unseen.")
        levels = given.get("is", ())
        if not isinstance(levels, list | tuple) or not all(isinstance(level, str) for level in levels):
            raise EditError("where has levels that are not a list of names: give is=['north', 'east'].")
        given_ends = [given.get(name) for name in ("at_least", "below")]
        low, high = map(_end, given_ends)
        are_dates = {isinstance(end, str) for end in given_ends if end is not None}
        if len(are_dates) > 1:
            raise EditError("where has one end that is a date and one that is a number: give two of a kind.")
        return cls(
            low, high, tuple(levels), given.get("missing") is True, given.get("unseen") is True, True in are_dates
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the cells as plain JSON; `of` is the inverse."""
        low, high = (stamp(end) if self.date and end is not None else end for end in (self.low, self.high))
        plain = {"at_least": low, "below": high, "is": list(self.levels) or None,
                 "missing": self.missing or None, "unseen": self.unseen or None}  # fmt: skip
        return {name: value for name, value in plain.items() if value is not None}

    @property
    def has_values(self) -> bool:
        """Whether some values are meant: all, unless only missing or unseen ones are."""
        ends = self.low is not None or self.high is not None
        return ends or bool(self.levels) or not (self.missing or self.unseen)

    def codes(self, bins: Bins) -> Ints:
        """Return the codes (m,) of a feature's bins that are meant, ascending; EditError where there are none."""
        values = self._values(bins) if self.has_values else np.empty(0, np.int64)
        codes = np.concatenate([[0] if self.missing else [], values, [bins.unseen] if self.unseen else []])
        if not codes.size:
            raise EditError(f"No bin of {bins.feature.name} has its typical value there: take a wider range.")
        return codes.astype(np.int64)

    def whole(self, bins: Bins) -> Where:
        """Return the cells with all levels of the bins that they are in: levels that share a bin have one score."""
        if not (self.levels and bins.feature.is_category):
            return self
        places = self._values(bins) - 1
        return replace(self, levels=tuple(level for k in places for level in bins.members[k]))

    def _values(self, bins: Bins) -> Ints:
        name, every = bins.feature.name, np.arange(1, bins.n_values + 1)
        if bins.feature.is_category:
            if self.low is not None or self.high is not None:
                raise EditError(f"{name} has levels, which no range holds: name them.")
            known = bins.codes_of_levels
            unknown = [level for level in self.levels if level not in known]
            if unknown:
                raise EditError(f"{name} has no level {unknown[0]!r}: leave it out.")
            return np.unique([known[level] for level in self.levels]) if self.levels else every
        if self.levels:
            raise EditError(f"{name} has values in order, not levels: give a range.")
        if (self.low is not None or self.high is not None) and self.date != (bins.feature.kind == "date"):
            kind = "a date such as 2025-01-31" if bins.feature.kind == "date" else "a number"
            raise EditError(f"{name} needs another kind of end: give {kind}.")
        inside = np.ones(every.size, bool)
        if self.low is not None:
            inside &= bins.display >= self.low
        if self.high is not None:
            inside &= bins.display < self.high
        return every[inside]

    def words(self, names: Names = AS_THEY_ARE, feature: str = "") -> str:
        """Return the cells in words; empty for all values. feature : whose cells they are."""

        measure = names.of(feature).measure
        ends = [
            f"{word} {cut_in_words(end, measure, self.date, feature)}"
            for word, end in (("from", self.low), ("below", self.high))
            if end is not None
        ]
        levels = levels_in_words([names.level(feature, level) for level in self.levels], most=MOST_NAMED)
        parts = [" ".join(ends), levels, "missing" * self.missing, "unseen values" * self.unseen]
        return " and ".join(part for part in parts if part)


def _end(value: Any) -> float | None:
    """Return the end of a range: a number, or the days of a date."""
    if value is None:
        return None
    try:
        end = days_of(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        end = math.nan
    if isinstance(value, bool) or not math.isfinite(end):
        raise EditError(f"where has the end {str(value)[:40]!r}: give a number, or a date such as 2025-01-31.")
    return end


def as_typed(value: float) -> str:
    """Return a value as it was typed, or rounded where it was converted from another scale."""
    return exact(value) if len(exact(value)) <= MOST_DIGITS else number(value, 4)


@dataclass(frozen=True)
class Edit:
    """A change of one curve or pair.

    on : the name of its feature, or its two names. where : as many. value : on the link scale, for `WITH_VALUE`; of
    "smooth", degrees of freedom. reason : why, in the words of who made it.
    """

    on: tuple[str, ...]
    operation: Operation
    where: tuple[Where, ...]
    value: float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise EditError(f"An edit is {str(self.operation)[:40]!r}: use one of {', '.join(OPERATIONS)}.")
        if len(self.on) not in (1, 2) or len(self.where) != len(self.on):
            raise EditError("An edit is of one feature or of two, with one place for each.")
        if len(self.on) == 2 and self.operation in OF_CURVES:
            raise EditError(f"A pair has no {self.operation!r}: use set, add, equal, at_most, at_least or remove.")
        if self.operation in WITH_VALUE and self.value is None:
            raise EditError(f"The edit {self.operation!r} of {self.name} needs a value.")
        low, high = (LEAST_FREEDOM, MOST_FREEDOM) if self.operation == "smooth" else (-MOST_VALUE, MOST_VALUE)
        if self.value is not None and not low <= self.value <= high:  # NaN is not, either
            raise EditError(
                f"The edit of {self.name} has the value {self.value}: give one from {exact(low)} to {exact(high)}."
            )
        if len(self.reason) > MOST_REASON:
            raise EditError(
                f"The reason for the edit of {self.name} is longer than {MOST_REASON} characters: shorten it."
            )

    @property
    def name(self) -> str:
        """The name of its curve or pair."""
        return PAIR.join(self.on)

    def because(self, reason: str) -> Edit:
        """Return the edit with a reason."""
        return replace(self, reason=reason)

    def to_dict(self) -> dict[str, Any]:
        """Return the edit as plain JSON; `edit_of` is the inverse."""
        plain: dict[str, Any] = {"on": list(self.on), "operation": self.operation,
                                 "where": [where.to_dict() for where in self.where]}  # fmt: skip
        plain |= {"value": self.value} if self.value is not None else {}
        return plain | ({"reason": self.reason} if self.reason else {})

    def words(self, names: Names = AS_THEY_ARE, say: Callable[[float], str] = as_typed) -> str:
        """Return the edit as a person would say it, without its reason. say : how to write its value, which is on the
        link scale."""
        value = "" if self.value is None else say(self.value)
        parts = []
        for feature, where in zip(self.on, self.where, strict=True):
            there = where.words(names, feature)
            parts.append(f"{names.term(feature)} {there}" if there else names.term(feature))
        return f"{PAIR.join(parts)}: {WORDS[self.operation].format(value)}"


def edit_of(plain: Any) -> Edit:
    """Return an edit from plain, untrusted JSON; EditError where it cannot be read."""
    fine = isinstance(plain, Mapping) and set(plain) <= {"on", "operation", "where", "value", "reason"}
    if not fine or not {"on", "operation", "where"} <= set(plain):
        raise EditError("An edit needs on, operation and where, and may have a value and a reason.")
    on, where, value, reason = plain["on"], plain["where"], plain.get("value"), plain.get("reason", "")
    lists = isinstance(on, list) and isinstance(where, list) and all(isinstance(name, str) for name in on)
    if not lists or not all(isinstance(place, Mapping) for place in where) or not isinstance(reason, str):
        raise EditError("An edit has names, places or a reason that are not text.")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise EditError("An edit has a value that is not a number.")
    try:
        number_of = None if value is None else float(value)
    except OverflowError as error:
        raise EditError("An edit has a value that is too large.") from error
    return Edit(tuple(on), plain["operation"], tuple(map(Where.of, where)), number_of, reason)
