"""The rows that rules match, and their evidence from rows that no model behind it has seen. Caches are keyed by id and
by a rule's JSON: no table is hashed."""

from __future__ import annotations

import json
from dataclasses import replace

import streamlit as st

from gamcore.common.types import Bools
from gamcore.decide.rules import Rule
from gamcore.decide.rules import rounded as with_few_digits
from gamcore.decide.rules_json import from_dict
from gamcore.decide.segments import Evidence, HeldOutRows, Segment, suggest_by
from gamcore.decide.strategies import Ledger, Matches, Strategy, StrategySet
from gamcore.decide.unseen import UnseenRows
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import train_share
from gamcore.estimators.gam import ClassView
from shapewise.scoring import all_rows as wholes
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session import state


@state.kept(show_spinner=False, max_entries=64)
def _holds(table: str, rule: str) -> Bools:
    return from_dict(json.loads(rule)).holds(state.frame(table))


def holds(table: str, rule: Rule) -> Bools:
    """Return a mask of the rows of a table that match a rule. It is shared: never change it."""
    return _holds(table, json.dumps(rule.to_dict()))


@state.kept(show_spinner=False, max_entries=32)
def _matches(table: str, gate: str, rules: tuple[str, ...]) -> Matches:
    if state.workspace().tables.about(table).sampled:
        read = [Strategy(str(place), from_dict(json.loads(rule))) for place, rule in enumerate(rules)]
        with st.spinner("Counting all rows"):
            return wholes.matches(state.workspace(), table, StrategySet("", tuple(read), from_dict(json.loads(gate))))
    return Matches.of(_holds(table, gate), [_holds(table, rule) for rule in rules])


def ledger(table: str, strategy_set: StrategySet) -> Ledger:
    """Return the reach of each strategy in a table, from cached counts that do not depend on the strategies' order."""
    rules = [json.dumps(strategy.rule.to_dict()) for strategy in strategy_set.strategies]
    order = sorted(range(len(rules)), key=rules.__getitem__)
    matches = _matches(table, json.dumps(strategy_set.gate.to_dict()), tuple(rules[k] for k in order))
    return matches.ledger([order.index(k) for k in range(len(rules))])


@state.kept(show_spinner=False, max_entries=16)
def _held_out(model: str, bands: int) -> HeldOutRows | None:
    about = state.workspace().models.about(model)
    rows = None if about.of_tasks else state.data(about)
    if rows is None:
        return None
    held, fitted = rows.held_out, state.additive(model)
    unseen = state.workspace().models.unseen(model)
    if unseen is not None and unseen.part.size == len(rows.y):
        frame = state.as_read(about).frame.loc[rows.X.index]
        return UnseenRows(
            single_model(fitted), frame, rows.y.to_numpy(float), unseen=unseen, effect="", clusters=rows.groups
        )
    weight = None if rows.weight is None else rows.weight[held]
    return HeldOutRows(
        single_model(fitted),
        state.as_read(about).frame.loc[rows.X.index[held]],
        rows.y[held].to_numpy(float),
        weight,
        offset=fitted.against_others(rows.X[held]) if isinstance(fitted, ClassView) else 0.0,
        exposure=None if rows.exposure is None else rows.exposure[held],
        effect=None if rows.expected is None else "",
        clusters=None if rows.groups is None or rows.expected is None else rows.groups[held],
    )


@state.kept(show_spinner=False, max_entries=256)
def _evidence(model: str, bands: int, rule: str) -> Evidence | None:
    rows = _held_out(model, bands)
    return None if rows is None else rows.evidence(from_dict(json.loads(rule)))


def evidence(model: ModelAbout, rule: Rule, tried: int = 1) -> Evidence | None:
    """Return the held-out evidence for a rule; None if the model's table is gone. TableError if a column is."""
    evidence_now = _evidence(model.id, model.bands, json.dumps(rule.to_dict()))
    return evidence_now and replace(evidence_now, tried=tried, effect=state.effect_unit(model))


@state.kept(show_spinner="Finding segments on the curves", max_entries=16)
def _suggested(model: str, bands: int) -> list[Segment]:
    rows = _held_out(model, bands)
    if rows is None:
        return []
    return suggest_by(rows, train_share=train_share(state.additive(model)))


def suggested(model: ModelAbout) -> list[Segment]:
    """Return the segments that a model suggests; none if its table is gone."""
    unit = state.effect_unit(model)  # it may be renamed, the rest may not
    return [
        replace(segment, evidence=replace(segment.evidence, effect=unit))
        for segment in _suggested(model.id, model.bands)
    ]


@state.kept(show_spinner=False, max_entries=128)
def _rounded(table: str, rule: str) -> Rule:
    return with_few_digits(from_dict(json.loads(rule)), state.frame(table))


def rounded(table: str, rule: Rule) -> Rule:
    """Return a rule with its numbers rounded as far as possible while moving under 1% of a table's rows."""
    return _rounded(table, json.dumps(rule.to_dict()))
