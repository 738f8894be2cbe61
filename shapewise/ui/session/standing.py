"""How far a training run is, as a share and in words."""

from __future__ import annotations

import numpy as np

from gamcore.numbers import percent
from shapewise.training.runs import Run, Standing
from shapewise.ui.session import state
from shapewise.ui.session.words import count, duration


def left_seconds(standing: Standing) -> float | None:
    """Time left in the stage, from the refits that have ended; unknown during the first."""
    begun = np.unique(standing.points[:, 0]).size
    ended = max(begun - state.n_jobs(), 0)
    return standing.seconds / ended * (standing.n_refits - ended) if ended else None


def in_words(standing: Standing) -> tuple[float, str]:
    """Return how far a stage is, as a share and in words."""
    if standing.stage == "reading the table":
        done = float(standing.points[-1, 1])
        return done / max(
            standing.most, 1
        ), f"reading the table: {percent(done / max(standing.most, 1), 0)} of the rows"
    if standing.stage == "ranking":
        done = float(standing.points[-1, 1])
        return done / max(standing.most, 1), f"ranking pairs: {count(done)} of {count(standing.most)} grids"
    if standing.stage == "tuning":
        done = float(standing.points[-1, 1])
        return done / max(standing.most, 1), f"trying settings: {count(done)} of {count(standing.most)} fits"
    if standing.stage == "comparison":
        done = float(standing.points[-1, 1])
        return done / max(
            standing.most, 1
        ), f"comparing with simpler models: {count(done)} of {count(standing.most)} done"
    begun, rounds, rest = np.unique(standing.points[:, 0]).size, len(standing.points), left_seconds(standing)
    ended = max(begun - state.n_jobs(), 0) + 0.5 * min(begun, state.n_jobs())
    words = [
        f"{standing.n_pairs} pairs" if standing.stage == "pairs" else standing.stage,
        f"refit {begun} of {standing.n_refits}",
        f"{count(rounds)} rounds",
        f"{count(rounds / max(standing.seconds, 0.1))} rounds per second",
        f"about {duration(rest)} left" if rest is not None else "time left is not known yet",
    ]
    return ended / standing.n_refits, " · ".join(words)


def of_run(run: Run) -> tuple[float, str]:
    """Return how far a run is that waits or goes on."""
    if run.state == "queued":
        return 0.0, "waiting, next" if run.place == 1 else f"waiting, number {count(run.place)} in the queue"
    if not len(run.standing.points):
        return 0.0, "starting"
    return in_words(run.standing)
