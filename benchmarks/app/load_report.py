"""Results of a load test: seconds, errors, growth, and the goals that were missed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.harness.cells import Cell
from shapewise.training.runs import Run
from tests.support.sessions import Rerun

P95, MIB_A_SESSION, KEPT = 2.0, 2.0, 1.05
"""Goals: seconds of a rerun, growth in MiB, and what may be kept of the memory when warm, once a soak is over."""

WARM = 0.25
"""Share of a run that is excluded from the estimate of memory growth."""

MOST = 200
"""Maximum length of a reported error."""


@dataclass(frozen=True)
class Load:
    """How many users come, for how long, and how they behave.

    every : seconds between two actions. stay : mean seconds until a user leaves and returns. forget : whether the
        server is measured only after it has forgotten what it computed. first : changes per page by the first user.
    filling : seconds for which a few users then fill the bounded caches before growth is measured.
    """

    sessions: int
    seconds: float
    every: float
    stay: float = math.inf
    forget: bool = False
    first: int = 3
    filling: float = 0.0


@dataclass(frozen=True)
class Level:
    """Resources of the server: resident memory, threads, and processor seconds so far."""

    at: float
    mib: float
    threads: int
    seconds: float


def actions(reruns: Iterable[Rerun]) -> list[Rerun]:
    """Return the reruns that a user requested."""
    return [rerun for rerun in reruns if rerun.kind != "tick"]


def ticks(reruns: Iterable[Rerun]) -> list[Rerun]:
    """Return the reruns that a page requested to show the progress of a training."""
    return [rerun for rerun in reruns if rerun.kind == "tick"]


def quantiles(reruns: list[Rerun]) -> dict[str, float]:
    """Return the number of reruns and their seconds: p50, p95, p99, max."""
    seconds = [rerun.seconds for rerun in reruns]
    values = np.quantile(seconds, [0.5, 0.95, 0.99, 1.0]) if seconds else np.full(4, np.nan)
    return {"n": len(seconds), **dict(zip(("p50", "p95", "p99", "max"), map(float, values), strict=True))}


def by_page(reruns: list[Rerun]) -> dict[str, dict[str, float]]:
    """Return the quantiles of each page's reruns."""
    pages = sorted({rerun.page for rerun in reruns})
    return {page: quantiles([rerun for rerun in reruns if rerun.page == page]) for page in pages}


def errors(reruns: list[Rerun], fates: list[object], ended: list[Run], log: Path) -> list[str]:
    """Return all errors: on pages, of users, in trainings and in the server's log."""
    words = [f"{rerun.page}, {rerun.kind} {rerun.what!r}: {error}" for rerun in reruns for error in rerun.errors]
    words += [f"A user stopped: {fate!r}" for fate in fates if isinstance(fate, BaseException)]
    words += [f"A training {run.state}: {run.message}" for run in ended if run.state != "done"]
    written = log.read_text(encoding="utf-8", errors="replace")
    return words + [f"The server's log: {trace}" for trace in traces(written)]


def traces(log: str) -> list[str]:
    """Return the error of each traceback in a log, with the last place in a page, or else the last place."""
    lines, place = list[str](), ""
    for line in log.partition("Traceback")[2].splitlines():
        if line.startswith("  File ") and ("/pages/" in line or "/pages/" not in place):
            place = line.strip()
        elif place and line and not line[0].isspace():
            lines, place = [*lines, f"{place}: {line[:MOST]}"], ""
    return lines


def memory(start: Level, warm: Level, levels: list[Level], left: Level, load: Load) -> Cell:
    """Return the server's levels and its growth per session and, by least squares after the warm-up, per minute."""
    late = [level for level in levels if level.at >= levels[0].at + WARM * load.seconds]
    minutes = [(level.at - warm.at) / 60 for level in late]
    slope = float(np.polyfit(minutes, [level.mib for level in late], 1)[0]) if len(late) > 1 else math.nan
    return {
        "start": asdict(start), "warm": asdict(warm), "loaded": asdict(levels[-1]), "left": asdict(left),
        "mib_a_session": (levels[-1].mib - warm.mib) / load.sessions, "mib_a_minute": slope,
        "most_threads": max(level.threads for level in levels), "server_seconds": levels[-1].seconds - warm.seconds,
        "levels": [(round(level.at - levels[0].at, 1), round(level.mib, 1), level.threads) for level in levels],
    }  # fmt: skip


def missed(cell: Cell) -> list[str]:
    """Return the goals that were missed, in words."""
    p95, left = cell["reruns"]["p95"], cell["left"]["threads"] - cell["warm"]["threads"]
    most_left = cell["load"]["sessions"] / 2  # pools begin threads when they need them; a leak is one for each session
    soak, session = cell["load"]["forget"], cell["mib_a_session"]
    kept = cell["left"]["mib"] / cell["warm"]["mib"]
    counts = {
        f"{len(cell['errors'])} errors": bool(cell["errors"]),
        f"p95 of {p95:.2f} s": not p95 < P95,
        f"{session:.2f} MiB a session": not soak and not session < MIB_A_SESSION,
        f"{kept:.2f} times the memory when warm is kept": soak and not kept <= KEPT,
        f"{left} threads left": left > most_left,
    }
    return [words for words, bad in counts.items() if bad]


def lines(name: str, cell: Cell) -> list[str]:
    """Return the figures as they are printed."""
    load, machine = cell["load"], cell["machine"]
    where = ", ".join(f"{key} {value}" for key, value in machine.items())
    rows = [
        f"{name}: {load['sessions']} sessions, {load['seconds']:.0f} s, an action every {load['every']:.0f} s",
        where,
        f"{len(cell['errors'])} errors, {len(cell['fits'])} trainings ended",
        f"{'':12}{'n':>6}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>8}  seconds",
    ]
    for page, timings in {"all": cell["reruns"], "ticks": cell["ticks"], **cell["pages"]}.items():
        seconds = "".join(f"{timings[key]:8.2f}" for key in ("p50", "p95", "p99", "max"))
        rows.append(f"{page:12}{timings['n']:6}{seconds}")
    for key in ("start", "warm", "loaded", "left"):
        rows.append(f"{key:12}{cell[key]['mib']:8.1f} MiB {cell[key]['threads']:4} threads")
    rows.append(
        f"{cell['mib_a_session']:.2f} MiB a session, {cell['mib_a_minute']:+.2f} MiB a minute after the warm-up, "
        f"at most {cell['most_threads']} threads; processor seconds: server {cell['server_seconds']:.0f}, users "
        f"{cell['client_seconds']:.0f}"
    )
    rows.append(f"goals missed: {'; '.join(missed(cell)) or 'none'}")
    return rows + [f"  {error}" for error in cell["errors"][:50]]
