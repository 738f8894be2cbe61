"""The form of a training: scenario, features, settings. Each part returns plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_datetime64_any_dtype

from gamcore import PRESETS
from gamcore.boosting.problem import first_leaves
from gamcore.data.table import TableError, kind_of
from gamcore.decide.rules import Levels, Range, Rule, RuleError
from gamcore.estimators.additive_parameters import AdditiveParameters, default_bags
from gamcore.estimators.parameters import abouts, defaults, inputs
from shapewise.ingest.doctor import ColumnReport, leaks
from shapewise.store.workspace import TableAbout
from shapewise.training.cost import estimate_bands
from shapewise.training.dataset import HELD_OUT
from shapewise.training.partitions import frequent_levels
from shapewise.training.spec import Spec, suggest_task, target_levels
from shapewise.training.train import BANDS
from shapewise.ui.session import state
from shapewise.ui.session.words import duration, md
from shapewise.ui.train import task_settings as tasking
from shapewise.ui.train.task_settings import Tasks

# The sample tables' scenarios, so that one click on Train means something.
SUGGESTED = {"renewal": (["renew"], ["not now", "drop"])}
YES = ("yes", "true", "1", "1.0", "y", "positive", "ja", "oui", "si", "sí", "sim", "да")


@dataclass(frozen=True)
class Scenario:
    """What is predicted, and from which rows."""

    target: str
    positive: list[str] | None
    negative: list[str] | None
    conditions: list[Rule]
    tasks: Tasks

    @property
    def words(self) -> str:
        """The scenario as a name."""
        return self._question + self.tasks.words

    @property
    def _question(self) -> str:
        where = f" where {' and '.join(c.words() for c in self.conditions)}" if self.conditions else ""
        if not self.positive or self.tasks.outcomes:
            return self.target + where
        against = f" against {', '.join(self.negative)}" if self.negative else ""
        return f"{self.target}: {', '.join(self.positive)}{against}{where}"


def scenario(table: TableAbout, frame: pd.DataFrame) -> Scenario | None:
    """Choose target, levels and rows; None where the target cannot be used (a message says why)."""
    columns = frame.columns.tolist()
    marked = next((name for name, role in table.roles.items() if role == "target"), columns[-1])
    target = st.selectbox(
        "Predict",
        columns,
        index=columns.index(marked),
        key=f"target-{table.id}",
        help="The column that is to be explained.",
    )
    try:
        kind = suggest_task(frame[target])
        numeric = kind_of(frame[target]) == "number"
        if numeric:
            kind = st.segmented_control(
                "As",
                ["regression", "binary"],
                default=kind,
                required=True,
                format_func={"regression": "A number", "binary": "A choice between levels"}.__getitem__,
                key=f"task-{table.id}-{target}",
            )
        levels = target_levels(frame[target]) if kind == "binary" else []
        tasks = tasking.choose(table, frame, target, levels)
        if tasks.outcomes:
            positive, negative = tasks.outcomes[0].positive, tasks.outcomes[0].negative
        else:
            positive, negative = _levels(table, frame[target], levels) if kind == "binary" else (None, None)
        conditions = _conditions(table, frame, target)
    except (TableError, RuleError) as error:
        st.error(md(error), icon=":material/error:")
        return None
    return Scenario(target, positive, negative, conditions, tasks)


def _levels(table: TableAbout, target: pd.Series, levels: list[str]) -> tuple[list[str] | None, list[str] | None]:
    """Return which levels count as positive, and which rows belong."""
    if len(levels) < 2:
        raise TableError(f"{target.name!r} has {len(levels)} level: choose a target with at least two.")
    counts = target.dropna().astype("string").value_counts()
    suggested, against = SUGGESTED.get(table.name, ([], []))
    if not set(suggested) | set(against) <= set(levels) or not suggested:
        yes = [level for level in levels if level.lower() in YES] if len(levels) == 2 else []
        suggested, against = (yes or [str(counts.index[-1])])[:1], []
    left, right = st.columns(2)
    positive = left.multiselect(
        "Counts as positive", levels, default=suggested, key=f"positive-{table.id}-{target.name}",
        help="The model gives the chance of these levels.",
    )  # fmt: skip
    others = [level for level in levels if level not in positive]
    negative = right.multiselect(
        "Against", others, default=[a for a in against if a in others] or others,
        key=f"negative-{table.id}-{target.name}-{'|'.join(positive)}",
        help="Rows of these levels count as negative; rows of levels in neither list are left out.",
    )  # fmt: skip
    if not positive or not negative:
        raise TableError("Choose at least one level on each side.")
    return positive, negative if len(levels) > 2 or table.sampled else None  # there may be levels beyond the sample


def _conditions(table: TableAbout, frame: pd.DataFrame, target: str) -> list[Rule]:
    """Return the row filter: a range or levels for each chosen column."""
    with st.expander("Only some rows"):
        names = [name for name in frame.columns if name != target and not is_datetime64_any_dtype(frame[name].dtype)]
        chosen = st.multiselect("Filter on", names, key=f"filter-{table.id}", placeholder="No filter")
        return [condition for name in chosen if (condition := _condition(table, frame[name])) is not None]


def _condition(table: TableAbout, series: pd.Series) -> Rule | None:
    name, key = str(series.name), f"filter-{table.id}-{series.name}"
    try:
        kind = kind_of(series)
    except TableError as error:
        st.caption(md(error))
        return None
    if kind == "number":
        left, right = st.columns(2)
        low = left.number_input(f"{md(name)} at least", value=None, placeholder=f"{series.min():g}", key=f"{key}-low")
        high = right.number_input(f"{md(name)} at most", value=None, placeholder=f"{series.max():g}", key=f"{key}-high")
        return Range(name, low, high, high_in=True) if low is not None or high is not None else None
    levels = frequent_levels(series, 200)
    kept = st.multiselect(f"{md(name)} is", levels, key=key)
    return Levels(name, tuple(kept)) if kept else None


@state.kept(copies=True, show_spinner=False, max_entries=64)
def _leaks(table: str, target: str, positive: tuple[str, ...] | None, columns: tuple[str, ...]) -> dict[str, str]:
    return leaks(state.frame(table), target, list(positive) if positive else None, list(columns))


def _columns(table: TableAbout, tasks: Tasks) -> dict[str, tuple[ColumnReport, str]]:
    """Return the columns of all tables that are learnt from, each with its role in the first table that has it."""
    reports: dict[str, tuple[ColumnReport, str]] = {}
    for identifier in dict.fromkeys([table.id, *tasks.tables.values()]):
        about = state.workspace().tables.about(identifier)
        for report in state.reports(identifier):
            reports.setdefault(report.name, (report, about.roles.get(report.name, report.role)))
    return reports


def features(table: TableAbout, chosen: Scenario) -> tuple[list[str], list[str]]:
    """Return the features, and those among them to take as categories. Suspects start left out, with the reason."""
    known = _columns(table, chosen.tasks)
    reports = [r for r, _ in known.values() if r.name not in (chosen.target, chosen.tasks.column)]
    roles = {name: role for name, (_, role) in known.items()}
    usable = [r for r in reports if r.kind is not None and roles[r.name] in ("feature", "ignore", "target", "task")]
    asked = [outcome.positive for outcome in chosen.tasks.outcomes] or [chosen.positive]
    suspects: dict[str, str] = {}
    for identifier in chosen.tasks.tables.values() or [table.id]:
        there = {r.name for r in state.reports(identifier)}
        columns = tuple(r.name for r in usable if roles[r.name] == "feature" and r.name in there)
        for positive in asked:
            suspects |= _leaks(identifier, chosen.target, tuple(positive) if positive else None, columns)
    reasons = {r.name: r.warnings[0] for r in usable if roles[r.name] == "ignore" and r.warnings}
    reasons |= suspects
    out = [r.name for r in usable if roles[r.name] == "ignore" or r.name in suspects]
    left = st.multiselect(
        "Leave out", [r.name for r in usable], default=out, key=f"out-{table.id}-{chosen.words}",
        help="All other columns are features. Columns that look like an ID or leak the target start here.",
    )  # fmt: skip
    said = [f"**{md(name)}** {md(reason)}" for name, reason in reasons.items() if name in left]
    if said:
        st.caption("Left out: " + "; ".join(said) + ".")
    kept = [r for r in usable if r.name not in left]
    numbers = [r.name for r in kept if r.kind == "number" and r.distinct <= 254]
    categories = st.multiselect(
        "Numbers to take as categories", numbers, key=f"categories-{table.id}",
        help="Codes without a meaningful order, such as a region number.",
    ) if numbers else []  # fmt: skip
    return [r.name for r in kept], categories


INPUTS = inputs(AdditiveParameters)
PRESET_WORDS = {
    "fast": "Two refits: a first look.",
    "balanced": "Eight refits: the default, good for nearly everything.",
    "accurate": "Sixteen refits, smaller steps: the steadiest curves, and slower.",
    "paper": "Exactly as in Lou et al. 2020: 100 row subsamples, three leaves, cyclic order, one fit.",
}


BANDS_SECONDS = 120.0
"""Bands that take longer are made when they are asked for."""

PAIRS = {"none": "None", "auto": "As many as help", "number": "A number"}


def _pairs(table: TableAbout) -> dict[str, Any]:
    """Return how many pairs of features the model gets."""
    way = st.segmented_control(
        "Pairs of features", list(PAIRS), default="none", required=True, format_func=PAIRS.__getitem__,
        key=f"pairs-{table.id}",
        help="What two features do together, beyond each alone, as heat maps. The page Pairs ranks all of them, and "
        "adds some to a model that is there.",
    )  # fmt: skip
    if way == "none":
        return {}
    changes: dict[str, Any] = {"interactions": "auto"}
    if way == "number":
        changes["interactions"] = st.number_input("Pairs, the strongest", 1, 1000, 5, key=f"n-pairs-{table.id}")
    together = st.toggle(
        "Also boost features and pairs together", key=f"joint-{table.id}",
        help="Kept where the validation rows prefer it: often a little more accurate, and twice as long.",
    )  # fmt: skip
    return changes | ({"joint": True} if together else {})


def bands(table: TableAbout, parameters: dict[str, Any]) -> int:
    """Refits on halves of the rows that follow the training: by default, unless somebody would wait long for them."""
    rows, features = round((1 - HELD_OUT) * (table.sampled or table.rows)), table.columns
    seconds = estimate_bands(rows, features, parameters, BANDS, state.n_jobs())
    wanted = st.toggle(
        "Measure the uncertainty of the curves", seconds < BANDS_SECONDS, key=f"bands-{table.id}",
        help=f"{BANDS} more refits, each on half of the {'sample' if table.sampled else 'rows'}, in the background "
        f"when the model is there: bands point by point and of the whole curve. About {duration(seconds)} here.",
    )  # fmt: skip
    return BANDS if wanted else 0


def label(name: str) -> str:
    """Return a parameter's name in the form."""
    return "Pairs" if name == "interactions" else INPUTS[name].label if name in INPUTS else name


def take(spec: Spec, changes: dict[str, Any]) -> None:
    """Put some settings into the form, in a callback: before its fields are drawn."""
    st.session_state[f"preset-{spec.table}"] = spec.preset
    for name in INPUTS:
        key = f"{name}-{spec.table}-{spec.preset}"
        if name in changes:
            st.session_state[key] = changes[name]
        else:
            st.session_state.pop(key, None)
    pairs = changes.get("interactions")
    if isinstance(pairs, int):
        st.session_state[f"pairs-{spec.table}"] = "number" if pairs else "none"
        st.session_state[f"n-pairs-{spec.table}"] = max(pairs, 1)
    st.query_params.pop("run", None)


def settings(table: TableAbout, binary: bool) -> tuple[str, dict[str, Any]]:
    """Return a preset, and what is changed of it."""
    preset = st.segmented_control(
        "Preset", list(PRESETS), default="balanced", required=True, format_func=str.capitalize, key=f"preset-{table.id}"
    )
    st.caption(PRESET_WORDS[preset])
    usual = {**defaults(AdditiveParameters), **PRESETS[preset]}
    usual["n_bags"] = usual["n_bags"] or default_bags(usual["ensemble"])
    coarse = first_leaves(usual["coarse_leaves"], round((1 - HELD_OUT) * table.rows))
    usual["coarse_leaves"] = coarse or usual["max_leaves"]
    changes = _pairs(table)
    with st.expander("All settings"):
        columns = st.columns(2)
        for k, (name, form) in enumerate(INPUTS.items()):
            value = columns[k % 2].number_input(
                form.label, value=usual[name], key=f"{name}-{table.id}-{preset}",
                help=f"{form.hint} Default {usual[name]:g}. In the papers: {abouts(AdditiveParameters)[name].paper}.",
                **form.range,
            )  # fmt: skip
            if value != usual[name]:
                changes[name] = value
        first = changes.pop("coarse_leaves", usual["coarse_leaves"])
        leaves = changes.get("max_leaves", usual["max_leaves"])
        if max(first, leaves) != max(coarse, leaves):  # what the form says is what is trained
            changes["coarse_leaves"] = first
        if binary:
            mart = columns[0].toggle(
                "MART instead of LogitBoost", key=f"mart-{table.id}",
                help="Split on row counts, with Newton leaves (Algorithm 2), instead of weighing rows by p(1 - p) (5).",
            )  # fmt: skip
            changes |= {"boosting": "mart"} if mart else {}
        parts = columns[1].toggle(
            "Month and weekday of dates",
            key=f"dates-{table.id}",
            help="Each date column also gives these two features.",
        )
        changes |= {"date_parts": True} if parts else {}
    return preset, changes
