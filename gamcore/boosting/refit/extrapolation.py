"""Going on along the last movements of the curves, where a refit converges slowly.

Where columns are nearly functions of each other, what one curve ought to give to another passes in small steps: the
loss falls for thousands of rounds, by less and less, and always along the same few directions. So from the first round
of a `Pace` on, the last movements are taken further, to where the training loss is least among all their combinations:
a Newton step, which for squared loss is the acceleration of Anderson (1965). The validation loss decides whether the
curves go there.
A try costs as much as a few rounds. So after each one that failed, the next waits twice as long: a refit that is about
to end, where all of them fail, has few.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels.layout import Fit


class Pace(NamedTuple):
    """When movements are taken further.

    first : rounds of a refit before the first. every : rounds of a movement. movements : as many are combined.
    """

    first: int
    every: int
    movements: int


USUAL: Final = Pace(first=100, every=5, movements=8)
"""Most refits have ended by then."""

OF_CLASSES: Final = Pace(first=15, every=1, movements=4)
"""Classes have their turns one after the other, and each waits for what the others give up: where they can be told
apart, all scores grow together for a hundred rounds, along one direction. A round of ten classes costs more than a try.
Where they overlap, the loss is least before the first. For rounds that are long (`class_turns.LONG`)."""

NEVER: Final = 2**31
"""Rounds that no refit has."""

ALIKE: Final = 1e-10
"""Smallest eigenvalue of the movements' curvatures, beside the largest, that counts: below, they are one movement."""

Floats = NDArray[np.float64]


class Movable(Protocol):
    """The state of a refit whose curves can be moved."""

    fit: Fit

    @property
    def done(self) -> int:
        """Rounds so far."""
        ...

    @property
    def pace(self) -> Pace:
        """When its movements are taken further."""
        ...

    @property
    def is_movable(self) -> bool:
        """Whether validation rows judge its rounds, and any sum of its curves would do."""
        ...

    def newton(self, moves: Floats) -> tuple[Floats, Floats]:
        """Return minus the slopes (m,) of the training loss along changes (m, p, V) of the curves, and its curvatures
        (m, m), up to a factor that both have."""
        ...

    def refresh(self) -> None:
        """Recompute the row scores from the curves."""
        ...

    def valid_loss(self) -> float:
        """Return the mean loss of the validation rows."""
        ...


class Extrapolation:
    """Takes the movements of a stage of rounds further."""

    def __init__(self, state: Movable) -> None:
        self._state, self._is_movable, self._pace = state, state.is_movable, state.pace
        self._next, self._wait = self._pace.first, self._pace.every
        self._past: deque[Floats] = deque(maxlen=self._pace.movements + 1)

    def rounds_left(self) -> int:
        """Return the rounds until the next call that does something."""
        if not self._is_movable:
            return NEVER
        done, every = self._state.done, self._pace.every
        return max(self._begin - done, every - done % every)

    @property
    def _begin(self) -> int:
        """The round from which on movements are noted."""
        return self._next - self._pace.every * self._pace.movements

    def __call__(self) -> None:
        """Note where the curves are, and move them if that lowers the validation loss."""
        state = self._state
        if not self._is_movable or state.done % self._pace.every or state.done < self._begin:
            return
        self._past.append(state.fit.curves.copy())
        if state.done < self._next or len(self._past) < 2:
            return
        self._wait = self._pace.every if self._moved_further() else 2 * self._wait
        self._next = state.done + self._wait

    def _moved_further(self) -> bool:
        """Return whether the curves were moved to where the training loss is least along the last movements."""
        state, here = self._state, self._past[-1]
        moves, before = np.diff(np.stack(self._past), axis=0), state.valid_loss()
        slope, bend = state.newton(moves)
        share = np.linalg.lstsq(bend, slope, rcond=ALIKE)[0]
        state.fit.curves[:] += np.tensordot(share, moves, 1)
        state.refresh()
        is_lower = state.valid_loss() < before
        if is_lower:
            self._past[-1] = state.fit.curves.copy()
        else:
            state.fit.curves[:] = here
            state.refresh()
        return is_lower
