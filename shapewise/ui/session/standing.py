"""How far a training run is, as a share and in words."""

from __future__ import annotations

from typing import Final

import numpy as np

from gamcore.boosting.running.progress import Stage
from gamcore.common.numbers import percent
from shapewise.training.runs import Run, Standing
from shapewise.ui.session.words import count, counted, duration


def left_seconds(standing: Standing, threads: int) -> float | None:
    """Time left in the stage, from the refits that have ended; unknown during the first. threads : that train."""
    begun = np.unique(standing.points[:, 0]).size
    ended = max(begun - threads, 0)
    return standing.seconds / ended * (standing.n_refits - ended) if ended else None


STEPS: Final[dict[Stage, str]] = {
    "reading the table": "reading the table: {share} of the rows",
    "choosing features": "choosing features: {done} of {most} have entered",
    "counting": "counting rows by pairs of bins: {share} done",
    "ranking": "ranking pairs: {done} of {most} grids",
    "tuning": "trying settings: {done} of {most} fits",
    "comparison": "comparing with simpler models: {done} of {most} done",
}
"""Stages that count steps instead of rounds, in words."""


def in_words(standing: Standing, threads: int) -> tuple[float, str]:
    """Return how far a stage is, as a share and in words. threads : that train."""
    if standing.stage in STEPS:
        done = float(standing.points[-1, 1])
        share = done / max(standing.most, 1)
        words = {"share": percent(share, 0), "done": count(done), "most": count(standing.most)}
        return share, STEPS[standing.stage].format(**words)
    begun, rounds = np.unique(standing.points[:, 0]).size, len(standing.points)
    rest, ended = left_seconds(standing, threads), max(begun - threads, 0) + 0.5 * min(begun, threads)
    of_rounds = [
        counted(standing.n_pairs, "pair") if standing.stage == "pairs" else standing.stage,
        f"refit {begun} of {standing.n_refits}",
        counted(rounds, "round"),
        f"{count(rounds / max(standing.seconds, 0.1))} rounds per second",
        *([f"about {duration(rest)} left"] if rest is not None else []),
    ]
    return ended / standing.n_refits, " · ".join(of_rounds)


def of_run(run: Run) -> tuple[float, str]:
    """Return how far a run is that waits or goes on."""
    if run.state == "queued":
        return 0.0, "waiting, next" if run.place == 1 else f"waiting, number {count(run.place)} in the queue"
    if not len(run.standing.points):
        return 0.0, "starting"
    return in_words(run.standing, run.threads)
