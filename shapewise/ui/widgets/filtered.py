"""The rows that somebody filtered on Data, so that Train can offer to learn from these alone."""

from __future__ import annotations

import json

import streamlit as st

from gamcore.decide.rules import EVERYBODY, Rule
from gamcore.decide.rules_json import from_dict
from shapewise.ui.session import state
from shapewise.ui.session.words import md


def keep(table: str, rule: Rule) -> None:
    """Remember the filter of a table for this session."""
    st.session_state[_key(table)] = "" if rule == EVERYBODY else json.dumps(rule.to_dict())


def offer(table: str, target: str) -> Rule | None:
    """Offer the filter of a table to a training; return it where it was accepted. It is never applied unasked."""
    text = st.session_state.get(_key(table))
    if not text:
        return None
    rule = from_dict(json.loads(text))
    words = md(rule.words(state.names(table)))
    if target in rule.columns:
        st.caption(f"You filtered rows on Data by the target ({words}): a model of it learns from all rows.")
        return None
    chosen = st.checkbox(
        f"Train on the rows you filtered: {words}", key=f"train-{_key(table)}-{text}",  # another filter is asked anew
        help="The filter of *A closer look* on the page Data. Without a tick, all rows are used.",
    )  # fmt: skip
    return rule if chosen else None


def _key(table: str) -> str:
    return f"filtered-{table}"
