"""All that this adds: a way to compare on Compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapewise.ui.panel import Panel, has_one_outcome

if TYPE_CHECKING:
    from shapewise.ui.session.current import InView

TITLE: Final = "Which is better?"


def _on_compare(now: InView) -> None:
    from shapewise.additions.two_models import on_compare

    on_compare.draw(now)


def _has_rival(now: InView) -> bool:
    from shapewise.additions.two_models import rivals

    return has_one_outcome(now) and bool(rivals.of(now))


COMPARE: Final = Panel("compare", TITLE, _on_compare, _has_rival, order=-1)
