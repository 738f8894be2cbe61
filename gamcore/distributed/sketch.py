"""What bins need to know of a table, taken from each piece and added up: it does not depend on the pieces.

A row is in the sample if the hash of its number says so, so any pieces give the same sample; all rows are if there are
few. Ranges, levels, classes and moments are those of all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from gamcore.boosting.rows.source import relative_weight
from gamcore.common.numbers import count, counted
from gamcore.common.types import Bools, Floats
from gamcore.data.binning import Bins, fit_bins, fit_levels
from gamcore.data.columns import Kind, TableError, has_zone, level_name, read_numbers
from gamcore.data.own_bins import OwnBins
from gamcore.data.rows import read_log_exposure
from gamcore.data.sampling import BUCKETS, buckets
from gamcore.data.table import Feature, Table, features_of_kinds, in_order, read_feature
from gamcore.data.targets import MOST_CLASSES
from gamcore.distributed.pieces import Piece, naming, read
from gamcore.model.losses import Loss
from gamcore.stats.exact import Moments

SAMPLE_CELLS: Final = 2**24
"""Cells of the sample that bins of numbers are learned from."""

FEWEST_SAMPLED: Final = 20_000
"""Rows of the sample at least, however many columns there are."""

MOST_LEVELS: Final = 1_000_000
"""Levels of a column with more are names of rows, rather than of kinds of rows."""

SAMPLE_SEED: Final = 0


@dataclass(frozen=True)
class Roles:
    """The columns of a fit by name.

    features : None for all that have no other role. loss : of a number; None where the target has classes.
    categorical : features that are categories whatever their type.
    """

    target: str
    loss: Loss | None
    features: tuple[str, ...] | None = None
    weight: str | None = None
    groups: str | None = None
    exposure: str | None = None
    task: str | None = None
    categorical: frozenset[str] = frozenset()

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are no features."""
        named = (self.target, self.weight, self.groups, self.exposure, self.task)
        return tuple(name for name in named if name is not None)

    def features_of(self, frame: pd.DataFrame) -> list[str]:
        """Return the features of a frame; TableError where it lacks a column."""
        wanted = [*(self.features or ()), *self.others]
        if missing := [name for name in wanted if name not in frame.columns]:
            raise TableError(f"there is no column {missing[0]!r}: it has {', '.join(map(str, frame.columns))}.")
        return list(self.features or (name for name in frame.columns if name not in self.others))


@dataclass(frozen=True)
class OfTask:
    """What some pieces say of a task: its rows, and the columns in which these have values."""

    n_rows: int = 0
    columns: frozenset[str] = frozenset()

    def __add__(self, other: OfTask) -> OfTask:
        return OfTask(self.n_rows + other.n_rows, self.columns | other.columns)


@dataclass(frozen=True)
class Sketch:
    """What some pieces say; `of_all` adds them up.

    kinds : of the columns, None where all cells are missing. order : the levels of a categorical type, where a column
    has one. zoned : whether dates have a time zone. levels : rows of each level. bounds : of numbers and dates.
    sample : some rows. weights, targets : of the rows with a positive weight. classes : those of the target. tasks : by
    label, where there are any.
    """

    names: tuple[str, ...] = ()
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    order: dict[str, tuple[str, ...]] = field(default_factory=dict)
    zoned: dict[str, bool] = field(default_factory=dict)
    levels: dict[str, Counter[str]] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    sample: tuple[pd.DataFrame, ...] = ()
    weights: Moments = field(default_factory=Moments)
    targets: Moments = field(default_factory=Moments)
    classes: frozenset[Any] = frozenset()
    tasks: dict[Any, OfTask] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows with a positive weight."""
        return self.weights.n_rows


def kept_rows(frame: pd.DataFrame, roles: Roles) -> tuple[Bools, Floats | None]:
    """Return which rows (n,) of a frame have a positive weight, and the weights (n,), None where there are none."""
    if roles.weight is None:
        return np.ones(len(frame), bool), None
    weight = read_numbers(frame[roles.weight])
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise TableError(f"column {roles.weight!r} has weights that are missing or negative: correct or drop them.")
    return weight > 0, weight


def rows_of(first: int, piece: Piece) -> int:
    """Return the rows of a piece."""
    return len(read(piece))


def sketch_piece(roles: Roles, n_rows: int, first: int, piece: Piece) -> Sketch:
    """Return what one piece says. n_rows : of all pieces. first : the number of its first row."""
    frame = read(piece)
    if not len(frame):
        return Sketch()
    with naming(piece):
        names = roles.features_of(frame)
        kept, weight = kept_rows(frame, roles)
        numbers = np.arange(first, first + len(frame), dtype=np.uint64)
        sampled = kept & (buckets(numbers, SAMPLE_SEED) < share_of(n_rows, len(names)) * BUCKETS)
        if roles.exposure is not None and kept.any():
            read_log_exposure(frame.loc[kept, roles.exposure], int(kept.sum()))
        mass = np.ones(int(kept.sum())) if weight is None else weight[kept]
        rows = frame.loc[kept]
        sketch = replace(Sketch(tuple(names), weights=Moments.of(mass)), **_columns_of(rows[names], roles.categorical))
        if roles.task is not None:
            sketch = replace(sketch, tasks=_tasks(rows[names], rows[roles.task]))
        numeric = [*sketch.bounds, *([roles.weight] if roles.weight else [])]
        return _with_target(replace(sketch, sample=(frame.loc[sampled, numeric],)), rows[roles.target], roles)


def _with_target(sketch: Sketch, target: pd.Series, roles: Roles) -> Sketch:
    """Return a sketch that knows the target: its moments, or its classes."""
    if target.isna().any():
        n_missing = int(target.isna().sum())
        raise TableError(
            f"the target {roles.target!r} is missing in {counted(n_missing, 'row')}: drop them before training."
        )
    if roles.loss is None:
        classes = frozenset(target.unique().tolist())
        if len(classes) > MOST_CLASSES:
            raise TableError(f"the target has more than {MOST_CLASSES} classes: combine the rare ones.")
        return replace(sketch, classes=classes)
    if Table(target.to_frame()).kind(roles.target) not in ("number", "boolean"):
        raise TableError(f"the target {roles.target!r} is not a number: choose another column, or train a classifier.")
    values = read_numbers(target)
    if refusal := roles.loss.refusal(np.append(values, 1.0)):  # one event: others may be in other pieces
        raise TableError(refusal)
    return replace(sketch, targets=Moments.of(values))


def _tasks(features: pd.DataFrame, labels: pd.Series) -> dict[Any, OfTask]:
    """Return what rows say of each task. labels : (n,) that of each row."""
    if labels.isna().any():
        missing = counted(int(labels.isna().sum()), "row")
        raise TableError(f"the task is missing in {missing}: drop them, or give them one.")
    present = features.notna().groupby(labels.to_numpy(), sort=False)
    has, sizes = present.any(), present.size()
    return {
        plain(label): OfTask(int(sizes[label]), frozenset(name for name in has.columns if has.loc[label, name]))
        for label in has.index
    }


def plain(label: Any) -> Any:
    """Return a label as an object of Python's own."""
    return label.item() if isinstance(label, np.generic) else label


def _columns_of(frame: pd.DataFrame, categorical: frozenset[str]) -> dict[str, Any]:
    """Return the kinds, levels and bounds of the features of a piece."""
    table = Table.of(frame)
    kinds: dict[str, Kind | None] = {}
    order: dict[str, tuple[str, ...]] = {}
    zoned: dict[str, bool] = {}
    levels: dict[str, Counter[str]] = {}
    bounds: dict[str, tuple[float, float]] = {}
    for name in table.names:
        series = table.frame[name]
        if series.isna().all():
            kinds[name] = None
            continue
        kinds[name] = kind = "category" if name in categorical else table.kind(name)
        if kind in ("number", "date"):
            values = read_feature(table, Feature(name, name, kind, zoned=None)).astype(np.float64)
            bounds[name] = float(np.nanmin(values)) + 0.0, float(np.nanmax(values)) + 0.0
        if kind == "date":
            zoned[name] = bool(has_zone(series))
        if isinstance(series.dtype, pd.CategoricalDtype):
            order[name] = tuple(map(level_name, series.cat.categories))
        levels[name] = _levels(table, name) if kind == "category" else Counter()
    return {"kinds": kinds, "order": order, "zoned": zoned, "levels": levels, "bounds": bounds}


def _levels(table: Table, name: str) -> Counter[str]:
    codes, names = table.texts(name)
    rows = np.bincount(codes[codes >= 0], minlength=len(names))
    return Counter(dict(zip(names, rows.tolist(), strict=True)))


def of_all(sketches: Sequence[Sketch]) -> Sketch:
    """Return what all pieces say together, in their order."""
    known = [sketch for sketch in sketches if sketch.names]
    if not any(sketch.n_rows for sketch in known):
        raise TableError("Found 0 sample(s) while a minimum of 1 is required: the table has no rows.")
    names = known[0].names
    levels = {name: Counter[str]() for name in names}
    tasks: dict[Any, OfTask] = {}
    bounds: dict[str, tuple[float, float]] = {}
    for sketch in known:
        for name, rows in sketch.levels.items():
            levels[name].update(rows)
        for label, of_task in sketch.tasks.items():
            tasks[label] = tasks.get(label, OfTask()) + of_task
        for name, (low, high) in sketch.bounds.items():
            before = bounds.get(name, (np.inf, -np.inf))
            bounds[name] = min(before[0], low), max(before[1], high)
    for name, rows in levels.items():
        if len(rows) > MOST_LEVELS:
            raise TableError(f"Column {name!r} has more than {count(MOST_LEVELS)} levels: leave it out.")
    orders = {name: {sketch.order.get(name, ()) for sketch in known} for name in names}
    return Sketch(
        names,
        kinds={name: _kind(name, known) for name in names},
        order={name: agreed.pop() for name, agreed in orders.items() if len(agreed) == 1},
        zoned={name: _zoned(name, known) for name in names},
        levels=levels,
        bounds=bounds,
        sample=tuple(frame for sketch in known for frame in sketch.sample if len(frame)),
        weights=sum((sketch.weights for sketch in known), Moments()),
        targets=sum((sketch.targets for sketch in known), Moments()),
        classes=frozenset().union(*(sketch.classes for sketch in known)),
        tasks=tasks,
    )


def _kind(name: str, sketches: Sequence[Sketch]) -> Kind:
    """Return the kind of a column, in which all pieces that have cells agree."""
    kinds: set[Kind] = {kind for sketch in sketches if (kind := sketch.kinds.get(name))}
    if kinds == {"number", "boolean"}:
        return "number"
    if len(kinds) > 1:
        raise TableError(f"Column {name!r} is a {' in one piece and a '.join(sorted(kinds))} in another: convert it.")
    return kinds.pop() if kinds else "category"


def _zoned(name: str, sketches: Sequence[Sketch]) -> bool:
    """Return whether a column has a time zone, in which all pieces that have cells agree."""
    zoned = {sketch.zoned[name] for sketch in sketches if name in sketch.zoned}
    if len(zoned) > 1:
        raise TableError(f"Column {name!r} has a time zone in one piece and none in another: convert it.")
    return zoned == {True}


def share_of(n_rows: int, n_columns: int) -> float:
    """Return the share of all rows that is sampled."""
    wanted = max(FEWEST_SAMPLED, SAMPLE_CELLS // max(n_columns, 1))
    return min(1.0, wanted / max(n_rows, 1))


def features_of(sketch: Sketch, categorical: Sequence[Any] | Literal["infer"], date_parts: bool) -> tuple[Feature, ...]:
    """Return the features of the table, as `learn_features` would."""

    def levels(name: str) -> tuple[str, ...]:
        rows = sketch.levels[name]
        order = sketch.order.get(name, ())
        return tuple(level for level in order if rows[level]) if order else in_order(rows)

    kinds = {name: kind for name, kind in sketch.kinds.items() if kind is not None}
    zoned = {name for name, has in sketch.zoned.items() if has}
    return features_of_kinds(kinds, levels, categorical, date_parts, zoned=zoned)


def bins_of(
    sketch: Sketch, features: Sequence[Feature], roles: Roles, max_bins: int, own: Sequence[OwnBins], max_levels: int
) -> tuple[Bins, ...]:
    """Return the bins of the features: of numbers from the sample, with all rows' bounds; of levels from all rows."""
    sample = pd.concat(sketch.sample, ignore_index=True) if sketch.sample else pd.DataFrame(index=[0])
    weight = None
    if roles.weight is not None:
        weight = relative_weight(read_numbers(sample[roles.weight]), sketch.weights.mean)
    table, bins_by_feature = Table(sample), []
    for feature, chosen in zip(features, own, strict=True):
        if feature.is_category:
            rows = sketch.levels.get(feature.column, Counter())
            counts = np.array([rows[level] for level in feature.levels], np.int64)
            bins_by_feature.append(fit_levels(feature, counts, sketch.n_rows, max_levels, chosen))
            continue
        known = feature.column in table and feature.column in sketch.bounds
        values = read_feature(table, feature).astype(np.float64) if known else np.full(len(table), np.nan)
        bins = _of_numbers(feature, values, weight, max_bins, chosen, bounds=sketch.bounds.get(feature.column))
        # Rows outside the sample may lie anywhere beside a cut.
        bins_by_feature.append(bins if len(sample) == sketch.n_rows else replace(bins, beside=np.empty((2, 0))))
    return tuple(bins_by_feature)


def _of_numbers(
    feature: Feature, values: Floats, weight: Floats | None, max_bins: int, own: OwnBins,
    bounds: tuple[float, float] | None,
) -> Bins:  # fmt: skip
    """Return the bins of a number or date; its own cuts may lie anywhere between the bounds of all rows."""
    if bounds is None:
        return fit_bins(feature, values, weight, max_bins)
    if own.cuts.size:
        weight = np.append(np.ones(values.size) if weight is None else weight, [0.0, 0.0])
        values = np.append(values, bounds)
    return replace(fit_bins(feature, values, weight, max_bins, own=own), low=bounds[0], high=bounds[1])
