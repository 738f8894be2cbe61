"""A page that a button opens stays on the screen, though a fragment was to be drawn again meanwhile."""

from __future__ import annotations

import pytest

from tests.support.serving import Server, opened, sound, visiting

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCRIPT = """
import time

import streamlit as st

from shapewise.ui.session import late_fragments, news

late_fragments.drop()


@st.fragment(run_every=0.3)
def clock():
    st.caption(f"It is {time.time():.1f}.")


def first():
    st.title("First")
    clock()
    if st.button("Go on"):
        time.sleep(1.5)  # the clock asks to be drawn again meanwhile
        news.tell("Gone on.")
        st.switch_page(after)


def second():
    news.show()
    st.title("Second")


after = st.Page(second, url_path="second")
page = st.navigation([st.Page(first, default=True), after])
with st.sidebar:
    clock()
page.run()
"""


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    place = tmp_path_factory.mktemp("script")
    (place / "served.py").write_text(SCRIPT)
    served = Server(place, script=place / "served.py")
    with sound(served) as server, visiting(chromium, server) as visitor, opened(visitor) as page:
        yield page


@pytest.mark.parametrize("_", range(3))
def test_a_page_stays_though_a_fragment_of_the_page_before_was_asked_for(page, _):
    page.goto("/")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name="Second").wait_for()
    page.get_by_text("Gone on.").wait_for()
    ticks = page.get_by_test_id("stSidebar").get_by_text("It is ")
    before = ticks.inner_text()
    page.wait_for_function("before => !document.body.innerText.includes(before)", arg=before)  # it goes on
    assert page.get_by_role("heading", name="Second").is_visible()
