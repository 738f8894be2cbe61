"""Many users at once on a real server, while models are trained: `python -m benchmarks.load --json FILE`.

A workspace with the guided example, a model of pairs and one of tasks; a user that visits every page, so that what the
server keeps once is there; then sessions over the websocket, each with an action every ten seconds, while trainings
follow one another in the background. A soak is the same for longer, with users that leave and come back. Users are
driven from this process, on the same machine: its own seconds are told as well.

Goals: no error, p95 of a rerun under 2 s, less than 2 MB a session; in the soak no growth after the warm-up, and no
thread left once all have gone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.cells import Cell, keep
from benchmarks.machine import describe
from benchmarks.sessions import Rerun, Session
from benchmarks.users import look_around, use
from gamcore.workspace import board, example, runs
from gamcore.workspace.spec import Spec
from gamcore.workspace.store import StoreError, Workspace
from gamcore.workspace.training import train
from tests.serving import LOG, Server

TTL = 120.0
"""Seconds for which streamlit keeps a session whose browser has gone."""

MIB = 2.0**20
KEPT = 3
"""Models of the background that stay: a registry that grows by one every few seconds is nobody's."""

WARM = 0.25
"""The share of a run before its memory is looked at for growth."""


@dataclass(frozen=True)
class Load:
    """How many users come, for how long, and how they behave.

    every : seconds between two actions. stay : until one leaves and comes back, on average. after : seconds to wait at
        the end, at most, for threads to end; all of it where sessions are to be forgotten meanwhile.
    """

    sessions: int
    seconds: float
    every: float
    stay: float = math.inf
    after: float = 15.0


@dataclass(frozen=True)
class Level:
    """What the server holds: resident memory, threads, and processor seconds so far."""

    at: float
    mib: float
    threads: int
    seconds: float


def level(process: psutil.Process) -> Level:
    """The server now."""
    with process.oneshot():
        spent = process.cpu_times()
        return Level(
            time.monotonic(), process.memory_info().rss / MIB, process.num_threads(), spent.user + spent.system
        )


def prepared(space: Workspace, changes: dict[str, Any] | None = None) -> Spec:
    """The guided example with its plan and read-out, models of pairs and of tasks; what the background trains.

    changes : of the background's settings, which take about half a minute on two cores as they are.
    """
    table = example.load(space, example.FUNNEL)
    columns = list(space.read_table(table.id).columns)
    for name, target, more in (
        ("housing.csv", "price_thousand", {"changes": {"interactions": 2}}),
        ("loans.csv", "default", {"positive": ["yes"], "kind": "tasks", "task": "product"}),
    ):
        other = example.load(space, name)
        features = [c for c in space.read_table(other.id).columns if c not in (target, more.get("task"))]
        train(space, Spec(other.id, target, name, features, preset="fast", **more), 2)
    while example.train_next(space, table, columns, 2):
        pass
    made = example.make_board(space, space.table(table.id))
    outcome = example.outcome_of(example.load(space, example.OUTCOME))
    board.change(space, made.id, plan=example.plan_of(made), outcome=outcome)
    spec = replace(example.spec(table, columns, example.PARTS[0]), name="background", preset="accurate")
    return replace(spec, changes={"outer_bags": 48} if changes is None else changes)


async def trainings(space: Workspace, spec: Spec, seconds: float, n_jobs: int) -> list[runs.Run]:
    """Train one model after the other; those that ended, however, before the time was up."""
    end, ended = time.monotonic() + seconds, list[runs.Run]()
    while time.monotonic() < end:
        run = runs.read(space, await asyncio.to_thread(runs.start, space, spec, n_jobs))
        while run.state == "running" and time.monotonic() < end:
            await asyncio.sleep(0.5)
            run = await asyncio.to_thread(runs.read, space, run.id)
        if run.state == "running":
            await asyncio.to_thread(runs.cancel, space, run.id)
        else:
            ended.append(run)
        for old in [one.model for one in ended[:-KEPT] if one.model]:
            with contextlib.suppress(StoreError):  # gone with the run before
                space.delete("models", old)
    return ended


async def watched(process: psutil.Process, seconds: float) -> list[Level]:
    """Levels, one a second."""
    end, found = time.monotonic() + seconds, [level(process)]
    while time.monotonic() < end - 1.5:  # the last one is seen before anybody leaves
        await asyncio.sleep(1.0)
        found.append(level(process))
    return found


async def quiet(process: psutil.Process, start: Level, load: Load) -> Level:
    """The server once all have gone: when its threads are as many as at the start, or after the time allowed.

    After the time that sessions are kept, somebody comes once more: expired ones are dropped when another is stored.
    """
    end = time.monotonic() + load.after
    while time.monotonic() < end and (load.after > TTL or level(process).threads > start.threads):
        await asyncio.sleep(0.5)
    return level(process)


async def drive(server: Server, space: Workspace, spec: Spec, load: Load, n_jobs: int) -> Cell:
    """The whole run on a server that has just started; what was found."""
    process = psutil.Process(server.process.pid)
    start, first = level(process), Session(server.address)
    await look_around(first)
    await asyncio.sleep(1.0)
    warm, own = level(process), time.process_time()
    sessions = [Session(server.address) for _ in range(load.sessions)]
    users = [use(one, k, load.seconds, load.every, load.stay) for k, one in enumerate(sessions)]
    levels, ended, *fates = await asyncio.gather(
        watched(process, load.seconds), trainings(space, spec, load.seconds, n_jobs), *users, return_exceptions=True
    )
    for found in (levels, ended):
        if isinstance(found, BaseException):
            raise found
    own = time.process_time() - own
    left = await quiet(process, start, load)
    if load.after > TTL:
        await look_around(last := Session(server.address), changes=0)
        first.reruns += last.reruns
        await asyncio.sleep(15.0)
        left = level(process)
    reruns = [rerun for one in sessions for rerun in one.reruns]
    told = errors([*first.reruns, *reruns], fates, ended, server.space / LOG)
    return {
        "load": asdict(load), "reruns": quantiles(actions(reruns)), "ticks": quantiles(ticks(reruns)),
        "pages": by_page(actions(reruns)), "first": by_page(first.reruns), "errors": told,
        "fits": [run.state for run in ended], **memory(start, warm, levels, left, load),
        "client_seconds": own,
    }  # fmt: skip


def actions(reruns: Iterable[Rerun]) -> list[Rerun]:
    """Those that a user asked for."""
    return [rerun for rerun in reruns if rerun.kind != "tick"]


def ticks(reruns: Iterable[Rerun]) -> list[Rerun]:
    """Those that a page asked for by itself, to show how a training goes on."""
    return [rerun for rerun in reruns if rerun.kind == "tick"]


def quantiles(reruns: list[Rerun]) -> dict[str, float]:
    """How many, and seconds: p50, p95, p99, max."""
    seconds = [rerun.seconds for rerun in reruns]
    found = np.quantile(seconds, [0.5, 0.95, 0.99, 1.0]) if seconds else np.full(4, np.nan)
    return {"n": len(seconds), **dict(zip(("p50", "p95", "p99", "max"), map(float, found), strict=True))}


def by_page(reruns: list[Rerun]) -> dict[str, dict[str, float]]:
    """The quantiles of each page's reruns."""
    pages = sorted({rerun.page for rerun in reruns})
    return {page: quantiles([rerun for rerun in reruns if rerun.page == page]) for page in pages}


def errors(reruns: list[Rerun], fates: list[object], ended: list[runs.Run], log: Path) -> list[str]:
    """Everything that went wrong: on a page, with a user, in a training, in the server's log."""
    told = [f"{one.page}, {one.kind} {one.what!r}: {error}" for one in reruns for error in one.errors]
    told += [f"A user stopped: {fate!r}" for fate in fates if isinstance(fate, BaseException)]
    told += [f"A training {run.state}: {run.message}" for run in ended if run.state != "done"]
    return told + [f"The server's log: {trace}" for trace in traces(log.read_text(encoding="utf-8", errors="replace"))]


def traces(log: str) -> list[str]:
    """Of each traceback in a log, the last place and the error."""
    found, place = list[str](), ""
    for line in log.partition("Traceback")[2].splitlines():
        if line.startswith("  File "):
            place = line.strip()
        elif place and line and not line[0].isspace():
            found, place = [*found, f"{place}: {line}"], ""
    return found


def memory(start: Level, warm: Level, levels: list[Level], left: Level, load: Load) -> Cell:
    """Levels of the server, and its growth: a session, and a minute after the warm-up by least squares."""
    late = [one for one in levels if one.at >= levels[0].at + WARM * load.seconds]
    minutes = [(one.at - warm.at) / 60 for one in late]
    slope = float(np.polyfit(minutes, [one.mib for one in late], 1)[0]) if len(late) > 1 else math.nan
    return {
        "start": asdict(start), "warm": asdict(warm), "loaded": asdict(levels[-1]), "left": asdict(left),
        "mib_a_session": (levels[-1].mib - warm.mib) / load.sessions, "mib_a_minute": slope,
        "most_threads": max(one.threads for one in levels), "server_seconds": levels[-1].seconds - warm.seconds,
        "levels": [(round(one.at - levels[0].at, 1), round(one.mib, 1), one.threads) for one in levels],
    }  # fmt: skip


def run(load: Load, changes: dict[str, Any] | None = None, n_jobs: int = 2) -> Cell:
    """A load on a fresh server with a fresh workspace.

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


def lines(name: str, cell: Cell) -> list[str]:
    """The figures as they are printed."""
    load, machine = cell["load"], cell["machine"]
    where = ", ".join(f"{key} {value}" for key, value in machine.items())
    told = [
        f"{name}: {load['sessions']} sessions, {load['seconds']:.0f} s, an action every {load['every']:.0f} s; {where}",
        f"{len(cell['errors'])} errors, {len(cell['fits'])} trainings ended",
        f"{'':12}{'n':>6}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>8}  seconds",
    ]
    for page, found in {"all": cell["reruns"], "ticks": cell["ticks"], **cell["pages"]}.items():
        told.append(f"{page:12}{found['n']:6}" + "".join(f"{found[key]:8.2f}" for key in ("p50", "p95", "p99", "max")))
    for key in ("start", "warm", "loaded", "left"):
        told.append(f"{key:12}{cell[key]['mib']:8.1f} MiB {cell[key]['threads']:4} threads")
    told.append(
        f"{cell['mib_a_session']:.2f} MiB a session, {cell['mib_a_minute']:+.2f} MiB a minute after the warm-up, at "
        f"most {cell['most_threads']} threads; processor seconds: server {cell['server_seconds']:.0f}, users "
        f"{cell['client_seconds']:.0f}"
    )
    return told + [f"  {error}" for error in cell["errors"][:50]]


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
        "load": Load(asked.sessions, asked.seconds, asked.every),
        "soak": Load(asked.soak_sessions, 60 * asked.soak_minutes, asked.every, stay=120.0, after=TTL + 10.0),
    }
    found: dict[str, Cell] = {}
    for name, load in loads.items():
        if load.seconds:
            found[name] = run(load) | {"machine": describe("streamlit", "websockets")}
            print("\n".join(lines(name, found[name])), flush=True)
    if asked.json:
        keep(asked.json, found)


if __name__ == "__main__":
    main()
