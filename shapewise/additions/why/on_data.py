"""The panels on Data: a newer version beside the one that a model was trained on."""

from __future__ import annotations

import streamlit as st

from shapewise.additions.why import newer, result, tables
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training.naming import labels
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md


def why_it_moved(now: InView) -> None:
    """Show why the mean outcome of a newer version differs, as a model of the older one sees it."""
    if chosen := _chosen(now, "why-model"):
        result.show(chosen[0], tables.between(*chosen, now.project))


def still_holds(now: InView) -> None:
    """Show how a model does on the newer version, beside its own held-out rows."""
    if chosen := _chosen(now, "still-model"):
        newer.show(*chosen)


def _chosen(now: InView, key: str) -> tuple[ModelAbout, TableAbout] | None:
    """Show the choice of a model; return it with its newer version, None where that lacks a column."""
    assert now.project is not None
    known = {model.id: (model, version) for model, version in tables.versions_of_models(now)}
    names = labels(now.project)
    chosen = next(iter(known))
    if len(known) > 1:
        chosen = st.selectbox("As this model sees it", list(known), format_func=names.__getitem__,
                              key=f"{key}-{now.project.id}")  # fmt: skip
    model, version = known[chosen]
    if version.id not in {table.id for table in tables.others(model)}:
        st.caption(f"The newer version lacks a column of {md(model.name)}, so it cannot be asked about.")
        return None
    return model, version
