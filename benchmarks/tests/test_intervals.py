"""What the benchmarks of intervals take for the truth is what they draw from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.boosting import count_intervals, intervals

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", intervals.SCENARIOS)
def test_known_quantiles_hold_as_often_as_they_say(name):
    scenario = intervals.SCENARIOS[name]
    _, y, mean, spread = intervals.draw(scenario, 40_000, np.random.default_rng(0))
    for share in (0.05, 0.5, 0.95):
        at = scenario.quantile(share, mean, spread)
        assert np.mean(y <= at) == pytest.approx(share, abs=0.01)


def test_a_table_of_intervals_is_the_mean_over_cells():
    shares = {"inside": 0.9, "below": 0.04, "above": 0.06, "width": 2.0, "known width": 1.0, "alike": 0.5}
    cells = [{"name": "skewed", **{f"{c:g}": {**shares, "inside": c + shift} for c in intervals.COVERAGES}}
             for shift in (-0.025, 0.01)]  # fmt: skip
    table = intervals.table(pd.DataFrame(cells))
    assert table["inside"].tolist() == ["79.25 ± 1.75", "89.25 ± 1.75", "94.25 ± 1.75"]
    assert table["width / known"].tolist() == [2.0] * 3
    assert table["within a point"].all()
    row = intervals.side_by_side(table).loc["skewed"]
    assert row[["inside of 80%", "inside of 95%", "below, 90%"]].tolist() == ["79.25 ± 1.75", "94.25 ± 1.75", "4.00"]
    assert not intervals.table(pd.DataFrame(cells[:1]))["within a point"].any()


@pytest.mark.parametrize("kind", count_intervals.KINDS)
def test_counts_are_overdispersed_but_for_one_kind(kind):
    X, exposure, y = count_intervals.draw(kind, 0.5, 60_000, np.random.default_rng(0))
    mean = np.exp(0.5 + np.sin(X["age"] / 12) + 0.5 * (X["zone"] == "b")).to_numpy() * exposure
    assert y.mean() == pytest.approx(mean.mean(), rel=0.03)
    assert (np.mean((y - mean) ** 2 / mean) > 1.1) == (kind != "poisson")
