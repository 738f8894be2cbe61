"""What people call columns and levels, in explanations, sentences, rules, plots and files."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from pptx import Presentation

from gamcore import GAMRegressor, add_bands, smallest_changes
from gamcore.data.column_names import ColumnNames, Measure, Names
from gamcore.data.columns import TableError
from gamcore.decide.rules import All, Levels, Missing, Not, Range
from gamcore.explain.sentences import read_curve, read_surface
from gamcore.explain.shown import shown
from gamcore.viz import files

NAMES = Names({
    "AGE": ColumnNames("Age", "years", "whole number"),
    "PLAN": ColumnNames("Contract", levels={"a": "active", "b": "lapsed"}),
    "YN": ColumnNames("Member", levels={"0": "no", "1": "yes"}),
    "INC": ColumnNames("Income", "€", "money"),
    "EDU": ColumnNames("Education", levels={"1": "school", "2": "college", "4": "university"}),
})  # fmt: skip


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    n = 1500
    frame = pd.DataFrame({"AGE": rng.uniform(18, 80, n), "PLAN": rng.choice(["a", "b", "c"], n)})
    frame["YN"], frame["INC"] = rng.integers(0, 2, n), rng.uniform(1000, 9000, n).round()
    frame["EDU"] = rng.integers(1, 5, n)
    y = 0.1 * frame["AGE"] + (frame["PLAN"] == "a") * 2 + frame["YN"] + frame["EDU"] + rng.normal(size=n)
    y += (frame["PLAN"] == "b") * (frame["AGE"] > 50) * 3
    fitted = GAMRegressor(
        max_rounds=40, outer_bags=2, interactions=[("AGE", "PLAN"), ("EDU", "YN")], random_state=0
    ).fit(frame, y)
    return add_bands(fitted, frame, y, n_refits=10), frame


def test_curves_say_names_units_and_levels(model):
    age, plan, member = (shown(model[0].explain_shape(name), NAMES) for name in ("AGE", "PLAN", "YN"))
    assert age.feature == "Age"
    assert read_curve(age).startswith("Age: rises by")
    assert " years" in read_curve(age)
    assert age.place(0) == "18 to 18.2 years"  # whole numbers were chosen, but "18 years" would be other rows
    assert set(plan.labels) == {"active", "lapsed", "c"}
    assert "active" in read_curve(plan)
    assert set(member.frame()["level"]) >= {"no", "yes"}
    income = shown(model[0].explain_shape("INC"), NAMES).describe("y", "")
    assert [row[0].x.title for row in income.panels][-1] == "Income (€)"


def test_values_of_a_number_have_names(model):
    fitted, _ = model
    curve = shown(fitted.explain_shape("EDU"), NAMES)
    called = ("school", "college", "3", "university")  # a value without a name is written
    assert curve.values == called
    assert [curve.place(k) for k in range(4)] == list(called)
    assert curve.kind == "number"  # still in order, and marked as numbers are
    assert "from school to university" in read_curve(curve)
    assert curve.frame()["bin"].tolist()[:4] == list(called)
    axis = curve.describe("y", "").panels[-1][0].x
    assert axis.ticks == tuple(zip((1.0, 2.0, 3.0, 4.0), called, strict=True))
    surface = shown(fitted.explain_pair("EDU", "YN"), NAMES)
    assert surface.first.values == ("no", "yes")
    assert surface.second.size == len(surface.second.values)
    assert surface.second.place(0).startswith("school")
    assert "Education is school" in surface.second.range_words(0, 1)
    assert "school" in {name.partition(",")[0] for name in surface.frame()["Education"]}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "pptx", "png"])
def test_a_named_number_is_drawn_in_files_as_it_was(model, form):
    curve = model[0].explain_shape("EDU")
    plain, named = (
        files.to_bytes(one.describe("y", "", title="Education"), form, "") for one in (curve, shown(curve, NAMES))
    )
    assert 0.8 < len(named) / len(plain) < 1.25
    assert form != "svg" or b"university" in named
    if form == "pptx":
        assert _kinds(named) == _kinds(plain)


def _kinds(data):
    return [shape.chart.chart_type for shape in Presentation(BytesIO(data)).slides[0].shapes if shape.has_chart]


def test_ranges_of_a_number_are_not_called_by_one_of_its_values(model):
    named = Names({"AGE": ColumnNames(levels={"30": "thirty"}), "INC": ColumnNames(levels={"2000": "low"})})
    for name in ("AGE", "INC"):
        assert not shown(model[0].explain_shape(name), named).values


def test_nothing_is_named_where_there_are_no_names(model):
    curve = model[0].explain_shape("PLAN")
    assert shown(curve, Names()) is curve


def test_pairs_importance_and_parts(model):
    fitted, frame = model
    surface = shown(fitted.explain_pair("AGE", "PLAN"), NAMES)
    assert surface.names == ("Age", "Contract")
    assert "lapsed" in surface.second.labels
    assert "Age" in read_surface(surface)
    assert list(surface.frame().columns[:2]) == ["Age", "Contract"]
    ranking = shown(fitted.importance(), NAMES)
    assert {"Age", "Age × Contract"} <= set(ranking.features)
    parts = shown(fitted.explain_rows(frame.head(1)), NAMES).parts(0, {"Age": "40 years", "Contract": "active"})
    assert parts.set_index("term").loc["Age × Contract", "cell"] == "40 years × active"


@pytest.mark.parametrize("form", ["csv", "svg", "pptx"])
def test_files_have_the_names(model, form, tmp_path):
    plot = shown(model[0].explain_shape("PLAN"), NAMES).describe("y", "")
    data = files.to_bytes(plot, form, "")
    if form == "pptx":
        path = tmp_path / "slide.pptx"
        path.write_bytes(data)
        slide = Presentation(path).slides[0]
        text = " ".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)
        charts = [list(s.chart.plots[0].categories) for s in slide.shapes if s.has_chart]
        assert "Contract" in text
        assert any("lapsed" in names for names in charts)
        return
    assert b"lapsed" in data
    assert b"PLAN" not in data


def test_changes_of_a_row_are_named(model):
    fitted, frame = model
    changes = smallest_changes(fitted, frame.iloc[[0]], float(fitted.predict(frame).mean()))
    assert changes
    said = [shown(change, NAMES).words for change in changes]
    assert not any(name in words for words in said for name in ("AGE", "PLAN", "INC", "YN"))


def test_rules_in_words():
    rule = All((Range("AGE", 30, None), Not(Levels("PLAN", ("a", "b"))), Missing("INC"), Range("INC", None, 2500.5)))
    assert rule.words(NAMES) == (
        "Age at least 30 years and Contract is not active or lapsed and Income is missing and Income below €2,500.50"
    )
    assert rule.words().startswith("AGE at least 30 and PLAN is not a or b")


@pytest.mark.parametrize(
    ("measure", "value", "words"),
    [
        (Measure(), 1.25, "1.25"), (Measure("years"), 1.25, "1.25 years"),
        (Measure("", "whole number"), 1e6, "1,000,000"),
        (Measure("km", "two decimals"), 3.14159, "3.14 km"), (Measure("", "percent"), 0.25, "25%"),
        (Measure("%"), 12, "12%"), (Measure("€", "money"), -1234.4, "-€1,234"),
        (Measure("EUR", "money"), 12.5, "12.50 EUR"),
        (Measure("", "whole number"), -0.2, "0"),
    ],
)  # fmt: skip
def test_numbers_by_unit_and_form(measure, value, words):
    assert measure.say(value, f"{value:g}") == words


def test_names_tell_columns_and_levels_apart():
    columns = ["a", "b", "c"]
    Names({"a": ColumnNames("A"), "b": ColumnNames("B")}).check(columns)
    for bad in (
        {"a": ColumnNames("x"), "b": ColumnNames("x")}, {"a": ColumnNames("b")},
        {"a": ColumnNames(levels={"1": "yes", "2": "yes"})}, {"a": ColumnNames("x" * 200)},
    ):  # fmt: skip
        with pytest.raises(TableError):
            Names(bad).check(columns)


def test_names_come_back_from_json_whatever_a_newer_version_added():
    names = Names({**NAMES.columns, "x": ColumnNames(missing=("-1",))})
    assert Names.from_dict(names.to_dict()) == names
    plain = names.to_dict()
    plain["x"] |= {"form": "roman", "colour": "red"}
    assert Names.from_dict(plain).of("x").form == "automatic"
    assert names.codes() == {"x": ("-1",)}
    assert not Names({"a": ColumnNames()})


def test_months_and_pairs_of_named_columns():
    names = Names({"WHEN": ColumnNames("Date of contract")})
    assert names.term("WHEN (month) × AGE") == "Date of contract (month) × AGE"
