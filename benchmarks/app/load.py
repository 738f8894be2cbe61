"""Many users at once on a real server, while models are trained: `python -m benchmarks.app.load --json FILE`.

A workspace with the guided example, a model of pairs and one of tasks; a user who visits every page, to fill the
server's caches; then sessions over the websocket, each with an action every ten seconds, while trainings follow one
another in the background. A soak is the same for longer, with users who leave and return. This process drives the
users on the same machine, so its own processor seconds are reported too.

Goals: no error, p95 of a rerun under 2 s, less than 2 MiB per session, and no thread per session left once all have
gone. A soak goes on until the server has forgotten what it computed: its memory is then within 5% of the level before
the users.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.app.load_report import Level, Load, actions, by_page, errors, lines, memory, quantiles, ticks
from benchmarks.app.users import BACKGROUND, look_around, use
from benchmarks.harness.cells import Cell, keep
from benchmarks.harness.machine import describe
from shapewise.access.permissions import Person
from shapewise.decisions import boards as board
from shapewise.decisions import guided_example as example
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.training.train import train
from shapewise.ui.session.memory import IDLE_SECONDS, SECONDS
from tests.support.serving import LOG, Server
from tests.support.sessions import Session

TTL = 120.0
"""Seconds for which streamlit keeps a session whose browser has gone."""

LOOKS = 3 * SECONDS
"""Seconds in which the server notices that the time of a session, or of its caches, is over."""

PATIENCE = 15.0
"""Seconds for the threads of sessions that have left to end."""

MIB = 2.0**20
OTHER = Person(BACKGROUND, BACKGROUND, "editor")
KEPT = 3
"""Number of background models that are kept: no real registry grows by one every few seconds."""

FILLERS, FILLING = 6, 180.0
"""Users and seconds to fill the caches before growth is measured: a thousand actions fill them."""


def level(process: psutil.Process) -> Level:
    """Return the server's present level."""
    with process.oneshot():
        spent = process.cpu_times()
        return Level(
            time.monotonic(), process.memory_info().rss / MIB, process.num_threads(), spent.user + spent.system
        )


def prepared(space: Workspace, changes: dict[str, Any] | None = None) -> Spec:
    """Set up the guided example with its models, and return the settings of the background training.

    changes : of those settings, which by default train for ten to twenty seconds.
    """
    table = example.load(space, example.FUNNEL)
    columns = list(space.tables.read(table.id).columns)
    for name, target, more in (
        ("housing.csv", "price_thousand", {"changes": {"interactions": 2}}),
        ("loans.csv", "default", {"positive": ["yes"], "kind": "tasks", "task": "product"}),
    ):
        other = example.load(space, name)
        features = [c for c in space.tables.read(other.id).columns if c not in (target, more.get("task"))]
        train(space, Spec(other.id, target, name, features, preset="fast", **more), 2)
    while example.train_next(space, table, columns, 2):
        pass
    guided_board = example.make_board(space, space.tables.about(table.id))
    outcome = example.outcome_of(example.load(space, example.OUTCOME))
    board.change(space, guided_board.id, plan=example.plan_of(guided_board), outcome=outcome)
    # Owned by another user, so that no page lists these models, which come and go.
    other = space.seen_by(OTHER).tables.add(space.tables.read(table.id), BACKGROUND)
    spec = replace(example.spec(other, columns, example.PARTS[0]), name=BACKGROUND, preset="accurate")
    return replace(spec, changes={"outer_bags": 48} if changes is None else changes)


async def trainings(space: Workspace, spec: Spec, seconds: float, n_jobs: int) -> list[runs.Run]:
    """Train one model after the other, and return the runs that ended in time, failed ones included."""
    end, ended, space = time.monotonic() + seconds, list[runs.Run](), space.seen_by(OTHER)
    while time.monotonic() < end:
        run = runs.read(space, await asyncio.to_thread(runs.start, space, spec, n_jobs))
        while run.goes_on and time.monotonic() < end:
            await asyncio.sleep(0.5)
            run = await asyncio.to_thread(runs.read, space, run.id)
        if run.goes_on:
            await asyncio.to_thread(runs.cancel, space, run.id)
        else:
            ended.append(run)
        for old in [ended_run.model for ended_run in ended[:-KEPT] if ended_run.model]:
            with contextlib.suppress(StoreError):  # gone with the run before
                space.delete("models", old)
    return ended


async def watched(process: psutil.Process, seconds: float) -> list[Level]:
    """Return the server's levels, one per second."""
    end, levels = time.monotonic() + seconds, [level(process)]
    while time.monotonic() < end - 1.5:  # take the last one before any user leaves
        await asyncio.sleep(1.0)
        levels.append(level(process))
    return levels


async def quiet(process: psutil.Process, warm: Level, after: float) -> Level:
    """Return the level once the threads are back to their warm number, or after `after` seconds."""
    end = time.monotonic() + after
    while time.monotonic() < end and level(process).threads > warm.threads:
        await asyncio.sleep(0.5)
    return level(process)


async def forgotten(process: psutil.Process, warm: Level) -> Level:
    """Return the level once the server has ended the sessions of all who left, and forgotten what it computed."""
    await asyncio.sleep(TTL + IDLE_SECONDS + LOOKS)
    return await quiet(process, warm, PATIENCE)


async def drive(server: Server, space: Workspace, spec: Spec, load: Load, n_jobs: int) -> Cell:
    """Run the load on a server that has just started, and return the results."""
    process = psutil.Process(server.process.pid)
    start, first = level(process), Session(server.address)
    models = [model.id for model in space.models.listed()]
    await look_around(first, models[0], load.first)
    early = [Session(server.address) for _ in range(FILLERS if load.filling else 0)]
    await asyncio.gather(*(use(session, 1000 + k, models[k % len(models)], load.filling, 1.0, math.inf)
                           for k, session in enumerate(early)))  # fmt: skip
    await asyncio.sleep(1.0)
    warm, own = level(process), time.process_time()
    sessions = [Session(server.address) for _ in range(load.sessions)]
    manner = load.seconds, load.every, load.stay
    users = [use(session, k, models[k % len(models)], *manner) for k, session in enumerate(sessions)]
    work = watched(process, load.seconds), trainings(space, spec, load.seconds, n_jobs)
    levels, ended, *fates = await asyncio.gather(*work, *users, return_exceptions=True)
    for part in (levels, ended):
        if isinstance(part, BaseException):
            raise part
    own = time.process_time() - own
    left = await quiet(process, warm, PATIENCE)
    if load.forget:
        left = await forgotten(process, warm)
        await look_around(returned := Session(server.address), models[0], changes=0)
        first.reruns += returned.reruns
    reruns = [rerun for session in sessions for rerun in session.reruns]
    before = [rerun for session in (first, *early) for rerun in session.reruns]
    failures = errors([*before, *reruns], fates, ended, server.space / LOG)
    return {
        "load": asdict(load), "reruns": quantiles(actions(reruns)), "ticks": quantiles(ticks(reruns)),
        "pages": by_page(actions(reruns)), "first": by_page(first.reruns), "errors": failures,
        "fits": [run.state for run in ended], **memory(start, warm, levels, left, load),
        "client_seconds": own,
    }  # fmt: skip


def run(load: Load, changes: dict[str, Any] | None = None, n_jobs: int = 2) -> Cell:
    """Run a load on a fresh server with a fresh workspace, and return the results.

    n_jobs : threads of the trainings. changes : of their settings.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a worker may still write its end
        space = Workspace(Path(folder))
        spec = prepared(space, changes)
        server = Server(space.root)
        try:
            server.ready()
            return asyncio.run(drive(server, space, spec, load, n_jobs))
        finally:
            server.stop()


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300.0, help="of the load; 0 leaves it out")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two actions of a user")
    parser.add_argument("--soak-minutes", type=float, default=20.0, help="0 leaves the soak out")
    parser.add_argument("--soak-sessions", type=int, default=20)
    parser.add_argument("--json", type=Path, help="file of the result")
    asked = parser.parse_args()
    loads = {
        "load": Load(asked.sessions, asked.seconds, asked.every, filling=FILLING),
        "soak": Load(
            asked.soak_sessions, 60 * asked.soak_minutes, asked.every, stay=120.0, forget=True, filling=FILLING
        ),
    }
    cells: dict[str, Cell] = {}
    for name, load in loads.items():
        if load.seconds:
            cells[name] = run(load) | {"machine": describe("streamlit", "websockets")}
            print("\n".join(lines(name, cells[name])), flush=True)
    if asked.json:
        keep(asked.json, cells)


if __name__ == "__main__":
    main()
