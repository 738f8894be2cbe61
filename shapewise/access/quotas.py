"""Limits on the disk space, memory, processors and time that people may use. Zero means no limit."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import psutil

from shapewise.errors import StoreError

OWN: Final = 350 * 2**20
"""Bytes that a worker uses just by importing the libraries."""


MOST_TABLE: Final = 2 * 2**30
TABLE_SHARE: Final = 4
"""A table in memory may take up 1 / TABLE_SHARE of a job's memory: it is copied, and refits need memory, too."""


def is_shared() -> bool:
    """Return whether the app serves a team: GAMCORE_MODE=shared. StoreError if it is neither shared nor single: a typo
    must not open the app to everybody."""
    mode = os.environ.get("GAMCORE_MODE", "").strip().lower() or "single"
    if mode not in ("single", "shared"):
        raise StoreError(f"GAMCORE_MODE is {mode!r}: set it to single or shared.")
    return mode == "shared"


def _control(name: str) -> str:
    """Return a cgroup limit of this process's container; empty if there is none."""
    try:
        return Path("/sys/fs/cgroup", name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def machine_memory() -> int:
    """Return the memory of this machine or container, in bytes."""
    most = _control("memory.max")
    return min(int(psutil.virtual_memory().total), int(most) if most.isdigit() else 2**62)


def machine_cores() -> int:
    """Return the number of processors that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _control("cpu.max").partition(" ")
    return min(cores, max(int(quota) // int(period), 1)) if quota.isdigit() and period.isdigit() else cores


@dataclass(frozen=True)
class Limits:
    """Limits of a server, each settable by GAMCORE_<NAME>.

    slots : jobs running at once; slots_each : the same per person; queue_each : jobs queued or running per person.
    threads : per job. memory : resident bytes per job. seconds : per job. bytes : on disk per person. rows : per table.
    table_memory : bytes above which a table is processed from disk instead of in memory; by default a quarter of a
    job's memory, at most 2 GiB.
    """

    slots: int = 0
    slots_each: int = 0
    queue_each: int = 0
    threads: int = 0
    memory: int = 0
    seconds: int = 0
    bytes: int = 0
    rows: int = 0
    table_memory: int = MOST_TABLE

    @classmethod
    def configured(cls) -> Limits:
        """Return the defaults for this machine, overridden by the environment; StoreError if a value is not a whole
        number."""
        chosen: dict[str, int] = {}
        for field in fields(cls):
            text = os.environ.get(f"GAMCORE_{field.name.upper()}", "").strip()
            try:
                chosen |= {field.name: int(text)} if text else {}
            except ValueError as error:
                raise StoreError(f"GAMCORE_{field.name.upper()} is {text!r}: set it to a whole number.") from error
        limits = replace(cls._usual(), **chosen)
        if "table_memory" in chosen or not limits.memory:
            return limits
        return replace(limits, table_memory=min(limits.memory // TABLE_SHARE, MOST_TABLE))

    def environment(self) -> dict[str, str]:
        """Return the environment variables that give another process the same limits."""
        return {f"GAMCORE_{field.name.upper()}": str(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def _usual(cls) -> Limits:
        cores, memory = machine_cores(), machine_memory()
        if not is_shared():  # one person may use the whole machine
            return cls(slots=max(cores, 2), threads=cores, memory=int(0.8 * memory))
        slots = max(cores // 2, 1)
        return cls(
            slots=slots, slots_each=1, queue_each=10, threads=max(cores // slots, 1), memory=int(0.7 * memory / slots),
            seconds=4 * 3600, bytes=20 * 10**9, rows=500_000_000,
        )  # fmt: skip
