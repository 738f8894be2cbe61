"""All that this adds: a way to compare on Compare, and a slide of reports."""

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

TITLE: Final = "Which is better?"


def _on_compare(now: InView) -> None:
    from shapewise.additions.two_models import on_compare

    on_compare.draw(now)


def _has_rival(now: InView) -> bool:
    from shapewise.additions.two_models import rivals

    if now.model is None or now.project is None:
        return False
    return has_one_outcome(now) and bool(rivals.rivals_of(now.model, now.project.models))


def _slide(review: Review) -> Iterator[ReportPart]:
    from shapewise.additions.two_models import slide

    yield from slide.parts(review)


def _has_slide(space: Workspace, model: ModelAbout) -> bool:
    from shapewise.additions.two_models import slide

    return slide.rival(space, model) is not None


COMPARE: Final = Panel("compare", TITLE, _on_compare, _has_rival, order=-1)
SLIDE: Final = AddedItem("better", TITLE, _slide, _has_slide)
