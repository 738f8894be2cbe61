"""The search for better settings on a page: its budget, and what it found."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from scipy.stats import norm

from gamcore.estimators.gam import GAMClassifier
from shapewise.training import runs
from shapewise.training.runs import Run
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import count, number
from shapewise.ui.train import settings

MOST_SHOWN = 8
CLEAR = 0.05
"""Chance of calling settings better that are not, whichever of those in the last stage they are (Bonferroni)."""


def form(spec: Spec) -> None:
    """Show how much to try, and the button."""
    with st.popover("Tune", icon=":material/tune:"):
        st.caption(
            "Tries other leaves, learning rates, bins, pairs and subsamples on validation rows among those it trains "
            "on, the worse two thirds on few rows only. Held-out rows stay unseen."
        )
        tried = st.number_input("Settings to try", 5, 200, 27, key=f"tune-n-{spec.table}")
        seconds = st.number_input("At most so many seconds", 5, 3600, 120, key=f"tune-s-{spec.table}")
        if st.button("Search", icon=":material/search:", key=f"tune-{spec.table}"):
            budget = {"candidates": int(tried), "seconds": float(seconds)}
            st.query_params["run"] = runs.start(state.workspace(), spec, state.n_jobs(), budget=budget)
            st.rerun()


def verdict(trials: list[dict[str, Any]], own: dict[str, Any]) -> str:
    """Return what the search found, in a sentence."""
    best = trials[0]
    if best["changes"] == own["changes"]:
        return "No other settings were better than the current ones."
    others = sum(trial["stage"] == best["stage"] for trial in trials) - 1
    gap, error, whole = -(best["gap"] or 0.0), best["error"] or 0.0, own["loss"] or 1.0
    words = f"{gap / whole:.2%} ± {error / whole:.2%} (one standard error)"
    if gap > float(norm.ppf(1 - CLEAR / max(others, 1))) * error:
        return f"The best settings lower the validation loss by {words}."
    return f"The best settings are no clear improvement: they lower the validation loss by {words}."


def result(run: Run) -> None:
    """Show the best settings, and a button that puts them into the form."""
    own = next((trial for trial in run.tuned if trial["changes"] == run.spec.changes), run.tuned[0])
    best = run.tuned[0]
    with st.container(border=True):
        head, go_on = st.columns([3, 1], vertical_alignment="center")
        head.markdown(f":material/tune: **{count(len(run.tuned))} settings were tried.** {verdict(run.tuned, own)}")
        go_on.button(
            "Use the best", type="primary", icon=":material/check:", width="stretch",
            disabled=best["changes"] == own["changes"], on_click=settings.take, args=(run.spec, best["changes"]),
        )  # fmt: skip
        names = list(dict.fromkeys(name for trial in run.tuned for name in trial["changes"]))
        known, rows = {**GAMClassifier().get_params(), **run.spec.parameters()}, []
        for trial in run.tuned[:MOST_SHOWN]:
            changes = known | trial["changes"]
            cells = {settings.label(name): str(changes[name]) for name in names}
            gap = "" if trial["gap"] is None else f"{trial['gap']:+.3g} ± {trial['error']:.2g}"
            mark = "current" if trial is own else ""
            rows.append({"": mark, **cells, "Validation loss": number(trial["loss"]), "Against current": gap,
                         "Rows a fit": count(trial["rows"])})  # fmt: skip
        st.dataframe(pd.DataFrame(rows), hide_index=True, alt="The best settings that were tried, one per row.")
        st.caption(
            "Losses are comparable among settings with as many rows. Choosing the best of many makes it look a little "
            "better than it is: the held-out metric of the model that you train with it tells."
            + (" They were tried on the sample only." if state.workspace().tables.about(run.spec.table).sampled else "")
        )
        if st.button("Close", key=f"close-{run.id}"):
            st.query_params.pop("run", None)
            st.rerun()
