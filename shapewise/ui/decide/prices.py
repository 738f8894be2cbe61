"""What outcomes are worth and what reaching a customer costs, on a page: asked for once in a project."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from shapewise.decisions import money as stored
from shapewise.decisions.money import Money
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import settled


def edit(table: str, outcomes: Sequence[str], key: str, costs: bool = True) -> Money:
    """Show the money of a table's project, and store what is changed; return it. outcomes : columns whose worth is
    shown. costs : whether the cost of reaching a customer is."""
    now, names, mine = stored.of_table(state.workspace(), table), state.names(table), state.mine("tables", table)
    with st.container(horizontal=True, vertical_alignment="bottom", width="content"):
        worth = {
            outcome: st.number_input(
                "Worth of one more outcome" if len(outcomes) == 1 else f"Worth of one more {md(names.column(outcome))}",
                0.0, 1e9, value=None, placeholder="Not given", disabled=not mine, width=220,
                key=settled.begin(f"worth-{key}-{outcome}", now.worth.get(outcome)),
                help="Of one more yes, or one more unit. Kept with the project.",
            ) for outcome in outcomes
        }  # fmt: skip
        cost = now.cost
        if costs:
            cost = st.number_input(
                "Cost per customer reached", 0.0, 1e9, disabled=not mine, width=220,
                key=settled.begin(f"cost-{key}", now.cost), help="Deducted wherever money is shown.",
            )  # fmt: skip
        currency = st.text_input(
            "Currency", max_chars=12, placeholder="e.g. EUR", width=120, disabled=not mine,
            key=settled.begin(f"currency-{key}", now.currency),
        )  # fmt: skip
    given = {**now.worth, **{name: value for name, value in worth.items() if value}}
    given = {name: value for name, value in given.items() if worth.get(name, value)}
    money = Money(given, cost, currency.strip())
    if mine and money != now:
        stored.keep(state.workspace(), table, worth, cost=cost, currency=currency.strip())
    return money
