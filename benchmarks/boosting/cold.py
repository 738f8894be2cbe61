"""The first fit on a machine: `python -m benchmarks.boosting.cold [--against DIR] [--json FILE]`.

CPU seconds that a first fit costs beyond a second one, 5,000 rows and 10 features, one job: a classifier, pairs after
it, several tasks after those, and in another process a regressor. Each run has processes of its own and an empty cache
of kernels ("cold"), and then once more with the cache it filled ("warm"). Steady speed is a default fit of 20,000 rows
with everything compiled.

With `--against`, another checkout is measured in turn with this one. Every figure is the least of its runs, since other
work on the machine only adds; its load is printed. EBM and LightGBM are measured where they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from benchmarks.harness.watch import Watch

ROOT = Path(__file__).parents[2]
HERE, OTHER = "this", "other"
CHAINS = (("classifier", "pairs", "tasks"), ("regressor",))
STEADY = ("classifier", "regressor", "pairs", "tasks")
PEERS = {"EBM": "interpret", "LightGBM": "lightgbm"}

Taken = dict[tuple[str, str, str], float]
"""CPU seconds by version, state of the cache and kind of fit."""


def measure(checkout: Path, cache: str, arguments: Iterable[str]) -> dict[str, float]:
    """Run `cold_fit` in a new process with the library of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "GAMCORE_CACHE_DIR": cache}
    command = [sys.executable, "-P", str(Path(__file__).with_name("cold_fit.py")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=cache)
    return dict(json.loads(done.stdout))


def merge(least: Taken, version: str, state: str, seconds: dict[str, float]) -> None:
    """Keep the least of all runs so far."""
    for kind, value in seconds.items():
        at = (version, state, kind)
        least[at] = min(value, least.get(at, float("inf")))


def run_all(checkouts: dict[str, Path], repeats: int) -> Taken:
    """Measure the versions in turn: cold, warm, then steady."""
    least: Taken = {}
    for number in range(repeats):
        for version, checkout in list(checkouts.items())[:: 1 if number % 2 == 0 else -1]:
            with tempfile.TemporaryDirectory() as cache:
                for chain in CHAINS:
                    with tempfile.TemporaryDirectory() as empty:
                        merge(least, version, "cold", measure(checkout, empty, chain))
                        merge(least, version, "warm", measure(checkout, empty, chain))
                merge(least, version, "steady", measure(checkout, cache, ("steady", *STEADY)))
    return least


def peers(repeats: int) -> Taken:
    """Measure the first fits of other libraries, which have nothing to compile."""
    least: Taken = {}
    for name, package in PEERS.items():
        for _ in range(repeats if find_spec(package) else 0):
            with tempfile.TemporaryDirectory() as empty:
                merge(least, name, "cold", measure(ROOT, empty, (name,)))
    return least


def table(least: Taken) -> pd.DataFrame:
    """Return a row per state and kind, a column per version, and the share of the other version's seconds."""
    frame = pd.Series(least).unstack(0)  # noqa: PD010
    frame.index.names = ["cache", "first"]
    if {HERE, OTHER} <= set(frame.columns):
        frame["share"] = frame[HERE] / frame[OTHER]
    return frame


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    checkouts = {HERE: ROOT} | ({OTHER: asked.against.resolve()} if asked.against else {})
    with Watch() as watch:
        least = run_all(checkouts, asked.repeats)
        frame = table(least | peers(asked.repeats))
    if asked.json:
        keep(
            asked.json,
            {"machine": describe(), "others_cores": watch.others, "seconds": frame.reset_index().to_dict("records")},
        )
    print(f"CPU seconds, least of {asked.repeats}; other work took {watch.others:.1f} cores meanwhile")
    print(frame.to_string(float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
