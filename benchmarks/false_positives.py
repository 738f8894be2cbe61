"""Tests without an effect, by design and kind of outcome: how often one is found, by each way of looking.

python -m benchmarks.false_positives --runs 200 --doc docs/guides/testing.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import binom

from benchmarks.harness.page import markdown, publish
from gamcore.stats.intervals import ALPHA
from tests.support.null_tests import ANY, DESIGNS, METRICS, WAYS, NullTest

ONCE: Final = "at the end"
MARKS: Final = {
    "once": ("<!-- found at the end -->", "<!-- /found at the end -->"),
    "ways": ("<!-- found by looking -->", "<!-- /found by looking -->"),
}


def calls(named: str, seed: int, customers: int) -> pd.DataFrame:
    """Return whether each way of looking at one test of a design finds an effect: a row per way and outcome."""
    design = DESIGNS[named]
    test = NullTest(design, design.rows(np.random.default_rng([seed, list(DESIGNS).index(named)]), customers))
    return pd.DataFrame([(named, seed, way, outcome, alarm) for way, look in WAYS.items()
                         for outcome, alarm in look(test).items()],
                        columns=["design", "seed", "looked", "outcome", "found"])  # fmt: skip


def tables(trials: pd.DataFrame) -> dict[str, list[str]]:
    """Return the share of tests in which an effect was found: at the end by outcome, and by way of looking, over all
    outcomes."""
    shares = trials.groupby(["design", "looked", "outcome"], as_index=False)["found"].mean()
    once = shares[shares["looked"] == ONCE].pivot_table("found", "design", "outcome")[[*METRICS, ANY]]
    alone = shares[(shares["looked"] != ONCE) & (shares["outcome"] != ANY)]
    ways = alone.pivot_table("found", "design", "looked", aggfunc=_ends)[[way for way in WAYS if way != ONCE]]
    return {name: markdown(table.reindex([design for design in DESIGNS if design in table.index]).rename_axis("design"))
            for name, table in (("once", once.map("{:.1%}".format)), ("ways", ways.fillna("")))}  # fmt: skip


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
    parser.add_argument("--doc", type=Path, help="page that gets the tables")
    asked = parser.parse_args()
    trials = pd.concat([calls(name, seed, asked.customers) for seed in range(asked.runs) for name in DESIGNS])
    for name, lines in tables(trials).items():
        publish(lines, asked.doc, MARKS[name])
    print(chance(asked.runs))


if __name__ == "__main__":
    main()
