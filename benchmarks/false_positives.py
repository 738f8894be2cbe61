"""Tests without an effect, of every kind of outcome: how often one is found, by each design and way of looking.

python -m benchmarks.false_positives --runs 2000
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy.stats import binom

from gamcore.stats.intervals import ALPHA
from tests.support.null_tests import looked_at, null_test


def main() -> None:
    """Print the share of tests without an effect in which one was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--customers", type=int, default=2000)
    parser.add_argument("--days", type=int, default=14)
    asked = parser.parse_args()
    rng, rows = np.random.default_rng(0), []
    for cluster in (None, "household"):
        tests = (null_test(rng, asked.customers, cluster is not None) for _ in range(asked.runs))
        calls = [looked_at(test, cluster, asked.days) for test in tests]
        for way in ("once", "daily"):
            shares = pd.DataFrame([one[way] for one in calls]).mean()
            rows += [{"assigned": cluster or "customer", "looked": way, "outcome": name, "found": share}
                     for name, share in shares.items()]  # fmt: skip
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format="{:.2%}".format))
    chance = binom.interval(0.95, asked.runs, ALPHA)
    print(f"{asked.runs} tests each; of 5%, chance makes {chance[0] / asked.runs:.2%} to {chance[1] / asked.runs:.2%}")


if __name__ == "__main__":
    main()
