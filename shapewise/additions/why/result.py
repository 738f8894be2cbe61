"""Why two groups differ, on a page: the sentence, the waterfall and its table, and a feature of it in both groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from gamcore import TableError, WhyMoved
from shapewise.additions.why import feature
from shapewise.additions.why.question import Question, named
from shapewise.errors import StoreError
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards

SEEN: Final = {"each": "A model of each", "one": "One model"}


def show(model: ModelAbout, asked: Question) -> None:
    """Show the answer to a question."""
    asked = _settings(model, asked)
    try:
        moved = asked.answer()
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    moved = replace(moved, worth=_worth(model))
    with st.container(border=True):
        _waterfall(model, asked, named(moved, state.names_of(model)))
    with st.container(border=True):
        feature.show(model, asked, moved)


def _settings(model: ModelAbout, asked: Question) -> Question:
    """Show how the groups are seen, and return the question with it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if asked.of_each:
            seen = st.segmented_control(
                "Seen with", list(SEEN), default="each", required=True, format_func=SEEN.__getitem__,
                key=f"why-seen-{model.id}", help="A model of each group also tells what changed, feature by feature. "
                "One model tells who came; the rest it leaves unexplained.",
            )  # fmt: skip
            asked = asked if seen == "each" else asked.of_one_model()
        unseen = st.toggle(
            "Only rows that the models have not learned from", key=f"why-unseen-{model.id}",
            help="Models flatter themselves on rows that they have learned from: what is left over looks small.",
        )  # fmt: skip
    return replace(asked, unseen=unseen)


def _worth(model: ModelAbout) -> float | None:
    return None


def _waterfall(model: ModelAbout, asked: Question, moved: WhyMoved) -> None:
    """Show the waterfall, with its parts in words."""
    goal = state.goal(model)
    difference, *parts = [claim.words() for claim in moved.claims()]
    plot = moved.describe(target=goal, title=f"{goal}, {difference}")
    key = f"why-{model.id}-{asked.second.table}"
    cards.headline(plot, key)
    text = "; ".join(parts)
    st.markdown(f"{md(text[0].upper() + text[1:])}.")
    cards.figure(plot, key, f"{model.name} why it moved", state.card(model), titled=False)
