"""The items of a report on a page: add, order and comment on them."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import streamlit as st

from gamcore.data.column_names import AS_THEY_ARE, Names
from gamcore.decide.rules import RuleError
from gamcore.estimators.gam import Estimator
from gamcore.model.additive import AdditiveModel
from shapewise.decisions import arm_tests
from shapewise.decisions import boards as stored
from shapewise.reports.added import added
from shapewise.reports.recipes import MOST_COMMENT, MOST_SLIDES, Recipe, ReportItem, offered, quality_of
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def interactions_of(estimator: Estimator) -> list[tuple[str, ...]]:
    """Return the pairs and triples of a model, by the names of their features."""
    model = estimator.model_
    if not isinstance(model, AdditiveModel):
        return []
    return [tuple(model.bins[j].feature.name for j in term.features) for term in model.interactions]


def candidates(recipe: Recipe, model: ModelAbout | None) -> list[ReportItem]:
    """Return all items that a report on a board or test, and on this model, can hold."""
    items: list[ReportItem] = []
    board, test = None, None
    with contextlib.suppress(StoreError, RuleError):  # it was deleted, or is not shared
        board = stored.board(state.workspace(), recipe.board) if recipe.board else None
        test = arm_tests.test(state.workspace(), recipe.test) if recipe.test else None
        items = offered(board, test)
    if recipe.board:
        with contextlib.suppress(StoreError, RuleError):  # it was deleted, or is not shared
            for strategy in stored.board(state.workspace(), recipe.board).read().strategies:
                parts = ((), *((column,) for column in strategy.rule.columns))
                items += [ReportItem("why", (strategy.name, *part)) for part in parts if strategy.model]
    items.append(ReportItem("reading"))
    if model is None:
        return items
    estimator = state.additive(model.id)
    binary = model.kind.endswith("classifier")
    if model.table and stored.segments(state.workspace(), model.table):
        items.append(ReportItem("segments"))
    items.append(ReportItem("importance"))
    items += [ReportItem("curve", (name,)) for name in estimator.importance().ranked_features()]
    several = bool(state.class_names(model.id))
    items += [ReportItem("chances", (name,)) for name in estimator.importance().ranked_features() if several]
    items += [ReportItem("pair" if len(term) == 2 else "triple", term) for term in interactions_of(estimator)]
    items += [
        ReportItem(kind)
        for kind in dict.fromkeys(
            [*quality_of(model), *([] if binary or model.spec.get("treatment") else ["residuals"])]
        )
    ]
    more = [ReportItem(kind) for kind, item in added().items() if item.applies(state.workspace(), model)]
    return [*items, *more, ReportItem("card")]


def edit(recipe: Recipe, model: ModelAbout | None, key: str) -> list[ReportItem]:
    """Show the editor of items, and return them as edited."""
    place = f"items-{key}"
    if place not in st.session_state:
        _put(place, list(recipe.items))
    items, names = _items(place), state.names(model.table) if model is not None else AS_THEY_ARE
    full = recipe.is_brief and len(items) >= MOST_SLIDES
    at_most = f" of at most {MOST_SLIDES}" if recipe.is_brief else ""
    st.subheader(f"What is in it ({len(items)}{at_most})", anchor=False)
    there = {(item.kind, item.of) for item in items}
    left = {item.words(names): item for item in candidates(recipe, model) if (item.kind, item.of) not in there}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect("Add", list(left), key=f"add-{key}-{len(items)}", placeholder="Plots and tables",
                                max_selections=MOST_SLIDES - len(items) if recipe.is_brief and not full else None,
                                disabled=full)  # fmt: skip
        if st.button("Add", icon=":material/add:", disabled=not chosen, key=f"add-button-{key}"):
            _put(place, [*items, *(left[name] for name in chosen)])
            st.rerun()
    if full:
        st.caption(f"A director's report has at most {MOST_SLIDES} slides: remove one to add another.")
    for k, item in enumerate(items):
        _show_item(k, item, len(items), place, names)
    if not items:
        st.caption("Nothing yet: add a plot or a table above.")
    return _items(place)


def _items(place: str) -> list[ReportItem]:
    return [ReportItem(kind, tuple(parts), comment) for kind, parts, comment in st.session_state[place]]


def _put(place: str, items: list[ReportItem]) -> None:
    st.session_state[place] = [[item.kind, list(item.of), item.comment] for item in items]


def _say(place: str, name: tuple[str, tuple[str, ...]], field: str) -> None:
    """Store a comment. The items are read anew, since one rerun may run several callbacks."""
    comment = st.session_state[field].strip()
    _put(place, [replace(item, comment=comment) if (item.kind, item.of) == name else item for item in _items(place)])


def _move(place: str, name: tuple[str, tuple[str, ...]], by: int | None) -> None:
    """Move an item by a number of places; if `by` is None, remove it."""
    items = _items(place)
    at = next((k for k, item in enumerate(items) if (item.kind, item.of) == name), None)
    if at is None:
        return
    item = items.pop(at)
    if by is not None:
        items.insert(max(at + by, 0), item)
    _put(place, items)


def _show_item(k: int, item: ReportItem, n: int, place: str, names: Names) -> None:
    """Show one item: its label, its comment, and buttons to move or remove it."""
    name, key = (item.kind, item.of), f"{place}-{item.kind}-{'×'.join(item.of)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{k + 1}. **{md(item.words(names))}**", width=280)
        st.text_input(
            "Comment", item.comment, key=f"comment-{key}", on_change=_say, args=(place, name, f"comment-{key}"),
            max_chars=MOST_COMMENT, placeholder="What should the reader take away?", label_visibility="collapsed",
        )  # fmt: skip
        for label, icon, by in (("Up", "arrow_upward", -1), ("Down", "arrow_downward", 1), ("Remove", "close", None)):
            st.button(
                f":material/{icon}:", key=f"{label}-{key}", help=label, type="tertiary", on_click=_move,
                args=(place, name, by), disabled=by is not None and not 0 <= k + by < n,
            )  # fmt: skip
