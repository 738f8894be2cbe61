"""Tests of arms without an effect, of every kind of outcome, and whether one is found. For tests and
`benchmarks.false_positives`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

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
