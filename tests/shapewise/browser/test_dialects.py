"""One table, written in two ways of which no byte is alike and loaded in a browser, is stored as the same table to the
bit. All eight ways, without a browser: tests/shapewise/ingest/test_dialects.py."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.support.dialects import DIALECTS, sales, written
from tests.support.serving import settle
from tests.support.steps import upload

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_table_in_two_dialects_is_one_table(page, space, tmp_path):
    frame, stored = sales(), []
    for name in ("plain", "Excel's Unicode text"):
        file = tmp_path / f"{name}.csv"
        file.write_bytes(written(frame, DIALECTS[name]))
        page.goto("/")
        settle(page)
        upload(page, file)
        page.get_by_role("button", name="Train on this table").wait_for()
        settle(page)
        (table,) = space.tables.listed()
        assert table.name == name
        stored.append(space.tables.path(table.id).read_bytes())
        pd.testing.assert_frame_equal(space.tables.read(table.id), frame, check_dtype=False, check_exact=True)
        space.delete("tables", table.id)
    assert stored[0] == stored[1]
