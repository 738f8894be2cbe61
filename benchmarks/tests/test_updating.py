"""The benchmark of new rows without the old ones."""

from __future__ import annotations

import pytest

from benchmarks.boosting import updating

pytestmark = pytest.mark.slow


def test_the_benchmark_compares_with_counts_of_all_rows_at_once():
    cell = updating.measured(20_000, 4, n_jobs=2)
    assert cell["equal"]
    assert cell["counts, MiB"] > 1
