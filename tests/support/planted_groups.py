"""Tables of known truth for observed against predicted by group: a model that is right but for chance, or wrong in one
group that it cannot know. For tests and `benchmarks.by_group`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore import GAMClassifier, GAMRegressor, calibration_by_group

KINDS = {"two classes": 1.25, "rare class": 1.9, "three classes": 1.5, "number": 0.8, "skewed number": 0.8,
         "clusters": 3.0, "count": 1.0, "count, spread": 1.2, "amount": 0.7, "quantile": 1.0}  # fmt: skip
"""By kind of outcome the shift of the planted group's score: of log-odds, of logs of means, or in standard deviations
of the noise. Of rare classes, clusters and counts it is what a test by their own distribution, which allows for the
error of training and for 93 groups, finds at 8,000 rows in more than 98% of tables. At 1.5, 1.0, 0.7 and 0.9 it would
in 90%, 50%, 82% and 82%, so no method could find 95%."""

PLANTED = "small"
CUSTOMERS = 10
"""Rows of a cluster."""


def drawn(n: int, rng: np.random.Generator, clustered: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return four features, four more columns that no model reads, and the true scores."""
    m = n // CUSTOMERS if clustered else n
    X = pd.DataFrame({
        "x": rng.normal(size=m), "z": rng.uniform(-2, 2, m), "kind": rng.choice(list("abcdef"), m),
        "idle": rng.normal(size=m),
        "region": rng.choice([PLANTED, "north", "south", "east", "west"], m, p=[0.08, 0.3, 0.3, 0.2, 0.12]),
        "other": np.where(rng.random(m) < 0.1, np.nan, rng.lognormal(size=m)),
        "street": rng.choice([f"s{k}" for k in range(60)], m),
    })  # fmt: skip
    X["near"] = X["x"] + 0.3 * rng.normal(size=m)
    score = 0.7 * X["x"] + 0.5 * np.sin(2 * X["z"]) + 0.4 * (X["kind"] == "a")
    if clustered:
        X, score = X.loc[X.index.repeat(CUSTOMERS)].reset_index(drop=True), score.repeat(CUSTOMERS)
    return X, score.to_numpy()


def outcome(kind: str, score: np.ndarray, rng: np.random.Generator, exposure: np.ndarray) -> np.ndarray:
    n = score.size
    if kind in ("two classes", "rare class"):
        return (rng.random(n) < 1 / (1 + np.exp(-(score - 3.0 * (kind == "rare class"))))).astype(int)
    if kind == "three classes":
        return np.digitize(score + rng.logistic(size=n), [-1.0, 1.0])
    if kind == "count":
        return rng.poisson(0.3 * exposure * np.exp(score))
    if kind == "count, spread":
        return rng.poisson(0.3 * exposure * np.exp(score) * rng.gamma(1.0, 1.0, n))
    if kind == "amount":
        return rng.gamma(1.5, np.exp(score) / 1.5) + 1e-6
    if kind == "skewed number":
        return score + rng.exponential(size=n) * (1 + (score > 0.5))
    noise = rng.normal(size=n)
    if kind == "clusters":
        noise = 0.7 * noise + 0.7 * rng.normal(size=n // CUSTOMERS).repeat(CUSTOMERS)
    return score + noise


def run(kind: str, planted: bool, n: int, seed: int) -> tuple[bool, bool]:
    """Return whether any group is called wrong, and whether the planted one is the first."""
    rng = np.random.default_rng(seed)
    X, score = drawn(n, rng, kind == "clusters")
    if planted:
        score = score + KINDS[kind] * (X["region"] == PLANTED).to_numpy()
    exposure = rng.uniform(0.2, 1.0, n)
    y = outcome(kind, score, rng, exposure)
    held = (np.arange(n) // CUSTOMERS if kind == "clusters" else np.arange(n)) % 4 == 0
    settings = {"random_state": seed, "interactions": 0}
    is_classes = kind.endswith(("class", "classes"))
    objective = {"count": "poisson", "count, spread": "poisson", "amount": "gamma", "quantile": "quantile"}
    model = (GAMClassifier(**settings) if is_classes
             else GAMRegressor(objective=objective.get(kind, "squared"), **settings))  # fmt: skip
    given = {"exposure": exposure} if kind.startswith("count") else {}
    if kind == "clusters":
        given["groups"] = np.arange(n) // CUSTOMERS
    features = X[["x", "z", "kind", "idle"]]
    model.fit(features[~held], y[~held], **{name: values[~held] for name, values in given.items()})
    found = calibration_by_group(model, X, y, held_out=held, of_class=2 if kind == "three classes" else None, **given)
    called = [*found.wrong, *([("", "")] if found.holm[0] < 0.05 else [])]
    return bool(called), ("region", PLANTED) in found.wrong and found.wrong[0] == ("region", PLANTED)
