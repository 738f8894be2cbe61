"""One always sees which project and which model one works on, and nothing else is ever opened in their place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from shapewise.decisions import boards
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.serving import settle, turn, walk
from tests.support.spaces import frame, spec_of
from tests.support.steps import press, row, small_model

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def in_view(page):
    """What the head of the sidebar says."""
    return page.locator(".st-key-in-view").inner_text()


def menu(page, name):
    page.get_by_role("link", name=name, exact=True).first.click()
    page.get_by_role("heading", name=name, exact=True).first.wait_for()
    settle(page)


@pytest.fixture
def two(space):
    """A model of housing and, made later, one of customers."""
    prices = small_model(space)
    table = space.tables.add(frame(), "customers")
    churn = train(space, spec_of(table.id, name="churn"))
    return prices, churn


def test_every_page_shows_the_project_in_view_and_every_link_carries_it(page, two):
    prices, churn = two
    page.goto(f"/overview?model={prices.id}")
    settle(page)
    for name in ("Data", "Train", "Models", "Shapes", "Rows", "Strategies", "Experiment", "Report", "Home"):
        menu(page, name)
        assert "housing" in in_view(page)
        assert "prices" in in_view(page)
        assert "customers" not in page.locator("h3").all_inner_texts()
        address = page.get_by_role("link", name="Pairs", exact=True).get_attribute("href")
        assert f"model={prices.id}" in address
        assert f"table={prices.table}" in address
    page.locator(".st-key-in-view").get_by_role("button", name="housing").click()
    page.get_by_role("button", name=re.compile("^customers")).click()
    page.locator(".st-key-in-view", has_text="churn").wait_for()
    settle(page)  # links are drawn after the head
    menu(page, "Shapes")
    assert f"model={churn.id}" in page.url
    page.go_back()
    settle(page)
    page.reload()
    page.locator(".st-key-in-view", has_text="churn").wait_for()


def test_a_trained_model_comes_into_view_whatever_page_is_open(page, two, space):
    prices, churn = two
    many = space.tables.add(frame(60_000), "many customers")
    page.goto(f"/overview?model={prices.id}")
    settle(page)
    turn(page, f"/train?table={many.id}")
    page.get_by_role("radio", name="Accurate").or_(page.get_by_role("button", name="Accurate")).first.click()
    settle(page)
    press(page, "Train")
    page.wait_for_url(re.compile("run="))
    menu(page, "Rows")
    page.locator(".st-key-in-view", has_text="many customers").wait_for()
    page.locator(".st-key-in-view", has_text="AUC").wait_for()
    newest = space.models.listed()[0]
    assert newest.table == many.id
    assert newest.id not in (prices.id, churn.id)
    page.wait_for_url(re.compile(f"model={newest.id}"))
    menu(page, "Overview")
    assert f"model={newest.id}" in page.url
    assert "customers" in in_view(page)


def test_what_one_tab_deletes_the_other_says(page, two, space):
    prices, churn = two
    page.goto(f"/shapes?model={churn.id}")
    settle(page)
    page.locator(".js-plotly-plot").first.wait_for()
    other = page.context.new_page()
    other.goto(f"/models?model={churn.id}")
    settle(other)
    press(other, "Model")
    press(other, "Delete")
    other.get_by_role("button", name="Delete model").click()
    other.locator(".st-key-in-view", has_text="churn").wait_for(state="detached")
    other.close()
    row(page, 1)  # the next feature, in a tab that is still open
    page.get_by_text("was deleted on").wait_for()
    assert "by you" in page.inner_text("body")
    assert page.locator(".js-plotly-plot").count() == 0
    assert "prices" not in page.locator("[class*=st-key-headline]").all_inner_texts()
    assert prices.id not in page.url
    page.goto(f"/overview?model={churn.id}")  # last month's link, in a new session
    page.get_by_text("was deleted on").wait_for()
    assert "churn" in page.get_by_text("was deleted on").inner_text()
    page.get_by_role("button", name=re.compile("Open prices")).click()
    page.locator(".st-key-in-view", has_text="prices").wait_for()
    assert f"model={prices.id}" in page.url


def test_links_and_tabs_open_their_own_and_nothing_else(page, two, space):
    """What never was; a board, which opens its project; two tabs; and two models of one target."""
    prices, churn = two
    gone = "e" * 16
    for _ in walk(page, [f"/shapes?model={gone}", f"/data?table={gone}", f"/strategies?board={gone}"]):
        page.get_by_text("There is no such").wait_for()
        assert page.locator(".js-plotly-plot").count() == 0

    board = boards.add_board(space, boards.StrategySet("first board"), prices.table)
    page.goto(f"/overview?model={churn.id}")
    settle(page)
    page.goto(f"/experiment?board={board.id}")
    page.locator(".st-key-in-view", has_text="housing").wait_for()
    menu(page, "Strategies")
    page.locator("strong", has_text="first board").wait_for()

    other = page.context.new_page()
    page.goto(f"/shapes?model={prices.id}")
    other.goto(f"/shapes?model={churn.id}")
    settle(page)
    settle(other)
    menu(page, "Rows")
    menu(other, "Rows")
    assert "prices" in in_view(page)
    assert "churn" in in_view(other)
    other.close()

    without = train(space, replace(Spec.from_dict(churn.spec), features=["a", "b"]))
    page.goto(f"/shapes?model={without.id}")
    page.locator(".st-key-in-view", has_text="without c").wait_for()
    menu(page, "Compare")
    page.get_by_text("churn · without c").first.wait_for()
