"""All that this adds to pages: a way to compare on Compare, and a panel on Data where a newer version is there."""

from __future__ import annotations

from typing import Final

from shapewise.ui.session.current import InView
from shapewise.ui.widgets.panels import Panel

TITLE: Final = "Why did it move?"


def _on_compare(now: InView) -> None:
    from shapewise.additions.why import on_compare

    on_compare.draw(now)


def _on_data(now: InView) -> None:
    from shapewise.additions.why import on_data

    on_data.draw(now)


def _has_table(now: InView) -> bool:
    from shapewise.additions.why import tables

    return now.model is not None and tables.can_be_asked(now.model) and tables.is_there(now.model)


def _has_newer(now: InView) -> bool:
    from shapewise.additions.why import tables

    return bool(tables.versions_of_models(now))


COMPARE: Final = Panel("compare", TITLE, _on_compare, _has_table)
DATA: Final = Panel("data", TITLE, _on_data, _has_newer)
