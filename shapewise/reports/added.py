"""What additions add to reports: items that recipes keep and a report is made of, as its own, and rows of cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shapewise.seam import ADDITIONS
from shapewise.store.workspace import ModelAbout, Workspace

if TYPE_CHECKING:
    from gamcore.data.column_names import Names
    from gamcore.viz.files.parts import ReportPart
    from shapewise.reports.sources import Review


@dataclass(frozen=True)
class AddedItem:
    """An item of reports, declared as a constant of an addition's `addition.py`.

    kind : its name in recipes, which no other has. title : what people call it. make : makes its parts from the sources
    of a report; StoreError where that cannot be. applies : whether it can be made of a model, told without reading a
    table.
    """

    kind: str
    title: str
    make: Callable[[Review], Iterable[ReportPart]]
    applies: Callable[[Workspace, ModelAbout], bool]


@dataclass(frozen=True)
class AddedRows:
    """Rows of a model's card, declared as a constant of an addition's `addition.py`. rows : their titles and texts, in
    people's words for columns; none where there is nothing to say."""

    rows: Callable[[Workspace, ModelAbout, Names], list[tuple[str, str]]]


def added() -> dict[str, AddedItem]:
    """Return the items of all additions, by kind."""
    return {item.kind: item for item in ADDITIONS.declared(AddedItem)}


def card_rows(space: Workspace, model: ModelAbout, names: Names) -> list[tuple[str, str]]:
    """Return the rows that additions have for the card of a model."""
    return [row for added_rows in ADDITIONS.declared(AddedRows) for row in added_rows.rows(space, model, names)]
