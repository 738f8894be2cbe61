"""Workspaces that many tests of pages begin with. Each is made once per session and copied for each test."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from shapewise.decisions import boards as board
from shapewise.decisions import guided_example as example
from shapewise.ingest.read import read_file
from shapewise.store.database import forget
from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec, Treatment
from shapewise.training.train import add_bands, train
from tests.support.hostile import EVIL
from tests.support.places import ROOT


class Made:
    """Workspaces by the function that makes them, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._results = folder, {}

    def copy(self, space: Workspace, make: Callable[[Workspace], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Put a copy in the place of a workspace; return what its maker returned."""
        root = self._folder / make.__name__
        if make not in self._results:
            self._results[make] = make(Workspace(root))
        for opened in (root, space.root):
            forget(opened)
        shutil.rmtree(space.root)
        shutil.copytree(root, space.root)
        return copy.deepcopy(self._results[make])


def full(space):
    """Add the housing table, a regressor and a classifier."""
    data = (ROOT / "sample_data" / "housing.csv").read_bytes()
    loaded = read_file("housing.csv", data)
    frame = loaded.frame.head(800).rename(columns={"floor": EVIL})
    table = space.tables.add(frame, EVIL, loaded.notes)
    features = [c for c in frame.columns if c != "price_thousand"]
    common = {"table": table.id, "preset": "fast", "changes": {"max_rounds": 10}}
    number = train(space, Spec(target="price_thousand", name="prices", features=features, **common))
    choice = Spec(
        target="balcony", name=EVIL, features=[f for f in features if f != "balcony"], positive=["True"], **common
    )
    return table, number, train(space, choice)


def paired(space):
    """Add a table of two interactions, one with names that look like markup, and a model of both."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), EVIL: rng.choice(["x", "y", EVIL], n)})
    frame["lone"] = rng.normal(size=n)
    frame.loc[::9, "a"] = np.nan
    sign = np.where(frame[EVIL] == "x", 1, -1)
    frame["y"] = np.sign(frame["a"].fillna(1)) * np.sign(frame["b"]) + sign * frame["b"] + 0.3 * rng.normal(size=n)
    table = space.tables.add(frame, "crossed", [])
    spec = Spec(table.id, "y", "crossed", ["a", "b", EVIL, "lone"], preset="fast", changes={"interactions": 2})
    return table, train(space, spec)


def tasked(space):
    """Add the loans, and a model of the two kinds."""
    data = (ROOT / "sample_data" / "loans.csv").read_bytes()
    loaded = read_file("loans.csv", data)
    table = space.tables.add(loaded.frame, "loans", loaded.notes)
    features = [c for c in loaded.frame.columns if c not in ("default", "product")]
    changes = {"max_rounds": 20, "specific_rounds": 10}
    spec = Spec(
        table.id, "default", "loans", features, positive=["yes"], kind="tasks", task="product", preset="fast",
        changes=changes,
    )  # fmt: skip
    return table, train(space, spec)


def sure(space):
    """Add customers over two years, a model of whether they stay, with bands, and another without."""
    rng = np.random.default_rng(0)
    n = 2400
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "balance": rng.lognormal(8, 1, n).round()})
    frame["plan"] = rng.choice(["basic", "plus", "rarely"], n, p=[0.6, 0.395, 0.005])
    frame["member"] = rng.uniform(size=n) < 0.4
    frame["since"] = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 730, n)), unit="D")
    frame.loc[::9, "balance"] = np.nan
    score = 0.06 * (frame["age"] - 45) + (frame["plan"] == "plus") - frame["balance"].isna() - 0.5
    frame["stays"] = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-score)), "yes", "no")
    table = space.tables.add(frame, "customers", [])
    spec = Spec(table.id, "stays", "stays", ["age", "balance", "plan", "member"], positive=["yes"], time="since")
    spec = replace(spec, preset="fast", changes={"max_rounds": 20}, bands=10)
    first = train(space, spec)
    other = train(space, replace(spec, name="fewer", features=["age", "plan"]))
    return table, add_bands(space, first.id, 2), other


KNOWN = ["age", "days_away", "past_orders", "app", "region"]


def winback():
    """The customers of the test that has run."""
    return pd.read_csv(ROOT / "sample_data" / "winback.csv")


def effect_spec(table, outcome="returned", level="email", bands=0):
    """What an effect of that test is learnt from."""
    treatment = Treatment("arm", level, "none", 0.5, percent=outcome == "returned")
    return Spec(table, outcome, f"Effect on {outcome}", KNOWN, goal="number", bands=bands,
                changes={"order": "greedy", "interactions": 0}, treatment=treatment)  # fmt: skip


def moved(space):
    """Add the test that has run, and the model of whom the email moves."""
    table = space.tables.add(winback(), "winback", [])
    return table, add_bands(space, train(space, effect_spec(table.id, bands=30)).id, 2)


def acted(space):
    """Add the guided example up to its board: three models."""
    table = example.load(space, example.FUNNEL)
    while example.train_next(space, table, list(space.tables.read(table.id).columns), 2):
        pass
    example.make_board(space, space.tables.about(table.id))
    table = space.tables.listed()[0]
    return table, board.boards(space, table.id)[0]


def large(space):
    """Add a table of which pages see a sample, with whole numbers that are missing beyond it, and a model of it. Return
    the whole table, too."""
    rng = np.random.default_rng(0)
    n = 2_000
    frame = pd.DataFrame({"id": np.arange(n) + 2**60, "age": rng.integers(18, 80, n)})
    frame["plan"] = rng.choice(["a", "b"], n)
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D")
    frame.loc[1500, "day"] = pd.Timestamp("2026-02-03 10:30")
    frame["stays"] = np.where(rng.uniform(size=n) < frame["age"] / 100, "yes", "no")
    frame["note"] = [None] * 1_900 + ["late"] * 100
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    gone = pa.array([None if k == 1_700 else int(v) for k, v in enumerate(frame["age"])], pa.int64())
    whole = whole.set_column(1, "age", gone)
    path, some = space.root / "table.parquet", space.root / "sample.parquet"
    pq.write_table(whole, path, row_group_size=700)
    pq.write_table(whole.take(list(range(0, 1_500, 3))), some)
    table = space.tables.add_file(path, "large", n, 6, sample=(some, 500))
    spec = Spec(table.id, "stays", "stays", ["age", "plan"], positive=["yes"], preset="fast",
                changes={"max_rounds": 20}, bands=0)  # fmt: skip
    return table, train(space, spec), whole


def three_way(space):
    """Add a table of a triple, one name of which looks like markup, and a model that found it."""
    rng = np.random.default_rng(0)
    n = 2000
    north, east, lone = rng.choice([-2.0, -1.0, 1.0, 2.0], (3, n))
    frame = pd.DataFrame({"north": north, "east": east, EVIL: rng.choice(["x", "y", EVIL], n), "lone": lone})
    side = np.where(frame[EVIL] == "x", 1, -1)
    frame["y"] = 2.0 * np.sign(north * east) * side + 0.5 * rng.normal(size=n)
    table = space.tables.add(frame, "three ways", [])
    changes = {"interactions": "auto", "triples": "auto", "max_rounds": 60}
    spec = Spec(table.id, "y", "three ways", ["north", "east", EVIL, "lone"], preset="fast", changes=changes)
    return table, train(space, spec)
