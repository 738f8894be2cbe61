"""The items of a report on a page: added, put in order, commented."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gamcore.estimators.gam import Estimator
from gamcore.model.additive import AdditiveModel
from shapewise.decisions import boards as stored
from shapewise.reports.recipes import MOST_COMMENT, OF_BOARD, Recipe, ReportItem
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def pairs_of(estimator: Estimator) -> list[tuple[str, str]]:
    """Return the pairs of a model, by the names of their features."""
    model = estimator.model_
    if not isinstance(model, AdditiveModel):
        return []
    return [
        (model.bins[i].feature.name, model.bins[j].feature.name) for i, j in (pair.features for pair in model.pairs)
    ]


def _candidates(recipe: Recipe, model: ModelAbout) -> list[ReportItem]:
    """Everything that a report on this model can hold."""
    estimator = state.estimator(model.id)
    binary = model.kind.endswith("classifier")
    items = [ReportItem(kind) for kind in OF_BOARD] if recipe.board else []
    if model.table and stored.segments(state.workspace(), model.table):
        items.append(ReportItem("segments"))
    items.append(ReportItem("importance"))
    items += [ReportItem("curve", (name,)) for name in estimator.importance().ranked_features()]
    items += [ReportItem("pair", pair) for pair in pairs_of(estimator)]
    return items + ([ReportItem("ROC"), ReportItem("calibration")] if binary else [ReportItem("residuals")])


def edit(recipe: Recipe, model: ModelAbout, key: str) -> list[ReportItem]:
    """Return the items as somebody has put them."""
    place = f"items-{key}"
    if place not in st.session_state:
        _put(place, list(recipe.items))
    items = _items(place)
    st.subheader(f"What is in it ({len(items)})", anchor=False)
    there = {(item.kind, item.of) for item in items}
    left = {item.label: item for item in _candidates(recipe, model) if (item.kind, item.of) not in there}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect("Add", list(left), key=f"add-{key}-{len(items)}", placeholder="Plots and tables")
        if st.button("Add", icon=":material/add:", disabled=not chosen, key=f"add-button-{key}"):
            _put(place, [*items, *(left[name] for name in chosen)])
            st.rerun()
    for k, item in enumerate(items):
        _one(k, item, len(items), place)
    if not items:
        st.caption("Nothing yet: add a plot or a table above.")
    return _items(place)


def _items(place: str) -> list[ReportItem]:
    return [ReportItem(kind, tuple(of), comment) for kind, of, comment in st.session_state[place]]


def _put(place: str, items: list[ReportItem]) -> None:
    st.session_state[place] = [[item.kind, list(item.of), item.comment] for item in items]


def _say(place: str, name: tuple[str, tuple[str, ...]], field: str) -> None:
    """Keep a comment. What is there is read when somebody acts: two acts may come in one turn."""
    said = st.session_state[field].strip()
    _put(place, [replace(one, comment=said) if (one.kind, one.of) == name else one for one in _items(place)])


def _move(place: str, name: tuple[str, tuple[str, ...]], by: int | None) -> None:
    """Take an item so many places on; by None, out."""
    items = _items(place)
    at = next((k for k, one in enumerate(items) if (one.kind, one.of) == name), None)
    if at is None:
        return
    item = items.pop(at)
    if by is not None:
        items.insert(max(at + by, 0), item)
    _put(place, items)


def _one(k: int, item: ReportItem, n: int, place: str) -> None:
    """Show one item: what it is, what is said of it, and its place."""
    name, key = (item.kind, item.of), f"{place}-{item.kind}-{'×'.join(item.of)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{k + 1}. **{md(item.label)}**", width=280)
        st.text_input(
            "Comment", item.comment, key=f"comment-{key}", on_change=_say, args=(place, name, f"comment-{key}"),
            max_chars=MOST_COMMENT, placeholder="What should the reader take away?", label_visibility="collapsed",
        )  # fmt: skip
        for label, icon, by in (("Up", "arrow_upward", -1), ("Down", "arrow_downward", 1), ("Remove", "close", None)):
            st.button(
                f":material/{icon}:", key=f"{label}-{key}", help=label, type="tertiary", on_click=_move,
                args=(place, name, by), disabled=by is not None and not 0 <= k + by < n,
            )  # fmt: skip
