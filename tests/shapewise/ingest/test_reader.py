"""The reader's limits and formats, with files made for each; the corpus of nasty files is in corpus.py."""

from __future__ import annotations

import gzip
import io

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from shapewise.ingest import arrow as binary
from shapewise.ingest import streams
from shapewise.ingest.read import ReaderError, read_file
from tests.support.corpus import CORPUS

PLAIN = "a,b\n1,x\n2,y\n3,z\n"


@pytest.mark.parametrize("name", ["t.exe", "t", "../../etc/passwd", "t.pdf", "t.parquet.gz"])
def test_other_endings_are_refused(name):
    with pytest.raises(ReaderError):
        read_file(name, gzip.compress(b"x") if name.endswith("gz") else b"x")


def test_gzip_is_unpacked_and_bounded(monkeypatch):
    assert read_file("t.csv.gz", gzip.compress(PLAIN.encode())).frame["a"].tolist() == [1, 2, 3]
    with pytest.raises(ReaderError, match="damaged"):
        read_file("t.csv.gz", gzip.compress(PLAIN.encode())[:-9])
    monkeypatch.setattr(streams, "FREE", 1000)
    with pytest.raises(ReaderError, match="unpacks to more"):
        read_file("t.csv.gz", gzip.compress(b"a,b\n" * 100_000))


def parquet(table):
    out = io.BytesIO()
    pa.parquet.write_table(table, out)
    return out.getvalue()


def test_parquet_and_feather_keep_their_types():
    table = pa.table({
        "n": pa.array([1, None], pa.int16()), "t": pa.array(["007", None]),
        "d": pa.array([1.5, 2]).cast(pa.decimal128(5, 1)),
        "w": pa.array(["a", "a"]).dictionary_encode(),
    })  # fmt: skip
    out = io.BytesIO()
    pa.feather.write_feather(table, out)
    for name, data in (("t.parquet", parquet(table)), ("t.feather", out.getvalue())):
        loaded = read_file(name, data)
        assert loaded.frame["t"].iloc[0] == "007"
        assert loaded.notes == []


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


def test_thousands_and_millions_of_a_format_are_told_once_and_are_no_units():
    case = CORPUS["workbook: in the format of thousands and millions"]
    assert len(read_file(case.file, case.data()).notes) == 1


def test_mixed_cells_of_a_workbook_are_text():
    frame = read_file("t.xlsx", sheet(["a"], [1], ["x"], [True])).frame
    assert frame["a"].map(type).eq(str).all()


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
        pa.array([b"\xff\xfe", b"b"]).dictionary_encode(), pa.array([b"\xff\xfe", b"b"]),
        pa.array([1, 2], pa.duration("s")), pa.array([1, 2], pa.time32("s")), pa.array([[1], [2]]),
        pa.array([{"a": 1}, None]),
    ],
    ids=str,
)  # fmt: skip
def test_columns_without_plain_values_are_left_out(column):
    assert read_file("t.parquet", parquet(pa.table({"c": column, "n": [1, 2]}))).frame.columns.tolist() == ["n"]


def test_whole_numbers_of_a_workbook_keep_their_look():
    frame = read_file("t.xlsx", sheet([2020, "b"], [1, 3], ["x", 4])).frame
    assert frame.columns.tolist() == ["2020", "b"]
    assert frame["2020"].tolist() == ["1", "x"]
