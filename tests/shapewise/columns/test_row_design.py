"""What the rows show of how a table came about, on tables made so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from shapewise.columns.roles import roles_of
from shapewise.columns.row_design import cues, groups_among
from shapewise.doctor.examine import examine


def shown(frame):
    table = Table.of(frame)
    reports = [r for r in examine(frame) if r.kind is not None]
    return cues(table, reports, groups_among(reports, len(table)))


@pytest.mark.parametrize("seed", range(5))
def test_a_design_is_told_from_what_was_observed(seed):
    rng = np.random.default_rng(seed)
    subjects, times = 40, 6
    n = subjects * times
    sex = rng.choice(["f", "m"], subjects)
    region = rng.integers(0, 4, subjects)
    frame = pd.DataFrame({
        "subject": np.repeat([f"S{k}" for k in range(subjects)], times), "time": np.tile(np.arange(times), subjects),
        "sex": np.repeat(sex, times), "errors": rng.poisson(2, n), "reading": rng.normal(size=n),
        "mood": rng.integers(1, 6, n), **{f"is_{k}": np.repeat(region == k, times).astype(int) for k in range(4)},
    })  # fmt: skip
    found = shown(frame)
    kinds = ("planned", "of a group", "one of several", "count", "many values")
    named = {kind: {name for name, own in found.items() if kind in own} for kind in kinds}
    dummies = {f"is_{k}" for k in range(4)}
    assert named["planned"] == {"subject", "time"}
    assert named["of a group"] == {"sex", *dummies}
    assert named["one of several"] == dummies
    assert named["count"] == {"time", "errors"}
    assert named["many values"] == {"reading"}


def test_columns_that_could_both_be_1_are_not_of_one_category():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((300, 6)) < 0.02, columns=list("abcdef")).astype(int)  # too rare to tell
    assert not any("one of several" in own for own in shown(frame).values())


def test_the_only_class_among_numbers_is_what_they_tell_apart():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(300, 6)), columns=[f"assay{k}" for k in range(6)])
    frame["type"] = rng.choice(["ductal", "lobular"], 300, p=[0.3, 0.7])
    assert roles_of(Table.of(frame), examine(frame)).targets[0].column == "type"


@pytest.mark.parametrize("rows", [1, 2])
def test_a_table_of_hardly_a_row_shows_nothing_false(rows):
    frame = pd.DataFrame({"a": [1.0, 2.0][:rows], "b": ["x", "y"][:rows], "c": [None, 1][:rows]})
    assert all("planned" not in own and "of a group" not in own for own in shown(frame).values())
