"""Marks on a curve, without a page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMRegressor
from gamcore.decide.rules import Range
from gamcore.decide.segments import range_of
from shapewise.ui.explain import brush


@pytest.fixture
def marks(monkeypatch):
    """Return the model, its curve and bins, of a column of two values, on a page that has nothing marked."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"ill": rng.integers(0, 2, 300)})
    model = GAMRegressor(random_state=0, outer_bags=1, max_rounds=5).fit(frame, frame["ill"])
    monkeypatch.setattr(brush, "st", SimpleNamespace(session_state={}))
    about: Any = SimpleNamespace(id="m", table="t")
    return about, model.explain_shape("ill"), model.model_.bins[0]


@pytest.mark.parametrize("k", [0, 1])
def test_one_of_two_values_is_marked_as_it_was_suggested(marks, k):
    about, curve, bins = marks
    suggested = range_of(bins, k, k + 1)
    brush._take_rule(about, curve, suggested)
    assert brush.marked(about, curve) == suggested == Range("ill", k, k, high_in=True)
    brush._fill(about, curve, bins, k, k + 1)  # as by dragging
    assert brush.marked(about, curve) == suggested
