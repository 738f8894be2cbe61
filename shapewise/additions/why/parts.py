"""Parts of a model's table by a column: periods, levels or ranges, beside the one before, the first or the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import zip_longest
from typing import Final

import pandas as pd
import streamlit as st

from gamcore import TableError
from gamcore.decide.rules import Range
from shapewise.additions.why import result
from shapewise.additions.why.answers import answer, rows_of
from shapewise.additions.why.question import Group, Question
from shapewise.store.workspace import ModelAbout
from shapewise.training.partitions import TablePart, split
from shapewise.training.spec import Spec
from shapewise.ui.session import state
from shapewise.ui.session.words import count, md, told_apart
from shapewise.ui.widgets.columns import PERCENT, hundredfold, measured

BESIDE: Final = {"before": "The one before", "first": "The first", "rest": "All other rows"}
FEWEST: Final = 2
"""Parts of which the one before is not always the first."""


def draw(model: ModelAbout) -> None:
    """Show the choice of a column and of one of its parts, why it differs, and all parts one by one."""
    spec, table = Spec.from_dict(model.spec), state.as_read(model)
    columns = [name for name in state.columns(model.table) if name != spec.target]
    dates = [name for name in columns if table.kind(name) == "date"]
    likely = (_fitted_by(model), spec.time, state.roles(model.table).column("time"), *dates, *spec.features)
    usual = next(name for name in likely if name in columns)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        column = st.selectbox("Parts by", columns, columns.index(usual), key=f"why-by-{model.id}",
                              format_func=state.names_of(model).column)  # fmt: skip
        try:
            groups = _groups(model, column)
        except TableError as error:
            st.caption(md(error))
            return
        in_order = table.kind(column) in ("date", "number")
        beside = st.segmented_control(
            "Beside", list(BESIDE) if in_order else ["rest", "first"], default="before" if in_order else "rest",
            required=True, format_func=BESIDE.__getitem__, key=f"why-beside-{model.id}-{column}",
        )  # fmt: skip
        asked = _questions(model.id, groups, beside)
        labels = told_apart({str(k): one.second.name for k, one in enumerate(asked)})
        chosen = st.selectbox(
            "Part", list(labels), len(asked) - 1 if in_order else 0, format_func=labels.__getitem__,
            key=f"why-part-{model.id}-{column}-{beside}",
        )  # fmt: skip
    result.show(model, asked[int(chosen)], by=column)
    if len(asked) > 1:
        with st.container(border=True):
            since = _questions(model.id, groups, "first") if beside == "before" and len(groups) > FEWEST else []
            _one_by_one(asked, since, state.names_of(model).column(spec.exposure) if spec.exposure else "Rows")


def _fitted_by(model: ModelAbout) -> str:
    """Return the column by which parts of a model were refitted; empty where none were."""
    refitted = state.workspace().models.parts(model.id)
    return Spec.from_dict(refitted[0].spec).filter_columns()[-1] if refitted else ""


@state.kept(show_spinner=False, max_entries=64)
def _split(model: str, column: str) -> list[TablePart]:
    """Return the parts of the rows that a model was trained on."""
    about = state.workspace().models.about(model)
    table, data = rows_of(about, about.table)
    return split(table.take(data.X.index[~data.held_out]), column)


def _groups(model: ModelAbout, column: str) -> list[Group]:
    """Return the parts of a model's rows by a column, each with the model that was fitted to it, if any was."""
    names, fitted = state.names_of(model), {}
    if column == _fitted_by(model):
        refitted = state.workspace().models.parts(model.id)
        fitted = {json.dumps(part.spec["conditions"][-1]): part.id for part in refitted}
    groups = []
    for label, rule in _split(model.id, column):
        is_span = isinstance(rule, Range) and not rule.date and rule.low != rule.high
        name = rule.words(names) if is_span else names.level(column, label)
        text = json.dumps(rule.to_dict())
        groups.append(Group(name.strip() or "(blank)", model.table, text, model=fitted.get(text, "")))
    return groups


def _questions(model: str, parts: list[Group], beside: str) -> list[Question]:
    """Return a question for each part that has something to be compared with."""
    if beside == "rest":
        rest = [replace(part, name="all other rows", rest=True, model="") for part in parts]
        return [Question(model, first, second) for first, second in zip(rest, parts, strict=True)]
    firsts = parts[:-1] if beside == "before" else parts[:1] * (len(parts) - 1)
    return [Question(model, first, second) for first, second in zip(firsts, parts[1:], strict=True)]


def _one_by_one(asked: list[Question], since: list[Question], size: str) -> None:
    """Show the differences of all parts, as one model sees them. since : of the same parts and the first, where the
    others are of those before. size : what is counted of each part."""
    st.markdown("**Part by part, as one model sees them**")
    lines, is_share = [], False
    for one, from_first in zip_longest(asked, since):
        try:
            moved = answer(one.of_one_model())
            whole = answer(from_first.of_one_model()) if from_first else None
        except TableError as error:
            st.caption(md(error))
            continue
        is_share = moved.is_share
        lines.append({
            "Part": one.second.name, "Beside": one.first.name, size: count(moved.size), "Mean": moved.rate_b,
            "Difference": moved.gap.value, "Who came": moved.composition.value,
            "from": moved.composition.lower, "to": moved.composition.upper,
            "Not explained": moved.residual.value,
            **({"Since the first": whole.gap.value, "Who came since": whole.composition.value} if whole else {}),
        })  # fmt: skip
    if not lines:
        return
    frame = pd.DataFrame(lines)
    sizes = list(frame.columns[3:])
    frame = hundredfold(frame, sizes) if is_share else frame
    form = measured(frame[sizes[1:]].to_numpy().ravel())
    st.dataframe(
        frame, hide_index=True,
        column_config={name: st.column_config.NumberColumn(format=PERCENT if is_share and name == "Mean" else form)
                       for name in sizes},
        alt="One line per part: its difference, and how much of it is who came.",
    )  # fmt: skip
    unit = "Differences are in percentage points. " if is_share else ""
    st.caption(f"{unit}*from* and *to* are the 95% interval of who came.")
