"""How our estimators and other libraries' behave under scikit-learn's own checks: `python -m
benchmarks.boosting.conformance`.

Every check of `sklearn.utils.estimator_checks.check_estimator` is run on every estimator in several settings. Other
libraries are checked with their defaults only, and left out where not installed. The table goes between two marks of a
page (`--doc`).
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pandas as pd
import sklearn
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown, put_between
from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, MultiTaskTreesRegressor

MARKS: Final = ("<!-- measured -->", "<!-- /measured -->")

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

PEERS: Final = (
    ("interpret.glassbox", "ExplainableBoostingClassifier"),
    ("interpret.glassbox", "ExplainableBoostingRegressor"),
    ("lightgbm", "LGBMClassifier"),
    ("lightgbm", "LGBMRegressor"),
    ("sklearn.ensemble", "HistGradientBoostingClassifier"),
    ("sklearn.ensemble", "HistGradientBoostingRegressor"),
)


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


def check(estimator: Any, expected: dict[str, str]) -> dict[str, Any]:
    """Return how many checks ended with each status, and the names of those that failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None)
    counts = Counter(result["status"] for result in results)
    failed = sorted({result["check_name"] for result in results if result["status"] == "failed"})
    passed, skipped = counts["passed"], counts["skipped"]
    return {"checks": len(results), "passed": passed, "expected to fail": counts["xfail"], "failed": counts["failed"],
            "skipped": skipped, "which failed": ", ".join(name.removeprefix("check_") for name in failed)}  # fmt: skip


def rows(defaults_only: bool, peers: bool) -> pd.DataFrame:
    """Return one row per estimator and setting."""
    rows_made = []
    for name, estimator in ours(defaults_only):
        failures = check(estimator, expected_failures(estimator))
        rows_made.append({"estimator": type(estimator).__name__, "setting": name, **failures})
        print(rows_made[-1], flush=True)
    for module, kind in PEERS if peers else ():
        try:
            made = getattr(importlib.import_module(module), kind)()
        except ImportError:
            continue
        quiet = {"verbosity": -1} if module == "lightgbm" else {}
        rows_made.append({"estimator": kind, "setting": "its defaults", **check(made.set_params(**quiet), {})})
        print(rows_made[-1], flush=True)
    return pd.DataFrame(rows_made).set_index("estimator")


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--doc", type=Path, help="a page whose marks get the table")
    asked.add_argument("--defaults", action="store_true", help="only the defaults of our own")
    asked.add_argument("--no-peers", action="store_true")
    options = asked.parse_args()
    table = rows(options.defaults, not options.no_peers)
    machine = describe()
    versions = ", ".join(f"{name} {machine[name]}" for name in machine if name in ("python", "numpy", "lightgbm"))
    lines = [f"scikit-learn {sklearn.__version__}" + (f", {versions}" if versions else "") + ".", "", *markdown(table)]
    if options.doc:
        put_between(options.doc, MARKS, lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
