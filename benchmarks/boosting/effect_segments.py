"""How often intervals of suggested segments cover their known effects: `python -m benchmarks.boosting.effect_segments
[--runs N] [--rows N] [--only NAME]`.

A simulated test moves some customers more than others: beyond a line of a number, in one category, along a curve, or
all alike. A model of the effect is learnt in greedy order from 85% of the rows and suggests segments, which are
measured in four ways: by all rows through models that have not seen them (`gamcore.decide.unseen`, as the app does),
the same with each interval for its segment alone, by all rows as if the model had not seen them, and by the held-out
rows alone. Counted are intervals that cover the
known effect in a large population, and differences to the rest that exclude 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from gamcore import GAMRegressor
from gamcore.common.types import Bools, Floats
from gamcore.data.table import as_table
from gamcore.decide.rules import Rule
from gamcore.decide.segments import Evidence, HeldOutRows, suggest_by
from gamcore.decide.unseen import Unseen, UnseenRows, curves_of
from gamcore.decide.uplift import signals
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import train_share

EFFECTS: Final[dict[str, Callable[[pd.DataFrame], Floats]]] = {
    "line": lambda X: 0.2 + 0.8 * (X["wave"].to_numpy() > 0.3),
    "category": lambda X: 0.2 + 0.7 * (X["plan"].to_numpy() == "q"),
    "curve": lambda X: 0.2 + 0.5 * np.tanh(1.5 * X["wave"].to_numpy()),
    "alike": lambda X: np.full(len(X), 0.3),
}
PARTS: Final = 5
POPULATION: Final = 100_000
WAYS: Final = ("unseen", "unseen, alone", "seen", "held out")


class AloneRows(UnseenRows):
    """All rows of a test, where each interval is for its segment alone."""

    def at_once(self, rule: Rule) -> int:
        """Return that a rule was chosen of none but itself."""
        return 1


def customers(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw what is known before the test."""
    plan = rng.choice(["p", "q", "r"], n)
    return pd.DataFrame({"wave": rng.normal(size=n), "base": rng.normal(size=n), "plan": plan,
                         "noise": rng.uniform(size=n)})  # fmt: skip


def test_of(name: str, n: int, seed: int) -> list[dict[str, Any]]:
    """Run one test; return a row per segment that its model suggests."""
    rng = np.random.default_rng([2026, seed])
    X, effect = customers(n, rng), EFFECTS[name]
    treated = (rng.random(n) < 0.5).astype(np.float64)
    y = 0.5 * np.sin(X["base"].to_numpy()) + treated * effect(X) + rng.normal(size=n)
    signal = signals(y, treated, np.full(n, 0.5), np.full(n, y.mean()))
    part = np.where(rng.random(n) < 0.15, 0, rng.integers(1, PARTS + 1, n))

    def fit(rows: Bools, bands: int = 0) -> GAMRegressor:
        form = {"order": "greedy", "interactions": 0, "random_state": seed, "n_jobs": 1, "bands": bands}
        return GAMRegressor(**form).fit(X[rows], signal[rows])

    model = fit(part > 0, bands=30)
    predictions, curves = np.empty(n), dict[str, Floats]()
    for number in range(PARTS + 1):
        rows, other = part == number, fit((part > 0) & (part != number)) if number else model
        predictions[rows] = other.predict(X[rows])
        for column, added in curves_of(single_model(other), as_table(X[rows])).items():
            curves.setdefault(column, np.zeros(n))[rows] = added
    every = UnseenRows(single_model(model), X, signal, unseen=Unseen(part, predictions, curves), effect="")
    alone = AloneRows(single_model(model), X, signal, unseen=every.unseen, effect="")
    ways = {"unseen": every, "unseen, alone": alone, "seen": HeldOutRows(single_model(model), X, signal, effect=""),
            "held out": HeldOutRows(single_model(model), X[part == 0], signal[part == 0], effect="")}  # fmt: skip
    population = customers(POPULATION, np.random.default_rng(1))
    known = effect(population)
    return [
        {"seed": seed, "rows": segment.evidence.rows / n}
        | {f"{what}, {way}": value for way, rows in ways.items()
           for what, value in _judged(rows.evidence(segment.rule), segment.rule, population, known).items()}
        for segment in suggest_by(every, train_share=train_share(model))
    ]  # fmt: skip


def _judged(evidence: Evidence, rule: Rule, population: pd.DataFrame, known: Floats) -> dict[str, float]:
    """Return whether the effect inside and the difference to the rest are covered, whether that difference is clear,
    and by how much the effect inside is overstated."""
    inside = rule.holds(as_table(population))
    effect, gap = known[inside].mean(), known[inside].mean() - known[~inside].mean()
    low, high = evidence.opportunity_interval
    return {
        "covered": evidence.interval[0] <= effect <= evidence.interval[1], "gap covered": low <= gap <= high,
        "clear": low > 0 or high < 0, "overstated": (evidence.mean - effect) * np.sign(evidence.contrast),
    }  # fmt: skip


def main() -> None:
    """Run the tests, and print a row per effect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", choices=list(EFFECTS))
    asked = parser.parse_args()
    for name in [asked.only] if asked.only else EFFECTS:
        rows = pd.DataFrame([row for seed in range(asked.runs) for row in test_of(name, asked.rows, seed)])
        tests = rows["seed"].nunique() if len(rows) else 0
        print(f"{name}: segments in {tests} of {asked.runs} tests, {len(rows)} in all")
        for way in WAYS if len(rows) else ():
            means = {what: float(rows[f"{what}, {way}"].mean()) for what in
                     ("covered", "gap covered", "clear", "overstated")}  # fmt: skip
            print(f"  {way}: " + ", ".join(f"{what} {value:.3f}" for what, value in means.items()), flush=True)
        if len(rows):
            clear = rows.groupby("seed")["clear, unseen"].any().sum()
            print(f"  rows that measure: {rows['rows'].mean():.2f}; tests with a clear segment: {clear}", flush=True)


if __name__ == "__main__":
    main()
