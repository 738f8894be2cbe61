"""The panel on Data: a newer version beside the one that a model was trained on."""

from __future__ import annotations

import streamlit as st

from shapewise.additions.why import result, tables
from shapewise.training.naming import labels
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md


def draw(now: InView) -> None:
    """Show why the mean outcome of a newer version differs, as a model of the older one sees it."""
    assert now.project is not None
    known = {model.id: (model, version) for model, version in tables.versions_of_models(now)}
    names = labels(now.project)
    chosen = next(iter(known))
    if len(known) > 1:
        chosen = st.selectbox("As this model sees it", list(known), format_func=names.__getitem__,
                              key=f"why-model-{now.project.id}")  # fmt: skip
    model, version = known[chosen]
    if version.id not in {table.id for table in tables.others(model)}:
        st.caption(f"The newer version lacks a column of {md(model.name)}, so it cannot be asked about.")
        return
    result.show(model, tables.between(model, version, now.project))
