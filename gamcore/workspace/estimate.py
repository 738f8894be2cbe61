"""Seconds and memory of a training, before it begins.

A step costs a fixed part (combining groups, cutting lines) and a part a row; a round is a step a feature and the greedy
steps; how many rounds early stopping takes is a guess from the tables in docs/presets.md, so the seconds are a rough
estimate: half to twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

STEP_SECONDS = 25e-6
BAG_SECONDS = 1.2e-6
ROW_SECONDS = 2.5e-9
ROUNDS_AT_FIFTH = 120
MOST_ROUNDS = 5000
WORKER_SECONDS = 2.0
"""Start of a child process: importing the libraries, reading the table."""


@dataclass(frozen=True)
class Estimate:
    """Seconds of boosting, as usual and if every refit ran all its rounds, and bytes beyond the table itself."""

    seconds: float
    most: float
    memory: int


def estimate(rows: int, features: int, parameters: dict[str, Any], n_jobs: int) -> Estimate:
    """Cost of a fit on `rows` training rows with these estimator parameters."""
    refits = parameters.get("outer_bags", 8)
    ensemble = parameters.get("ensemble", "grouped")
    n_bags = parameters.get("n_bags") or (16 if ensemble == "grouped" else 100)
    a_row = ROW_SECONDS * (1 if ensemble == "grouped" else 1 + n_bags / 12)
    rounds = ROUNDS_AT_FIFTH * 0.2 / parameters.get("learning_rate", 0.2)
    rounds = min(rounds + parameters.get("early_stopping_rounds", 50), parameters.get("max_rounds", MOST_ROUNDS))
    a_round = ceil(features * (1 + parameters.get("greedy_ratio", 2.0)))
    at_once = max(1, min(n_jobs, refits))
    step = STEP_SECONDS + BAG_SECONDS * n_bags / 2 + a_row * rows
    seconds, most = (refits / at_once * n * a_round * step for n in (rounds, parameters.get("max_rounds", MOST_ROUNDS)))
    a_refit = 13 * rows + features * 256 * 32 * 4 + (rows * n_bags if ensemble == "subagging" else 0)
    return Estimate(seconds, most, rows * features + rows * 24 + at_once * a_refit)
