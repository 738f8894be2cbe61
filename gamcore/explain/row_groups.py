"""The groups of a column: its levels, or the bins of its numbers or dates, and its missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import Bins, fit_bins
from gamcore.data.column_names import PLAIN, Names
from gamcore.data.columns import TableError
from gamcore.data.cuts import names_of_bins
from gamcore.data.labels import labels_of
from gamcore.data.table import Table, learn_features, read_feature

MOST_BINS: Final = 10
"""Bins of numbers and dates."""

MOST_LEVELS: Final = 30
"""Levels that are groups: of more, the most frequent ones, and the others are one."""

CODES_BESIDE: Final = 2
"""Codes of missing and of unseen values."""

MISSING: Final = "(missing)"


@dataclass(frozen=True)
class Groups:
    """A column in groups.

    names : of its groups, those of numbers in order. codes : (n,) the group of each row that was not learned from.
    learned : (K,) the weights or exposures of the rows that were, by group; 0 where none are given.
    """

    column: str
    names: tuple[str, ...]
    codes: Ints
    learned: Floats

    def named(self, names: Names) -> Groups:
        """Return the groups with the column and its levels as people call them."""
        return replace(self, column=names.column(self.column),
                       names=tuple(names.level(self.column, name) for name in self.names))  # fmt: skip


def groups_of(table: Table, column: str, sizes: Floats, held: Bools) -> Groups:
    """Return the groups of a column, made from the rows that were not learned from.

    sizes : (n,) weights or exposures, of which bins have equal sums. held : (n,) the rows that were not learned from.
    """
    (feature,) = learn_features(Table(table.frame[[column]]))
    values = read_feature(table, feature)
    bins = fit_bins(feature, values[held], sizes[held], MOST_BINS + CODES_BESIDE, MOST_LEVELS + CODES_BESIDE)
    codes, others = (bins.encode_training(values[mask]).astype(np.int64) for mask in (held, ~held))
    named = (MISSING, *_names(bins))
    present, places = np.unique(codes, return_inverse=True)
    order = np.roll(np.arange(present.size), -int(present[0] == 0))  # missing cells last
    learned = np.bincount(others, sizes[~held], bins.size)[present[order]]
    names = tuple(named[present[k]] for k in order)
    return Groups(column, names, np.argsort(order)[places].astype(np.int64), learned.astype(np.float64))


def columns_of_interest(table: Table, columns: Sequence[str] | None) -> list[str]:
    """Return the columns that are asked about: those that are named, or all that can be read."""
    if columns is None:
        return [name for name in table.names if table.usable_kind(name) is not None]
    if lacking := [name for name in columns if name not in table]:
        raise TableError(f"The table has no column {lacking[0]!r}: add it, or leave it out of columns.")
    for name in columns:
        table.kind(name)
    return list(columns)


def _names(bins: Bins) -> tuple[str, ...]:
    if bins.feature.is_category:
        return labels_of(bins.members, bins.pooled)
    if not bins.n_values:
        return ()
    edges = np.array([bins.low, *bins.cuts, bins.high])
    return names_of_bins(edges, bins.beside, bins.display, bins.feature.kind, PLAIN)
