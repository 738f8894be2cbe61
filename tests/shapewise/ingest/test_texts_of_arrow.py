"""Cells of Arrow files are what they are, however Arrow keeps them."""

from __future__ import annotations

import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from shapewise.ingest.read import ReaderError, read_file

CELLS = ["a", "b", None, "a", "ä" * 40]
WRITINGS = {
    "string": pa.array(CELLS), "large": pa.array(CELLS, pa.large_string()), "view": pa.array(CELLS, pa.string_view()),
    "categories": pa.array(CELLS).dictionary_encode(),
    "categories of views": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0, 2], pa.uint32()), pa.array(["a", "b", "ä" * 40], pa.string_view())
    ),
    "categories, one of them missing": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 0, 3], pa.int8()), pa.array(["a", "b", None, "ä" * 40])
    ),
    "categories, one of them twice": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 2, 3], pa.int8()), pa.array(["a", "b", "a", "ä" * 40])
    ),
    **{
        f"runs of {name}": pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 6), pa.int32()), cells)
        for name, cells in {
            "strings": pa.array(CELLS), "views": pa.array(CELLS, pa.string_view()),
            "categories": pa.array(CELLS).dictionary_encode(),
        }.items()
    },
}  # fmt: skip


def read(table):
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    return read_file("t.arrow", out.getvalue())


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_text_is_loaded_however_arrow_keeps_it(writing):
    loaded = read(pa.table({"plan": WRITINGS[writing], "n": range(5)}))
    assert list(loaded.frame) == ["plan", "n"]
    assert [None if cell != cell else cell for cell in loaded.frame["plan"].astype(object)] == CELLS
    assert not loaded.notes


@pytest.mark.parametrize("cells", [[1, 2, None], [1.5, np.inf, None], [True, False, None], [dt.date(2024, 1, 2), None]])
def test_numbers_and_days_kept_as_categories_are_numbers_and_days(cells):
    plain, coded = (read(pa.table({"c": column})) for column in (pa.array(cells), pa.array(cells).dictionary_encode()))
    assert coded.frame.equals(plain.frame)
    assert coded.notes == plain.notes


BYTES = [b"a", None, b"bc", b"a"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
@pytest.mark.parametrize("is_coded", [False, True])
def test_bytes_are_text_however_arrow_keeps_them(kind, is_coded):
    cells = pa.array(BYTES, kind)
    if is_coded:
        cells = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.int8()), pa.array([b"a", b"bc"], kind))
    loaded = read(pa.table({"c": cells}))
    assert [None if cell != cell else cell for cell in loaded.frame["c"].astype(object)] == ["a", None, "bc", "a"]
    assert loaded.notes == ["c: its bytes are read as text."]


def test_bytes_that_no_text_has_are_left_out():
    loaded = read(pa.table({"c": pa.array([bytes(range(1, 17))], pa.binary(16)), "n": [1]}))
    assert list(loaded.frame) == ["n"]
    assert loaded.notes == ["Left out columns that hold bytes: c."]


@pytest.mark.parametrize(("cells", "why"), [
    (pa.array([dt.timedelta(1)]), "spans of time"), (pa.array([dt.time(1)]), "times of day"),
    (pa.array([b"\xff"]), "bytes"),
])  # fmt: skip
def test_a_file_without_a_column_to_read_is_refused_with_the_true_reason(cells, why):
    with pytest.raises(ReaderError, match=why):
        read(pa.table({"c": cells}))


@pytest.mark.parametrize(
    "decimals", [pa.decimal32(5, 0), pa.decimal64(12, 0), pa.decimal128(12, 0), pa.decimal32(5, 1)]
)
def test_short_decimals_are_numbers(decimals):
    loaded = read(pa.table({"c": pa.array([decimal.Decimal(1), None, decimal.Decimal(-2)], decimals)}))
    assert [None if cell != cell else cell for cell in loaded.frame["c"].astype(float)] == [1, None, -2]


@pytest.mark.parametrize(("precision", "kind"), [(18, "int64"), (38, "float64")])
def test_whole_decimals_are_whole_numbers_and_a_note_says_which_are_too_long(precision, kind):
    ids = [900719925474099301, 900719925474099302, 5]
    for cells, long in ((ids, 2), ([1, 2, 3], 0)):
        decimals = pa.array(list(map(decimal.Decimal, cells)), pa.decimal128(precision, 0))
        loaded = read(pa.table({"id": decimals}))
        assert loaded.frame["id"].dtype == kind
        assert kind == "float64" or loaded.frame["id"].tolist() == cells
        assert [note.startswith(f"id: {long} whole numbers") for note in loaded.notes] == [True] * bool(long)


@pytest.mark.parametrize(("cells", "words"), [
    (["2024-01-31", None, "2024-02-01"], "a step on Data reads its dates"),
    (["1.5", "2.25", "n/a"], "a step on Data reads its numbers"),
    (["007", "1.5"], None), (["10115", "80331"], None), (["", "x"], None), ([None, None], None), (["1/2", "x"], None),
])  # fmt: skip
def test_dates_and_numbers_that_a_file_has_as_text_stay_text_and_a_note_says_so(cells, words):
    loaded = read(pa.table({"c": pa.array(cells, pa.string())}))
    assert [None if cell != cell else cell for cell in loaded.frame["c"].astype(object)] == cells
    assert ["c: text in the file" in note and words in note for note in loaded.notes] == [True] * (words is not None)
