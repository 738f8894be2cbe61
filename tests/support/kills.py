"""Kills at random instants, and what the next server then finds.

A victim trains, saves, deletes or loads; it is killed (-9) at a random instant. Then, as
the next server would: the workspace is opened and swept, its records, hashes and models are checked, and each model
must say of some rows what it said before. Nothing may be half there, and nothing may be left that nobody holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import psutil
from streamlit.testing.v1 import AppTest

from gamcore.estimators.saved import from_saved
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.jobs import scheduler as keeper
from shapewise.store import backup
from shapewise.store import database as meta
from shapewise.store.cleanup import TEMPORARY, Swept, sweep
from shapewise.store.workspace import Workspace, new_id
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.places import ROOT
from tests.support.stuck import Watch

FEATURES: Final = ["a", "b", "c"]
ACTIONS: Final[dict[str, float]] = {"save": 0.4, "delete": 0.3, "load": 0.3, "train": 9.0}
"""Actions of a victim, and the seconds within which it is killed."""

WORKER_LEAVES: Final = 40.0
"""Seconds of a processor within which a worker comes to its end."""

APP: Final = ROOT / "app.py"


def frame(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Return a table with a number, a number with gaps, and a category."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows), "c": rng.choice(list("xyz"), rows)})
    made["y"] = np.where(made["a"] + (made["c"] == "x") + rng.normal(size=rows) > 0, "yes", "no")
    made.loc[::7, "b"] = np.nan
    return made


def said(space: Workspace, model: str) -> str:
    """Return a fingerprint of a model's predictions for some rows."""
    predictions = from_saved(space.models.load(model)).predict_proba(frame(200, 1)[FEATURES])  # type: ignore[union-attr]
    return hashlib.sha256(np.ascontiguousarray(predictions).tobytes()).hexdigest()


@dataclass(frozen=True)
class Template:
    """A workspace to copy for each kill. fingerprint : of its models' predictions, which are the same."""

    now: Path
    table: str
    models: frozenset[str]
    fingerprint: str


def make_template(place: Path) -> Template:
    """Return a workspace with a table and two models."""
    space = Workspace(place / "now")
    table = space.tables.add(frame(), "a table")
    first = train(space, spec_of(table.id))
    second = replace(first, id=new_id(), name="a copy")
    space.models.add(space.models.load(first.id), second)
    fingerprint = said(space, first.id)
    meta.forget(space.root)
    return Template(place / "now", table.id, frozenset((first.id, second.id)), fingerprint)


def spec_of(table: str) -> Spec:
    """Return the settings of a short training."""
    return Spec(table, "y", "a model", FEATURES, positive=["yes"], preset="fast", changes={"max_rounds": 30}, bands=2)


# The victim


def act(action: str, root: Path, template: Template, seed: int) -> None:
    """Do the victim's action until it is killed."""
    space = Workspace(root)
    known = sorted(template.models)
    if action == "train":
        runs.start(space, spec_of(template.table), 1)
        time.sleep(60)
    while action == "save":
        saved = space.models.load(known[0])
        about = replace(space.models.about(known[0]), id=new_id())
        space.models.add(saved, about)
        space.models.set_note(about.id, "a", "x" * 2000)
        space.models.set_bands(known[1], saved, 2)
    for k in range(200 if action == "load" else 0):
        space.tables.add(frame(4000, seed + k), "more")
    while action == "delete":
        about = replace(space.models.about(known[0]), id=new_id())
        space.models.add(space.models.load(known[0]), about)
        space.delete("models", about.id)
        sweep(space, timedelta(0))


def fork(work: Callable[[], None]) -> int:
    """Fork a child that has everything imported, and return its process id."""
    pid = os.fork()
    if pid:
        return pid
    with contextlib.suppress(BaseException):
        work()
    os._exit(0)


# After the kill


def worker_of(space: Workspace, run: str) -> psutil.Process | None:
    """Return the process that works on a run; None if there is none."""
    return child.process_of(jobs.folder(space, "runs", run))


def wait_for(space: Workspace, run: str, ended: Callable[[], bool]) -> bool:
    """Return whether something ends before the run's worker has computed, or has stood still, for too long."""
    watch = Watch(lambda: worker_of(space, run), WORKER_LEAVES)
    while not ended():
        time.sleep(0.1)
        if watch.is_over():
            return False
    return True


def problems(root: Path, template: Template, action: str) -> Iterator[str]:
    """Yield what is wrong with a workspace after a kill and the next start."""
    space = Workspace(root)
    sweep(space, timedelta(0), anyway=True)
    for identifier in jobs.ids(space, "runs"):
        wait_for(space, identifier, lambda one=identifier: worker_of(space, one) is None)
        keeper.keeper(space).wake()
        if not wait_for(space, identifier, lambda one=identifier: not runs.read(space, one).goes_on):
            yield f"run {identifier} still goes on"
    again = sweep(space, timedelta(0), anyway=True)
    damaged = list(backup.check(space))
    if damaged:
        yield from damaged
        return  # nothing below could be read
    listed = {model.id for model in space.models.listed()}
    if not template.models <= listed:
        yield "a model is gone"
    if template.table not in {table.id for table in space.tables.listed()}:
        yield "the table is gone"
    for model in listed if action != "train" else template.models:
        if said(space, model) != template.fingerprint:
            yield f"model {model} says something else"
    for table in space.tables.listed():
        if len(space.tables.read(table.id)) != table.rows:
            yield f"table {table.id} is not whole"
    yield from (f"left: {path.name}" for path in root.rglob("*") if TEMPORARY.fullmatch(path.name))
    if sweep(space, timedelta(0), anyway=True) != Swept():
        yield f"the sweep is never done: {again}"
    if not starts(root, sorted(template.models)[0]):
        yield "the app does not start"


def starts(root: Path, model: str) -> bool:
    """Return whether the app shows the models of the project of one."""
    os.environ |= {"GAMCORE_WORKSPACE": str(root), "GAMCORE_WARM_UP": "0"}
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["model"] = model
    shown = app.run().switch_page("pages/models.py").run()
    return not shown.exception and bool(shown.dataframe)


def kill_once(place: Path, template: Template, action: str, rng: np.random.Generator) -> list[str]:
    """Kill once, and return what is wrong afterwards."""
    root = place / "space"
    shutil.copytree(template.now, root)
    seed, wait = int(rng.integers(2**31)), float(rng.uniform(0, ACTIONS[action]))
    victim = fork(lambda: act(action, root, template, seed))
    time.sleep(wait)
    worker = _worker(root) if action == "train" and rng.random() < 0.5 else None
    if worker is not None:
        os.kill(worker, signal.SIGKILL)
        time.sleep(float(rng.uniform(0, 1.0)))
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    troubles = list(problems(root, template, action))
    meta.forget(root)
    keeper.forget(root)
    if not troubles:
        shutil.rmtree(root)
    return troubles


def _worker(root: Path) -> int | None:
    """Return the worker's process id, or None if it has not started."""
    for folder in (root / "jobs").glob("[0-9a-f]*"):
        process = child.process_of(folder)
        if process is not None:
            return int(process.pid)
    return None


def kill(kills: int, seed: int, tell: Callable[[str], None] = print, actions: tuple[str, ...] = tuple(ACTIONS)) -> int:
    """Kill `kills` times, and return the number of kills that left something wrong."""
    rng, bad, done = np.random.default_rng(seed), 0, Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        template = make_template(Path(name) / "template")
        for k in range(kills):
            action = actions[k % len(actions)]
            place = Path(name) / str(k)
            place.mkdir()
            troubles = kill_once(place, template, action, rng)
            done[action] += 1
            bad += bool(troubles)
            for problem in troubles:
                tell(f"kill {k} in {action}: {problem}")
    counts = ", ".join(f"{n} in {action}" for action, n in sorted(done.items()))
    tell(f"{kills} kills ({counts}): {bad} left something wrong")
    return bad
