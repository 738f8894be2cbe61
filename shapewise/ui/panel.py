"""What an addition declares to stand on a page. Nothing here draws, so that what runs without pages can read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shapewise.ui.session.current import InView


def _always(now: InView) -> bool:
    return True


def has_one_outcome(now: InView) -> bool:
    """Return whether a model is in view that predicts what its table has."""
    model = now.model
    return model is not None and model.has_one_outcome


@dataclass(frozen=True)
class Panel:
    """A part of a page, declared as a constant of an addition's `addition.py`.

    page : the page's name in its address. title : what it answers; in every link and key it stays the same.
    draw : draws it, for the project, table and model in view. applies : whether there is something to draw, told
    without reading a table or a model; a page asks at each run. order : panels of a page stand by it, then by the
    names of their additions. in_sight : whether it is drawn in sight, without a box to open.
    """

    page: str
    title: str
    draw: Callable[[InView], None]
    applies: Callable[[InView], bool] = _always
    order: int = 0
    in_sight: bool = False
