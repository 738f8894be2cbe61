"""Tests without an effect, by design and kind of outcome: how often one is found, by each way of looking.

python -m benchmarks.false_positives --runs 200
"""

from __future__ import annotations

import argparse
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import binom

from benchmarks.harness.page import markdown
from gamcore.stats.intervals import ALPHA
from tests.support.null_tests import ANY, DESIGNS, METRICS, WAYS, NullTest

ONCE: Final = "at the end"


def calls(named: str, seed: int, customers: int) -> pd.DataFrame:
    """Return whether each way of looking at one test of a design finds an effect: a row per way and outcome."""
    design = DESIGNS[named]
    test = NullTest(design, design.rows(np.random.default_rng([seed, list(DESIGNS).index(named)]), customers))
    return pd.DataFrame([(named, seed, way, outcome, alarm) for way, look in WAYS.items()
                         for outcome, alarm in look(test).items()],
                        columns=["design", "seed", "looked", "outcome", "found"])  # fmt: skip


def tables(trials: pd.DataFrame) -> list[str]:
    """Return the share of tests in which an effect was found: at the end by outcome, and by way of looking, over all
    outcomes."""
    shares = trials.groupby(["design", "looked", "outcome"], as_index=False)["found"].mean()
    once = shares[shares["looked"] == ONCE].pivot_table("found", "design", "outcome")[[*METRICS, ANY]]
    alone = shares[(shares["looked"] != ONCE) & (shares["outcome"] != ANY)]
    ways = alone.pivot_table("found", "design", "looked", aggfunc=_ends)[[way for way in WAYS if way != ONCE]]
    there = [design for design in DESIGNS if design in once.index]
    both = (table.reindex(there).rename_axis("design") for table in (once.map("{:.1%}".format), ways.fillna("")))
    return [line for table in both for line in (*markdown(table), "")]


def chance(runs: int) -> str:
    """Return between which shares 95% of such benchmarks are where 5% are found."""
    low, high = binom.interval(0.95, runs, ALPHA)
    return f"{runs} tests each; of 5%, chance makes {low / runs:.1%} to {high / runs:.1%}"


def _ends(shares: pd.Series) -> str:
    return f"{100 * shares.min():.1f} to {shares.max():.1%}"


def main() -> None:
    """Print the share of tests without an effect in which one was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--customers", type=int, default=2000)
    asked = parser.parse_args()
    trials = pd.concat([calls(name, seed, asked.customers) for seed in range(asked.runs) for name in DESIGNS])
    print("\n".join(tables(trials)))
    print(chance(asked.runs))


if __name__ == "__main__":
    main()
