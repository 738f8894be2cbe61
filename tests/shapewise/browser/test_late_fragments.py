"""What a button opens, a page or a dialog, stays on the screen, though a fragment was to be drawn again meanwhile."""

from __future__ import annotations

import pytest

from tests.support.serving import Server, opened, sound, visiting

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCRIPT = """
import time

import streamlit as st

from shapewise.ui.session import dialogs, late_fragments, news, redraw

late_fragments.drop()
dialogs.closed()


@st.fragment(run_every=0.3)
def clock():
    st.caption(f"It is {time.time():.1f}.")


@st.fragment(run_every=0.3)
def wait():
    redraw.by_timer()


@dialogs.dialog("A question")
def ask():
    st.text_input("Answer")


@st.fragment
def opener():
    if st.button("Ask"):
        ask()


def asking():
    st.session_state.runs = st.session_state.get("runs", 0) + 1
    st.caption(f"Run {st.session_state.runs}.")
    opener()
    wait()


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
page = st.navigation([st.Page(first, default=True), after, st.Page(asking, url_path="asking")])
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


def test_a_dialog_stays_open_though_the_page_behind_it_was_to_be_drawn_again(page):
    page.goto("/asking")
    page.get_by_role("button", name="Ask", exact=True).click()
    field = page.get_by_role("textbox", name="Answer")
    field.fill("what is half typed")
    runs = page.get_by_text("Run ")
    before = runs.inner_text()
    ticks = page.get_by_test_id("stSidebar").get_by_text("It is ")
    for _ in range(4):
        now = ticks.inner_text()
        page.wait_for_function("now => !document.body.innerText.includes(now)", arg=now)
    assert field.input_value() == "what is half typed"
    assert runs.inner_text() == before
    page.keyboard.press("Escape")
    field.wait_for(state="detached")
    page.wait_for_function("before => !document.body.innerText.includes(before)", arg=before)  # it is drawn again
