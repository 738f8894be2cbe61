"""Cells of Arrow files are what they are, however Arrow keeps them."""

from __future__ import annotations

import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from shapewise.ingest.read import read_file

CELLS = ["a", "b", None, "a", "ä" * 40]
WRITINGS = {
    "string": pa.array(CELLS), "large": pa.array(CELLS, pa.large_string()), "view": pa.array(CELLS, pa.string_view()),
    "categories": pa.array(CELLS).dictionary_encode(),
    "categories of views": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0, 2], pa.uint32()), pa.array(["a", "b", "ä" * 40], pa.string_view())
    ),
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


@pytest.mark.parametrize(("precision", "kind"), [(18, "int64"), (38, "float64")])
def test_whole_decimals_are_whole_numbers_and_a_note_says_which_are_too_long(precision, kind):
    ids = [900719925474099301, 900719925474099302, 5]
    for cells, long in ((ids, 2), ([1, 2, 3], 0)):
        decimals = pa.array(list(map(decimal.Decimal, cells)), pa.decimal128(precision, 0))
        loaded = read(pa.table({"id": decimals}))
        assert loaded.frame["id"].dtype == kind
        assert kind == "float64" or loaded.frame["id"].tolist() == cells
        assert [note.startswith(f"id: {long} whole numbers") for note in loaded.notes] == [True] * bool(long)
