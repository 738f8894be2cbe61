"""Workspaces that several tests of pages begin with."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit import config

from shapewise.decisions import boards as board
from shapewise.decisions import guided_example as example
from shapewise.ingest.read import read_file
from shapewise.store.database import forget
from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train
from shapewise.ui.train import refits
from tests.support.hostile import EVIL
from tests.support.places import ROOT
from tests.support.serving import browser_path, browsing

LONGEST = ("test_main_flows.py", "test_export.py", "test_workspace.py", "test_team.py")
"""Files that take minutes: they begin first, so that no process waits for another at the end."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture
def space(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMCORE_WORKSPACE", str(tmp_path / "space"))
    monkeypatch.setenv("GAMCORE_WARM_UP", "0")  # a page would leave out what waits for a compilation
    monkeypatch.setattr(refits, "PATIENCE", 60.0)  # AppTest runs no fragment that would look again
    refits._refits.clear()
    # AppTest keeps the page's own callables in the session; the browser tests run with this check on.
    option = "runner.enforceSerializableSessionState"
    before = config.get_option(option)
    config.set_option(option, False)
    yield Workspace(tmp_path / "space")
    config.set_option(option, before)


@pytest.fixture
def full(space):
    """A workspace with the housing table, a classifier and a regressor."""
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
    return space, table, number, train(space, choice)


@pytest.fixture
def paired(space):
    """A workspace with a table of two interactions, one with names that look like markup, and a model of both."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), EVIL: rng.choice(["x", "y", EVIL], n)})
    frame["lone"] = rng.normal(size=n)
    frame.loc[::9, "a"] = np.nan
    sign = np.where(frame[EVIL] == "x", 1, -1)
    frame["y"] = np.sign(frame["a"].fillna(1)) * np.sign(frame["b"]) + sign * frame["b"] + 0.3 * rng.normal(size=n)
    table = space.tables.add(frame, "crossed", [])
    spec = Spec(table.id, "y", "crossed", ["a", "b", EVIL, "lone"], preset="fast", changes={"interactions": 2})
    return space, table, train(space, spec)


@pytest.fixture
def tasked(space):
    """A workspace with the loans, and a model of the two kinds."""
    data = (ROOT / "sample_data" / "loans.csv").read_bytes()
    loaded = read_file("loans.csv", data)
    table = space.tables.add(loaded.frame, "loans", loaded.notes)
    features = [c for c in loaded.frame.columns if c not in ("default", "product")]
    changes = {"max_rounds": 20, "specific_rounds": 10}
    spec = Spec(
        table.id, "default", "loans", features, positive=["yes"], kind="tasks", task="product", preset="fast",
        changes=changes,
    )  # fmt: skip
    return space, table, train(space, spec)


@pytest.fixture
def sure(space):
    """A workspace with customers over two years, a model of whether they stay, with bands, and another without."""
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
    return space, table, add_bands(space, first.id, 2), other


@pytest.fixture(scope="session")
def acted_once(tmp_path_factory):
    """The guided example up to its board, once per session: three models are trained."""
    space = Workspace(tmp_path_factory.mktemp("acted") / "space")
    table = example.load(space, example.FUNNEL)
    while example.train_next(space, table, list(space.tables.read(table.id).columns), 2):
        pass
    example.make_board(space, space.tables.about(table.id))
    return space.root


@pytest.fixture
def acted(space, acted_once):
    """A workspace with the guided example's table and board."""
    for root in (acted_once, space.root):
        forget(root)
    shutil.rmtree(space.root)
    shutil.copytree(acted_once, space.root)
    table = space.tables.listed()[0]
    return space, table, board.boards(space, table.id)[0]


@pytest.fixture
def large(space, monkeypatch, tmp_path):
    """A table of which pages see a sample, with whole numbers that are missing beyond the sample, and a model of it."""
    monkeypatch.setattr("shapewise.store.batches.MOST_ROWS", 300)
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
    path, some = tmp_path / "table.parquet", tmp_path / "sample.parquet"
    pq.write_table(whole, path, row_group_size=700)
    pq.write_table(whole.take(list(range(0, 1_500, 3))), some)
    table = space.tables.add_file(path, "large", n, 6, sample=(some, 500))
    model = train(
        space,
        Spec(
            table.id,
            "stays",
            "stays",
            ["age", "plan"],
            positive=["yes"],
            preset="fast",
            changes={"max_rounds": 20},
            bands=0,
        ),
    )
    return space, table, model, whole


@pytest.fixture
def small_disk(tmp_path):
    """A disk of eight megabytes, where this machine lets us make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("a disk of our own cannot be mounted here: it needs the rights of root")
    yield disk
    forget(disk / "space")
    subprocess.run(["umount", "--lazy", str(disk)], check=False)


@pytest.fixture(scope="module")
def chromium():
    """A browser for the tests of a file."""
    path = browser_path()
    if path is None and os.environ.get("CI") == "true":
        pytest.fail("No browser: CI installs Debian's chromium.")
    if path is None:
        pytest.skip("No Chromium on this machine: install one to run the browser tests.")
    with browsing(path) as browser:
        yield browser
