"""What additions add to reports: items that recipes keep and a report is made of, as its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shapewise.seam import ADDITIONS
from shapewise.store.workspace import ModelAbout, Workspace

if TYPE_CHECKING:
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


def added() -> dict[str, AddedItem]:
    """Return the items of all additions, by kind."""
    return {item.kind: item for item in ADDITIONS.declared(AddedItem)}
