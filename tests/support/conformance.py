"""The settings in which our estimators meet scikit-learn's own checks, and the checks that a setting must fail."""

from __future__ import annotations

from typing import Any, Final

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor

QUICK: Final[dict[str, Any]] = {"max_rounds": 20, "random_state": 0}
"""What the checks ask for does not depend on the number of rounds."""

NOT_DRAWN: Final[dict[str, Any]] = {"n_bags": 1, "subsample": 1.0, "outer_bags": 1, "validation_fraction": 0.0}
"""One bag of all rows, one refit, and no validation rows: nothing is dealt or drawn."""

CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "one bag": NOT_DRAWN,
    "pairs": {"interactions": 2, "outer_bags": 2},
    "bagging": {"ensemble": "bagging", "n_bags": 4, "outer_bags": 2},
    "smooth": {"shapes": "smooth", "outer_bags": 2},
    "rising": {"monotone": {0: 1}, "outer_bags": 2},
    "greedy": {"order": "greedy", "outer_bags": 2},
}
TREES: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "one bag": {"outer_bags": 1, "validation_fraction": 0.0, "l2": 0.0, "min_child_weight": 0.0},
    "additive": {"additive": True, "outer_bags": 2},
}
WEIGHTS: Final = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
RELATIVE: Final = "only ratios of weights matter, and rows are dealt at random: a row of weight 2 is not the row twice"


def ours(defaults_only: bool = False) -> list[tuple[str, Any]]:
    """Return each setting's name with an estimator in that setting."""
    made = []
    for kinds, configurations in (
        ((GAMRegressor, GAMClassifier), CONFIGURATIONS),
        ((MultiTaskTreesRegressor, MultiTaskTreesClassifier), TREES),
    ):
        for name, parameters in configurations.items():
            if defaults_only and name != "default":
                continue
            made += [(name, kind(**{**QUICK, **parameters})) for kind in kinds]
    return made


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the one documented failure: of settings that deal or draw rows, or count them in floors and penalties."""
    parameters = estimator.get_params()
    if isinstance(estimator, GAMRegressor | GAMClassifier):
        drawn = any(parameters[name] != value for name, value in NOT_DRAWN.items())
        counted = isinstance(estimator, GAMClassifier) or parameters["objective"] == "quantile"
    else:
        drawn = parameters["outer_bags"] > 1 or parameters["validation_fraction"] > 0
        counted = parameters["l2"] > 0 or parameters["min_child_weight"] > 0
    return dict.fromkeys(WEIGHTS, RELATIVE) if drawn or counted else {}
