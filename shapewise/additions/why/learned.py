"""What an answer lacks for want of something that can be learned: bands of its models, or a model of each group. Each
is one press away, and the answer is there when the run is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from gamcore import WhyMoved
from shapewise.additions.why import tables
from shapewise.additions.why.question import Question
from shapewise.errors import StoreError
from shapewise.store.workspace import ModelAbout
from shapewise.training import runs
from shapewise.training.carry_over import alike
from shapewise.training.spec import Spec
from shapewise.training.train import BANDS
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import bands, run_line


def offer(model: ModelAbout, asked: Question, moved: WhyMoved, by: str = "") -> None:
    """Show what would tell more, and the button that has it learned. by : the column whose parts the groups are."""
    about = state.workspace().models.about
    used = {name: about(name) for name in (group.model if asked.of_each else model.id for group in asked.groups)}
    lacking = [other for other in used.values() if not other.bands]
    if lacking:
        what = "what changed has no interval" if asked.of_each else "intervals leave out errors of the curves"
        with st.container(horizontal=True, vertical_alignment="center"):
            bands.measure(lacking, f"Without bands, {what}.")
    if not moved.is_one_model or asked.first.rest:
        return
    if by:
        _parts(model, by)
    elif asked.first.table != asked.second.table:
        other = next(group for group in asked.groups if group.table != model.table)
        if spec := tables.spec_on(model.id, other.table):
            _twin(replace(spec, bands=spec.bands or BANDS), other.name, f"why-failed-{model.id}-{other.table}")


def _twin(spec: Spec, name: str, failed: str) -> None:
    """Offer a model of the other table, trained as the model was. name : of the table's rows."""
    space = state.workspace()
    run = next((run for run in runs.active(space) if run.spec.table == spec.table and alike(run.spec, spec)), None)
    _line(
        run.id if run else "", f"Training on {md(name)}", failed,
        offered=(f"A model of {md(name)} would also tell what changed, feature by feature.", "Train it"),
        start=lambda: runs.start(space, spec, state.n_jobs()),
    )  # fmt: skip


def _parts(model: ModelAbout, column: str) -> None:
    """Offer a model of each part of the rows by a column."""
    space, named = state.workspace(), md(state.names_of(model).column(column))
    there = space.models.parts(model.id)
    if there and Spec.from_dict(there[0].spec).filter_columns()[-1] == column:
        return  # what could be fitted is
    run = runs.working_on(space, model.id, "")
    _line(
        run.id if run else "", f"Fitting the parts by {md(run.column) if run else ''}", f"parts-failed-{model.id}",
        offered=(f"A model of each part by {named} would also tell what changed, feature by feature.", "Fit the parts"),
        start=lambda: runs.start(space, Spec.from_dict(model.spec), state.n_jobs(), model.id, column),
    )  # fmt: skip


def _line(run: str, what: str, failed: str, offered: tuple[str, str], start: Callable[[], str]) -> None:
    """Show the run, if there is one; else why the last one failed, and what is offered with its button."""
    if run:
        run_line.show(run, what, failed)
        return
    if why := st.session_state.pop(failed, None):
        st.error(md(why), icon=":material/error:")
    with st.container(horizontal=True, vertical_alignment="center"):
        words, label = offered
        st.caption(words)
        if st.button(label, key=f"learn-{failed}", icon=":material/model_training:", type="tertiary"):
            try:
                start()
            except StoreError as error:
                st.session_state[failed] = str(error)
            st.rerun()
