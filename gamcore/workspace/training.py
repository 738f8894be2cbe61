"""From a stored table and a specification to a model with its held-out metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import metrics

from gamcore.boosting import Progress
from gamcore.estimators import GAMClassifier, GAMRegressor
from gamcore.presets import PRESETS
from gamcore.table import TableError, as_frame, kind_of, read_numbers
from gamcore.workspace.store import ModelAbout, Workspace, new_id, now

HELD_OUT = 0.2
MOST_CLASSES = 50

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """A condition on a row: one of some levels, or a range (either end may be open)."""

    column: str
    levels: list[str] | None = None
    low: float | None = None
    high: float | None = None

    def words(self) -> str:
        """The condition as a person would say it."""
        if self.levels is not None:
            return f"{self.column} is {' or '.join(self.levels)}"
        ends = [
            f"at least {self.low:g}" if self.low is not None else "",
            f"at most {self.high:g}" if self.high is not None else "",
        ]
        return f"{self.column} {' and '.join(end for end in ends if end)}"

    def holds(self, frame: pd.DataFrame) -> Bools:
        """Rows (n,) that meet the condition; missing cells do not."""
        if self.column not in frame.columns:
            raise TableError(f"The row filter names {self.column!r}, which is not a column of the table.")
        series = frame[self.column]
        if self.levels is not None:
            return np.asarray(series.astype("string").isin(self.levels).fillna(False), bool)
        inside = series.notna()
        if self.low is not None:
            inside &= series >= self.low
        if self.high is not None:
            inside &= series <= self.high
        return np.asarray(inside.fillna(False), bool)


@dataclass(frozen=True)
class Spec:
    """All that a training needs: what to learn from which rows, and how. Plain JSON through `asdict`.

    positive : levels of the target that count as 1; None for a numeric target.
    negative : levels that count as 0; None means all others.
    """

    table: str
    target: str
    name: str
    features: list[str]
    positive: list[str] | None = None
    negative: list[str] | None = None
    conditions: list[Condition] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    preset: str = "balanced"
    changes: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Spec:
        """The inverse of `asdict`."""
        known = {name: told[name] for name in (f.name for f in fields(cls)) if name in told}
        return cls(**{**known, "conditions": [Condition(**c) for c in told.get("conditions", [])]})

    def parameters(self) -> dict[str, Any]:
        """The preset's parameters with the user's changes on top."""
        return {**PRESETS[self.preset], **self.changes}


def held_out_rows(frame: pd.DataFrame, table: str, group: str | None = None, when: str | None = None) -> Bools:
    """The rows (n,) that no fit of this table sees: a fifth, drawn by the table's id.

    Whole clusters where a group column is named, as near to a fifth as they allow; the latest rows where a time column
    is named. `Workspace.hold_out_by` keeps the choice of column from changing after the first training.
    """
    n = len(frame)
    size = round(HELD_OUT * n)
    if when is not None:
        order = frame[when].rank(method="first", na_option="top").to_numpy()
        return np.asarray(order > n - size)
    rng = np.random.default_rng(int(table, 16))
    if group is not None:
        clusters, names = pd.factorize(frame[group], use_na_sentinel=False)
        if len(names) < 2:
            raise TableError(f"The group column {group!r} has one value only: choose another, or none.")
        sizes = np.bincount(clusters, minlength=len(names))
        taken: list[int] = []
        filled = 0
        for cluster in rng.permutation(len(names)):
            if abs(filled + sizes[cluster] - size) < abs(filled - size):
                taken.append(cluster)
                filled += sizes[cluster]
        taken = taken or [int(np.argmin(sizes))]
        return np.asarray(np.isin(clusters, taken))
    held = np.zeros(n, bool)
    held[rng.permutation(n)[:size]] = True
    return held


@dataclass(frozen=True)
class Data:
    """The rows of a specification: features, target (0/1 or numbers) and what each row is for."""

    X: pd.DataFrame
    y: pd.Series
    held_out: Bools
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    binary: bool
    dropped: int  # rows without a target


def read_data(frame: pd.DataFrame, spec: Spec, held_out_by: dict[str, str] | None = None) -> Data:
    """Choose the rows and columns of a specification; TableError says what cannot be used.

    held_out_by : what the table's first training set aside its rows by; None goes by the specification.
    """
    frame = as_frame(frame)
    if held_out_by is None:
        held_out_by = {"time": spec.time} if spec.time else {"group": spec.group} if spec.group else {}
    named = [spec.weight, spec.group, spec.time, *held_out_by.values()]
    for column in [spec.target, *spec.features, *[name for name in named if name]]:
        if column not in frame.columns:
            raise TableError(f"The table has no column {column!r}: choose another on the Train page.")
    if not spec.features:
        raise TableError("No features are chosen: turn on at least one.")
    held = held_out_rows(frame, spec.table, held_out_by.get("group"), held_out_by.get("time"))
    inside = np.ones(len(frame), bool)
    for condition in spec.conditions:
        inside &= condition.holds(frame)
    target = frame[spec.target]
    if spec.positive is not None:
        labels = target.astype("string")
        one = np.asarray(labels.isin(spec.positive).fillna(False), bool)
        zero = np.asarray(
            (labels.isin(spec.negative) if spec.negative else ~labels.isin(spec.positive)).fillna(False), bool
        )
        zero = zero & np.asarray(target.notna(), bool)
        belongs = one | zero
        values = pd.Series(one.astype(np.int64), index=frame.index)
    else:
        if kind_of(target) not in ("number", "boolean"):
            raise TableError(
                f"The target {spec.target!r} is not a number: choose which of its levels count as positive."
            )
        belongs = np.asarray(target.notna(), bool)
        values = target.astype(float)
    dropped = int((inside & ~belongs).sum())
    rows = inside & belongs
    _check_rows(values[rows], held[rows], spec)
    weight = _read_weight(frame.loc[rows, spec.weight], held[rows]) if spec.weight else None
    groups = frame.loc[rows, spec.group].astype("string").fillna("").to_numpy() if spec.group else None
    X = frame.loc[rows, spec.features]
    return Data(X, values[rows], held[rows], weight, groups, spec.positive is not None, dropped)


def _read_weight(series: pd.Series, held: Bools) -> NDArray[np.float64]:
    if kind_of(series) not in ("number", "boolean"):
        raise TableError(f"The weights in {series.name!r} are not numbers: choose another column on the Data page.")
    weight = read_numbers(series)
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise TableError(f"The weights in {series.name!r} must be non-negative numbers without gaps.")
    if not (weight[held].any() and weight[~held].any()):
        raise TableError(f"The weights in {series.name!r} are all zero in the training or in the held-out rows.")
    return weight


def _check_rows(y: pd.Series, held: Bools, spec: Spec) -> None:
    if y.empty:
        raise TableError("No row is left after the row filter and the choice of levels: loosen them.")
    for name, part in (("training", y[~held]), ("held-out", y[held])):
        if part.empty:
            raise TableError(f"No {name} row is left: the table or the row filter is too small.")
        if spec.positive is not None and part.nunique() < 2:
            raise TableError(
                f"All {name} rows are {'positive' if part.iloc[0] else 'negative'}: choose other levels or more rows."
            )


def evaluate(data: Data, model: GAMRegressor | GAMClassifier) -> dict[str, float]:
    """Metrics on the held-out rows, beside the baseline (mean or prevalence of the training rows)."""
    X, y = data.X[data.held_out], data.y[data.held_out].to_numpy()
    weight = None if data.weight is None else data.weight[data.held_out]
    train_weight = None if data.weight is None else data.weight[~data.held_out]
    base = np.full(y.size, np.average(data.y[~data.held_out], weights=train_weight))
    if isinstance(model, GAMClassifier):
        chance = model.predict_proba(X)[:, 1]
        return {
            "auc": float(metrics.roc_auc_score(y, chance, sample_weight=weight)),
            "log_loss": float(metrics.log_loss(y, chance, sample_weight=weight, labels=[0, 1])),
            "baseline_log_loss": float(metrics.log_loss(y, base, sample_weight=weight, labels=[0, 1])),
            "base_rate": float(np.average(data.y, weights=data.weight)),
        }
    found = model.predict(X)
    return {
        "rmse": float(metrics.root_mean_squared_error(y, found, sample_weight=weight)),
        "baseline_rmse": float(metrics.root_mean_squared_error(y, base, sample_weight=weight)),
        "r2": float(metrics.r2_score(y, found, sample_weight=weight)) if y.size > 1 else 0.0,
        "mean": float(np.average(data.y, weights=data.weight)),
    }


def fit(
    data: Data, spec: Spec, n_jobs: int = 1, callback: Callable[[Progress], bool | None] | None = None, **changes: Any
) -> GAMRegressor | GAMClassifier:
    """An estimator fitted to the training rows of a specification; `changes` go over its parameters."""
    kind = GAMClassifier if data.binary else GAMRegressor
    fitted = ~data.held_out
    model = kind(
        **{**spec.parameters(), **changes},
        categorical_features=[c for c in spec.categories if c in spec.features] or "infer",
        n_jobs=n_jobs,
        random_state=spec.seed,
        callback=callback,
    )
    return model.fit(
        data.X[fitted],
        data.y[fitted],
        sample_weight=None if data.weight is None else data.weight[fitted],
        groups=None if data.groups is None else data.groups[fitted],
    )


def train(
    workspace: Workspace, spec: Spec, n_jobs: int = 1, callback: Callable[[Progress], bool | None] | None = None
) -> ModelAbout:
    """Train a specification and store the model."""
    basis = workspace.hold_out_by(spec.table, spec.group, spec.time)
    data = read_data(workspace.read_table(spec.table), spec, basis)
    started = time.monotonic()
    model = fit(data, spec, n_jobs, callback)
    seconds = time.monotonic() - started
    table = workspace.table(spec.table)
    about = ModelAbout(
        id=new_id(),
        name=spec.name,
        table=spec.table,
        table_name=table.name,
        target=spec.target,
        kind="classifier" if data.binary else "regressor",
        created=now(),
        seconds=seconds,
        metrics=evaluate(data, model),
        spec=asdict(spec),
        rows={
            "training": int((~data.held_out).sum()),
            "held_out": int(data.held_out.sum()),
            "without_target": data.dropped,
        },
        n_pairs=len(model.model_.pairs),
    )
    saved = model.to_saved(target=spec.target, table=spec.table, held_out=about.metrics, created=about.created)
    return workspace.add_model(saved, about)


Task = Literal["regression", "binary"]


def suggest_task(series: pd.Series) -> Task:
    """Numbers with many values are a regression target; anything else is a choice between levels."""
    numeric = kind_of(series) == "number" and series.nunique() > 10
    return "regression" if numeric else "binary"


def target_levels(series: pd.Series) -> list[str]:
    """Levels of a target with at most 50 of them, in order; a longer list is refused."""
    found = series.dropna().astype("string").unique().tolist()
    if len(found) > MOST_CLASSES:
        raise TableError(
            f"{series.name!r} has {len(found):,} different values: choose a number, or a column with at most "
            f"{MOST_CLASSES} levels."
        )
    try:
        return sorted(found, key=float)
    except ValueError:
        return sorted(found)
