"""How much a workspace lets people use: of the disk, of memory, of processors, of time. Zero is no limit."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Final

import psutil

from gamcore.workspace.errors import StoreError

OWN: Final = 350 * 2**20
"""Bytes of a worker that only imports the libraries."""


def is_shared() -> bool:
    """Whether the app serves a team: GAMCORE_MODE=shared."""
    return os.environ.get("GAMCORE_MODE", "single") == "shared"


@dataclass(frozen=True)
class Limits:
    """Limits of a server, each settable by GAMCORE_<NAME>.

    slots : jobs at once; slots_each : of one person; queue_each : waiting or going on, of one person. threads : of a
    job. memory : resident bytes of a job. seconds : of a job. bytes : on disk, of one person. rows : of a table.
    table_memory : bytes above which a table is not held in memory, but worked on from the disk.
    """

    slots: int = 0
    slots_each: int = 0
    queue_each: int = 0
    threads: int = 0
    memory: int = 0
    seconds: int = 0
    bytes: int = 0
    rows: int = 0
    table_memory: int = 2 * 2**30

    @classmethod
    def told(cls) -> Limits:
        """The limits that the environment sets, over those that fit this machine; StoreError where one is no number."""
        usual = cls._usual()
        found = {}
        for of in fields(cls):
            text = os.environ.get(f"GAMCORE_{of.name.upper()}", "").strip()
            try:
                found[of.name] = int(text) if text else getattr(usual, of.name)
            except ValueError as error:
                raise StoreError(f"GAMCORE_{of.name.upper()} is {text!r}: set it to a whole number.") from error
        return cls(**found)

    @classmethod
    def _usual(cls) -> Limits:
        cores, memory = os.cpu_count() or 1, psutil.virtual_memory().total
        if not is_shared():  # one person may use the machine up, and wait for nobody
            return cls(slots=max(cores, 2), threads=cores, memory=int(0.8 * memory))
        slots = max(cores // 2, 1)
        return cls(
            slots=slots, slots_each=1, queue_each=10, threads=max(cores // slots, 1), memory=int(0.7 * memory / slots),
            seconds=4 * 3600, bytes=20 * 10**9, rows=500_000_000,
        )  # fmt: skip
