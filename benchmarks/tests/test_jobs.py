"""How the jobs of `benchmarks.app.jobs` are counted and timed, without a browser."""

from __future__ import annotations

import pytest

from benchmarks.app import jobs

pytestmark = pytest.mark.slow


def test_clicks_are_counted_and_seconds_begin_with_the_first(monkeypatch):
    monkeypatch.setattr(jobs, "settle", lambda page: None)
    now = iter([10.0, 14.5])
    hand = jobs.Hand(None, clock=lambda: next(now))
    hand.counted()
    hand.counted(2)
    assert hand.clicks == 3
    assert hand.seconds == 4.5


def test_the_table_of_results():
    rows = [{"job": "a", "clicks": 3, "seconds": 4.5}, {"job": "b", "clicks": 12, "seconds": 70.2}]
    assert jobs.table_of(rows).splitlines()[2:] == ["| a | 3 | 4 |", "| b | 12 | 70 |"]
