"""Values that stand for a missing one: found by what they are called, and by their distance from the others or their
spike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

import numpy as np
import pandas as pd

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import level_name, read_dates, read_numbers, read_present_texts
from gamcore.data.dates import day_number, stamp
from gamcore.data.sentinels import sentinels
from shapewise.doctor.findings import Finding
from shapewise.doctor.name_words import AGES, NEVER_ZERO, words_of

TEXTS: Final = frozenset({
    "?", "??", "???", ".", "..", "-", "--", "---", "*", "#", "na", "n/a", "n.a.", "n.a", "nan", "nil", "null", "nul",
    "missing", "(missing)", "#n/a", "#na", "#null!", "#value!", "n.d.", "nd", "s/d", "s.d.", "k.a.", "k.a", "n.n.",
    "n.v.", "unbekannt",
})  # fmt: skip
"""Texts that stand for a missing cell, in lower case."""


def _numbers_for_missing() -> frozenset[str]:
    """Return the numbers that people write for "not known": -1, 9, 77, 88, 96 to 99, 999, -9999 and the like."""
    known = {"9", "-1", "-2", "-7", "-8", "-9"}
    for digits in range(2, 11):
        written = {"7" * digits, "8" * digits, *("9" * (digits - 1) + last for last in "6789")}
        known |= written | {f"-{text}" for text in written}
    return frozenset(known)


NUMBERS: Final = _numbers_for_missing()
ALIKE: Final = 0.8
"""Share of the other levels that are written as a mark is, from which it is a level like them."""

MOST_CODES: Final = 4
FEWEST_OTHERS: Final = 3
FEWEST_ROWS: Final = 2
STEPS: Final = 3.0
"""Least distance of a known code from the other values, in the widest step between the nearest of these."""

WIDE: Final = 0.1
"""The same, in the range of the other values."""

SPIKE: Final = 5.0
SPIKE_ROWS: Final = 10
NEAREST: Final = 5
YOUNGEST_OF_ADULTS: Final = 10
"""A 0 is no age where the youngest others are older."""

ENDS: Final = frozenset(day_number(date.fromisoformat(day)) for day in (
    "0001-01-01", "1900-01-01", "1970-01-01", "2099-12-31", "2999-12-31", "9999-12-31",
))  # fmt: skip
"""Days that stand for none, beside those that are far from all others."""

YEAR: Final = 365.25
FAR: Final = 10 * YEAR


def codes_in_texts(series: pd.Series) -> Iterator[Finding]:
    """Yield the levels of a category that stand for a missing cell."""
    codes, names = read_present_texts(series)
    coded = [name for name in names if name.strip().lower() in TEXTS]
    if coded and len(coded) < len(names) and not _are_written_alike(coded, names):
        rows = int(np.isin(codes, [names.index(name) for name in coded]).sum())
        yield Finding("missing code", str(series.name), rows=rows, n=len(series), values=tuple(coded))


def _are_written_alike(coded: list[str], names: list[str]) -> bool:
    """Return whether marks of letters are written as the other levels: ND is a state among states of two letters."""
    letters = [name for name in names if name.isalpha() and name.isupper()]
    length = len(coded[0])
    alike = [name for name in letters if len(name) == length]
    return all(code in alike for code in coded) and len(alike) - len(coded) >= ALIKE * (len(names) - len(coded))


def codes_in_numbers(series: pd.Series) -> Iterator[Finding]:
    """Yield the numbers at either end of a column that stand for a missing value."""
    numbers = read_numbers(series)
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    if values.size <= FEWEST_OTHERS or np.abs(values).max() > 2**53:
        return
    marks = sentinels(values, counts.astype(np.float64))
    alone = {"low": int(np.argmin(marks)), "high": int(np.argmin(marks[::-1]))}
    for end in ("low", "high"):
        n = _at_end(str(series.name), values, counts, end, alone[end])
        if not n or values.size - n < FEWEST_OTHERS:
            continue
        coded, rows = (values[:n], counts[:n]) if end == "low" else (values[-n:], counts[-n:])
        codes = tuple(level_name(float(value)) for value in coded)
        nearest = values[n] if end == "low" else values[-n - 1]
        yield Finding("missing code", str(series.name), rows=int(rows.sum()), n=len(series), values=codes,
                      nearest=level_name(float(nearest)))  # fmt: skip


def _at_end(name: str, values: Floats, counts: Ints, end: str, alone: int) -> int:
    """Return how many values at an end of a column stand for a missing one. alone : the spikes that stand apart."""
    ordered, rows = (-values[::-1], counts[::-1]) if end == "low" else (values, counts)
    shown = [level_name(float(value)) for value in (values if end == "low" else values[::-1])[:MOST_CODES]]
    for n in range(min(MOST_CODES, values.size - FEWEST_OTHERS), 0, -1):
        if all(code in NUMBERS for code in shown[:n]) and _apart(ordered, rows, n, shown[:n]):
            return n
    if (
        alone
        and all(float(code).is_integer() and _may_be(code, name) for code in shown[:alone])
        and alone <= MOST_CODES
    ):
        return alone
    return 1 if end == "low" and shown[0] == "0" and _is_no_age(name, values) else 0


def _apart(ordered: Floats, rows: Ints, n: int, shown: list[str]) -> bool:
    """Return whether the last n of ascending values, known codes, are far from the others, or far more frequent and
    made of nines: any other number may be where a column is capped."""
    others, own, coded = ordered[:-n], rows[:-n][-NEAREST:], rows[-n:]
    gap, widest = ordered[-n] - others[-1], float(np.diff(others[-NEAREST:]).max())
    if gap >= max(STEPS * widest, WIDE * (others[-1] - others[0])) and coded.sum() >= FEWEST_ROWS:
        return True
    return set("".join(shown)) <= set("-9") and bool(coded.min() >= max(SPIKE * own.mean(), SPIKE_ROWS))


def _may_be(code: str, name: str) -> bool:
    """Return whether a number may be a code by what it is: 0 is an amount, but for an age or a height."""
    return code != "0" or bool(words_of(name) & NEVER_ZERO)


def _is_no_age(name: str, values: Floats) -> bool:
    return bool(words_of(name) & AGES) and values[1] >= YOUNGEST_OF_ADULTS


def open_ends(series: pd.Series) -> Iterator[Finding]:
    """Yield the first or last day of a date column where it stands for none."""
    days = read_dates(series)
    values, counts = np.unique(np.floor(days[np.isfinite(days)]), return_counts=True)
    if values.size <= FEWEST_OTHERS:
        return
    spread = max(float(values[-2] - values[1]), YEAR)
    for at, near in ((0, 1), (-1, -2)):
        gap = abs(float(values[at] - values[near]))
        if gap > 2 * spread and gap > FAR if values[at] not in ENDS else gap > spread:
            yield Finding("open end", str(series.name), rows=int(counts[at]), n=len(series),
                          values=(stamp(values[at])[:10],), nearest=stamp(values[near])[:10])  # fmt: skip
