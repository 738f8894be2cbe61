"""Training runs on a page: their progress, then their result."""

from __future__ import annotations

import json

import numpy as np
import streamlit as st

from gamcore.common.numbers import counted
from gamcore.estimators.additive import single_model
from gamcore.explain.sentences import read_curve
from gamcore.stats import plots
from gamcore.viz import plotly_figures as figures
from shapewise.jobs import queue as jobs
from shapewise.places import PAGES
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.training import runs
from shapewise.training.runs import Run, Standing
from shapewise.training.spec import Spec
from shapewise.ui.session import followed, redraw, state
from shapewise.ui.session.standing import STEPS, of_run
from shapewise.ui.session.words import duration, md, metric
from shapewise.ui.widgets import bands as sureness
from shapewise.ui.widgets import cards, chart, drawn
from shapewise.ui.widgets import task_table as tables

MOST_QUITS = 8
TRAINED = "trained"
"""The model that the last press of Train made at once, without a run."""


def of_table(identifier: str | None, table: str) -> Run | None:
    """Return a run on a table; None, and no longer asked for, where there is no such run."""
    if identifier is None:
        return None
    try:
        run = runs.read(state.workspace(), identifier)
        if run.spec.table == table:
            return run
    except StoreError:
        pass
    st.query_params.pop("run", None)
    return None


def is_on(run: Run | None) -> bool:
    """Return whether a run still has its model before it."""
    return run is not None and run.goes_on and not run.model


@st.fragment(run_every=redraw.SECONDS)
def bar(identifier: str) -> None:
    """Show how far a run is, in the place of its button, and rerun the page when it has a model or has ended."""
    run = runs.read(state.workspace(), identifier)
    if not is_on(run):
        redraw.by_timer()
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if run.state == "running" and jobs.is_stopping(state.workspace(), runs.KIND, identifier):
            st.caption("Stopping.")
            return
        share, words = of_run(run)
        st.progress(min(share, 1.0), f"{'Tuning' if run.budget else 'Training'}: {words}", width="stretch")
        if st.button("Cancel", key=f"cancel-{identifier}", icon=":material/cancel:"):
            runs.cancel(state.workspace(), identifier)
            st.rerun(scope="fragment")


@st.fragment(run_every=redraw.SECONDS)
def curves(identifier: str) -> None:
    """Show the losses of a run so far."""
    run = runs.read(state.workspace(), identifier)
    standing = run.standing
    with st.container(border=True):
        st.markdown(f"**{md(run.spec.name)}**")
        if not len(standing.points):
            st.caption("The worker starts and reads the table.")
            return
        _quits(standing)
        if standing.stage not in STEPS:
            st.plotly_chart(
                figures.draw(plots.progress(standing.points), state.mode(), titled=False),
                key=f"progress-{identifier}", theme=None, config={"displayModeBar": False},
                alt="Training and validation loss by round.",
            )  # fmt: skip


def ended(run: Run) -> None:
    """Say how a run without a model ended, and offer to start it again."""
    st.markdown(f":material/stop_circle: **{md(run.spec.name)}**: {run.state}.")
    if run.message and run.state != "cancelled":
        st.error(md(run.message[:600]))
    with st.container(horizontal=True):
        if st.button("Close", key=f"close-{run.id}"):
            del st.query_params["run"]
            st.rerun()
        if st.button("Start again", key=f"again-{run.id}", icon=":material/refresh:"):
            st.query_params["run"] = followed.follow(runs.again(state.workspace(), run.id))
            st.rerun()
        log = jobs.log_of(state.workspace(), runs.KIND, run.id)
        if log:
            with st.popover("Log", icon=":material/notes:"):
                st.code(log, language=None, wrap_lines=True)


def trained(run: Run | None, spec: Spec) -> ModelAbout | None:
    """Return the model that a run, or the last press of Train, has made; None once the form has changed since."""
    identifier = run.model if run is not None else st.session_state.get(TRAINED)
    if identifier is None:
        return None
    form = json.dumps(spec.to_dict(), sort_keys=True)
    if st.session_state.setdefault(f"form-of-{identifier}", form) != form:
        return None
    try:
        return state.workspace().models.about(identifier)
    except StoreError:
        return None


def done(model: ModelAbout) -> None:
    """Say in the place of the button that a model is trained, and lead on to it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/check_circle: Trained in {duration(model.seconds)}: **{metric(model)}**")
        label, page = ("Read the tasks", "tasks") if model.of_tasks else ("Read the curves", "shapes")
        if st.button(label, type="primary", icon=":material/arrow_forward:", key=f"read-{model.id}"):
            st.switch_page(PAGES / f"{page}.py", query_params={"model": model.id})


def _quits(standing: Standing) -> None:
    """Show the tasks that have quit the common trees so far, with the mean round they keep over the refits where they
    quit."""
    rounds: dict[str, list[int]] = {}
    for _, name, number in standing.quits:
        rounds.setdefault(name, []).append(number)
    if not rounds:
        return
    words = [
        f"**{md(name)}** stops improving after {counted(float(np.mean(kept)), 'round')}"
        for name, kept in list(rounds.items())[:MOST_QUITS]
    ]
    more = f", and {counted(len(rounds) - MOST_QUITS, 'more task')}" if len(rounds) > MOST_QUITS else ""
    st.caption(f"Tasks that quit the common trees: {'; '.join(words)}{more}.")


def result(model: ModelAbout) -> None:
    """Show a new model: its strongest curve, or its metrics and how its tasks gained."""
    if model.of_tasks:
        cards.metrics(model)
        st.caption(f"{tables.rounds(model)} {tables.verdict(model)}")
        return
    estimator = state.additive(model.id)
    curve = estimator.explain_shape(estimator.importance().ranked_features()[0])
    curve = curve.on(state.scale(curve.loss))
    curve = state.seen(model, curve)
    plot = curve.describe(state.goal(model), state.detail(model, curve), height=332)
    cards.headline(plot, f"result-{model.id}")
    st.plotly_chart(
        drawn.figure(plot, titled=False),
        key=f"result-{model.id}", theme=None, config=chart.CONFIG, alt=read_curve(curve),
    )  # fmt: skip
    sureness.line(model, curve.band)
    fitted = single_model(estimator)
    kinds = {"pair": len(fitted.pairs), "triple": len(fitted.triples)}
    joint = " and ".join(f"{n} {kind}{'s' * (n != 1)}" for kind, n in kinds.items() if n)
    there = f"; {joint} {'is' if sum(kinds.values()) == 1 else 'are'} on the page Pairs" if joint else ""
    st.caption(f"The strongest of {counted(len(fitted.terms), 'curve')}{there}.")
