"""The rows of a fit as codes, and parts of them as problems to boost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gamcore.binning import Binned
from gamcore.groups import Deal, Seed, deal
from gamcore.kernels.layout import Table
from gamcore.losses import Loss
from gamcore.refit import Problem
from gamcore.table import TableError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DRAWS: Final = 50


@dataclass(frozen=True)
class Encoded:
    """Rows of a fit.

    y : (n,); weight : (n,) or None for 1 each; clusters : (n,) codes of rows that stay together, or None; strata : (n,)
    classes that every part gets its share of, or None.
    """

    binned: Binned
    y: Floats
    weight: Floats | None
    loss: Loss
    clusters: Ints | None = None
    strata: Ints | None = None

    def deal(self, n_groups: int, seed: Seed) -> Deal:
        """Deal the rows into groups."""
        return deal(self.y.size, n_groups, seed, self.strata, self.clusters)

    def problem(self, dealt: Deal) -> Problem:
        """The rows in group order."""
        weight = np.empty(0) if self.weight is None else self.weight[dealt.order]
        return Problem(group_order(self.binned, dealt), self.y[dealt.order], weight, self.loss)

    def half(self, seed: Seed) -> Encoded:
        """Half of the rows, whole clusters where there are any: at least two, and both classes.

        Where one cluster has most of the rows, a half may have to be drawn some times; TableError where none will do.
        """
        source = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        for draw in source.spawn(MOST_DRAWS):
            dealt = self.deal(2, draw)
            rows = np.sort(dealt.order[: dealt.starts[1]])
            if self._will_do(rows):
                return self._take(rows)
        raise TableError("One group has most of the rows, so halves of them cannot be drawn: leave the groups out.")

    def _will_do(self, rows: Ints) -> bool:
        """Whether some rows can be learnt from and validated on."""
        several = self.clusters is None or np.unique(self.clusters[rows]).size > 1
        return several and (self.strata is None or bool(np.ptp(self.strata[rows]) > 0 or np.ptp(self.strata) == 0))

    def _take(self, rows: Ints) -> Encoded:
        return replace(
            self,
            binned=replace(self.binned, codes=np.ascontiguousarray(self.binned.codes[:, rows])),
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            clusters=None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1],
            strata=None if self.strata is None else self.strata[rows],
        )


def group_order(binned: Binned, dealt: Deal) -> Table:
    """The codes of all features, rows in group order."""
    last = np.array([bins.n_values for bins in binned.bins], np.int64)
    codes = np.empty(binned.codes.shape, binned.codes.dtype)  # a line a feature, whatever the layout of what is given
    for j, line in enumerate(binned.codes):
        np.take(line, dealt.order, out=codes[j])
    varied = [bool(np.any(line != line[0])) for line in codes]
    nominal = np.array([bins.feature.is_category for bins in binned.bins])
    return Table(codes, dealt.starts, last, nominal, np.flatnonzero(varied).astype(np.int64))
