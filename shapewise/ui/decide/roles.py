"""What each outcome of a test is for, and its value from before the test: an editor that all read-outs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd
import streamlit as st

from gamcore.data.column_names import Names
from gamcore.decide.experiment_plan import ROLES, MetricRole

NOTHING: Final = "-"


def edit(
    key: str, outcomes: Mapping[str, str], columns: Sequence[str], names: Names, *,
    roles: Mapping[str, MetricRole], before: Mapping[str, str],
) -> tuple[dict[str, MetricRole], dict[str, str]]:  # fmt: skip
    """Show the role of each outcome and its value from before the test; return both by outcome.

    outcomes : by name, what they are called. columns : those that may hold values from before, an outcome's own values
    apart. roles, before : those stored.
    """
    past = {names.column(name): name for name in [*columns, *before.values()]}
    start = pd.DataFrame({
        "outcome": list(outcomes.values()),
        "role": [roles.get(name, "primary") for name in outcomes],
        "before": [names.column(before[name]) if name in before else NOTHING for name in outcomes],
    })  # fmt: skip
    edited = st.data_editor(
        start, hide_index=True, disabled=["outcome"], key=f"{key}-{'|'.join(start['outcome'])}",
        column_config={
            "outcome": "Outcome",
            "role": st.column_config.SelectboxColumn("Role", options=list(ROLES), required=True),
            "before": st.column_config.SelectboxColumn(
                "Value from before", options=[NOTHING, *past], required=True,
                help="A column with the same quantity from before the test narrows the interval (CUPED).",
            ),
        },
        alt="Outcomes, their roles, and their values from before.",
    )  # fmt: skip
    chosen: dict[str, MetricRole] = dict(zip(outcomes, edited["role"], strict=True))
    columns_before = zip(outcomes, map(past.get, edited["before"]), strict=True)
    return chosen, {name: one for name, one in columns_before if one not in (None, name)}
