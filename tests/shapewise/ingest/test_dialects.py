"""One table, written by programs in eight ways, is stored as the same table to the bit."""

from __future__ import annotations

import pandas as pd
import pytest

from shapewise.ingest.child import load
from tests.support.dialects import DIALECTS, sales, written


@pytest.mark.slow
def test_a_table_in_eight_dialects_is_one_table(space, tmp_path):
    frame, stored = sales(), {}
    for name, dialect in DIALECTS.items():
        source, into = tmp_path / f"{name}.csv", tmp_path / name
        source.write_bytes(written(frame, dialect))
        into.mkdir()
        job = {"source": str(source), "kind": ".csv", "table": 2**40, "memory": 2**40}
        size = load(job, into, lambda share, words: None)
        stored[name] = (into / "table.parquet").read_bytes()
        table = space.tables.add_file(into / "table.parquet", name, size["rows"], size["columns"], size["notes"])
        pd.testing.assert_frame_equal(space.tables.read(table.id), frame, check_dtype=False, check_exact=True)
        space.delete("tables", table.id)
    assert {name: content == stored["plain"] for name, content in stored.items()} == dict.fromkeys(DIALECTS, True)
