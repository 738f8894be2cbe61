"""What can go wrong in a workspace, in words for the person who waits."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class StoreError(ValueError):
    """Something asked for is not in the workspace, or cannot be put there; the message says what to do."""


class DeniedError(StoreError):
    """Something that this person may not do."""


class FullError(StoreError):
    """The disk of the workspace is full."""


class GoneError(StoreError):
    """The workspace's folder is not there any more, or is another one."""


FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL = "The disk of the workspace is full, so nothing was changed: delete what is not needed, or make room, and repeat."
READ_ONLY = (
    "The workspace's folder cannot be written to, so nothing was changed: make it writable, or set "
    "GAMCORE_WORKSPACE to another folder and restart the app."
)
GONE = (
    "The workspace's folder was removed or replaced while the app was running, so nothing was changed. Put it back and "
    "restart the app."
)


@contextmanager
def room() -> Iterator[None]:
    """A full disk as a FullError, and one that was made read-only as a StoreError."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK:
            raise FullError(FULL) from error
        if error.errno == errno.EROFS:
            raise StoreError(READ_ONLY) from error
        raise
