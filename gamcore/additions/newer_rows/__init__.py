"""A model on newer rows beside its own held-out ones, before anybody trains it again: does it still hold?"""

from gamcore.additions.newer_rows.held import OnNewerRows
from gamcore.additions.newer_rows.reading import on_newer_rows

__all__ = ["OnNewerRows", "on_newer_rows"]
