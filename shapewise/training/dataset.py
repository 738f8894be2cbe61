"""The rows of a specification: training rows, held-out rows and their target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.numbers import count, counted, percent
from gamcore.common.types import Bools, Floats, Ints
from gamcore.data.columns import TableError, read_numbers, read_present_texts
from gamcore.data.table import Table, as_table
from gamcore.decide.rules import All
from shapewise.training.goals import GoalKind
from shapewise.training.spec import Spec, Treatment, labels_as, labels_of

HELD_OUT = 0.2


def held_out_rows(frame: pd.DataFrame, table: str, group: str | None = None, when: str | None = None) -> Bools:
    """Return the held-out rows (n,), which no fit of this table sees: a fifth, drawn with the table's id as seed.

    With a group column, whole clusters are held out, as close to a fifth as they allow; with a time column, the latest
    rows. `workspace.tables.hold_out_by` fixes the choice of column at the first training.
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
            raise TableError(f"The group column {group!r} has only one value: choose another, or none.")
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


def basis_of(group: str | None, when: str | None) -> dict[str, str]:
    """Return the column by which rows are held out, where there is one."""
    return {"time": when} if when else {"group": group} if group else {}


def learnt_from(counts: dict[str, int]) -> str:
    """Describe how many rows each refit learnt from, for a table larger than memory; empty if each had all rows."""
    rows, weighed = counts.get("a_refit", 0), counts.get("weighing", 0)
    if not rows or rows >= weighed:
        return ""
    return (
        f"{counts['refits']} refits, each on {count(rows)} of the training rows ({percent(rows / weighed)}), "
        f"together on {count(counts['learnt'])}: as many as fit in memory"
    )


def band_rows(counts: dict[str, int]) -> str:
    """Name the rows from which the half-sample refits of the bands were drawn."""
    if "set_aside" not in counts or counts.get("banded"):
        return "the rows"
    return "the sample's rows (so usually wider than with the whole table)"


@dataclass(frozen=True)
class Data:
    """The rows of a specification: features, target, and which rows are held out.

    y : 0 and 1, numbers, or for several classes their names. classes : those names. exposure : (n,) what counts and
    amounts are divided by; None for 1. treated : (n,) of an experiment, 1 in the treated arm and 0 in the control.
    expected : (n,) the outcomes expected whatever the arm; `y` is then a signal of the effect (`effects`).
    """

    X: pd.DataFrame
    y: pd.Series
    held_out: Bools
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    binary: bool
    dropped: int  # rows without a target
    task: NDArray[Any] | None = None  # label of each row's task
    aliases: dict[str, str] = field(default_factory=dict)  # columns of X that stand for a column of another name
    exposure: NDArray[np.float64] | None = None
    classes: tuple[str, ...] = ()
    treated: Floats | None = None
    expected: Floats | None = None

    def of_rows(self, kept: Bools | Ints) -> dict[str, Any]:
        """Return what estimators take of some rows beside features and target, where it is given."""
        given = {"sample_weight": self.weight, "groups": self.groups, "task": self.task, "exposure": self.exposure}
        return {name: values[kept] for name, values in given.items() if values is not None}

    @property
    def rates(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The target (n,) per unit of exposure, and the weights with which rates average to their total."""
        y = self.y.to_numpy(np.float64)
        if self.exposure is None:
            return y, self.weight
        return y / self.exposure, self.exposure if self.weight is None else self.weight * self.exposure

    def of_class(self, label: str) -> Data:
        """Return the rows with one of several classes as 1 and the others as 0."""
        return replace(self, y=(self.y == label).astype(np.int64), binary=True, classes=())

    def only(self, kept: Bools) -> Data:
        """Return the data with only the rows marked in `kept` (n,)."""
        of_rows = {
            name: value[kept]
            for name in ("weight", "groups", "task", "exposure", "treated", "expected")
            if (value := getattr(self, name)) is not None
        }
        dropped = self.dropped + int((~kept).sum())
        X, y, held_out = self.X[kept], self.y[kept], self.held_out[kept]
        return replace(self, X=X, y=y, held_out=held_out, dropped=dropped, **of_rows)

    @property
    def measurable(self) -> bool:
        """Whether held-out metrics can be computed: there are held-out rows, and of all classes."""
        held = self.y[self.held_out]
        return bool(len(held)) and held.nunique() >= (2 if self.binary else max(len(self.classes), 1))


def read_data(frame: pd.DataFrame, spec: Spec, held_out_by: dict[str, str] | None = None) -> Data:
    """Select the rows and columns of a specification; TableError says what cannot be used.

    held_out_by : the hold-out column fixed by the table's first training; None takes it from the specification.
    """
    table = Table.of(frame)
    frame = table.frame
    if held_out_by is None:
        held_out_by = basis_of(spec.group, spec.time)
    for column in columns_of(spec, held_out_by):
        if column not in frame.columns:
            raise TableError(f"The table has no column {column!r}: choose another on the Train page.")
    if not spec.features:
        raise TableError("No features are chosen: turn on at least one.")
    held = held_out_rows(frame, spec.table, held_out_by.get("group"), held_out_by.get("time"))
    inside, belongs, values = choose(table, spec)
    dropped = int((inside & ~belongs).sum())
    rows = inside & belongs
    check_rows(values[rows], held[rows], spec.kind_of_target)
    weight = _read_weight(table.take(rows, [spec.weight]), spec.weight, held[rows]) if spec.weight else None
    groups = read_groups(frame.loc[rows, spec.group]) if spec.group else None
    exposure = read_exposure(table.take(rows, [spec.exposure]), spec.exposure) if spec.exposure else None
    X = frame.loc[rows, spec.features]
    return Data(
        X=X,
        y=values[rows],
        held_out=held[rows],
        weight=weight,
        groups=groups,
        binary=spec.kind_of_target == "binary",
        dropped=dropped,
        exposure=exposure,
        classes=tuple(sorted(set(values[rows]))) if spec.kind_of_target == "classes" else (),
        treated=treated_in(table, spec.treatment)[rows] if spec.treatment else None,
    )


def treated_in(table: Table, treatment: Treatment) -> Floats:
    """Return 1 for rows (n,) of the treated arm, 0 for the control and NaN for those of any other."""
    codes, names = read_present_texts(table.frame[treatment.arm])
    for level in (treatment.level, treatment.control):
        if level not in names:
            raise TableError(f"No row of {treatment.arm!r} is {level!r}: choose another arm on Experiment.")
    values = np.array([*({treatment.level: 1.0, treatment.control: 0.0}.get(name, np.nan) for name in names), np.nan])
    return np.asarray(values[codes])


def columns_of(spec: Spec, held_out_by: dict[str, str]) -> list[str]:
    """Return the columns that a specification names, without those of its row filter."""
    arm = spec.treatment.arm if spec.treatment else None
    named = [spec.weight, spec.group, spec.time, spec.exposure, arm, *held_out_by.values()]
    return [spec.target, *spec.features, *[name for name in named if name]]


def choose(frame: pd.DataFrame | Table, spec: Spec) -> tuple[Bools, Bools, pd.Series]:
    """Return for each row whether it passes the row filter, whether it has a target, and the target (0/1 or number)."""
    table = as_table(frame)
    for column in spec.filter_columns():
        if column not in table:
            raise TableError(f"The row filter names {column!r}, which is not a column of the table.")
    inside = All(tuple(spec.conditions)).holds(table)
    if spec.treatment is not None:
        inside = inside & np.isfinite(treated_in(table, spec.treatment))
    target = table.frame[spec.target]
    if spec.positive is not None:
        labels = labels_of(target)
        positive, negative = (labels_as(target, levels) for levels in (spec.positive, spec.negative or []))
        is_positive = np.asarray(labels.isin(positive).fillna(False), bool)
        zero = np.asarray((labels.isin(negative) if spec.negative else ~labels.isin(positive)).fillna(False), bool)
        zero = zero & np.asarray(target.notna(), bool)
        return inside, is_positive | zero, pd.Series(is_positive.astype(np.int64), index=table.frame.index)
    if spec.kind_of_target == "classes":
        labels = labels_of(target)
        wanted = labels.notna() if spec.classes is None else labels.isin(labels_as(target, spec.classes))
        return inside, np.asarray(wanted.fillna(False), bool), labels.astype(object)
    if table.kind(spec.target) not in ("number", "boolean"):
        raise TableError(f"The target {spec.target!r} is not a number: choose which of its levels count as positive.")
    return inside, np.asarray(target.notna(), bool), target.astype(float)


def read_groups(series: pd.Series) -> NDArray[Any]:
    """Return the groups as strings (n,); rows without a group form one group."""
    return np.asarray(series.astype("string").fillna("").to_numpy())


def _read_weight(table: Table, name: str, held: Bools) -> NDArray[np.float64]:
    weight = read_weights(table, name)
    if not (weight[held].any() and weight[~held].any()):
        raise TableError(f"The weights in {name!r} are all zero in the training or in the held-out rows.")
    return weight


def read_weights(table: Table, name: str) -> NDArray[np.float64]:
    """Return a column of weights (n,), which may be zero."""
    if table.kind(name) not in ("number", "boolean"):
        raise TableError(f"The weights in {name!r} are not numbers: choose another column on the Data page.")
    weight = read_numbers(table.frame[name])
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise TableError(f"The weights in {name!r} must be non-negative numbers without gaps.")
    return weight


def read_exposure(table: Table, name: str) -> NDArray[np.float64]:
    """Return a column of exposures (n,), all above 0."""
    if table.kind(name) not in ("number", "boolean"):
        raise TableError(f"The exposure {name!r} is not a number: choose another column.")
    exposure = read_numbers(table.frame[name])
    bad = int((~(np.isfinite(exposure) & (exposure > 0))).sum())
    if bad:
        raise TableError(
            f"The exposure {name!r} is missing or not above 0 in {counted(bad, 'row')}: leave them out with "
            "Only some rows."
        )
    return exposure


def check_rows(y: pd.Series, held: Bools, kind: GoalKind) -> None:
    """Raise TableError where rows (n,) of a target cannot be trained on and measured: either part needs some, of every
    class."""
    if y.empty:
        raise TableError("No row is left after the row filter and the choice of levels: loosen them.")
    for name, part in (("training", y[~held]), ("held-out", y[held])):
        if part.empty:
            raise TableError(f"No {name} row is left: the table or the row filter is too small.")
        if kind == "classes" and part.nunique() < y.nunique():
            lacking = sorted(set(y) - set(part))
            raise TableError(f"No {name} row is {lacking[0]!r}: leave that class out, or add rows.")
        if kind == "binary" and part.nunique() < 2:
            raise TableError(
                f"All {name} rows are {'positive' if part.iloc[0] else 'negative'}: choose other levels or more rows."
            )
