"""The joint effect of two features on a page: heat map, rectangle and slices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gamcore.data.column_names import PAIR
from gamcore.decide.rules import Rule
from gamcore.decide.segments import HeldOutRows, rectangle_rule
from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain import plots
from gamcore.explain.sentences import read_surface
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import Rectangle, Surface, SurfaceAxis
from gamcore.model.scales import Scale, say
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data
from shapewise.ui.explain.editor import Editor, editor
from shapewise.ui.session import state
from shapewise.ui.session.words import counted, md
from shapewise.ui.widgets import bands as sureness
from shapewise.ui.widgets import cards, chart, evidence, headlines, linked, reach

MOST_SLICES = 5
HEAT_AXES = ("x3", "y3")

PairEstimator = GAMRegressor | GAMClassifier


def names(estimator: PairEstimator) -> list[tuple[str, str]]:
    """Return the model's pairs by the names of their features, most important first."""
    bins, pairs = estimator.model_.bins, estimator.model_.pairs
    order = np.argsort([-pair.importance for pair in pairs], kind="stable")
    places = [pairs[k].features for k in order]
    return [(bins[i].feature.name, bins[j].feature.name) for i, j in places]


def key_of(about: ModelAbout, surface: Surface, is_model: bool) -> str:
    """Return a widget key for one pair on these axes: a rectangle is not valid on others."""
    axes = [(axis.feature, axis.labels, axis.edges.tolist()) for axis in _axes(surface)]
    identity = json.dumps([about.id, is_model, surface.scale, axes])
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def show(
    about: ModelAbout, estimator: PairEstimator, data: Data | None, is_model: bool, scale: Scale,
    gains: Mapping[tuple[str, str], bool],
) -> None:  # fmt: skip
    """Show one pair at a time: heat map, chosen rectangle, and slices. gains : whether each of the model's pairs is
    known to improve the predictions of held-out rows."""
    known = {f"{a}{PAIR}{b}": (a, b) for a, b in names(estimator)}
    picked = st.selectbox(
        "Pair, by importance", list(known), key=linked.begin("pair", list(known), "pair"), persist_state="session",
        format_func=state.names_of(about).term,
    )  # fmt: skip
    linked.write("pair", "pair")
    above, below = chart.place("pair"), st.container(border=True)
    by_hand = _editor(about, below) if is_model and data is not None else None
    now = by_hand.so_far(about, estimator) if by_hand else estimator
    is_stored = is_model and by_hand is None
    plain = state.surface(about.id, *known[picked]) if is_stored else now.explain_pair(*known[picked])
    surface = plain.on(scale)
    goal = state.goal(about)
    detail = state.detail(about, surface.margins[0], draft=not is_model)
    key = key_of(about, surface, is_model)
    chosen = _chosen(key)
    edited = None
    if by_hand:
        with below:
            edited = by_hand.pair(about, estimator, plain, chosen, scale)
    drawn = surface
    if edited and edited.is_tried:
        drawn = edited.model.explain_pair(*known[picked]).on(scale)
    named = state.names_of(about).term(picked)
    read = read_surface(state.seen(about, surface), gains.get(known[picked], False))
    title = headlines.headline(about, picked) or read if is_model else f"{named}, one refit with these pairs"
    title = title if drawn is surface else f"{named}, edited by hand"
    _heat_map(about, drawn, key, (goal, detail, title), chosen, place=above)
    with above.drawing:
        if is_model:
            sureness.line(about, surface.margins[0].band, above.options)
            headlines.edit(about, picked, read, above.options)
        st.caption(_notes(state.seen(about, drawn)))
    with st.container(border=True):
        _rectangle(about, surface, chosen=chosen, estimator=estimator, data=data, is_model=is_model)
    with st.container(border=True):
        _slices(about, drawn, key, (goal, detail))
    if edited:
        edited.finish()


def _editor(about: ModelAbout, slot: DeltaGenerator) -> Editor | None:
    """Show the switch of the editor; return the editor if it is on, and possible."""
    by_hand = editor()
    if by_hand is None:
        return None
    with slot:
        waiting = by_hand.waiting(about)
        if not st.toggle(f"Edit by hand{f' · {waiting}' * bool(waiting)}", key=f"pair-edit-{about.id}"):
            return None
        if state.class_names(about.id) or about.rows.get("sample"):
            st.caption("Editing needs a model of one score per row, and a table that fits in memory.")
            return None
    return by_hand


def _chosen(key: str) -> Rectangle | None:
    """Return the rectangle that was dragged or set on the heat map of a key."""
    sides = st.session_state.get(f"rectangle-{key}")
    return Rectangle(rows=sides[0], columns=sides[1]) if sides else None


def _heat_map(
    about: ModelAbout, surface: Surface, key: str, words: tuple[str, str, str | None], chosen: Rectangle | None,
    place: chart.Place,
) -> None:  # fmt: skip
    """Show the heat map with its downloads, and the rectangle that was dragged or set.

    words : what is predicted, the line under the title, and the title (None: the automatic one).
    """
    goal, detail, title = words
    element, kept = f"heat-{key}", f"rectangle-{key}"

    def take() -> None:
        dragged = rectangle_of(st.session_state[element]["selection"]["box"], surface)
        if dragged:
            st.session_state[kept] = (dragged.rows, dragged.columns)
            st.session_state[f"drags-{key}"] = st.session_state.get(f"drags-{key}", 0) + 1

    plot = state.seen(about, surface).describe(goal, detail, chosen=chosen, title=title)
    cards.figure(plot, element, about.name, state.card(about), over=surface, on_box=take, at=place)


def rectangle_of(boxes: list[dict[str, Any]], surface: Surface) -> Rectangle | None:
    """Return the last rectangle dragged on the heat map; None if the box lies on a margin only."""
    inside = [box for box in boxes if (box["xref"], box["yref"]) == HEAT_AXES]
    if not inside:
        return None
    x, y = (sorted(_as_numbers(inside[-1][side], axis)) for side, axis in zip("xy", _axes(surface), strict=True))
    return Rectangle(surface.first.nearest(*x), surface.second.nearest(*y))


def _axes(surface: Surface) -> tuple[SurfaceAxis, SurfaceAxis]:
    return surface.first, surface.second


def _as_numbers(values: list[float] | list[str], axis: SurfaceAxis) -> list[float]:
    """Return positions that plotly reports, as numbers; dates as days."""
    if axis.kind != "date":
        return [float(value) for value in values]
    days = np.array([str(value)[:10] for value in values], "datetime64[D]")
    return [float(day) for day in days.astype(np.int64)]


def _notes(surface: Surface) -> str:
    """Return notes on the heat map: empty and small cells, margins, missing values."""
    few = int(((surface.counts > 0) & (surface.counts < FEW_ROWS)).sum())
    cut = [md(name) for name, curve in zip(surface.names, surface.margins, strict=True) if plots.is_cut(curve)]
    words = [
        ("Grey: no training row." if not (surface.counts > 0).all() else "")
        + (
            f" Pale: {counted(few, 'cell')} with under {FEW_ROWS} rows, in the colour of those around them."
            if few
            else ""
        )
        + " The curves beside it show the effect of each feature alone, each on its own scale.",
        f"Set by hand, without a band: {counted(surface.n_by_hand, 'cell')}." if surface.n_by_hand else "",
        f"Along {' and '.join(cut)} the middle 99% of rows are shown: double-click for all." if cut else "",
        "Drag a rectangle to see its rows.",
    ]
    missing = surface.missing_first, surface.missing_second
    notes = [
        f"{md(name)} missing: {say(values.min(), surface.scale)} to {say(values.max(), surface.scale)}"
        for name, values, curve in zip(surface.names, missing, surface.margins, strict=True)
        if curve.missing[3]
    ]
    return " ".join(w for w in words if w) + (f" Where {'; where '.join(notes)}." if notes else "")


def _rectangle(
    about: ModelAbout,
    surface: Surface,
    chosen: Rectangle | None,
    estimator: PairEstimator,
    data: Data | None,
    is_model: bool,
) -> None:
    """Show the sides of the rectangle, and the evidence for the rows in it."""
    st.markdown("**A rectangle**")
    key = key_of(about, surface, is_model)
    kept, whole_axes = f"rectangle-{key}", ((0, surface.first.size), (0, surface.second.size))
    drags = st.session_state.get(f"drags-{key}", 0)  # new keys after a drag, so that the sliders start from it
    columns = []
    slots = st.columns(2)
    for k, (axis, (low, end)) in enumerate(
        zip(_axes(state.seen(about, surface)), st.session_state.get(kept, whole_axes), strict=True)
    ):
        if axis.size < 2:
            columns.append((0, 1))
            continue
        low, high = slots[k].select_slider(
            md(axis.feature), list(range(axis.size)), (low, end - 1), format_func=_place_of(axis),
            key=f"side-{k}-{drags}-{key}",
        )  # fmt: skip
        columns.append((low, high + 1))
    sides = tuple(columns)
    whole = sides == whole_axes
    if sides != st.session_state.get(kept) and not (whole and kept not in st.session_state):
        if whole:
            st.session_state.pop(kept)
        else:
            st.session_state[kept] = sides
        st.rerun()
    if chosen is None:
        st.caption("Drag one on the heat map, or set its sides here.")
        return
    mean = surface.mean(chosen)
    st.metric("Joint effect, mean", say(mean, surface.scale) if np.isfinite(mean) else "no rows", border=True)
    of_pair = [bins for name in surface.names for bins in estimator.model_.bins if bins.feature.name == name]
    if data is None or any(bins.feature.part != "value" for bins in of_pair):
        st.markdown(f"Rows where {md(state.seen(about, surface).rectangle_words(chosen))}.")
        return
    rule = rectangle_rule(of_pair, surface, chosen)
    if not is_model:
        _of_draft(about, estimator, data, rule)
        return
    if st.checkbox("rounded", key=f"rounded-{key}", help=evidence.ROUNDED):
        rule = reach.rounded(about.table, rule)
    seen = st.session_state.setdefault(f"tried-{about.id}", set())
    seen.add(rule.words())
    evidence.keep(about, rule, evidence.card(about, rule, len(seen)), key)


def _of_draft(about: ModelAbout, estimator: GAMRegressor | GAMClassifier, data: Data, rule: Rule) -> None:
    """Show the evidence for a rectangle of a draft, which is not stored."""
    st.markdown(f"**Rows where** {md(rule.words(state.names_of(about)))}")
    held = data.held_out
    weight, exposure = (None if values is None else values[held] for values in (data.weight, data.exposure))
    rows = HeldOutRows(
        single_model(estimator), data.X[held], data.y[held].to_numpy(float), weight=weight, exposure=exposure,
        effect=state.effect_unit(about),
    )  # fmt: skip
    evidence.metrics(rows.evidence(rule), state.measure(about))


def _place_of(axis: SurfaceAxis) -> Callable[[int], str]:
    """Return a function that names an axis's bins for a slider, which renders Markdown."""
    return lambda k: md(axis.place(k))


def _slices(about: ModelAbout, surface: Surface, key: str, words: tuple[str, str]) -> None:
    """Show the curves along one feature at some values of the other."""
    surface = state.seen(about, surface)
    goal, detail = words
    names = list(surface.names)
    along = st.segmented_control(
        "Slices along", names, default=names[0], required=True, format_func=md, key=f"along-{key}"
    )
    turned = surface if along == names[0] else surface.turned()
    places = list(range(turned.second.size))
    chosen = st.multiselect(
        f"At these values of {md(turned.second.feature)}", places, default=turned.usual_slices(MOST_SLICES),
        max_selections=MOST_SLICES, format_func=turned.second.place, key=f"slices-{key}-{along}",
    )  # fmt: skip
    if chosen:
        plot = plots.slices(turned, sorted(chosen), goal, detail.split(" · ")[0])
        cards.figure(plot, f"slice-figure-{key}", about.name, state.card(about))
