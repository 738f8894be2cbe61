"""Models beside other tables that have their columns: which there are, the choice of one, and its rows."""

from __future__ import annotations

import streamlit as st

from gamcore.data.table import Table
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training import carry_over
from shapewise.training.dataset import Data, columns_of
from shapewise.training.naming import labels
from shapewise.training.spec import Spec
from shapewise.training.versions import chosen_rows
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md


def others(model: ModelAbout) -> list[TableAbout]:
    """Return the other tables that have the columns of a model: newer versions of its own first, then older ones."""
    spec = Spec.from_dict(model.spec)
    if spec.treatment is not None:  # the effect of an experiment is known of its own rows alone
        return []
    wanted = {*columns_of(spec, {}), *spec.filter_columns()}
    listed = state.workspace().tables.listed()
    older = {table.id for table in carry_over.older(listed, model.table)}
    fit = [table for table in listed if table.id != model.table and wanted <= set(state.columns(table.id))]

    def place(table: TableAbout) -> int:
        newer = model.table in {version.id for version in carry_over.older(listed, table.id)}
        return 0 if newer else 1 if table.id in older else 2

    return sorted(fit, key=place)


def versions_of_models(now: InView) -> list[tuple[ModelAbout, TableAbout]]:
    """Return the models of a project that the table in view, or the newest version, is newer than; each with that
    version, and the newest model first."""
    if now.project is None or now.table is None or len(now.project.tables) < 2:
        return []
    listed = list(now.project.tables)
    models = [model for model in now.project.models if model.has_one_outcome]
    for version in (now.table, listed[0]):
        before = {table.id for table in carry_over.older(listed, version.id)}
        if pairs := [(model, version) for model in models if model.table in before]:
            return pairs
    return []


def rows_of(model: ModelAbout, table: str) -> tuple[Table, Data]:
    """Return a table, and its rows that a model's specification chooses."""
    if table != model.table:
        rows = state.table(table)
        return rows, chosen_rows(rows, Spec.from_dict(model.spec))
    data = state.whole_data(model)
    assert data is not None  # a panel is offered while it is there
    return state.as_read(model), data


def choose(now: InView, key: str) -> tuple[ModelAbout, TableAbout] | None:
    """Show the choice of a model; return it with its newer version, None where that lacks a column."""
    assert now.project is not None
    known = {model.id: (model, version) for model, version in versions_of_models(now)}
    names = labels(now.project)
    chosen = next(iter(known))
    if len(known) > 1:
        chosen = st.selectbox("As this model sees it", list(known), format_func=names.__getitem__,
                              key=f"{key}-{now.project.id}")  # fmt: skip
    model, version = known[chosen]
    if version.id not in {table.id for table in others(model)}:
        st.caption(f"The newer version lacks a column of {md(model.name)}, so it cannot be asked about.")
        return None
    return model, version
