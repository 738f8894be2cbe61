"""The arithmetic of the benchmark of first fits, on invented seconds."""

from __future__ import annotations

import pytest

from benchmarks.boosting import cold

pytestmark = pytest.mark.slow


def test_the_least_of_all_runs_counts():
    least = {}
    for seconds in (3.0, 2.0, 4.0):
        cold.merge(least, "this", "cold", {"classifier": seconds, "import": 1.0})
    assert least == {("this", "cold", "classifier"): 2.0, ("this", "cold", "import"): 1.0}


def test_versions_are_compared_side_by_side():
    least = {}
    cold.merge(least, cold.HERE, "cold", {"classifier": 5.0})
    cold.merge(least, cold.OTHER, "cold", {"classifier": 20.0})
    cold.merge(least, "EBM", "cold", {"EBM": 0.5})
    frame = cold.table(least)
    assert frame.loc[("cold", "classifier"), "share"] == pytest.approx(0.25)
    assert frame.loc[("cold", "EBM"), "EBM"] == 0.5
    assert "share" not in cold.table({("this", "warm", "tasks"): 0.2})


def test_versions_take_turns_and_every_run_is_cold_then_warm(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(cold, "measure", lambda checkout, cache, kinds: asked.append((checkout, cache, kinds)) or {})
    cold.run_all({"this": tmp_path / "a", "other": tmp_path / "b"}, 2)
    assert [version[0].name for version in asked[::5]] == ["a", "b", "b", "a"]
    first, second, third = asked[:3]
    assert first == second  # the same cache again
    assert third[1] != first[1]
