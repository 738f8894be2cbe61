"""Who may do what: one function, asked before everything that a workspace does for somebody.

A workspace used alone has one person, who may do all. In a shared one everything belongs to whoever made it and is seen
by nobody else until it is shared by name, to be viewed or to be edited.
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
    "viewer": "sees what is shared with them",
    "editor": "makes things of their own, and changes what is shared with them to be edited",
    "admin": "may do everything, with everything, and says who is what",
}


@dataclass(frozen=True)
class Person:
    """Somebody at the app. id : what the sign-in says they are; name : what others call them."""

    id: str
    name: str
    role: Role = "viewer"


LOCAL: Final = Person("local", "you", "admin")
"""The one person of a workspace that is used alone, and the system itself."""


def may(person: Person | None, action: Action, owner: str | None = None, level: Level | None = None) -> bool:
    """Return whether a person, None for somebody unknown, may do something.

    owner : of the thing; None for what has none (making something, administering). level : what the thing is
    shared with this person for, if it is.
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
    if person.role == "viewer":  # what somebody made before the role was taken away can be seen, not changed
        return False
    return own or (action == "change" and level == "edit")
