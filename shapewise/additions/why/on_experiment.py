"""The panel on Experiment: two arms beside each other. Where they were drawn at random, nobody came more to either."""

from __future__ import annotations

import streamlit as st

from gamcore import TableError
from shapewise.additions.why import arms, result
from shapewise.additions.why.answers import answer
from shapewise.additions.why.question import named
from shapewise.decisions import arm_tests
from shapewise.decisions.arm_tests import StoredTest
from shapewise.errors import StoreError
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state
from shapewise.ui.session.current import InView
from shapewise.ui.session.words import md, told_apart


def models_of_outcomes(now: InView) -> tuple[StoredTest | None, list[ModelAbout]]:
    """Return the last test on the table in view, and the models of its outcomes that do not know the arm."""
    test = next(iter(arm_tests.tests(state.workspace(), {now.table.id} if now.table else set())), None)
    if test is None or now.project is None:
        return None, []
    return test, [model for model in now.project.models if arms.is_of_outcome(model, test)]


def draw(now: InView) -> None:
    """Show an arm beside the control: whether other people came, and what is left, which is the effect."""
    test, models = models_of_outcomes(now)
    assert test is not None
    names = state.names(test.table)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_id = {model.id: model for model in models}
        labels = told_apart({model.id: model.name for model in models})
        model = by_id[st.selectbox("As this model sees it", list(by_id), format_func=labels.__getitem__,
                                   key=f"why-of-test-{test.id}")]  # fmt: skip
        levels = arms.treated(state.table(test.table).frame, test)
        arm = st.selectbox("Arm", levels, format_func=lambda level: names.level(test.arm, level),
                           key=f"why-arm-{test.id}")  # fmt: skip
    asked = arms.between(model, test, arm, names)
    try:
        is_balanced, words = arms.balance(named(answer(asked), state.names_of(model)))
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    if is_balanced:
        st.markdown(f":material/check: {md(words)}")
    else:
        st.warning(md(words), icon=":material/warning:")
    result.show(model, asked)
