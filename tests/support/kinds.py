"""Every kind of plot, of one small model with hostile names."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import numpy as np
import pandas as pd

from gamcore import GAMClassifier
from gamcore.decide import plots as decide_plots
from gamcore.decide.arms_plan import plan
from gamcore.decide.experiment_plan import Metric
from gamcore.decide.rules import Levels, Range, both
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.explain import plots as explain_plots
from gamcore.explain.curve_difference import difference
from gamcore.explain.tasks import TaskImportance
from gamcore.stats import metrics as quality
from gamcore.stats import plots as stats_plots
from gamcore.stats import profiles
from gamcore.viz.spec import Axis, Bars, Plot
from tests.support.by_strategy import read_strategies

MARKUP = '<b>x</b><script>window.hacked=1</script><img src=x onerror="window.hacked=1"> $\\int$ %{y} &amp; "q"'
FORMULA = '=HYPERLINK("http://evil.test","x")'
LONG = "a long name " * 25
FOREIGN = "שלום عربى 日本 😀\u202eabc"
JOBS = ("nurse", MARKUP, "@SUM(1)", LONG, FOREIGN)

FEW = ("marked", "profile of levels", "over time", "surface of numbers", "small", "curve of 3", "reach", "lifts",
       "slices", "calibration", "costs", "pairs", "row, points")  # fmt: skip
"""Kinds that together draw all that any kind draws: each mark, axis and layout, in each of its ways."""

WORDS = ("name", "role", "roles", "text", "title", "note")
"""What differs from plot to plot in what it says, not in how it is drawn."""


def drawn_by(plot: Plot) -> set[str]:
    """Return what a backend must be able to draw for a plot, by class, field and way."""
    parts = [plot, *(panel for *_, panel in plot.each())]
    parts += [part for *_, panel in plot.each() for part in (panel.x, panel.y, *panel.marks)]
    found = {f"grid of {len(plot.panels) > 1} x {len(plot.panels[0]) > 1}"}
    for *_, panel in plot.each():
        bars = [mark for mark in panel.marks if isinstance(mark, Bars) and mark.bases.size]
        found.add(f"bars that float {any(np.ptp(mark.bases) > 0 for mark in bars) and not panel.stacked}")
    for part in parts:
        kind = type(part).__name__
        found |= {kind} | ({f"{kind} ticks {part.ticks is not None}"} if isinstance(part, Axis) else set())
        for each in fields(part):
            value = getattr(part, each.name)
            if isinstance(value, bool | str) and each.name not in (*WORDS, "detail", "words"):
                found.add(f"{kind} {each.name} {value}")
    return found


@cache
def model() -> tuple[GAMClassifier, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame({
        "age": rng.integers(18, 90, n).astype(float), FORMULA: rng.lognormal(10, 1, n), "job": rng.choice(JOBS, n),
        "when": pd.date_range("2022-01-01", periods=n, freq="8h"), FOREIGN: rng.normal(size=n),
        LONG: rng.random(n) < 0.5,
    })  # fmt: skip
    X.loc[rng.random(n) < 0.05, "age"] = np.nan
    z = 0.04 * (X["age"].fillna(30) - 50) + np.where(X["job"] == "nurse", 1, 0) - 1 + 0.3 * X[FOREIGN]
    z += np.where((X["age"] > 60) & (X["job"] == MARKUP), 1.5, 0)
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int).to_numpy()
    fitted = GAMClassifier(
        outer_bags=3, max_rounds=60, bands=10, interactions=[("age", "job"), ("age", FORMULA)], random_state=0
    ).fit(X, y)  # fmt: skip
    return fitted, X, y


@cache
def board() -> tuple[StrategySet, pd.DataFrame]:
    _, X, _ = model()
    rules = [(MARKUP, Range("age", 60.0)), (LONG, Levels("job", ("nurse",))),
             (FOREIGN, both([Range("age", None, 40.0), Levels("job", ("@SUM(1)",))]))]  # fmt: skip
    return StrategySet("board", tuple(Strategy(name, rule) for name, rule in rules)), X


@cache
def every() -> dict[str, Plot]:
    """Return the plots by kind."""
    fitted, X, y = model()
    age, job = (fitted.explain_shape(name).on("points") for name in ("age", "job"))
    found = {f"curve of {k}": fitted.explain_shape(name).on("points").describe(target=MARKUP)
             for k, name in enumerate(X.columns)}  # fmt: skip
    found["ratio"] = fitted.explain_shape("age").on("ratio").describe(target="churn")
    found["marked"] = decide_plots.marked(
        age.describe("churn", "detail"), age, Range("age", 40.0, 60.0), f"40 to 60 {MARKUP}"
    )
    found["before"] = age.describe("churn", "detail", before=age)
    found["small"] = explain_plots.small(age, (-40.0, 40.0), age, MARKUP)
    found["surface"] = fitted.explain_pair("age", "job").on("points").describe(target="churn")
    found["surface of numbers"] = fitted.explain_pair("age", FORMULA).on("ratio").describe(target="churn")
    found["slices"] = explain_plots.slices(fitted.explain_pair("age", "job"), [0, 1, 2], "churn", "detail")
    found["importance"] = fitted.importance("points").describe()
    found["task importance"] = TaskImportance(
        ("a", MARKUP), ("s", "t"), np.array([3.0, 1]), np.array([[0.0, 1], [1, 0]])
    ).describe()
    for scale in ("points", "link"):
        row = fitted.explain_rows(X.iloc[:1])
        found[f"row, {scale}"] = row.describe(target="churn", scale=scale, cells={"job": MARKUP})
    minus = difference(fitted.explain_shape("age"), fitted.explain_shape("age"), "points")
    found["comparison"] = explain_plots.comparison({"first": age, MARKUP: age}, minus, ("age", "effects", "churn"))
    found["comparison of levels"] = explain_plots.comparison(
        {"first": job, LONG: job}, None, ("job", "effects", "churn")
    )
    return {**found, **_measured(fitted.predict_proba(X)[:, 1], y.astype(float))}


def _measured(chance: np.ndarray, y: np.ndarray) -> dict[str, Plot]:
    found = {"calibration": stats_plots.calibration(quality.calibration(y, chance), chance)}
    axes = ("negatives taken", MARKUP)
    found["ROC"] = stats_plots.ranked(quality.roc(y, chance), "ROC", "AUC", axes, ([0, 1], [0, 1]))
    found["costs"] = quality.costs(y, chance, 1, 2).describe()
    found["residuals"] = stats_plots.residuals(quality.residuals(y, chance), chance, y - chance, "churn")
    found["actual"] = stats_plots.actual(chance, y + np.linspace(0, 1, y.size), "churn")
    periods = np.arange(y.size) // 250
    labels = [f"2022-0{k + 1} {MARKUP}" for k in range(6)]
    found["over time"] = stats_plots.over_time(quality.over_time(periods, y, chance, "share"), labels, True, 4.0)
    names = ["a", MARKUP, FOREIGN]
    goal = profiles.Target(y, MARKUP, binary=True)
    found["profile"] = profiles.profile(pd.Series(chance, name=FORMULA), "number", goal).describe("detail")
    jobs = pd.Series(np.resize(np.array(JOBS, object), y.size), name="job")
    found["profile of levels"] = profiles.profile(jobs, "category", goal).describe(MARKUP)
    found["alike"] = explain_plots.similarity(pd.DataFrame(np.eye(3) - 0.3, index=names, columns=names))
    steps = np.array([[0, k, 1 / k, 1.1 / k] for k in range(1, 40)], float)
    found["progress"] = stats_plots.progress(steps)
    ranking = pd.DataFrame({"feature_1": ["age", "age"], "feature_2": ["job", MARKUP], "strength": [1e-3, 1e-5],
                            "rank": [1, 2]})  # fmt: skip
    ranking.attrs["chance"] = 1e-4
    worth = ranking.head(1)[["feature_1", "feature_2"]].assign(worth=0.01)
    found["pairs"] = explain_plots.pair_ranking(ranking, worth, "logistic")
    made, X = board()
    listed = [strategy.name for strategy in made.strategies]
    found["reach"] = made.ledger(X).describe(listed)
    found["overlap"] = decide_plots.overlap(made.ledger(X), listed)
    frame = X.assign(clicked=y)
    arm = np.arange(len(X)) % 2 == 0
    read = read_strategies(
        frame, arm, made.assign(X), listed, {"clicked": "primary"}, planned={(MARKUP, "clicked"): 0.1}
    )
    found["lifts"] = read.describe()
    a_day = {MARKUP: 900.0, "other": 300.0}
    found["plan"] = plan(a_day, [Metric("clicked", 0.1, 0.2)], {"none": 2, MARKUP: 1, "mail": 1.5}).describe()
    return found
