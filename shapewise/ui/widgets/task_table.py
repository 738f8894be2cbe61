"""The table of tasks: rows, rounds, and how each fares beside simpler models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from scipy.stats import t

from shapewise.store.workspace import ModelAbout
from shapewise.ui.session.words import md

CHANCE = 0.025
"""Of a task to look clearly better where there is no difference: the t quantile of its held-out rows."""

FEWEST_ROWS = 30
"""Held-out rows below which nothing is called clear."""

MOST_TOLD = 4


def frame(model: ModelAbout) -> pd.DataFrame:
    """Return one row per task, those of most rows first."""
    rows = pd.DataFrame(model.tasks)
    numbers = [name for name in rows.columns if name != "name"]
    rows[numbers] = rows[numbers].astype(float)
    return rows.sort_values("rows", ascending=False, ignore_index=True)


def verdict(model: ModelAbout) -> str:
    """In how many tasks the model is better than simpler ones, in a sentence; nothing where none was compared."""
    tasks = frame(model)
    words = []
    for other, name in (("alone", "models of their own"), ("one_for_all", "one model for all")):
        gap, rows = tasks[other] - tasks["loss"], tasks["held_out"]
        if gap.notna().any():
            beyond = tasks[f"se_{other}"] * t.ppf(1 - CHANCE, np.maximum(rows - 1, 1))
            enough = rows >= FEWEST_ROWS
            better, worse = int(((gap > beyond) & enough).sum()), int(((gap < -beyond) & enough).sum())
            words.append(f"against {name} {_clear(better, worse)}")
    if not words:
        return "It has not been compared with simpler models."
    judged = int((tasks["held_out"] >= FEWEST_ROWS).sum())
    lucky = f" By chance alone about {CHANCE * judged:.0f} would look so, either way." if judged >= 40 else ""
    few = len(tasks) - judged
    thin = f" {few} with under {FEWEST_ROWS} held-out rows {'is' if few == 1 else 'are'} not judged." if few else ""
    return f"Learning together, on held-out rows: {', '.join(words)}.{lucky}{thin}"


def rounds(model: ModelAbout) -> str:
    """Return when the largest tasks quit, in a sentence."""
    rows = frame(model).head(MOST_TOLD)
    words = [
        f"{md(task.name)} kept {task.common:.0f} common rounds and grew {task.specific:.0f} trees of its own"
        for task in rows.itertuples(index=False)
    ]
    return f"Rounds, as means over the refits: {'; '.join(words)}{'; ...' if len(model.tasks) > MOST_TOLD else ''}."


def _clear(better: int, worse: int) -> str:
    """Return how many tasks are clearly better, and worse."""
    if not better and not worse:
        return "no task is clearly better or worse"
    return f"{better} {'task is' if better == 1 else 'tasks are'} clearly better, {worse} clearly worse"


def show(model: ModelAbout) -> None:
    """Show the table, with its verdict."""
    rows, binary = frame(model), "auc" in model.metrics
    measure = "Log-loss"
    if binary:
        measure = st.segmented_control(
            "Compare by", ["Log-loss", "AUC"], default="Log-loss", required=True,
            help="Log-loss: lower is better. AUC: higher is better, .5 is guessing.",
        )  # fmt: skip
    names = ("auc", "auc_alone", "auc_one_for_all") if measure == "AUC" else ("loss", "alone", "one_for_all")
    shown = rows[["name", "rows", "held_out", "mean", "common", "specific", *names]].copy()
    if not binary:
        shown[list(names)] = shown[list(names)] ** 0.5
        measure = "RMSE"
    digits = "%.3f" if binary else "%.4g"
    number = st.column_config.NumberColumn
    st.dataframe(
        shown, hide_index=True, height=min(38 + 35 * len(shown), 460),
        column_config={
            "name": st.column_config.TextColumn("Task"),
            "rows": number("Rows", format="localized", help="Training rows."),
            "held_out": number("Held out", format="localized", help="Rows not used in fitting; metrics are measured "
            "on them."),
            "mean": number("Rate" if binary else "Mean", format="percent" if binary else "%.4g"),
            "common": number("Common rounds", format="%.0f", help="Common trees that it keeps."),
            "specific": number("Own trees", format="%.0f", help="Trees fitted to this task alone."),
            names[0]: number("Together", format=digits, help=f"{measure} of this model."),
            names[1]: number("Alone", format=digits, help=f"{measure} of trees of this task's rows only."),
            names[2]: number("One for all", format=digits, help=f"{measure} of trees that know of no tasks."),
        },
        alt="One row per task: rows, rate, rounds and held-out metrics.",
    )  # fmt: skip
    st.caption(f"Together, alone, one for all: {measure}. {verdict(model)}")
