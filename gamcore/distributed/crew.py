"""Those who work on the pieces of a table: threads and the disk of this machine, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from gamcore.boosting.rows.in_parts import Parts
from gamcore.distributed.coding import Coding
from gamcore.distributed.pieces import Piece

Result = TypeVar("Result")

Tell = Callable[[int, int], bool]
"""Hears of the pieces that are done, and of those there are; returns whether to stop."""

REFIT_BYTES: Final = 128
"""Bytes of a row in a refit beside its codes, which are there twice while they are gathered."""

REFIT_SHARE: Final = 0.5
"""Share of the memory that refits may fill with rows."""

COUNT_SHARE: Final = 0.15
"""Share of the memory that counts of bin pairs may take: a worker has some three of them at a time, beside its rows."""


class StoppedError(Exception):
    """The callback asked to stop before there was a model."""


class Crew(Protocol):
    """Workers on the pieces of a table. Nothing depends on how many pieces or workers there are.

    Of the five things they do, `sketch` is asked of pieces; sums, counts, scores and refits of the `Parts` that coding
    leaves with them.
    """

    def pieces(self, X: Any) -> list[Piece]:
        """Return the pieces of a table."""
        ...

    def sketch(
        self, function: Callable[[int, Any], Result], pieces: Sequence[Piece], starts: Sequence[int], tell: Tell
    ) -> list[Result]:
        """Return what `function` returns of the number of the first row of each piece, and the piece."""
        ...

    def code(self, coding: Coding, pieces: Sequence[Piece], starts: Sequence[int], tell: Tell) -> Parts:
        """Return the coded rows, which stay with the workers."""
        ...

    def most_rows(self, n_features: int, n_refits: int) -> int:
        """Return how many rows a refit may have, so that those that run at once fit into memory."""
        ...

    @property
    def room(self) -> int:
        """Bytes that counts of bin pairs may take."""
        ...

    def close(self) -> None:
        """Give back what is held; nobody waits for work that still runs."""
        ...


def rows_within(memory: float, n_features: int, at_once: int) -> int:
    """Return how many rows each of some refits may have that run at once within so many bytes."""
    return max(int(memory * REFIT_SHARE / at_once / (2 * n_features + REFIT_BYTES)), 1)
