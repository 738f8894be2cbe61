"""The search: a button that a key presses, and a field whose results are links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import streamlit as st

from shapewise.places import PAGES
from shapewise.ui.find.places import places
from shapewise.ui.find.ranking import Place, grouped
from shapewise.ui.session import dialogs
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import count, md

KEY: Final = "Ctrl+K"
ICONS: Final = {
    "Pages": "web_asset", "Features": "stacked_line_chart", "Models": "show_chart", "Projects": "folder",
    "Segments": "bookmark", "Boards": "low_priority",
}  # fmt: skip
KEYS: Final = """<script>
window.findKeys ??= (() => {
  const box = () => document.querySelector(".st-key-find"), field = () => box()?.querySelector("input");
  let tabbed = false;
  const begin = () => {
    if (!field() || box().contains(document.activeElement)) return;
    field().focus();
    field().select();
  };
  const take = left => {
    if (box()?.querySelector("[data-asked]")?.dataset.asked === field()?.value) box()?.querySelector("a")?.click();
    else if (left) setTimeout(take, 50, left - 1);
  };
  document.addEventListener("focusin", event => { if (event.target.matches("[role=dialog]")) begin(); });
  document.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], at = document.activeElement;
    tabbed ||= event.key === "Tab";
    if (!box()?.contains(at)) return;
    const stops = [field(), ...box().querySelectorAll("a")];
    if (step) stops[stops.indexOf(at) + step]?.focus();
    if (step) event.preventDefault();
    if (event.key === "Enter" && at === field()) take(200);
  });
  return () => {
    tabbed = false;
    begin();
    for (const wait of [100, 500, 2000]) setTimeout(() => tabbed || begin(), wait);
  };
})();
window.findKeys();
</script>"""
"""The field has the focus, also where the dialog or its button takes it, at once or late, until somebody presses Tab;
arrow keys go to the results and back, and Enter takes the first of what is typed, as soon as that has been searched
for."""


def button(menu: Mapping[str, Sequence[Any]], now: InView) -> None:
    """Show the button of the search. A press draws nothing else anew. menu : pages by section."""

    @st.fragment
    def press() -> None:
        if st.button("Find", key="find-open", icon=":material/search:", type="tertiary", shortcut=KEY, width="stretch"):
            search(places(menu, now))

    press()


@dialogs.dialog("Find")
def search(known: Sequence[Place]) -> None:
    """Show the field, and where one can go."""
    with st.container(key="find"):
        asked = st.text_input(
            "Find", key="find-asked", live="150ms", label_visibility="collapsed", icon=":material/search:",
            placeholder="A project, model, feature, segment, board or page",
        )  # fmt: skip
        groups = grouped(known, asked)
        for group in groups:
            more = f" · {len(group.places)} of {count(group.total)}" if group.total > len(group.places) else ""
            st.caption(f"{group.kind}{more}")
            with st.container(gap="xxsmall"):
                for place in group.places:
                    _link(place, is_first=place is groups[0].places[0])
        if asked.strip() and not groups:
            st.caption("Nothing here has that in its name.")
        elif not groups:
            st.caption("Features are those of the model in view. Enter takes the first result.")
        st.html(f'<span data-asked="{escape(asked)}"></span>{KEYS}', unsafe_allow_javascript=True)


def _link(place: Place, is_first: bool) -> None:
    detail = f" :gray[· {md(place.detail)}]" if place.detail else ""
    with st.container(key="find-first" if is_first else None):
        st.page_link(
            PAGES / f"{place.page}.py", label=f"{md(place.name)}{detail}", icon=f":material/{ICONS[place.kind]}:",
            query_params=place.query, width="stretch",
        )  # fmt: skip
