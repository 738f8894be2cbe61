"""Curves and pairs changed by hand, at a known price; each change returns a copy of the model."""

from gamcore.additions.editing.editable import (
    EditPrice,
    edit,
    edit_price,
    edits_of,
    edits_that_stay,
    refit_others,
    replay,
    room_to_move,
    with_edits,
)
from gamcore.additions.editing.edits import Edit, EditError, Where

__all__ = [
    "Edit", "EditError", "EditPrice", "Where", "edit", "edit_price", "edits_of", "edits_that_stay", "refit_others",
    "replay", "room_to_move", "with_edits",
]  # fmt: skip
