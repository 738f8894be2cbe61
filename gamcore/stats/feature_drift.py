"""Drift of the distributions of features between two sets of rows."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.data.binning import Bins, encode_table, merge_bins
from gamcore.stats.metrics import stability

PARTS: Final = 10
"""Parts of a distribution that are compared, besides missing and unseen."""

COLUMNS: Final = ["feature", "stability", "by chance", "missing before", "missing after", "unseen after"]


def drift(X: pd.DataFrame, bins: tuple[Bins, ...], later: NDArray[np.bool_]) -> pd.DataFrame:
    """Return how the distribution of each feature moved from the other rows of a table to the `later` ones (n,).

    Columns: feature, stability (the population stability index), by chance (its mean without drift), missing
    before and after, unseen after (shares); the most moved first.
    """
    if not bins:
        return pd.DataFrame(columns=COLUMNS)
    codes, rows = encode_table(X, bins), []
    for line, of_feature in zip(codes, bins, strict=True):
        before, after = (np.bincount(line[part], minlength=of_feature.size).astype(float) for part in (~later, later))
        coarse = _coarse(of_feature, before + after)
        parts = [np.bincount(coarse, counts, int(coarse.max()) + 1).astype(np.float64) for counts in (before, after)]
        shares = [counts / max(counts.sum(), 1.0) for counts in (before, after)]
        name = of_feature.feature.name
        rows.append((name, *stability(parts[0], parts[1]), shares[0][0], shares[1][0], shares[1][of_feature.unseen]))
    return pd.DataFrame(rows, columns=COLUMNS).sort_values("stability", ascending=False, ignore_index=True)


def _coarse(bins: Bins, counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the part (size,) of each code: missing 0, unseen last.

    Numbers are split into parts with equally many rows; the rarer levels share one part.
    """
    if not bins.feature.is_category:
        merged = merge_bins(counts, np.arange(1, bins.n_values + 1), PARTS, 0.0)[: bins.size].astype(np.int64)
    else:
        merged = np.zeros(bins.size, np.int64)
        often_first = 1 + np.argsort(-counts[1:-1], kind="stable")
        merged[often_first] = np.minimum(np.arange(1, bins.n_values + 1), PARTS)
    merged[-1] = merged.max() + 1
    return merged
