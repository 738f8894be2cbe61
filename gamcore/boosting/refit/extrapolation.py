"""Going on along the last movements of the curves, where a refit converges slowly.

Where columns are nearly functions of each other, what one curve ought to give to another passes in small steps: the
loss falls for thousands of rounds, by less and less, and always along the same few directions. So from FIRST rounds on,
the last movements are taken further, to where the training loss is least among all their combinations: a Newton step,
which for squared loss is the acceleration of Anderson (1965). The validation loss decides whether the curves go there.
A try costs as much as a few rounds. So after each one that failed, the next waits twice as long: a refit that is about
to end, where all of them fail, has few.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from gamcore.kernels.layout import Fit

FIRST: Final = 100
"""Rounds of a refit before the first: most have ended by then."""

EVERY: Final = 5
"""Rounds of a movement."""

MOVEMENTS: Final = 8
"""Movements that are combined."""

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
        self._state, self._is_movable = state, state.is_movable
        self._next, self._wait = FIRST, EVERY
        self._past: deque[Floats] = deque(maxlen=MOVEMENTS + 1)

    def rounds_left(self) -> int:
        """Return the rounds until the next call that does something."""
        done = self._state.done
        return max(self._next - EVERY * MOVEMENTS - done, EVERY - done % EVERY) if self._is_movable else NEVER

    def __call__(self) -> None:
        """Note where the curves are, and move them if that lowers the validation loss."""
        state = self._state
        if not self._is_movable or state.done % EVERY or state.done < self._next - EVERY * MOVEMENTS:
            return
        self._past.append(state.fit.curves.copy())
        if state.done < self._next or len(self._past) < 2:
            return
        self._wait = EVERY if self._moved_further() else 2 * self._wait
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
