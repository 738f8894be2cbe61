"""Tables of several tasks: which columns each task has, and rows as codes.

A column that a task lacks is *absent* there, which differs from missing: it has its own code, one above the unseen bin.
The task itself is the last line of codes, a categorical feature with one level per task.

    codes:  feature 0    0 missing | 1 .. K | K + 1 unseen | K + 2 absent
            ...
            task         1 .. T (at most MAX_TASK_CODES, the rarest share the last) | next: unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.common.types import Bools, Codes, Ints
from gamcore.data.binning import Binned, Bins, fit_bins
from gamcore.data.column_names import free_name
from gamcore.data.columns import TableError, read_texts, valid_text
from gamcore.data.table import Feature, Table, as_frame, as_table, read_feature
from gamcore.data.targets import check_label
from gamcore.kernels import CODE

ONE_TASK: Final = "all"
"""Label of the single task if none is given."""

UNKNOWN: Final = -1
"""Index of a task that the model does not know."""

MAX_TASK_CODES: Final = 250


@dataclass(frozen=True)
class TaskRows:
    """Rows of several tasks as one table.

    task : (n,) index of each row's task in `names`, UNKNOWN for others; aliases : columns of `table` that were renamed
    because their type differs between tasks, each with its original name.
    """

    table: Table
    task: Ints
    names: tuple[Any, ...]
    aliases: dict[str, str]


def join_tables(tables: Mapping[Any, pd.DataFrame]) -> tuple[pd.DataFrame, Ints, dict[str, str]]:
    """Stack the tables of tasks; return the table, the index of each row's task, and aliases.

    Columns of the same name and type are one column. If the type differs between tasks, each type becomes a column of
    its own, "name (type)".
    """
    plain = [as_table(_plain_frame(table)) for table in tables.values()]
    kinds: dict[str, set[str]] = {}
    for table in plain:
        for column in filled(table.frame):
            kinds.setdefault(column, set()).add(table.kind(column))
    mixed = {column for column, of_column in kinds.items() if len(of_column) > 1}
    taken = {column for table in plain for column in table.names}
    aliases: dict[str, str] = {}
    renamed = []
    for table in plain:
        names = {c: free_name(taken, f"{c} ({table.kind(c)})") for c in table.names if c in mixed & filled(table.frame)}
        aliases |= {new: old for old, new in names.items()}
        renamed.append(table.frame.rename(columns=names))
    sizes = [len(frame) for frame in renamed]
    # A column that is all missing in one table must not decide its type in the others.
    stacked = [frame.dropna(axis=1, how="all") for frame in renamed]
    # A column without any value is left out.
    joined = pd.concat(stacked, ignore_index=True)
    if not joined.columns.size:
        raise TableError("No column of any task's table has a value: there is nothing to learn from.")
    return joined, np.repeat(np.arange(len(sizes)), sizes), aliases


def _plain_frame(table: Any) -> pd.DataFrame:
    """Return a task's table as a frame; categories become text, since those of several tables need not match."""
    frame = as_frame(table)
    categories = {c: frame[c] for c in frame.columns if isinstance(frame[c].dtype, pd.CategoricalDtype)}
    return frame.assign(**{c: _as_text(series) for c, series in categories.items()})


def _as_text(series: pd.Series) -> pd.Series:
    """Return a categorical column as the names of its levels."""
    codes, names = read_texts(series)
    return pd.Series(np.array([*names, None], object)[codes], series.index)


def filled(frame: pd.DataFrame) -> set[str]:
    """Return the columns with at least one value."""
    return set(frame.columns[frame.notna().any()])


def read_labels(task: Any, n_rows: int) -> NDArray[Any]:
    """Return the task labels (n,) of rows; a single label applies to all rows."""
    task = ONE_TASK if task is None else task
    if isinstance(task, str) or not np.iterable(task):
        return np.full(n_rows, task, dtype=object)
    if (dimensions := getattr(task, "ndim", 1)) > 1:
        raise TableError(f"task has {dimensions} dimensions: give one label per row.")
    with valid_text("The task"):
        labels = pd.Series(task).reset_index(drop=True)
    if len(labels) != n_rows:
        raise TableError(f"task has {len(labels)} entries for {n_rows} rows: give one per row.")
    if labels.isna().any():
        raise TableError(f"The task is missing in {int(labels.isna().sum())} rows: drop them, or give them a task.")
    which, distinct = pd.factorize(labels)
    plain = np.empty(len(distinct), object)
    for k, label in enumerate(distinct):
        plain[k] = label.item() if isinstance(label, np.generic) else label
    return np.asarray(plain[which])


def ordered_names(labels: NDArray[Any]) -> tuple[Any, ...]:
    """Return the distinct labels, sorted; in text order if they cannot be compared."""
    names = pd.unique(labels).tolist()
    for label in names:
        check_label(label, "A task")
    if len({str(label) for label in names}) < len(names):
        raise TableError("Two tasks have the same name as text, such as 1 and '1': give them one type.")
    try:
        return tuple(sorted(names))
    except TypeError:
        return tuple(sorted(names, key=str))


def places(labels: NDArray[Any], names: tuple[Any, ...]) -> Ints:
    """Return the indices (n,) of labels in the names of tasks; UNKNOWN for others."""
    known = {name: t for t, name in enumerate(names)}
    by_text = {str(name): t for t, name in enumerate(names)}  # a file may have turned 1 into "1"
    which, distinct = pd.factorize(labels)
    positions = np.array([known.get(label, by_text.get(str(label), UNKNOWN)) for label in distinct], np.int64)
    return np.asarray(positions[which])


def rows_by_task(rows: Ints, task: NDArray[np.integer], n_tasks: int) -> list[Ints]:
    """Divide some rows by task, in one pass."""
    order = rows[np.argsort(task[rows], kind="stable")]
    return np.split(order, np.searchsorted(task[order], np.arange(1, n_tasks)))


def owned_columns(rows: TaskRows, columns: list[str]) -> Bools:
    """Return which task has which column, (T, columns); a column empty in all rows of a task is absent there."""
    owned = np.ones((len(rows.names), len(columns)), bool)
    for j, column in enumerate(columns):
        present = rows.table.frame[column].notna().to_numpy(bool)
        counts = np.bincount(rows.task[present], minlength=len(rows.names))
        if counts.any():  # columns without any value are handled elsewhere
            owned[:, j] = counts > 0
    return owned


def task_codes(n_rows: Ints) -> Ints:
    """Return the code (T,) of each task as a feature. n_rows : (T,) of each task."""
    n_tasks = n_rows.size
    if n_tasks <= MAX_TASK_CODES:
        return np.arange(1, n_tasks + 1)
    rarest_last = np.argsort(-n_rows, kind="stable")
    codes = np.empty(n_tasks, np.int64)
    codes[rarest_last] = np.minimum(np.arange(n_tasks) + 1, MAX_TASK_CODES)
    return codes


def bin_rows(
    rows: TaskRows,
    features: tuple[Feature, ...],
    owned: Bools,
    of_task: Ints,
    weight: NDArray[np.float64] | None,
    max_bins: int,
) -> Binned:
    """Learn the bins of each feature from the tasks that have it, and encode the rows, (p + 1, n).

    One code is left for *absent*.
    """
    codes, bins = _task_line(rows, len(features), of_task), []
    for j, feature in enumerate(features):
        inside = owned[rows.task, j]
        values = read_feature(rows.table.take(inside, [feature.column]), feature)
        bins.append(fit_bins(feature, values, None if weight is None else weight[inside], max_bins - 1))
        codes[j] = bins[-1].size  # absent
        codes[j, inside] = bins[-1].encode_training(values)
    return Binned(codes, tuple(bins))


def training_codes(rows: TaskRows, bins: tuple[Bins, ...], owned: Bools, of_task: Ints) -> Codes:
    """Return the codes (p + 1, n) of training rows by bins learnt elsewhere."""
    codes = _task_line(rows, len(bins), of_task)
    for j, of_feature in enumerate(bins):
        inside = owned[rows.task, j]
        codes[j] = of_feature.size  # absent
        values = read_feature(rows.table.take(inside, [of_feature.feature.column]), of_feature.feature)
        codes[j, inside] = of_feature.encode_training(values)
    return codes


def _task_line(rows: TaskRows, n_features: int, of_task: Ints) -> Codes:
    """Return codes (p + 1, n) of rows with only the line of the task filled in."""
    codes = np.empty((n_features + 1, len(rows.table)), CODE)
    codes[-1] = np.where(rows.task != UNKNOWN, of_task[rows.task], int(of_task.max(initial=0)) + 1)
    return codes


def encode_rows(rows: TaskRows, bins: tuple[Bins, ...], owned: Bools, of_task: Ints) -> Codes:
    """Return the codes (p + 1, n) of rows by bins already learnt: features, and the task.

    For an unknown task, a column not in the table is absent; so is an empty value, unless all tasks have the column.
    """
    codes, known = _task_line(rows, len(bins), of_task), rows.task != UNKNOWN
    for j, of_feature in enumerate(bins):
        column = of_feature.feature.column
        inside = np.where(known, owned[rows.task, j], column in rows.table)
        codes[j] = of_feature.size  # absent
        if not inside.any():
            continue
        codes[j, inside] = _read(rows, of_feature, inside)
        if not owned[:, j].all():
            codes[j, inside & ~known & (codes[j] == 0)] = of_feature.size
    return codes


def _read(rows: TaskRows, bins: Bins, inside: Bools) -> Codes:
    column = bins.feature.column
    there = column if column in rows.table else rows.aliases.get(column, column)
    if there not in rows.table:
        task = rows.names[rows.task[np.flatnonzero(inside)[0]]]
        raise TableError(f"The table lacks column {column!r}, which task {task!r} was trained on: add it.")
    return bins.encode(read_feature(rows.table.take(inside, [there]).renamed([column]), bins.feature))
