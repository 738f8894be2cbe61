"""Columns that a model's table computes, and a table that is to be scored may lack."""

from __future__ import annotations

import streamlit as st

from gamcore.data.columns import TableError
from shapewise.columns.formula import FormulaError
from shapewise.columns.steps import Computed, Step, StepError, needed_for
from shapewise.columns.stored import kinds_of_table, steps_of
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout
from shapewise.training import derived
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def steps_behind(model: ModelAbout) -> list[Step]:
    """Return the steps that the features of a model come from, in their order."""
    return needed_for(model.spec.get("features", []), steps_of(model.steps))


def has_computed_or_offer(model: ModelAbout, table: TableAbout, chosen: str) -> bool:
    """Return whether a table has all that a model's table computes; else say what is missing, and offer to compute it.

    chosen : the key of the widget that chooses the table; it is set to the version with the columns.
    """
    wanted = steps_behind(model)
    kinds = kinds_of_table(state.table(table.id))
    lacking = [step for step in wanted if step.column not in kinds
               or (not isinstance(step, Computed) and kinds[step.column] != step.to)]  # fmt: skip
    if not lacking:
        return True
    st.error(
        f"The model uses columns that were computed on its own table, and {md(table.name)} lacks them: "
        f"{md('; '.join(step.words() for step in lacking))}.",
        icon=":material/function:",
    )
    st.button("Compute them", icon=":material/function:", type="primary", key=f"compute-{model.id}-{table.id}",
              on_click=_compute, args=(model, table, lacking, chosen),
              help="It makes a version of the table with these columns, and leaves the table as it is.")  # fmt: skip
    failed = st.session_state.pop(f"compute-failed-{table.id}", None)
    if failed:
        st.error(md(failed), icon=":material/error:")
    return False


def _compute(model: ModelAbout, table: TableAbout, lacking: list[Step], chosen: str) -> None:
    space, failed = state.workspace(), f"compute-failed-{table.id}"
    try:
        newer, notes = derived.fit_to_model(space, table, lacking)
    except (StoreError, StepError, FormulaError, TableError) as error:
        st.session_state[failed] = str(error)
        return
    for sentence in notes:
        st.toast(md(sentence), icon=":material/info:")
    st.session_state[chosen] = newer.id
