"""The frame around every page: configuration, menu, heading.

With a folder `pages/` beside `app.py`, a freshly started server treats a first visit to `/train` as a page of an
old-style app and runs `pages/train.py` alone. So each page script is named after its URL and calls `begin`, which sets
up the menu if `app.py` has not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.viz.palette import PALETTES
from shapewise.access.quotas import is_shared
from shapewise.places import PAGES
from shapewise.ui.frame import sidebar
from shapewise.ui.session import deployment, dialogs, errors, late_fragments, news, signin, slow_disk, state
from shapewise.ui.widgets import guide, tiles, undo

ASSETS = Path(__file__).parents[1] / "assets"
RUNS_UNDER_APP = "_menu_is_set"
STYLE = """
:has(> .st-key-style) { display: none; }
.stMainBlockContainer { padding-top: 3rem; padding-bottom: 2rem; }
@media (min-width: 701px) { .stMainBlockContainer { padding-top: 1.5rem; } }
.stHorizontalBlock.st-key-title { gap: 0 1rem; margin-bottom: -1rem; align-items: baseline; }
.stMainBlockContainer h1 { padding: 0.25rem 0 0.5rem; }
[data-testid="stMain"] :is(h1, h2, h3, p) { text-wrap-style: pretty; }
[data-testid="stPopoverButton"]:is(:hover, [aria-expanded="true"]) { color: inherit !important; }
.st-key-in-view [data-testid="stPopoverButton"], .st-key-find-open button > div { justify-content: flex-start; }
.st-key-find-open button { padding: 0 0.5rem; min-height: 1.5rem; }
.st-key-find a:not(:hover, :focus-visible) { background: none; }
.st-key-find-first a:not(:hover, :focus-visible) { background: rgb(127 127 127 / 16%); }
.st-key-find a * { white-space: normal; font-weight: inherit; }
.st-key-feature-list [data-testid="stElementToolbar"] { display: none; }
[class*="st-key-options-"] { margin-left: auto; }
button[role="radio"][data-selected="true"], button[aria-pressed="true"], [data-testid="stSliderThumbValue"],
[role="tab"][aria-selected="true"] { color: inherit !important; }
[data-testid="stButtonGroup"] [role="radiogroup"] { flex-wrap: wrap; row-gap: 0.25rem; }
[data-variant="segmented_control"]:not([data-selected="true"]) { border-color: var(--hairline) !important; }
[data-variant="segmented_control"][data-selected="true"] { position: relative; z-index: 1; }
[data-tag] > span, input[role="combobox"] { overflow: hidden; text-overflow: ellipsis; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] * { white-space: normal; }
@media (max-width: 1180px) {
  [class*="st-key-options-"] button [data-testid="stMarkdownContainer"] { position: absolute; clip-path: inset(50%); }
}
@media (max-width: 700px) {
  .stHorizontalBlock.st-key-title { margin: 0.75rem 0 -0.5rem; }
  :has(> .st-key-feature-list) { order: 1; }
  .st-key-feature-list, :has(> .st-key-feature-list) { width: 100%; flex-basis: 100%; }
}
"""
"""What themes cannot say: what is chosen in the colour of text, since no one primary colour can be read both on dark
and behind white, and so of a button whose options are open; choices and links that wrap where their place is narrow,
each choice with borders on all sides, as one may end its line; names in fields that are cut with a mark; less room
around a page's title, and what the page is for on its line, the head of the sidebar set flush left, the result of a
search that Enter takes, and a list of features without a toolbar, below the curve on phones; where a page is narrow,
the button of a chart's options is its icon; this button at the right, also beside no sentence; and no last line of a
single word.

Styles alone would go where dialogs and toasts do, and the first of those that a fragment shows would replace them."""


def configure() -> None:
    """Set the title, icon and width of the browser page, and check the deployment."""
    st.set_page_config(page_title="Shapewise", page_icon=str(ASSETS / "icon.svg"), layout="wide")
    st.logo(str(ASSETS / "logo.svg"), size="large", icon_image=str(ASSETS / "icon.svg"))
    dialogs.closed()
    errors.watch()
    late_fragments.drop()
    deployment.refuse()
    deployment.look_at_cluster()
    state.warm_up()


def _go_home() -> None:
    st.switch_page(PAGES / "home.py", query_params=st.query_params)


def _no_page() -> None:
    """Say that there is no page at the address, and lead to Home."""
    begin("No such page")
    with st.container(border=True):
        st.markdown(":material/link_off: &nbsp; There is no page at this address.")
        st.page_link(PAGES / "home.py", label="Go to Home", icon=":material/home:")


def _elsewhere(pages: list[Any]) -> list[Any]:
    """Return a page at the address that is asked for where none of some pages has it: Streamlit would show a message of
    its own above another page."""
    asked = urlsplit(st.context.url or "").path.rstrip("/").rpartition("/")[-1]
    if not asked or asked in {page.url_path for page in pages}:
        return []
    return [st.Page(_no_page, title="No such page", url_path=asked, visibility="hidden")]


def navigation() -> Any:
    """Show the sidebar and return the page. The default page only redirects, because a default page has no
    URL of its own."""
    st.session_state[RUNS_UNDER_APP] = True
    menu, default = _menu(), st.Page(_go_home, title="Shapewise", default=True, visibility="hidden")
    team = {"Team": [_page("people", "People", "group")]}
    try:
        space = state.workspace()
        person, seconds = space.person, slow_disk.wait_for(space)
    except errors.REFUSED:  # no page would work: only the error can be shown, at whatever address
        st.navigation(menu | team | {"Start": [default]}, position="hidden")
        raise
    if is_shared() and person.role == "admin":
        menu |= team
    elsewhere = _elsewhere([page for pages in menu.values() for page in pages])
    page = st.navigation(menu | {"Start": [default, *elsewhere]}, position="hidden")
    sidebar.show(menu)
    slow_disk.say(seconds)
    if is_shared():
        signin.menu(person)
    return page


def _page(name: str, title: str, icon: str) -> Any:
    return st.Page(PAGES / f"{name}.py", title=title, icon=f":material/{icon}:")


def _menu() -> dict[str, list[Any]]:
    return {
        "": [_page("home", "Home", "home"), _page("data", "Data", "table")],
        "Model": [_page("train", "Train", "model_training"), _page("models", "Models", "inventory_2")],
        "Explain": [
            _page("overview", "Overview", "bar_chart"),
            _page("shapes", "Shapes", "stacked_line_chart"),
            _page("pairs", "Pairs", "grid_on"),
            _page("rows", "Rows", "person_search"),
            _page("compare", "Compare", "compare_arrows"),
            _page("tasks", "Tasks", "hub"),
        ],
        "Act": [
            _page("strategies", "Strategies", "low_priority"),
            _page("experiment", "Experiment", "science"),
            _page("report", "Report", "slideshow"),
        ],
    }


def begin(title: str = "", caption: str = "", choices: bool = False) -> DeltaGenerator:
    """Draw a page's heading, if it does not draw its own, and return its line; on a cold deep link, first do the set-up
    of `app.py`.

    caption : what the page is for. choices : whether the page puts what it shows by choice on that line, where one
    needs no line of one's own for it; then the caption is behind a mark.
    """
    if RUNS_UNDER_APP not in st.session_state:
        configure()
        navigation()
        st.rerun()  # continue under app.py: widgets drawn by this first run would lose their first click
    with st.container(key="style"):
        hairline = f":root {{ --hairline: {PALETTES[state.mode()].hairline}; }}"
        st.html(f"<span></span><style>{hairline}{STYLE}{tiles.STYLE}</style>")
    news.show()
    guide.on_tour()
    line = st.container(horizontal=True, vertical_alignment="bottom", key="title")  # one where there is room
    if title:
        line.title(title, anchor=False, width="content", help=caption if choices else None)
        if caption and not choices:
            line.caption(caption, width="content")
    undo.offer()
    return line
