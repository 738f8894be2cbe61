"""Parts of a model's rows by a column, one after the other: each beside the one before, the first or the rest; on pages
and in reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Final

import numpy as np
import pandas as pd

from gamcore import WhyMoved
from gamcore.common.numbers import alike, count, fixed, percent
from gamcore.data.column_names import Names
from gamcore.data.columns import TableError
from gamcore.decide.rules import Range
from gamcore.decide.rules_json import from_dict
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.why import slide
from shapewise.additions.why.question import Group, Question, Sources
from shapewise.reports.sources import Review
from shapewise.store.workspace import ModelAbout, StoreError, Workspace
from shapewise.training.partitions import MOST_PARTS, TablePart, split
from shapewise.training.spec import Spec

MOST_PERIODS: Final = 12
"""Months of a year."""

FEWEST: Final = 2
"""Parts of which the one before is not always the first."""

FIRST_SIZE: Final = 3
"""The place from which the columns of `one_by_one` are means and differences."""


def fitted_by(space: Workspace, model: ModelAbout) -> str:
    """Return the column by which parts of a model were refitted; empty where none were."""
    refitted = space.models.parts(model.id)
    return Spec.from_dict(refitted[0].spec).filter_columns()[-1] if refitted else ""


def column_in_time(space: Workspace, model: ModelAbout) -> str:
    """Return the column of a model's time, told without reading a table; empty where there is none."""
    chosen = space.tables.about(model.table).roles
    in_time = next((name for name, role in chosen.items() if role == "time"), "")
    return Spec.from_dict(model.spec).time or in_time


def groups(space: Workspace, sources: Sources, model: ModelAbout, column: str, names: Names) -> list[Group]:
    """Return the parts of the rows that a model was trained on, each with the model that was fitted to it, if any was;
    TableError where there is one part at most."""
    fitted = {}
    if column == fitted_by(space, model):
        fitted = {json.dumps(part.spec["conditions"][-1]): part for part in space.models.parts(model.id)}
    table, data = sources.rows(model, model.table)
    now = split(table.take(data.X.index[~data.held_out]), column, MOST_PARTS if fitted else MOST_PERIODS)
    by_rule = {json.dumps(rule.to_dict()): (label, rule) for label, rule in now}
    if fitted and not by_rule.keys() & fitted:  # refitted when parts had other borders
        by_rule = {text: (part.part, from_dict(json.loads(text))) for text, part in fitted.items()}
    models = {text: part.id for text, part in fitted.items()}
    return [
        Group(_name(part, column, names), model.table, text, model=models.get(text, ""))
        for text, part in by_rule.items()
    ]


def _name(part: TablePart, column: str, names: Names) -> str:
    label, rule = part
    is_span = isinstance(rule, Range) and not rule.date and rule.low != rule.high
    return (rule.words(names) if is_span else names.level(column, label)).strip() or "(blank)"


def questions(model: str, each: list[Group], beside: str) -> list[Question]:
    """Return a question for each part that has something to be compared with: "before", "first" or "rest"."""
    if beside == "rest":
        return [
            Question(model, Group("all other rows", part.table, part.rule, rest=True), part) for part in each
        ]  # fmt: skip
    firsts = each[:-1] if beside == "before" else each[:1] * (len(each) - 1)
    return [Question(model, first, second) for first, second in zip(firsts, each[1:], strict=True)]


def one_by_one(
    asked: list[Question], since: list[Question], size: str, answer: Callable[[Question], WhyMoved]
) -> tuple[pd.DataFrame, bool, list[str]]:  # fmt: skip
    """Return a line per part as one model sees it, whether means are shares, and why parts have no line.

    since : of the same parts and the first, where the others are of those before. size : what is counted of each.
    """
    lines, is_share, refused = [], False, []
    for beside, from_first in zip_longest(asked, since):
        try:
            moved = answer(beside.of_one_model())
            whole = answer(from_first.of_one_model()) if from_first else None
        except TableError as error:
            refused.append(str(error))
            continue
        is_share = moved.is_share
        lines.append({
            "Part": beside.second.name, "Beside": beside.first.name, size: count(moved.size), "Mean": moved.rate_b,
            "Difference": moved.gap.value, "Who came": moved.composition.value,
            "from": moved.composition.lower, "to": moved.composition.upper,
            "Not explained": moved.residual.value,
            **({"Since the first": whole.gap.value, "Who came since": whole.composition.value} if whole else {}),
        })  # fmt: skip
    return pd.DataFrame(lines), is_share, refused


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield the waterfall from the last part but one to the last, and a table of all parts, each beside the one before
    and the first."""
    source, space = review.model(), review.space
    column = column_in_time(space, source.about)
    if not column:
        raise StoreError("The model has no column of time: name it on the page Data.")
    sources = slide.sources(review)
    try:
        each = groups(space, sources, source.about, column, source.names)
    except TableError as error:
        raise StoreError(str(error)) from error
    before = questions(source.about.id, each, "before")
    yield slide.page(review, sources.answer(before[-1]))
    if len(each) <= FEWEST:
        return
    exposure = Spec.from_dict(source.about.spec).exposure
    size = source.names.column(exposure) if exposure else "Rows"
    since = questions(source.about.id, each, "first")
    lines, is_share, _ = one_by_one(before, since, size, sources.answer)
    if len(lines):
        unit = ", differences in percentage points" if is_share else ""
        heading = f"Why did it move? {source.target} by {source.names.column(column)}{unit}"
        yield ReportPart(heading, table=[list(lines.columns), *_texts(lines, is_share)])


def _texts(lines: pd.DataFrame, is_share: bool) -> list[list[str]]:
    """Return the lines of `one_by_one` as texts."""
    texts = lines.astype(object)
    sizes = list(lines.columns[FIRST_SIZE:])
    texts["Mean"] = list(map(percent, lines["Mean"])) if is_share else alike(lines["Mean"].tolist())
    if is_share:
        for name in sizes[1:]:
            texts[name] = [fixed(100 * value, 1, True) for value in lines[name]]
    else:
        written = alike(lines[sizes[1:]].to_numpy().ravel().tolist(), signed=True)
        texts[sizes[1:]] = np.array(written, object).reshape(len(lines), -1)
    return [list(map(str, line)) for line in texts.to_numpy().tolist()]
