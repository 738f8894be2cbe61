"""A link shows a colleague what its sender saw, or says that it is gone."""

from __future__ import annotations

import pytest

from shapewise.training.train import train
from tests.support.serving import settle, window
from tests.support.spaces import frame, spec_of
from tests.support.steps import press, row, small_model

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


def seen(page):
    """The project and model in view, and the first headline."""
    settle(page)
    page.locator(".js-plotly-plot").first.wait_for()
    headline = page.locator("[class*=st-key-headline]").first.inner_text()
    return page.locator(".st-key-in-view").inner_text(), headline


def test_a_colleague_sees_the_same_model_table_and_feature(chromium, reader, renewal):
    reader.goto(f"/shapes?model={renewal.model}")
    seen(reader)
    row(reader, 2)
    reader.wait_for_url("**feature=*")
    mine = seen(reader)
    context = window(chromium, viewport={"width": 1440, "height": 900})
    theirs = context.new_page()
    theirs.goto(reader.url)
    assert seen(theirs) == mine
    for name in ("Overview", "Data", "Strategies"):
        theirs.get_by_role("link", name=name, exact=True).click()
        theirs.get_by_role("heading", name=name, exact=True).first.wait_for()
        settle(theirs)
        assert theirs.locator(".st-key-in-view").inner_text() == mine[0]
    context.close()


def test_what_one_tab_deletes_the_other_says(page, space):
    prices = small_model(space)
    churn = train(space, spec_of(space.tables.add(frame(), "customers").id, name="churn"))
    other = page.context.new_page()
    other.goto(f"/shapes?model={churn.id}")
    seen(other)
    page.goto(f"/models?model={churn.id}")
    settle(page)
    press(page, "Delete")
    page.get_by_role("button", name="Delete model").click()
    page.locator(".st-key-in-view", has_text="churn").wait_for(state="detached")
    row(other, 1)  # the next feature, in a tab that is still open
    other.get_by_text("was deleted on").wait_for()
    assert other.locator(".js-plotly-plot").count() == 0
    assert "prices" not in other.locator("[class*=st-key-headline]").all_inner_texts()
    assert prices.id not in other.url
