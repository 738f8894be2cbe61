"""One row: the parts of its prediction, what-if values, and the smallest change that flips the decision."""

from __future__ import annotations

from shapewise.ui.frame.starting import begin

from dataclasses import replace

import streamlit as st

from gamcore.common.numbers import number
from gamcore.estimators.base import loss_of
from gamcore.model.output_names import EXPECTED
from shapewise.ui.explain import expected_range, flip, reasons, row_choice, what_if
from shapewise.ui.explain.row_model import row_model
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import cards

PARTS = 6
"""Drawn, the others as one: as many as leave the chart in the upper half of a screen."""

begin("Rows", "One prediction at a time: what it is made of, and what would change it.")
model = cards.model_in_view()
explained = row_model(model)
if explained is None:
    st.info("This page needs the table of the model, which has been deleted.", icon=":material/table:")
    st.stop()

drawing, side = st.columns([3, 2], gap="medium")
with drawing:
    scale, first = cards.effects_of(model)
with side:
    place = row_choice.choose(explained, first.options)
    tiles = st.container(horizontal=True)
row = explained.data.X.iloc[[place]]
before = explained.estimator.explain_rows(row)
with side:
    st.markdown("**What if**")
    edited = what_if.edit(explained, row, before, f"value-{model.id}-{place}")
moved = not edited.equals(row)
breakdown = state.seen(model, explained.estimator.explain_rows(edited) if moved else before)
was = float(explained.predict(row)[0])
goes = float(explained.predict(edited)[0]) if moved else was
change = explained.say_move(goes - was) if moved else None
called = explained.predicted.capitalize()
tiles.metric(called if not moved else f"{called} then", explained.say(goes), change)
if explained.data.exposure is not None:
    during = float(explained.data.exposure[place])
    tiles.metric(EXPECTED.capitalize(), explained.say(goes * during),
                 help=f"The rate times this row's {md(explained.exposure)} of {number(during)}.")  # fmt: skip
if state.effect_unit(model) is None:  # an effect is seen in no single row
    tiles.metric("It was", explained.say_truth(float(explained.data.y.iloc[place])))
plot = breakdown.describe(0, state.goal(model), scale, cells=explained.cells(edited), most=PARTS)
plot = replace(plot, name=f"row {place}", numbers=breakdown.parts(0, explained.cells(edited)))
cards.figure(plot, f"row-chart-{model.id}", model.name, state.card(model), at=first)
with first.drawing:
    st.caption(explained.how_it_adds_up(breakdown))
    expected_range.show(explained, edited, place, first.options)
if not loss_of(explained.estimator).is_partial:  # a change moves the scores of the other classes, too
    with st.container(border=True):
        how = reasons.show(explained, edited, goes)
    with st.container(border=True):
        flip.show(explained, edited, how, goes)
expected_range.causes(explained)
