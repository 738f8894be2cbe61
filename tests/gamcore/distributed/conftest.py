"""Counts of small tables."""

from __future__ import annotations

import pytest

from gamcore.boosting.counts import bin_pairs


@pytest.fixture
def counts(monkeypatch):
    monkeypatch.setattr(bin_pairs, "FEWEST_ROWS", 1)
    monkeypatch.setattr(bin_pairs, "ROWS_PER_PAIR", 1)
