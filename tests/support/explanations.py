"""One explanation of each kind, of data whose names look like markup."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from gamcore import (
    GAMClassifier,
    MultiTaskTreesRegressor,
    Sample,
    calibration_by_group,
    compare_models,
    explain_triple,
    on_newer_rows,
    price_of_readability,
    read_flow,
    why_moved,
)
from gamcore.decide.arms import ArmsTest, by_segment, read_arms
from gamcore.decide.arms_plan import plan
from gamcore.decide.by_day import by_day
from gamcore.decide.experiment_plan import Metric
from gamcore.decide.rules import Range
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.decide.uplift import read_uplift
from gamcore.explain.curve_drift import curve_moves
from gamcore.stats.column_drift import what_moved
from gamcore.stats.histograms import overlay
from gamcore.stats.metrics import costs
from gamcore.stats.profiles import Target, profile
from gamcore.viz.explanation import Explanation
from tests.support.by_strategy import read_strategies
from tests.support.hostile import EVIL

LEVEL = f"{EVIL} level\x0b"
"""A level with markup, and with a control character, which no XML may hold."""


@cache
def table(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with hostile names and levels, and a target of 0 and 1."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({EVIL: rng.normal(size=n), "level": rng.choice([LEVEL, "b", "c"], n), "plain": rng.normal(size=n)})
    X.loc[rng.random(n) < 0.1, EVIL] = np.nan
    score = X[EVIL].fillna(0) + (X["level"] == "b")
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int).to_numpy()


@cache
def model(bands: int = 10) -> GAMClassifier:
    X, y = table()
    pairs = [(EVIL, "level")]
    return GAMClassifier(outer_bags=3, max_rounds=20, bands=bands, interactions=pairs, random_state=0).fit(X, y)


@cache
def plainer() -> GAMClassifier:
    """Return another model of the same target, which reads one of its columns."""
    X, y = table()
    return GAMClassifier(outer_bags=3, max_rounds=20, random_state=0).fit(X[["plain"]], y)


@cache
def several() -> GAMClassifier:
    """Return a model of three classes, one of them with a hostile name."""
    X, y = table()
    names = np.array([EVIL, "b", "c"], object)[y + (X["plain"].to_numpy() > 1)]
    return GAMClassifier(outer_bags=3, max_rounds=10, random_state=0).fit(X, names)


@cache
def of_three() -> GAMClassifier:
    """Return a model of the same target with an interaction of all three columns."""
    X, y = table()
    triples = [(EVIL, "level", "plain")]
    return GAMClassifier(outer_bags=2, max_rounds=10, bands=10, triples=triples, random_state=0).fit(X, y)


@cache
def tasks() -> MultiTaskTreesRegressor:
    X, y = table()
    task = np.where(np.arange(len(X)) % 3 == 0, EVIL, "other")
    return MultiTaskTreesRegressor(outer_bags=2, max_rounds=15, specific_rounds=10, random_state=0).fit(X, y, task)


@cache
def every() -> dict[str, Explanation]:
    """Return the explanations by kind."""
    X, y = table()
    gam, rng = model(), np.random.default_rng(1)
    curve = gam.explain_shape(EVIL)
    moved = curve_moves({EVIL: curve}, {EVIL: curve})
    board = StrategySet("board", (Strategy(EVIL, Range("plain", 0.0)), Strategy("rest", Range(EVIL, None, 0.5))))
    frame = X.assign(clicked=y, arm=rng.choice([EVIL, "none"], len(X)))
    test = ArmsTest("arm", "none", {"clicked": "primary"})
    read = read_strategies(frame, frame["arm"] == EVIL, board.assign(X), [EVIL, "rest"], {"clicked": "primary"})
    later = X.assign(**{EVIL: X[EVIL] + 1.0})
    made = [
        curve, several().explain_classes("level"), gam.explain_shape("level").on("points"),
        gam.explain_pair(EVIL, "level"), explain_triple(of_three(), EVIL, "level", "plain"), gam.importance("ratio"),
        gam.explain_rows(X.head(3)), tasks().importance(), tasks().agreement(EVIL), tasks().outliers(),
        moved, what_moved(X, later),
        overlay(X["level"], later["level"], "category"), profile(X[EVIL], "number", Target(y * 1.0, EVIL, True)),
        costs(y, gam.predict_proba(X)[:, 1], 1.0, 2.0), board.ledger(X), read, read_arms(frame, test),
        by_segment(frame, test, "clicked", "level"),
        by_day(frame.assign(day=np.arange(len(X)) % 9), test, "clicked", "day"),
        plan({EVIL: 900.0, "b": 50.0}, [Metric("clicked", 0.1, 0.2)]),
        read_uplift(np.linspace(0.0, 1.0, len(X)), rng.normal(size=len(X))),
        why_moved(gam, Sample(X, y), Sample(later, 1 - y), names=(EVIL, "later")),
        price_of_readability(gam, X, y, held_out=np.arange(len(X)) % 4 == 0),
        calibration_by_group(gam, X, y, held_out=np.arange(len(X)) % 4 == 0),
        on_newer_rows(gam, Sample(X, y), Sample(later, 1 - y), names=(EVIL, "later")),
        compare_models(plainer(), gam, X, y, names=(EVIL, "the other")),
        read_flow(pd.DataFrame({"who": np.arange(600) // 3, "step": X["level"]}), "who", "step"),
    ]  # fmt: skip
    return {f"{type(one).__name__} {k}": one for k, one in enumerate(made)}
