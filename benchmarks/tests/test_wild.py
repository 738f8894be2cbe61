"""The machine that meets strangers finds what is planted: a checker that cannot fail is worth nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.harness.cells import keep, load
from benchmarks.wild import check_curves, check_loading, check_pairs, check_rows, check_segments, children, report
from benchmarks.wild.dialects import DIALECTS, write
from benchmarks.wild.faults import DOUBTS, KINDS
from benchmarks.wild.one_table import Meeting, meet
from benchmarks.wild.read_back import faults
from benchmarks.wild.rows import CurveOnRows, Effects, curves
from benchmarks.wild.tables import Stranger, sample
from gamcore import GAMClassifier, GAMRegressor
from gamcore.data.columns import TableError
from gamcore.decide.rules import Range
from gamcore.decide.segments import HeldOutRows, suggest_by
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import train_share
from gamcore.explain.sentences import read_curve
from gamcore.viz.files.parts import Report, ReportPart
from gamcore.viz.files.report import to_report
from shapewise.ingest.read import read_file

pytestmark = pytest.mark.slow

X = np.arange(200.0)
RISING = Effects(X, X / 10 - 10, "link")
LEVELS = Effects(np.repeat(np.array(["a", "b, c", "d", ""], object), 50), np.repeat([1.0, -2.0, 0.25, 3.0], 50), "link")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=900), "b": rng.choice(list("xyz"), 900)})
    y = 2 * frame["a"] + (frame["b"] == "x") + frame["a"] * (frame["b"] == "y") + rng.normal(0, 0.1, 900)
    return GAMRegressor(random_state=0, outer_bags=4, bands=12, interactions=1).fit(frame, y), frame, y


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("x: rises by 5 from 50 to 99, where 25% of rows are", ""), ("x: rises by 5 around 50", ""),
        ("x: rises by 5 from 50 to 99, where 35% of rows are", "share"),
        ("x: rises by 5 from 50 to 99, where -25% of rows are", "share"),
        ("x: rises by 5 from 1 to 199, where 99.5% of rows are", ""),
        ("x: rises by 5 from 1 to 199, where over 99% of rows are", ""),
        ("x: rises by 5 from 1 to 199, where 100% of rows are", "share"),
        ("x: rises by 5 from 4 to 199, where over 99% of rows are", "share"),
        ("x: rises by 5 from 0 to 199, where over 99% of rows are", "share"),
        ("x: above average (+9.9) around 199, where under 1% of rows are", ""),
        ("x: above average (+9.9) around 199, where 0.50% of rows are", ""),
        ("x: above average (+9.9) around 199, where 0% of rows are", "share"),
        ("x: above average (+9.8) from 197 to 199, where under 1% of rows are", "share"),
        ("x: falls by 5 from 50 to 99, where 25% of rows are", "direction"),
        ("x: rises by 35 from 50 to 99", "size"), ("x: rises by 0 from 50 to 99", "sign"),
        ("x: rises by 5 from 150 to 259", "range"), ("x: rises by 5 from 99 to 50", "range"),
        ("x: rises by 5.2e-07 from 50 to 99", "digits"), ("x: rises by nan from 50 to 99", "digits"),
        ("x: rises by 5 from 50.1234567890123 to 99", "digits"),
        ("x: above average (+5.0) from 130 to 169, where 20% of rows are", ""),
        ("x: above average (+6.0) from 130 to 169, where 20% of rows are", "size"),
        ("x: above average (-5.0) from 130 to 169", "sign"), ("x: below average (+5.0) from 130 to 169", "sign"),
    ],
)  # fmt: skip
def test_words_about_a_line_are_held_against_its_rows(sentence, kind):
    kinds = [fault.kind for fault in faults(sentence, "x", RISING, "number")]
    assert (kind in kinds) if kind else not kinds


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("x: a +1.0, “b, c” -2.0; 1 more level; missing +3.0", ""), ("x: a +1.4", "size"), ("x: a -1.0", "size"),
        ("x: a +1.0, “b, c” -2.5; missing +3.0", "size"), ("x: a +1.0; 3 more levels", "levels"),
        ("x: only missing +2.0", "size"), ("x: d +0.25; 2 more levels", ""), ("x: d +0.3; 2 more levels", ""),
    ],
)  # fmt: skip
def test_words_about_levels_are_held_against_their_rows(sentence, kind):
    kinds = [fault.kind for fault in faults(sentence, "x", LEVELS, "category")]
    assert (kind in kinds) if kind else not kinds


def test_missing_cells_that_are_not_there():
    assert [fault.kind for fault in faults("x: only missing +2.0", "x", RISING, "number")] == ["levels"]


def test_a_ratio_beyond_its_curve():
    rows = Effects(X, np.exp(X / 100), "ratio")
    assert not list(faults("x: rises by a factor of 1.6 from 50 to 99", "x", rows, "number"))
    assert [f.kind for f in faults("x: rises by a factor of 9.1 from 50 to 99", "x", rows, "number")] == ["size"]


def test_claims_and_counts_that_are_false(model):
    fitted, frame, _ = model
    for curve_on_rows in curves(fitted, frame):
        assert not list(check_curves.of_curve(curve_on_rows))
        if read_curve(curve_on_rows.curve).startswith("a: rises"):
            fewer = replace(
                curve_on_rows.curve,
                counts=curve_on_rows.curve.counts * np.linspace(0.5, 1.5, curve_on_rows.curve.counts.size),
            )
            assert "claim" in {fault.kind for fault in check_curves.of_curve(CurveOnRows(fewer, curve_on_rows.rows))}
            other = replace(curve_on_rows.rows, effects=-curve_on_rows.rows.effects)
            kinds = {fault.kind for fault in check_curves.of_curve(CurveOnRows(curve_on_rows.curve, other))}
            assert {"claim", "direction"} <= kinds


def test_a_pair_that_says_another_number(model, monkeypatch):
    fitted, frame, _ = model
    assert check_pairs.check(fitted, frame) == ([], 1)
    headline = check_pairs.read_surface(fitted.explain_pair("a", "b"))
    assert check_pairs.TELLS.search(headline), headline
    number = check_pairs.TELLS.search(headline)[1]
    monkeypatch.setattr(check_pairs, "read_surface", lambda surface: headline.replace(number, "+77.5"))
    assert [fault.kind for fault in check_pairs.check(fitted, frame)[0]] == ["pair"]


def test_segments_that_count_otherwise(model):
    fitted, frame, y = model
    rows = y.to_numpy(float)
    segments = suggest_by(HeldOutRows(single_model(fitted), frame, rows), train_share=train_share(fitted))
    assert segments
    for segment in segments:
        assert not list(check_segments.of_segment(segment, frame, rows, None))
        for changes in ({"inside": segment.evidence.inside + 1}, {"mean": 99.0}, {"rest": 99.0}):
            other = replace(segment, evidence=replace(segment.evidence, **changes))
            assert {fault.kind for fault in check_segments.of_segment(other, frame, rows, None)} == {"segment"}


def test_a_segment_that_is_printed_as_another(model, monkeypatch):
    fitted, frame, y = model
    rows = y.to_numpy(float)
    segments = suggest_by(HeldOutRows(single_model(fitted), frame, rows), train_share=train_share(fitted))
    segment = next(segment for segment in segments if isinstance(segment.rule, Range))
    assert not list(check_segments.of_segment(segment, frame, rows, None))
    monkeypatch.setattr("gamcore.decide.rules.cut_in_words", lambda end, *_: f"{end + 0.2:.1f}")
    assert {fault.kind for fault in check_segments.of_segment(segment, frame, rows, None)} == {"segment"}


def test_sql_off_by_a_thousandth(model, monkeypatch):
    fitted, frame, _ = model
    assert not list(check_rows.sql(fitted, frame))
    right = check_rows.to_sql

    def wrong(*args, **named):
        inner = right(*args, **named).rstrip().rstrip(";")
        return f"SELECT a, b, score, prediction + 0.001 AS prediction FROM ({inner})"

    monkeypatch.setattr(check_rows, "to_sql", wrong)
    assert [fault.kind for fault in check_rows.sql(fitted, frame)] == ["SQL"]


def test_parts_that_do_not_add_up(model, monkeypatch):
    fitted, frame, _ = model
    assert not list(check_rows.parts(fitted, frame))
    explained = fitted.explain_rows(frame.iloc[: check_rows.MOST_ROWS])
    monkeypatch.setattr(
        fitted, "explain_rows", lambda X: replace(explained, contributions=explained.contributions + 1e-3)
    )
    assert "sum" in {fault.kind for fault in check_rows.parts(fitted, frame)}


def test_a_scored_file_that_says_otherwise(model, tmp_path):
    fitted, frame, _ = model
    predictions = fitted.predict(frame)
    frame.assign(prediction=predictions).to_csv(tmp_path / "a.csv", index=False)
    assert not list(check_rows.scored(fitted, frame, tmp_path / "a.csv"))
    frame.assign(prediction=predictions + 1e-3).to_csv(tmp_path / "b.csv", index=False)
    assert [fault.kind for fault in check_rows.scored(fitted, frame, tmp_path / "b.csv")] == ["scored"]
    frame.assign(prediction=predictions).iloc[:-1].to_csv(tmp_path / "c.csv", index=False)
    assert [fault.kind for fault in check_rows.scored(fitted, frame, tmp_path / "c.csv")] == ["scored"]


@pytest.mark.parametrize(
    ("page", "n"),
    [
        ("<p>rises by 5</p>", 0), ("<p>+0.583 nan</p>", 1), ("<text>1.2e-07</text>", 1), ("<p>KeyError: 'x'</p>", 1),
        ('<svg><path d="M1e-05 2"/></svg>', 0), ("<style>a{width:1e-09}</style>", 0), ("<p>Financial inf</p>", 1),
        ('<img alt="lowest nan"/>', 1), ("<p>of known-nan</p>", 0),
    ],
)  # fmt: skip
def test_pages_with_numbers_that_are_none(page, n):
    assert len(list(check_rows.report(page.encode(), {"known-nan"}))) == n


@pytest.mark.parametrize(("words", "n"), [("rises by 5", 0), ("+0.583 nan", 1), ("known-nan 1.2e-07", 1)])
def test_slides_with_numbers_that_are_none(words, n):
    for part in (ReportPart("A slide", (words,)), ReportPart("A slide", table=[["part", "height"], [words, "1"]])):
        file = to_report(Report("A report", "", (part,)), "pptx")
        assert len(list(check_rows.slides(file, {"known-nan"}))) == n


STRANGE = pd.DataFrame({
    "rownames": [str(k) for k in range(1, 7)], "name": ["Anna", "Zoë; x", 'O"Neil', "a|b,c", None, "d\te"],
    "money": [1234.5, 0.25, np.nan, 1_234_567.125, -3.75, 1e-7], "whole": [1200, 3, 5, 70_000, 9, 0],
    "day": pd.to_datetime(["2024-01-31", "2023-12-25", None, "1999-05-17", "2000-02-29", "2024-11-30"]),
    "yes": [True, False, True, True, False, False],
})  # fmt: skip


def test_ends_of_lines_within_a_cell_are_written_as_they_are(tmp_path):
    write(pd.DataFrame({"a": ["one\r\ntwo\n", "x"], "b": [1, 2]}), DIALECTS[6], tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == b'a,b\r\n"one\r\ntwo\n",1\r\nx,2\r\n'


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_each_dialect_is_loaded_as_it_was_meant(dialect, tmp_path):
    write(STRANGE, dialect, tmp_path / "a.csv")
    loaded = read_file("a.csv", (tmp_path / "a.csv").read_bytes())
    kinds = [fault.kind for fault in check_loading.check(STRANGE, loaded.frame, loaded.notes)]
    assert not set(kinds) & set(KINDS), (kinds, loaded.frame)


@pytest.mark.parametrize(
    ("column", "cells", "kind"),
    [
        ("money", [1234.5, 0.25, np.nan, 1_234_567.125, -3.75, 1e-4], "numbers"),
        ("whole", [1200, 3, 5, 70_000_000, 9, 0], "numbers"),
        ("money", [1234.5, 0.25, 0.0, 1_234_567.125, -3.75, 1e-7], "missing"),
        ("name", ["Anna", "ZoÃ«; x", 'O"Neil', "a|b,c", None, "d\te"], "texts"),
        ("name", ["Anna", "Zoë; x", None, "a|b,c", None, "d\te"], "missing"),
        ("yes", [True, False, True, True, False, True], "texts"),
        ("day", pd.to_datetime(["2024-01-31", "2023-12-25", None, "1999-05-17", "2000-02-29", "2024-11-29"]), "dates"),
    ],
)  # fmt: skip
def test_cells_that_were_read_otherwise(column, cells, kind):
    assert check_loading.check(STRANGE, STRANGE.assign(**{column: cells}), [])[0].kind == kind


def test_rows_and_names_that_were_lost():
    assert check_loading.check(STRANGE, STRANGE.iloc[:-1], [])[0].kind == "rows"
    assert check_loading.check(STRANGE, STRANGE.rename(columns={"day": "Day"}), [])[0].kind == "names"


def test_a_table_goes_to_the_end(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300).round(3), "level": rng.choice(list("abc"), 300)})
    frame["y"] = np.where(frame["x"] + rng.normal(0, 0.5, 300) > 0, "yes", "no")
    met = meet(frame, place=1, has_pairs=True, folder=tmp_path)
    assert ([fault for fault in met.faults if fault.kind in KINDS], met.refused) == ([], {})
    assert met.about["target"] == "y"
    assert met.checked["curves"] >= 2
    assert set(met.seconds) >= {"load", "train", "curves", "segments", "SQL", "scored", "report"}


def test_a_crash_is_no_refusal():
    met = Meeting()
    with met.stage("load"):
        raise TableError("No features are chosen.")
    with met.stage("train"):
        raise ZeroDivisionError
    assert met.refused == {"load": "No features are chosen."}
    assert [fault.kind for fault in met.faults] == ["crash"]
    assert met.failed("load")
    assert met.failed("train")


def test_a_table_that_takes_too_long_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "START", 0.0)
    table = Stranger("nobody", "has this")
    children.meet_all([table], tmp_path, limit=0.0, tell=lambda *args: None, seconds=1.0)
    assert [fault["kind"] for fault in load(children.path_of(table, tmp_path))["faults"]] == ["late"]


def test_the_summary_counts_tables_and_faults(tmp_path):
    tables = [Stranger("p", str(k)) for k in range(3)]
    share = {"kind": "share", "column": "a", "said": "7% of rows", "right": "58.6%"}
    doubt = {"kind": next(iter(DOUBTS)), "column": "a", "said": "", "right": ""}
    for table, table_faults in zip(tables, ([share, share], [doubt], []), strict=True):
        cell = {"table": table.name, "faults": table_faults, "refused": {}, "seconds": {"load": 1.0}, "about": {}}
        keep(children.path_of(table, tmp_path), cell)
    summary = report.lines(report.cells_of(tables, tmp_path), "the command")
    assert "3 tables, **2 without any fault** (66.7%)" in "\n".join(summary)
    assert any(line.startswith("| share |") and line.endswith("| 2 | 1 |") for line in summary)
    assert "58.6%" in report.details(report.cells_of(tables, tmp_path))[0]


def test_a_longer_sample_begins_with_the_shorter_one():
    tables = [Stranger("p", str(k)) for k in range(50)]
    assert sample(tables, 40, 3)[:10] == sample(tables, 10, 3) != sample(tables, 10, 4)


def test_classes_are_read_one_by_one():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=400)})
    fitted = GAMClassifier(random_state=0, outer_bags=2, bands=10).fit(frame, np.digitize(frame["a"], [-0.5, 0.5]))
    assert {curve.of for curve in curves(fitted, frame)} == {"0", "1", "2"}
    assert not list(check_rows.sql(fitted, frame))
