"""The frame around every page: configuration, menu, heading.

A folder `pages/` beside `app.py` makes a freshly started server take a first visit to `/train` for a page of an
old-style app and run `pages/train.py` alone. So each page script is named as its URL and calls `begin`, which sets the
menu up itself where `app.py` has not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from shapewise.access.quotas import is_shared
from shapewise.ui.session import deployment, errors, signin, state

ASSETS = Path(__file__).parents[1] / "assets"
PAGES = Path(__file__).parents[3] / "pages"
RUNS_UNDER_APP = "_menu_is_set"


def configure() -> None:
    """Title, icon and width of the browser page."""
    st.set_page_config(page_title="Shapewise", page_icon=str(ASSETS / "icon.svg"), layout="wide")
    st.logo(str(ASSETS / "logo.svg"), size="large", icon_image=str(ASSETS / "icon.svg"))
    errors.watch()
    deployment.refuse()
    state.warm_up()


def _go_to_data() -> None:
    st.switch_page(PAGES / "data.py")


def navigation() -> Any:
    """Return the menu. The default page only forwards: a page that is itself the default has no URL of its own."""
    st.session_state[RUNS_UNDER_APP] = True
    menu = _menu()
    try:
        person = state.workspace().person
    except errors.REFUSED:  # what is wrong is all that can be shown: no page leads anywhere
        st.navigation(menu, position="hidden")
        raise
    if is_shared():
        signin.menu(person)
        menu |= {"Team": [_page("people", "People", "group")]} if person.role == "admin" else {}
    return st.navigation(menu, expanded=True)


def _page(name: str, title: str, icon: str) -> Any:
    return st.Page(PAGES / f"{name}.py", title=title, icon=f":material/{icon}:")


def _menu() -> dict[str, list[Any]]:
    return {
        "": [st.Page(_go_to_data, title="Shapewise", default=True, visibility="hidden")],
        "Data": [_page("data", "Data", "table")],
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


def begin(title: str, caption: str = "") -> None:
    """Head a page; on a cold deep link, set up what `app.py` would have."""
    if RUNS_UNDER_APP not in st.session_state:
        configure()
        navigation()
        st.rerun()  # from here on under app.py: widgets drawn by this first run would lose their first click
    st.title(title, anchor=False)
    if caption:
        st.caption(caption)
