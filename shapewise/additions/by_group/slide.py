"""Two pages of a report: where a model is wrong by the column with the clearest error, and all columns as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gamcore import CalibrationByGroup
from gamcore.common.numbers import alike, count, percent
from gamcore.viz.files.parts import ReportPart
from shapewise.additions.by_group.asked import HEADS, asked_of, is_measurable, ranking, shown
from shapewise.reports.sources import NOT_HELD_OUT, Review
from shapewise.store.workspace import StoreError
from shapewise.training.spec import Spec
from shapewise.training.train import read_all

MOST_COLUMNS: Final = 12
"""Lines of the table: what a page holds."""


def parts(review: Review) -> Iterator[ReportPart]:
    """Yield the column with the clearest error as a plot, and a table of the columns."""
    source, space = review.model(), review.space
    spec = Spec.from_dict(source.about.spec)
    data = read_all(space, spec)
    if not is_measurable(source.about, data):
        raise StoreError(NOT_HELD_OUT)
    rows = space.tables.read(spec.table, spec.codes_of(spec.table))
    answer = shown(asked_of(source.estimator, source.about, rows, data, review.recipe.of_class), source.names)
    if not answer.columns:
        raise StoreError("No column of the table has more than one group.")
    plot = answer.describe(target=source.target)
    yield ReportPart(plot=replace(plot, detail=f"{plot.detail} · model {source.about.name}"), text=[answer.words()])
    yield ReportPart("Where is the model wrong? Column by column", table=_lines(answer))


def _lines(answer: CalibrationByGroup) -> list[list[str]]:
    """Return the table of columns as texts, the names of its own columns first."""
    table = ranking(answer).head(MOST_COLUMNS)
    texts = table.astype(object)
    for name in ("observed", "predicted"):
        values = table[HEADS[name]].tolist()
        texts[HEADS[name]] = list(map(percent, values)) if answer.is_share else alike(values)
    for name, write in (("ratio", _ratio), ("groups", count), ("wrong", count)):
        texts[HEADS[name]] = list(map(write, table[HEADS[name]]))
    return [list(texts.columns), *texts.to_numpy().tolist()]


def _ratio(value: float) -> str:
    return percent(value, 0)
