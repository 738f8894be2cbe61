"""The distinct values of a column of numbers, and the codes of their bins.

Both are numpy's for short columns, and kernels of ours for long ones, with the same result to the bit: there a sort of
bits and a search in step take a fifth of the time (`benchmarks.boosting.binning`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.common.types import Codes, Floats
from gamcore.kernels import CODE, N_CODES, WIDE_CODE
from gamcore.kernels import bin_numbers as kernels

MANY: Final = 20_000
"""Rows from which kernels are worth being compiled."""

_SIGN: Final = np.int64(-(2**63))


def distinct_values(values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return the distinct values in ascending order, and the rows (the sum of the weights) of each.

    values : (n,) without NaN. Negative zero is 0.
    """
    if values.size >= MANY:
        return _by_bits(values, np.empty(0) if weights is None else weights)
    if weights is None:
        distinct, counts = np.unique(values, return_counts=True)
        return distinct + 0.0, counts.astype(np.float64)
    distinct, where = np.unique(values, return_inverse=True)
    return distinct + 0.0, np.asarray(np.bincount(where, weights), np.float64)


def _by_bits(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    keys = (values + 0.0).view(np.int64)
    keys ^= (keys >> 63) | _SIGN  # negative numbers are turned whole, so that they count downwards
    both = keys.view(np.uint64), weights.astype(np.float64)  # copies: the sort overwrites them
    spare = np.empty_like(both[0]), np.empty_like(both[1])
    places = np.empty((kernels.N_BYTES, kernels.BYTES), np.int64)
    (keys_in_order, weights_in_order), (free, _) = (
        (spare, both) if kernels.sort_keys(*both, *spare, places) else (both, spare)
    )
    heavy = free.view(np.float64)
    n_distinct = kernels.merge_equal(keys_in_order, weights_in_order, heavy)
    kept = keys_in_order[:n_distinct].view(np.int64)
    return (kept ^ (~(kept >> 63) | _SIGN)).view(np.float64), heavy[:n_distinct].copy()


def code_type(size: int) -> type:
    """Return the type of the codes of a feature that has `size` of them."""
    return CODE if size <= N_CODES else WIDE_CODE


def codes_of(values: Floats, cuts: Floats | None) -> Codes:
    """Return 1 + the number of cuts <= value for each value (n,); 0 for NaN, and for all without bins."""
    if cuts is None:
        return np.zeros(values.size, CODE)
    kind = code_type(cuts.size + 3)
    if values.size < MANY:
        n_reached = np.searchsorted(cuts, values, side="right")
        return np.where(np.isnan(values), 0, n_reached + 1).astype(kind)
    codes: Codes = np.empty(values.size, kind)
    scratch = np.empty(kernels.TOGETHER, np.int64)
    kernels.find_bins(np.ascontiguousarray(values), kernels.padded(cuts), cuts.size, scratch, codes)
    return codes
