"""Who compiles what ahead of time."""

from __future__ import annotations

import pytest

from gamcore.kernels import warmup

pytestmark = pytest.mark.slow


class Child:
    def __init__(self, name, events):
        self.name, self.events = name, events
        events.append(f"start {name}")

    def wait(self):
        self.events.append(f"wait {self.name}")


@pytest.mark.parametrize(("cores", "compiled"), [(2, False), (8, True), (8, False)])
def test_children_compile_what_most_fits_need_last_where_cores_are_idle(monkeypatch, cores, compiled):
    events = []
    monkeypatch.setattr(warmup, "_child", lambda name: Child(name, events))
    monkeypatch.setattr(warmup, "is_compiled", lambda: compiled)
    monkeypatch.setattr(warmup.os, "cpu_count", lambda: cores)
    for name in ("_warm_curves", "_warm_pairs", "_warm_trees"):
        monkeypatch.setattr(warmup, name, lambda *_, name=name: events.append(name))
    monkeypatch.setattr(warmup, "FOLDER", None)
    shares = []
    warmup.warmup(shares.append)
    own = [one for one in events if one.startswith("_warm")]
    assert own == ["_warm_curves"] * 2 + ["_warm_pairs"] * 2 + ["_warm_trees"]
    assert shares[-1] == 1.0
    if cores > 2 and not compiled:
        assert events[:2] == ["start pairs", "start trees"]
        assert events.index("wait trees") == events.index("_warm_pairs") - 1
    else:
        assert events == own
