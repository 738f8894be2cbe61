"""Counts and amounts of a small task beside a large one: `python -m benchmarks.multitask.amounts --json DIR`.

The log of a mean is a known function (`benchmarks.harness.families`), the small task's a level lower. Models are ours,
trees of each task alone, and trees that know no task, all with the objective's loss and on one thread. Reported is the
mean deviance of the true means from the predicted ones over each task's test rows: 0 for the truth, paired differences
to ours with their number of standard errors in brackets. Cells are kept; the table goes between two marks of a page
(`--doc`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.families import Sample, imbalanced
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, put_between, show
from benchmarks.multitask.contenders import everything, independent, together
from benchmarks.multitask.studies import Rows, Trial
from gamcore.model.losses import LOSSES

Array = NDArray[np.float64]

MARKS: Final = ("<!-- amounts -->", "<!-- /amounts -->")
OBJECTIVES: Final = ("poisson", "gamma", "tweedie")
SIMILARITIES: Final = (0.8, 0.5, 0.0)
SIZES: Final = (4_000, 200)
TASKS: Final = {"large": "a", "small": "b"}
SD: Final = 0.6
"""Of the log of the mean over rows."""

LEVEL: Final = -1.0
"""Of the small task's log mean, against the large one's."""

OURS: Final = "ours, default"
MODELS: Final[Mapping[str, Callable[[Trial, int, Mapping[str, Any]], Array]]] = {
    OURS: together, "independent trees": independent, "global trees": everything,
}  # fmt: skip


def means(sample: Sample) -> Array:
    """Return the true mean of each row."""
    return np.exp(SD * sample.truth.to_numpy() + np.where(sample.task == TASKS["small"], LEVEL, 0.0))


def outcomes(objective: str, mean: Array, rng: np.random.Generator) -> Array:
    """Return targets with these means: counts, amounts, or sums of a Poisson number of amounts with mean 1."""
    drawn: dict[str, Callable[[], Any]] = {
        "poisson": lambda: rng.poisson(mean).astype(np.float64),
        "gamma": lambda: rng.gamma(2.0, mean / 2.0),
        "tweedie": lambda: rng.gamma(2.0 * rng.poisson(mean), 0.5),
    }
    return np.asarray(drawn[objective]())


def measure_cell(objective: str, similarity: float, name: str, seed: int) -> Cell:
    """Fit and test one model; return its mean deviance from the truth in each task."""
    family, rng = imbalanced(similarity, SIZES, seed), np.random.default_rng([seed, OBJECTIVES.index(objective)])
    y = pd.Series(outcomes(objective, means(family.train), rng))
    trial = Trial(
        Rows(family.train.X, y, family.train.task), Rows(family.test.X, family.test.y, family.test.task), False
    )
    with threadpool_limits(1):
        predicted = MODELS[name](trial, seed, {"objective": objective})
    loss = LOSSES[objective]
    apart = loss.loss(means(family.test), loss.link(predicted))
    task = family.test.task.to_numpy()
    return {"machine": describe(), **{part: float(apart[task == letter].mean()) for part, letter in TASKS.items()}}


def measure(folder: Path, runs: int) -> None:
    """Measure every missing cell."""
    for objective in OBJECTIVES:
        for similarity in SIMILARITIES:
            for name in MODELS:
                for seed in range(runs):
                    out = folder / f"{objective}-{similarity:g}-{name.split()[0].strip(',')}-{seed}.json"
                    about = {"objective": objective, "similarity": similarity, "model": name, "seed": seed}
                    about["code"] = code()
                    if not about.items() <= load(out).items():
                        keep(out, about | measure_cell(objective, similarity, name, seed))


def table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per objective and similarity, the columns the models in both tasks."""
    rows = []
    for (objective, similarity), mine in cells.groupby(["objective", "similarity"], sort=False):
        row: dict[str, Any] = {"objective": objective, "similarity": similarity, "runs": mine["seed"].nunique()}
        for part in TASKS:
            by_model = mine.pivot_table(index="seed", columns="model", values=part)
            row[f"{part}: ours"] = by_model[OURS].mean()
            for name in list(MODELS)[1:]:
                gap = by_model[name] - by_model[OURS]
                errors = abs(gap.mean()) / (gap.std(ddof=1) / np.sqrt(len(gap)))
                row[f"{part}: {name}"] = f"{'+' if gap.mean() > 0 else '-'}{show(abs(gap.mean()))} ({errors:.1f})"
        rows.append(row)
    frame = pd.DataFrame(rows).sort_values(["objective", "similarity"], key=_order, ascending=[True, False])
    return frame.set_index("objective")


def _order(column: pd.Series) -> pd.Series:
    return column.map(OBJECTIVES.index) if column.name == "objective" else column


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--json", type=Path, required=True, help="folder of the cells; those of the same code are kept")
    asked.add_argument("--doc", type=Path, help="a page whose marks get the table")
    asked.add_argument("--runs", type=int, default=8, help="replications of each")
    options = asked.parse_args()
    measure(options.json, options.runs)
    cells = load_all(options.json)
    machine = cells["machine"].iloc[-1]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "numpy", "numba"))
    head = f"{SIZES[0]:,} rows beside {SIZES[1]:,}; {machine['processor']}, {versions}."
    written = ["", head, "", *markdown(table(cells)), ""]
    if options.doc:
        put_between(options.doc, MARKS, written)
    print("\n".join(written))


if __name__ == "__main__":
    main()
