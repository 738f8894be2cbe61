"""One always sees which project and which model one works on, and nothing else is ever opened in their place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from shapewise.decisions import boards
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.serving import settle
from tests.support.spaces import frame, spec_of
from tests.support.steps import press, small_model

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


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
    many = space.tables.add(frame(100_000), "many customers")
    page.goto(f"/overview?model={prices.id}")
    settle(page)
    page.goto(f"/train?table={many.id}")
    settle(page)
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


def test_a_deleted_model_is_said_to_be_deleted(page, two, space):
    prices, churn = two
    page.goto(f"/shapes?model={churn.id}")
    settle(page)
    space.delete("models", churn.id)  # in another tab
    page.get_by_role("radio", name="Odds ratio").click()
    page.get_by_text("was deleted on").wait_for()
    assert "by you" in page.inner_text("body")
    assert page.locator(".js-plotly-plot").count() == 0
    page.goto(f"/overview?model={churn.id}")  # last month's link, in a new session
    page.get_by_text("was deleted on").wait_for()
    assert "churn" in page.get_by_text("was deleted on").inner_text()
    page.get_by_role("button", name=re.compile("Open prices")).click()
    page.locator(".st-key-in-view", has_text="prices").wait_for()
    assert f"model={prices.id}" in page.url


def test_a_link_to_what_never_was_opens_nothing(page, two):
    for path in ("shapes?model=" + "e" * 16, "data?table=" + "e" * 16, "strategies?board=" + "e" * 16):
        page.goto(f"/{path}")
        page.get_by_text("There is no such").wait_for()
        assert page.locator(".js-plotly-plot").count() == 0


def test_a_board_opens_its_project(page, two, space):
    prices, churn = two
    made = boards.StrategySet("first board")
    board = boards.add_board(space, made, prices.table)
    page.goto(f"/overview?model={churn.id}")
    settle(page)
    page.goto(f"/experiment?board={board.id}")
    page.locator(".st-key-in-view", has_text="housing").wait_for()
    menu(page, "Strategies")
    page.locator("[aria-label*='first board']").or_(page.locator("input[value*='first board']")).first.wait_for()


def test_two_tabs_each_keep_their_own(page, two):
    prices, churn = two
    other = page.context.new_page()
    page.goto(f"/shapes?model={prices.id}")
    other.goto(f"/shapes?model={churn.id}")
    settle(page)
    settle(other)
    menu(page, "Rows")
    menu(other, "Rows")
    assert "prices" in in_view(page)
    assert "churn" in in_view(other)


def test_models_of_one_target_are_told_apart(page, space, two):
    _, churn = two
    spec = Spec.from_dict(churn.spec)
    without = train(space, replace(spec, features=["a", "b"]))
    page.goto(f"/shapes?model={without.id}")
    page.locator(".st-key-in-view", has_text="without c").wait_for()
    menu(page, "Compare")
    page.get_by_text("churn · without c").first.wait_for()
