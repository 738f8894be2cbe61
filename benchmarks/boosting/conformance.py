"""How our estimators and other libraries' behave under scikit-learn's own checks: `python -m
benchmarks.boosting.conformance`.

Every check of `sklearn.utils.estimator_checks.check_estimator` is run on every estimator in several settings. Other
libraries are checked with their defaults only, and left out where not installed.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections import Counter
from typing import Any, Final

import pandas as pd
import sklearn
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from tests.support.conformance import expected_failures, ours

PEERS: Final = (
    ("interpret.glassbox", "ExplainableBoostingClassifier"),
    ("interpret.glassbox", "ExplainableBoostingRegressor"),
    ("lightgbm", "LGBMClassifier"),
    ("lightgbm", "LGBMRegressor"),
    ("sklearn.ensemble", "HistGradientBoostingClassifier"),
    ("sklearn.ensemble", "HistGradientBoostingRegressor"),
)


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
            peer_estimator = getattr(importlib.import_module(module), kind)()
        except ImportError:
            continue
        quiet = {"verbosity": -1} if module == "lightgbm" else {}
        rows_made.append(
            {"estimator": kind, "setting": "its defaults", **check(peer_estimator.set_params(**quiet), {})}
        )
        print(rows_made[-1], flush=True)
    return pd.DataFrame(rows_made).set_index("estimator")


def by_result(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per estimator and result, with all settings that have it."""
    results = table.drop(columns=["checks", "skipped"]).reset_index()
    by = [name for name in results if name != "setting"]
    return results.groupby(by, sort=False)["setting"].agg(", ".join).reset_index().set_index("estimator")


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--defaults", action="store_true", help="only the defaults of our own")
    asked.add_argument("--no-peers", action="store_true")
    options = asked.parse_args()
    table = rows(options.defaults, not options.no_peers)
    machine = describe()
    versions = ", ".join(f"{name} {machine[name]}" for name in machine if name in ("python", "numpy", "lightgbm"))
    lines = [
        f"scikit-learn {sklearn.__version__}" + (f", {versions}" if versions else "") + ".",
        "",
        *markdown(by_result(table)),
    ]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
