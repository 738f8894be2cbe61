"""A feature in two keys and a few letters, from any page."""

from __future__ import annotations

import pytest

from gamcore.data.column_names import ColumnNames, Names
from tests.support.serving import settle
from tests.support.steps import small_model

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_feature_is_found_by_keys_alone(page, space):
    model = small_model(space)
    space.tables.set_names(model.table, Names({"year_built": ColumnNames("Größe des Jahrgangs")}))
    page.goto(f"/overview?model={model.id}")
    settle(page)
    title = page.get_by_role("heading", name="Overview", exact=True)
    before = title.bounding_box()
    page.keyboard.press("Control+k")
    field = page.get_by_role("textbox", name="Find", exact=True)
    field.wait_for()
    page.wait_for_function("document.activeElement?.ariaLabel === 'Find'")
    assert title.bounding_box() == before  # the dialog does not take the place of the page's styles
    page.keyboard.type("größe")
    page.keyboard.press("Enter")  # before there is any result
    page.wait_for_url("**/shapes?**feature=year_built**")
    page.get_by_text("Größe des Jahrgangs").first.wait_for()
    settle(page)
    assert field.count() == 0

    page.get_by_test_id("stSidebarCollapseButton").locator("button").click(force=True)
    settle(page)
    page.keyboard.press("Control+k")  # also where the sidebar is closed
    field.wait_for()
    page.wait_for_function("document.activeElement?.ariaLabel === 'Find'")
    page.keyboard.type("ro")  # in place of what was asked for before
    first = page.locator(".st-key-find a").first
    first.filter(has_text="Rows").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rows?**")
    assert model.id in page.url
