"""What this session has seen of things that another tab or another person may change, and what it stored itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import streamlit as st

from shapewise.store.records import now

THINGS: Final = "seen-things"
LISTS: Final = "seen-lists"
DELETED: Final = "deleted-here"
Parts = tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """What was seen of a thing. value : its parts in view, as text. at : when. is_stale : whether somebody else had
    changed these when this session stored something of it."""

    value: str
    at: str
    is_stale: bool = False


def _things() -> dict[tuple[str, Parts], Seen]:
    kept: dict[tuple[str, Parts], Seen] = st.session_state.setdefault(THINGS, {})
    return kept


def _lists() -> dict[str, dict[str, str]]:
    kept: dict[str, dict[str, str]] = st.session_state.setdefault(LISTS, {})
    return kept


def only_of(kind: str, table: str) -> str:
    """Return the key of the only thing of a kind that a table has, whether it is there yet or not."""
    return f"{kind} of {table}"


def _value(about: Mapping[str, Any], parts: Sequence[str]) -> str:
    """Return parts of a description as text. A part that was never set is as an empty one."""
    return json.dumps([about.get(part) or None for part in parts], sort_keys=True)


def stored(kind: str, identifier: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
    """Take note of what this session stores itself; see `store.items.Stored`."""
    of_table = only_of(kind, str((after or before or {}).get("table", "")))
    for (key, parts), last in list(_things().items()):
        if key in (identifier, of_table):
            stale = last.is_stale or _value(before or {}, parts) != last.value
            _things()[key, parts] = replace(last, value=_value(after or {}, parts), is_stale=stale)
    if after is None:
        st.session_state.setdefault(DELETED, set()).add(identifier)
    if of_table in _lists():
        others = {key: name for key, name in _lists()[of_table].items() if key != identifier}
        _lists()[of_table] = others if after is None else {**others, identifier: str(after.get("name", ""))}


def was_deleted_here(identifier: str) -> bool:
    """Return whether this session deleted a thing."""
    return identifier in st.session_state.get(DELETED, ())


def is_current(key: str, about: Mapping[str, Any], parts: Parts) -> bool:
    """Return whether a thing is as this session has seen it, or has never been seen."""
    last = _things().get((key, parts))
    return last is None or (not last.is_stale and last.value == _value(about, parts))


def see(key: str, about: Mapping[str, Any], parts: Parts) -> Seen | None:
    """Take note of what a page shows; return what was seen before where somebody else has changed that, else None."""
    last = None if is_current(key, about, parts) else _things()[key, parts]
    _things()[key, parts] = Seen(_value(about, parts), now())
    return last


def see_list(kind: str, table: str, names: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Take note of the things that a page lists, names by id; return those that somebody else has added, and those
    deleted, since it listed them before."""
    key = only_of(kind, table)
    before = _lists().get(key, names)
    _lists()[key] = dict(names)
    added = [name for key, name in names.items() if key not in before]
    return added, [name for key, name in before.items() if key not in names]
