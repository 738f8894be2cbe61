"""What the judge of public files calls right, wrong and refused, and that the facts about them can be read."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from benchmarks.files.expected import Expected, expected
from benchmarks.files.judge import REFUSED, RIGHT, SILENT, TEXT, WORDS, equals, verdict
from benchmarks.files.readers import READERS, Reading, read
from benchmarks.files.sources import SOURCES

pytestmark = pytest.mark.slow

RAW = "a,b,a\n1,2024-01-31,x\n,2024-02-01,007\n"
DAY = dt.date(2024, 1, 31)
EXPECTED = Expected("s", "f.csv", ("a", "b", "a"), 2, ((0, 0, 1), (0, 1, DAY), (0, 2, "x"), (1, 0, ""), (1, 2, "007")))
FRAME = pd.DataFrame({"a": [1.0, np.nan], "b": pd.to_datetime(["2024-01-31", "2024-02-01"]), "a.1": ["x", "007"]})


def judged(frame, words=(), right=EXPECTED):
    return verdict(Reading(frame, list(words)), right, RAW).outcome


def test_the_judge_tells_right_from_wrong():
    assert judged(FRAME) == RIGHT
    assert judged(FRAME.assign(b=["2024-01-31", "2024-02-01"])) == TEXT
    assert judged(FRAME.assign(b=["31 January", "1 February"])) == SILENT
    assert judged(FRAME.assign(**{"a.1": ["x", "7"]})) == SILENT
    assert judged(FRAME.assign(**{"a.1": ["x", "7"]}), ["a.1: leading zeros are lost."]) == WORDS
    assert judged(FRAME.assign(**{"a.1": ["x", "7"]}), ["b: read as dates."]) == SILENT
    assert judged(FRAME.iloc[:1]) == SILENT
    assert judged(FRAME.iloc[:1], ["Skipped 1 row that does not have 3 cells: row 2 (1 cell)."]) == WORDS
    assert judged(FRAME.rename(columns={"b": "c"})) == SILENT
    assert judged(FRAME.assign(d=np.nan)) == RIGHT  # a separator at the end of each line
    assert judged(None) == REFUSED
    assert judged(None, right=Expected("s", "f", why="it is no table")) == RIGHT
    assert judged(FRAME, right=Expected("s", "f", why="it is no table")) == SILENT
    assert judged(FRAME.iloc[:0], right=Expected("s", "f", why="it has no rows")) == RIGHT


@pytest.mark.parametrize(
    ("cell", "value", "same"),
    [(1.0, 1, True), (True, 1, False), (1, True, False), (pd.NA, "", True), (None, 3, False), ("3", 3, False),
     (3, "3", True),
     (3.0, "3", True), (7, "007", False), (pd.Timestamp("2024-01-31"), DAY, True),
     (pd.Timestamp("2024-01-31 02:00", tz="Europe/Rome"), dt.datetime(2024, 1, 31, 1), True),
     ("2024-01-31", DAY, False)],
)  # fmt: skip
def test_a_cell_is_a_value_in_its_type(cell, value, same):
    assert equals(cell, value) == same


def test_the_facts_can_be_read_and_say_enough():
    facts = expected()
    assert len(facts) >= 120
    assert {fact.source for fact in facts} <= {source.name for source in SOURCES}
    assert len({(fact.source, fact.path) for fact in facts}) == len(facts)
    assert all(fact.why or fact.cells for fact in facts)


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_reads_a_plain_file(reader, tmp_path):
    pytest.importorskip("duckdb")
    file = tmp_path / "f.csv"
    file.write_text("a,b\n1,x\n2,y\n")
    right = Expected("s", "f.csv", ("a", "b"), 2, ((0, 0, 1), (1, 1, "y")))
    assert verdict(read(reader, file), right, file.read_text()).outcome == RIGHT
