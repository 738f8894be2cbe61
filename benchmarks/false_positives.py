"""Tests without an effect, of every kind of outcome: how often one is found, by each design and way of looking.

python -m benchmarks.false_positives --runs 2000
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import binom

from gamcore.decide.arms import ArmsTest, read_arms
from gamcore.decide.experiment_plan import MetricRole
from gamcore.decide.outcomes import Outcome
from gamcore.stats.intervals import ALPHA

OUTCOMES: Final = {
    one.name: one for one in (Outcome("spend", per="visits"), Outcome("spend", cap=0.98),
                              Outcome("spend", per="visits", cap=0.98))
}  # fmt: skip
TEST: Final[dict[str, MetricRole]] = dict.fromkeys(["bought", "spend", *OUTCOMES], "primary")
"""A rate, a mean, a ratio, a capped mean and a capped ratio."""


def null_test(rng: np.random.Generator, customers: int, by_household: bool = True) -> pd.DataFrame:
    """Return a test whose arms are alike: customers of households, who visit more or less often and spend unevenly.

    Customers of a household are alike, and come together. by_household : whether whole households were assigned.
    """
    household = np.repeat(np.arange(customers), rng.integers(1, 5, customers))[:customers]
    alike = rng.normal(size=household.max() + 1)
    arm = rng.integers(0, 2, alike.size)[household] if by_household else rng.integers(0, 2, customers)
    lively = 0.6 * alike[household] + 0.8 * rng.normal(size=customers)
    visits = rng.poisson(np.exp(0.7 + 0.5 * lively))
    bought = (rng.random(customers) < 1 - 0.85**visits).astype(int)
    spend = bought * np.exp(3 + 0.4 * lively + 0.9 * rng.normal(size=customers))
    region = rng.choice(["north", "south"], customers)
    return pd.DataFrame({"arm": np.where(arm, "new", "old"), "household": household, "visits": visits,
                         "bought": bought, "spend": spend, "region": region})  # fmt: skip


def looked_at(frame: pd.DataFrame, cluster: str | None, days: int) -> dict[str, pd.Series]:
    """Return by outcome whether an effect was found: looked at "once", at the end, or "daily" with always-valid
    intervals, on any of the days. cluster : column of what was assigned as a whole; None for single customers."""
    once = ArmsTest("arm", "old", TEST, cluster=cluster, outcomes=OUTCOMES)
    daily = replace(once, customers=len(frame))
    ends = np.linspace(0, len(frame), days + 1).astype(int)[1:]
    looks = [_p(frame.iloc[:end], daily) < ALPHA for end in ends]
    return {"once": (_p(frame, once) < ALPHA).astype(int), "daily": pd.concat(looks, axis=1).any(axis=1).astype(int)}


def _p(frame: pd.DataFrame, test: ArmsTest) -> pd.Series:
    return pd.Series({effect.metric: effect.p for effect in read_arms(frame, test).effects})


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
        found = [looked_at(test, cluster, asked.days) for test in tests]
        for way in ("once", "daily"):
            shares = pd.DataFrame([one[way] for one in found]).mean()
            rows += [{"assigned": cluster or "customer", "looked": way, "outcome": name, "found": share}
                     for name, share in shares.items()]  # fmt: skip
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format="{:.2%}".format))
    chance = binom.interval(0.95, asked.runs, ALPHA)
    print(f"{asked.runs} tests each; of 5%, chance makes {chance[0] / asked.runs:.2%} to {chance[1] / asked.runs:.2%}")


if __name__ == "__main__":
    main()
