"""The table of tasks: rows, rounds, and comparison with simpler models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from scipy.stats import t

from gamcore.common.numbers import count, counted
from shapewise.store.workspace import ModelAbout
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import COUNT, METRIC, PERCENT, hundredfold, measured

CHANCE = 0.025
"""Probability that a task looks clearly better without a true difference, by the t distribution."""

FEWEST_ROWS = 30
"""Fewest held-out rows for a verdict on a task."""

MOST_TOLD = 4


def frame(model: ModelAbout) -> pd.DataFrame:
    """Return one row per task, those with the most rows first."""
    rows = pd.DataFrame(model.tasks)
    numbers = [name for name in rows.columns if name != "name"]
    rows[numbers] = rows[numbers].astype(float)
    return rows.sort_values("rows", ascending=False, ignore_index=True)


def verdict(model: ModelAbout) -> str:
    """Return in a sentence in how many tasks the model is clearly better than simpler ones."""
    tasks = frame(model)
    words = []
    for other, name in (("alone", "separate models"), ("one_for_all", "one model for everyone")):
        gap, rows = tasks[other] - tasks["loss"], tasks["held_out"]
        if gap.notna().any():
            beyond = tasks[f"se_{other}"] * t.ppf(1 - CHANCE, np.maximum(rows - 1, 1))
            enough = rows >= FEWEST_ROWS
            better, worse = int(((gap > beyond) & enough).sum()), int(((gap < -beyond) & enough).sum())
            words.append(f"{_clear(better, worse)} {name}")
    if not words:
        return "Sharing has not been compared with simpler models."
    judged = int((tasks["held_out"] >= FEWEST_ROWS).sum())
    lucky = (
        f" By chance alone, about {count(CHANCE * judged)} would appear so in each direction." if judged >= 40 else ""
    )
    few = len(tasks) - judged
    thin = f" {few} with under {FEWEST_ROWS} held-out rows {'is' if few == 1 else 'are'} not judged." if few else ""
    return f"On held-out rows, learning together {'; it '.join(words)}.{lucky}{thin}"


def rounds(model: ModelAbout) -> str:
    """Return in a sentence the rounds and trees of the largest tasks."""
    rows = frame(model).head(MOST_TOLD)
    words = [
        f"{md(task.name)} kept {counted(task.common, 'common round')} and grew {counted(task.specific, 'tree')} of its "
        "own"
        for task in rows.itertuples(index=False)
    ]
    return f"Rounds, as means over the refits: {'; '.join(words)}{'; ...' if len(model.tasks) > MOST_TOLD else ''}."


def _clear(better: int, worse: int) -> str:
    """Return in words how many tasks are clearly better or worse."""
    if not better and not worse:
        return "did just as well as"
    if not worse:
        return f"was better for {_tasks(better)} and worse for none than"
    if not better:
        return f"was worse for {_tasks(worse)} and better for none than"
    return f"was better for {_tasks(better)} and worse for {_tasks(worse)} than"


def _tasks(n: int) -> str:
    return f"{n} {'task' if n == 1 else 'tasks'}"


def show(model: ModelAbout) -> None:
    """Show the table, with its verdict."""
    st.markdown(verdict(model))
    rows, binary = frame(model), "auc" in model.metrics
    measure = "Log-loss"
    if binary:
        measure = st.segmented_control(
            "Compare by", ["Log-loss", "AUC"], default="Log-loss", required=True,
            help="Log-loss: lower is better. AUC: higher is better, 0.5 is guessing.",
        )  # fmt: skip
    names = ("auc", "auc_alone", "auc_one_for_all") if measure == "AUC" else ("loss", "alone", "one_for_all")
    shown = rows[["name", "rows", "held_out", "mean", "common", "specific", *names]].copy()
    if not binary:
        shown[list(names)] = shown[list(names)] ** 0.5
        measure = "RMSE"
    shown, digits = (hundredfold(shown, ["mean"]), METRIC) if binary else measured(shown, *names)
    shown, means = (shown, PERCENT) if binary else measured(shown, "mean")
    number = st.column_config.NumberColumn
    st.dataframe(
        shown, hide_index=True, placeholder="", height=min(38 + 35 * len(shown), 460),
        column_config={
            "name": st.column_config.TextColumn("Task"),
            "rows": number("Rows", format=COUNT, help="Training rows."),
            "held_out": number("Held out", format=COUNT, help="Rows not used for fitting; metrics are measured "
            "on them."),
            "mean": number("Rate" if binary else "Mean", format=means),
            "common": number("Common rounds", format=COUNT, help="Common trees that the task keeps."),
            "specific": number("Own trees", format=COUNT, help="Trees fitted to this task alone."),
            names[0]: number("Together", format=digits, help=f"{measure} of this model."),
            names[1]: number("Alone", format=digits, help=f"{measure} of trees fitted to this task's rows only."),
            names[2]: number("One for all", format=digits, help=f"{measure} of trees that ignore tasks."),
        },
        alt="One row per task: rows, rate, rounds and held-out metrics.",
    )  # fmt: skip
    st.caption(f"Together, alone, one for all: {measure} of this model, of separate models, of one that ignores tasks.")
