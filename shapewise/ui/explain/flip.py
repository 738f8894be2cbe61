"""What would flip the decision on a row: the smallest usual changes that take its prediction across a line."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from gamcore import smallest_changes
from gamcore.common.numbers import percent
from gamcore.estimators.base import loss_of
from gamcore.explain.counterfactuals import Change, Possible
from gamcore.explain.shown import shown
from shapewise.scoring.reasons import Telling
from shapewise.ui.explain import helped
from shapewise.ui.explain import line as lines
from shapewise.ui.explain.row_model import RowModel
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets import grid, settled
from shapewise.ui.widgets.columns import texts_of_numbers

MOST_CHANGES: Final = 5


@state.kept(show_spinner=False, max_entries=64)
def _changes(model: str, bands: int, row: pd.DataFrame, border: float, possible: Possible) -> list[Change]:
    """Return the smallest changes of a row of a stored model."""
    return smallest_changes(state.additive(model), row, border, possible)


def show(model: RowModel, row: pd.DataFrame, how: Telling, now: float) -> None:
    """Show the smallest changes that take the prediction of a row, which is `now`, across the line from which the
    answer is yes."""
    st.subheader("What would flip it", anchor=False)
    answer, below = st.container(), st.container()  # the answer stands above what it depends on
    with below:
        how = _may_change(model, row, how)
    with answer:
        _answer(model, row, how, now)


def _answer(model: RowModel, row: pd.DataFrame, how: Telling, now: float) -> None:
    """Say which changes take the prediction, which is `now`, across the line."""
    line = how.line
    border = float(loss_of(model.estimator).link(np.array([line]))[0])
    possible = how.possible(model.bins().values(), model.names)
    many = partial(helped.show, model, how)
    changes = [
        shown(change, model.names) for change in _changes(model.about.id, model.about.bands, row, border, possible)
    ]
    verdict = "yes" if now >= line else "no"
    way = "reach" if now < line else "fall below"
    if not changes:
        st.caption(
            f"The answer is {verdict} ({model.say(now)}). No usual change of up to three features would surely {way} "
            f"{model.say(line)}: allow more features to change, or move the line."
        )
        many()
        return
    first = changes[0]
    n = len(first.steps)
    together = "of one feature" if n == 1 else f"of {n} features together"
    st.markdown(
        f"The answer is **{verdict}** ({model.say(now)}). To {way} {model.say(line)}, the closest change is "
        f"{together}: **{md(_instead(model, row, first))}**, which gives {_then(model, first)}."
    )
    listed = changes[:MOST_CHANGES]
    st.dataframe(
        pd.DataFrame(
            {
                "Change": [change.words for change in listed],
                "Prediction then": [_then(model, change) for change in listed],
                "How unusual": [percent(change.passed, 0) for change in listed],
            }
        ),
        hide_index=True,
        column_config=texts_of_numbers(["Prediction then", "How unusual"]),
        alt="Changes that flip the answer, the most usual first.",
    )
    st.caption(
        "How unusual: the share of training rows between today's value and the new one, summed over features. Only "
        "values with 30 training rows or more at and around them are proposed, only where the 95% band of the new "
        "prediction is beyond the line, and only steps that are a clear gain by themselves. A changed answer does not "
        "promise that acting on the feature changes the outcome."
    )
    many()


def _may_change(model: RowModel, row: pd.DataFrame, how: Telling) -> Telling:
    """Show what may change and within which limits, which is kept with the model; sensitive features are held fixed
    from the start."""
    by_column = model.bins()
    usual = [name for name in how.possible(by_column.values(), model.names).fixed if name in by_column]
    with st.expander("What may change"):
        fixed = st.multiselect(
            "Hold fixed", list(by_column), format_func=model.names.column,
            key=settled.begin(f"fixed-{model.about.id}", usual),
            help="Features that nobody can or should change. Sensitive ones, dates, years, and those whose names speak "
            "of the past start here.",
        )  # fmt: skip
        any_way = st.toggle(
            "Any value and direction", key=settled.begin(f"any-way-{model.about.id}", how.any_way),
            help="Also propose values that stand for no amount, such as 999 far from all others, and steps that are "
            "unclear by themselves or go against the direction of the curve.",
        )  # fmt: skip
        numbers = [name for name, bins in by_column.items() if bins.feature.kind == "number" and name not in fixed]
        start = pd.DataFrame(
            {"feature": [model.names.column(name) for name in numbers], "now": [row.iloc[0][name] for name in numbers]}
        )
        start["now"] = pd.to_numeric(start["now"], errors="coerce").astype(float)
        kept = [how.limits.get(name, (None, None)) for name in numbers]
        ends = {end: np.array([pair[k] for pair in kept], np.float64) for k, end in enumerate(("low", "high"))}
        edited = grid.edit(
            start.assign(**ends), f"limits-{model.about.id}-{'|'.join(numbers)}", hide_index=True,
            disabled=["feature", "now"],
            column_config={"feature": "Feature", "now": "Now", "low": "At least", "high": "At most"},
            alt="Limits of the values that features may change to.",
        )  # fmt: skip
    limits = {name: ends for name, ends in how.limits.items() if name not in numbers}
    limits |= {
        str(name): (None if np.isnan(low) else float(low), None if np.isnan(high) else float(high))
        for name, low, high in zip(numbers, edited["low"], edited["high"], strict=True)
        if not (np.isnan(low) and np.isnan(high))
    }
    chosen = how.fixed if list(fixed) == usual else tuple(fixed)
    return lines.keep(model, how, fixed=chosen, limits=limits, any_way=any_way)


def _instead(model: RowModel, row: pd.DataFrame, change: Change) -> str:
    """Return a change in words, beside what the row has today."""
    columns = [step.bins.feature.column for step in change.steps]
    today = [model.cell(column, row.iloc[0][column]) for column in columns]
    return " and ".join(
        f"{step.feature} {step.words} instead of {cell}" for step, cell in zip(change.steps, today, strict=True)
    )


def _then(model: RowModel, change: Change) -> str:
    """Return the prediction after a change, with its band."""
    value, low, high = loss_of(model.estimator).inverse_link(np.array([change.score, change.low, change.high])).tolist()
    return model.say(value) if np.isnan(low) else f"{model.say(value)} ({model.say(low)} to {model.say(high)})"
