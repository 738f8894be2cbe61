"""The errors of a workspace, with messages written for the user."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote


class StoreError(ValueError):
    """What was requested is not in the workspace or cannot be stored there; the message says what to do."""


class DeniedError(StoreError):
    """This person may not do what was requested."""


class FullError(StoreError):
    """The disk of the workspace is full."""


class GoneError(StoreError):
    """The workspace's folder no longer exists or was replaced."""


FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL = "The disk of the workspace is full, so nothing was changed: delete what you no longer need, then try again."
READ_ONLY = (
    "The workspace's folder cannot be written to, so nothing was changed: make it writable, or set "
    "GAMCORE_WORKSPACE to another folder and restart the app."
)
READ_ONLY_DISK = (
    "The disk of the workspace cannot be written to, so nothing was changed. `shapewise check` and `shapewise backup` "
    "still read it: make it writable, or restore a backup of it on another disk."
)
GONE = (
    "The workspace's folder was removed or replaced while the app was running, so nothing was changed. Put it back and "
    "restart the app."
)


SHORTEST = 3
"""Letters of a piece of a secret that is left out: shorter ones are in many words."""


def without_secrets(words: str, url: str) -> str:
    """Return words of an error without what a URL says of who asks: the user, the password, the options, and pieces of
    these, since a driver divides a URL in its own way."""
    rest = url.partition("://")[2] or url
    parts = [text for part in (rest.rpartition("@")[0], rest.partition("?")[2]) for text in (part, unquote(part))]
    pieces = {piece for part in parts for piece in (part, *re.split(r"[:@/?&=]", part)) if len(piece) >= SHORTEST}
    for piece in sorted(pieces, key=len, reverse=True):
        words = words.replace(piece, "…")
    return words


def in_words(error: BaseException) -> StoreError | None:
    """Return what a full or read-only disk means for the user; None for any other error."""
    number = error.errno if isinstance(error, OSError) else None
    if number in FULL_DISK:
        return FullError(FULL)
    return StoreError(READ_ONLY_DISK) if number == errno.EROFS else None


@contextmanager
def room() -> Iterator[None]:
    """Raise a full disk as FullError and a read-only one as StoreError."""
    try:
        yield
    except OSError as error:
        if (refusal := in_words(error)) is not None:
            raise refusal from error
        raise
