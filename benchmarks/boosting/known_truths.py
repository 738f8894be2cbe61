"""Additive models with known curves, and tables drawn from them, for every kind of target.

Scores are sums of the known curves. Targets differ only in how they are drawn from a score and from one standard normal
number per row, the *noise*, which rows of a cluster share in part. For several classes, each curve enters the scores of
the classes with loadings that add up to 0, as curves of classes do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, softmax
from scipy.stats import gamma, norm, poisson

from benchmarks.harness.outcomes import POWER, QUANTILE, tweedie, tweedie_rate
from gamcore.common.types import Floats

QUANTILES: Final = np.linspace(0.02, 0.98, 49)
LEVELS: Final = ("a", "b", "c", "d", "e", "f")
SHARES: Final = np.array([0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
EFFECTS: Final = np.array([0.5, -0.4, 0.1, -0.8, 0.6, 0.9])
CORRELATION: Final = 0.6
CLUSTER: Final = 8
"""Rows of a cluster."""

BASE: Final = -1.0
"""Constant of scores with a logit or log link."""

SHAPE: Final = 1.0
"""Of Gamma amounts: their coefficient of variation is 1."""

DISPERSION: Final = 2.0
STEPS: Final = {"wave": 0.02, "straight": 0.1, "bend": 0.1, "flat": 0.02, "slow": 0.1}
"""Units of rounded numbers."""

Truth = Callable[[Any], Floats]
TRUTHS: Final[dict[str, Truth]] = {
    "wave": lambda x: np.sin(2 * np.pi * x),
    "straight": lambda x: 0.6 * x,
    "bend": lambda x: np.tanh(x) ** 2 * 1.2,
    "flat": lambda x: 0.0 * x,
    "slow": lambda x: np.log1p(x),
    "levels": lambda x: EFFECTS[np.searchsorted(LEVELS, x)],
}
"""Known curves; straight and bend are of correlated features."""

Draw = Callable[[Floats, Floats, np.random.Generator], Floats]


def _binary(score: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    return (norm.cdf(noise) < expit(score + BASE)).astype(np.float64)


def _counts(score: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(poisson.ppf(norm.cdf(noise), np.exp(score + BASE)), np.float64)


def _amounts(score: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    least = np.finfo(float).tiny
    return np.maximum(gamma.ppf(norm.cdf(noise), SHAPE, scale=np.exp(score + BASE) / SHAPE), least)


def _spend(score: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    mean = np.exp(score + BASE)
    events = poisson.ppf(norm.cdf(noise), tweedie_rate(mean, DISPERSION))
    return tweedie(mean, events, DISPERSION, rng)


def _around_quantile(score: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    """Return values whose quantile is the score, and which spread more where it is high."""
    return score + (noise - norm.ppf(QUANTILE)) * (0.5 + expit(score))


def _classes(score: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    reached = np.cumsum(softmax(score, axis=1), axis=1)[:, :-1]
    return (norm.cdf(noise)[:, None] > reached).sum(axis=1).astype(np.float64)


@dataclass(frozen=True)
class Target:
    """A kind of target.

    draw : targets (n,) of scores (n,), or (n, K) for K classes, and noise (n,).
    parameters : of `GAMRegressor`; None for a classifier. ebm : an objective; empty where EBM has none, or none whose
    curves can be compared.
    loadings : (K, curves) of each curve in each score.
    precise : whether the noise of a row of weight w has the variance 1 / w; else weights say nothing of the noise.
    """

    draw: Draw
    ebm: str
    parameters: Mapping[str, Any] | None = field(default_factory=dict)
    loadings: tuple[tuple[float, ...], ...] = ((1.0,) * len(TRUTHS),)
    precise: bool = False

    @property
    def several(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.loadings) > 1


THREE: Final = tuple(tuple((1.0, -1.0, 0.0)[(k + j) % 3] for j in range(len(TRUTHS))) for k in range(3))
TARGETS: Final[dict[str, Target]] = {
    "gaussian": Target(lambda score, noise, rng: score + noise, ebm="rmse", precise=True),
    "binary": Target(_binary, ebm="log_loss", parameters=None),
    "poisson": Target(_counts, ebm="poisson_deviance", parameters={"objective": "poisson"}),
    "gamma": Target(_amounts, ebm="gamma_deviance", parameters={"objective": "gamma"}),
    "tweedie": Target(
        _spend,
        ebm=f"tweedie_deviance:variance_power={POWER}",
        parameters={"objective": "tweedie", "power": POWER},
    ),
    "quantile": Target(_around_quantile, ebm="", parameters={"objective": "quantile", "quantile": QUANTILE}),
    "classes": Target(_classes, ebm="", parameters=None, loadings=THREE),
}


@dataclass(frozen=True)
class Scenario:
    """A kind of table: its number of rows, and what is special about them."""

    n: int
    target: str = "gaussian"
    weights: bool = False
    clusters: bool = False
    rounded: bool = False  # to round numbers, so that even small tables have several rows per value
    runs: int = 100

    @property
    def name(self) -> str:
        special = "".join(f"-{word}" for word in ("weights", "clusters", "rounded") if getattr(self, word))
        return f"{self.target}-{self.n}{special}"

    @property
    def of(self) -> Target:
        return TARGETS[self.target]


SIZES: Final = ((1_000, 200), (2_000, 200), (10_000, 120), (50_000, 40))
SCENARIOS: Final = [
    *[
        Scenario(n, target, rounded=n < 5_000, runs=runs)
        for target in TARGETS
        for n, runs in SIZES
        if n < 50_000 or target in ("gaussian", "binary")
    ],
    Scenario(4_000, weights=True, rounded=True),
    Scenario(4_000, clusters=True, rounded=True),
    Scenario(4_000, "binary", clusters=True, rounded=True),
    Scenario(4_000, "poisson", clusters=True, rounded=True),
]


@dataclass(frozen=True)
class Known:
    """A curve that is known: of a feature, and of a class where there are several."""

    feature: str
    loading: float = 1.0
    label: float | None = None

    @property
    def key(self) -> str:
        return self.feature if self.label is None else f"{self.feature} of {self.label:.0f}"

    @property
    def scores(self) -> Floats:
        """The curve at its places, centred over rows."""
        return self.loading * (TRUTHS[self.feature](places()[self.feature]) - centres()[self.feature])


def known_curves(target: Target) -> list[Known]:
    """Return all curves of a kind of target."""
    return [
        Known(feature, loading, float(label) if target.several else None)
        for label, loadings in enumerate(target.loadings)
        for feature, loading in zip(TRUTHS, loadings, strict=True)
    ]


def places() -> dict[str, NDArray[Any]]:
    """Return the places at which each curve is evaluated."""
    normal = norm.ppf(QUANTILES)
    quantiles = {
        "wave": QUANTILES,
        "straight": normal,
        "bend": normal,
        "flat": QUANTILES,
        "slow": -np.log1p(-QUANTILES),
    }
    return {**quantiles, "levels": np.array(LEVELS)}


def features(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return the features of n rows."""
    first = rng.standard_normal(n)
    second = CORRELATION * first + np.sqrt(1 - CORRELATION**2) * rng.standard_normal(n)
    return {
        "wave": rng.uniform(size=n), "straight": first, "bend": second, "flat": rng.uniform(size=n),
        "slow": rng.exponential(size=n), "levels": rng.choice(LEVELS, n, p=SHARES),
    }  # fmt: skip


@cache
def centres() -> dict[str, float]:
    """Return the population means of the known curves."""
    many = features(1_000_000, np.random.default_rng(0))
    return {name: float(truth(many[name]).mean()) for name, truth in TRUTHS.items()}


@dataclass(frozen=True)
class Drawn:
    """A table drawn from a scenario."""

    X: pd.DataFrame
    y: Floats
    weight: Floats | None
    groups: NDArray[np.int64] | None


def scores_of(table: Mapping[str, NDArray[Any]], target: Target) -> Floats:
    """Return the true scores of rows, (n,), or (n, K) for K classes, without their constant."""
    curves = [truth(table[name]) for name, truth in TRUTHS.items()]
    scores = [sum(by * curve for by, curve in zip(loadings, curves, strict=True)) for loadings in target.loadings]
    return np.stack(scores, axis=1) if target.several else np.asarray(scores[0])


def draw(scenario: Scenario, seed: int) -> Drawn:
    """Return a table; the rows of a cluster share half of the noise variance and half of the features."""
    rng, n = np.random.default_rng([seed, scenario.n]), scenario.n
    table = features(n, rng)
    groups = np.arange(n) // CLUSTER if scenario.clusters else None
    noise = rng.standard_normal(n)
    if groups is not None:
        first = groups * CLUSTER
        for name in ("wave", "slow", "levels"):
            table[name] = table[name][first]
        noise = np.sqrt(0.5) * noise + np.sqrt(0.5) * rng.standard_normal(n)[first]
    if scenario.rounded:
        table |= {name: np.round(table[name] / step) * step for name, step in STEPS.items()}
    weight = rng.choice([0.5, 1.0, 3.0], n) if scenario.weights else None
    if weight is not None and scenario.of.precise:
        noise = noise * (1 / np.sqrt(weight))
    y = scenario.of.draw(scores_of(table, scenario.of), noise, rng)
    return Drawn(pd.DataFrame(table), y, weight, groups)
