"""What a training predicts, and from which rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st
from pandas.api.types import is_datetime64_any_dtype

from gamcore.data.column_names import Names
from gamcore.data.table import Table, TableError
from gamcore.decide.rules import Levels, Range, Rule, RuleError
from gamcore.numbers import exact
from shapewise.ingest.doctor import likely_target
from shapewise.store.workspace import TableAbout
from shapewise.training.partitions import frequent_levels
from shapewise.training.spec import labels_of, suggest_task, target_levels
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.train import task_settings as tasking
from shapewise.ui.train.task_settings import Tasks
from shapewise.ui.widgets import filtered

# Levels of the sample tables, so that one click on Train gives a useful model.
SUGGESTED = {"renewal": (["renew"], ["not now", "drop"])}
YES = ("yes", "true", "1", "1.0", "y", "positive", "ja", "oui", "si", "sí", "sim", "да")


@dataclass(frozen=True)
class Target:
    """What is predicted, and from which rows."""

    target: str
    positive: list[str] | None
    negative: list[str] | None
    conditions: list[Rule]
    tasks: Tasks
    levels: list[str]
    names: Names

    @property
    def words(self) -> str:
        """What is predicted, as the name of a model."""
        return self._question + self.tasks.words

    @property
    def _question(self) -> str:
        where = f" where {' and '.join(c.words(self.names) for c in self.conditions)}" if self.conditions else ""
        shown = self.names.column(self.target)
        if not self.positive or self.tasks.outcomes:
            return shown + where
        all_others = not self.negative or {*self.positive, *self.negative} == {*self.levels}
        positive, negative = (
            ", ".join(self.names.level(self.target, level) for level in levels or [])
            for levels in (self.positive, self.negative)
        )
        return f"{shown}: {positive}{'' if all_others else f' against {negative}'}{where}"


def usual(table: TableAbout) -> str | None:
    """Return the column that has the role of the target, or else the likely one, which is no computed column."""
    reports = state.reports(table.id)
    marked = next((r.name for r in reports if table.roles.get(r.name) == "target"), None)
    computed = {step["column"] for step in table.steps if "formula" in step}
    return marked or likely_target([r for r in reports if r.name not in computed])


def choose(table: TableAbout, rows: Table) -> Target | None:
    """Show the choice of target, levels and rows, and return it; None (with a message) if the target is unusable."""
    frame, columns, names = rows.frame, rows.names, state.names(table.id)
    likely = usual(table) or columns[-1]
    target = st.selectbox(
        "Predict", columns, index=columns.index(likely), key=f"target-{table.id}", format_func=names.column,
        help="The column to predict and explain.",
    )  # fmt: skip
    try:
        kind = suggest_task(rows, target)
        numeric = rows.kind(target) == "number"
        if numeric:
            kind = st.segmented_control(
                "Treat it as",
                ["regression", "binary"],
                default=kind,
                required=True,
                format_func={"regression": "A number", "binary": "A choice between levels"}.__getitem__,
                key=f"task-{table.id}-{target}",
            )
        levels = target_levels(frame[target]) if kind == "binary" else []
        tasks = tasking.choose(table, frame, target, levels)
        positive: list[str] | None = None
        negative: list[str] | None = None
        if tasks.outcomes:
            positive, negative = tasks.outcomes[0].positive, tasks.outcomes[0].negative
        elif kind == "binary":
            positive, negative = _levels(table, frame[target], levels)
        conditions = _conditions(table, rows, target)
        if (looked := filtered.offer(table.id, target)) is not None:
            conditions.append(looked)
    except (TableError, RuleError) as error:
        st.error(md(error), icon=":material/error:")
        return None
    return Target(
        target, positive=positive, negative=negative, conditions=conditions, tasks=tasks, levels=levels, names=names
    )


def usual_sides(table: TableAbout, target: pd.Series, levels: list[str]) -> tuple[list[str], list[str]]:
    """Return the levels that are positive unless somebody says otherwise, and those they are held against ([]: all)."""
    suggested, against = SUGGESTED.get(table.name, ([], []))
    if suggested and set(suggested) | set(against) <= set(levels):
        return suggested, against
    yes = [level for level in levels if level.lower() in YES] if len(levels) == 2 else []
    rarest = str(labels_of(target.dropna()).value_counts().index[-1])
    return (yes or [rarest])[:1], []


def _levels(table: TableAbout, target: pd.Series, levels: list[str]) -> tuple[list[str] | None, list[str] | None]:
    """Show the choice of positive and negative levels, and return both."""
    if len(levels) < 2:
        raise TableError(f"{target.name!r} has {len(levels)} level: choose a target with at least two.")
    suggested, against = usual_sides(table, target, levels)
    shown = partial(state.names(table.id).level, str(target.name))
    sides = st.container(horizontal=True)  # below one another where it is narrow
    positive = sides.multiselect(
        "Positive", levels, default=suggested, key=f"positive-{table.id}-{target.name}", format_func=shown,
        help="The model predicts the probability of these levels.", width=180,
    )  # fmt: skip
    others = [level for level in levels if level not in positive]
    negative = sides.multiselect(
        "Against", others, default=[a for a in against if a in others] or others,
        key=f"negative-{table.id}-{target.name}-{'|'.join(positive)}", format_func=shown,
        help="Rows of these levels count as negative; rows of levels in neither list are left out.",
        width=240,
    )  # fmt: skip
    if not positive or not negative:
        raise TableError("Choose at least one level on each side.")
    return positive, negative if len(levels) > 2 or table.sampled else None  # the sample may lack some levels


def _conditions(table: TableAbout, rows: Table, target: str) -> list[Rule]:
    """Show the row filter, and return it: a range or levels per chosen column."""
    with st.popover("Only some rows", icon=":material/filter_alt:", help="Train on a part of the table."):
        names = [name for name in rows.names if name != target and not is_datetime64_any_dtype(rows.frame[name].dtype)]
        chosen = st.multiselect(
            "Filter on",
            names,
            key=f"filter-{table.id}",
            placeholder="No filter",
            format_func=state.names(table.id).column,
        )
        return [condition for name in chosen if (condition := _condition(table, rows, name)) is not None]


def _condition(table: TableAbout, rows: Table, name: str) -> Rule | None:
    series, key = rows.frame[name], f"filter-{table.id}-{name}"
    try:
        kind = rows.kind(name)
    except TableError as error:
        st.caption(md(error))
        return None
    names = state.names(table.id)
    shown = md(names.column(name))
    if kind == "number":
        left, right = st.columns(2)
        low = left.number_input(f"{shown} at least", value=None, placeholder=exact(series.min()), key=f"{key}-low")
        high = right.number_input(f"{shown} at most", value=None, placeholder=exact(series.max()), key=f"{key}-high")
        return Range(name, low, high, high_in=True) if low is not None or high is not None else None
    levels = frequent_levels(series, 200)
    kept = st.multiselect(f"{shown} is", levels, key=key, format_func=partial(names.level, name))
    return Levels(name, tuple(kept)) if kept else None
