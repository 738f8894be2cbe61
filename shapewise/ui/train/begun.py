"""What the form of Train begins with: what this person last set for the table, or else the model in view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import streamlit as st

from gamcore.data.columns import TableError
from gamcore.data.table import Table
from gamcore.decide.rules import Levels, Range
from shapewise.store.workspace import ModelAbout, StoreError, TableAbout
from shapewise.training.goals import GOALS, possible
from shapewise.training.spec import Spec, target_levels
from shapewise.ui.session import drafts, state
from shapewise.ui.train import feature_fields, settings
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


@dataclass(frozen=True)
class Begun:
    """What the form began with: how a model was trained. knows : the columns that there were for it, which those of a
    newer version of its table may exceed."""

    spec: Spec
    knows: frozenset[str]


def form(table: TableAbout, rows: Table, model: ModelAbout | None) -> Begun | None:
    """Put back what a page change or a reload has taken from the form; return what it began with, None where those were
    first guesses. Call it before the fields are drawn. model : of any version of the table."""
    forms = st.session_state.get(KEPT, {})
    kept = forms.get(table.id) or drafts.read("tables", table.id)
    columns = _columns(table, rows)
    spec = None if model is None else _spec(table, rows, model)
    name = model.id if model is not None and spec is not None else ""
    if kept is not None and kept["columns"] == columns and f"target-{table.id}" in st.session_state:
        kept = kept | {"fields": _fields(table.id), "model": name or kept["model"]}
    elif kept is not None and kept["columns"] == columns and name in ("", kept["model"]):
        for key, value in kept["fields"].items():
            st.session_state.setdefault(key, value)
    else:
        kept = {"columns": columns, "model": name, "spec": None, "fields": {}}
        if model is not None and spec is not None:
            _begin(spec)
            kept |= {"spec": spec.to_dict(), "knows": _known(model.table, rows)}
    st.session_state[KEPT] = forms | {table.id: kept}
    if kept["fields"]:
        drafts.keep("tables", table.id, kept)
    return None if kept["spec"] is None else Begun(Spec.from_dict(kept["spec"]), frozenset(kept["knows"]))


def _known(table: str, rows: Table) -> list[str]:
    """Return the columns of a version of a table; those of the version in view where it is gone."""
    try:
        return state.columns(table)
    except StoreError:
        return list(rows.names)


def _spec(table: TableAbout, rows: Table, model: ModelAbout) -> Spec | None:
    """Return how a model was trained, for a version of its table, where the form can show all of that."""
    if model.of_tasks or not model.spec:
        return None
    spec = replace(Spec.from_dict(model.spec), table=table.id)
    asked = {spec.target, *spec.features, *([spec.exposure] if spec.exposure else [])}
    if spec.treatment is not None or not asked <= set(rows.names):
        return None
    try:
        is_possible = spec.kind_of_target in possible(rows, spec.target)
        levels = {*(spec.positive or ()), *(spec.negative or ()), *(spec.classes or ())}
        is_known = not levels or levels <= {*target_levels(rows.frame[spec.target])}
    except TableError:
        return None
    return spec if is_possible and is_known and can_show(spec.conditions, rows) else None


def _columns(table: TableAbout, rows: Table) -> str:
    """Return what the options of the fields follow from: where it has changed, what was set may not be one of them."""
    return repr((list(rows.names), sorted(table.roles.items()), sorted(table.as_levels.items())))


def _fields(table: str) -> dict[str, Any]:
    """Return the fields of a table's form, by key."""
    own = {key for of_setting in feature_fields.keys(table).values() for key in of_setting.values()}
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
