"""All that this adds: a panel on Data, and a slide of reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shapewise.reports.added import AddedItem
from shapewise.store.workspace import ModelAbout, Workspace
from shapewise.ui.panel import Panel

if TYPE_CHECKING:
    from gamcore.viz.files.parts import ReportPart
    from shapewise.reports.sources import Review
    from shapewise.ui.session.current import InView

TITLE: Final = "Does the model still hold?"


def _on_data(now: InView) -> None:
    from shapewise.additions.newer_rows import on_data

    on_data.draw(now)


def _has_newer(now: InView) -> bool:
    from shapewise.ui.widgets import versions

    return bool(versions.versions_of_models(now))


def _slide(review: Review) -> Iterator[ReportPart]:
    from shapewise.additions.newer_rows import asked

    yield from asked.parts(review)


def _has_slide(space: Workspace, model: ModelAbout) -> bool:
    from shapewise.training import versions

    return versions.newer(space, model) is not None


DATA: Final = Panel("data", TITLE, _on_data, _has_newer, order=1)
SLIDE: Final = AddedItem("still", TITLE, _slide, _has_slide)
