"""What the rows show of how a table came about, whatever its columns are called: what was planned, not observed, what
is said once of many rows, and which columns are one of many alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np
import pandas as pd

from gamcore.common.types import Floats, Ints
from gamcore.data.columns import read_numbers, read_texts
from gamcore.data.table import Table
from shapewise.doctor.examine import ColumnReport
from shapewise.doctor.name_words import words_in

Cue = Literal["planned", "of a group", "one of several", "alike", "count", "many values", "only class"]

MOST_ROWS: Final = 20_000
EQUALLY: Final = 0.9
"""Rows of the rarest value in those of the most frequent, from which these were planned."""

FEWEST_OF_VALUE: Final = 2
FEWEST_GROUPS: Final = 20
FEWEST_OF_GROUP: Final = 3
NEARLY_ALL: Final = 0.98
EXPECTED: Final = 5.0
"""Rows in which two unrelated columns would both be 1, of which a column that excludes the other has none."""

FEWEST_OTHERS: Final = 2
MANY_ALIKE: Final = 5
FEW_NUMBERS: Final = 12
MANY_VALUES: Final = 0.2
FEWEST_NUMBERS: Final = 3


def cues(table: Table, reports: Sequence[ColumnReport], groups: Sequence[str]) -> dict[str, set[Cue]]:
    """Return by column what the rows show of it.

    reports : of the columns that can be targets. groups : columns whose values are IDs of something with several rows.
    """
    part = Table(table.frame.iloc[:MOST_ROWS])
    codes = {r.name: _codes(part, r) for r in reports}
    several = _one_of_several({r.name: codes[r.name] for r in reports if r.distinct == 2})
    starts = Counter(words_in(r.name)[:1] for r in reports)
    classes = [r.name for r in reports if not _has_many(r, FEW_NUMBERS)]
    whom = [codes[name] for name in groups if name in codes]
    whom += [pd.factorize(part.frame[name])[0] for name in groups if name not in codes]
    by_column: dict[str, set[Cue]] = {}
    for r in reports:
        own = codes[r.name]
        holds: dict[Cue, bool] = {
            "planned": _is_planned(own),
            "of a group": any(_is_of_group(own, group) for group in whom if group is not own),
            "one of several": r.name in several,
            "alike": starts[words_in(r.name)[:1]] >= MANY_ALIKE,
            "count": r.kind == "number" and r.distinct >= FEWEST_NUMBERS and _is_count(own),
            "many values": _has_many(r, max(FEW_NUMBERS, MANY_VALUES * len(table))),
            "only class": classes == [r.name] and len(reports) > FEWEST_NUMBERS,
        }
        by_column[r.name] = {cue for cue, is_so in holds.items() if is_so}
    return by_column


def groups_among(reports: Sequence[ColumnReport], rows: int) -> list[str]:
    """Return the columns that tell groups of rows apart: IDs of several rows, and texts of many levels."""
    return [r.name for r in reports if r.role == "group" or (
        r.kind == "category" and r.distinct >= FEWEST_GROUPS and FEWEST_OF_GROUP * r.distinct <= rows)]  # fmt: skip


def _has_many(report: ColumnReport, values: float) -> bool:
    return report.kind == "number" and report.distinct > values


def _codes(table: Table, report: ColumnReport) -> Floats:
    """Return the cells (n,) of a column as numbers, NaN for missing."""
    series = table.frame[report.name]
    if report.kind == "number":
        return read_numbers(series)
    codes = read_texts(series)[0]
    return np.where(codes < 0, np.nan, codes)


def _is_planned(codes: Floats) -> bool:
    """Return whether each value has as many rows, as what was observed seldom has."""
    _, rows = np.unique(codes[np.isfinite(codes)], return_counts=True)
    equally = EQUALLY if rows.size > FEWEST_OF_VALUE else 1.0  # yes and no may be as frequent by chance
    return bool(rows.size > 1 and rows.min() >= max(equally * rows.max(), FEWEST_OF_VALUE))


def _is_of_group(codes: Floats, group: Ints | Floats) -> bool:
    """Return whether rows of a group have the same value, so that it is said of the group and not of a row."""
    known = np.isfinite(codes)
    if not known.any():
        return False
    values = pd.Series(codes[known])
    groups = values.groupby(np.asarray(group)[known])
    return bool(groups.ngroups < values.size and (groups.transform("first") == values).mean() >= NEARLY_ALL)


def _is_count(codes: Floats) -> bool:
    known = codes[np.isfinite(codes)]
    return bool(known.size and known.min() == 0 and not (known % 1).any())


def _one_of_several(of_two: dict[str, Floats]) -> set[str]:
    """Return the 0/1 columns that exclude at least two others, as those made of one category do."""
    ones = np.array([codes == np.nanmax(codes) for codes in of_two.values() if np.isfinite(codes).any()], float)
    if len(ones) <= FEWEST_OTHERS:
        return set()
    both, share = ones @ ones.T, ones.mean(axis=1)
    excluded = (both == 0) & (np.outer(share, share) * ones.shape[1] >= EXPECTED)
    return set(_named(of_two, excluded.sum(axis=1)))


def _named(of_two: dict[str, Floats], excluded: Ints) -> Iterator[str]:
    names = [name for name, codes in of_two.items() if np.isfinite(codes).any()]
    yield from (name for name, others in zip(names, excluded, strict=True) if others >= FEWEST_OTHERS)
