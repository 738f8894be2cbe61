"""The items of a report on a page: added, put in order, commented."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from gamcore.estimators import Estimator
from gamcore.model import AdditiveModel
from gamcore.workspace import board as stored
from gamcore.workspace.recipes import MOST_COMMENT, OF_BOARD, Item, Recipe
from gamcore.workspace.store import ModelAbout
from pages.shared import state
from pages.shared.words import md


def pairs_of(estimator: Estimator) -> list[tuple[str, str]]:
    """Pairs of a model, by the names of their features."""
    found = estimator.model_
    if not isinstance(found, AdditiveModel):
        return []
    return [
        (found.bins[i].feature.name, found.bins[j].feature.name) for i, j in (pair.features for pair in found.pairs)
    ]


def _candidates(recipe: Recipe, model: ModelAbout) -> list[Item]:
    """Everything that a report on this model can hold."""
    estimator = state.estimator(model.id)
    binary = model.kind.endswith("classifier")
    found = [Item(kind) for kind in OF_BOARD] if recipe.board else []
    if model.table and stored.segments(state.workspace(), model.table):
        found.append(Item("segments"))
    found.append(Item("importance"))
    found += [Item("curve", (name,)) for name in estimator.importance().ranked_features()]
    found += [Item("pair", pair) for pair in pairs_of(estimator)]
    return found + ([Item("ROC"), Item("calibration")] if binary else [Item("residuals")])


def edit(recipe: Recipe, model: ModelAbout, key: str) -> list[Item]:
    """The items as somebody has put them."""
    place = f"items-{key}"
    if place not in st.session_state:
        st.session_state[place] = [[item.kind, list(item.of), item.comment] for item in recipe.items]
    items = [Item(kind, tuple(of), comment) for kind, of, comment in st.session_state[place]]

    def put(changed: list[Item]) -> None:
        st.session_state[place] = [[item.kind, list(item.of), item.comment] for item in changed]

    st.subheader(f"What is in it ({len(items)})", anchor=False)
    there = {(item.kind, item.of) for item in items}
    left = [item for item in _candidates(recipe, model) if (item.kind, item.of) not in there]
    _add(left, items, put, key)
    for k, item in enumerate(items):
        _one(k, item, items, put, f"{key}-{item.kind}-{'×'.join(item.of)}")
    if not items:
        st.caption("Nothing yet: add a plot or a table above.")
    return [Item(kind, tuple(of), comment) for kind, of, comment in st.session_state[place]]


def _add(left: list[Item], items: list[Item], put: Callable[[list[Item]], None], key: str) -> None:
    names = {item.label: item for item in left}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect("Add", list(names), key=f"add-{key}-{len(items)}", placeholder="Plots and tables")
        if st.button("Add", icon=":material/add:", disabled=not chosen, key=f"add-button-{key}"):
            put([*items, *(names[name] for name in chosen)])
            st.rerun()


def _one(k: int, item: Item, items: list[Item], put: Callable[[list[Item]], None], key: str) -> None:
    """One item: what it is, what is said of it, and its place."""

    def say() -> None:
        changed = list(items)
        changed[k] = replace(item, comment=st.session_state[f"comment-{key}"].strip())
        put(changed)

    def move(to: int) -> None:
        changed = [one for one in items if one is not item]
        changed.insert(to, item)
        put(changed)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{k + 1}. **{md(item.label)}**", width=280)
        st.text_input(
            "Comment", item.comment, key=f"comment-{key}", on_change=say, max_chars=MOST_COMMENT,
            placeholder="What should the reader take away?", label_visibility="collapsed",
        )  # fmt: skip
        for name, icon, to in (("Up", "arrow_upward", k - 1), ("Down", "arrow_downward", k + 1)):
            st.button(
                f":material/{icon}:", key=f"{name}-{key}", help=name, type="tertiary", on_click=move, args=(to,),
                disabled=not 0 <= to < len(items),
            )  # fmt: skip
        st.button(
            ":material/close:", key=f"remove-{key}", help="Remove", type="tertiary",
            on_click=lambda: put([one for one in items if one is not item]),
        )  # fmt: skip
