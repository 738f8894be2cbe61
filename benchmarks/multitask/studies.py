"""Data of the multi-task benchmark: three real tables split within each task, and families of synthetic tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks.harness.families import Family, Sample, heterogeneous, imbalanced, outlier, rare, unrelated

Array = NDArray[np.float64]

TEST_SHARE = 0.2
NOISE: Final = 0.62
SD: Final = 1.14
"""Synthetic functions have this sd, and noise one of NOISE * SD = .71: no model is expected to do better."""

SIMILARITIES = (1.0, 0.8, 0.5, 0.0)


@dataclass(frozen=True)
class Rows:
    """Rows of several tasks."""

    X: pd.DataFrame
    y: pd.Series
    task: pd.Series

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Return the rows by a mask or by places."""
        return Rows(*(part.loc[part.index[chosen]].reset_index(drop=True) for part in (self.X, self.y, self.task)))


@dataclass(frozen=True)
class Trial:
    """Rows to fit and rows to test."""

    train: Rows
    test: Rows
    binary: bool
    truth: Array | None = None  # (n,) mean of the test rows' targets, where it is known


@dataclass(frozen=True)
class Study:
    """Where trials come from, how many are run, and which tasks are also reported separately."""

    make: Callable[[Path, int], Trial]
    runs: int
    parts: Mapping[str, str]  # name to the letters of its tasks
    binary: bool = False


@dataclass(frozen=True)
class _Table:
    """Columns of a real table."""

    task: str
    target: str
    levels: tuple[str, ...] = ()  # numeric columns that are categories


TABLES = {
    "school": _Table("school", "exam_score", ("year",)),
    "landmine": _Table("task", "label"),
    "computer": _Table("person", "likelihood"),
}


def _split_table(name: str, binary: bool, folder: Path, seed: int) -> Trial:
    """Split a real table, 80% to fit, stratified by task and, for two classes, by class."""
    frame, about = pd.read_parquet(folder / f"{name}.parquet"), TABLES[name]
    frame = frame.astype(dict.fromkeys(about.levels, "str"))
    strata = frame[[about.task, about.target]].apply(tuple, axis=1) if binary else frame[about.task]
    parts = train_test_split(frame, test_size=TEST_SHARE, stratify=strata, random_state=seed)
    train, test = (
        Rows(part.drop(columns=[about.task, about.target]), part[about.target], part[about.task])
        for part in (whole.reset_index(drop=True) for whole in parts)
    )
    return Trial(train, test, binary)


def _draw_family(make: Callable[..., Family], folder: Path, seed: int) -> Trial:
    """Return a family of synthetic tasks in the units of SD."""

    def rows(sample: Sample) -> Rows:
        return Rows(sample.X, sample.y if family.binary else sample.y * SD, sample.task)

    family = make(seed=seed, noise=NOISE)
    truth = family.test.truth.to_numpy() * (1.0 if family.binary else SD)
    return Trial(rows(family.train), rows(family.test), family.binary, truth)


def _family(make: Callable[..., Family], runs: int, **parts: str) -> Study:
    return Study(partial(_draw_family, make), runs, parts)


@dataclass(frozen=True)
class _Scene:
    """A fraud scene of Zhang and Li 2019 (Table 2): rows and positives of both tasks, and columns of both and of the
    second alone."""

    rows: tuple[int, int]
    positives: tuple[int, int]
    columns: tuple[int, int]
    test_rows: int = 50_000

    def smaller(self, times: int) -> _Scene:
        """Return the scene with so many times fewer rows, and few columns without an effect."""
        rows, positives = (tuple(n // times for n in both) for both in (self.rows, self.positives))
        columns = tuple(min(most, n) for most, n in zip(FEW_COLUMNS, self.columns, strict=True))
        return replace(self, rows=rows, positives=positives, columns=columns, test_rows=self.test_rows // 2)


FEW_COLUMNS: Final = (20, 10)
SCENES: Final = {
    "scene 1": _Scene((79_296, 25_989), (2_296, 989), (81, 121)),
    "scene 2": _Scene((191_709, 979_850), (4_709, 11_850), (44, 0)),
}


def _scene(scene: _Scene) -> Study:
    """Return a study of rare positives with the sizes of a fraud scene."""
    rates = [few / rows for few, rows in zip(scene.positives, scene.rows, strict=True)]
    make = partial(rare, scene.rows, rates, scene.columns, scene.test_rows)
    return Study(partial(_draw_family, make), 5, {"task 1": "a", "task 2": "b"}, binary=True)


RARE: Final = {name: _scene(scene) for name, scene in SCENES.items()} | {
    f"{name}, a tenth": _scene(scene.smaller(10)) for name, scene in SCENES.items()
}
"""Studies of rare positives; those of a tenth of the rows are for a first look."""

STUDIES = {
    "school": Study(partial(_split_table, "school", False), 10, {}),
    **{
        f"imbalanced {similarity:g}": _family(partial(imbalanced, similarity), 12, small="b", big="a")
        for similarity in SIMILARITIES
    },
    "heterogeneous": _family(heterogeneous, 8, large="a", small="b"),
    "outlier": _family(outlier, 8, outlier="f", others="abcde"),
    "unrelated": _family(unrelated, 8),
    "landmine": Study(partial(_split_table, "landmine", True), 8, {}, binary=True),
    "computer": Study(partial(_split_table, "computer", False), 8, {}),
    **RARE,
}


def measures(trial: Trial, score: Array, parts: Mapping[str, str]) -> dict[str, float]:
    """Return RMSE or AUC: pooled, as a mean over tasks and over each part's tasks; for numbers also the explained
    variance."""
    y, metric = trial.test.y, roc_auc_score if trial.binary else root_mean_squared_error
    by_task = {
        task: float(metric(y.iloc[at], score[at]))
        for task, at in trial.test.task.groupby(trial.test.task).indices.items()
    }
    scores = {"pooled": float(metric(y, score)), "mean of tasks": float(np.mean(list(by_task.values())))}
    if not trial.binary:
        scores["explained"] = 1.0 - float(np.mean((y - score) ** 2) / np.var(y))
    return scores | {name: float(np.mean([by_task[letter] for letter in letters])) for name, letters in parts.items()}
