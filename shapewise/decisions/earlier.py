"""What a thing was before each of its last changes, kept with it, so that these are undone one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from shapewise.store.workspace import StoreError, now

Earlier = Sequence[dict[str, Any]]
"""Entries with when the change was (`changed`) and what was before it, the latest last."""
UNDO: Final = timedelta(days=7)
MOST_UNDONE: Final = 20
"""How long, and how many, changes can be undone."""


def recent(earlier: Earlier) -> list[dict[str, Any]]:
    """Return the entries of changes that can be undone."""
    since = (datetime.now(UTC) - UNDO).isoformat(timespec="milliseconds")
    return [before for before in earlier if before["changed"] >= since]


def with_change(earlier: Earlier, before: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries after one more change. before : what is brought back where it is undone."""
    return [*recent(earlier), {"changed": now(), **before}][-MOST_UNDONE:]


def undone(earlier: Earlier, changed: str = "") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the entries without the last, and the last; StoreError if there is none.

    changed : when the change was made that is meant; StoreError if another came after it."""
    entries = recent(earlier)
    if not entries:
        raise StoreError("There is no change of the last seven days to undo: somebody may have undone it already.")
    *others, last = entries
    if changed not in ("", last["changed"]):
        raise StoreError("It was changed again meanwhile: look at it before you undo that.")
    return others, last
