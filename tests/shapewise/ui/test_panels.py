"""What additions add to pages stands where a page says, and no page knows of it."""

from __future__ import annotations

import sys

import pytest

from gamcore.common.seam import Additions
from shapewise.ui.widgets import panels
from tests.support.pages import button, choose, open_page

DECLARED = """
import streamlit as st
from shapewise.ui.panel import Panel

def draw(now):
    st.button(f"drawn for {now.table.name}, {now.model.name}")

SECOND = Panel("%(page)s", "Asked second", draw, order=2)
FIRST = Panel("%(page)s", "Asked first", draw, order=1)
NEVER = Panel("%(page)s", "Never asked", draw, applies=lambda now: now.model is None)
ELSEWHERE = Panel("elsewhere", "Asked elsewhere", draw)
"""


@pytest.fixture
def declare(tmp_path, monkeypatch):
    """A function that makes an addition with panels on a page."""

    def make(page):
        package = type(sys)(f"beside_{page}")
        package.__path__ = [str(tmp_path)]
        (tmp_path / "two_panels").mkdir()
        (tmp_path / "two_panels" / "__init__.py").write_text("")
        (tmp_path / "two_panels" / "addition.py").write_text(DECLARED % {"page": page})
        monkeypatch.setitem(sys.modules, package.__name__, package)
        monkeypatch.setattr(panels, "ADDITIONS", Additions(tmp_path, package.__name__))

    return make


@pytest.mark.one_in(3)
@pytest.mark.parametrize("page", ["data", "overview", "experiment"])
def test_a_page_shows_panels_in_their_order_and_draws_those_that_are_open(sure, declare, page):
    _, table, model, _ = sure
    declare(page)
    app = open_page(page, table=table.id, model=model.id)
    titles = [box.label for box in app.expander]
    assert titles[-2:] == ["Asked first", "Asked second"]
    assert not [one for one in app.button if one.label.startswith("drawn for")]
    app.session_state["panel-Asked first"] = True
    assert button(app.run(), f"drawn for {table.name}, {model.name}")
    assert len([one for one in app.button if one.label.startswith("drawn for")]) == 1


def test_a_panel_of_compare_is_one_of_its_ways(sure, declare):
    _, table, model, _ = sure
    declare("compare")
    app = open_page("compare", model=model.id)
    assert button(choose(app, "Compare", "Asked second"), f"drawn for {table.name}, {model.name}")
    assert not app.get("plotly_chart")
    assert choose(app, "Compare", "models").get("plotly_chart")


def test_a_way_that_is_no_longer_there_gives_way_to_the_first(sure, declare):
    app = open_page("compare", model=sure[2].id)
    app.session_state["compare-way"] = "Asked first"
    app.run()
    assert not app.exception
    assert app.get("plotly_chart")
