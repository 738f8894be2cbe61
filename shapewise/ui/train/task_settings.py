"""The form of a multi-task training: the tasks, and the settings of multi-task trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from gamcore.common.numbers import exact
from gamcore.data.columns import TableError
from gamcore.estimators.multitask_parameters import CRITERIA, MultiTaskParameters
from gamcore.estimators.parameters import defaults, inputs
from gamcore.estimators.presets import TASK_PRESETS
from shapewise.store.workspace import TableAbout
from shapewise.training.spec import Outcome
from shapewise.ui.session import state
from shapewise.ui.session.words import md
from shapewise.ui.widgets.columns import COUNT, PERCENT, hundredfold, measured

WAYS = {
    "one": "One model",
    "column": "A task per level",
    "outcomes": "A task per outcome",
    "tables": "A task per table",
}
FEWEST, MOST = 2, 2_000


@dataclass(frozen=True)
class Tasks:
    """The tasks of a training; empty for a single-task model."""

    column: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether there are tasks."""
        return bool(self.column or self.outcomes or self.tables)

    @property
    def words(self) -> str:
        """The tasks as part of a name."""
        if self.column:
            return f" by {self.column}"
        return f", {len(self.outcomes or self.tables)} tasks" if self.several else ""


def role_of(table: TableAbout) -> str | None:
    """Return the task column: the user's choice, else the column doctor's suggestion."""
    return state.roles(table.id).column("task")


def _columns(table: TableAbout, target: str) -> list[str]:
    """Return the columns whose values may be tasks."""
    usable = [r for r in state.reports(table.id) if r.kind is not None and r.kind != "date" and r.name != target]
    return [r.name for r in usable if FEWEST <= r.distinct <= min(MOST, table.rows // 5)]


def _others(table: TableAbout, target: str) -> dict[str, str]:
    """Return the other tables with the target column, by unique name."""
    tables: dict[str, str] = {}
    for other in state.workspace().tables.listed():
        if other.id != table.id and target in state.columns(other.id):
            name = other.name if other.name not in {*tables, table.name} else f"{other.name} ({other.id[:4]})"
            tables[name] = other.id
    return tables


def choose(table: TableAbout, frame: pd.DataFrame, target: str, levels: list[str]) -> Tasks:
    """Show the choice between one task and several, and return the tasks."""
    columns, others = _columns(table, target), _others(table, target)
    fits = {"one": True, "column": bool(columns), "outcomes": len(levels) > 2, "tables": bool(others)}
    options = [way for way, possible in fits.items() if possible]
    suggested = role_of(table)
    default = "column" if suggested in columns else "one"
    way = st.segmented_control(
        "Learn", options, default=default, required=True, format_func=WAYS.__getitem__,
        key=f"tasks-{table.id}-{target}",
        help="Related tasks, such as products, countries or outcomes, can be learned together: all share common "
        "trees, and each has trees of its own. Tasks with few rows gain most.",
    ) if len(options) > 1 else "one"  # fmt: skip
    if way == "column":
        place = columns.index(suggested) if suggested in columns else 0
        return Tasks(st.selectbox("Column of the tasks", columns, place, key=f"task-column-{table.id}-{target}",
                                  format_func=state.names(table.id).column))  # fmt: skip
    if way == "outcomes":
        outcomes = _outcomes(table, frame[target], levels)
        if len(outcomes) < 2:
            raise TableError("Choose at least two outcomes, or one model.")
        return Tasks(outcomes=outcomes)
    if way == "tables":
        chosen = st.multiselect(
            "With the tables", list(others), list(others)[:1], key=f"task-tables-{table.id}-{target}"
        )
        if not chosen:
            raise TableError("Choose at least one other table, or one model.")
        return Tasks(tables={table.name: table.id, **{name: others[name] for name in chosen}})
    return Tasks()


def _outcomes(table: TableAbout, target: pd.Series, levels: list[str]) -> list[Outcome]:
    """Show the choice of outcomes, each against the same level, and return them."""
    key = f"{table.id}-{target.name}"
    likely = next((level for level in ("drop", "none", "no", "other") if level in levels), levels[-1])
    left, right = st.columns([2, 1])
    against = right.selectbox("Each against", levels, levels.index(likely), key=f"against-{key}")
    others = [level for level in levels if level != against]
    chosen = left.multiselect("Outcomes", others, others, key=f"outcomes-{key}-{against}")
    return [Outcome(level, [level], [against]) for level in chosen]


INPUTS = inputs(MultiTaskParameters)
PRESET_WORDS = {
    "fast": "Two refits: a first look.",
    "balanced": "Eight refits: the default.",
    "accurate": "Sixteen refits, smaller steps: slower.",
    "paper": "Zhang and Li 2019, as in their program: five common and five own trees, splits by entropy, one fit.",
}
CRITERION_WORDS = {
    "none": "Gain of all rows",
    "entropy": "Gain times entropy over tasks (Eq. 5)",
    "entropy_per_row": "The same, of gains per row",
    "variance": "Gain less variance over tasks (Eq. 6)",
    "variance_relative": "The same, relative to the mean",
    "pooled": "Gain less harm to tasks",
}
COLUMNS_WORDS = {"all": "All; absent counts as a value", "shared": "Those that every task has"}


def settings(table: TableAbout) -> tuple[str, dict[str, Any], bool]:
    """Show the settings; return the preset, the changes to it, and whether to train simpler models for comparison."""
    preset = st.segmented_control(
        "Preset", list(TASK_PRESETS), default="balanced", required=True, format_func=str.capitalize,
        key=f"task-preset-{table.id}",
    )  # fmt: skip
    st.caption(PRESET_WORDS[preset])
    additive = st.toggle(
        "Curves only", key=f"task-additive-{table.id}",
        help="Every task is then exactly a sum of curves: a common one per feature, and the task's own deviation.",
    )  # fmt: skip
    compare = st.toggle(
        "Compare with simpler", True, key=f"task-compare-{table.id}",
        help="Trains trees of each task alone, and trees on all rows that ignore tasks, with the same budget.",
    )  # fmt: skip
    changes = _expert(table, preset, {**defaults(MultiTaskParameters), **TASK_PRESETS[preset]})
    return preset, changes | ({"additive": True} if additive else {}), compare


def _expert(table: TableAbout, preset: str, usual: dict[str, Any]) -> dict[str, Any]:
    """Show all other settings in an expander, and return the changes."""
    changes: dict[str, Any] = {}
    with st.expander("All settings"):
        columns = st.columns(2)
        for k, (name, form) in enumerate(INPUTS.items()):
            value = columns[k % 2].number_input(
                form.label, value=usual[name], key=f"task-{name}-{table.id}-{preset}",
                help=f"{form.hint} Default {exact(usual[name])}.", **form.range,
            )  # fmt: skip
            if value != usual[name]:
                changes[name] = value
        criterion = columns[0].selectbox(
            "Splits of common trees by", list(CRITERIA), list(CRITERIA).index(usual["criterion"]),
            format_func=CRITERION_WORDS.__getitem__, key=f"task-criterion-{table.id}-{preset}",
            help="In our measurements, no other criterion was better for small tasks.",
        )  # fmt: skip
        features = columns[1].selectbox(
            "Columns of common trees", list(COLUMNS_WORDS), list(COLUMNS_WORDS).index(usual["common_features"]),
            format_func=COLUMNS_WORDS.__getitem__, key=f"task-features-{table.id}-{preset}",
        )  # fmt: skip
        column = columns[0].toggle(
            "Common trees may split on the task", usual["task_column"], key=f"task-id-{table.id}-{preset}"
        )
        quit_alone = columns[1].toggle(
            "Each task quits by itself", usual["own_quit"], key=f"task-quit-{table.id}-{preset}",
            help="Otherwise all quit together, by the loss over all validation rows.",
        )  # fmt: skip
        parts = columns[0].toggle("Month and weekday of dates", key=f"task-dates-{table.id}")
    asked = {"criterion": criterion, "common_features": features, "task_column": column, "own_quit": quit_alone}
    changes |= {name: value for name, value in asked.items() if value != usual[name]}
    return changes | ({"date_parts": True} if parts else {})


def summary(task: Any, held_out: Any, y: Any, binary: bool) -> None:
    """Show the tasks to be trained, with the rows and the rate or mean of each."""
    rows = pd.DataFrame({"task": task, "training": ~held_out, "y": y})
    of_tasks = rows.groupby("task", sort=False).agg(rows=("training", "sum"), rate=("y", "mean")).reset_index()
    of_tasks = of_tasks.sort_values("rows", ascending=False)
    shown, form = (hundredfold(of_tasks, ["rate"]), PERCENT) if binary else measured(of_tasks, "rate")
    st.subheader("Tasks", anchor=False)
    st.dataframe(
        shown, hide_index=True, height=min(38 + 35 * len(of_tasks), 420),
        column_config={
            "task": "Task",
            "rows": st.column_config.NumberColumn("Training rows", format=COUNT),
            "rate": st.column_config.NumberColumn("Rate" if binary else "Mean", format=form),
        },
        alt="One row per task: its training rows, and its rate or mean.",
    )  # fmt: skip
    few = of_tasks.loc[of_tasks["rows"] < 50, "task"].astype(str).tolist()
    if few:
        named = ", ".join(md(name) for name in few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
        st.caption(f"Under 50 training rows: {named}. These tasks rely mostly on what they share with the others.")
