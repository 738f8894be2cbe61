from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from shapewise.columns.roles import roles_of
from shapewise.doctor import examine as doctor
from shapewise.doctor.examine import HISTOGRAM_BARS, examine
from shapewise.doctor.leaks import leaks


def frame(n=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "id": [f"C{k}" for k in rng.permutation(n)],
            "row": np.arange(n),
            "constant": 1,
            "gone": [None] * n,
            "sparse": np.where(np.arange(n) % 4 == 0, np.arange(n) % 3, np.nan),
            "fine": rng.normal(size=n),
            "level": rng.choice(list("abc"), n),
            "near_copy": y + rng.normal(scale=0.01, size=n),
            "copy": np.where(y == 1, "won", "lost"),
            "nested": [[1]] * n,
            "date": pd.date_range("2024-01-01", periods=n),
            "y": y,
        }
    )


def reports():
    return {report.name: report for report in examine(frame())}


def test_warnings_and_roles():
    found = reports()
    assert {name for name, r in found.items() if r.role == "leave out"} == {
        "constant", "gone", "nested", "copy", "y",  # both say where the near copy is above its middle
    }  # fmt: skip
    assert {name for name, r in found.items() if r.role == "id"} == {"id", "row"}
    for name, words in {
        "id": "looks like an ID", "row": "looks like an ID", "constant": "constant", "gone": "every cell is missing",
        "sparse": "mostly missing (75%)", "nested": "mixes or nests",
    }.items():  # fmt: skip
        assert any(words in warning for warning in found[name].warnings), name
    assert not found["fine"].warnings
    assert found["nested"].kind is None


def test_counts():
    found = reports()
    assert found["level"].distinct == 3
    assert sum(found["level"].histogram) == 400
    assert len(found["fine"].histogram) == HISTOGRAM_BARS
    assert sum(found["fine"].histogram) >= 390
    assert found["sparse"].missing == 0.75
    assert found["gone"].histogram == []
    assert found["date"].kind == "date"


def test_whole_numbers_have_no_gaps_in_their_histogram():
    histogram = examine(pd.DataFrame({"a": np.tile(np.arange(40), 50)}))[0].histogram
    assert all(histogram[:13])


def test_leaks_are_named():
    table = frame()
    names = [c for c in table.columns if c not in ("y", "nested")]
    assert set(leaks(table, "y", ["1"], names)) == {"near_copy", "copy"}
    assert set(leaks(table.assign(y2=table["fine"] * 3 + 1), "y2", None, ["fine", "sparse"])) == {"fine"}


def test_leaks_survive_missing_targets_and_odd_columns():
    table = frame().assign(y=lambda t: t["y"].where(t.index > 10))
    assert "near_copy" in leaks(table, "y", ["1.0"], ["near_copy", "gone", "constant", "nested"])


@pytest.mark.parametrize(
    ("name", "is_id"),
    [("seqn", True), ("caseno", True), ("kundennr", True), ("acctnbr", True), ("snow", False),
     ("kid", True), ("client_id", True), ("Customer No", True), ("accountId", True), ("ID", True), ("income", False),
     ("paid", False), ("humid", False)],
)  # fmt: skip
def test_whole_numbers_far_apart_are_an_id_by_their_name(name, is_id):
    numbers = 100_000 + 37 * np.arange(400)
    report = examine(pd.DataFrame({name: numbers, "y": np.arange(400) % 2}))[0]
    assert (report.role == "id") == is_id
    halved = examine(pd.DataFrame({name: numbers + 0.5}))[0]
    assert halved.role == "feature"  # no ID has fractions


@pytest.mark.parametrize(
    ("name", "by_rows", "role"),
    [("firm", True, "group"), ("schoolNR", True, "group"), ("mom", True, "group"), ("school", False, "feature"),
     ("school_size", True, "feature"), ("years", True, "feature")],
)  # fmt: skip
def test_numbers_of_things_are_groups_where_the_rows_of_each_stand_together(name, by_rows, role):
    numbers = 7 * np.repeat(np.arange(60), 8) + 3
    if not by_rows:  # years at a school come in any order
        numbers = np.random.default_rng(0).permutation(numbers)
    report = examine(pd.DataFrame({name: numbers, "y": np.arange(len(numbers)) % 2}))[0]
    assert report.role == role


@pytest.mark.parametrize(("rows", "role"), [(30, "id"), (12, "feature")])
def test_texts_that_are_all_different_are_names_of_rows(rows, role):
    states = [f"state of {chr(65 + k)}" for k in range(rows - 2)] + ["unnamed"] * 2
    frame = pd.DataFrame({"state": states, "y": np.arange(rows) % 2})
    assert examine(frame)[0].role == role


@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "row_id"])
@pytest.mark.parametrize("rows", [12, 400])
def test_names_of_rows_are_ids_whatever_they_look_like(name, rows):
    rng = np.random.default_rng(0)
    years = np.repeat(np.arange(1978, 1978 + rows // 4), 4)
    frame = pd.DataFrame({name: years + np.tile([0.1, 0.2, 0.3, 0.4], rows // 4), "x": rng.normal(size=rows),
                          "y": rng.normal(size=rows)})  # fmt: skip
    roles = roles_of(Table.of(frame), examine(frame))
    assert roles.by_column[name] == "id"
    assert name not in [guess.column for guess in roles.targets]


def first(table, name=""):
    """The likeliest target of a table, None where no column can be."""
    targets = roles_of(Table.of(table), examine(table), name=name).targets
    return targets[0].column if targets else None


def test_the_likely_target_is_never_an_id_a_constant_or_a_date():
    table = frame()
    assert first(table[["y", "fine", "id"]]) == "y"  # by its name, wherever it is
    assert first(table[["level", "fine", "copy"]]) == "copy"  # the last
    assert first(table[["copy", "level", "id"]]) != "id"  # although it is the last
    assert first(table[["copy", "level", "constant"]]) == "copy"
    assert first(table[["id", "date", "constant"]]) is None
    churned = table.rename(columns={"copy": "has_churned"})
    assert first(churned[["has_churned", "fine", "level"]]) == "has_churned"


@pytest.mark.parametrize(("levels", "coded"), [
    (["AL", "ND", "TX", "OH", "NY"], ()), (["DE", "FR", "NA", "US"], ()), (["high", "low", "ND"], ("ND",)),
    (["AL", "TX", "OH", "NY", "?"], ("?",)), (["Yes", "No", "n/a"], ("n/a",)), (["1-2", "3-4", "NA"], ("NA",)),
])  # fmt: skip
def test_marks_that_are_written_as_the_other_levels_are_levels(levels, coded):
    frame = pd.DataFrame({"code": levels * 30})
    said = [finding.values for finding in examine(frame)[0].findings if finding.kind == "missing code"]
    assert said == ([coded] if coded else [])


@pytest.mark.parametrize("name", ["lipid", "thyroid", "steroid", "hybrid", "medicaid", "orchid", "paid", "opioid"])
def test_words_that_end_like_ids_are_none(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(100, 160, 400)})
    assert examine(frame)[0].role == "feature"
    assert not examine(frame)[0].as_levels


@pytest.mark.parametrize(("name", "as_levels"), [
    ("rating", False), ("satisfaction_code", False), ("grade_id", False), ("severity_cd", False), ("region_code", True),
    ("admission_type_id", True), ("naics", True), ("children", False),
])  # fmt: skip
def test_codes_with_an_order_stay_numbers(name, as_levels):
    frame = pd.DataFrame({name: np.random.default_rng(0).integers(1, 6, 400)})
    assert examine(frame)[0].as_levels == as_levels


@pytest.mark.parametrize("name", ["School", "plot", "store", "contract"])
def test_things_are_ids_where_each_row_has_its_own(name):
    rng = np.random.default_rng(0)
    own = pd.DataFrame({name: rng.choice(90_000, 300, replace=False)})
    assert examine(own)[0].role == "id"
    assert examine(own.rename(columns={name: "income"}))[0].role == "feature"


@pytest.mark.parametrize(("share", "role"), [(0.0, "group"), (0.3, "group"), (0.987, "feature")])
def test_a_value_that_most_rows_have_is_no_group_of_rows(share, role):
    """As the feet of a three-season porch, whose name has the word SSN in it."""
    rng = np.random.default_rng(0)
    feet = np.where(rng.random(900) < share, 0, rng.integers(20, 60, 900))
    assert examine(pd.DataFrame({"X3Ssn.Porch": feet}))[0].role == role


def test_of_a_large_table_a_sample_of_the_rows_is_looked_at(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=8_000), "c": rng.choice(list("abc"), 8_000), "same": 1})
    whole = {report.name: report for report in examine(frame)}
    monkeypatch.setattr(doctor, "MOST_CELLS", 9_000)
    part = {report.name: report for report in examine(frame.set_axis(rng.permutation(8_000)))}
    assert part["x"].distinct == 3_000  # of 9,000 cells in three columns
    assert [(r.kind, r.role) for r in part.values()] == [(r.kind, r.role) for r in whole.values()]
    (finding,) = part["same"].findings
    assert finding.sampled
    assert not any(finding.sampled for report in whole.values() for finding in report.findings)
    monkeypatch.setattr(doctor, "MOST_CELLS", 10)
    assert {report.name: report for report in examine(frame)}["x"].distinct == doctor.FEWEST_ROWS
