"""The tables of the sources: what is printed, and ours beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.boosting import alphas, scenarios
from tests.support.real_tables import BINARY, REGRESSION


def test_the_printed_columns_are_whole():
    printed = pd.read_csv(alphas.PRINTED, index_col="variant")
    assert set(printed) > {*BINARY, *REGRESSION}
    assert [name for name, _ in alphas.variants(True, list(alphas.ALPHAS), alphas.RATE)] == list(printed.index)
    numbers = printed["compact"].str.split(" ± ").str[0].astype(float)
    assert numbers["MART-subagging-0.65"] == 2.6634
    assert printed["credit"].notna().all()
    assert printed["compact"].notna().sum() == 8


def test_ours_stand_beside_what_is_printed_and_the_farthest_alpha_is_named():
    rows = [("MART-bagging", seed, 2.0 + seed) for seed in range(3)]
    rows += [("MART-subagging-0.50", seed, 2.1 + seed) for seed in range(3)]
    rows += [("MART-subagging-0.80", seed, 1.7 + seed) for seed in range(2)]
    cells = pd.DataFrame(rows, columns=["variant", "seed", "value"]).assign(table="compact", rate=alphas.RATE)
    row = alphas.sweep(cells).loc["compact"]
    assert row["bagging, printed"] == "2.6635 ± 0.1124"
    assert row["bagging"] == "3.0000 ± 1.0000"
    assert row[["farthest alpha", "to bagging"]].tolist() == ["0.80", "-0.3000"]
    assert alphas.sweep(cells.iloc[:0]).empty


@pytest.mark.parametrize("scenario", scenarios.SCENARIOS)
def test_the_true_chances_of_a_scenario_are_its_rates(scenario):
    X, y, chance = scenarios.rows_of(scenario)
    assert not set(scenarios.NO_FEATURES) & set(X)
    error = np.sqrt((chance * (1 - chance)).sum()) / len(y)
    assert y.mean() == pytest.approx(chance.mean(), abs=4 * error)
