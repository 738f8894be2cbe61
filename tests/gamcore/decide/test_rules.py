"""Rules: the rows they select, their wording, and that JSON, SQL and Python select the same rows."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from datetime import date

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamcore.data.column_names import free_name
from gamcore.data.columns import TableError
from gamcore.decide.rules import EVERYBODY, All, AnyOf, Levels, Missing, Not, Range, RuleError, both, either, rounded
from gamcore.decide.rules_code import (
    COLUMN,
    NOBODY,
    NOT_ELIGIBLE,
    Cascade,
    kinds_of,
    python_of,
    sql_of,
    to_python,
    to_sql,
)
from gamcore.decide.rules_json import from_dict

NAMES = ["plain", 'say "x"', "it's", "; drop table t --", "select", "größe", "a\\b"]
LEVELS = ["a", "b", "it's", 'say "x"', "", "null", "NaN", "ä", "1"]
EDGES = [0.0, -0.0, 1.0, 3.5, 0.1, 0.30000000000000004, -2.5, 1e300, 5e-324, 12_000.0, 2.0**53]


@st.composite
def tables(draw):
    """Draw numbers, integers, booleans, text and dates, all with missing cells, under names that SQL must quote."""
    n = draw(st.integers(1, 30))
    names = draw(st.permutations(NAMES))[:6]
    number = st.one_of(st.none(), st.sampled_from(EDGES), st.floats(allow_nan=False, allow_infinity=False))
    whole = st.one_of(st.none(), st.integers(-3, 5))
    text = st.one_of(st.none(), st.sampled_from(LEVELS))
    moment = st.one_of(st.none(), st.datetimes(pd.Timestamp("1990-01-01"), pd.Timestamp("2030-01-01")))

    def cells(of):
        return draw(st.lists(of, min_size=n, max_size=n))

    return pd.DataFrame(
        {
            names[0]: pd.Series(cells(number), dtype="float64"),
            names[1]: pd.Series(cells(whole), dtype="Int64"),
            names[2]: pd.Series(cells(st.one_of(st.none(), st.booleans())), dtype="boolean"),
            names[3]: pd.Series(cells(text), dtype="string"),
            names[4]: pd.Series(cells(moment), dtype="datetime64[us]"),
            names[5]: pd.Series(cells(st.integers(-3, 3)), dtype="int64"),
        }
    )


@st.composite
def conditions(draw, frame):
    place = draw(st.integers(0, 5))
    column = frame.columns[place]
    if draw(st.integers(0, 4)) == 0:
        return Missing(column)
    known = frame[column].dropna()
    if place == 3:
        return Levels(column, tuple(draw(st.lists(st.sampled_from([*LEVELS, "other"]), max_size=3, unique=True))))
    if place == 2:
        return Levels(column, tuple(draw(st.lists(st.sampled_from(["True", "False"]), max_size=2, unique=True))))
    if place in (1, 5) and draw(st.booleans()):
        return Levels(
            column, tuple(draw(st.lists(st.sampled_from(["0", "1", "2", "-3", "x"]), max_size=3, unique=True)))
        )
    if place == 4:
        moments = st.datetimes(pd.Timestamp("1990-01-01"), pd.Timestamp("2030-01-01"))
        ends = [draw(st.sampled_from(list(known)) if len(known) and draw(st.booleans()) else moments) for _ in range(2)]
        days = sorted(pd.Timestamp(end).value // 1000 / 86_400_000_000 for end in ends)
    else:
        edges = (
            st.sampled_from(EDGES)
            if not len(known)
            else st.one_of(st.sampled_from(EDGES), st.sampled_from(list(known)))
        )
        days = sorted(float(draw(edges)) for _ in range(2))
    open_end = draw(st.integers(0, 2))
    low, high = (None if open_end == 1 else days[0]), (None if open_end == 2 else days[1])
    return Range(column, low, high, draw(st.booleans()), draw(st.booleans()), place == 4)


@st.composite
def rules(draw, frame, depth=3):
    kind = draw(st.integers(0, 5 if depth else 2))
    if kind <= 2:
        return draw(conditions(frame))
    if kind == 3:
        return Not(draw(rules(frame, depth - 1)))
    of = tuple(draw(rules(frame, depth - 1)) for _ in range(draw(st.integers(0, 3))))
    return All(of) if kind == 4 else AnyOf(of)


def slow(rule, row):
    """Apply a rule to one row, cell by cell."""
    match rule:
        case All(of):
            return all(slow(one, row) for one in of)
        case AnyOf(of):
            return any(slow(one, row) for one in of)
        case Not(inner):
            return not slow(inner, row)
    cell = row[rule.column]
    if isinstance(rule, Missing):
        return bool(pd.isna(cell))
    if pd.isna(cell):
        return False
    if isinstance(rule, Levels):
        return str(cell) in rule.levels
    value = pd.Timestamp(cell).value // 1000 / 86_400_000_000 if rule.date else float(cell)
    if rule.low is not None and (value < rule.low or (value == rule.low and not rule.low_in)):
        return False
    return rule.high is None or value < rule.high or (value == rule.high and rule.high_in)


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect() as base:
        yield base


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_all_ways_pick_the_same_rows(duck, data):
    frame = data.draw(tables())
    rule = data.draw(rules(frame))
    wanted = rule.holds(frame)
    assert wanted.tolist() == [slow(rule, row) for _, row in frame.iterrows()]
    again = from_dict(json.loads(json.dumps(rule.to_dict())))
    assert again == rule
    assert again.holds(frame).tolist() == wanted.tolist()
    kinds = kinds_of(frame, rule.columns)
    condition = sql_of(rule, kinds)
    with sqlite3.connect(":memory:") as base:
        frame.to_sql("t", base, index_label="place")
        found = [k for (k,) in base.execute(f"SELECT place FROM t WHERE {condition}")]
        unknown = base.execute(f"SELECT COUNT(*) FROM t WHERE ({condition}) IS NULL").fetchone()
    assert sorted(found) == np.flatnonzero(wanted).tolist()
    assert unknown == (0,)
    numbered = frame.assign(place=np.arange(len(frame)))
    duck.register("t", numbered)
    found = [k for (k,) in duck.execute(f"SELECT place FROM t WHERE {condition}").fetchall()]
    assert sorted(found) == np.flatnonzero(wanted).tolist()
    space = {}
    code = to_python(Cascade("one", EVERYBODY, (("hit", rule),)), kinds)
    exec(compile(code, "strategies.py", "exec"), space)
    assert [space["assign"](row) == "hit" for row in frame.to_dict("records")] == wanted.tolist()
    assert python_of(rule, kinds) in code


def cascade():
    rich, young = Range("balance", 12_000.0), Range("age", None, 30.0)
    return Cascade(
        "Renewal; -- x\n'y'", Not(Missing("age")), (("rich", rich), ("it's", Not(young)), ("rest", EVERYBODY))
    )


def customers():
    return pd.DataFrame({"balance": [1.0, 12_000.0, None, 50_000.0, 3.0], "age": [20.0, 25.0, 40.0, None, 20.0]})


WANTED = ["rest", "rich", "it's", NOT_ELIGIBLE, "rest"]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_cascade_takes_the_first_that_holds_in_sql(engine):
    frame, made = customers(), cascade()
    code = to_sql(made, "my table", kinds_of(frame, made.columns))
    if engine == "sqlite":
        with sqlite3.connect(":memory:") as base:
            frame.to_sql("my table", base, index=False)
            rows = base.execute(code).fetchall()
    else:
        with duckdb.connect() as base:
            base.register("my table", frame)
            rows = base.execute(code).fetchall()
    assert [row[-1] for row in rows] == WANTED


def test_a_cascade_runs_as_a_program(tmp_path):
    frame, made = customers(), cascade()
    path = tmp_path / "strategies.py"
    path.write_text(to_python(made, kinds_of(frame, made.columns)), encoding="utf-8")
    lines = "\n".join(
        json.dumps({k: None if v != v else v for k, v in row.items()}) for row in frame.to_dict("records")
    )
    done = subprocess.run([sys.executable, "-I", path], input=lines, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == WANTED


def test_a_cascade_without_strategies_is_still_sql():
    with sqlite3.connect(":memory:") as base:
        customers().to_sql("t", base, index=False)
        rows = base.execute(to_sql(Cascade("none", EVERYBODY, ()), "t", {})).fetchall()
    assert {row[-1] for row in rows} == {NOBODY}


@pytest.mark.parametrize("names", [("a", "a"), ("(none)",), ("",), ("a\0b",)])
def test_names_that_mean_two_things_are_refused(names):
    with pytest.raises(RuleError):
        to_sql(Cascade("x", EVERYBODY, tuple((name, EVERYBODY) for name in names)), "t", {})


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (both([Range("balance", 12_000.0), Range("fund visits", 3.0, low_in=False)]),
         "balance at least 12,000 and fund visits above 3"),
        (either([Levels("sex", ("female",)), Range("clicks", None, 3.0, high_in=True)]),
         "sex is female or clicks at most 3"),
        (both([either([Levels("a", ("x", "y")), Missing("a")]), Not(Missing("b"))]),
         "(a is x or y or a is missing) and b is not missing"),
        (Not(Range("age", 18.0, 30.0)), "not (age at least 18 and below 30)"),
        (Range("since", 19_723.0, 20_089.5, date=True), "since from 2024-01-01 and before 2025-01-01 12:00:00"),
        (Range("n", 4.0, 4.0, True, True), "n is 4"), (EVERYBODY, "every row"), (AnyOf(()), "no row"),
        (Levels("k", tuple("abcdefgh")), "k is a, b, c, d, e, f or one of 2 more"),
    ],
)  # fmt: skip
def test_words(rule, words):
    assert rule.words() == words


def test_rounding_gives_numbers_a_business_would_choose():
    rule = both([Range("balance", 12_034.7), Not(Range("day", 19_723.4, date=True)), Range("rate", 0.1234, 0.987)])
    assert (
        rule.rounded().words()
        == "balance at least 12,000 and not (day from 2024-01-01) and rate at least 0.12 and below 0.99"
    )
    narrow = Range("x", 1.01, 1.04)
    assert narrow.rounded() == narrow


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ([], "rule is"), ({"all": 3}, "rule has"), ({"all": [{"any": [{"column": "x"}]}]}, r"rule.all\[0\].any\[0\]"),
        ({"column": "x", "at_least": "soon"}, "not a date"), ({"column": "x", "at_least": True}, "not a number"),
        ({"column": "x", "at_least": 3, "above": 4}, "one end"),
        ({"column": "x", "at_least": 3, "below": 1}, "ends before"),
        ({"column": "x", "is": [1]}, "asks"), ({"column": "x", "at_least": float("nan")}, "number"),
        ({"column": "x", "at_least": 1, "below": "2024-01-01"}, "one end of"), ({"not": {"not": 3}}, "rule.not.not"),
        ({"column": "x", "mystery": 1}, "mystery"), ({"column": "x", "at_least": 10**400}, "too large"),
        ({"column": "x", "at_least": "0001-01-01T00:00:00+14:00"}, "not a date"),
        ({"column": "\ud800", "missing": True}, "rule"),
    ],
)  # fmt: skip
def test_bad_json_is_refused_by_place(told, place):
    with pytest.raises(RuleError, match=place):
        from_dict(told)


def test_nesting_has_a_limit():
    told = {"column": "x", "missing": True}
    for _ in range(30):
        told = {"not": told}
    with pytest.raises(RuleError, match="deep"):
        from_dict(told)


def test_a_rule_on_another_table_is_refused_in_words():
    frame = pd.DataFrame({"a": ["x"], "d": pd.to_datetime(["2024-01-01"])})
    for rule in (Range("a", 1.0), Range("gone", 1.0), Levels("gone", ("x",)), Levels("d", ("x",)), Missing("gone")):
        with pytest.raises(TableError):
            rule.holds(frame)


def test_levels_of_truth_and_of_numbers():
    frame = pd.DataFrame({"flag": [0, 1, 1], "truth": [True, False, True], "code": [1.0, 2.0, None]})
    assert Levels("flag", ("True",)).holds(frame).tolist() == [False, True, True]
    assert Levels("truth", ("False",)).holds(frame).tolist() == [False, True, False]
    assert Levels("code", ("1",)).holds(frame).tolist() == [True, False, False]
    assert sql_of(Levels("flag", ("True",)), kinds_of(frame, ["flag"])) == '(t."flag" IS NOT NULL AND t."flag" IN (1))'


def test_ends_of_all_number_types_are_written_alike():
    for low in (4, np.int64(4), np.float64(4), 4.0):
        assert sql_of(Range("n", low), {"n": "number"}) == '(t."n" IS NOT NULL AND t."n" >= 4)'
    assert ">= 1.5e0" in sql_of(Range("n", np.float64(1.5)), {"n": "number"})


def test_levels_that_no_number_is_called_by_pick_nothing():
    frame = pd.DataFrame({"n": [1.0, 2.5, None]})
    rule = Levels("n", ("1.0", "nan", "inf", "2.50", "x"))
    assert not rule.holds(frame).any()
    assert sql_of(rule, {"n": "number"}) == "(1 = 0)"
    assert python_of(rule, {"n": "number"}) == "(_number(row, 'n') in ())"


def test_rounding_for_a_table_moves_hardly_anybody():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"year": rng.integers(1990, 2025, 5000), "balance": rng.lognormal(9, 1, 5000)})
    assert rounded(Range("year", 2019.0), frame) == Range("year", 2019.0)
    assert rounded(Range("balance", 12_127.335), frame) == Range("balance", 12_000.0)
    both_ends = rounded(All((Range("year", 2019.0), Range("balance", 12_127.335))), frame)
    moved = both_ends.holds(frame) != All((Range("year", 2019.0), Range("balance", 12_127.335))).holds(frame)
    assert moved.mean() <= 0.01


def test_a_table_with_a_column_of_the_same_name():
    frame = pd.DataFrame({"strategy": ["x", "y"], "Strategy_": [1, 2]})
    made = Cascade("t", EVERYBODY, (("A", Levels("strategy", ("y",))),))
    assert free_name(frame.columns, COLUMN) == "strategy__"
    with duckdb.connect() as base:
        base.register("t", frame)
        found = base.execute(to_sql(made, "t", kinds_of(frame, made.columns), free_name(frame.columns, COLUMN)))
        assert [row[-1] for row in found.fetchall()] == [NOBODY, "A"]


def test_python_reads_dates_of_all_kinds():
    rule = Range("d", 19_723.0, date=True)
    space = {}
    exec(compile(to_python(Cascade("x", EVERYBODY, (("hit", rule),)), {"d": "date"}), "s.py", "exec"), space)
    told = [
        date(2024, 1, 1),
        date(2023, 12, 31),
        "2024-01-01",
        "2023-12-31T23:59:59",
        None,
        float("nan"),
        pd.Timestamp("2024"),
    ]
    assert [space["assign"]({"d": value}) == "hit" for value in told] == [True, False, True, False, False, False, True]
