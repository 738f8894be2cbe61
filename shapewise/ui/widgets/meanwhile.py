"""What another tab or another person has changed of what this one shows is said, and never written over unseen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from gamcore.data.labels import listed
from shapewise.store.history import changed_by, departed
from shapewise.store.items import KINDS
from shapewise.ui.session import seen, state
from shapewise.ui.session.seen import Parts
from shapewise.ui.session.words import md

ICON: Final = ":material/sync:"
FORMS: Final = "forms-begun-anew"
NOW: Final = "This is how it is now."
ANEW: Final = "The form begins with that: what you have just set in it was not stored."


def _by_whom(identifier: str, since: str) -> str:
    """Return who else has changed a thing since a time: "in another tab", or by name."""
    others = changed_by(state.workspace(), identifier, since)
    return f"by {md(listed(others))}" if others else "in another tab"


def look(kind: str, about: Mapping[str, Any], parts: Parts, then: str = NOW, key: str = "") -> bool:
    """Say that a thing in view was changed elsewhere since this session saw it; return whether it was.

    about : its description; {} where there is none. parts : of it, that are in view. then : what follows from that, as
    a sentence. key : `seen.only_of` where a table has one such thing; else its id is."""
    identifier = str(about.get("id", ""))
    before = seen.see(key or identifier, about, parts)
    if before is None:
        return False
    name = f" **{md(str(about['name']))}**" if about else ""
    done = "changed" if about else "deleted"
    st.info(f"The {KINDS[kind]}{name} was {done} {_by_whom(identifier, before.at)}. {then}", icon=ICON)
    return True


def form(kind: str, about: Mapping[str, Any], parts: Parts, key: str = "") -> str:
    """Return the ending of the keys of a form's widgets: a new one where what the form has stored was changed
    elsewhere, as it then begins with that. about, parts, key : as of `look`."""
    own = key or str(about.get("id", ""))
    if look(kind, about, parts, ANEW, key):
        begin_anew(own, parts)
    begun = st.session_state.get(FORMS, {}).get((own, parts))
    return "" if begun is None else f"-{begun}"


def begin_anew(key: str, parts: Parts) -> None:
    """Have a form begin with what is stored. key : of its thing."""
    begun: dict[tuple[str, Parts], int] = st.session_state.setdefault(FORMS, {})
    begun[key, parts] = begun.get((key, parts), 0) + 1


def gone(kind: str, identifier: str) -> None:
    """Say that a thing that was in view was deleted, unless this session did it."""
    if seen.was_deleted_here(identifier):
        return
    end = departed(state.workspace(), kind, identifier)
    name = f" **{md(end.name)}**" if end.name else ""
    by = "in another tab" if end.by in ("", "you") else f"by {md(end.by)}"
    st.info(f"The {end.what}{name} was deleted {by}. This is what there is now.", icon=ICON)


def look_at_list(kind: str, table: str, names: Mapping[str, str]) -> None:
    """Say which of the things that a page lists were added or deleted elsewhere since it did. names : by id."""
    for changed, done in zip(seen.see_list(kind, table, names), ("saved", "deleted"), strict=True):
        if changed:
            which = listed([f"**{md(name)}**" for name in changed])
            what = KINDS[kind] + ("s" if len(changed) > 1 else "")
            st.info(f"The {what} {which} {'were' if len(changed) > 1 else 'was'} {done} elsewhere.", icon=ICON)
