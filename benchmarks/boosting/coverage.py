"""How often bands cover known curves, and how far fitted curves are from the truth: `python -m
benchmarks.boosting.coverage`.

A replication draws a table from a known additive model, fits it with bands, and evaluates every feature's curve at the
same places: levels, and quantiles of the population. Places whose bin has under 12 training rows are reported
separately ("thin bins"). "Truth" is the known curve; "mean fit" is the mean of all replications' fitted curves, which
is what a band promises to cover; the difference is the bias of boosting. One cell per replication is kept; the tables
go between two marks of a page (`--doc`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, put_between
from gamcore import GAMClassifier, GAMRegressor
from gamcore.explain.curves import Curve
from gamcore.types import Floats

MARKS: Final = ("<!-- measured -->", "<!-- /measured -->")
FEWEST_ROWS: Final = 12
QUANTILES: Final = np.linspace(0.02, 0.98, 49)
LEVELS: Final = ("a", "b", "c", "d", "e", "f")
SHARES: Final = np.array([0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
EFFECTS: Final = np.array([0.5, -0.4, 0.1, -0.8, 0.6, 0.9])
CORRELATION: Final = 0.6
CLUSTER: Final = 8
"""Rows of a cluster."""


@dataclass(frozen=True)
class Scenario:
    """A kind of table: its number of rows, and what is special about them."""

    n: int
    binary: bool = False
    weights: bool = False
    clusters: bool = False
    rounded: bool = False  # to round numbers, so that even small tables have several rows per value
    runs: int = 100

    @property
    def name(self) -> str:
        kind = "binary" if self.binary else "gaussian"
        special = "".join(f"-{word}" for word in ("weights", "clusters", "rounded") if getattr(self, word))
        return f"{kind}-{self.n}{special}"


SIZES: Final = ((1_000, 200), (2_000, 200), (10_000, 120), (50_000, 40))
SCENARIOS: Final = [
    *[Scenario(n, binary, rounded=n < 5_000, runs=runs) for binary in (False, True) for n, runs in SIZES],
    Scenario(4_000, weights=True, rounded=True),
    Scenario(4_000, clusters=True, rounded=True),
    Scenario(4_000, binary=True, clusters=True, rounded=True),
]
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
    score = sum(truth(table[name]) for name, truth in TRUTHS.items())
    if scenario.binary:  # the noise, shared within clusters, decides the class: rows of a cluster are alike
        latent = norm.cdf(noise)
        y = (latent < expit(score - 1.0)).astype(np.float64)
    else:
        y = score + noise * (1.0 if weight is None else 1 / np.sqrt(weight))
    return Drawn(pd.DataFrame(table), y, weight, groups)


def codes_at(curve: Curve, at: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bin of a curve for each place."""
    if curve.labels:
        return np.array([curve.labels.index(level) for level in at])
    return np.searchsorted(curve.edges[1:-1], at.astype(np.float64), side="right")


def replicate(scenario: Scenario, seed: int) -> Cell:
    """Fit one table; return the score, both bands and the rows at every place of every curve."""
    drawn = draw(scenario, seed)
    model = (GAMClassifier if scenario.binary else GAMRegressor)(random_state=seed, n_jobs=2)
    started = time.perf_counter()
    model.fit(drawn.X, drawn.y, drawn.weight, drawn.groups)
    fitted = time.perf_counter()
    quick = {name: model.explain_shape(name) for name in TRUTHS}
    model.add_bands(drawn.X, drawn.y, drawn.weight, drawn.groups)
    ended = time.perf_counter()
    curves: dict[str, Any] = {}
    for name, at in places().items():
        curve = model.explain_shape(name)
        k, thin = codes_at(curve, at), quick[name]
        rows = np.bincount(_bins_of(curve, drawn.X[name]), minlength=curve.scores.size)
        curves[name] = {
            "score": curve.scores[k].tolist(),
            "half": ((curve.upper - curve.lower) / 2)[k].tolist(),
            "whole": ((curve.whole[1] - curve.whole[0]) / 2)[k].tolist(),
            "quick": ((thin.upper - thin.lower) / 2)[k].tolist(),
            "rows": rows[k].tolist(),
        }
    return {"fit": fitted - started, "bands": ended - fitted, "curves": curves, "machine": describe()}


def _bins_of(curve: Curve, values: pd.Series) -> NDArray[np.int64]:
    return codes_at(curve, values.to_numpy())


def replicate_peer(scenario: Scenario, seed: int) -> Cell:
    """Fit InterpretML's EBM to the same table, with its defaults but no pairs; its bars are one standard deviation."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    drawn = draw(scenario, seed)
    kind = ExplainableBoostingClassifier if scenario.binary else ExplainableBoostingRegressor
    model = kind(interactions=0, random_state=seed, n_jobs=2)
    started = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        model.fit(drawn.X, drawn.y, sample_weight=drawn.weight)
    seconds, curves = time.perf_counter() - started, {}
    for j, (name, at) in enumerate(places().items()):
        scores, spread = (np.asarray(part[j])[1:-1] for part in (model.term_scores_, model.standard_deviations_))
        if name == "levels":
            order = sorted(model.bins_[j][0].items(), key=lambda item: item[1])
            k = np.array([[level for level, _ in order].index(level) for level in at])
        else:
            k = np.searchsorted(model.bins_[j][0], at.astype(np.float64), side="right")
        curves[name] = {"score": scores[k].tolist(), "half": spread[k].tolist()}
    return {"fit": seconds, "curves": curves, "machine": describe()}


def measure(asked: argparse.Namespace) -> None:
    """Measure every missing cell."""
    for scenario in SCENARIOS:
        for seed in range(asked.runs or scenario.runs):
            out = asked.json / f"{scenario.name}-{seed}.json"
            about = {"scenario": asdict(scenario), "name": scenario.name, "model": "ours", "seed": seed, "code": code()}
            if not about.items() <= load(out).items():
                keep(out, about | replicate(scenario, seed))
        for seed in range(0 if scenario.n > asked.peer_rows else asked.peer_runs):
            out = asked.json / f"{scenario.name}-{seed}-ebm.json"
            cell = {"scenario": asdict(scenario), "name": scenario.name, "model": "ebm", "seed": seed}
            if not cell.items() <= load(out).items():
                keep(out, cell | replicate_peer(scenario, seed))


def _stack(cells: pd.DataFrame, name: str, what: str) -> Floats:
    return np.array([curves[name][what] for curves in cells["curves"]], np.float64)


def _share(inside: NDArray[np.bool_], seen: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the percentage of places inside the band, and its standard error over replications."""
    each = np.array([line[kept].mean() for line, kept in zip(inside, seen, strict=True) if kept.any()])
    if not each.size:
        return np.nan, np.nan
    return 100 * float(each.mean()), 100 * float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else np.nan


def truth_at(name: str) -> Floats:
    """Return the known curve, centred, at its places."""
    return TRUTHS[name](places()[name]) - centres()[name]


def coverage(cells: pd.DataFrame) -> dict[str, Any]:
    """Return the coverage of one scenario in percent, over all its curves."""
    parts: dict[str, list[NDArray[np.bool_]]] = {key: [] for key in ("truth", "mean", "quick", "seen")}
    at_once: list[NDArray[np.bool_]] = []
    for name in TRUTHS:
        score, half, whole = (_stack(cells, name, what) for what in ("score", "half", "whole"))
        truth, seen = truth_at(name), _stack(cells, name, "rows") >= FEWEST_ROWS
        parts["truth"].append(np.abs(score - truth) <= half)
        parts["mean"].append(np.abs(score - score.mean(axis=0)) <= half)
        parts["quick"].append(np.abs(score - truth) <= _stack(cells, name, "quick"))
        parts["seen"].append(seen)
        at_once.append(((np.abs(score - truth) <= whole) | ~seen).all(axis=1))
    whole_of = np.stack(at_once, axis=1)
    joined = {key: np.concatenate(value, axis=1) for key, value in parts.items()}
    shares = {key: _share(joined[key], joined["seen"]) for key in ("truth", "mean", "quick")}
    thin = _share(joined["truth"], ~joined["seen"])
    simultaneous = _share(whole_of, np.ones_like(whole_of))
    return {
        "replications": len(cells),
        "truth, point by point": _percent(*shares["truth"]),
        "mean fit": _percent(*shares["mean"]),
        "truth, whole curve": _percent(*simultaneous),
        "quick band": _percent(*shares["quick"]),
        "thin bins": _percent(*thin),
        "seconds: fit": f"{cells['fit'].median():.2f}",
        "30 halves": f"{cells['bands'].median():.2f}",
    }


def _percent(value: float, error: float) -> str:
    return f"{value:.1f} ± {error:.1f}" if np.isfinite(value) else ""


def peer_coverage(cells: pd.DataFrame) -> str:
    """Return how often EBM's bars cover the truth."""
    inside = np.concatenate(
        [np.abs(_stack(cells, name, "score") - truth_at(name)) <= _stack(cells, name, "half") for name in TRUTHS],
        axis=1,
    )
    return _percent(*_share(inside, np.ones_like(inside)))


def shape_error(cells: pd.DataFrame, name: str) -> Floats:
    """Return each replication's mean squared distance from the truth."""
    return np.square(_stack(cells, name, "score") - truth_at(name)).mean(axis=1)


def tables(folder: Path) -> list[str]:
    """Return the tables of coverage, and of shape errors next to EBM's."""
    everything = load_all(folder)
    covered, errors = {}, []
    for scenario in SCENARIOS:
        mine = everything[everything["name"] == scenario.name]
        ours, ebm = mine[mine["model"] == "ours"], mine[mine["model"] == "ebm"]
        if ours.empty:
            continue
        covered[scenario.name] = coverage(ours) | {"EBM ± 1 SD": peer_coverage(ebm) if len(ebm) else ""}
        if ebm.empty:
            continue
        same = ours[ours["seed"].isin(ebm["seed"])].sort_values("seed")
        seconds = f"{same['fit'].median():.2f} / {ebm['fit'].median():.1f}"
        for name in TRUTHS:
            a, b = shape_error(same, name), shape_error(ebm.sort_values("seed"), name)
            gap, error = (a - b).mean(), (a - b).std(ddof=1) / np.sqrt(a.size)
            row = {"truth": name, "ours": a.mean(), "EBM": b.mean(), "gap": gap, "error": error, "seconds": seconds}
            errors.append({"scenario": scenario.name, **row})
    lines = [*markdown(pd.DataFrame(covered).T.rename_axis("scenario"))]
    if errors:
        frame = pd.DataFrame(errors)
        mean = frame.groupby("truth", sort=False)[["ours", "EBM", "gap"]].mean()
        lines += ["", *markdown(mean, 4), "", *markdown(frame.set_index("scenario"), 4)]
    return lines


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--json", type=Path, required=True, help="folder of the cells; those of the same code are kept")
    asked.add_argument("--doc", type=Path, help="a page whose marks get the tables")
    asked.add_argument("--runs", type=int, default=0, help="replications of each scenario instead of its own number")
    asked.add_argument("--peer-runs", type=int, default=12, help="replications that EBM is fitted to")
    asked.add_argument("--peer-rows", type=int, default=10_000, help="rows up to which EBM is fitted")
    options = asked.parse_args()
    measure(options)
    lines = tables(options.json)
    if options.doc:
        put_between(options.doc, MARKS, lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
