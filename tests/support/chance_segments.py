"""Segments that are suggested on noise: targets unrelated to the features, so every one of them is due to chance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore import GAMClassifier, GAMRegressor
from gamcore.decide.segments import Evidence, HeldOutRows, suggest

N_ROWS, N_BANDS = 3_000, 12
SETTINGS = {"max_rounds": 60, "outer_bags": 4}
THRESHOLDS = (0.0, -0.1)  # on the link scale


def noise(seed: int, binary: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of numbers, counts, levels and missing cells, and a target independent of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=N_ROWS), "tail": rng.lognormal(0, 1, N_ROWS), "count": rng.poisson(3, N_ROWS),
            "level": rng.choice(list("abcde"), N_ROWS), "flag": rng.random(N_ROWS) < 0.3,
            "gaps": np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.random(N_ROWS)),
        }
    )  # fmt: skip
    return X, (rng.random(N_ROWS) < 0.25).astype(int) if binary else rng.gamma(2, 1, N_ROWS)


def shown(seed: int, binary: bool) -> dict[float, list[tuple[bool, bool]]]:
    """Return, by threshold, whether the interval of each segment suggested on one table excludes 0, on held-out and on
    training rows."""
    X, y = noise(seed, binary)
    held = np.random.default_rng([seed, 1]).random(N_ROWS) < 0.2
    kind = GAMClassifier if binary else GAMRegressor
    model = kind(random_state=seed, bands=N_BANDS, interactions=1, **SETTINGS).fit(X[~held], y[~held])
    training = HeldOutRows(model.model_, X[~held], y[~held].astype(float))  # not held out: for comparison
    hits: dict[float, list[tuple[bool, bool]]] = {}
    for threshold in THRESHOLDS:
        segments = suggest(model.model_, X[held], y[held].astype(float), threshold=threshold)
        pairs = [(segment.evidence, training.evidence(segment.rule)) for segment in segments]
        hits[threshold] = [(_leaves_0_out(one), _leaves_0_out(other)) for one, other in pairs]
    return hits


def _leaves_0_out(evidence: Evidence) -> bool:
    low, high = evidence.opportunity_interval
    return bool(low > 0 or high < 0)
