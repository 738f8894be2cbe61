"""How often the outlier among tasks is named: `python -m benchmarks.multitask.outliers [--runs N]`.

Families of six tasks of known functions (`benchmarks.harness.families`), with several sizes of a task: one whose last
task has the sign reversed, one whose last task has a function of its own, one without an outlier (all correlate at .9),
and one of six unrelated functions. Counted is how often exactly the outlier is named, another task is, or none is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.harness.families import Family, mixed, outlier
from benchmarks.harness.page import markdown
from gamcore import MultiTaskTreesRegressor

N_TASKS: Final = 6
LAST: Final = "abcdef"[N_TASKS - 1]
SIZES: Final = (100, 500)
NOISE: Final = 0.62
FAMILIES: Final[dict[str, tuple[Callable[..., Family], tuple[str, ...]]]] = {
    "last task reversed": (outlier, (LAST,)),
    "last task of its own": (partial(mixed, [np.sqrt(0.9)] * (N_TASKS - 1) + [0.0]), (LAST,)),
    "no outlier": (partial(mixed, [np.sqrt(0.9)] * N_TASKS), ()),
    "all unrelated": (partial(mixed, [0.0] * N_TASKS), ()),
}
"""Families, and the outliers of each."""


def named(make: Callable[..., Family], size: int, seed: int) -> tuple[str, ...]:
    """Return the outliers that a fitted model names."""
    train = make(seed=seed, size=size, noise=NOISE).train
    model = MultiTaskTreesRegressor(random_state=seed, n_jobs=1).fit(train.X, train.y, train.task)
    return tuple(str(task) for task in model.outliers().outliers)


def table(sizes: Sequence[int], runs: int) -> pd.DataFrame:
    """Return how often the right outliers, others or too few are named, by family and size."""
    rows = []
    for family, (make, right) in FAMILIES.items():
        for size in sizes:
            answers = [named(make, size, seed) for seed in range(runs)]
            rows.append(
                {"family": family, "rows a task": size, "runs": runs,
                 "right": sum(answer == right for answer in answers),
                 "none named": sum(not answer for answer in answers),
                 "a wrong one named": sum(bool(set(answer) - set(right)) for answer in answers)}
            )  # fmt: skip
            print(rows[-1], flush=True)
    return pd.DataFrame(rows).set_index("family")


def main() -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    asked = options.parse_args()
    with threadpool_limits(1):
        print("\n".join(markdown(table(asked.sizes, asked.runs))))


if __name__ == "__main__":
    main()
