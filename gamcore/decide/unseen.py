"""Segments of an effect measured by all rows of a test, each through a model that has not seen it.

A range that was found on a curve looks better in the rows that bent the curve than it is. So the rows are dealt into
parts, and a model is learnt without each (cross-fitting: Chernozhukov et al. 2018). A row of a part counts as inside a
segment if the model without that part says so: if it is among the same share of the part's rows that the segment's own
features put highest (or lowest, of a segment below the mean). Where that model has none of the features, or puts mostly
other rows there, the part says nothing about the segment and is left out. Rows that the whole model has not seen are
inside where the rule says so.

That a range is looked at at all is still decided by these rows: on each curve, what is above its mean and what is
below. Intervals hold for all of these at once, so they hold for those that are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.binning import encode_table
from gamcore.data.table import Table
from gamcore.decide.rules import AnyOf, Rule
from gamcore.decide.segments import HeldOutRows
from gamcore.model.additive import AdditiveModel

ALIKE: Final = 0.5
"""Overlap (rows in both over rows in either) below which a part's model means other rows than the rule."""


@dataclass(frozen=True)
class Unseen:
    """What is said of each row by a model that has not seen it.

    part : (n,) 0 for rows that the whole model has not seen, else the part that its model was learnt without.
    predicted : (n,) the effect, on one base for all parts. curves : by column, what its curves add to it (n,).
    """

    part: Ints
    predicted: Floats
    curves: Mapping[str, Floats]


def curves_of(model: AdditiveModel, table: Table) -> dict[str, Floats]:
    """Return what the curves of each column add to the score of each row (n,), of the columns that have any."""
    codes, added = encode_table(table, model.bins), dict[str, Floats]()
    for bins, term, code in zip(model.bins, model.terms, codes, strict=True):
        if np.ptp(term.scores) > 0:
            column = bins.feature.column
            added[column] = added.get(column, np.zeros(len(table))) + term.scores[code]
    return added


class UnseenRows(HeldOutRows):
    """All rows of a test, to judge many rules. unseen : see `Unseen`; the rest as for `HeldOutRows`."""

    def __init__(self, model: AdditiveModel, X: Any, y: Floats, *, unseen: Unseen, **others: Any) -> None:
        super().__init__(model, X, y, **others)
        self.unseen = unseen
        self._curved = {bins.feature.column for bins, term in zip(model.bins, model.terms, strict=True)
                        if np.ptp(term.scores) > 0}  # fmt: skip

    def at_once(self, rule: Rule) -> int:
        """Return of how many ranges these rows have chosen a rule: two per curve of the model, above and below."""
        return 2 * len(self._curved) if self._curved & set(rule.columns) else 1

    def members(self, rule: Rule) -> tuple[Bools, Bools]:
        """Return which rows (n,) are inside a rule, and which say anything about it."""
        holds, every = rule.holds(self.table), np.ones(self.y.size, bool)
        if not rule.columns:
            return holds, every
        parts = rule.rules if isinstance(rule, AnyOf) else (rule,)
        inside, known = holds.copy(), every
        for number in range(1, int(self.unseen.part.max(initial=0)) + 1):
            rows = np.flatnonzero(self.unseen.part == number)
            inside[rows] = False
            for part in parts:
                put_there = self._inside(part, rows)
                if put_there is None:
                    known[rows] = False
                else:
                    inside[rows] |= put_there
        return inside & known, known

    def _inside(self, rule: Rule, rows: Ints) -> Bools | None:
        """Return which of some rows of a part are inside a rule as the model without them has it; None if it says
        nothing."""
        meant = rule.holds(self.table)
        up = self._contrast(rule, meant)[0] > 0
        curves = [self.unseen.curves[name] for name in rule.columns if name in self.unseen.curves]
        effect = sum((curve[rows] for curve in curves), np.zeros(rows.size))
        share = float(meant[rows].mean())
        if not 0 < share < 1 or not np.ptp(effect) > 0:
            return None
        order = -effect if up else effect
        levels, sizes = np.unique(order, return_counts=True)
        line = levels[int(np.abs(np.cumsum(sizes) / rows.size - share).argmin())]
        put_there: Bools = order <= line
        both, either = put_there & meant[rows], put_there | meant[rows]
        return put_there if both.sum() >= ALIKE * either.sum() else None
