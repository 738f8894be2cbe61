"""A corpus of nasty files: each is read as meant, with a note where something changed, or refused in one sentence."""

from __future__ import annotations

import gzip
import io

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from gamcore.workspace import binary, reader
from gamcore.workspace.reader import ReaderError, read_file

PLAIN = "a,b\n1,x\n2,y\n3,z\n"


def rows(*lines):
    return "\n".join(lines) + "\n"


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


@pytest.mark.parametrize("case", READ)
def test_read_as_meant(case):
    content, expected, word = READ[case]
    data = content.encode() if isinstance(content, str) else content
    loaded = read_file("t.csv", data)
    for name, values in expected.items():
        found = loaded.frame[name]
        pd.testing.assert_series_equal(
            found.astype(object).where(found.notna(), None),
            pd.Series(values, dtype=object).where(pd.Series(values).notna(), None),
            check_names=False, check_dtype=False,
        )  # fmt: skip
    assert word is None or any(word in note for note in loaded.notes), loaded.notes
    assert word is not None or not loaded.notes


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


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(case):
    data, word = REFUSED[case]
    with pytest.raises(ReaderError) as caught:
        read_file("t.csv", data)
    assert word in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("name", ["t.exe", "t", "../../etc/passwd", "t.pdf", "t.parquet.gz"])
def test_other_endings_are_refused(name):
    with pytest.raises(ReaderError):
        read_file(name, gzip.compress(b"x") if name.endswith("gz") else b"x")


def test_gzip_is_unpacked_and_bounded(monkeypatch):
    assert read_file("t.csv.gz", gzip.compress(PLAIN.encode())).frame["a"].tolist() == [1, 2, 3]
    with pytest.raises(ReaderError, match="damaged"):
        read_file("t.csv.gz", gzip.compress(PLAIN.encode())[:-9])
    monkeypatch.setattr(reader, "MAX_UNPACKED", 1000)
    with pytest.raises(ReaderError, match="unpacks to more"):
        read_file("t.csv.gz", gzip.compress(b"a,b\n" * 100_000))


def parquet(table):
    out = io.BytesIO()
    pa.parquet.write_table(table, out)
    return out.getvalue()


def test_parquet_and_feather_keep_their_types():
    table = pa.table({
        "n": pa.array([1, None], pa.int16()), "t": pa.array(["007", None]), "d": pa.array([1.5, 2]).cast(pa.decimal128(5, 1)),
        "w": pa.array(["a", "a"]).dictionary_encode(),
    })  # fmt: skip
    out = io.BytesIO()
    pa.feather.write_feather(table, out)
    for name, data in (("t.parquet", parquet(table)), ("t.feather", out.getvalue())):
        loaded = read_file(name, data)
        assert loaded.frame["t"].iloc[0] == "007"
        assert loaded.notes == []


def test_nested_columns_are_left_out_with_a_note():
    loaded = read_file("t.parquet", parquet(pa.table({"a": [1, 2], "l": [[1], [2]], "s": [{"x": 1}, {"x": 2}]})))
    assert loaded.frame.columns.tolist() == ["a"]
    assert "l, s" in loaded.notes[0]
    with pytest.raises(ReaderError, match="plain values"):
        read_file("t.parquet", parquet(pa.table({"l": [[1], [2]]})))


def test_infinite_values_become_missing_with_a_note():
    loaded = read_file("t.parquet", parquet(pa.table({"a": [1.0, float("inf")]})))
    assert loaded.frame["a"].isna().tolist() == [False, True]
    assert "1 infinite" in loaded.notes[0]


def test_a_parquet_bomb_is_refused_by_its_footer(monkeypatch):
    monkeypatch.setattr(binary, "MAX_CELLS", 10_000)
    with pytest.raises(ReaderError, match="cells"):
        read_file("t.parquet", parquet(pa.table({"a": np.zeros(20_000, np.int8)})))


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99])
def test_truncated_binary_files_are_refused(cut):
    data = parquet(pa.table({"a": list(range(1000))}))
    for name in ("t.parquet", "t.feather", "t.xlsx"):
        with pytest.raises(ReaderError):
            read_file(name, data[: int(cut * len(data))])


def sheet(*lines):
    book, out = openpyxl.Workbook(), io.BytesIO()
    for line in lines:
        book.active.append(line)
    book.create_sheet("second")
    book.save(out)
    return out.getvalue()


def test_a_workbook_gives_values_only():
    loaded = read_file("t.xlsx", sheet(["a", "b", "a"], [1, "x", 5], [2.5, None, 6], [None, "y", 7]))
    assert loaded.frame.columns.tolist() == ["a", "b", "a (2)"]
    assert loaded.frame["a"].tolist()[:2] == [1, 2.5]
    assert any("first of 2 sheets" in note for note in loaded.notes)
    with pytest.raises(ReaderError, match="at least one row"):
        read_file("t.xlsx", sheet(["a"]))


def test_mixed_cells_of_a_workbook_are_text():
    frame = read_file("t.xlsx", sheet(["a"], [1], ["x"], [True])).frame
    assert frame["a"].map(type).eq(str).all()


def test_a_workbook_with_a_far_cell_is_refused_before_it_is_laid_out():
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"] = "a"
    book.active["XFD1048576"] = 1
    book.save(out)
    with pytest.raises(ReaderError, match="spans 1,048,576 rows"):
        read_file("t.xlsx", out.getvalue())


def feather(table, **options):
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def test_damaged_arrow_buffers_are_refused():
    offsets, text = pa.py_buffer(np.array([0, 2, 2**30, 4], np.int32)), pa.py_buffer(b"abcd")
    wild = pa.Array.from_buffers(pa.string(), 3, [None, offsets, text])
    foreign = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    for column in (wild, foreign):
        with pytest.raises(ReaderError, match="not a readable"):
            read_file("t.feather", feather(pa.table({"a": column})))


def test_files_that_unpack_to_too_much_are_refused(monkeypatch):
    monkeypatch.setattr(binary, "MAX_TABLE", 1_000_000)
    for name, data in (
        ("t.feather", feather(pa.table({"a": np.zeros(1_000_000)}), compression="zstd")),
        ("t.parquet", parquet(pa.table({"a": ["x" * 10_000] * 600}))),
    ):
        assert len(data) < 100_000
        with pytest.raises(ReaderError, match="unpacks to more"):
            read_file(name, data)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"a", b"b"]).dictionary_encode(), pa.array([b"a", b"b"]), pa.array([1, 2], pa.duration("s")),
        pa.array([1, 2], pa.time32("s")), pa.array([[1], [2]]), pa.array([{"a": 1}, None]),
    ],
    ids=str,
)  # fmt: skip
def test_columns_without_plain_values_are_left_out(column):
    assert read_file("t.parquet", parquet(pa.table({"c": column, "n": [1, 2]}))).frame.columns.tolist() == ["n"]


def test_whole_numbers_of_a_workbook_keep_their_look():
    frame = read_file("t.xlsx", sheet([2020, "b"], [1, 3], ["x", 4])).frame
    assert frame.columns.tolist() == ["2020", "b"]
    assert frame["2020"].tolist() == ["1", "x"]
