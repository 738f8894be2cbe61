"""Many changed model files, opened by two child processes.

Files are the golden ones of every schema and kind, changed at every level (`tests.support.mutants`); the children
(`tests.support.opening`) take turns, and the kernels of one check their indices (NUMBA_BOUNDSCHECK), since a compiled
loop reads beyond an array in silence. A file may be refused in words, or open and behave: predict, explain, be written
and read again to the same bits. All else is a finding: another error, a crash, no answer for a while, an event that no
file needs, more than 64 MiB and eight times the file allocated.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, Any

import psutil

from tests.support.places import ROOT
from tests.support.stuck import Watch

FINE = ("refused", "opened")
SECONDS = 30.0  # of a processor, as on the others: a kernel may be compiled for what is computed
SECONDS_TO_BEGIN = 300.0
MOST, TIMES = 64 * 2**20, 8
LANES = 2

Outcome = dict[str, Any]


def start(seed: int, first: int, levels: Sequence[str], checked: str, errors: IO[str]) -> subprocess.Popen[str]:
    """Return a child that opens every other file from the first on; `checked`: where kernels that check indices are
    kept. They are compiled for this child alone, so without optimization, which takes longer than they run."""
    changes = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "0", "GAMCORE_CACHE_DIR": checked} if checked else {}
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "tests.support.opening",
         str(seed), str(first), str(LANES), *levels],
        cwd=ROOT, env=os.environ | changes, stdout=subprocess.PIPE, stderr=errors, text=True,
    )  # fmt: skip


@contextmanager
def lines(child: subprocess.Popen[str]) -> Iterator[queue.Queue[str]]:
    """Yield a queue of a child's lines, which an empty one ends, and kill the child on exit."""
    coming: queue.Queue[str] = queue.Queue()

    def read(stream: IO[str]) -> None:
        for line in stream:
            coming.put(line)
        coming.put("")

    reader = threading.Thread(target=read, args=(child.stdout,), daemon=True)
    reader.start()
    try:
        yield coming
    finally:
        child.kill()
        reader.join()  # before its stream is closed


def follow(child: subprocess.Popen[str], coming: queue.Queue[str], first: int) -> Iterator[Outcome]:
    """Yield a child's results, file by file, and last the file at which it ended or hung."""
    number, seconds = first, SECONDS_TO_BEGIN
    while True:
        watch, line = Watch(lambda: psutil.Process(child.pid), seconds), None
        while line is None and not watch.is_over():
            with suppress(queue.Empty):
                line = coming.get(timeout=0.5)
        if line is None:
            yield {"number": number, "outcome": "stood still", "message": f"No answer within {seconds:g} s."}
            return
        seconds = SECONDS
        if not line:
            yield {"number": number, "outcome": "crashed", "message": f"The process ended with {child.wait()}."}
            return
        if line.startswith("{"):
            yield json.loads(line)
        else:
            number = int(line)


def judged(result: Outcome) -> Outcome:
    """Return a child's result, with too much memory as a separate outcome."""
    if result["outcome"] in FINE and result["peak"] > MOST + TIMES * result["bytes"]:
        message = f"{result['peak']:,} bytes for a file of {result['bytes']:,}"
        return result | {"outcome": "too much memory", "message": message}
    return result


def say(results: list[Outcome]) -> None:
    """Print the progress of a lane."""
    number = results[-1]["number"]
    print(f"to {number:,} by {LANES}: {len(findings(results))} findings", file=sys.stderr, flush=True)


def lane(seed: int, first: int, count: int, levels: Sequence[str], checked: str) -> list[Outcome]:
    """Return every other file from the first on, by as many children as it takes."""
    results: list[Outcome] = []
    while first < count:
        with tempfile.TemporaryFile("w+") as errors, start(seed, first, levels, checked, errors) as child:
            with lines(child) as coming:
                for result in follow(child, coming, first):
                    results.append(judged(result))
                    if findings(results[-1:]):
                        print(results[-1], file=sys.stderr, flush=True)
                    if len(results) % 500 == 0:
                        say(results)
                    first = result["number"] + LANES
                    if first >= count:
                        break
            if results[-1]["outcome"] == "crashed":
                errors.seek(0)
                results[-1]["message"] += " " + errors.read()[-500:]
    return results


def run(count: int, seed: int, levels: Sequence[str] = ()) -> list[Outcome]:
    """Return the outcomes of files 0 to count - 1."""
    with tempfile.TemporaryDirectory() as checked, ThreadPoolExecutor(LANES) as pool:
        lanes = [pool.submit(lane, seed, k, count, levels, checked if k else "") for k in range(LANES)]
        return sorted((result for one in lanes for result in one.result()), key=lambda result: result["number"])


def findings(results: list[Outcome]) -> list[Outcome]:
    """Return the files that were neither refused nor fine."""
    return [one for one in results if one["outcome"] not in FINE]
