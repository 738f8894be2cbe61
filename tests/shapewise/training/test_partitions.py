"""Parts of a table by a column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.rules import Levels, Range
from shapewise.training.partitions import MOST_PARTS, periods, split
from shapewise.training.spec import Spec
from tests.support.spaces import spec_of


def table(n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": rng.normal(size=n), "few": rng.integers(0, 3, n)})
    frame["level"] = rng.choice(list("abcdefghij"), n, p=np.array([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) / 55)
    frame["flag"] = rng.uniform(size=n) < 0.3
    frame["day"] = pd.Timestamp("2023-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    frame.loc[::13, ["number", "day", "level"]] = None
    return frame


@pytest.mark.parametrize("column", ["number", "few", "flag", "day"])
def test_parts_hold_every_row_with_a_value_once(column):
    frame = table()
    found = split(frame, column)
    assert 2 <= len(found) <= MOST_PARTS
    inside = np.stack([condition.holds(frame) for _, condition in found])
    np.testing.assert_array_equal(inside.sum(axis=0), frame[column].notna().astype(int))
    assert len({label for label, _ in found}) == len(found)
    assert all(condition.words().startswith(column) for _, condition in found)


def test_the_most_frequent_levels_are_parts():
    frame = table()
    expected = frame["level"].value_counts().index[:MOST_PARTS].tolist()
    assert [label for label, _ in split(frame, "level")] == expected


def test_ranges_have_equal_rows_and_periods_their_names():
    frame = table()
    sizes = [condition.holds(frame).sum() for _, condition in split(frame, "number")]
    assert np.ptp(sizes) <= 2
    assert [label for label, _ in split(frame, "day")] == ["2023", "2024", "2025"]
    short = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60)})
    assert [label for label, _ in split(short, "day")] == ["2024-01", "2024-02"]
    long = pd.DataFrame({"day": pd.date_range("1950-01-01", periods=60, freq="YS")})
    assert len(split(long, "day")) == MOST_PARTS
    assert split(long, "day")[0][0] == "from 1950-01-01"


def test_borders_of_ranges_are_as_round_as_many_rows_allow():
    frame = pd.DataFrame({"km": np.random.default_rng(0).gamma(2.0, 1.3, 20_000)})
    found = split(frame, "km")
    sizes = [rule.holds(frame).sum() for _, rule in found]
    assert np.ptp(sizes) <= 0.01 * len(frame)
    assert max(len(label) for label, _ in found) <= len("at least 1.25 and below 2.19")


def test_a_heavy_value_and_long_numbers_are_parts_of_their_own():
    heavy = pd.DataFrame({"a": [0.0] * 80 + [float(k) for k in range(1, 21)]})
    found = split(heavy, "a")
    assert found[0][1].holds(heavy).sum() == 80
    assert sum(condition.holds(heavy).sum() for _, condition in found) == 100
    long = pd.DataFrame({"a": [1000001, 1000002, 1000003] * 5})
    assert [label for label, _ in split(long, "a")] == ["1000001", "1000002", "1000003"]


def test_what_cannot_be_split_is_refused_in_words():
    with pytest.raises(TableError, match="no column 'z'"):
        split(table(), "z")
    with pytest.raises(TableError, match="only one value"):
        split(pd.DataFrame({"a": [1.0, 1.0, np.nan]}), "a")
    with pytest.raises(TableError, match="only one value"):
        split(pd.DataFrame({"a": pd.to_datetime([None, None])}), "a")


@pytest.mark.parametrize("values", [
    np.arange(202301, 202313), 20240100 + np.arange(1, 29), np.arange(202301, 202401), 1e9 + np.arange(1000) ** 2,
    np.arange(300) * 1e-8, np.arange(7) * 1e-7, 1e16 + 4 * np.arange(90), np.arange(200.0) ** 3,
])  # fmt: skip
def test_periods_of_numbers_are_written_out_and_have_the_rows_that_their_names_say(values):
    table = Table.of(pd.DataFrame({"t": values}))
    codes, names = periods(table, "t")
    assert len(set(names)) == len(names)
    assert not any("e" in name.removeprefix("from ") for name in names)
    starts = [float(name.removeprefix("from ")) for name in names]
    assert codes.tolist() == (np.searchsorted(starts, values, side="right") - 1).tolist()


@pytest.mark.parametrize("column", ["number", "few", "day"])
def test_periods_are_in_order_and_few(column):
    frame = table()
    codes, names = periods(Table.of(frame), column, 24)
    assert ((codes >= 0) == frame[column].notna()).all()
    assert codes.max() < len(names) <= 24
    known = frame.loc[codes >= 0, column]
    pairs = pd.DataFrame({"code": codes[codes >= 0], "value": known.to_numpy()}).sort_values("value")
    assert pairs["code"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("kept", "rule"),
    [
        ({"levels": ["a", "b"]}, Levels("x", ("a", "b"))),
        ({"low": 1.0, "high": 3.0}, Range("x", 1, 3, high_in=True)),
        ({"below": 20.0, "date": True}, Range("x", None, 20, date=True)),
    ],
)
def test_specifications_from_before_conditions_were_rules_are_read(kept, rule):
    spec = spec_of("01")
    condition = {"column": "x", "levels": None, "low": None, "high": None, "below": None, "date": False, **kept}
    assert Spec.from_dict({**spec.to_dict(), "conditions": [condition]}).conditions == [rule]
    assert Spec.from_dict(replace(spec, conditions=[rule]).to_dict()).conditions == [rule]


def test_parts_of_numbered_categories_have_rows():
    table = pd.DataFrame({"c": pd.Categorical([1.0, 2.5, 3.0, 1.0] * 20)})
    for label, rule in split(table, "c"):
        assert rule.holds(table).any(), label
