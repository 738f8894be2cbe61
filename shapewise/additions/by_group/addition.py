"""All that this adds: a panel on Overview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapewise.ui.panel import Panel, has_one_outcome

if TYPE_CHECKING:
    from shapewise.ui.session.current import InView

TITLE: Final = "Where is the model wrong?"


def _on_overview(now: InView) -> None:
    from shapewise.additions.by_group import on_overview

    on_overview.draw(now)


OVERVIEW: Final = Panel("overview", TITLE, _on_overview, has_one_outcome)
