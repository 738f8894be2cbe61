"""What a training predicts, and from which rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from pandas.api.types import is_datetime64_any_dtype

from gamcore.common.numbers import exact, percent
from gamcore.common.types import Bools
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.data.labels import levels_in_words
from gamcore.data.table import Table
from gamcore.data.targets import MOST_CLASSES
from gamcore.decide.rules import Levels, Range, Rule, RuleError
from shapewise.store.workspace import TableAbout
from shapewise.training import goals
from shapewise.training.dataset import basis_of, held_out_rows
from shapewise.training.goals import GoalKind
from shapewise.training.partitions import frequent_levels
from shapewise.training.proposals import classes_first, first_kind, first_target, is_exposure, positive_first
from shapewise.training.spec import target_levels
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.train import task_settings as tasking
from shapewise.ui.train.task_settings import Tasks
from shapewise.ui.widgets import filtered, questions
from shapewise.ui.widgets.columns import WHOLE_PERCENT

# Levels of the sample tables, so that one click on Train gives a useful model.
SUGGESTED = {"renewal": (["renew"], ["not now", "drop"])}
MOST = 200
"""Levels that a field of the row filter offers, the most frequent."""

NO_TARGET = (
    "No column stands out that could be predicted: that takes numbers, or a few levels which several rows each have. "
    "Choose one, or load a table with such a column."
)

YES = ("yes", "true", "1", "1.0", "y", "positive", "ja", "oui", "si", "sí", "sim", "да")


@dataclass(frozen=True)
class Target:
    """What is predicted, and from which rows."""

    target: str
    goal: GoalKind
    conditions: list[Rule]
    tasks: Tasks
    levels: list[str]
    names: Names
    positive: list[str] | None = None
    negative: list[str] | None = None
    classes: list[str] | None = None
    exposure: str | None = None
    quantile: float = 0.9

    @property
    def n_scores(self) -> int:
        """Scores of a row: of several classes, one for each."""
        return len(self.classes or self.levels) if self.goal == "classes" else 1

    @property
    def words(self) -> str:
        """What is predicted, as the name of a model."""
        return self._question + self.tasks.words

    @property
    def _question(self) -> str:
        where = f" where {' and '.join(c.words(self.names) for c in self.conditions)}" if self.conditions else ""
        shown = self.names.column(self.target)
        if self.goal == "quantile":
            shown = f"{percent(self.quantile, 0)} quantile of {shown}"
        if self.exposure:
            shown = f"{shown} per {self.names.column(self.exposure)}"
        if not self.positive or self.tasks.outcomes:
            return shown + where
        all_others = not self.negative or {*self.positive, *self.negative} == {*self.levels}
        positive, negative = (
            levels_in_words([self.names.level(self.target, level) for level in levels or []], "or")
            for levels in (self.positive, self.negative)
        )
        return f"{shown}: {positive}{'' if all_others else f' against {negative}'}{where}"


def usual(table: TableAbout) -> str | None:
    """Return the column that has the role of the target, or else the likeliest that can be trained."""
    roles = state.roles(table.id)
    if "target" in table.roles.values():
        return roles.column("target")
    return _first(table.id, tuple(guess.column for guess in roles.targets), tuple(_basis(table).items()))


def _basis(table: TableAbout) -> dict[str, str]:
    """Return the column by which rows of a table are held out, as its roles say before the first training."""
    roles = state.roles(table.id)
    basis = basis_of(roles.column("group"), roles.column("time"))
    return basis if table.held_out_by is None else table.held_out_by


def _held(table: TableAbout, rows: Table) -> Bools:
    """Return which rows (n,) are held out; none where the roles allow no choice, which is said elsewhere."""
    basis = _basis(table)
    try:
        return held_out_rows(rows.frame, table.id, basis.get("group"), basis.get("time"))
    except TableError:
        return np.zeros(len(rows), bool)


@state.kept(show_spinner=False, max_entries=64)
def _first(table: str, likely: tuple[str, ...], basis: tuple[tuple[str, str], ...]) -> str | None:
    """Return the first of likely targets that can be trained. basis : see `_basis`."""
    return first_target(state.table(table), likely, _held(state.workspace().tables.about(table), state.table(table)))


def choose(table: TableAbout, rows: Table) -> Target | None:
    """Show the choice of target, levels and rows, and return it; None (with a message) if the target is unusable."""
    frame, columns, names = rows.frame, rows.names, state.names(table.id)
    likely, open_question = usual(table), state.roles(table.id).question("target")
    asked = open_question is not None and len(columns) > 1
    why = state.roles(table.id).why.get(likely or "")
    proposed = f" {md(names.column(likely))} is proposed, since {md(why)}." if likely and why else ""
    target = st.selectbox(
        "Predict", columns, index=None if asked or likely is None else columns.index(likely), key=f"target-{table.id}",
        format_func=names.column, help=f"The column to predict and explain.{proposed}", placeholder="Which column?",
    )  # fmt: skip
    if target is None:
        if likely is None:
            st.info(NO_TARGET, icon=":material/help:")
        else:
            questions.ask(table, "target", f"target-{table.id}")
        return None
    try:
        held = _held(table, rows)
        kind = _kind(table, rows, target, held)
        levels = target_levels(frame[target]) if kind in ("binary", "classes") else []
        tasks = tasking.choose(table, frame, target, levels) if kind in ("binary", "number") else Tasks()
        chosen = Target(target, kind, [], tasks=tasks, levels=levels, names=names)
        if tasks.outcomes:
            chosen = replace(chosen, positive=tasks.outcomes[0].positive, negative=tasks.outcomes[0].negative)
        elif kind == "binary":
            positive, negative = _levels(table, frame[target], levels, held)
            chosen = replace(chosen, positive=positive, negative=negative)
        elif kind == "classes":
            chosen = replace(chosen, classes=_classes(table, frame[target], levels, held))
        elif kind == "quantile":
            chosen = replace(chosen, quantile=_quantile(table, target))
        elif goals.GOALS[kind].rated:
            chosen = replace(chosen, exposure=_exposure(table, rows, target))
        conditions = _conditions(table, rows, target)
        if (looked := filtered.offer(table.id, target)) is not None:
            conditions.append(looked)
    except (TableError, RuleError) as error:
        st.error(md(error), icon=":material/error:")
        return None
    return replace(chosen, conditions=conditions)


def _kind(table: TableAbout, rows: Table, target: str, held: Bools) -> GoalKind:
    """Show the choice of the kind of target, with the reason for the suggested one, and return it."""
    possible = goals.possible(rows, target)
    suggested, why = first_kind(rows, target, held)
    if table.name in SUGGESTED and "binary" in possible:
        suggested = "binary"
    if len(possible) == 1:
        return possible[0]
    kind = st.selectbox(
        "Treat it as", possible, possible.index(suggested), format_func=lambda goal: goals.GOALS[goal].label,
        key=f"task-{table.id}-{target}",
        help=" ".join(f"{goals.GOALS[goal].label}: {goals.GOALS[goal].hint}" for goal in possible),
    )  # fmt: skip
    shown = f"Suggested, since {why}." if kind == suggested and table.name not in SUGGESTED else ""
    st.caption(f"{goals.GOALS[kind].hint} {shown}")
    return kind


def _classes(table: TableAbout, series: pd.Series, levels: list[str], held: Bools) -> list[str] | None:
    """Show the choice of the levels that are classes, None for all. Those that a part lacks start out."""
    target = str(series.name)
    classes = st.multiselect(
        "Classes", levels, default=classes_first(series, held), key=f"classes-{table.id}-{target}",
        format_func=partial(state.names(table.id).level, target), help="Rows of other levels are left out.",
    )  # fmt: skip
    if len(classes) < 3:
        raise TableError("Choose at least three classes, or treat the target as yes or no.")
    if len(classes) > MOST_CLASSES:
        raise TableError(f"Choose at most {MOST_CLASSES} of the {len(classes)} classes.")
    return None if len(classes) == len(levels) and not table.sampled else classes


def _quantile(table: TableAbout, target: str) -> float:
    """Show the choice of the quantile, and return it."""
    share = st.slider(
        "Share of rows below the prediction", 1, 99, 90, key=f"quantile-{table.id}-{target}", format=WHOLE_PERCENT,
        help="90%: nine rows in ten should stay below their prediction; 50% is the median.",
    )  # fmt: skip
    return share / 100


def _exposure(table: TableAbout, rows: Table, target: str) -> str | None:
    """Show the choice of the column that the target is divided by, and return it; None for none."""
    numbers = [name for name in rows.names if name != target and rows.kind(name) == "number"]
    marked = state.roles(table.id).column("exposure")
    usual = marked if marked in numbers and is_exposure(rows, marked) else None
    chosen = st.selectbox(
        "Per unit of", [None, *numbers], 0 if usual is None else numbers.index(usual) + 1,
        format_func=lambda name: "nothing: per row" if name is None else state.names(table.id).column(name),
        key=f"exposure-{table.id}-{target}",
        help="How much there was to observe in each row, such as years insured: predictions are then rates.",
    )  # fmt: skip
    if chosen is None and marked is None and state.roles(table.id).question("exposure"):
        questions.ask(table, "exposure", f"exposure-{table.id}-{target}")
    return chosen


def usual_sides(
    table: TableAbout, target: pd.Series, levels: list[str], held: Bools | None = None
) -> tuple[list[str], list[str]]:
    """Return the levels that are positive unless somebody says otherwise, and those they are held against ([]: all).

    held : (n,) the rows that are held out, where the levels are to be trained: both parts have rows of those.
    """
    suggested, against = SUGGESTED.get(table.name, ([], []))
    if suggested and set(suggested) | set(against) <= set(levels):
        return suggested, against
    yes = [level for level in levels if level.lower() in YES] if len(levels) == 2 else []
    rarest = positive_first(target, np.zeros(len(target), bool) if held is None else held, levels)
    return (yes or [rarest])[:1], []


def _levels(
    table: TableAbout, target: pd.Series, levels: list[str], held: Bools
) -> tuple[list[str] | None, list[str] | None]:
    """Show the choice of positive and negative levels, and return both."""
    if len(levels) < 2:
        raise TableError(f"{target.name!r} has {len(levels)} level: choose a target with at least two.")
    suggested, against = usual_sides(table, target, levels, held)
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


def can_show(conditions: Sequence[Rule], rows: Table) -> bool:
    """Return whether the row filter has a field for each of some conditions."""
    columns = [column for rule in conditions for column in rule.columns]
    return len(set(columns)) == len(conditions) == len(columns) and all(_has_field(rule, rows) for rule in conditions)


def _has_field(rule: Rule, rows: Table) -> bool:
    (name,) = rule.columns
    is_number = rows.usable_kind(name) == "number"
    if isinstance(rule, Range):
        return is_number and rule.low_in and (rule.high is None or rule.high_in)
    return isinstance(rule, Levels) and not is_number and set(rule.levels) <= {*frequent_levels(rows.frame[name], MOST)}


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
    levels = frequent_levels(series, MOST)
    kept = st.multiselect(f"{shown} is", levels, key=key, format_func=partial(names.level, name))
    return Levels(name, tuple(kept)) if kept else None
