"""What additions add to pages: a page names the place where panels stand, and knows none of them."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shapewise.seam import ADDITIONS
from shapewise.ui.panel import Panel
from shapewise.ui.session import current
from shapewise.ui.session.current import InView


def _panels(page: str) -> list[tuple[Panel, InView]]:
    """Return the panels of a page that have something to draw, in their order, with what is in view."""
    known = [panel for panel in ADDITIONS.declared(Panel) if panel.page == page]
    if not known:
        return []
    now = current.in_view()
    return [(panel, now) for panel in sorted(known, key=lambda panel: panel.order) if panel.applies(now)]


def show(page: str) -> None:
    """Show the panels of a page one below the other; one in a box is drawn only while that is open."""
    for panel, now in _panels(page):
        if panel.in_sight:
            panel.draw(now)
            continue
        box = st.expander(panel.title, key=f"panel-{panel.title}", on_change="rerun")
        if box.open:
            with box:
                panel.draw(now)


def choose(page: str, label: str, ways: dict[str, str], key: str, where: DeltaGenerator) -> str:
    """Show a choice among a page's own ways and its panels; return the way, or draw the panel and end the page.

    ways : how the page's own are called. key : of the choice, which this session keeps. where : for the choice.
    """
    panels = {panel.title: (panel, now) for panel, now in _panels(page)}
    if st.session_state.get(key) not in {*ways, *panels}:  # chosen where another model or table was in view
        st.session_state.pop(key, None)
    chosen = where.segmented_control(
        label, [*ways, *panels], default=next(iter(ways)), required=True,
        format_func=lambda way: ways.get(way, way), key=key, persist_state="session",
        label_visibility="collapsed",
    )  # fmt: skip
    if chosen in panels:
        panel, now = panels[chosen]
        panel.draw(now)
        st.stop()
    return chosen
