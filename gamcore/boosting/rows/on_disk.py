"""The parts of a table on this machine's disk, for tables far larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamcore.boosting.counts.bin_pairs import Counting, CountPlan, Tell
from gamcore.boosting.counts.whole_numbers import Piece
from gamcore.boosting.refit.loop import run_all
from gamcore.boosting.rows.counted import piece_of
from gamcore.boosting.rows.files import Files
from gamcore.boosting.rows.source import relative_weight
from gamcore.boosting.rows.sums import Part, PartInMemory
from gamcore.boosting.running.executor import Task
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Codes, Floats
from gamcore.kernels.tables import Tables
from gamcore.stats.exact import Moments

Made = TypeVar("Made")
Total = TypeVar("Total")

PIECE_ROWS: Final = 2**19
"""Rows that are read before they are counted: every piece also costs a pass over the tables."""


@dataclass(frozen=True)
class PartsOnDisk:
    """Rows in files as `Parts`: each chunk that was written is one. Each flag tells whether rows have the column."""

    files: Files
    weighted: bool = False
    clustered: bool = False
    exposed: bool = False
    of_tasks: bool = False
    is_here: bool = True

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return self.files.n_rows

    @property
    def handles(self) -> Sequence[PartOnDisk]:
        """The parts, which read what they are asked for."""
        return [PartOnDisk(self, place, first, end) for place, (first, end) in enumerate(pairwise(self.files.chunks))]

    @cached_property
    def mean_weight(self) -> float:
        """The mean of all weights as they were written."""
        parts = (Moments.of(self.files.column("weight", np.float64, *ends)) for ends in pairwise(self.files.chunks))
        return sum(parts, Moments()).mean

    def sum(self, measure: Callable[[Part], Total]) -> Total:
        """Return what `measure` returns of each part, added up."""
        return reduce(add, map(measure, self.handles))

    def score(self, measure: Callable[[Part], Floats]) -> Floats:
        """Return what `measure` returns per row, in their order."""
        return np.concatenate([measure(part) for part in self.handles])

    def count(self, plan: CountPlan, n_threads: int, tell: Tell | None) -> Tables:
        """Return the counts of bin pairs in whole numbers, reading a few parts at a time."""
        return Counting(partial(self._pieces, plan), plan).whole(n_threads, tell)

    def _pieces(self, plan: CountPlan) -> Iterator[Piece]:
        waiting: list[PartOnDisk] = []
        for part in self.handles:
            waiting.append(part)
            if part.end - waiting[0].first >= PIECE_ROWS:
                yield piece_of(plan, _joined(waiting))
                waiting = []
        if waiting:
            yield piece_of(plan, _joined(waiting))

    def refit(
        self, tasks: Sequence[Task[Made]], n_rows: int, n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits in threads."""
        return run_all(tasks, n_rows, n_jobs, callback, about)


@dataclass(frozen=True)
class PartOnDisk:
    """The rows first .. end - 1 of files as a `Part`: what is asked for is read each time."""

    parts: PartsOnDisk
    place: int
    first: int
    end: int

    def _read(self, name: str, dtype: type) -> NDArray[Any]:
        return self.parts.files.column(name, dtype, self.first, self.end)

    @property
    def codes(self) -> Codes:
        return self.parts.files.codes_of(self.place)

    @property
    def y(self) -> Floats:
        return self._read("y", np.float64)

    @property
    def weight(self) -> Floats | None:
        if not self.parts.weighted:
            return None
        return relative_weight(self._read("weight", np.float64), self.parts.mean_weight)

    @property
    def log_exposure(self) -> Floats | None:
        return self._read("log_exposure", np.float64) if self.parts.exposed else None

    @property
    def init_score(self) -> None:
        return None

    @property
    def cluster(self) -> NDArray[np.uint64] | None:
        return self._read("cluster", np.uint64) if self.parts.clustered else None

    @property
    def bucket(self) -> NDArray[np.uint16]:
        return self._read("bucket", np.uint16)

    @property
    def task(self) -> NDArray[np.int32] | None:
        return self._read("task", np.int32) if self.parts.of_tasks else None


def _joined(parts: Sequence[PartOnDisk]) -> PartInMemory:
    """Return what is counted of neighbouring parts as one part in memory."""
    weights = [weight for part in parts if (weight := part.weight) is not None]
    return PartInMemory(
        np.concatenate([part.codes for part in parts], axis=1),
        np.concatenate([part.y for part in parts]),
        weight=np.concatenate(weights) if weights else None,
        bucket=np.concatenate([part.bucket for part in parts]),
    )
