"""Who rules pick, and what held-out rows say of it: by ids and by the JSON of a rule, so that no table is hashed."""

from __future__ import annotations

import json
from dataclasses import replace

import streamlit as st

from gamcore.decide.rules import Rule
from gamcore.decide.rules import rounded as with_few_digits
from gamcore.decide.rules_json import from_dict
from gamcore.decide.segments import Evidence, HeldOutRows, Segment, suggest
from gamcore.decide.strategies import Ledger, Matches, Strategy, StrategySet
from gamcore.multitask.model import TaskModel
from gamcore.types import Bools
from shapewise.scoring import all_rows as wholes
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state


@state.kept(show_spinner=False, max_entries=64)
def _holds(table: str, rule: str) -> Bools:
    return from_dict(json.loads(rule)).holds(state.frame(table))


def holds(table: str, rule: Rule) -> Bools:
    """Return the rows of a table that a rule picks; shared, so never changed."""
    return _holds(table, json.dumps(rule.to_dict()))


@state.kept(show_spinner=False, max_entries=32)
def _matches(table: str, gate: str, rules: tuple[str, ...]) -> Matches:
    if state.workspace().tables.about(table).sampled:
        read = [Strategy(str(place), from_dict(json.loads(rule))) for place, rule in enumerate(rules)]
        with st.spinner("Counting all rows"):
            return wholes.matches(state.workspace(), table, StrategySet("", tuple(read), from_dict(json.loads(gate))))
    return Matches.of(_holds(table, gate), [_holds(table, rule) for rule in rules])


def ledger(table: str, made: StrategySet) -> Ledger:
    """Return who is reached in a table. What an order changes is read off counts that are the same in all orders."""
    rules = [json.dumps(strategy.rule.to_dict()) for strategy in made.strategies]
    order = sorted(range(len(rules)), key=rules.__getitem__)
    matches = _matches(table, json.dumps(made.gate.to_dict()), tuple(rules[k] for k in order))
    return matches.ledger([order.index(k) for k in range(len(rules))])


@state.kept(show_spinner=False, max_entries=16)
def _held_out(model: str, bands: int) -> HeldOutRows | None:
    about, fitted = state.workspace().models.about(model), state.estimator(model)
    rows = state.data(about)
    if rows is None or isinstance(fitted.model_, TaskModel):
        return None
    held = rows.held_out
    weight = None if rows.weight is None else rows.weight[held]
    return HeldOutRows(
        fitted.model_, state.frame(about.table).loc[rows.X.index[held]], rows.y[held].to_numpy(float), weight
    )


@state.kept(show_spinner=False, max_entries=256)
def _evidence(model: str, bands: int, rule: str) -> Evidence | None:
    rows = _held_out(model, bands)
    return None if rows is None else rows.evidence(from_dict(json.loads(rule)))


def evidence(model: ModelAbout, rule: Rule, tried: int = 1) -> Evidence | None:
    """Return what a model's held-out rows say of a rule; None where its table is gone. TableError where a column is."""
    evidence_now = _evidence(model.id, model.bands, json.dumps(rule.to_dict()))
    return evidence_now and replace(evidence_now, tried=tried)


@state.kept(show_spinner="Finding segments on the curves", max_entries=16)
def _suggested(model: str, bands: int) -> list[Segment]:
    rows, fitted = _held_out(model, bands), state.estimator(model)
    if rows is None or isinstance(fitted.model_, TaskModel):
        return []
    return suggest(fitted.model_, rows.table, rows.y, rows.weight, train_share=fitted.train_share)


def suggested(model: ModelAbout) -> list[Segment]:
    """Return the segments that a model sets apart; none where its table is gone."""
    return _suggested(model.id, model.bands)


@state.kept(show_spinner=False, max_entries=128)
def _rounded(table: str, rule: str) -> Rule:
    return with_few_digits(from_dict(json.loads(rule)), state.frame(table))


def rounded(table: str, rule: Rule) -> Rule:
    """Return a rule with numbers that a business would choose: as few digits as move under 1% of a table's rows."""
    return _rounded(table, json.dumps(rule.to_dict()))
