"""What kept counts must share to be added up, and the bounds within which sums are exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from gamcore.boosting.counts.bin_pairs import table_bytes
from gamcore.boosting.counts.whole_numbers import EXACT_BITS, LARGEST_BITS, Scale
from gamcore.common.numbers import size
from gamcore.common.types import Floats, Ints
from gamcore.data.binning import Bins
from gamcore.data.columns import TableError
from gamcore.model.additive import Given

MOST_BYTES: Final = 2**31
"""Most bytes of counts that are kept."""


@dataclass(frozen=True)
class Origin:
    """What counts must share to be added up: the bins, and how targets and weights became whole numbers.

    centre, spread : of the targets of the first fit. weight_by : what its weights were divided by. seed : of the deal
    into groups.
    """

    bins: tuple[Bins, ...]
    scale: Scale
    centre: float
    spread: float
    weight_by: float
    seed: int
    n_groups: int
    given: tuple[Given, ...] = ()

    @cached_property
    def last(self) -> Ints:
        """The largest code (p,) of each feature; levels that a fit has not seen share one, for later rows."""
        return np.array([column.n_values + column.feature.is_category for column in self.bins], np.int64)

    @cached_property
    def counted(self) -> Ints:
        """The features that are counted: those with more than one code."""
        return np.flatnonzero(self.last > 0).astype(np.int64)

    def is_same(self, other: Origin) -> bool:
        """Return whether counts of both can be added up."""
        plain = (self.scale, self.centre, self.spread, self.weight_by, self.seed, self.n_groups, self.given)
        same = plain == (other.scale, other.centre, other.spread, other.weight_by, other.seed, other.n_groups,
                         other.given)  # fmt: skip
        pairs = zip(self.bins, other.bins, strict=False)
        return same and len(self.bins) == len(other.bins) and all(_are_alike(*pair) for pair in pairs)


def _are_alike(first: Bins, other: Bins) -> bool:
    """Return whether bins code every value alike."""
    names = first.feature.name == other.feature.name and first.feature.kind == other.feature.kind
    return names and np.array_equal(first.cuts, other.cuts) and first.codes_of_levels == other.codes_of_levels


def refuse_size(last: Ints, n_groups: int, is_weighted: bool) -> None:
    """Raise TableError where counts would be too many to keep."""
    needed = table_bytes((last + 1).tolist(), n_groups, wide=is_weighted)
    if needed > MOST_BYTES:
        raise TableError(
            f"Counts of these features take {size(needed)}, more than the {size(MOST_BYTES)} that may be kept: choose "
            "fewer features, fewer bins or fewer groups."
        )


def check_range(sums: dict[str, Floats], scale: Scale) -> None:
    """Raise TableError where sums are no longer exact."""
    most = 2.0 ** (EXACT_BITS + 1)
    lines = 2.0 ** (LARGEST_BITS + 1)
    if any(np.abs(each).max(initial=0.0) >= most for each in sums.values()) or sums["weight"].max(initial=0.0) >= lines:
        raise TableError(
            "The rows to add are far more, or their targets far larger, than the counts have room for: fit anew."
        )
