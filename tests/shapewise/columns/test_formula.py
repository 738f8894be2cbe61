"""Formulas of computed columns: what they give, what they refuse, and that no text does harm."""

from __future__ import annotations

import random
import string

import numpy as np
import pandas as pd
import pytest

from gamcore.data.columns import read_texts
from gamcore.data.table import as_table
from shapewise import patience
from shapewise.columns import evaluate as cells
from shapewise.columns.evaluate import evaluate, kind_of_formula
from shapewise.columns.formula import DEEPEST, LONGEST, FormulaError, columns_of, parse
from shapewise.columns.functions import FUNCTIONS
from shapewise.patience import TooLongError
from tests.support.places import ROOT
from tests.support.rowwise import cell, same


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "a": rng.integers(-3, 4, n).astype(float), "b": rng.normal(0, 2, n).round(2), "k": rng.integers(0, 3, n),
        "t": rng.choice(["x", "y", "Mrs. z"], n), "u u": rng.choice(["x", "w"], n),
        "d": pd.Timestamp("1968-01-01") + pd.to_timedelta(rng.integers(0, 9e8, n), unit="s"),
        "f": rng.random(n) < 0.5,
    })  # fmt: skip
    frame["d"] = frame["d"].astype("datetime64[us]")
    frame["f"] = frame["f"].astype("boolean")
    for name in ("a", "b", "t", "d", "f"):
        frame.loc[rng.random(n) < 0.2, name] = None
    return frame


def kinds(frame):
    known = as_table(frame)
    return {name: known.kind(name) for name in known.names}


def values(formula, frame):
    return evaluate(parse(formula), frame, kinds(frame))


def given(formula, frame):
    """The column of a formula, or the error that it is refused with."""
    try:
        return values(formula, frame)
    except FormulaError as error:
        return error


LEAVES = {"number": ["a", "b", "k", "2", "0", "1.5"], "boolean": ["f", "true"], "category": ["t", "`u u`", '"x"'],
          "date": ["d", "d"]}  # fmt: skip


def a_formula(kind, depth, of):
    """A random formula of a kind, as text."""

    def part(kind):
        return a_formula(kind, depth - 1, of)

    if depth == 0 or of.random() < 0.15:
        return of.choice(LEAVES[kind])
    if kind == "number":
        return of.choice([
            lambda: f"({part(kind)} {of.choice('+-*/')} {part(kind)})", lambda: f"-{part(kind)}",
            lambda: f"({part(kind)}) ** {of.choice(['2', '0.5', '-1', 'k'])}",
            lambda: f"{of.choice(['abs', 'sqrt', 'log', 'floor', 'exp'])}({part(kind)})",
            lambda: f"{of.choice(['min', 'max'])}({part(kind)}, {part(kind)}, {part(kind)})",
            lambda: f"ratio({part(kind)}, {part(kind)})", lambda: f"if({part('boolean')}, {part(kind)}, {part(kind)})",
            lambda: f"if_missing({part(kind)}, {part(kind)})", lambda: f"days_between({part('date')}, {part('date')})",
            lambda: f"{of.choice(['year', 'month', 'day', 'weekday', 'hour'])}({part('date')})",
        ])()  # fmt: skip
    if kind == "boolean":
        return of.choice([
            lambda: f"({part('number')} {of.choice(['<', '<=', '>', '>=', '=', '!='])} {part('number')})",
            lambda: f"({part('number')} < {part('number')} <= {part('number')})",
            lambda: f"({part(kind)} {of.choice(['and', 'or'])} {part(kind)})", lambda: f"(not {part(kind)})",
            lambda: f"missing({part(of.choice(list(LEAVES)))})", lambda: f"({part('category')} == {part('category')})",
            lambda: f"one_of({part('category')}, {part('category')}, {part('category')})",
            lambda: f"one_of({part('number')}, 1, k)", lambda: f"contains({part('category')}, {part('category')})",
            lambda: f"({part('date')} < {part('date')})",
        ])()  # fmt: skip
    if kind == "category":
        return of.choice([
            lambda: f"case({part('boolean')}, {part(kind)}, {part('boolean')}, {part(kind)}, {part(kind)})",
            lambda: f'combine({part(kind)}, "new", {part(kind)}, "y")', lambda: f"if_missing({part(kind)}, 'none')",
            lambda: f"cross({part(kind)}, {part('number')}, {part('boolean')})",
        ])()  # fmt: skip
    return of.choice([lambda: f"if({part('boolean')}, {part(kind)}, d)", lambda: f"if_missing({part(kind)}, d)"])()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_columns_are_what_rows_give_one_by_one(seed):
    of, frame = random.Random(seed), table(seed=seed)
    rows = [{name: None if pd.isna(value) else value for name, value in row.items()}
            for row in frame.astype(object).to_dict("records")]  # fmt: skip
    for _ in range(25):
        kind = of.choice(list(LEAVES))
        text = a_formula(kind, 3, of)
        made = values(text, frame)
        assert kind_of_formula(parse(text), kinds(frame)) == kind, text
        for value, row in zip(made.astype(object), rows, strict=True):
            want = cell(parse(text), row)
            assert same(None if pd.isna(value) else value, want), (text, value, want)


def test_parts_of_a_table_give_what_the_whole_gives():
    frame = table(60)
    for text in ("a / b", 'combine(t, "n", "x")', "a < b", "if(f, d, '2020-01-01')"):
        whole = values(text, frame)
        parts = [evaluate(parse(text), frame.iloc[k : k + 7], kinds(frame)) for k in range(0, 60, 7)]
        pd.testing.assert_series_equal(whole, pd.concat(parts), check_names=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-2 ** 2", -4), ("2 ^ 3 ^ 2", 512), ("2 ** -1", 0.5), ("1 - 2 - 3", -4), ("8 / 4 / 2", 1), ("1 + 2 * 3", 7),
        ("not 1 < 2 or true", True), ("1 < 2 < 3", True), ("1 < 3 < 2", False), ("case(false, 1, true, 2, 3)", 2),
        ('if("x" = "x", "it\'s", "no")', "it's"), ("ROUND(2.346, 2)", 2.35), ('cross(2, "x")', "2 · x"),
        ("cross(.5, true, 'y')", "0.5 · 1 · y"), ("not not not true", False),
        ("weekday(if(true, '2026-11-23', d))", 1), ("days_between('2024-02-28', '2024-03-01')", 2), (".5e1", 5),
    ],
)  # fmt: skip
def test_by_hand(text, value):
    assert (values(text, table(2)) == value).all()


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("a +", 4, "should come here"), ("a b", 3, "operator or a comma"), ("(a", 3, "should close"),
        ("incme / 2", 1, "no column incme"), ("A + 1", 1, "did you mean a?"), ("avg(a)", 1, "no function avg"),
        ("t < 'x'", 3, "texts have no order"), ("t == 1", 6, "in quotes"), ("if(a, 1, 2)", 4, "Compare it"),
        ("year(t)", 6, "another type first"), ("min(a)", 1, "at least 2"), ("round(a, k)", 10, "decimals"),
        ("'x", 1, "never closed"), ("a $ b", 3, "means nothing"), ("9e999", 1, "too large"),
        ("d == 'soon'", 6, "no date"),
        ("and a", 1, "before and after"), ("case(true, 1)", 1, "pairs"), ("mixed + 1", 1, "not all of one type"),
        ("", 0, "empty"), ("sqrt(a, b)", 1, "takes 1 values"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(text, at, words):
    frame = table(3)
    with pytest.raises(FormulaError, match=words.replace("?", "\\?")) as error:
        kind_of_formula(parse(text), {**kinds(frame), "mixed": None})
    assert error.value.at == at
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000, "(" * 900 + "a" + ")" * 900, "-" * 1_900 + "a", "a" + "+a" * 990, "a" + "**a" * 600,
        "not " * 400 + "f",
        "missing(" * 200 + "a" + ")" * 200, "9" * 1_900, "9**9**9**9**9**9", "a" * 3_000, "f" + " and f" * 300,
        "a.__class__", "().__class__.__bases__[0]", "__import__('os').system('true')", "lambda: 1", "[a for a in a]",
        "a if f else b", "a := 1", "exec('a')", "getattr(a, 't')", "f'{a}'", "a\x00b", "\ud800", "a;b", "{a}", "a,b",
        "`" + "a" * 1_000 + "`", "'" + "%s" * 400 + "'", "\u202ea", "１ + a", "𝐚 + 1", "a\n+\nb", "@a",
        "case(" + "f,1," * 70 + "1)",
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_hostile_texts_give_a_column_or_one_sentence(text):
    frame = table(5)
    made = given(text, frame)
    if isinstance(made, FormulaError):
        assert len(str(made)) < 3_000
        assert "\n" not in str(made)
    else:
        assert len(made) == 5
        assert made.dtype != float or not np.isinf(made).any()


def test_random_texts_give_a_column_or_one_sentence():
    of, frame = random.Random(1), table(4)
    pieces = [*string.punctuation, " ", "1", "a", "t", "d", "'x'", *FUNCTIONS, "and", "not", "`u u`", "(", ")", ","]
    for _ in range(1_000):
        text = "".join(of.choice(pieces) for _ in range(of.randint(1, 14)))
        made = given(text, frame)
        assert not isinstance(made, FormulaError) or 0 <= made.at <= len(text) + 1


def test_limits_are_on_the_safe_side():
    deep = "(" * (DEEPEST - 1) + "a" + ")" * (DEEPEST - 1)
    assert values(deep, table(3)).tolist() is not None
    assert len(values("a" + " + a" * 149, table(3))) == 3
    assert len("a" + " + a" * 149) < LONGEST


@pytest.fixture
def looks(monkeypatch):
    """How often a computation looked whether to go on; the test may let a look raise."""
    made = {"n": 0, "raise at": -1}

    def look():
        made["n"] += 1
        if made["n"] == made["raise at"]:
            raise TooLongError("It took too long.")

    monkeypatch.setattr(patience, "look", look)
    return made


def nested(depth, of):
    """Formulas that nest one another to a depth, each way in which one may hold another."""
    text = "a"
    for _ in range(depth):
        text = of.choice(["a < ({}) < a", "k == ({}) != b >= a", "if(({}) > 1, a, b)", "-({}) ** 2", "min(a, {}, b)",
                          "case(f, a, ({}) < 1 < b, 2, 3)", "one_of({}, a, b)"]).format(text)  # fmt: skip
    return text


@pytest.mark.parametrize("seed", range(8))
def test_a_formula_costs_what_its_words_do_however_it_is_nested(seed, looks):
    """A part that stands in two comparisons is computed once: else 20 levels would compute a million parts."""
    text = nested(20, random.Random(seed)) if seed else "a<(" * (DEEPEST - 1) + "a" + ")<a" * (DEEPEST - 1)
    node = parse(text)
    assert set(columns_of(node)) <= {"a", "b", "k", "f"}
    assert isinstance(given(text, table(3)), pd.Series | FormulaError)
    assert 0 < looks["n"] <= len(text)


@pytest.mark.parametrize("text", ["a + b * k", "a < b < k < a", "contains(t, `u u`)", 'one_of(t, "x", `u u`)',
                                  'combine(t, "n", "x")', "year(d) + hour(d)"])  # fmt: skip
def test_a_formula_ends_between_any_two_of_its_parts(text, looks):
    values(text, table())
    whole = looks["n"]
    assert whole >= 3
    for k in range(1, whole + 1):
        looks["n"], looks["raise at"] = 0, k
        with pytest.raises(TooLongError):
            values(text, table())


def test_texts_are_compared_by_their_distinct_pairs_and_read_once(monkeypatch):
    read = []
    monkeypatch.setattr(cells, "read_texts", lambda series: read.append(series.name) or read_texts(series))
    frame = pd.DataFrame({"u": ["a b", "b", None, "c"] * 50, "v": ["b", "b", "b", None] * 50})
    for text in ("one_of(u, v, v, v)", "contains(u, v) or u == v or contains(v, u)"):
        read.clear()
        made = values(text, frame)
        assert sorted(read) == ["u", "v"]
        rows = [{"u": u, "v": v} for u, v in frame.astype(object).where(frame.notna(), None).to_numpy()]
        want = [cell(parse(text), row) for row in rows]
        assert [None if pd.isna(value) else bool(value) for value in made] == want


@pytest.mark.parametrize("length", [3, 30, 60, 80, 1_000])
def test_the_nearest_name_is_looked_for_among_few(length, monkeypatch):
    tried = []
    monkeypatch.setattr(cells.difflib, "get_close_matches", lambda name, known, n: tried.append((name, known)) or [])
    of = random.Random(length)
    known = {"".join(of.choices("abc ", k=length)): "number" for _ in range(2_000)}
    with pytest.raises(FormulaError, match="no column"):
        kind_of_formula(parse("`" + "x" * length + "`"), known)
    assert sum(len(name) * len(one) for name, names in tried for one in names) <= 50 * 60 * 60


def test_the_nearest_name_is_found_in_a_wide_table():
    known = {f"feature {k}": "number" for k in range(5_000)} | {"household_size": "number", "Age": "number"}
    for wrong, right in (("houshold_size", "household_size"), ("AGE", "Age")):
        with pytest.raises(FormulaError, match=f"did you mean {right}"):
            kind_of_formula(parse(wrong), known)


def test_columns_are_named_once():
    assert columns_of(parse("if(a > `u u`, a, missing(b))")) == ["a", "u u", "b"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_help_of_each_function_is_a_formula(name):
    """What the page shows as an example parses, and calls the function that it is about."""
    node = parse(FUNCTIONS[name].usage.replace("…", "b").replace("date)", "d)").replace("from, to", "d, d"))
    assert node.function == ("if" if name == "case" else name)
    assert FUNCTIONS[name].help


def test_the_documentation_has_every_function_and_its_examples_are_formulas():
    text = (ROOT / "docs" / "guides" / "formulas.md").read_text(encoding="utf-8")
    for function in FUNCTIONS.values():
        assert f"| `{function.usage}` | {function.help} |" in text
    for example in text.split("```")[1].strip().splitlines():
        parse(example)
