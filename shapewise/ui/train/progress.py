"""Runs on a page: progress while they go, the result when they are done."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from gamcore.explain.sentences import read_curve
from gamcore.viz import plotly_figures as figures
from gamcore.viz import plots
from shapewise.jobs import queue as jobs
from shapewise.store.workspace import ModelAbout, StoreError
from shapewise.training import runs
from shapewise.training.runs import Standing
from shapewise.ui.session import state
from shapewise.ui.session.words import count, duration, md
from shapewise.ui.train import tuning
from shapewise.ui.widgets import bands as sureness
from shapewise.ui.widgets import cards
from shapewise.ui.widgets import task_table as tables

MOST_QUITS = 8


def left_seconds(standing: Standing) -> float | None:
    """Time left in the stage, from the refits that have ended; unknown during the first."""
    begun = np.unique(standing.points[:, 0]).size
    ended = max(begun - state.n_jobs(), 0)
    return standing.seconds / ended * (standing.n_refits - ended) if ended else None


def _words(standing: Standing) -> tuple[float, str]:
    """Return how far a stage is, as a share and in words."""
    if standing.stage == "reading the table":
        done = float(standing.points[-1, 1])
        return done / max(standing.most, 1), f"reading the table: {done / max(standing.most, 1):.0%} of the rows"
    if standing.stage == "ranking":
        done = float(standing.points[-1, 1])
        return done / max(standing.most, 1), f"ranking pairs: {count(done)} of {count(standing.most)} grids"
    if standing.stage == "tuning":
        done = float(standing.points[-1, 1])
        return done / max(standing.most, 1), f"trying settings: {count(done)} of {count(standing.most)} fits"
    if standing.stage == "comparison":
        done = float(standing.points[-1, 1])
        return done / max(
            standing.most, 1
        ), f"comparing with simpler models: {count(done)} of {count(standing.most)} done"
    begun, rounds, rest = np.unique(standing.points[:, 0]).size, len(standing.points), left_seconds(standing)
    ended = max(begun - state.n_jobs(), 0) + 0.5 * min(begun, state.n_jobs())
    words = [
        f"{standing.n_pairs} pairs" if standing.stage == "pairs" else standing.stage,
        f"refit {begun} of {standing.n_refits}",
        f"{count(rounds)} rounds",
        f"{rounds / max(standing.seconds, 0.1):,.0f} rounds per second",
        f"about {duration(rest)} left" if rest is not None else "time left is not known yet",
    ]
    return ended / standing.n_refits, " · ".join(words)


def belongs(identifier: str, table: str) -> bool:
    """Return whether a run trains on this table; false for a run that is no longer there."""
    try:
        return runs.read(state.workspace(), identifier).spec.table == table
    except StoreError:
        return False


def show(identifier: str) -> bool:
    """Return a run: its progress if it goes on, else how it ended. True where it goes on or has a result to explore."""
    try:
        run = runs.read(state.workspace(), identifier)
    except StoreError:
        st.query_params.pop("run", None)
        return False
    if run.goes_on and not run.model:
        _watch(identifier)
    elif run.model:
        result(run.model)
    elif run.tuned:
        tuning.result(run)
    else:
        with st.container(border=True):
            st.markdown(f":material/stop_circle: **{md(run.spec.name)}**: {run.state}.")
            if run.message and run.state != "cancelled":
                st.error(md(run.message[:600]))
            with st.container(horizontal=True):
                if st.button("Close", key=f"close-{identifier}"):
                    del st.query_params["run"]
                    st.rerun()
                if st.button("Begin again", key=f"again-{identifier}", icon=":material/refresh:"):
                    st.query_params["run"] = runs.again(state.workspace(), identifier)
                    st.rerun()
                log = jobs.log_of(state.workspace(), runs.KIND, identifier)
                if log:
                    with st.popover("Log", icon=":material/notes:"):
                        st.code(log, language=None, wrap_lines=True)
        return False
    return True


@st.fragment(run_every=0.7)
def _watch(identifier: str) -> None:
    run = runs.read(state.workspace(), identifier)
    if not run.goes_on or run.model:
        st.rerun()
    with st.container(border=True):
        what = "Tuning" if run.budget else "Training"
        st.markdown(f":material/progress_activity: **{what} {md(run.spec.name)}**")
        if run.state == "running" and jobs.is_stopping(state.workspace(), runs.KIND, identifier):
            st.caption("Stopping.")
            return
        standing = run.standing
        if run.state == "queued":
            before = "It is next." if run.place == 1 else f"Number {count(run.place)} in the queue."
            st.progress(0.0, f"Waiting for a free slot. {before}")
        elif not len(standing.points):
            st.progress(0.0, "Starting the worker and reading the table")
        else:
            st.progress(*_words(standing))
            _quits(standing)
            if standing.stage not in ("reading the table", "ranking", "comparison", "tuning"):
                st.plotly_chart(
                    figures.draw(plots.progress(standing.points), state.mode(), titled=False),
                    key=f"progress-{identifier}", theme=None, config={"displayModeBar": False},
                    alt="Training and validation loss by round.",
                )  # fmt: skip
        if st.button("Cancel", key=f"cancel-{identifier}", icon=":material/cancel:"):
            runs.cancel(state.workspace(), identifier)
            st.rerun(scope="fragment")


def _quits(standing: Standing) -> None:
    """Show the tasks that have left the common trees so far, by the mean round they keep, in the refits that got
    there."""
    rounds: dict[str, list[int]] = {}
    for _, name, number in standing.quits:
        rounds.setdefault(name, []).append(number)
    if not rounds:
        return
    words = [
        f"**{md(name)}** keeps {np.mean(kept):.0f} rounds ({len(kept)} of {standing.n_refits} refits)"
        for name, kept in list(rounds.items())[:MOST_QUITS]
    ]
    more = f", and {len(rounds) - MOST_QUITS} more tasks" if len(rounds) > MOST_QUITS else ""
    st.caption(f"Tasks that quit the common trees: {'; '.join(words)}{more}.")


def result(identifier: str) -> None:
    """Show a finished model: its metrics, its strongest shape, and the way on."""
    try:
        model = state.workspace().models.about(identifier)
    except StoreError:
        st.query_params.pop("run", None)
        return
    with st.container(border=True):
        head, go_on = st.columns([3, 1], vertical_alignment="center")
        head.markdown(f":material/check_circle: **{md(model.name)}** is trained, in {duration(model.seconds)}.")
        if model.of_tasks:
            _result_of_tasks(model, go_on)
            return
        if go_on.button("Explore the shapes", type="primary", icon=":material/stacked_line_chart:", width="stretch"):
            st.switch_page(cards.PAGES / "shapes.py", query_params={"model": model.id})
        cards.metrics(model)
        estimator = state.estimator(identifier)
        curve = estimator.explain_shape(estimator.importance().ranked_features()[0])
        curve = curve.on(state.scale(curve.loss))
        st.plotly_chart(
            figures.draw(plots.curve(curve, state.goal(model), state.detail(model, curve), height=332), state.mode()),
            key=f"result-{identifier}",
            theme=None,
            config=cards.CONFIG,
            alt=read_curve(curve),
        )
        sureness.line(model, curve.band)
        pairs = f"; {len(estimator.model_.pairs)} pairs are on the page Pairs" if estimator.model_.pairs else ""
        st.caption(f"The strongest of {len(estimator.model_.terms)} shapes{pairs}.")


def _result_of_tasks(model: ModelAbout, go_on: Any) -> None:
    """Show the way on from a finished model of several tasks, and how many gained."""
    if go_on.button("Read the tasks", type="primary", icon=":material/hub:", width="stretch"):
        st.switch_page(cards.PAGES / "tasks.py", query_params={"model": model.id})
    cards.metrics(model)
    st.caption(f"{tables.rounds(model)} {tables.verdict(model)}")
