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
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.boosting.known_truths import (
    SCENARIOS,
    TARGETS,
    Known,
    Scenario,
    Target,
    draw,
    known_curves,
    places,
)
from benchmarks.harness.cells import Cell, keep, load, load_all
from benchmarks.harness.machine import code, describe
from benchmarks.harness.page import markdown, publish
from gamcore import GAMClassifier, GAMRegressor, add_bands
from gamcore.common.types import Floats
from gamcore.explain.curves import Curve

MARKS: Final = ("<!-- measured -->", "<!-- /measured -->")
FEWEST_ROWS: Final = 12


def codes_at(curve: Curve, at: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bin of a curve for each place."""
    if curve.labels:
        return np.array([curve.labels.index(level) for level in at])
    return np.searchsorted(curve.edges[1:-1], at.astype(np.float64), side="right")


def unfitted(target: Target, **settings: Any) -> GAMRegressor | GAMClassifier:
    """Return our model of a kind of target."""
    if target.parameters is None:
        return GAMClassifier(**settings)
    return GAMRegressor(**target.parameters, **settings)


def shape(model: GAMRegressor | GAMClassifier, known: Known) -> Curve:
    """Return the fitted curve that belongs to a known one."""
    return (model if known.label is None else model.of_class(known.label)).explain_shape(known.feature)


def replicate(scenario: Scenario, seed: int) -> Cell:
    """Fit one table; return the score, both bands and the rows at every place of every curve."""
    drawn, every = draw(scenario, seed), known_curves(scenario.of)
    model = unfitted(scenario.of, random_state=seed, n_jobs=2)
    started = time.perf_counter()
    model.fit(drawn.X, drawn.y, drawn.weight, drawn.groups)
    fitted = time.perf_counter()
    quick = {known.key: shape(model, known) for known in every}
    add_bands(model, drawn.X, drawn.y, drawn.weight, drawn.groups)
    ended = time.perf_counter()
    curves: dict[str, Any] = {}
    for known in every:
        curve, thin = shape(model, known), quick[known.key]
        k = codes_at(curve, places()[known.feature])
        rows = np.bincount(_bins_of(curve, drawn.X[known.feature]), minlength=curve.scores.size)
        curves[known.key] = {
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
    kind = ExplainableBoostingClassifier if scenario.of.parameters is None else ExplainableBoostingRegressor
    model = kind(objective=scenario.of.ebm, interactions=0, random_state=seed, n_jobs=2)
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
    """Measure every missing cell of the scenarios asked for."""
    for scenario in SCENARIOS:
        if scenario.target not in asked.targets or scenario.n > asked.rows:
            continue
        for seed in range(asked.runs or scenario.runs):
            out = asked.json / f"{scenario.name}-{seed}.json"
            about = {"scenario": asdict(scenario), "name": scenario.name, "model": "ours", "seed": seed, "code": code()}
            if not about.items() <= load(out).items():
                keep(out, about | replicate(scenario, seed))
        for seed in range(asked.peer_runs if scenario.of.ebm and scenario.n <= asked.peer_rows else 0):
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


def coverage(cells: pd.DataFrame, every: list[Known]) -> dict[str, Any]:
    """Return the coverage of one scenario in percent, over all its curves."""
    parts: dict[str, list[NDArray[np.bool_]]] = {key: [] for key in ("truth", "mean", "quick", "seen")}
    at_once: list[NDArray[np.bool_]] = []
    for known in every:
        score, half, whole = (_stack(cells, known.key, what) for what in ("score", "half", "whole"))
        truth, seen = known.scores, _stack(cells, known.key, "rows") >= FEWEST_ROWS
        parts["truth"].append(np.abs(score - truth) <= half)
        parts["mean"].append(np.abs(score - score.mean(axis=0)) <= half)
        parts["quick"].append(np.abs(score - truth) <= _stack(cells, known.key, "quick"))
        parts["seen"].append(seen)
        at_once.append(((np.abs(score - truth) <= whole) | ~seen).all(axis=1))
    whole_of = np.stack(at_once, axis=1)
    joined = {key: np.concatenate(value, axis=1) for key, value in parts.items()}
    shares = {key: _share(joined[key], joined["seen"]) for key in ("truth", "mean", "quick")}
    thin = _share(joined["truth"], ~joined["seen"])
    simultaneous = _share(whole_of, np.ones_like(whole_of))
    return {
        "truth, point by point": _percent(*shares["truth"]),
        "mean fit": _percent(*shares["mean"]),
        "truth, whole curve": _percent(*simultaneous),
        "quick band": _percent(*shares["quick"]),
        "thin bins": _percent(*thin),
    }


def by_curve(cells: pd.DataFrame, every: list[Known]) -> dict[str, str]:
    """Return how often the truth of each curve is covered point by point, in percent, and why not more often.

    After the percentage: the size of the bias of the mean fit, and the mean half-width of the band, both in standard
    deviations of the fitted score over replications. Without bias, 95% need a half-width of 1.96.
    """
    shown = {}
    for known in every:
        score, half = (_stack(cells, known.key, what) for what in ("score", "half"))
        seen = _stack(cells, known.key, "rows") >= FEWEST_ROWS
        share, _ = _share(np.abs(score - known.scores) <= half, seen)
        spread = np.maximum(score.std(axis=0, ddof=1), np.finfo(float).tiny)
        bias = np.sqrt(np.mean(np.square((score.mean(axis=0) - known.scores) / spread)))
        shown[known.key] = f"{share:.1f} ({bias:.1f}, {np.mean(half / spread):.1f})"
    return shown


def _percent(value: float, error: float) -> str:
    return f"{value:.1f} ± {error:.1f}" if np.isfinite(value) else ""


def peer_coverage(cells: pd.DataFrame, every: list[Known]) -> str:
    """Return how often EBM's bars cover the truth."""
    inside = np.concatenate(
        [
            np.abs(_stack(cells, curve.key, "score") - curve.scores) <= _stack(cells, curve.key, "half")
            for curve in every
        ],
        axis=1,
    )
    return _percent(*_share(inside, np.ones_like(inside)))


def shape_error(cells: pd.DataFrame, known: Known) -> Floats:
    """Return each replication's mean squared distance from the truth."""
    return np.square(_stack(cells, known.key, "score") - known.scores).mean(axis=1)


def _beside_ebm(ours: pd.DataFrame, ebm: pd.DataFrame, every: list[Known]) -> list[dict[str, Any]]:
    """Return our mean squared distance to each known curve next to EBM's, on the tables of both."""
    same = ours[ours["seed"].isin(ebm["seed"])]
    rows = []
    for known in every:
        mine, theirs = shape_error(same, known).mean(), shape_error(ebm, known).mean()
        rows.append({"truth": known.key, "ours": mine, "EBM": theirs, "gap": mine - theirs})
    return rows


def tables(folder: Path) -> tuple[list[str], list[str]]:
    """Return the table of coverage, and that of shape errors next to EBM's."""
    everything = load_all(folder)
    covered, errors, took = {}, [], {"fit": [], "bands": []}
    for scenario in SCENARIOS:
        mine, every = everything[everything["name"] == scenario.name], known_curves(scenario.of)
        ours, ebm = mine[mine["model"] == "ours"], mine[mine["model"] == "ebm"]
        if ours.empty:
            continue
        bars = peer_coverage(ebm, every) if len(ebm) else ""
        covered[scenario.name] = coverage(ours, every) | {"EBM ± 1 SD": bars}
        for part, medians in took.items():
            medians.append(ours[part].median())
        if len(ebm):
            errors += _beside_ebm(ours, ebm, every)
    fit, halves = (f"{min(medians):.2f} to {max(medians):.2f} s" for medians in took.values())
    runs = everything[everything["model"] == "ours"].groupby("name").size()
    replications = " to ".join(str(n) for n in sorted({runs.min(), runs.max()}))
    frame = pd.DataFrame(covered).T
    points, whole = (
        frame[f"truth, {what}"].str.extract(r"± ([\d.]+)")[0].max() for what in ("point by point", "whole curve")
    )
    lines = [
        f"{replications} replications. A fit takes {fit}, its 30 halves {halves} (medians). Monte Carlo errors are at "
        f"most {points} point by point, and {whole} of whole curves.",
        "",
    ]
    lines += markdown(by_kind(frame.drop(columns=["mean fit", "quick band"])))
    by_truth = markdown(pd.DataFrame(errors).groupby("truth", sort=False).mean(), 4) if errors else []
    return lines, by_truth


def by_kind(covered: pd.DataFrame) -> pd.DataFrame:
    """Return a row per kind of target and of rows, with the least and the most over its scenarios."""
    words = [[part for part in name.split("-") if part != "rounded"] for name in covered.index]
    kinds = pd.Index([" ".join(part for part in parts if not part.isdigit()) for parts in words], name="scenarios")
    numbers = covered.apply(lambda column: column.str.split(" ").str[0]).set_axis(kinds)
    numbers.insert(0, "rows", [f"{int(part):,}" for parts in words for part in parts if part.isdigit()])
    return numbers.groupby(level=0, sort=False).agg(_span)


def _span(values: pd.Series) -> str:
    there = sorted(filter(None, values), key=lambda text: float(text.replace(",", "")))
    return " to ".join(dict.fromkeys((there[0], there[-1]))) if there else ""


def curve_tables(folder: Path) -> list[str]:
    """Return the coverage of each curve, a table per kind of target."""
    everything = load_all(folder)
    ours = everything[everything["model"] == "ours"]
    lines = []
    for name, target in TARGETS.items():
        every = known_curves(target)
        rows = {
            scenario.name: by_curve(cells, every)
            for scenario in SCENARIOS
            if scenario.target == name and len(cells := ours[ours["name"] == scenario.name])
        }
        if rows:
            lines += ["", *markdown(pd.DataFrame(rows).T.rename_axis("coverage (bias, half-width), in SD of fits"))]
    return lines


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--json", type=Path, required=True, help="folder of the cells; those of the same code are kept")
    asked.add_argument("--doc", type=Path, help="a page whose marks get the table of coverage")
    asked.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS), help="kinds to measure")
    asked.add_argument("--rows", type=int, default=50_000, help="most rows of a scenario")
    asked.add_argument("--runs", type=int, default=0, help="replications of each scenario instead of its own number")
    asked.add_argument("--peer-runs", type=int, default=12, help="replications that EBM is fitted to")
    asked.add_argument("--peer-rows", type=int, default=10_000, help="rows up to which EBM is fitted")
    asked.add_argument("--curves", action="store_true", help="print the coverage of each curve as well")
    options = asked.parse_args()
    measure(options)
    covered, errors = tables(options.json)
    publish(covered, options.doc, MARKS)
    print("\n".join(errors + (curve_tables(options.json) if options.curves else [])))


if __name__ == "__main__":
    main()
