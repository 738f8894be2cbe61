"""Open ends and other tables of strangers, on the pages Data and Train."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.support.pages import open_page


def open_ends(n=120):
    ends = np.array(["2024-05-01", "9999-12-31", "0001-01-01"], "datetime64[us]")
    k = np.arange(n)
    return pd.DataFrame({"age": 20.0 + k % 50, "valid_to": ends[k % 3], "renewed": (k % 2).astype(float)})


def without_numbers(n=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "colour": rng.choice(["red", "blue", "green"], n), "shop": rng.choice(["a", "b"], n),
        "price": rng.normal(10, 2, n),
    })  # fmt: skip


def one_of_a_class(n=150):
    rng = np.random.default_rng(0)
    kinds = np.where(np.arange(n) < 1, "minivan", rng.choice(["suv", "compact", "pickup"], n))
    return pd.DataFrame({"size": rng.normal(size=n), "class": kinds})


@pytest.mark.slow
@pytest.mark.parametrize("table", [open_ends, without_numbers, one_of_a_class], ids=lambda one: one.__name__)
def test_the_pages_data_and_train_are_there(space, table):
    made = space.tables.add(table(), "a stranger's")
    for page in ("data", "train"):
        assert not open_page(page, table=made.id).error
