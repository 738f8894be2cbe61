"""What columns show beside each other, on tables made so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from shapewise.columns.roles import roles_of
from shapewise.columns.ties import repeats_amounts, said_together, sample_of, ties_by_rank
from shapewise.doctor.examine import examine


def births(seed, n=1_500):
    """Weights at birth by what mothers do, with the tax and the price of cigarettes of their state."""
    rng = np.random.default_rng(seed)
    state, smoked = rng.integers(0, 30, n), rng.poisson(2, n)
    income, order = rng.gamma(3, 10, n).round(1), rng.integers(1, 5, n)
    tax = rng.uniform(10, 40, 30).round(1)
    price = (100 + tax + rng.normal(0, 5, 30)).round(4)
    grams = 3300 - 60 * smoked + 4 * income + 50 * order + rng.normal(0, 300, n)
    return pd.DataFrame({"income": income, "tax": tax[state], "price": price[state], "order": order, "habit": smoked,
                         "grams": grams.round()})  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_an_outcome_depends_on_most_and_a_policy_is_said_of_many_rows(seed):
    frame = births(seed)
    table = Table.of(frame)
    part = sample_of(table)
    ranks = ties_by_rank(part, examine(table))
    assert max(ranks, key=lambda name: ranks[name] - 0.5 * (name in ("tax", "price"))) == "grams"
    assert sum(ranks.values()) == pytest.approx(0, abs=1e-12)
    assert said_together(part, list(frame)) == {"tax", "price"}
    assert [name for name in frame if repeats_amounts(part, name)] == ["tax", "price"]
    assert roles_of(table, examine(table)).targets[0].column == "grams"


def test_columns_of_nothing_have_no_ties():
    frame = pd.DataFrame({"a": np.arange(60.0), "b": [None] * 59 + [1.0], "c": ["x"] * 60})
    assert ties_by_rank(Table.of(frame), examine(frame)) == {}
    assert said_together(Table.of(frame), list(frame)) == set()
    rng = np.random.default_rng(0)
    unrelated = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    assert set(ties_by_rank(Table.of(unrelated), examine(unrelated)).values()) == {0.0}
    assert said_together(Table.of(unrelated), list(unrelated)) == set()
