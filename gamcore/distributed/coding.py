"""A piece of a table as coded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.boosting.rows.source import relative_weight
from gamcore.boosting.rows.sums import Part, PartInMemory
from gamcore.common.types import Codes, Floats
from gamcore.data.binning import Bins, encode_table, type_of_all
from gamcore.data.columns import hash_labels
from gamcore.data.rows import read_log_exposure
from gamcore.data.sampling import BUCKETS, buckets
from gamcore.data.table import Table
from gamcore.data.targets import codes_of, read_numeric_target
from gamcore.distributed.pieces import Piece, naming, read
from gamcore.distributed.sketch import Roles, kept_rows
from gamcore.model.losses import Loss


@dataclass(frozen=True)
class Coding:
    """How pieces become codes.

    classes : of the target, None for a number. mean_weight : of all rows. seed : of the buckets. loss : what says which
    targets it cannot have.
    """

    roles: Roles
    bins: tuple[Bins, ...]
    loss: Loss
    classes: NDArray[Any] | None
    mean_weight: float
    seed: int

    @property
    def n_lines(self) -> int:
        """Lines of codes."""
        return len(self.bins)

    def codes(self, rows: pd.DataFrame) -> Codes:
        """Return the codes (lines, m) of training rows."""
        return encode_table(Table(rows), self.bins, in_training=True)

    def tasks(self, rows: pd.DataFrame) -> NDArray[np.int32] | None:
        """Return the index (m,) of each row's task; None where there are none."""
        return None

    def target(self, values: pd.Series) -> Floats:
        """Return a target as numbers: of classes, their places."""
        if self.classes is not None:
            return codes_of(values, self.classes).astype(np.float64)
        return read_numeric_target(values)


def code_piece(coding: Coding, first: int, piece: Piece) -> PartInMemory:
    """Return the rows of a piece that have a positive weight as codes. first : the number of the first of them."""
    roles, frame = coding.roles, read(piece)
    if not len(frame):
        return _nothing(coding)
    with naming(piece):
        kept, weight = kept_rows(frame, roles)
        if not kept.any():
            return _nothing(coding)
        rows = frame.loc[kept]
        keys = np.arange(first, first + len(rows), dtype=np.uint64)
        cluster = hash_labels(rows[roles.groups].astype("string")) if roles.groups else None
        return PartInMemory(
            coding.codes(rows),
            coding.target(rows[roles.target]),
            weight=None if weight is None else relative_weight(weight[kept], coding.mean_weight),
            log_exposure=read_log_exposure(rows[roles.exposure], len(rows)) if roles.exposure else None,
            cluster=cluster,
            bucket=buckets(keys if cluster is None else cluster, coding.seed),
            task=coding.tasks(rows),
        )


def _nothing(coding: Coding) -> PartInMemory:
    """Return no rows, with the columns that others have."""
    roles, none = coding.roles, np.empty(0)
    return PartInMemory(
        np.empty((coding.n_lines, 0), type_of_all(coding.bins)),
        none,
        weight=none if roles.weight else None,
        log_exposure=none if roles.exposure else None,
        cluster=np.empty(0, np.uint64) if roles.groups else None,
        bucket=np.empty(0, np.uint16),
        task=np.empty(0, np.int32) if roles.task else None,
    )


def bucket_sizes(part: Part) -> NDArray[np.int64]:
    """Return the rows of each bucket, (BUCKETS,)."""
    assert part.bucket is not None
    return np.bincount(part.bucket, minlength=BUCKETS).astype(np.int64)
