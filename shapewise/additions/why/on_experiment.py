"""The panel on Experiment: two arms beside each other. Where they were drawn at random, nobody came more to either."""

from __future__ import annotations

import json

import streamlit as st

from gamcore import TableError
from gamcore.data.columns import read_present_texts
from gamcore.decide.rules import Levels
from shapewise.additions.why import result, tables
from shapewise.additions.why.answers import answer
from shapewise.additions.why.question import Group, Question, named
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
    known = [model for model in now.project.models if tables.can_be_asked(model) and model.table == test.table]
    return test, [model for model in known if model.target in test.test().measured and not model.spec.get("treatment")
                  and test.arm not in model.spec["features"]]  # fmt: skip


def draw(now: InView) -> None:
    """Show an arm beside the control: whether other people came, and what is left, which is the effect."""
    test, models = models_of_outcomes(now)
    assert test is not None
    names = state.names(test.table)
    arms = [level for level in read_present_texts(state.table(test.table).frame[test.arm])[1] if level != test.control]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_id = {model.id: model for model in models}
        labels = told_apart({model.id: model.name for model in models})
        model = by_id[st.selectbox("As this model sees it", list(by_id), format_func=labels.__getitem__,
                                   key=f"why-of-test-{test.id}")]  # fmt: skip
        arm = st.selectbox("Arm", arms, format_func=lambda level: names.level(test.arm, level),
                           key=f"why-arm-{test.id}")  # fmt: skip
    first, second = (
        Group(names.level(test.arm, level), test.table, json.dumps(Levels(test.arm, (level,)).to_dict()))
        for level in (test.control, arm)
    )
    asked = Question(model.id, first, second)
    try:
        _balance(model, asked)
    except (TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    result.show(model, asked)


def _balance(model: ModelAbout, asked: Question) -> None:
    """Say whether other people came to one of the arms than chance brings."""
    moved = named(answer(asked), state.names_of(model))
    clear = [name for (kind, name), is_clear in moved.clear().items() if kind == "composition" and is_clear]
    came = next(claim.words() for claim in moved.claims() if claim.kind == "composition")
    if clear:
        st.warning(
            f"If these arms were drawn at random, other people came to one than chance brings: {md(came)}. Check how "
            "the arms were assigned before you read an effect.",
            icon=":material/warning:",
        )
        return
    st.markdown(
        f":material/check: As it should be where arms were drawn at random, who came makes no clear difference: "
        f"{md(came)}. What is not explained by who came is then the effect of the arm."
    )
