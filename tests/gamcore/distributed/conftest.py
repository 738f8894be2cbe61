"""A cluster for the tests of a file, and counts of small tables."""

from __future__ import annotations

import pytest
from distributed import Client

from gamcore.boosting import table_counts
from tests.support.pieces import cluster


@pytest.fixture(scope="module")
def client() -> Client:
    with cluster() as made:
        yield made


@pytest.fixture
def counts(monkeypatch):
    monkeypatch.setattr(table_counts, "FEWEST_ROWS", 1)
    monkeypatch.setattr(table_counts, "ROWS_PER_PAIR", 1)
