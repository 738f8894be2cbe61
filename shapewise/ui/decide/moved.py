"""Who is moved by an arm of a test, on a page: the model of its effect is trained here, and read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from gamcore.decide.arms import ArmsTest
from shapewise.decisions import effect_models as effects
from shapewise.decisions.effect_models import Asked
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout
from shapewise.training import runs
from shapewise.training.runs import Run
from shapewise.training.spec import Spec
from shapewise.ui.decide import moved_result
from shapewise.ui.session import followed, state
from shapewise.ui.session.words import md
from shapewise.ui.train import progress


def show(table: TableAbout, test: ArmsTest, arms: list[str]) -> None:
    """Show the form of an effect model, and what it says once there is one. arms : without the control."""
    st.subheader("Who is moved", anchor=False)
    st.caption("A model of the effect itself: by how much more, or less, an arm moves people of each kind.")
    if table.sampled:
        st.caption("Effects are learned from tables that fit into memory; this one is larger.")
        return
    names, rows = state.names(table.id), state.table(table.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        level = arms[0]
        if len(arms) > 1:
            level = st.selectbox("Effect of", arms, key=f"moved-arm-{table.id}",
                                 format_func=partial(names.level, test.arm))  # fmt: skip
        outcome = st.selectbox("Outcome", test.measured, key=f"moved-outcome-{table.id}", format_func=names.column)
    taken = {test.arm, test.cluster, *test.measured}
    possible = [name for name in rows.names if name not in taken and rows.usable_kind(name) is not None]
    roles = state.roles(table.id).by_column
    usual = [name for name in effects.known_before(rows, test)
             if name in possible and (test.known_before or roles[name] == "feature")]  # fmt: skip
    features = st.multiselect(
        "What was known before the test", possible, usual, format_func=names.column,
        key=f"moved-known-{table.id}-{test.arm}-{'|'.join(usual)}", placeholder="Columns from before the test",
        help="Leave out whatever the test may have changed: it cannot tell whom the arm moves.",
    )  # fmt: skip
    asked = Asked(table.id, test.arm, level, test.control, outcome)
    model = effects.model_of(state.workspace(), asked)
    if not features:
        st.caption("Choose at least one column that was known before the test.")
    else:
        chance = st.toggle("Only features that beat chance", True, key=f"moved-chance-{table.id}",
                           help="Where the arm moves all alike, such a model is constant in 95% of tests. Without it, "
                           "every feature has a curve, also where it is noise: a weak effect may show.")  # fmt: skip
        spec = effects.spec_of(asked, test, features, rows, names)
        _train(spec if chance else replace(spec, changes={"interactions": 0}), asked, model)
    if model is not None:
        moved_result.show(model, asked)


def _train(spec: Spec, asked: Asked, model: ModelAbout | None) -> None:
    """Show the button that trains the model of an effect, or how far that is. model : the one that there is."""
    key = f"moved-run-{asked.table}-{asked.level}-{asked.outcome}"
    run = _run(st.session_state.get(key)) or _active(asked)
    if progress.is_on(run):
        assert run is not None
        progress.bar(run.id)
        return
    if run is not None and not run.model and run.state in ("failed", "interrupted"):
        st.error(md(run.message[:600]), icon=":material/error:")
    fresh = model is None or _differs(Spec.from_dict(model.spec), spec)
    if not fresh or not state.workspace().may("create"):
        return
    label = "Find out who is moved" if model is None else "Train again in this way"
    if st.button(label, key=f"moved-train-{asked.table}", icon=":material/play_arrow:", type="primary"):
        try:
            st.session_state[key] = followed.follow(runs.start(state.workspace(), spec, state.n_jobs()))
        except StoreError as error:
            st.error(md(error), icon=":material/error:")
            return
        st.rerun()


def _differs(trained: Spec, spec: Spec) -> bool:
    """Return whether a model was trained otherwise than is asked for now."""
    shares = [model_spec.treatment.share if model_spec.treatment else 0.0 for model_spec in (trained, spec)]
    same = (trained.changes, trained.group, shares[0]) == (spec.changes, spec.group, shares[1])
    return not same or set(trained.features) != set(spec.features)


def _run(identifier: str | None) -> Run | None:
    """Return the run that this session began; None where there is none any more."""
    try:
        return runs.read(state.workspace(), identifier) if identifier else None
    except StoreError:
        return None


def _active(asked: Asked) -> Run | None:
    """Return the run that somebody began for the same effect."""
    listed = (run for run in runs.active(state.workspace()) if not run.model)
    return next((run for run in listed if asked.is_of(run.spec)), None)
