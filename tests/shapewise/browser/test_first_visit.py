"""The first visit to a fresh server: an outline of our own, the first screen, and the tour until it is left."""

from __future__ import annotations

import pytest

from shapewise.store.workspace import Workspace
from shapewise.ui.data.first_screen import PROMISE
from tests.support.serving import CALM, Server, settle, sound, window
from tests.support.steps import press

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

WATCH = """
window.files = 0; window.outlines = 0;
new MutationObserver(() => {
  window.files += document.querySelectorAll('[data-testid="stSidebarNav"]').length;
  window.outlines += document.querySelectorAll('[data-testid="stSkeleton"]').length;
}).observe(document, {childList: true, subtree: true});
"""


@pytest.mark.parametrize("address", ["/", "/train"])
def test_a_cold_start_shows_an_outline_and_never_a_list_of_files(chromium, tmp_path, address):
    space = Workspace(tmp_path / "space")
    with sound(Server(space.root)) as server:
        page = window(chromium, base_url=server.ready(), **CALM).new_page()
        page.add_init_script(WATCH)
        page.goto(address)
        settle(page)
        assert page.evaluate("window.files") == 0
        assert page.evaluate("window.outlines") > 0
        assert page.locator('[data-testid="stSkeleton"]').count() == 0


def test_the_first_screen_fits_a_laptop_and_the_tour_can_be_left(page, space):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/")
    settle(page)
    assert page.get_by_role("heading", name=PROMISE).count() == 1
    for place in (page.locator(".js-plotly-plot:visible").last, page.get_by_text("Upload", exact=True).first,
                  page.get_by_role("button", name="Load win back")):  # fmt: skip
        box = place.bounding_box()
        assert box["y"] + box["height"] <= 900
    press(page, "Take the three-minute tour")
    page.get_by_text("Tour, step 2 of 5").wait_for()
    assert "/data" in page.url
    press(page, "Train three models")
    page.get_by_text("Tour, step 3 of 5").wait_for()
    page.wait_for_url("**/shapes**")
    settle(page)
    press(page, "Leave")
    press(page, "Remove it")
    page.get_by_role("heading", name=PROMISE).wait_for()
    assert (space.tables.listed(), space.models.listed()) == ([], [])
