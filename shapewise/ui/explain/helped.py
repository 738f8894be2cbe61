"""How many rows could be helped to the other answer, and by which feature, on a page."""

from __future__ import annotations

import json
from typing import Final

import numpy as np
import streamlit as st

from gamcore.common.numbers import percent
from gamcore.data.column_names import Names
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import loss_of
from gamcore.estimators.recourse import recourse
from gamcore.explain.recourse import Recourse
from shapewise.scoring.reasons import Telling
from shapewise.ui.explain import line as lines
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.session.words import count, counted
from shapewise.ui.widgets.columns import PERCENT, hundredfold

FEWEST_ROWS: Final = 100
MOST_ROWS: Final = 2_000
MOST_TERMS: Final = 1_000_000
"""Terms that are added up in all, which bounds the rows: those of the model for each feature that may change."""


@state.kept(show_spinner="Looking for a change of each row", max_entries=16)
def _recourse(identifier: str, bands: int, how: str, names: str) -> Recourse:
    about, fitted = state.workspace().models.about(identifier), state.additive(identifier)
    data, kept = state.data(about), json.loads(how)
    assert data is not None
    telling = Telling(**kept)
    held = np.flatnonzero(data.held_out)
    terms = len(single_model(fitted).bins) * len(single_model(fitted).all_terms)
    most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_TERMS // max(terms, 1)))
    if held.size > most:
        held = np.sort(np.random.default_rng(0).choice(held, most, replace=False))
    border = float(loss_of(fitted).link(np.array([telling.line]))[0])
    return recourse(
        fitted,
        data.X.iloc[held],
        border,
        telling.possible(single_model(fitted).bins, Names.from_dict(json.loads(names))),
        up=telling.helps == "yes",
    )


def show(model: RowModel, how: Telling) -> None:
    """Show the share of the held-out rows in need that an allowed change would help, and by which feature."""
    box = st.expander("How many could be helped", key=f"helped-{model.about.id}", on_change="rerun")
    if not box.open:
        return
    with box:
        how = lines.choose_good(model, how, "helped")
        if (helps := how.helps) is None:
            return
        asked = json.dumps(how.to_dict() | {"letter": ""})
        outlook = _recourse(model.about.id, model.about.bands, asked, json.dumps(model.names.to_dict()))
        n = int(outlook.needs.sum())
        of_all = f"{count(n)} of {counted(outlook.needs.size, 'held-out row')}"
        if not n:
            st.caption(f"None of {count(outlook.needs.size)} held-out rows needs help: all have the answer {helps}.")
            return
        st.markdown(
            f"**{percent(outlook.helped, 0)}** of those with the other answer ({of_all}) could get a {helps} by an "
            "allowed change of up to three features, counting only changes whose whole band is beyond the line."
        )
        table = outlook.by_feature()
        named = table.assign(feature=[model.names.term(name) for name in table["feature"]])
        shares = list(named.columns[1:])
        st.dataframe(
            hundredfold(named, shares), hide_index=True, alt="Features by the share of rows that they could help.",
            column_config={name: st.column_config.NumberColumn(format=PERCENT) for name in shares},
        )  # fmt: skip
        st.caption(
            "Could alone: rows that a change of this feature by itself would help. In the smallest: rows whose "
            "smallest change includes it. Scored files (page Models) can have the smallest change of every row."
        )
