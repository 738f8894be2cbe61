"""The strategy of treating those whose effect is clear, on a page: whom, and what that is worth in money."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Final

import pandas as pd
import streamlit as st

from gamcore.decide.rules import EVERYBODY, Rule, either
from gamcore.decide.rules_json import from_dict
from gamcore.decide.segments import Evidence
from gamcore.decide.strategies import StrategySet
from shapewise.decisions import boards as stored
from shapewise.decisions import effect_models as effects
from shapewise.decisions.effect_models import Asked
from shapewise.decisions.money import Money
from shapewise.places import PAGES
from shapewise.reports.card import measured_by
from shapewise.store.workspace import ModelAbout
from shapewise.ui.decide import board as deck
from shapewise.ui.decide import prices
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, told_apart
from shapewise.ui.widgets import boards, reach

SELECTED: Final = (
    " The same rows chose the segments, so the intervals of these are wider: they hold at once for all that the curves "
    "could have shown."
)


def show(model: ModelAbout, asked: Asked) -> None:
    """Show the segments whose effect stands out, and make a strategy of those that are chosen."""
    names = state.names(asked.table)
    up = {json.dumps(segment.rule.to_dict()): segment for segment in reach.suggested(model) if segment.up}
    if not up:
        st.caption(
            "No range of a single feature is clearly above the mean effect, so the strategy below is for everybody."
        )
    chosen = st.multiselect(
        "Segments", list(up), list(up), key=f"moved-segments-{model.id}", placeholder="Everybody",
        format_func=lambda text: up[text].rule.words(names),
        help="Found on the curves, where a few pieces with bands that hold together are above the mean effect; their "
        "effect is then measured in rows by models that have not seen them. Several are joined by or.",
    ) if up else []  # fmt: skip
    parts: list[Rule] = [reach.rounded(asked.table, from_dict(json.loads(text))) for text in chosen]
    rule = either(parts) if parts else EVERYBODY
    mine = reach.evidence(model, rule, max(len(up), 1))
    everybody = reach.evidence(model, EVERYBODY)
    if mine is None or everybody is None:
        return
    money = prices.edit(model.table, [model.target], f"moved-{model.id}")
    listed = {rule.words(names): (rule, mine)} if chosen else {}
    listed["Everybody"] = (EVERYBODY, everybody)
    _table(model, listed, money)
    _make(model, asked, rule=rule, measured=mine)


def _table(model: ModelAbout, listed: dict[str, tuple[Rule, Evidence]], money: Money) -> None:
    """Show reach, measured effect and worth of each choice, over the rows of the table."""
    rows = []
    for name, (rule, measured) in listed.items():
        reached = int(reach.holds(model.table, rule).sum())
        row = {"Who": name, "Customers": count(reached), "Effect": measured.inside_result().sentence()}
        if money.of(model.target):
            row["Worth"] = effects.worth(measured, reached, money, model).words()
        rows.append(row)
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt="Reach, measured effect and worth of treating them.")
    worth_of = "Say what an outcome is worth to see what each adds up to."
    if money.of(model.target):
        worth_of = (
            "Worth: customers of this table times effect times worth, less the cost of reaching them; its interval is "
            "that of the effect."
        )
    st.caption(
        f"Effects are differences of the arms in {measured_by(model)}, whatever the model says."
        f"{_left_out(model, listed)}{SELECTED if len(listed) > 1 else ''} {worth_of}"
    )


def _left_out(model: ModelAbout, listed: dict[str, tuple[Rule, Evidence]]) -> str:
    """Say which rows say nothing about a choice, if any: those of parts whose model means other rows by it."""
    every = max(measured.rows for _, measured in listed.values())
    least = min(measured.rows for _, measured in listed.values())
    if model.unseen is None or least == every:
        return ""
    return (
        f" Of {count(every)} rows, {count(every - least)} do not count for the segments: the models that have not seen "
        "these rows find others there."
    )


def _make(model: ModelAbout, asked: Asked, *, rule: Rule, measured: Evidence) -> None:
    """Show the button that makes the strategy, and on which board."""
    if not state.workspace().may("create"):
        return
    names, every = state.names(asked.table), stored.boards(state.workspace(), asked.table)
    there = {board.id: board for board in every if state.mine("boards", board.id)}
    labels = {"": "a new board"} | told_apart({i: board.name for i, board in there.items()})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        action = st.text_input("Action, in words", names.level(asked.arm, asked.level), max_chars=200,
                               key=f"moved-action-{model.id}")  # fmt: skip
        place = st.selectbox("Board", list(labels), format_func=labels.__getitem__, key=f"moved-board-{model.id}")
        pressed = st.button("Make the strategy", icon=":material/add:", key=f"moved-make-{model.id}")
    if not pressed:
        return
    control = effects.control_mean(state.table(asked.table), asked, rule)
    if not (control > 0 and all(map(math.isfinite, measured.interval))):
        st.error("A strategy states lifts over the control, whose mean here is not above 0: write it on Strategies.")
        return
    board = there.get(place) or stored.add_board(state.workspace(), StrategySet(model.name), asked.table)
    strategy = effects.strategy(
        deck.next_name(board.read()), rule, measured, control, action=action.strip(), model=model
    )
    refused = deck.act(board.id, lambda now: replace(now, strategies=(*now.strategies, strategy)))
    if refused:
        st.error(md(refused), icon=":material/error:")
        return
    boards.open_board(board.id)
    st.switch_page(PAGES / "strategies.py", query_params={"table": asked.table, "board": board.id})
