"""How often bands of effect curves cover known effects: `python -m benchmarks.boosting.effects [--runs N] [--rows N]`.

An experiment draws customers, assigns them to arms, and moves some of them by a known effect, a sum of three curves;
two features move the outcome alike in both arms, or not at all. `EffectGAM` is fitted with bands, and each curve
compared with the known one at the quantiles of its feature, where a bin has 12 rows or more. Without an effect, a model
in greedy order is to be constant, and to suggest no segment. Qini is measured in as many fresh customers, beside that
of two models, one per arm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from benchmarks.boosting.coverage import codes_at
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from gamcore import EffectGAM, GAMClassifier, GAMRegressor, warmup
from gamcore.common.types import Floats
from gamcore.decide.segments import HeldOutRows, suggest_by
from gamcore.decide.uplift import read_uplift, signals
from gamcore.estimators.additive import single_model
from gamcore.estimators.base import train_share

PLANS: Final = {"p": 0.0, "q": 0.5, "r": -0.5, "s": 0.3, "t": -0.3}
PLACES: Final = 200
FEWEST_ROWS: Final = 12
CURVES: Final[dict[str, Callable[[pd.Series], Floats]]] = {
    "wave": lambda x: 0.5 * np.tanh(x.to_numpy(float)),
    "bend": lambda x: 0.4 * (np.abs(x.to_numpy(float)) - 1.0),
    "plan": lambda x: 0.5 * x.map(PLANS).to_numpy(float),
    "base": lambda x: np.zeros(len(x)),
    "noise": lambda x: np.zeros(len(x)),
}
"""Parts of the effect, in units of `SIZES`."""

SIZES: Final = {"binary": 0.1, "count": 0.4, "amount": 1.0}


@dataclass(frozen=True)
class Scenario:
    """A kind of outcome, and the share treated; None for strata with shares of their own."""

    kind: Literal["binary", "count", "amount"]
    share: float | None

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.kind}, {'strata' if self.share is None else self.share}"

    def customers(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw what is known before the experiment."""
        plan = rng.choice(list(PLANS), n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
        wave, base = rng.normal(size=n), rng.normal(size=n)
        bend, noise = rng.uniform(-2, 2, n), rng.uniform(size=n)
        return pd.DataFrame({"wave": wave, "bend": bend, "plan": plan, "base": base, "noise": noise})

    def effect(self, X: pd.DataFrame) -> Floats:
        """Return the known effects (n,)."""
        return np.asarray(SIZES[self.kind] * sum(curve(X[name]) for name, curve in CURVES.items()))

    def shares(self, X: pd.DataFrame) -> Floats:
        """Return the share (n,) that is to be treated."""
        return np.where(X["plan"] == "p", 0.7, 0.3) if self.share is None else np.full(len(X), self.share)

    def run(self, X: pd.DataFrame, moved: bool, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return arms and outcomes (n,)."""
        treated = (rng.random(len(X)) < self.shares(X)).astype(np.float64)
        base = 0.6 * np.sin(X["wave"]) + 0.5 * X["base"] + 0.4 * X["plan"].map(PLANS)
        gain = treated * self.effect(X) * moved
        if self.kind == "binary":
            return treated, (rng.random(len(X)) < np.clip(0.35 + 0.12 * np.tanh(base) + gain, 0, 1)).astype(np.float64)
        mean = np.exp(0.3 * base + (0.3 if self.kind == "count" else 1.5)) + gain
        if self.kind == "count":
            return treated, rng.poisson(np.maximum(mean, 0.01)).astype(np.float64)
        buys = rng.random(len(X)) < 0.8
        return treated, buys * rng.gamma(2.0, np.maximum(mean, 0.05) / 2) / 0.8


SCENARIOS: Final = [Scenario(kind, share) for kind in SIZES for share in (0.5, 0.1, None)]  # type: ignore[arg-type]


def experiment(scenario: Scenario, n: int, seed: int) -> dict[str, Any]:
    """Run one experiment with an effect and one without; return what was covered, found and gained."""
    rng = np.random.default_rng([2026, seed])
    X = scenario.customers(n, rng)
    treated, y = scenario.run(X, moved=True, rng=rng)
    share = scenario.shares(X)
    began = time.perf_counter()
    model = EffectGAM(random_state=seed, bands=30, n_jobs=1).fit(X, y, treated, propensity=share)
    row: dict[str, Any] = {"seconds": time.perf_counter() - began}
    covered = {name: _covered(model, scenario, X, name) for name in CURVES}
    row |= {"covered": float(np.mean(list(covered.values())))} | covered
    fresh = scenario.customers(n, rng)
    again, outcome = scenario.run(fresh, moved=True, rng=rng)
    signal = signals(outcome, again, scenario.shares(fresh), np.full(n, outcome.mean()))
    for name, predicted in (("effect", model.predict(fresh)), ("two models", two_models(X, y, treated, fresh, seed))):
        row[f"Qini, {name}"] = read_uplift(predicted, signal).qini[0]
        row[f"correlation, {name}"] = float(np.corrcoef(predicted, scenario.effect(fresh))[0, 1])
    treated, y = scenario.run(X, moved=False, rng=rng)
    still = EffectGAM(random_state=seed, order="greedy", bands=30, n_jobs=1).fit(X, y, treated, propensity=share)
    row["constant without an effect"] = bool((still.entries_["entered"] == 0).all())
    rows = HeldOutRows(single_model(still), X, signals(y, treated, share, np.full(n, y.mean())), effect="")
    row["segments without an effect"] = bool(suggest_by(rows, train_share=train_share(still)))
    return row


def _covered(model: EffectGAM, scenario: Scenario, X: pd.DataFrame, name: str) -> float:
    """Return the share of places at which the band of a curve contains the known one."""
    curve = model.explain_shape(name)
    rows = np.bincount(codes_at(curve, X[name].to_numpy()), minlength=curve.scores.size)
    at = X[name].sort_values().iloc[np.linspace(0, len(X) - 1, PLACES).astype(int)]
    codes, every = codes_at(curve, at.to_numpy()), SIZES[scenario.kind] * CURVES[name](X[name])
    known = SIZES[scenario.kind] * CURVES[name](at) - every.mean()
    seen = rows[codes] >= FEWEST_ROWS
    assert curve.lower is not None
    assert curve.upper is not None
    return float(((curve.lower[codes] <= known) & (known <= curve.upper[codes]))[seen].mean())


def two_models(X: pd.DataFrame, y: Floats, treated: Floats, fresh: pd.DataFrame, seed: int) -> Floats:
    """Return effects as differences of two models, one of each arm (a T-learner)."""
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    outcomes = []
    for arm in (1.0, 0.0):
        model = (GAMClassifier if binary else GAMRegressor)(random_state=seed, n_jobs=1)
        model.fit(X[treated == arm], y[treated == arm])
        outcomes.append(model.predict_proba(fresh)[:, 1] if binary else model.predict(fresh))
    return np.asarray(outcomes[0] - outcomes[1])


def table(rows: pd.DataFrame) -> list[str]:
    """Return a line per scenario: coverage in percent with its error, and means of the rest."""
    shown = {}
    for name, frame in rows.groupby("scenario", sort=False):
        error = 100 * frame["covered"].std(ddof=1) / np.sqrt(len(frame))
        percent = {f"{curve}, %": 100 * frame[curve].mean() for curve in CURVES}
        shown[name] = {
            "experiments": len(frame),
            "covered, %": f"{100 * frame['covered'].mean():.1f} ± {error:.1f}",
        } | percent
        shown[name] |= {what: frame[what].mean() for what in frame if what.startswith(("Qini", "correlation"))}
        for what in ("constant without an effect", "segments without an effect"):
            shown[name] |= {f"{what}, %": 100 * frame[what].mean()}
        shown[name] |= {"seconds": frame["seconds"].median()}
    return markdown(pd.DataFrame(shown).T.rename_axis("outcome, share"))


def main() -> None:
    """Run the experiments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=23, help="experiments per scenario")
    parser.add_argument("--rows", type=int, default=20_000)
    asked = parser.parse_args()
    warmup()
    rows = [
        {"scenario": scenario.name} | experiment(scenario, asked.rows, seed)
        for scenario in SCENARIOS for seed in range(asked.runs)
    ]  # fmt: skip
    print(describe(), *table(pd.DataFrame(rows)), sep="\n")


if __name__ == "__main__":
    main()
