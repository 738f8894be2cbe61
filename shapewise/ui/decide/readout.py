"""The read-out of a board's experiment on a page: the verdict, the arms and the lifts."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import streamlit as st

from gamcore.data.columns import TableError
from gamcore.decide import verdicts
from gamcore.decide.arms import ReadOut
from gamcore.decide.experiment_plan import ExperimentError
from gamcore.decide.shown import shown_read_out
from gamcore.decide.strategies import StrategySet
from shapewise.decisions import boards as stored
from shapewise.decisions import plans
from shapewise.decisions.boards import Board
from shapewise.decisions.plan_and_outcome import read_out
from shapewise.store.workspace import StoreError
from shapewise.ui.decide import arms_result, plan_form
from shapewise.ui.decide import readout_source as source
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import boards, cards, chart, meanwhile, reach

WAYS = {"rows": "Rows of a table", "counts": "Counts"}


def show(board: Board, strategy_set: StrategySet) -> None:
    """Show the choice of source, and the read-out."""
    tested = board.plan.get("tested")
    if tested is not None and tested != strategy_set.to_dict():
        strategy_set = StrategySet.from_dict(tested)
        names = ", then ".join(
            f"{md(strategy.name)} ({md(strategy.rule.words(state.names(board.table)))})"
            for strategy in strategy_set.strategies
        )
        st.caption(f":material/history: Uses the board as it was when the test began: {names}.")
    if not strategy_set.strategies:
        boards.no_strategy()
    form = board.id + meanwhile.form("boards", asdict(board), ("outcome",))
    place, was = chart.first(), board.outcome
    asks = st.session_state.setdefault(f"readout-asks-{board.id}", not was)  # what is to be asked stays in sight
    with place.drawing.container(border=True) if asks else place.options:
        way = st.segmented_control(
            "Read it from", list(WAYS), default=was.get("way", "rows"), required=True,
            format_func=WAYS.__getitem__, key=f"way-{form}",
        )  # fmt: skip
        asked = (
            source.rows(board, was.get("rows", {}), form) if way == "rows" else source.counts(board, strategy_set, form)
        )
    if asked is None:
        return
    before = {"way": was.get("way", way), way: was.get(way)}
    plan_form.keep(f"outcome-{form}-{way}", before, {"way": way, way: asked},
                   lambda new: stored.change(state.workspace(), board.id, outcome=new))  # fmt: skip
    try:
        texts = map(json.dumps, (strategy_set.to_dict(), asked, board.plan.get("metrics", [])))
        outcome = _read(*texts, way, _customers(board, strategy_set))
    except (ExperimentError, TableError, StoreError) as error:
        st.error(md(error), icon=":material/error:")
        return
    shown = shown_read_out(outcome, source.names_of(board, asked.get("table", "")))
    _result(board, strategy_set, shown, place)


def _customers(board: Board, strategy_set: StrategySet) -> int:
    """Return how many customers were planned, if the test may be looked at whenever one likes; else 0."""
    if not board.plan.get("looks"):
        return 0
    return plans.planned(plans.form_of(board.plan, []), strategy_set, reach.ledger(board.table, strategy_set)).customers


@state.kept(show_spinner="Reading the experiment", max_entries=16)
def _read(strategies: str, outcome: str, metrics: str, way: str, customers: int) -> ReadOut:
    strategy_set = StrategySet.from_dict(json.loads(strategies))
    return read_out(strategy_set, way, json.loads(outcome), json.loads(metrics), state.rows_of, customers=customers)


def _result(board: Board, strategy_set: StrategySet, outcome: ReadOut, place: chart.Place) -> None:
    """Show the verdict and the lifts first, then what each strategy measured."""
    with place.sentence:
        arms_result.verdict(*verdicts.overall(outcome))
        st.caption(arms_result.sizes_in_words(outcome))
    for note in outcome.notes:
        st.warning(md(note), icon=":material/warning:")
    if outcome.stopped:
        st.caption(arms_result.NOT_SHOWN)
        return
    cards.figure(outcome.describe(), f"lifts-{board.id}", board.name, titled=False, at=place)
    left = [e for e in outcome.effects if not np.isfinite([e.lift, *e.lift_interval]).all()]
    if left:
        named = ", ".join(f"{md(e.strategy)} {md(e.what)}" for e in left)
        st.caption(f"Not drawn, because the ratio is undefined: {named}. The numbers under *Options* have them.")
    st.caption(
        "Treated against control among those who would get the same strategy. Each interval is for its comparison "
        "alone; “significant” is after Holm over all strategies, arms and metrics except expected nulls."
        + f" {arms_result.looking_words(outcome.test.customers)}"
        * bool(outcome.test.customers)
    )
    for strategy in strategy_set.strategies:
        if any(effect.strategy == strategy.name for effect in outcome.effects):
            tone, words = verdicts.of_strategy(outcome, strategy.name)
            with st.container(border=True):
                st.markdown(f"{arms_result.ICONS[tone]} **{md(strategy.name)}** · {md(strategy.action)}")
                st.markdown(md(words))
                for effect in outcome.effects:
                    if effect.strategy == strategy.name:
                        measured = f"**{md(effect.what)}** ({effect.role}): {md(verdicts.levels(effect))}"
                        arms_result.say(effect, "relative", measured)
