"""What an addition declares to change the curves and pairs of a model on their pages. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shapewise.seam import ADDITIONS

if TYPE_CHECKING:
    from gamcore.common.types import Floats
    from gamcore.data.binning import Bins
    from gamcore.explain.curves import Curve
    from gamcore.explain.surfaces import Rectangle, Surface
    from gamcore.model.scales import Scale
    from shapewise.store.workspace import ModelAbout
    from shapewise.training.editing import Additive


@dataclass(frozen=True)
class Edited:
    """A model with the changes so far and the one being made, and what shows the rest of its editor: that takes longer
    than the plot, which is to be drawn first.

    is_tried : whether a change is being made. room, room_words : as in `Curve`.
    """

    model: Additive
    is_tried: bool
    finish: Callable[[], None]
    room: Floats = field(default_factory=lambda: np.empty((2, 0)))
    room_words: str = ""

    def curve(self, feature: str) -> Curve:
        """Return a curve of the model, with the region in which it is equally good."""
        return replace(self.model.explain_shape(feature), room=self.room, room_words=self.room_words)


@dataclass(frozen=True)
class Editor:
    """The editor of curves and pairs, declared as a constant of an addition's `addition.py`. Models are given as they
    are stored, and have the rows that they were trained on.

    curve : shows the editor of a curve, for its bins and the scale of the page. pair : the same of a pair, for its
    surface on the link scale after the changes so far, and the rectangle that is chosen on it. so_far : a model after
    the changes so far. waiting : what this person has not saved, in words; empty where there is nothing.
    """

    curve: Callable[[ModelAbout, Additive, Bins, Scale], Edited]
    pair: Callable[[ModelAbout, Additive, Surface, Rectangle | None, Scale], Edited]
    so_far: Callable[[ModelAbout, Additive], Additive]
    waiting: Callable[[ModelAbout], str]


def editor() -> Editor | None:
    """Return the editor, where there is one."""
    return next(iter(ADDITIONS.declared(Editor)), None)
