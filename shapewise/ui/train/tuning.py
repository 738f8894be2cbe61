"""Hyperparameter tuning on a page: its budget and its result."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from scipy.stats import norm

from gamcore.common.numbers import percent
from gamcore.estimators.gam import GAMClassifier
from shapewise.training import runs
from shapewise.training.runs import Run
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import count, number
from shapewise.ui.train import settings

MOST_SHOWN = 8
CLEAR = 0.05
"""Probability of calling any settings of the last stage better when none is (Bonferroni)."""


def form(spec: Spec) -> None:
    """Show the budget and the Search button."""
    opened = f"tuning-{spec.table}"
    with st.popover("Tune", icon=":material/tune:", key=opened, on_change="rerun"):
        st.caption(
            "Searches tree size, learning rate, bins, pairs and subsampling. Weak settings are dropped early, on a "
            "sample of the rows. Held-out rows are never used."
        )
        tried = st.number_input("Settings to try", 5, 200, 27, key=f"tune-n-{spec.table}")
        seconds = st.number_input("Time limit in seconds", 5, 3600, 120, key=f"tune-s-{spec.table}")
        budget = {"candidates": int(tried), "seconds": float(seconds)}
        st.button("Search", icon=":material/search:", key=f"tune-{spec.table}", on_click=_search,
                  args=(spec, budget, opened))  # fmt: skip


def _search(spec: Spec, budget: dict[str, float], opened: str) -> None:
    """Begin a search, and close the form, which would lie on its result. opened : key of whether it is open."""
    st.session_state[opened] = False
    st.query_params["run"] = runs.start(state.workspace(), spec, state.n_jobs(), budget=budget)


def verdict(trials: list[dict[str, Any]], own: dict[str, Any]) -> str:
    """Return the result of the search in a sentence."""
    best = trials[0]
    if best["changes"] == own["changes"]:
        return "No other settings were better than the current ones."
    others = sum(trial["stage"] == best["stage"] for trial in trials) - 1
    gap, error, whole = -(best["gap"] or 0.0), best["error"] or 0.0, own["loss"] or 1.0
    words = f"{percent(gap / whole, 2)} ± {percent(error / whole, 2)} (one standard error)"
    if gap > float(norm.ppf(1 - CLEAR / max(others, 1))) * error:
        return f"The best settings lower the validation loss by {words}."
    return f"The best settings are no clear improvement: they lower the validation loss by {words}."


def result(run: Run) -> None:
    """Show the best settings, and a button that puts them into the form."""
    own = next((trial for trial in run.tuned if trial["changes"] == run.spec.changes), run.tuned[0])
    best = run.tuned[0]
    with st.container(border=True):
        st.markdown(f":material/tune: **{count(len(run.tuned))} settings were tried.** {verdict(run.tuned, own)}")
        st.button(
            "Use the best", type="primary", icon=":material/check:", disabled=best["changes"] == own["changes"],
            on_click=settings.take, args=(run.spec, best["changes"]),
        )  # fmt: skip
        names = list(dict.fromkeys(name for trial in run.tuned for name in trial["changes"]))
        known, rows = {**GAMClassifier().get_params(), **run.spec.parameters()}, []
        for trial in run.tuned[:MOST_SHOWN]:
            changes = known | trial["changes"]
            cells = {settings.label(name): str(changes[name]) for name in names}
            gap = "" if trial["gap"] is None else f"{number(trial['gap'], signed=True)} ± {number(trial['error'], 2)}"
            mark = "current" if trial is own else ""
            rows.append({"": mark, **cells, "Validation loss": number(trial["loss"]), "Against current": gap,
                         "Rows per fit": count(trial["rows"])})  # fmt: skip
        st.dataframe(pd.DataFrame(rows), hide_index=True, alt="The best settings that were tried, one per row.")
        st.caption(
            "Compare only settings tried on the same number of rows. The winner looks slightly too good: train it and "
            "read its held-out score."
            + (" They were tried on the sample only." if state.workspace().tables.about(run.spec.table).sampled else "")
        )
        if st.button("Close", key=f"close-{run.id}"):
            st.query_params.pop("run", None)
            st.rerun()
