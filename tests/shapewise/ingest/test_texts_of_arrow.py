"""Texts of Arrow files are texts, however Arrow keeps them."""

from __future__ import annotations

import io

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


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_text_is_loaded_however_arrow_keeps_it(writing):
    table, out = pa.table({"plan": WRITINGS[writing], "n": range(5)}), io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    loaded = read_file("t.arrow", out.getvalue())
    assert list(loaded.frame) == ["plan", "n"]
    assert [None if cell != cell else cell for cell in loaded.frame["plan"].astype(object)] == CELLS
    assert not loaded.notes
