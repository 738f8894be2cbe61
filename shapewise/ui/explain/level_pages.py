"""The levels of a category, a page at a time: found by name, in an order of choice."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.common.types import Ints
from gamcore.data.column_names import Names
from gamcore.explain.curves import Curve
from shapewise.ui.session.words import count, counted, md

PER_PAGE: Final = 20
"""Levels of a page: as many as all have their name on the axis, on a phone, too."""

Order = Literal["rows", "high", "low", "name"]
ORDERS: Final[dict[Order, str]] = {
    "rows": "Most rows", "high": "Highest effect", "low": "Lowest effect", "name": "By name",
}  # fmt: skip


def choose(curve: Curve, named: Names, key: str, where: DeltaGenerator) -> Ints | None:
    """Show what chooses the levels of a curve that has too many for one plot; return their places, None for all."""
    if len(curve.labels) <= PER_PAGE:
        return None
    labels = [named.level(curve.feature, label) for label in curve.labels]
    with where, st.container(horizontal=True, vertical_alignment="bottom"):
        sought = st.text_input(
            "Find levels", key=f"sought-{key}", persist_state="session", placeholder="Part of a name", width=220
        )
        by: Order = st.selectbox(
            "First",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            key=f"order-{key}",
            persist_state="session",
            width=170,
        )
        kept = matching(labels, sought or "")
        places = kept[_ranked(curve, [labels[k] for k in kept], kept, by)]
        pages = max(1, -(-places.size // PER_PAGE))
        page = (
            st.number_input(f"Page of {count(pages)}", 1, pages, key=f"page-{key}-{by}-{sought}", width=140)
            if pages > 1
            else 1
        )
    shown = places[(page - 1) * PER_PAGE : page * PER_PAGE]
    with where:
        st.caption(_caption(int(places.size), len(labels), (page - 1) * PER_PAGE, int(shown.size), sought or ""))
    return shown


def matching(labels: list[str], sought: str) -> Ints:
    """Return the places of the labels that contain what is sought, in small or capital letters."""
    wanted = sought.strip().casefold()
    return np.array([k for k, label in enumerate(labels) if wanted in label.casefold()], np.int64)


def _ranked(curve: Curve, labels: list[str], kept: Ints, by: Order) -> Ints:
    """Return the order of some levels, as places among them."""
    if by == "name":
        return np.array(sorted(range(len(labels)), key=lambda k: labels[k].casefold()), np.int64)
    size = -curve.counts if by == "rows" else curve.scores if by == "low" else -curve.scores
    return np.argsort(size[kept], kind="stable")


def _caption(n_found: int, n_all: int, first: int, n_shown: int, sought: str) -> str:
    """Return which levels are shown, in words."""
    if not n_found:
        return f"No level has {md(sought)!r} in its name: look for less of it."
    levels = f"{counted(n_found, 'level')} with {md(sought)!r} of {count(n_all)}" if sought else counted(n_all, "level")
    return f"{count(first + 1)} to {count(first + n_shown)} of {levels}. The bars are in the order of their effects."
