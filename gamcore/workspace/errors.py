"""What can go wrong in a workspace, in words for the person who waits."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class StoreError(ValueError):
    """Something asked for is not in the workspace, or cannot be put there; the message says what to do."""


class DeniedError(StoreError):
    """Something that this person may not do."""


FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL = "The disk of the workspace is full, so nothing was changed: delete what is not needed, or make room, and repeat."


@contextmanager
def room() -> Iterator[None]:
    """A full disk as a StoreError."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK:
            raise StoreError(FULL) from error
        raise
