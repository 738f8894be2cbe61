"""A term of an answer in both groups: its curves, and how its features are distributed."""

from __future__ import annotations

import streamlit as st

from gamcore import TableError, WhyMoved, explain_triple
from gamcore.data.labels import cut
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import loss_of
from gamcore.explain import plots
from gamcore.explain.shown import shown
from gamcore.stats.histograms import overlay
from shapewise.additions.why.answers import cells
from shapewise.additions.why.question import Question
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards


def key(model: ModelAbout, asked: Question) -> str:
    """Return the key of the choice of a term."""
    return f"why-term-{model.id}-{asked.of_each}"


def show(model: ModelAbout, asked: Question, moved: WhyMoved) -> None:
    """Show the choice of a term, the largest first, with its curves and distributions."""
    frame = moved.frame()
    terms = frame.loc[frame["kind"] == "part", "term"].tolist()
    names = state.names_of(model)
    term = st.selectbox("Open, or click a bar", terms, format_func=names.term, key=key(model, asked))
    features = dict(zip(moved.terms, moved.features, strict=True))[term]
    _curves(model, asked, features)
    for name in features:
        _distribution(model, asked, name)


def _curves(model: ModelAbout, asked: Question, features: tuple[str, ...]) -> None:
    """Show the curve of a feature, or the joint effect of two or three, in each model."""
    scale, goal, names = state.scale(loss_of(state.whole(model.id)).name), state.goal(model), state.names_of(model)
    called = " × ".join(map(names.column, features))
    fitted = {group.name: group.model for group in asked.groups} if asked.of_each else {model.name: model.id}
    has = {name: fit for name, fit in fitted.items() if frozenset(features) in _terms(fit)}
    if len(features) == 1:
        curves = {name: state.additive(fit).explain_shape(features[0]).on(scale) for name, fit in has.items()}
        seen = {name: state.seen(model, curve) for name, curve in curves.items()}
        if len(seen) > 1:
            plot = plots.comparison(seen, None, (f"{called} in both models", "effects, each about its own mean", goal))
        else:
            plot = next(iter(seen.values())).describe(goal)
        cards.figure(plot, f"why-curve-{model.id}-{called}", f"{model.name} {called}", state.card(model))
        return
    for name, fit in has.items():
        effect = state.surface(fit, *features) if len(features) == 2 else explain_triple(state.additive(fit), *features)
        plot = state.seen(model, effect.on(scale)).describe(goal)
        cards.figure(plot, f"why-joint-{fit}-{called}", f"{name} {called}", state.card(model))


def _terms(model: str) -> set[frozenset[str]]:
    """Return the terms of a model, each as the names of its features."""
    fitted = single_model(state.additive(model))
    return {frozenset(fitted.bins[j].feature.name for j in term.features) for term in fitted.all_terms}


def _distribution(model: ModelAbout, asked: Question, name: str) -> None:
    """Show how a feature is distributed in both groups."""
    column = next((bins.feature.column for bins in state.additive(model.id).model_.bins
                   if bins.feature.name == name), name)  # fmt: skip
    names = state.names_of(model)
    first, second = (cut(group.name, 40) for group in asked.groups)
    try:
        drawn = shown(overlay(*cells(asked, column), state.as_read(model).kind(column)), names)
    except TableError as error:
        st.caption(md(error))
        return
    plot = drawn.describe(f"{names.column(column)} in both groups", names=(first, second))
    cards.figure(plot, f"why-rows-{model.id}-{column}", f"{model.name} {column}", state.card(model))
