"""What would flip the decision on a row: the smallest usual changes that take its prediction across a line."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import logit

from gamcore.decide.fairness import sensitive
from gamcore.explain.counterfactuals import Change, Possible
from gamcore.explain.shown import shown
from gamcore.numbers import percent
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import WHOLE_PERCENT

MOST_CHANGES: Final = 5


def show(of: RowModel, row: pd.DataFrame) -> None:
    """Show the smallest single changes that take the prediction across the threshold."""
    st.subheader("What would flip it", anchor=False)
    now = float(of.predict(row)[0])
    if of.is_binary:
        usual = min(max(round(100 * of.base_rate()), 1), 99)
        hint = "Starts at the base rate: yes if a row is more likely than average."
        line = (
            st.slider(
                "Decide yes from a chance of", 1, 99, usual, format=WHOLE_PERCENT, key=f"line-{of.about.id}", help=hint
            )
            / 100
        )
        border = float(logit(line))
    else:
        line = st.number_input("Decide yes from a prediction of", value=of.base_rate(), key=f"line-{of.about.id}")
        border = float(of.estimator.loss.link(np.array([line]))[0])
    possible = _may_change(of, row)
    changes = [shown(change, of.names) for change in of.estimator.smallest_changes(row, border, possible)]
    verdict = "yes" if now > line else "no"
    way = "reach" if now <= line else "fall below"
    if not changes:
        st.caption(
            f"The answer is {verdict} ({of.say(now)}). No usual change of up to three features would surely {way} "
            f"{of.say(line)}: allow more features to change, or move the line."
        )
        return
    first = changes[0]
    n = len(first.steps)
    st.markdown(
        f"The answer is **{verdict}** ({of.say(now)}). To {way} {of.say(line)}, the closest change is "
        f"{'of one feature' if n == 1 else f'of {n} features together'}: **{md(first.words)}**, which gives "
        f"{_then(of, first)}."
    )
    listed = changes[:MOST_CHANGES]
    st.dataframe(
        pd.DataFrame(
            {
                "Change": [change.words for change in listed],
                "Prediction then": [_then(of, change) for change in listed],
                "How unusual": [percent(change.passed, 0) for change in listed],
            }
        ),
        hide_index=True,
        alt="Changes that flip the answer, the most usual first.",
    )
    st.caption(
        "How unusual: the share of training rows between today's value and the new one, summed over features. Only "
        "values with 30 training rows or more are proposed, and only where the 95% band of the new prediction is "
        "beyond the line. A changed answer does not promise that acting on the feature changes the outcome."
    )


def _may_change(of: RowModel, row: pd.DataFrame) -> Possible:
    """Show what may change and within which limits; sensitive features are held fixed from the start."""
    by_column = of.bins()
    with st.expander("What may change"):
        fixed = st.multiselect(
            "Hold fixed", list(by_column), [name for name in by_column if name in sensitive(list(by_column))],
            key=f"fixed-{of.about.id}", format_func=of.names.column,
            help="Features that nobody can or should change. Sensitive ones start here.",
        )  # fmt: skip
        numbers = [name for name, bins in by_column.items() if bins.feature.kind == "number" and name not in fixed]
        start = pd.DataFrame(
            {"feature": [of.names.column(name) for name in numbers], "now": [row.iloc[0][name] for name in numbers]}
        )
        start["now"] = pd.to_numeric(start["now"], errors="coerce").astype(float)
        edited = st.data_editor(
            start.assign(low=np.nan, high=np.nan), hide_index=True, disabled=["feature", "now"],
            key=f"limits-{of.about.id}-{'|'.join(numbers)}",
            column_config={"feature": "Feature", "now": "Now", "low": "At least", "high": "At most"},
            alt="Limits of the values that features may change to.",
        )  # fmt: skip
    limits = {
        str(name): (None if np.isnan(low) else float(low), None if np.isnan(high) else float(high))
        for name, low, high in zip(numbers, edited["low"], edited["high"], strict=True)
    }
    return Possible(fixed, limits)


def _then(of: RowModel, change: Change) -> str:
    """Return the prediction after a change, with its band."""
    value, low, high = of.estimator.loss.inverse_link(np.array([change.score, change.low, change.high])).tolist()
    return of.say(value) if np.isnan(low) else f"{of.say(value)} ({of.say(low)} to {of.say(high)})"
