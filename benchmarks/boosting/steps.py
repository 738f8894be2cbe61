"""Nanoseconds per row of each part of a step: `python -m benchmarks.boosting.steps [--rows N ...] [--json FILE]`.

A step applies the last update to the rows and computes their gradients, adds them to one histogram per group, sums the
groups, combines them into bags, and cuts every bag. Each part is timed alone, in a compiled loop, on the arrays of a
real step: best of several repeats, one thread, float32. Then the whole step is timed. For comparison, each part is
given the time that its bytes would take at this machine's memory copy speed. The parts after the histograms cost the
same for any number of rows, and their histograms stay in the caches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.harness.cells import keep
from benchmarks.harness.machine import describe
from benchmarks.harness.synthetic import DEFAULTS, LAST, LOSSES, Workload, make_settings, make_table, make_workload
from benchmarks.harness.watch import Watch
from gamcore.boosting.counts.bin_pairs import ROW_GROUPS
from gamcore.boosting.refit.rounds import MAX_LEAVES, make_sets, weigh_groups
from gamcore.kernels import N_CODES, Kernel
from gamcore.kernels.curve_step import cut_bags, grouped_round
from gamcore.kernels.histogram import _add_four, add_groups, add_up, combine, lines, width
from gamcore.kernels.layout import CHAINS, CHUNK, CodedTable, Fit, Rows, Sets, Settings, Work, aligned, make_work
from gamcore.kernels.losses import LOGISTIC, Form, is_paired, n_states, no_change
from gamcore.kernels.row_state import advance_run

FEATURES = 10
N_BAGS = 16  # the default of grouped bags
COPY_BYTES = 64 * 2**20
PARTS = ("update", "histograms", "adding up", "combining", "cutting")
WHOLE = "whole step"
OVER_ROWS = ("update", "histograms", WHOLE)

_compiled: Callable[[Kernel], Kernel] = numba.njit(nogil=True, error_model="numpy")


@_compiled
def _update(table: CodedTable, rows: Rows, fit: Fit, loss: Form, work: Work, times: int) -> None:
    for t in range(times):
        fit.pending[0] = t % table.codes.shape[0]
        for g in range(table.starts.size - 1):
            for begin in range(table.starts[g], table.starts[g + 1], CHUNK):
                end = min(begin + CHUNK, table.starts[g + 1])
                advance_run(table, begin, end, rows, fit, loss, work, 0)


@_compiled
def _histograms(table: CodedTable, loss: Form, work: Work, hist: NDArray[np.floating], times: int) -> None:
    """Build histograms as the kernel does, four groups in turn; the odd row of unequal groups is left out."""
    n_groups = table.starts.size - 1
    size = table.codes.shape[1] // n_groups
    for t in range(times):
        hist[:] = 0
        code = table.codes[t % table.codes.shape[0]]
        for q in range(0, n_groups - n_groups % CHAINS, CHAINS):
            four = np.arange(q, q + CHAINS)
            for at in range(0, size, CHUNK):
                n = min(CHUNK, size - at)
                _add_four(code, table.starts, four, at, n, work.gradient, is_paired(loss), hist[q : q + CHAINS])


@_compiled
def _adding_up(hist: NDArray[np.floating], last: int, loss: Form, work: Work, times: int) -> None:
    for _ in range(times):
        add_up(hist, last, is_paired(loss), work.total)


@_compiled
def _combining(hist: NDArray[np.floating], sets: Sets, size: int, work: Work, times: int) -> None:
    for t in range(times):
        for b in range(work.bags.shape[0]):
            combine(hist, sets.member[t % sets.member.shape[0], b], size, work.bags[b])


@_compiled
def _cutting(
    table: CodedTable, weight: NDArray[np.floating], fit: Fit, settings: Settings, work: Work, times: int
) -> None:
    for t in range(times):
        cut_bags(table, t % table.codes.shape[0], weight, fit, settings, work)


@_compiled
def _rounds(
    table: CodedTable,
    rows: Rows,
    sets: Sets,
    fit: Fit,
    settings: Settings,
    work: Work,
    buffer: NDArray[np.floating],
    times: int,
) -> None:
    for _ in range(times):
        grouped_round(table, rows, sets, fit, settings, 0, work, buffer)


def best_of(run: Callable[[int], None], repeats: int, seconds: float) -> float:
    """Return the seconds per call of `run(times)`: the least of several repeats, each of about `seconds` seconds."""
    run(1)  # compiles
    began = time.perf_counter()
    run(1)
    times = max(1, int(seconds / max(time.perf_counter() - began, 1e-7)))
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        run(times)
        best = min(best, (time.perf_counter() - began) / times)
    return float(best)


def copy_bandwidth(repeats: int) -> float:
    """Return the bytes per second that one thread reads and writes when numpy copies large arrays."""
    source, to = np.ones(COPY_BYTES, np.uint8), np.zeros(COPY_BYTES, np.uint8)

    def copy(times: int) -> None:
        for _ in range(times):
            np.copyto(to, source)

    return 2 * COPY_BYTES / best_of(copy, repeats, 0.0)


def bytes_touched(loss: Form) -> dict[str, int]:
    """Return the bytes per row read and written by the parts that pass over the rows; gradients stay in the L1
    cache."""
    state = 1 + 8 * n_states(loss) + (1 if loss == LOGISTIC else 0)  # code, states read and written, target
    return dict(zip(OVER_ROWS, (state, 1, state + 1), strict=True))


def measure(work: Workload, repeats: int, seconds: float) -> dict[str, float]:
    """Return the seconds of each part and of the whole step."""
    table, rows, fit, loss = work
    settings = make_settings(loss, N_BAGS)
    weight = None if is_paired(loss) else weigh_groups(table, np.empty(0))
    sets = make_sets(table, work.groups, weight, DEFAULTS.subsample, N_BAGS, 0, work.dtype)
    scratch, buffer = make_work(N_BAGS, MAX_LEAVES), aligned((work.groups.size * 2 * N_CODES,), work.dtype)
    whole = best_of(lambda n: _rounds(table, rows, sets, fit, settings, scratch, buffer, n), repeats, seconds)
    size = width(LAST, is_paired(loss))
    hist = lines(buffer, work.groups.size, size)
    add_groups(table, rows, work.groups, fit, 0, loss, scratch, hist)
    fit.factor[:] = no_change(loss)  # otherwise the repeated update would make the scores diverge
    of_bags = sets.weight[0, :, : 0 if is_paired(loss) else LAST + 1]
    spare = np.zeros_like(hist)
    runs = {
        "update": lambda n: _update(table, rows, fit, loss, scratch, n),
        "histograms": lambda n: _histograms(table, loss, scratch, spare, n),
        "adding up": lambda n: _adding_up(hist, LAST, loss, scratch, n),
        "combining": lambda n: _combining(hist, sets, size, scratch, n),
        "cutting": lambda n: _cutting(table, of_bags, fit, settings, scratch, n),
    }
    times = {part: best_of(run, repeats, seconds) for part, run in runs.items()}
    return times | {WHOLE: whole / table.codes.shape[0]}


def points(asked: argparse.Namespace, bandwidth: float) -> list[dict[str, Any]]:
    """Return one record per size, loss, kind of codes and part."""
    rows = []
    for n_rows in asked.rows:
        for codes in ("uniform", "skewed"):
            table = make_table(n_rows, FEATURES, ROW_GROUPS, codes == "skewed")
            for name, loss in LOSSES.items():
                times, touched = measure(make_workload(table, loss), asked.repeats, asked.seconds), bytes_touched(loss)
                for part, seconds in times.items():
                    about = {"rows": n_rows, "codes": codes, "loss": name, "part": part}
                    row = {"ns a row": 1e9 * seconds / n_rows, "microseconds": 1e6 * seconds}
                    row["share"] = seconds / times[WHOLE]
                    if part in touched:
                        row |= {"bytes per row": touched[part], "ns at copy speed": 1e9 * touched[part] / bandwidth}
                    rows.append(about | row)
    return rows


def main() -> None:
    """Measure and print the parts of a step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[12_800, 150_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.03, help="about how long a repeat takes")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with Watch() as watch:
        bandwidth = copy_bandwidth(asked.repeats)
        results = points(asked, bandwidth)
    about = {"machine": describe(), "others_cores": watch.others, "copy_bytes_a_second": bandwidth}
    if asked.json:
        keep(asked.json, about | {"points": results})
    print(f"Copying {COPY_BYTES >> 20} MiB: {bandwidth / 1e9:.1f} GB/s read and written, one thread")
    with pd.option_context("display.width", 160, "display.max_rows", None):
        print(pd.DataFrame(results).to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
