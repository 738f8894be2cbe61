"""Outcomes of a test that are made of columns, on a page: ratios of sums, and means without their largest values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import streamlit as st

from gamcore.common.numbers import exact
from gamcore.data.column_names import Names
from gamcore.decide.outcomes import Outcome
from shapewise.ui.session.words import md

CAPS: Final = (0.999, 0.995, 0.99, 0.98, 0.95, 0.9)


def known(key: str, kept: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the outcomes by name that were made in this session or, kept, before. key : of the test's outcomes."""
    outcomes: dict[str, Outcome] = st.session_state.setdefault(f"made-{key}", dict(kept))
    return outcomes


def make(key: str, columns: Sequence[str], names: Names, add: Callable[[Outcome], None] | None = None) -> None:
    """Offer to make an outcome of columns, which is then chosen. key : of the widget in which outcomes are chosen, or
    of whatever `add` adds it to."""
    with st.popover("Ratio or capped mean", icon=":material/add:"):
        column = st.selectbox("Sum or mean of", columns, key=f"made-of-{key}", format_func=names.column)
        per = st.selectbox(
            "Per", [name for name in columns if name != column], None, key=f"made-per-{key}", format_func=names.column,
            placeholder="Row: a mean", help="Its sum over all rows of an arm is what the other sum is divided by: "
            "revenue per visit, clicks per page. Rows stay what was assigned (delta method).",
        )  # fmt: skip
        cap = st.selectbox(
            "Capped at", CAPS, None, key=f"made-cap-{key}", format_func=lambda share: f"{exact(100 * share, 4)}%",
            placeholder="No cap", help="Values above this percentile, of all arms together, are set to it "
            "(winsorised): a few very large ones then move no verdict.",
        )  # fmt: skip
        if column is None or (per is None and cap is None):
            st.caption("Choose what to divide by, or a cap.")
            return
        outcome = Outcome(column, per or "", cap or 0.0)
        st.button(f"Add {md(outcome.called(names))}", key=f"made-add-{key}", on_click=add or partial(_choose, key),
                  args=(outcome,))  # fmt: skip


def _choose(key: str, outcome: Outcome) -> None:
    st.session_state[f"made-{key}"][outcome.name] = outcome
    chosen = st.session_state.get(key, [])
    if outcome.name not in chosen:
        st.session_state[key] = [*chosen, outcome.name]
