"""Random tables in random writings: what was written is read, or a note says otherwise."""

from __future__ import annotations

import csv
import datetime as dt
import io
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from shapewise.ingest import text
from shapewise.ingest.read import read_file

# --- numbers: a function of a value, and the words of a note that may say that it is read otherwise


def grouped(mark, decimal):
    def write(value):
        return f"{value:,.2f}".translate(str.maketrans({",": mark, ".": decimal}))

    return write


def lakhs(value):
    whole, fraction = f"{abs(value):.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    parts = [head[max(end - 2, 0) : end] for end in range(len(head), 0, -2)][::-1]
    return f"{'-' * (value < 0)}{','.join([*parts, tail])}.{fraction}"


def around(write, before="", behind=""):
    """A writing with text around the digits, behind the minus."""
    return lambda value: f"{'-' * (value < 0)}{before}{write(abs(value))}{behind}"


ENGLISH, GERMAN = grouped(",", "."), grouped(".", ",")
NUMBERS = {
    "plain": lambda value: f"{value:.2f}",
    "decimal commas": lambda value: f"{value:.2f}".replace(".", ","),
    "English": ENGLISH,
    "German": GERMAN,
    "blanks and commas": grouped(" ", ","),
    "narrow blanks and commas": grouped("\u202f", ","),
    "hard blanks and points": grouped("\u00a0", "."),
    "blanks as wide as digits": grouped("\u2007", "."),
    "Swiss": grouped("'", "."),
    "Swiss, typeset": grouped("\u2019", "."),
    "lakhs": lakhs,
    "minus behind": lambda value: GERMAN(abs(value)) + "-" * (value < 0),
    "parentheses": lambda value: f"({ENGLISH(-value)})" if value < 0 else ENGLISH(value),
    "dollars in parentheses": lambda value: f"(${ENGLISH(-value)})" if value < 0 else f"${ENGLISH(value)}",
    "minus, dollar": around(ENGLISH, "$"),
    "dollar, minus": lambda value: f"${ENGLISH(value)}",
    "euros behind": around(GERMAN, behind=" €"),
    "code behind": around(ENGLISH, behind=" USD"),
    "code before": around(ENGLISH, "CHF "),
    "dollars before parentheses": lambda value: f"$({ENGLISH(-value)})" if value < 0 else f"${ENGLISH(value)}",
    "euros behind parentheses": lambda value: f"({GERMAN(-value)}) €" if value < 0 else f"{GERMAN(value)} €",
    "euros behind a hard blank": around(grouped("\u00a0", ","), behind="\u00a0€"),
    "yen behind": around(ENGLISH, behind="円"),
    "Hungarian": around(grouped("\u00a0", ","), behind="\u00a0Ft"),
    "percent": around("{:.2f}".format, behind="%"),
    "percent with a blank": around(GERMAN, behind=" %"),
    "typeset minus": lambda value: f"{value:.2f}".replace("-", "\u2212"),
    "dash as minus": lambda value: f"{value:.2f}".replace("-", "\u2013"),
    "exponents": lambda value: f"{value:.6e}",
    "exponents with commas": lambda value: f"{value:.6e}".replace(".", ","),
    "plus": lambda value: f"{value:+.2f}",
}  # fmt: skip


def numbers(rng, rows):
    """Amounts of all sizes, some below 0, with decimals that no thousands have."""
    values = np.round(rng.choice([1, 100, 10_000, 1_000_000], rows) * rng.uniform(0.1, 9, rows), 2)
    return [float(value) for value in np.where(rng.random(rows) < 0.3, -values, values)]


# --- dates

DATES = {
    "ISO": "%Y-%m-%d", "year first, slashes": "%Y/%m/%d", "year first, points": "%Y.%m.%d", "day first": "%d/%m/%Y",
    "month first": "%m/%d/%Y", "points": "%d.%m.%Y", "dashes": "%d-%m-%Y", "named": "%d-%b-%Y", "SAS": "%d%b%Y",
    "written out": "%d %B %Y", "American": "%B %d, %Y", "American, short": "%b %d, %Y", "weekday": "%a, %d %b %Y",
    "named, two digits": "%d-%b-%y", "day first, time": "%d/%m/%Y %H:%M", "month first, half days": "%m/%d/%Y %I:%M %p",
    "points, seconds": "%d.%m.%Y %H:%M:%S", "ISO, T": "%Y-%m-%dT%H:%M:%S", "log": "%d/%b/%Y:%H:%M:%S",
    "ISO, zone": "%Y-%m-%dT%H:%M:%S+00:00", "mail": "%a, %d %b %Y %H:%M:%S +0000",
    "blanks behind points": "%d. %m. %Y", "year first, time": "%Y/%m/%d %H:%M",
}  # fmt: skip


def moments(rng, rows, form):
    """Moments as exact as their form, with days that can only be days."""
    minutes = rng.integers(0, 20 * 365 * 24 * 60, rows)
    times = [dt.datetime(2004, 1, 1) + dt.timedelta(minutes=int(minute)) for minute in minutes]
    times[0] = times[0].replace(day=28)
    return [time if "%M" in form else dt.datetime(time.year, time.month, time.day) for time in times]


def written(moment, form):
    """A moment in a form; the names are English, whatever the machine's are."""
    return moment.strftime(form)


# --- dialects


@dataclass(frozen=True)
class Dialect:
    separator: str
    quoting: int = csv.QUOTE_MINIMAL
    escape: bool = False
    line_end: str = "\n"
    preamble: str = ""

    def write(self, rows):
        out = io.StringIO()
        options = {"doublequote": False, "escapechar": "\\"} if self.escape else {}
        csv.writer(
            out, delimiter=self.separator, quoting=self.quoting, lineterminator=self.line_end, **options
        ).writerows(rows)
        return (self.preamble + out.getvalue()).encode()


DIALECTS = {
    **{name: Dialect(separator) for name, separator in {
        "commas": ",", "semicolons": ";", "tabs": "\t", "bars": "|", "tildes": "~", "carets": "^", "ones": "\x01",
        "broken bars": "¦",
    }.items()},
    "blanks": Dialect(" "),
    "all in quotes": Dialect(",", csv.QUOTE_ALL),
    "backslashes": Dialect(",", csv.QUOTE_ALL, escape=True),
    "semicolons, Windows": Dialect(";", line_end="\r\n"),
    "old Mac": Dialect(",", line_end="\r"),
    "a preamble": Dialect(",", preamble="Report of the office\n\n"),
}  # fmt: skip
ROWS = 30


def words(rng, rows):
    return [" ".join(rng.choice(["Lea", "Müller", "O'Neil", "red, green", 'says "hi"', "x"], 2)) for _ in range(rows)]


def read(rows, dialect):
    loaded = read_file("t.csv", dialect.write(rows))
    return loaded.frame, loaded.notes


@pytest.mark.one_in(5)
@pytest.mark.parametrize("writing", NUMBERS)
@pytest.mark.parametrize("dialect", ["commas", "semicolons", "all in quotes"])
def test_numbers_are_read_in_every_writing(writing, dialect):
    rng = np.random.default_rng(len(writing))
    values, texts = numbers(rng, ROWS), words(rng, ROWS)
    frame, notes = read(
        [["amount", "name"], *zip(map(NUMBERS[writing], values), texts, strict=True)], DIALECTS[dialect]
    )
    assert frame["name"].tolist() == texts
    np.testing.assert_allclose(frame["amount"].astype(float), values, rtol=1e-5, atol=1e-9, err_msg=str(notes))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("behind", ["-", "--", "\u2013", "\u2014"])
@pytest.mark.parametrize(("mark", "decimal", "currency"), [(".", ",", " €"), ("'", ".", ""), ("'", ".", " CHF")])
def test_a_dash_in_place_of_decimals_is_no_minus(behind, mark, decimal, currency):
    values = [-1250, 980, 12_345_678, 5, -70, *range(100, 120)]
    rows = [
        [f"{grouped(mark, decimal)(value)[:-2]}{behind if k % 3 else '00'}{currency}", "x"]
        for k, value in enumerate(values)
    ]
    frame, notes = read([["amount", "k"], *rows], DIALECTS["semicolons"])
    assert frame["amount"].tolist() == values, notes
    assert not any("minus" in note for note in notes)


@pytest.mark.parametrize("zero", ["$ -", "$-", "- $", "$ \u2013", "$ --"])
def test_a_dash_beside_a_currency_is_zero(zero):
    frame, notes = read([["amount", "k"], ["$ 1,200.50", 1], [zero, 2], ["$ 3.25", 3]], DIALECTS["semicolons"])
    assert frame["amount"].tolist() == [1200.5, 0, 3.25]
    assert any("dashes for 0" in note for note in notes)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "word", ["\u2013", "\u2014", "--", "...", "n.a.", "k. A.", "n.v.t.", "нет данных", "#NV", "<NA>"]
)
def test_words_for_missing_leave_a_column_numbers(word):
    frame, notes = read([["n", "k"], *[(word if k % 3 else str(k), "x") for k in range(12)]], DIALECTS["commas"])
    assert frame["n"].dropna().tolist() == [0, 3, 6, 9]
    assert f"n: 8 cells ({word!r}) say that they are missing." in notes


@pytest.mark.parametrize("day", ["2024-01-31", "31.01.2024"])
def test_a_day_ends_at_24_and_may_leap_a_second(day):
    ends = [f"{day} 24:00:00", f"{day} 23:59:60", f"{day} 12:00:00"]
    frame, notes = read([["when", "k"], *[(end, "x") for end in ends]], DIALECTS["commas"])
    assert frame["when"].astype(str).tolist() == ["2024-02-01 00:00:00"] * 2 + ["2024-01-31 12:00:00"], notes
    assert (
        read([["when"], [f"{day} 24:01:00"], [f"{day} 12:00:00"]], DIALECTS["commas"])[0]["when"][0]
        == f"{day} 24:01:00"
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("form", DATES)
def test_dates_are_read_in_every_unambiguous_writing(form):
    rng = np.random.default_rng(len(form))
    days = moments(rng, ROWS, DATES[form])
    frame, notes = read(
        [["when", "k"], *[(written(day, DATES[form]), k) for k, day in enumerate(days)]], DIALECTS["commas"]
    )
    assert frame["when"].tolist() == days, notes
    assert any(note.startswith("when: read as dates") for note in notes)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", DIALECTS)
def test_tables_are_read_in_every_dialect(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values, texts, days = numbers(rng, ROWS), words(rng, ROWS), moments(rng, ROWS, "%Y-%m-%d")
        rows = zip(
            range(ROWS), texts, map("{:.2f}".format, values), map(str, [day.date() for day in days]), strict=True
        )
        frame, notes = read([["id", "name", "amount", "day"], *rows], DIALECTS[name])
        assert frame["id"].tolist() == list(range(ROWS)), notes
        assert frame["name"].tolist() == texts
        assert frame["amount"].tolist() == values
        assert frame["day"].tolist() == days


@pytest.mark.one_in(4)
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("seed", range(4))
def test_marks_that_can_be_read_in_two_ways_follow_the_other_columns(decimal, seed):
    """Three decimals beside two of the same mark are decimals, and thousands beside the other mark are thousands."""
    rng = np.random.default_rng(seed)
    three = np.round(rng.uniform(1, 99, ROWS), 3) + 0.0
    whole, two = rng.integers(1000, 999_999, ROWS), np.round(rng.uniform(0, 9, ROWS), 2)
    other = {".": ",", ",": "."}[decimal]
    rows = [
        (f"{a:.3f}".replace(".", decimal), f"{b:,}".replace(",", other), f"{c:.2f}".replace(".", decimal))
        for a, b, c in zip(three, whole, two, strict=True)
    ]
    frame, notes = read([["three", "whole", "two"], *rows], Dialect("\t"))
    assert frame["three"].tolist() == three.tolist(), notes
    assert frame["whole"].tolist() == whole.tolist(), notes
    assert frame["two"].tolist() == two.tolist()


@pytest.mark.parametrize("mark", [".", ","])
def test_marks_that_nothing_explains_are_said_in_words(mark):
    frame, notes = read([["a", "b"], *[(f"{k}{mark}{k * 7 % 1000:03}", "x") for k in range(20, 60)]], Dialect("\t"))
    assert any(note.startswith("a: read as numbers") and "here and not" in note for note in notes), notes
    assert frame["a"].iloc[0] == pytest.approx(20.140 if mark == "." else 20140)


@pytest.mark.parametrize("cells", [["01/02/2024", "03/04/2024"], ["01.02.24", "03.04.24"], ["31/12/24", "30/11/23"]])
def test_dates_of_two_readings_stay_text_and_a_note_says_so(cells):
    frame, notes = read([["a", "b"], *[(cell, "x") for cell in cells]], DIALECTS["commas"])
    assert frame["a"].tolist() == cells
    assert any("two ways" in note for note in notes)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cells", [["word 1234", "word 5678"], ["10.1.2.3", "10.1.2.4"], ["v1.2.3", "v1.2.4"],
                                   ["555-12-3456", "555-13-3457"], ["(1)", "(2)"], ["€5", "$6"], ["5%", "0.1"],
                                   ["A12", "B13"], ["12-34", "13-35"], ["1,2,3", "4,5,6"]], ids=str)  # fmt: skip
def test_what_only_resembles_a_number_or_a_date_stays_text(cells):
    frame, _ = read([["a", "b"], *[(cell, "x") for cell in cells * 3]], Dialect("\t"))
    assert frame["a"].tolist() == cells * 3


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("cells", "what"), [
    (["12:30", "13:45"], "times"), (["25:20:00", "1:05:00"], "times"), (["1h 20m", "45m"], "times"),
    (["PT1H20M", "PT5M"], "times"), (["2024-W03-1", "2024-W04-7"], "dates"), (["24-Jan", "25-Feb"], "dates"),
    (["12%", "13.5"], "units or signs"), (["$5", "€6"], "units or signs"), (["13‰", "2‰"], "units or signs"),
    (["USD 5", "EUR 6"], "units or signs"),
    (["١٢٣", "٤٥"], "another script"), (["１２", "４５"], "another script"),
    (["1.23457E+15", "1.2E+15"], "a spreadsheet kept the first digits"),
], ids=str)  # fmt: skip
def test_a_note_says_what_is_not_read_as_it_may_be_meant(cells, what):
    _, notes = read([["a", "b"], *[(cell, "x") for cell in cells * 3]], Dialect("\t"))
    assert any(note.startswith("a: ") and what in note for note in notes), notes


@pytest.mark.parametrize("name", ["commas", "semicolons", "broken bars"])
def test_empty_columns_without_a_name_are_left_out(name):
    frame, notes = read([["", "a", "", "b", "", ""], *[["", k, "", k / 7, "", ""] for k in range(9)]], DIALECTS[name])
    assert list(frame) == ["a", "b"]
    assert "Dropped 4 empty columns without a name." in notes


# --- where the table begins

BODY = [[f"r{k}", str(k), f"{k / 7:.4f}"] for k in range(12)]
BEGINNINGS = {
    "names": ([["name", "n", "x"]], ["name", "n", "x"]),
    "no names": ([], ["column 1", "column 2", "column 3"]),
    "padded titles": ([["Report", "May", ""], ["", "", ""], ["name", "n", "x"]], ["name", "n", "x"]),
    "a title": ([["Report of May", "", ""], ["name", "n", "x"]], ["name", "n", "x"]),
    "units below": ([["name", "n", "x"], ["-", "pieces", "kg"]], ["name -", "n pieces", "x kg"]),
    "groups above": ([["", "2024", ""], ["name", "n", "x"]], ["name", "2024 n", "2024 x"]),
    "years as names": ([["name", "2023", "2024"]], ["name", "2023", "2024"]),
    "places as names": ([["0", "1", "2"]], ["0", "1", "2"]),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_row_is_taken_for_names_and_no_name_for_a_row(beginning, separator):
    above, names = BEGINNINGS[beginning]
    frame, notes = read([*above, *BODY], Dialect(separator))
    assert list(frame.columns) == names, notes
    assert frame.iloc[:, 0].tolist() == [row[0] for row in BODY]
    assert frame.iloc[:, 1].tolist() == list(range(12))
    said = " ".join(notes)
    assert ("looks like a row" in said) == (not above)
    assert ("Skipped" in said) == (beginning in ("padded titles", "a title"))
    assert ("joined here" in said) == (beginning in ("units below", "groups above"))


@pytest.mark.parametrize("names", [["1850", "1880", "2016"], ["0", "1", "2"], ["1990", "1995", "1996"]])
def test_a_word_beside_years_or_places_is_a_name(names):
    body = [[str(k), str(7 * k), f"{k / 7:.4f}", str(900 - k)] for k in range(12)]
    frame, _ = read([["rownames", *names], *body], Dialect(";"))
    assert list(frame.columns) == ["rownames", *names]
    assert frame["rownames"].tolist() == list(range(12))
    frame, _ = read([["n/k", "1850", "3", "2016"], *body], Dialect(";"))
    assert len(frame) == 13  # an odd cell of a row: the others are no years


@pytest.mark.parametrize("text", ["name\nDoe, John\nRoe, Jane\n", "x\n1,5\n2,25\n", "note\nwell, yes, ok\nno, no\nhm\n",
                                  "who\nJohn Smith\nJane Roe\n", "at\n12:30\n13:45\n"])  # fmt: skip
def test_one_column_stays_one_whatever_marks_its_cells_hold(text):
    frame = read_file("t.csv", text.encode()).frame
    assert frame.shape == (text.count("\n") - 1, 1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cells", [['he said \\"hi\\" ok', "plain"], ['size 5\\"', "x"], ['\\"a\\", \\"b\\"', "y"]])
def test_quotes_behind_backslashes_are_quotes(cells):
    lines = "".join(f'{k},"{cell}",7\n' for k, cell in enumerate(cells * 2))
    loaded = read_file("t.csv", f"id,note,n\n{lines}".encode())
    assert loaded.frame["note"].tolist() == [cell.replace("\\", "") for cell in cells * 2]
    late = "".join(f'{k},"plain",7\n' for k in range(400_000)) + lines
    assert read_file("t.csv", f"id,note,n\n{late}".encode()).frame["note"].tolist()[400_000:] == [
        cell.replace("\\", "") for cell in cells * 2
    ]


def test_paths_that_end_in_a_backslash_are_not_escapes():
    frame = read_file("t.csv", b'a,b\n"C:\\dir\\",1\n"D:\\",2\n').frame
    assert frame["a"].tolist() == ["C:\\dir\\", "D:\\"]


@pytest.mark.parametrize("rows", [5, 200, 120_000])
def test_a_carriage_return_within_a_cell_is_no_row(rows):
    lines = [f"{k},some text {k}" for k in range(rows)]
    lines[rows // 2] = f"{rows // 2},before\rbehind"
    loaded = read_file("t.csv", ("id,text\n" + "\n".join(lines) + "\n").encode())
    assert loaded.frame["id"].tolist() == list(range(rows))
    assert loaded.frame["text"].iloc[rows // 2] == "before\nbehind"
    assert "1 carriage return within cells is a line end here." in loaded.notes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_tables_in_random_writings(seed):
    rng = np.random.default_rng(seed)
    dialect = DIALECTS[rng.choice(list(DIALECTS))]
    rows, columns, right = int(rng.integers(3, 200)), {}, {}
    for k in range(int(rng.integers(2, 8))):
        name, kind = f"c{k}", rng.choice(["number", "date", "word"])
        if kind == "number":
            right[name] = numbers(rng, rows)
            write = NUMBERS[rng.choice(["plain", "English", "parentheses", "minus, dollar", "exponents", "percent"])]
            columns[name] = list(map(write, right[name]))
        elif kind == "date":
            form = DATES[rng.choice(list(DATES))]
            right[name] = moments(rng, rows, form)
            columns[name] = [written(day, form) for day in right[name]]
        else:
            right[name] = columns[name] = words(rng, rows)
    columns["n"] = right["n"] = list(range(rows))
    frame, notes = read([list(columns), *zip(*columns.values(), strict=True)], dialect)
    assert list(frame.columns) == list(columns), notes
    for name, values in right.items():
        noted = any(note.startswith(f"{name}: ") and "two ways" in note for note in notes)
        if isinstance(values[0], float):
            np.testing.assert_allclose(frame[name].astype(float), values, rtol=1e-5, atol=1e-9)
        else:
            assert noted or frame[name].tolist() == values, (name, notes)
        assert pd.api.types.is_numeric_dtype(frame[name]) == isinstance(values[0], float | int)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("usual", "rare", "values"), [
    (lambda k: str(k % 900), "1.234", (0, 1234)), (lambda k: str(k % 900), "1,5", (0, 1.5)),
    (lambda k: f"{k % 900}.50", "1,234.50", (0.5, 1234.5)),
    (lambda k: f"2024-01-{k % 28 + 1:02d}", "31/01/2024", (pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-31"))),
])  # fmt: skip
def test_a_rare_writing_is_read_alike_wherever_it_stands(monkeypatch, usual, rare, values):
    monkeypatch.setattr(text, "TYPE_ROWS", 30)
    for place in (0, 130, 299):
        cells = [usual(k) for k in range(300)]
        cells[place] = rare
        frame, notes = read([["a", "b"], *([cell, "x"] for cell in cells)], DIALECTS["semicolons"])
        assert frame["a"][place] == values[1]
        assert place == 0 or frame["a"][0] == values[0]
        assert any(note.startswith("a: read as") for note in notes)
