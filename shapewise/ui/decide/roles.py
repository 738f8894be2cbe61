"""What each outcome of a test is for, its value from before, and the move that nobody minds: an editor that all
read-outs share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pandas as pd
import streamlit as st

from gamcore.data.column_names import Names
from gamcore.decide.experiment_plan import ROLES, MetricRole
from shapewise.ui.widgets.columns import SHARE

NOTHING: Final = "-"


class Chosen(NamedTuple):
    """By outcome, its role, its column from before the test, and the relative move that nobody minds, where set."""

    roles: dict[str, MetricRole]
    before: dict[str, str]
    accepted: dict[str, float]


def edit(
    key: str, outcomes: Mapping[str, str], columns: Sequence[str], names: Names, *,
    roles: Mapping[str, MetricRole], before: Mapping[str, str], accepted: Mapping[str, float] | None = None,
) -> Chosen:  # fmt: skip
    """Show what each outcome is for; return it.

    outcomes : by name, what they are called. columns : those that may hold values from before, an outcome's own values
    apart. roles, before, accepted : those stored; accepted is None where a plan says what nobody minds.
    """
    past = {names.column(name): name for name in [*columns, *before.values()]}
    start = pd.DataFrame({
        "outcome": list(outcomes.values()),
        "role": [roles.get(name, "primary") for name in outcomes],
        "accepted": pd.Series([(accepted or {}).get(name, math.nan) for name in outcomes], dtype=float),
        "before": [names.column(before[name]) if name in before else NOTHING for name in outcomes],
    })  # fmt: skip
    edited = st.data_editor(
        start, hide_index=True, disabled=["outcome"], placeholder=NOTHING, key=f"{key}-{'|'.join(start['outcome'])}",
        column_config={
            "outcome": "Outcome",
            "role": st.column_config.SelectboxColumn("Role", options=list(ROLES), required=True),
            "before": st.column_config.SelectboxColumn(
                "Value from before", options=[NOTHING, *past], required=True,
                help="A column with the same quantity from before the test narrows the interval (CUPED).",
            ),
            "accepted": None if accepted is None else st.column_config.NumberColumn(
                "Accepted move", min_value=0.0001, max_value=0.99, format=SHARE,
                help="Nobody minds a smaller one. Of a guardrail the fall, of an expected null the move, relative to "
                "the control: 5% of 20% is one point. A guardrail holds once a larger fall is ruled out.",
            ),
        },
        alt="Outcomes, their roles, the moves that nobody minds, and their values from before.",
    )  # fmt: skip
    chosen: dict[str, MetricRole] = dict(zip(outcomes, edited["role"], strict=True))
    columns_before = zip(outcomes, map(past.get, edited["before"]), strict=True)
    shares = zip(outcomes, edited["accepted"], strict=True)
    return Chosen(
        chosen,
        {name: column for name, column in columns_before if column not in (None, name)},
        {name: share for name, share in shares if math.isfinite(share) and chosen[name] != "primary"},
    )
