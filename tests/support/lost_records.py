"""Lose the records of a workspace in every way that an attack found, open what is left as the next start would, bring
the right records back, and look whether anything is lost: part of `python -m benchmarks.app.faults`.

The workspace is one whose server was killed at a random instant while it stored tables, so that much of its records is
in the write-ahead log; its files are in its folder, or behind a URL.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import sqlalchemy as sa

from shapewise.__main__ import main as command
from shapewise.errors import StoreError
from shapewise.store import backup
from shapewise.store import database as meta
from shapewise.store.cleanup import sweep
from shapewise.store.workspace import Workspace

Generator = np.random.Generator
LOG: Final = f"{meta.FILE}-wal"
MOST_SECONDS: Final = 0.4
DAY: Final = 86_400.0


def missing(root: Path, aside: Path, rng: Generator) -> None:
    """Leave no records, and sometimes their log."""
    if rng.random() < 0.5 and (aside / LOG).exists():
        shutil.copy(aside / LOG, root / LOG)


def emptied(root: Path, aside: Path, rng: Generator) -> None:
    """Leave an empty file of records."""
    missing(root, aside, rng)
    (root / meta.FILE).touch()


def without_log(root: Path, aside: Path, rng: Generator) -> None:
    """Leave only the main file."""
    shutil.copy(aside / meta.FILE, root / meta.FILE)


def garbage_log(root: Path, aside: Path, rng: Generator) -> None:
    """Leave the main file with a log of random bytes."""
    without_log(root, aside, rng)
    (root / LOG).write_bytes(rng.bytes(int(rng.integers(1, 100_000))))


def older(root: Path, aside: Path, rng: Generator) -> None:
    """Restore a copy made before the victim began; sometimes make the files look days old."""
    shutil.copy(root.parent / "older.sqlite", root / meta.FILE)
    if rng.random() < 0.5:
        when = time.time() - float(rng.uniform(1.1, 5)) * DAY
        for path in objects(root):
            os.utime(path, (when, when))


def empty_database(root: Path, aside: Path, rng: Generator) -> None:
    """Mistype the address of the records."""
    back(aside, root)
    os.environ["GAMCORE_META_URL"] = f"sqlite:///{root.parent / 'typo.sqlite'}"


def another_deployment(root: Path, aside: Path, rng: Generator) -> None:
    """Use the address of another deployment's records."""
    back(aside, root)
    url = os.environ.pop("GAMCORE_OBJECTS_URL", None)
    other = Workspace(root.parent / "other")
    other.tables.add(table(9), "theirs")
    meta.forget(other.root)
    if url:
        os.environ["GAMCORE_OBJECTS_URL"] = url
    os.environ["GAMCORE_META_URL"] = meta.url_of(root.parent / "other")


WAYS: Final[dict[str, Callable[[Path, Path, Generator], None]]] = {
    "missing": missing,
    "emptied": emptied,
    "without log": without_log,
    "log of garbage": garbage_log,
    "older copy": older,
    "empty database": empty_database,
    "another deployment": another_deployment,
}


def table(seed: int) -> pd.DataFrame:
    """Return a small table, different for each seed."""
    return pd.DataFrame({"x": np.random.default_rng(seed).normal(size=200)})


def objects(root: Path) -> list[Path]:
    """Return all files stored by hash, without copies and trash."""
    store = root.parent / "store"
    return sorted((store if store.is_dir() else root / "objects").glob("??/*"))


def back(aside: Path, root: Path) -> None:
    """Restore the records that were put aside."""
    meta.forget(root)
    for path in root.glob(f"{meta.FILE}*"):
        path.unlink()
    for path in aside.iterdir():
        shutil.copy(path, root / path.name)


def victim(root: Path, seconds: float) -> None:
    """Store tables in a process that is killed after some seconds."""
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            space = Workspace(root)
            for k in range(10_000):
                space.tables.add(table(100 + k), f"table {k}")
        os._exit(0)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@contextmanager
def environment(store: str) -> Iterator[None]:
    """Keep files behind a URL if one is given, and restore the environment afterwards."""
    before = {name: os.environ.pop(name, None) for name in ("GAMCORE_META_URL", "GAMCORE_OBJECTS_URL")}
    if store:
        os.environ["GAMCORE_OBJECTS_URL"] = store
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def lose_once(place: Path, way: str, remote: bool, rng: Generator) -> list[str]:
    """Lose the records once, start, restore them, and return what is wrong."""
    root = place / "space"
    with environment(f"file://{place / 'store'}" if remote else ""):
        space = Workspace(root)
        space.tables.add(table(0), "first")
        with contextlib.closing(sqlite3.connect(root / meta.FILE)) as records:
            records.execute("VACUUM INTO ?", (str(place / "older.sqlite"),))
        meta.forget(root)
        victim(root, float(rng.uniform(0.05, MOST_SECONDS)))
        aside = place / "aside"
        aside.mkdir()
        for path in root.glob(f"{meta.FILE}*"):
            path.rename(aside / path.name)
        before = {path.name for path in objects(root)}
        WAYS[way](root, aside, rng)
        hidden = _starts(root)
        gone = before - {path.name for path in objects(root)}
        os.environ.pop("GAMCORE_META_URL", None)
        back(aside, root)
        lost = gone & _known(Workspace(root))  # the others are what the kill left half stored
        problems = [f"{len(lost)} objects gone at once"] if lost else []
        problems += [f"the look said that everything is there, and {hidden} files had no record"] if hidden else []
        problems += _whole(root)
        meta.forget(root)
    return problems


def _starts(root: Path) -> int:
    """Open and sweep as a server does, then run `check`; if it passes, return how many files lack a record."""
    unknown = len(objects(root))
    with contextlib.suppress(StoreError):
        space = Workspace(root)
        sweep(space)
        unknown = len({path.name for path in objects(root)} - _known(space))
    meta.forget(root)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        fine = command(["--workspace", str(root), "check"]) == 0
    meta.forget(root)
    return unknown if fine else 0


def _known(space: Workspace) -> set[str]:
    """Return the objects to which the records refer."""
    with space.meta.reading() as connection:
        return set(connection.execute(sa.select(meta.part.c.object)).scalars())


def _whole(root: Path) -> list[str]:
    """Return what is missing once the records are back, ignoring files whose record the kill prevented."""
    space = Workspace(root)
    problems_left = [problem for problem in backup.check(space) if "no record refers" not in problem]
    for about in space.tables.listed():
        if len(space.tables.read(about.id)) != about.rows:
            problems_left.append(f"table {about.id} is not whole")
    return problems_left


def lose(runs: int, seed: int, tell: Callable[[str], None] = print) -> int:
    """Lose records `runs` times in each way, and return the number of runs that lost something."""
    rng, bad = np.random.default_rng(seed), 0
    for way in WAYS:
        lost = 0
        for k in range(runs):
            with tempfile.TemporaryDirectory() as name:
                problems = lose_once(Path(name), way, bool(k % 2), rng)
            lost += bool(problems)
            for problem in problems:
                tell(f"records lost by {way}, run {k}: {problem}")
        tell(f"{runs} losses of records by {way}: {lost} lost something")
        bad += lost
    return bad
