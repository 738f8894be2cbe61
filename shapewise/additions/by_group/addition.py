"""All that this adds: a panel on Overview, and an item of reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shapewise.reports.added import AddedItem
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.ui.panel import Panel, has_one_outcome

if TYPE_CHECKING:
    from gamcore.viz.files.parts import ReportPart
    from shapewise.reports.sources import Review
    from shapewise.ui.session.current import InView

TITLE: Final = "Where is the model wrong?"


def _on_overview(now: InView) -> None:
    from shapewise.additions.by_group import on_overview

    on_overview.draw(now)


def _slide(review: Review) -> Iterator[ReportPart]:
    from shapewise.additions.by_group import slide

    yield from slide.parts(review)


def _has_rows(space: Workspace, model: ModelAbout) -> bool:
    from shapewise.training import versions

    return versions.can_be_asked(space, model)


OVERVIEW: Final = Panel("overview", TITLE, _on_overview, has_one_outcome)
SLIDE: Final = AddedItem("wrong", TITLE, _slide, _has_rows)
