"""A query's table, refreshed after its database has changed, retrained, and the newer version compared; then a file
that is dropped on the model."""

from __future__ import annotations

import pandas as pd
import pytest

from shapewise.store.workspace import Workspace
from shapewise.training import runs
from tests.support.postgres import postgres
from tests.support.serving import Server, opened, settle, sound, turn, visiting
from tests.support.spaces import until
from tests.support.steps import press

pytest.importorskip("playwright.sync_api")
pytest.importorskip("psycopg")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

TABLE = (
    "CREATE TABLE customers AS SELECT k AS id, 20 + (k * 37) % 60 AS age, ((k * 7919) % 1000) / 10.0 AS balance, "
    "CASE WHEN (k * 37) % 60 + (k * 7919) % 40 > 50 THEN 'yes' ELSE 'no' END AS renewed FROM generate_series(1, 2000) k"
)
MORE = (
    "INSERT INTO customers SELECT k, 20 + (k * 37) % 60, ((k * 7919) % 1000)::numeric / 5, "
    "CASE WHEN (k * 37) % 60 + (k * 7919) % 40 > 60 THEN 'yes' ELSE 'no' END FROM generate_series(2001, 4000) k"
)
RUNNING = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND usename = 'reader'"
QUERY = "SELECT age, balance, renewed FROM customers ORDER BY id"


def write(page, label, text):
    field = page.get_by_role("textbox", name=label)
    field.fill(text)
    field.press("Control+Enter")
    settle(page)


def test_from_a_query_to_what_its_newer_rows_change(chromium, tmp_path):
    space = Workspace(tmp_path / "space")
    with postgres() as database:
        database.run(TABLE)
        secrets = tmp_path / "secrets.toml"
        secrets.write_text(f'[databases]\nwarehouse = "{database.url()}"\n')
        with (
            sound(Server(space.root, {"STREAMLIT_SECRETS_FILES": str(secrets)})) as server,
            visiting(chromium, server, viewport={"width": 1440, "height": 900}) as visitor,
            opened(visitor) as page,
        ):
            page.goto("/data")
            settle(page)
            write(page, "Query", "SELECT age, balnce FROM customers")
            press(page, "Preview")
            page.get_by_text("line 1, character 13").wait_for()
            write(page, "Query", "SELECT count(*) FROM generate_series(1, 100000000000)")
            press(page, "Preview")
            page.get_by_text("The query runs").wait_for()
            press(page, "Cancel")
            settle(page)
            until(
                lambda: not database.run("SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND usename = 'reader'")
            )
            write(page, "Query", QUERY)
            press(page, "Preview")
            page.get_by_text("The first 50 rows.").wait_for()
            settle(page)
            press(page, "Load the rows")
            page.get_by_text("From the database warehouse").wait_for()
            settle(page)

            press(page, "Train on this table")
            page.wait_for_url("**/train?*")
            page.get_by_text("Fast", exact=True).click()
            settle(page)
            page.get_by_role("button", name="Train", exact=True).click()
            page.get_by_role("button", name="Read the curves").wait_for()

            database.run(MORE)
            turn(page, f"/data?table={space.tables.listed()[0].id}")
            press(page, "Refresh")
            page.get_by_text("2,000 rows then, 4,000 now").wait_for()
            settle(page)
            page.get_by_text("Models and their curves").click()
            press(page, "Retrain on the newer version")
            page.get_by_text("moved most: by").wait_for()
            assert database.url() not in page.content()

            some = space.tables.read(space.tables.listed()[0].id).head(70)
            some.drop(columns="balance").to_csv(tmp_path / "new ones.csv", index=False)
            turn(page, f"/models?model={space.models.listed()[0].id}")
            page.get_by_text("Score a table or a file").click()
            settle(page)
            page.locator('input[type="file"]').first.set_input_files(str(tmp_path / "new ones.csv"))
            page.get_by_text("new ones has no column balance, so every row counts as missing there").wait_for()
            page.get_by_text("The mean prediction of 70 rows is").wait_for()
            settle(page)
            press(page, "Score the table")
            with page.expect_download() as waiting:
                press(page, "Download the file")
            assert len(pd.read_parquet(waiting.value.path())) == 70
    newer, older = space.tables.listed()
    assert (newer.rows, older.rows, newer.replaces) == (4000, 2000, older.id)
    assert {model.table for model in space.models.listed()} == {newer.id, older.id}
    assert not runs.active(space)
    for path in space.root.rglob("*"):
        assert not path.is_file() or database.url().encode() not in path.read_bytes()
