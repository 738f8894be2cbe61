"""This machine as a crew: pieces are read by threads, and coded rows lie on its disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gamcore.boosting.rows.files import Files
from gamcore.boosting.rows.in_parts import Parts
from gamcore.boosting.rows.on_disk import PartsOnDisk
from gamcore.data.binning import type_of_all
from gamcore.distributed.coding import Coding, code_piece
from gamcore.distributed.crew import COUNT_SHARE, StoppedError, Tell, rows_within
from gamcore.distributed.pieces import Piece, pieces_of

Result = TypeVar("Result")


class OneMachine:
    """Threads and a disk. folder : where coded rows are kept during a fit, None for that of temporary files."""

    def __init__(self, n_threads: int = 1, rows_per_refit: int | None = None, folder: Path | None = None) -> None:
        self._n_threads, self._rows_per_refit, self._folder = n_threads, rows_per_refit, folder
        self._files: Files | None = None

    def pieces(self, X: Any) -> list[Piece]:
        """Return the pieces of a table."""
        return pieces_of(X)

    def sketch(
        self, function: Callable[[int, Any], Result], pieces: Sequence[Piece], starts: Sequence[int], tell: Tell
    ) -> list[Result]:
        """Return what `function` returns of the number of the first row of each piece, and the piece."""
        results: list[Result] = []
        self._each(function, pieces, starts, results.append, tell)
        return results

    def code(self, coding: Coding, pieces: Sequence[Piece], starts: Sequence[int], tell: Tell) -> Parts:
        """Write the coded rows to unnamed files, in the order of the pieces."""
        roles, folder = coding.roles, self._folder or Path(tempfile.gettempdir())
        files = self._files = Files(folder, coding.n_lines, type_of_all(coding.bins))

        def write(part: Any) -> None:
            columns = {name: values for name, values in part._asdict().items() if values is not None}
            files.write(**columns)

        def code(first: int, piece: Piece) -> Any:
            return code_piece(coding, first, piece)

        self._each(code, pieces, starts, write, tell)
        return PartsOnDisk(
            files,
            weighted=roles.weight is not None,
            clustered=roles.groups is not None,
            exposed=roles.exposure is not None,
            of_tasks=roles.task is not None,
        )

    def _each(
        self, function: Callable[[int, Piece], Any], pieces: Sequence[Piece], starts: Sequence[int],
        keep: Callable[[Any], None], tell: Tell,
    ) -> None:  # fmt: skip
        """Work on pieces in threads, and keep the results in their order; no more than one per thread waits."""
        waiting: list[Future[Any]] = []
        with ThreadPoolExecutor(self._n_threads, thread_name_prefix="gamcore") as pool:
            try:
                for done, (first, piece) in enumerate(zip(starts, pieces, strict=True)):
                    waiting.append(pool.submit(function, first, piece))
                    if len(waiting) > self._n_threads:
                        keep(waiting.pop(0).result())
                    if tell(done, len(pieces)):
                        raise StoppedError
                while waiting:
                    keep(waiting.pop(0).result())
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def most_rows(self, n_features: int, n_refits: int) -> int:
        """Return how many rows a refit may have within the machine's memory."""
        if self._rows_per_refit is not None:
            return self._rows_per_refit
        return rows_within(_memory(), n_features, min(n_refits, self._n_threads))

    @property
    def room(self) -> int:
        """Bytes that counts of bin pairs may take."""
        return int(_memory() * COUNT_SHARE)

    def close(self) -> None:
        """Close the files, which frees their disk space."""
        if self._files is not None:
            self._files.close()


def _memory() -> float:
    """Return the bytes of memory of this machine."""
    return float(np.int64(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
