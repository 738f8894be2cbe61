"""What the form of Train begins with: what was last set for the table in this session, or else the model in view."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from gamcore.data.table import Table
from gamcore.decide.rules import Levels, Range
from shapewise.store.workspace import ModelAbout, TableAbout
from shapewise.training.goals import GOALS
from shapewise.training.spec import Spec
from shapewise.ui.train import direction_fields, settings, shape_fields
from shapewise.ui.train.target import can_show
from shapewise.ui.train.task_settings import INPUTS as OF_TASKS

KEPT: Final = "train-forms"
FIELDS: Final = frozenset({
    "target", "task", "classes", "quantile", "exposure", "positive", "negative", "filter", "out", "categories",
    "preset", "pairs", "n-pairs", "joint", "few", "bands", "counts", "mart", "finer", "dates", "where",
    *settings.INPUTS, "tasks", "task-column", "task-tables", "against", "outcomes", "task-preset", "task-additive",
    "task-compare", "task-criterion", "task-features", "task-id", "task-quit", "task-dates",
    *(f"task-{name}" for name in OF_TASKS),
})  # fmt: skip
"""Beginnings of the fields' keys, each before the id of the table."""


def form(table: TableAbout, rows: Table, model: ModelAbout | None) -> Spec | None:
    """Put back what a page change or a reload has taken from the form; return the model's specification that it began
    with, None where it began with first guesses. Call it before the fields are drawn."""
    forms = st.session_state.get(KEPT, {})
    kept = forms.get(table.id)
    columns = _columns(table, rows)
    spec = _spec(rows, model) if model is not None and model.table == table.id else None
    name = model.id if model is not None and spec is not None else ""
    if kept is not None and kept["columns"] == columns and f"target-{table.id}" in st.session_state:
        kept = kept | {"fields": _fields(table.id), "model": name or kept["model"]}
    elif kept is not None and kept["columns"] == columns and name in ("", kept["model"]):
        for key, value in kept["fields"].items():
            st.session_state.setdefault(key, value)
    else:
        if spec is not None:
            _begin(spec)
        kept = {"columns": columns, "model": name, "spec": spec.to_dict() if spec is not None else None, "fields": {}}
    st.session_state[KEPT] = forms | {table.id: kept}
    return None if kept["spec"] is None else Spec.from_dict(kept["spec"])


def _spec(rows: Table, model: ModelAbout) -> Spec | None:
    """Return how a model was trained, where the form can show all of that."""
    if model.of_tasks or not model.spec:
        return None
    spec = Spec.from_dict(model.spec)
    is_known = spec.treatment is None and {spec.target, *spec.features} <= set(rows.names)
    return spec if is_known and can_show(spec.conditions, rows) else None


def _columns(table: TableAbout, rows: Table) -> str:
    """Return what the options of the fields follow from: where it has changed, what was set may not be one of them."""
    return repr((list(rows.names), sorted(table.roles.items()), sorted(table.as_levels.items())))


def _fields(table: str) -> dict[str, Any]:
    """Return the fields of a table's form, by key."""
    own = {*direction_fields.keys(table).values(), *shape_fields.keys(table).values()}
    return {
        str(key): value
        for key, value in st.session_state.items()
        if key in own or (f"-{table}" in str(key) and str(key).partition(f"-{table}")[0] in FIELDS)
    }


def _begin(spec: Spec) -> None:
    """Put a specification into the form. Left-out columns and categories start from it where they are drawn."""

    def put(value: Any, name: str, *rest: str) -> None:
        st.session_state["-".join([name, spec.table, *rest])] = value

    goal = spec.kind_of_target
    put(spec.target, "target")
    put(goal, "task", spec.target)
    if GOALS[goal].rated:
        put(spec.exposure, "exposure", spec.target)
    if goal == "quantile":
        put(round(100 * spec.quantile), "quantile", spec.target)
    if spec.positive:
        put(spec.positive, "positive", spec.target)
    if spec.positive and spec.negative:
        put(spec.negative, "negative", spec.target, "|".join(spec.positive))
    if spec.classes:
        put(spec.classes, "classes", spec.target)
    put([column for rule in spec.conditions for column in rule.columns], "filter")
    for rule in spec.conditions:
        if isinstance(rule, Range):
            put(rule.low, "filter", rule.column, "low")
            put(rule.high, "filter", rule.column, "high")
        elif isinstance(rule, Levels):
            put(list(rule.levels), "filter", rule.column)
    put(bool(spec.bands), "bands")
    put(spec.keep_counts, "counts")
    settings.fill(spec, spec.changes)
