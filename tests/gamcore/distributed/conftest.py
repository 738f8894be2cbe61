"""Counts of small tables."""

from __future__ import annotations

import pytest

from gamcore.boosting.counts import bin_pairs as table_counts


@pytest.fixture
def counts(monkeypatch):
    monkeypatch.setattr(table_counts, "FEWEST_ROWS", 1)
    monkeypatch.setattr(table_counts, "ROWS_PER_PAIR", 1)
