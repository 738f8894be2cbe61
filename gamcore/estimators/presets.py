"""Presets: named settings, chosen by measurement.

`python -m benchmarks.boosting.accuracy` measures them; docs/benchmarks/presets.md reports the results.
"""

from __future__ import annotations

from typing import Any, Final

PRESETS: Final[dict[str, dict[str, Any]]] = {
    # A first look: two refits.
    "fast": {"outer_bags": 2, "coarse_leaves": 3, "early_stopping_rounds": 10},
    # The estimators' defaults.
    "balanced": {},
    # Slower, steadier shapes.
    "accurate": {
        "outer_bags": 16,
        "learning_rate": 0.2,
        "coarse_leaves": None,
        "smoothing_rounds": 25,
        "early_stopping_rounds": 50,
    },
    # Every number and date as a smooth line, every category drawn towards its mean.
    "smooth": {"shapes": "smooth"},
    # Lou et al. 2020: 100 row-level subsamples of 65%, trees of three leaves, cyclic order, one fit.
    "paper": {
        "ensemble": "subagging",
        "histogram": "mask",
        "n_bags": 100,
        "subsample": 0.65,
        "learning_rate": 0.01,
        "max_leaves": 3,
        "coarse_leaves": None,
        "smoothing_rounds": 0,
        "greedy_ratio": 0.0,
        "outer_bags": 1,
        "max_rounds": 20_000,
        "early_stopping_rounds": 100,
    },
}

TASK_PRESETS: Final[dict[str, dict[str, Any]]] = {
    "fast": {"outer_bags": 2, "learning_rate": 0.2},
    # The estimators' defaults.
    "balanced": {},
    "accurate": {"outer_bags": 16, "learning_rate": 0.05, "max_rounds": 600, "specific_rounds": 600,
                 "early_stopping_rounds": 40},
    # Zhang and Li 2019, as their program has it: trees of depth five on the common columns, chosen by entropy, five
    # common and five specific rounds, one fit.
    "paper": {
        "criterion": "entropy",
        "common_features": "shared",
        "task_column": False,
        "max_depth": 5,
        "specific_depth": 5,
        "max_rounds": 5,
        "specific_rounds": 5,
        "learning_rate": 0.5,
        "l2": 0.1,
        "min_child_weight": 0.0,
        "outer_bags": 1,
    },
}  # fmt: skip
"""Presets of multi-task trees (docs/method/multitask.md)."""
