"""Wait for the files that jobs make."""

from __future__ import annotations

import time

from shapewise.reports import file_jobs as packs
from shapewise.store.room import used_by

WAIT = 60


def wait(space, identifier):
    for _ in range(WAIT * 10):
        found = packs.pack(space, identifier)
        if not found.goes_on:
            return found
        time.sleep(0.1)
    raise AssertionError("The pack did not end.")


def kept(space):
    with space.meta.reading() as connection:
        return used_by(connection, space.root, space.person.id)
