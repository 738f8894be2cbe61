"""A corpus of nasty files, each with the outcome it must have: read as meant, with a note where something changed, or
refused in a sentence that names the place and the way out. All are made here, from nothing but this code."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

PLAIN = "a,b\n1,x\n2,y\n3,z\n"


def rows(*lines):
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Case:
    """A file, and what must become of it: its columns and words of its notes, or words of the refusal.

    `columns` are checked in value and, by pandas, in kind; `None` in them is missing. Where `notes` is empty there
    must be none. `others` lets columns be that are not listed.
    """

    file: str
    data: Callable[[], bytes]
    columns: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    others: bool = False


# name: (bytes or text, expected columns or None, a word in the notes or None)
READ = {
    "plain": (PLAIN, {"a": [1, 2, 3], "b": ["x", "y", "z"]}, None),
    "no newline at the end": (PLAIN.strip(), {"a": [1, 2, 3], "b": ["x", "y", "z"]}, None),
    "Windows line ends": (PLAIN.replace("\n", "\r\n"), {"a": [1, 2, 3], "b": ["x", "y", "z"]}, None),
    "old Mac line ends": (PLAIN.replace("\n", "\r"), {"a": [1, 2, 3], "b": ["x", "y", "z"]}, None),
    "byte-order mark": (PLAIN.encode("utf-8-sig"), {"a": [1, 2, 3], "b": ["x", "y", "z"]}, "UTF-8"),
    "UTF-16": (PLAIN.encode("utf-16"), {"a": [1, 2, 3], "b": ["x", "y", "z"]}, "UTF-16"),
    "cp1252": (
        rows("name,x", *["Müller,1", "José,2", "Zoë,3"] * 30).encode("cp1252"), {"x": [1, 2, 3] * 30}, "Decoded",
    ),
    "Shift-JIS": (
        rows("名前,値", *["田中さくら,1", "鈴木一郎,2", "佐藤花子,3"] * 40).encode("shift_jis"), {"値": [1, 2, 3] * 40}, "Decoded",
    ),
    "semicolons": (rows("a;b", "1;x", "2;y"), {"a": [1, 2], "b": ["x", "y"]}, "semicolons"),
    "tabs": (rows("a\tb", "1\tx", "2\ty"), {"a": [1, 2], "b": ["x", "y"]}, "tabs"),
    "bars": (rows("a|b", "1|x", "2|y"), {"a": [1, 2], "b": ["x", "y"]}, "bars"),
    "one column": (rows("a", "1", "2"), {"a": [1, 2]}, None),
    "quoted separators": (rows("a,b", '"x, y",1', '"z",2'), {"a": ["x, y", "z"], "b": [1, 2]}, None),
    "quoted line ends": (rows("a,b", '"x\ny",1', '"z",2'), {"a": ["x\ny", "z"], "b": [1, 2]}, None),
    "doubled quotes": (rows("a,b", '"say ""hi""",1', '"z",2'), {"a": ['say "hi"', "z"]}, None),
    "decimal comma": (rows("a;b", "1,5;x", "2,25;y"), {"a": [1.5, 2.25]}, "decimal commas"),
    "decimal comma with dots for thousands": (rows("a;b", "1.234,5;x", "2,25;y"), {"a": [1234.5, 2.25]}, "decimal"),
    "thousands": (rows("a,b", '"1,234",x', '"2,000,000",y'), {"a": [1234, 2000000]}, "thousands"),
    "space thousands": (rows("a,b", "1 234,x", "2\u00a0000\u00a0000,y"), {"a": [1234, 2000000]}, "thousands"),
    "percent": (rows("a,b", "10%,x", "2.5%,y"), {"a": [10, 2.5]}, "percent signs"),
    "dollars": (rows("a,b", "$10,x", "$2.50,y"), {"a": [10, 2.5]}, "dollar signs"),
    "unicode minus": (rows("a,b", "\u22125,x", "2,y"), {"a": [-5, 2]}, None),
    "exponents": (rows("a,b", "1e3,x", "2.5E-1,y"), {"a": [1000, 0.25]}, None),
    "underscores are no numbers": (rows("a,b", "1_000,x", "2_000,y"), {"a": ["1_000", "2_000"]}, None),
    "a few cells are no numbers": (
        rows("a,b", *[f"{k},x" for k in range(99)], "oops,y"), {"a": [*range(99), np.nan]}, "are not numbers",
    ),
    "words for missing": (rows("a,b", "1,x", "N/A,y", "3,z"), {"a": [1, np.nan, 3]}, "say that they are missing"),
    "empty cells": (rows("a,b", "1,x", ",y", "3,"), {"a": [1, np.nan, 3], "b": ["x", "y", np.nan]}, None),
    "NA is Namibia in text": (rows("a,b", "1,NA", "2,DE"), {"b": ["NA", "DE"]}, None),
    "leading zeros": (rows("a,b", "007,x", "012,y"), {"a": ["007", "012"]}, "leading zeros"),
    "very long integers": (
        rows("a,b", "12345678901234567890123,x", "2,y"), {"a": ["12345678901234567890123", "2"]}, "very long",
    ),
    "infinite": (rows("a,b", "inf,x", "1e999,y", "3,z"), {"a": [np.nan, np.nan, 3]}, "2 infinite values"),
    "tiny and huge": (rows("a,b", "5e-324,x", "1e308,y"), {"a": [5e-324, 1e308]}, None),
    "booleans": (rows("a,b", "true,x", "False,y", "TRUE,z"), {"a": [True, False, True]}, None),
    "yes and no stay text": (rows("a,b", "yes,x", "no,y"), {"a": ["yes", "no"]}, None),
    "ISO dates": (rows("a,b", "2024-01-31,x", "2024-02-01,y"), {"a": pd.to_datetime(["2024-01-31", "2024-02-01"])}, "dates"),
    "times with a zone": (
        rows("a,b", "2024-01-31T12:00:00+02:00,x", "2024-02-01T00:00:00Z,y"),
        {"a": pd.to_datetime(["2024-01-31 10:00", "2024-02-01 00:00"])}, "dates",
    ),
    "day first": (rows("a,b", "31/01/2024,x", "01/02/2024,y"), {"a": pd.to_datetime(["2024-01-31", "2024-02-01"])}, "day first"),
    "month first": (rows("a,b", "01/31/2024,x", "02/01/2024,y"), {"a": pd.to_datetime(["2024-01-31", "2024-02-01"])}, "month first"),
    "dates with a word for missing": (rows("a,b", "2024-01-31,x", "NULL,y"), {"a": pd.to_datetime(["2024-01-31", None])}, "say that they are missing"),
    "points between thousands": (rows("a;b", "950;x", "1.200;y", "2.350;z"), {"a": [950, 1200, 2350]}, "decimal commas"),
    "decimal commas with three digits": (rows("a\tb", "0,125\tx", "0,250\ty", "7\tz", "1,500\tw"), {"a": [0.125, 0.25, 7, 1.5]}, "decimal commas"),
    "digits of other scripts are text": (rows("a,b", "\uff11\uff12,x", "\uff13,y"), {"a": ["\uff11\uff12", "\uff13"]}, None),
    "percent signs on some cells": (rows("a,b", "5%,x", "0.05,y", "7%,z"), {"a": ["5%", "0.05", "7%"]}, None),
    "a sign inside a number": (rows("a,b", "1%2,x", "3%4,y"), {"a": ["1%2", "3%4"]}, None),
    "a comma in a name": (rows("name;price, EUR", "x;1,5", "y;2,5"), {"price, EUR": [1.5, 2.5]}, "semicolons"),
    "one column with a blank": (rows("a", "1", "", "3"), {"a": [1, np.nan, 3]}, None),
    "ambiguous dates stay text": (rows("a,b", "01/02/2024,x", "03/04/2024,y"), {"a": ["01/02/2024", "03/04/2024"]}, "two ways"),
    "dates that do not exist": (rows("a,b", "2024-02-31,x", "2024-01-01,y"), {"a": ["2024-02-31", "2024-01-01"]}, "do not exist"),
    "preamble": (rows("Report of May", "", "a,b", "1,x", "2,y", "3,z"), {"a": [1, 2, 3]}, "Skipped"),
    "trailing separators": (rows("a,b", "1,x,", "2,y,"), {"a": [1, 2], "b": ["x", "y"]}, "empty last column"),
    "trailing separators in the header too": (rows("a,b,", "1,x,", "2,y,"), {"a": [1, 2], "b": ["x", "y"]}, "empty last"),
    "a few ragged rows": (
        rows("a,b", *[f"{k},x" for k in range(300)], "1,2,3", "1"), {"a": [*range(300)]}, "Skipped 2 rows",
    ),
    "NUL bytes": ("a,b\n1,x\0\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}, "NUL"),
    "duplicate names": (rows("a,a,a", "1,2,3", "4,5,6"), {"a": [1, 4], "a (2)": [2, 5], "a (3)": [3, 6]}, "named"),
    "empty names": (rows("a,,c", "1,2,3", "4,5,6"), {"a": [1, 4], "column 2": [2, 5], "c": [3, 6]}, "no name"),
    "control characters in names": (rows("a\x07b,c", "1,2", "3,4"), {"a b": [1, 3]}, "named"),
    "right-to-left and emoji names": (rows("\u202eabc,😀", "1,2", "3,4"), {"abc": [1, 3], "😀": [2, 4]}, "named"),
    "names of objects": (rows("__proto__,constructor", "1,2", "3,4"), {"__proto__": [1, 3], "constructor": [2, 4]}, None),
    "a very long name": (rows("n" * 500 + ",b", "1,x", "2,y"), {"n" * 79 + "…": [1, 2]}, "named"),
    "formulas are text": (rows("a,b", "=1+1,x", "@cmd,y"), {"a": ["=1+1", "@cmd"]}, None),
    "markup is text": (rows("a,b", "<script>,x", "<img src=x>,y"), {"a": ["<script>", "<img src=x>"]}, None),
    "all cells of a column empty": (rows("a,b", ",1", ",2"), {"a": [np.nan, np.nan], "b": [1, 2]}, None),
}  # fmt: skip

REFUSED = {
    "nothing": (b"", "empty"),
    "blank": (b"\n \n\n", "no text"),
    "header only": (b"a,b\n", "no rows"),
    "an open quote": (b'a,b\n"x,1\ny,2\n', "never closed"),
    "a header one name short": (
        rows("age,income", "r0,20,1000", "r1,21,1100", "r2,22,1200").encode(),
        "every column a name",
    ),
    "a title as wide as a short header": (
        rows("Sales report, March", "region,product,amount", "x,y,1", "x,z,2").encode(),
        "title",
    ),
    "many ragged rows": (
        rows("a,b", "1,x", "1,2,3", "1,2,3,4", "2,y", "1,2,3", "3,z", "9", "4,x", "5,z").encode(),
        "cells",
    ),
    "a cell of a million characters": (f"a,b\n{'x' * 1_000_000},1\ny,2\n".encode(), "cell"),
}


def text(content):
    return content.encode() if isinstance(content, str) else content


CORPUS: dict[str, Case] = {
    **{
        name: Case("t.csv", lambda content=content: text(content), columns, (word,) if word else (), others=True)
        for name, (content, columns, word) in READ.items()
    },
    **{name: Case("t.csv", lambda data=data: data, error=(word,)) for name, (data, word) in REFUSED.items()},
}


def add(name, file, data, columns=None, notes=(), error=(), others=False):
    """Put a case into the corpus; `data` is text, bytes, or what makes them."""
    assert name not in CORPUS
    make = data if callable(data) else lambda: text(data)
    notes, error = ((words,) if isinstance(words, str) else words for words in (notes, error))
    CORPUS[name] = Case(file, make, columns or {}, notes, error, others)


AB = {"a": [1, 2, 3], "b": ["x", "y", "z"]}

# --- encodings
add("UTF-32", "t.csv", PLAIN.encode("utf-32"), AB, "UTF-32")
add("UTF-16 of the other byte order", "t.csv", b"\xfe\xff" + PLAIN.encode("utf-16-be"), AB, "UTF-16")
add(
    "UTF-16 without a mark",
    "t.csv",
    rows("name,x", "Zoë,1", "José,2").encode("utf-16-le"),
    {"name": ["Zoë", "José"], "x": [1, 2]},
    "UTF-16-LE",
)
add(
    "GB18030",
    "t.csv",
    rows("城市,数", *["北京市朝阳区,1", "上海市浦东新区,2", "广州市天河区,3"] * 40).encode("gb18030"),
    {"城市": ["北京市朝阳区", "上海市浦东新区", "广州市天河区"] * 40, "数": [1, 2, 3] * 40},
    "Decoded from gb18030",
)
add(
    "Cyrillic",
    "t.csv",
    rows("город,число", *["Москва,1", "Новосибирск,2", "Екатеринбург,3"] * 40).encode("cp1251"),
    {"город": ["Москва", "Новосибирск", "Екатеринбург"] * 40, "число": [1, 2, 3] * 40},
    "Decoded from cp1251",
)
add("a picture", "t.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, error=("not text", "PNG"))
add("noise", "t.csv", lambda: np.random.default_rng(0).bytes(5000), error=("not text",))
add("a workbook named as text", "t.csv", lambda: sheet(["a"], [1]), error=("not text", "ZIP"))
add("Parquet named as text", "t.txt", lambda: parquet(pa.table({"a": [1]})), error=("not text", "Parquet"))
add("a web page", "t.csv", "<!DOCTYPE html><html><body>Sign in</body></html>", error=("web page",))
add("JSON", "t.csv", '[{"a": 1, "b": "x"},\n {"a": 2, "b": "y"}]', error=("JSON",))

# --- layout
add("a line that says the separator", "t.csv", "sep=;\na;b\n1;x\n2;y\n3;z\n", AB, "semicolons")
add(
    "a title filled up with separators",
    "t.csv",
    rows("Sales in May,,", ",,", "a,b,c", "1,x,2", "2,y,3"),
    {"a": [1, 2], "b": ["x", "y"], "c": [2, 3]},
    "Skipped 2 lines",
)
add("comments first", "t.csv", rows("# made by hand", "# in May", "a,b", "1,x", "2,y", "3,z"), AB, "Skipped 2 lines")
add(
    "names missing, not a title",
    "t.csv",
    rows("id,,", "1,2,3", "4,5,6"),
    {"id": [1, 4], "column 2": [2, 5], "column 3": [3, 6]},
    ("Column 2 had no name", "Column 3"),
)
add(
    "a total below",
    "t.csv",
    rows("a,b", "x,1", "y,2", "Total,3"),
    {"a": ["x", "y"], "b": [1, 2]},
    "last row that begin",
)
add(
    "a total and blank rows below",
    "t.csv",
    rows("a;b", "x;1", "y;2", "Summe:;3", ";", ";"),
    {"a": ["x", "y"], "b": [1, 2]},
    ("semicolons", "3 last rows"),
)
add(
    "a source below",
    "t.csv",
    rows(*["a,b"], *[f"k{k},{k}" for k in range(9)], "Source: the office"),
    {"a": [f"k{k}" for k in range(9)], "b": list(range(9))},
    "Skipped 1 rows",
)
add(
    "a category named total",
    "t.csv",
    rows("a,b", "Total,1", "x,2", "Total,3"),
    {"a": ["Total", "x", "Total"], "b": [1, 2, 3]},
)
add("separators after each row and name", "t.csv", rows("a,b,", "1,x,", "2,y,", "3,z,"), AB, "empty last column")
add("shorter rows", "t.csv", rows("a,b,c", *["1,2,3"] * 9, *["1,2"] * 5), error=("5 rows", "10 (2 cells)"))
add("line ends of both kinds", "t.csv", "a,b\r\n1,x\n2,y\r3,z", AB)
add("line ends in quotes of both kinds", "t.csv", 'a,b\r\n1,"x\r\ny"\r\n2,z\r\n', {"a": [1, 2], "b": ["x\ny", "z"]})
add("marks of inches", "t.csv", rows("a,b", '5" pipe,6" hose', "x,y"), {"a": ['5" pipe', "x"], "b": ['6" hose', "y"]})
add("a mark of inches alone", "t.csv", rows("a,b", 'x,5" pipe', "1,y"), error=("line 2", "close or remove"))
add("one row", "t.csv", "a,b\n1,x\n", {"a": [1], "b": ["x"]})
add("NUL bytes in names", "t.csv", "a\0,b\n1,x\n2,y\n3,z\n", AB, "Removed 1 NUL")
add("nothing but separators", "t.csv", ",,\n,,\n,,\n", error=("no names",))
add("nothing but NUL bytes", "t.csv", b"\0" * 999, error=("no text",))
add(
    "a wide table",
    "t.csv",
    lambda: text(rows(*[",".join(str(c + r) if r else f"n{c}" for c in range(1000)) for r in range(4)])),
    {"n0": [1, 2, 3], "n999": [1000, 1001, 1002]},
    others=True,
)
add(
    "a hundred thousand names",
    "t.csv",
    lambda: text(rows(",".join(f"n{k}" for k in range(100_000)), ",".join(["1"] * 100_000))),
    error=("100,000 columns", "drop some"),
)
add("a line of ten megabytes", "t.csv", lambda: text(rows("a,b", "1,x", "2," + "y" * 10_000_000)), error=("cell",))
add(
    "a row of ten megabytes",
    "t.csv",
    lambda: text(rows("a,b", "1,x", "2,y", "1," * 5_000_000, "3,z")),
    AB,
    "Skipped 1 rows",
)
add(
    "a quoted cell of a megabyte", "t.csv", lambda: text(rows("a,b", f'1,"{"x y " * 250_000}"', "2,y")), error=("cell",)
)
add(
    "a name of a hundred thousand characters",
    "t.csv",
    lambda: text(rows("n" * 100_000 + ",b", "1,x")),
    {"n" * 79 + "…": [1], "b": ["x"]},
    "Column 1 is named",
)

# --- names
add(
    "names that would collide",
    "t.csv",
    rows("a,a,a (2),a.1", "1,2,3,4"),
    {"a": [1], "a (3)": [2], "a (2)": [3], "a.1": [4]},
    "Column 2 is named",
)
add("names of blanks", "t.csv", rows('"  ",b', "1,x"), {"column 1": [1], "b": ["x"]}, "no name")
add("names that are formulas", "t.csv", rows("=1+1,@x", "1,x"), {"=1+1": [1], "@x": ["x"]})

# --- numbers
add(
    "the largest 64-bit number and a negative",
    "t.csv",
    rows("a,b", "18446744073709551615,x", "-1,y"),
    {"a": ["18446744073709551615", "-1"], "b": ["x", "y"]},
    "very long",
)
add(
    "whole numbers beyond 2^53",
    "t.csv",
    rows("a,b", "9007199254740993,x", "5,y"),
    {"a": ["9007199254740993", "5"], "b": ["x", "y"]},
    "very long",
)
add(
    "words for infinity",
    "t.csv",
    rows("a,b", "-inf,x", "Infinity,y", "1,z"),
    {"a": [None, None, 1], "b": ["x", "y", "z"]},
    "2 infinite",
)
add(
    "words that are categories",
    "t.csv",
    rows("a,b", "None,1", "nan,2", ",3", "x,4"),
    {"a": ["None", "nan", None, "x"], "b": [1, 2, 3, 4]},
)
add(
    "nothing but words for missing",
    "t.csv",
    rows("a,b", "NA,1", "n/a,2"),
    {"a": [None, None], "b": [1, 2]},
    "say that they are missing",
)
add(
    "errors of spreadsheets",
    "t.csv",
    rows("a,b", "1,x", "#DIV/0!,y", "3,z"),
    {"a": [1, None, 3], "b": ["x", "y", "z"]},
    ("1 cells ('#DIV/0!')",),
)
add(
    "dollars and thousands",
    "t.csv",
    rows("a,b", '"$1,234",x', "$5,y"),
    {"a": [1234, 5], "b": ["x", "y"]},
    "thousands separators and dollar signs",
)
add(
    "apostrophes between thousands",
    "t.csv",
    rows("a,b", "1'234'567,x", "5,y"),
    {"a": [1234567, 5], "b": ["x", "y"]},
    "thousands",
)
add(
    "a decimal comma in quotes",
    "t.csv",
    rows("a,b", '"1,5",x', '"2,25",y'),
    {"a": [1.5, 2.25], "b": ["x", "y"]},
    "decimal commas",
)
add(
    "half numbers, half words",
    "t.csv",
    rows("a,b", "1,x", "2,x", "low,x", "3,x"),
    {"a": ["1", "2", "low", "3"], "b": ["x"] * 4},
    ("3 of 4 cells", "'low' in row 3"),
)
add(
    "zeros before some numbers",
    "t.csv",
    rows("a,b", *[f"{k},x" for k in range(1, 50)], "00123,x"),
    {"a": [*map(str, range(1, 50)), "00123"], "b": ["x"] * 50},
    "leading zeros",
)
add(
    "complex numbers and lists",
    "t.csv",
    rows("a|b", "1+2j|[1, 2]", "3j|[]"),
    {"a": ["1+2j", "3j"], "b": ["[1, 2]", "[]"]},
    "bars",
)

# --- dates and truth
add(
    "dates of both orders",
    "t.csv",
    rows("a,b", "31/01/2024,x", "01/31/2024,y"),
    {"a": ["31/01/2024", "01/31/2024"], "b": ["x", "y"]},
    "two ways",
)
add(
    "dates of two digits",
    "t.csv",
    rows("a,b", "31.01.24,x", "01.02.24,y"),
    {"a": ["31.01.24", "01.02.24"], "b": ["x", "y"]},
)
add(
    "dates with points",
    "t.csv",
    rows("a,b", "31.01.2024,x", "01.02.2024,y"),
    {"a": pd.to_datetime(["2024-01-31", "2024-02-01"]), "b": ["x", "y"]},
    "day first",
)
add(
    "first and last dates",
    "t.csv",
    rows("a,b", "0001-01-01,x", "9999-12-31,y"),
    {"a": np.array(["0001-01-01", "9999-12-31"], "datetime64[us]"), "b": ["x", "y"]},
    "dates",
)
add(
    "months, hours and spans",
    "t.csv",
    rows("a,b,c", "2024-01,12:30,1 days", "2024-02,13:45,2 days"),
    {"a": ["2024-01", "2024-02"], "b": ["12:30", "13:45"], "c": ["1 days", "2 days"]},
)
add(
    "truth and a number",
    "t.csv",
    rows("a,b", "true,x", "1,y"),
    {"a": ["true", "1"], "b": ["x", "y"]},
    "1 of 2 cells are numbers",
)
add(
    "truth with a gap",
    "t.csv",
    rows("a,b", "true,x", ",y", "NA,z"),
    {"a": [True, None, None], "b": ["x", "y", "z"]},
    "say that they are missing",
)

# --- names of files are never paths
for hostile in (
    "../../x.csv",
    "con.csv",
    "c" * 300 + ".csv",
    "naïve 😀.CSV",
    "x\0y.csv",
    "a\nb.csv",
    "/etc/passwd.csv",
):
    add(f"file {hostile[:12]!r}", hostile, PLAIN, AB)
add("a file without an ending", "con", PLAIN, error=("Files ending in nothing",))
add("a program", "t.csv.exe", PLAIN, error=(".exe", "use .csv"))

# --- compressed
add("gzip", "t.csv.gz", lambda: gzip.compress(PLAIN.encode(), mtime=0), AB)
add(
    "gzip in parts",
    "t.tsv.gz",
    lambda: gzip.compress(b"a\tb\n1\tx\n", mtime=0) + gzip.compress(b"2\ty\n", mtime=0),
    {"a": [1, 2], "b": ["x", "y"]},
    "tabs",
)
add("gzip cut off", "t.csv.gz", lambda: gzip.compress(PLAIN.encode(), mtime=0)[:-9], error=("damaged", "again"))
add("gzip in name only", "t.csv.gz", PLAIN, error=("damaged",))
add(
    "gzip of Parquet",
    "t.parquet.gz",
    lambda: gzip.compress(parquet(pa.table({"a": [1]}))),
    error=("unpack the file first",),
)


def parquet(table, **options):
    out = io.BytesIO()
    pa.parquet.write_table(table, out, **options)
    return out.getvalue()


def feather(table, **options):
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def in_parquet(name, columns, expected, notes=(), error=(), **options):
    """A case of one table as a Parquet file."""
    add(
        f"Parquet: {name}",
        "t.parquet",
        lambda: parquet(columns() if callable(columns) else pa.table(columns), **options),
        expected,
        notes,
        error,
    )


# --- Parquet and Arrow
in_parquet(
    "nested",
    {
        "a": [1, 2],
        "l": [[1], [2]],
        "s": [{"x": 1}, {"x": 2}],
        "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    },
    {"a": [1, 2]},
    "Left out columns that do not hold one plain value a cell: l, s, m",
)
in_parquet("nothing but nested", {"l": [[1], [2]]}, {}, error=("flatten",))
in_parquet(
    "int96",
    {"t": pa.array([dt.datetime(1500, 1, 1), dt.datetime(9999, 12, 31)], pa.timestamp("us"))},
    {"t": np.array(["1500-01-01", "9999-12-31"], "datetime64[us]")},
    use_deprecated_int96_timestamps=True,
)
in_parquet("decimals", lambda: pa.table({"d": pa.array([1.5, None]).cast(pa.decimal128(5, 1))}), {"d": [1.5, None]})
in_parquet(
    "decimals of 38 digits",
    lambda: pa.table({"d": pa.array([1, 2]).cast(pa.decimal128(38, 2))}),
    {"d": [1.0, 2.0]},
    "38 digits",
)
in_parquet("one category", lambda: pa.table({"c": pa.array(["x", "x"]).dictionary_encode()}), {"c": ["x", "x"]})
in_parquet("days", {"d": pa.array([dt.date(2024, 1, 31), None])}, {"d": pd.to_datetime(["2024-01-31", None])})
in_parquet(
    "times of a zone",
    {"t": pa.array([dt.datetime(2024, 1, 31, 12)], pa.timestamp("us", "+02:00"))},
    {"t": pd.to_datetime(["2024-01-31 12:00"])},
    "in UTC",
)
in_parquet(
    "the largest unsigned number",
    {"u": pa.array([2**64 - 1, 1], pa.uint64())},
    {"u": [2**64 - 1, 1]},
    "1 whole numbers beyond",
)
in_parquet(
    "whole numbers beyond 2^53",
    {"i": [2**53 + 1, -(2**60), 3]},
    {"i": [2**53 + 1, -(2**60), 3]},
    "2 whole numbers beyond",
)
in_parquet("nothing but nulls", {"n": pa.nulls(2), "a": [1, 2]}, {"n": [None, None], "a": [1, 2]})
in_parquet("truth with a gap", {"b": [True, None, False]}, {"b": [True, None, False]})
in_parquet("halves", {"h": pa.array(np.array([1.5, 2], np.float16))}, {"h": [1.5, 2]})
in_parquet(
    "infinities",
    {"x": [1.0, float("inf"), float("-inf"), 5e-324, 1e308]},
    {"x": [1, None, None, 5e-324, 1e308]},
    "2 infinite",
)
in_parquet(
    "one name twice",
    lambda: pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    {"a": [1], "a (2)": [2]},
    "Column 2 is named",
)
in_parquet("a name with a point", {"a.b": [1], "a": [2]}, {"a.b": [1], "a": [2]})
in_parquet("no rows", {"a": pa.array([], pa.int64())}, {}, error=("no rows",))
in_parquet("no columns", lambda: pa.table({}), {}, error=("flatten",))
in_parquet("a cell of a megabyte", {"t": ["x" * 1_000_000, "y"]}, {}, error=("1,000,000", "shorten"))
for share in (0.1, 0.5, 0.99):
    add(
        f"Parquet cut off at {share}",
        "t.parquet",
        lambda share=share: (d := parquet(pa.table({"a": list(range(999))})))[: int(share * len(d))],
        error=("not a readable parquet file", "write it again"),
    )
add(
    "Parquet, encrypted",
    "t.parquet",
    lambda: b"PARE" + parquet(pa.table({"a": [1]}))[4:-4] + b"PARE",
    error=("encrypted",),
)
add("Parquet in name only", "t.parquet", PLAIN, error=("not a readable parquet file",))
add(
    "Arrow",
    "t.arrow",
    lambda: feather(pa.table({"a": [1, 2], "w": pa.array(["x", "x"]).dictionary_encode()})),
    {"a": [1, 2], "w": ["x", "x"]},
)
add(
    "Feather, packed",
    "t.feather",
    lambda: feather(pa.table({"a": [1.5, None]}), compression="zstd"),
    {"a": [1.5, None]},
)
add(
    "Feather cut off",
    "t.feather",
    lambda: feather(pa.table({"a": list(range(999))}))[:-99],
    error=("not a readable feather file",),
)


def sheet(*lines, change=None):
    """A workbook of openpyxl with one sheet; `change` is done to the book before it is saved."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    for line in lines:
        book.active.append(line)
    if change is not None:
        change(book)
    book.save(out)
    return out.getvalue()


def repacked(data, change=lambda name, content: content, more=()):
    """A workbook with members changed, and more of them at the end."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, change(entry.filename, old.read(entry)))
        for name, content in more:
            new.writestr(name, content)
    return out.getvalue()


def with_cells(cells, head=b""):
    """A workbook whose one sheet has rows as given in XML, below the names a and b."""
    top = b'<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
    xml = (
        b'<?xml version="1.0"?>'
        + head
        + b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        b"<sheetData>" + top + cells + b"</sheetData></worksheet>"
    )
    return repacked(sheet(["a"]), lambda name, content: xml if name == "xl/worksheets/sheet1.xml" else content)


def in_sheet(name, data, columns=None, notes=(), error=()):
    add(f"workbook: {name}", "t.xlsx", data, columns, notes, error)


# --- workbooks
in_sheet(
    "formulas as values",
    lambda: with_cells(b'<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2"><v>5</v></c></row>'),
    {"a": [2], "b": [5]},
)
in_sheet(
    "formulas without values",
    lambda: sheet(["a", "b"], [1, "=A2+1"], [2, "=A3+1"]),
    {"a": [1, 2], "b": [None, None]},
    "2 formulas",
)
in_sheet(
    "merged cells",
    lambda: sheet(["a", "b"], ["x", 1], [None, 2], change=lambda book: book.active.merge_cells("A2:A3")),
    {"a": ["x", None], "b": [1, 2]},
    "merges cells in 1 places",
)
in_sheet(
    "several sheets",
    lambda: sheet(["a"], [1], change=lambda book: book.create_sheet("second").append(["z"])),
    {"a": [1]},
    "first of 2 sheets",
)
in_sheet(
    "dates",
    lambda: sheet(["a", "b"], [dt.datetime(2024, 1, 31), 1], [dt.datetime(2024, 2, 1, 12), 2]),
    {"a": pd.to_datetime(["2024-01-31 00:00", "2024-02-01 12:00"]), "b": [1, 2]},
)
in_sheet(
    "error cells",
    lambda: with_cells(
        b'<row r="2"><c r="A2" t="e"><v>#DIV/0!</v></c><c r="B2"><v>5</v></c></row><row r="3"><c r="A3"><v>7</v></c><c r="B3"><v>6</v></c></row>'
    ),
    {"a": [None, 7], "b": [5, 6]},
    "1 cells of the workbook hold errors",
)
in_sheet(
    "a title and a total",
    lambda: sheet(["Sales"], [], ["a", "b"], ["x", 1], ["y", 2], ["Total", 3]),
    {"a": ["x", "y"], "b": [1, 2]},
    ("Skipped 1 line", "Total"),
)
in_sheet(
    "text as numbers", lambda: sheet(["a", "b"], ["1,234", 1], ["5", 2]), {"a": [1234, 5], "b": [1, 2]}, "thousands"
)
in_sheet(
    "formulas of other files",
    lambda: repacked(sheet(["a", "b"], [1, 2]), more=[("xl/externalLinks/externalLink1.xml", b"<externalLink/>")]),
    {"a": [1], "b": [2]},
)
in_sheet(
    "an entity that grows",
    lambda: with_cells(
        b'<row r="2"><c r="A2" t="inlineStr"><is><t>&c;</t></is></c></row>',
        b'<!DOCTYPE x [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]>',
    ),
    error=("document type",),
)
in_sheet(
    "an entity that names a file",
    lambda: with_cells(
        b'<row r="2"><c r="A2" t="inlineStr"><is><t>&c;</t></is></c></row>',
        b'<!DOCTYPE x [<!ENTITY c SYSTEM "file:///etc/passwd">]>',
    ),
    error=("document type",),
)
in_sheet(
    "an entity in UTF-16",
    lambda: repacked(
        sheet(["a"], [1]),
        lambda name, content: (
            '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x []><x/>'.encode("utf-16")
            if name == "xl/styles.xml"
            else content
        ),
    ),
    error=("document type",),
)
in_sheet(
    "a far cell",
    lambda: sheet(["a"], [1], change=lambda book: book.active.__setitem__("XFD1048576", 1)),
    error=("1,048,576 rows", "16,384 columns"),
)
in_sheet("cut off", lambda: sheet(["a"], [1])[:-99], error=("cannot be read",))
in_sheet("an archive of other things", lambda: zipped({"x.txt": b"x"}), error=("cannot be read",))
in_sheet("with a password", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2000, error=("password",))
in_sheet("one part twice", lambda: zip_twice(), error=("twice",))
in_sheet("a wrong size in the directory", lambda: lying(), error=("cannot be read",))
in_sheet("names alone", lambda: sheet(["a", "b"]), error=("at least one row",))


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def zip_twice():
    data = repacked(sheet(["a"], [1]), more=[("xl/worksheets/sheetX.xml", b"<worksheet/>")])
    return data.replace(b"xl/worksheets/sheetX.xml", b"xl/worksheets/sheet1.xml")


def lying():
    """A workbook whose directory gives its sheet a size of 10 bytes."""
    data = bytearray(sheet(["a"], [1]))
    at = data.rindex(b"xl/worksheets/sheet1.xml") - 46
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    return bytes(data)
