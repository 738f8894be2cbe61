"""The workers of a Dask cluster as a crew.

Workers are stateless: a task turns a piece of the table into codes, or codes into sums, counts, scores or a refit. What
a lost worker held is made again by Dask from the pieces. No worker is named, none talks to another on our behalf, and
nothing of ours listens on a socket.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add, itemgetter
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from gamcore.boosting.counts.bin_pairs import CountPlan, sum_of
from gamcore.boosting.counts.bin_pairs import Tell as TellRows
from gamcore.boosting.refit.loop import run_all
from gamcore.boosting.rows.counted import count_part
from gamcore.boosting.rows.sums import Part, PartInMemory
from gamcore.boosting.running.executor import Task
from gamcore.boosting.running.progress import Callback
from gamcore.common.types import Floats
from gamcore.distributed.client import Connection
from gamcore.distributed.cluster_refits import RemotePart, is_of_parts, refit_all
from gamcore.distributed.coding import Coding, code_piece
from gamcore.distributed.crew import COUNT_SHARE, Tell, rows_within
from gamcore.distributed.pieces import FramePiece, Piece, pieces_of
from gamcore.kernels.tables import Tables

Made = TypeVar("Made")
Note = TypeVar("Note")
Result = TypeVar("Result")
Total = TypeVar("Total")

FAN: Final = 16
"""Sums that one task adds up."""


class OnCluster:
    """The workers of a cluster. rows_per_refit : None for as many as fit into the memory of a worker."""

    def __init__(self, client: Any, rows_per_refit: int | None = None) -> None:
        self._connection, self._rows_per_refit = Connection(client), rows_per_refit

    def pieces(self, X: Any) -> list[Piece]:
        """Return the pieces of a table. A dataset is looked at by a worker, as only workers need to be able to read
        it; delayed frames are made by the workers, and stay there."""
        if isinstance(X, str | Path):
            pieces: list[Piece] = self._connection.finish([self._connection.submit(pieces_of, str(X))])[0]
            return pieces
        return pieces_of(X, self._connection.compute)

    def sketch(
        self, function: Callable[[int, Any], Result], pieces: Sequence[Piece], starts: Sequence[int], tell: Tell
    ) -> list[Result]:
        """Return what `function` returns of the number of the first row of each piece, and the piece."""
        return self._connection.finish(self._each(function, pieces, starts), tell)

    def _each(self, function: Callable[[int, Piece], Any], pieces: Sequence[Piece], starts: Sequence[int]) -> list[Any]:
        """Start a task per piece. A frame that a worker has is handed to the task by Dask."""
        submit, shared = self._connection.submit, self._connection.shared(function)
        return [
            submit(_of_frame, shared, first, piece.name, piece.frame)
            if isinstance(piece, FramePiece)
            else submit(_of_piece, shared, first, piece)
            for first, piece in zip(starts, pieces, strict=True)
        ]

    def code(self, coding: Coding, pieces: Sequence[Piece], starts: Sequence[int], tell: Tell) -> PartsOnCluster:
        """Return the coded rows, which stay with the workers."""
        return self._parts(self._each(partial(code_piece, coding), pieces, starts), tell)

    def keep(
        self, function: Callable[[int, Piece], tuple[PartInMemory, Note]], pieces: Sequence[Piece],
        starts: Sequence[int], tell: Tell,
    ) -> tuple[PartsOnCluster, list[Note]]:  # fmt: skip
        """Return coded rows, which stay with the workers, and what `function` notes of each piece beside them."""
        submit, both = self._connection.submit, self._each(function, pieces, starts)
        futures = [submit(itemgetter(0), future) for future in both]
        notes = self._connection.finish([submit(itemgetter(1), future) for future in both], tell)
        return self._parts(futures), notes

    def send(self, parts: Iterable[PartInMemory]) -> PartsOnCluster:
        """Hand coded rows to the workers. The scheduler keeps a copy, from which a lost worker's are made again."""
        return self._parts([self._connection.shared(part) for part in parts])

    def _parts(self, futures: Sequence[Any], tell: Tell | None = None) -> PartsOnCluster:
        sizes = self._connection.finish([self._connection.submit(_n_rows, future) for future in futures], tell)
        return PartsOnCluster(self._connection, futures, sum(sizes))

    def most_rows(self, n_features: int, n_refits: int) -> int:
        """Return how many rows a refit may have, by the smallest worker."""
        if self._rows_per_refit is not None:
            return self._rows_per_refit
        return min(rows_within(memory, n_features, min(n_refits, threads)) for threads, memory in self.workers())

    def workers(self) -> list[tuple[int, float]]:
        """Return the threads and the bytes of memory of each worker."""
        return self._connection.workers()

    @property
    def room(self) -> int:
        """Bytes that counts of bin pairs may take."""
        return int(min(memory for _, memory in self.workers()) * COUNT_SHARE)

    def close(self) -> None:
        """Let go of what the workers hold."""
        self._connection.close()


@dataclass(frozen=True)
class PartsOnCluster:
    """Coded rows with the workers as `Parts`. futures : of `PartInMemory`s, in the order of the rows."""

    connection: Connection
    futures: Sequence[Any]
    n_rows: int
    is_here: bool = False

    @property
    def handles(self) -> Sequence[RemotePart]:
        """What stands for the parts until a refit runs."""
        return [RemotePart(future) for future in self.futures]

    def each(self, function: Callable[[PartInMemory], PartInMemory]) -> PartsOnCluster:
        """Return what `function` makes of each part, with as many rows."""
        submit, shared = self.connection.submit, self.connection.shared(function)
        return replace(self, futures=[submit(_of_part, shared, future) for future in self.futures])

    def sum(self, measure: Callable[[Part], Total]) -> Total:
        """Return what `measure` returns of each part, added up by the workers."""
        submit, shared = self.connection.submit, self.connection.shared(measure)
        sums = [submit(_of_part, shared, future) for future in self.futures]
        while len(sums) > 1:
            sums = [submit(_added, sums[first : first + FAN]) for first in range(0, len(sums), FAN)]
        total: Total = self.connection.finish(sums)[0]
        return total

    def score(self, measure: Callable[[Part], Floats]) -> Floats:
        """Return what `measure` returns per row, in their order."""
        submit, shared = self.connection.submit, self.connection.shared(measure)
        return np.concatenate(self.connection.finish([submit(_of_part, shared, future) for future in self.futures]))

    def count(self, plan: CountPlan, n_threads: int, tell: TellRows | None) -> Tables:
        """Return the counts of bin pairs in whole numbers.

        Each worker adds the parts that it has to counts of its own, one after the other; if it is lost, others do.
        """
        submit, shared = self.connection.submit, self.connection.shared(plan)

        def step(chain: _Chain, before: Any) -> tuple[_Chain, Any]:
            return chain, submit(_count_onto, shared, chain.threads, before, chain.left.pop(0))

        total: Tables | None = None
        running, n_steps, done = [step(chain, None) for chain in self._chains()], len(self.futures), 0
        while running:
            ready = self.connection.ready([future for _, future in running])
            for chain, future in [pair for pair in running if pair[1] in ready]:
                running.remove((chain, future))
                done += 1
                if tell:
                    tell(plan.n_rows * done // n_steps, plan.n_rows)
                if chain.left:  # begun only now: all steps at once would leave the counts of each in memory
                    running.append(step(chain, future))
                    continue
                counts = self.connection.finish([future])[0]
                total = counts if total is None else sum_of(total, counts)
        assert total is not None
        return total

    def _chains(self) -> list[_Chain]:
        """Return the parts that each worker has; where they are moves little, and changes nothing."""
        where, threads = self.connection.who_has(self.futures), self.connection.threads()
        held: dict[str, list[Any]] = defaultdict(list)
        for future in self.futures:
            held[next(iter(where.get(future.key, ())), "")].append(future)
        return [_Chain(threads.get(worker, 1), futures) for worker, futures in held.items()]

    def refit(
        self, tasks: Sequence[Task[Made]], n_rows: int, n_jobs: int, callback: Callback | None, about: dict[str, Any]
    ) -> list[Made]:
        """Run refits on the workers; those that know rows by their counts alone run here, where the counts are."""
        if all(is_of_parts(task) for task in tasks):
            return refit_all(self.connection, tasks, n_rows, callback, about)
        return run_all(tasks, n_rows, n_jobs, callback, about)


@dataclass
class _Chain:
    """Parts that are counted one after the other, and the threads that do it."""

    threads: int
    left: list[Any]


def _of_frame(function: Callable[[int, Piece], Any], first: int, name: str, frame: Any) -> Any:
    return function(first, FramePiece(name, frame))


def _of_piece(function: Callable[[int, Piece], Any], first: int, piece: Piece) -> Any:
    return function(first, piece)


def _n_rows(part: Any) -> int:
    return int(part.y.size)


def _of_part(function: Callable[[Any], Any], part: PartInMemory) -> Any:
    return function(part)


def _added(sums: list[Any]) -> Any:
    return reduce(add, sums)


def _count_onto(plan: CountPlan, n_threads: int, before: Tables | None, part: PartInMemory) -> Tables:
    """Return the counts of a part and those before, which stay as they are: another task may need them again."""
    counts = count_part(plan, n_threads, part)
    return counts if before is None else sum_of(counts, before)
