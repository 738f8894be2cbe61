"""Permissions: one function, called before everything that a workspace does for a person.

A single-user workspace has one person, who may do everything. In a shared one every thing belongs to whoever made it,
and nobody else but administrators can see it until it is shared by name, for viewing or editing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Role = Literal["viewer", "editor", "admin"]
Action = Literal["create", "view", "change", "delete", "share", "administer"]
Level = Literal["view", "edit"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
ROLE_WORDS: Final[dict[Role, str]] = {
    "viewer": "sees what others share with them",
    "editor": "trains models, makes boards and reports, and edits what is shared with them for editing",
    "admin": "sees and edits everything, and sets the roles of others",
}


@dataclass(frozen=True)
class Person:
    """A person who uses the app. id : from the sign-in; name : shown to others."""

    id: str
    name: str
    role: Role = "viewer"


LOCAL: Final = Person("local", "you", "admin")
"""The only person of a single-user workspace, and the system itself."""


def may(person: Person | None, action: Action, owner: str | None = None, level: Level | None = None) -> bool:
    """Return whether a person (None if unknown) may perform an action.

    owner : of the thing; None for actions without a thing (create, administer). level : at which the thing is shared
    with this person, if it is.
    """
    if person is None:
        return False
    if person.role == "admin":
        return True
    if action == "administer":
        return False
    if action == "create":
        return person.role == "editor"
    own = owner is not None and owner == person.id
    if action == "view":
        return own or level is not None
    if person.role == "viewer":  # what they made before losing the editor role is read-only
        return False
    return own or (action == "change" and level == "edit")
