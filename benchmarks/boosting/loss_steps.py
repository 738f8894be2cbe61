"""CPU nanoseconds per row of a step, by loss: `python -m benchmarks.boosting.loss_steps [--rows N ...] [--json FILE]`.

Losses take turns, each turn a process of its own that boosts whole steps in one thread on the same synthetic table, so
that other work on the machine meets all of them alike. Reported are medians over turns, and medians of the ratios to
the reference within a turn: squared loss for those with one channel, logistic for those with two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from benchmarks.harness.synthetic import (
    DEFAULTS,
    LOSSES,
    NEVER,
    grouped,
    make_settings,
    make_table,
    make_workload,
    no_course,
)
from gamcore.boosting.counts.bin_pairs import ROW_GROUPS

FEATURES = 10
N_BAGS = 16
REFERENCE = {"squared": "squared", "poisson": "squared", "gamma": "squared", "logistic": "logistic",
             "tweedie": "logistic", "quantile": "logistic"}  # fmt: skip


def step_nanoseconds(name: str, n_rows: int, seconds: float) -> float:
    """Return the CPU nanoseconds per row of a step, over about `seconds` of them, at least one call."""
    loss = LOSSES[name]
    work = make_workload(make_table(n_rows, FEATURES, ROW_GROUPS), loss)
    settings = make_settings(loss, N_BAGS)._replace(learning_rate=1e-6)  # states stay those of a usual fit
    rounds, course = grouped(work, settings, DEFAULTS.subsample), no_course(work)
    rounds.run(settings, 0, NEVER, course, 2)
    began, ran = time.process_time(), 0
    while not ran or time.process_time() - began < seconds:
        ran += rounds.run(settings, 0, NEVER, course, 8)[0]
    return 1e9 * (time.process_time() - began) / (ran * FEATURES * n_rows)


def turn(n_rows: int, seconds: float) -> dict[str, float]:
    """Return the nanoseconds of each loss, each measured in a process of its own."""
    times = {}
    for name in LOSSES:
        command = [sys.executable, "-m", "benchmarks.boosting.loss_steps", "--one", name, "--rows", str(n_rows)]
        # Our own interpreter and module.
        done = subprocess.run([*command, "--seconds", str(seconds)], capture_output=True, check=True)
        times[name] = float(json.loads(done.stdout))
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[12_800, 150_000])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of a loss in a turn")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", choices=list(LOSSES), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(step_nanoseconds(asked.one, asked.rows[0], asked.seconds)))
        return
    points = []
    for n_rows in asked.rows:
        turns = pd.DataFrame([turn(n_rows, asked.seconds) for _ in range(asked.turns)])
        for name, reference in REFERENCE.items():
            ratios = turns[name] / turns[reference]
            low, high = np.quantile(ratios, [0.25, 0.75])
            about = {"rows": n_rows, "loss": name, "CPU ns a row": turns[name].median(), "against": reference}
            points.append(about | {"ratio": ratios.median(), "quartiles": f"{low:.2f} - {high:.2f}"})
    if asked.json:
        keep(asked.json, {"machine": describe(), "points": points})
    print(pd.DataFrame(points).to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
