"""The price of readability: which tables are drawn, what a run keeps, and what its page says of invented cells."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks.harness.cells import keep, load, load_all
from benchmarks.readability import __main__ as command
from benchmarks.readability import page, tables
from benchmarks.readability.models import LIBRARIES, SEARCHED, defaults
from benchmarks.wild.tables import Stranger
from tests.support.places import ROOT
from tests.support.real_tables import RealTable

pytestmark = pytest.mark.slow


def small(binary, n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", None], n)})
    y = X["a"] + (X["b"] == "x") + 0.1 * rng.normal(size=n)
    return RealTable("small", X, (y > 0).astype(int) if binary else y, binary)


def cell(table, model, seed, metric, seconds=1.0, binary=False, **more):
    return {
        "table": table, "model": model, "seed": seed, "binary": binary, "rows": 100, "fitted_rows": 80,
        "metric": metric, "loss": metric, "seconds": seconds, "at": "2026-01-01T00:00:00+00:00",
        "machine": {"processor": "P", "cores": 2, "numba": "1"}, **more,
    }  # fmt: skip


@pytest.mark.parametrize("binary", [False, True])
def test_a_run_keeps_every_cell_and_goes_on_where_it_was(binary, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "read", lambda data, name: small(binary))
    study = command.Study(tmp_path, tmp_path, most_rows=100, trials=2)
    wanted = ["ours, curves", "ours, triples"]
    for library in LIBRARIES:
        try:
            __import__(library.lower())
        except ImportError:
            continue
        wanted += [library, library + SEARCHED]
    for model in wanted:
        study.measure("small", model, 0)
        kept = load(study.path("small", model, 0))
        assert "error" not in kept, kept
        assert kept["fitted_rows"] == 100
        assert kept["test_rows"] == 40
        assert np.isfinite([kept["metric"], kept["loss"], kept["seconds"]]).all()
        assert not model.startswith("ours") or (kept["metric"] > 0.8 if binary else kept["metric"] < 1.0)
        study.measure("small", model, 0)
        assert load(study.path("small", model, 0)) == kept
    all_rows = command.Study(tmp_path, tmp_path, most_rows=160, trials=2)
    all_rows.measure("small", "ours, curves", 0)
    kept = load(all_rows.path("small", "ours, curves", 0))
    command.Study(tmp_path, tmp_path, most_rows=100_000, trials=2).measure("small", "ours, curves", 0)
    assert load(all_rows.path("small", "ours, curves", 0)) == kept
    fewer = command.Study(tmp_path, tmp_path, most_rows=90, trials=2)
    fewer.measure("small", "ours, curves", 0)
    assert load(fewer.path("small", "ours, curves", 0))["fitted_rows"] == 90
    assert page.lines(load_all(tmp_path))


def test_a_library_that_fails_is_a_cell_with_its_error(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "read", lambda data, name: small(False))
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    study = command.Study(tmp_path, tmp_path)
    study.measure("small", "LightGBM", 0)
    assert load(study.path("small", "LightGBM", 0))["error"]


def test_a_plan_has_every_cell_once():
    for splits in (1, 2, 5):
        cells = list(command.plan(["a", "b"], splits))
        models = [*defaults(True), *(library + SEARCHED for library in LIBRARIES)]
        assert len(cells) == len(set(cells)) == 2 * splits * len(models)


def test_others_are_compared_on_the_splits_that_both_have():
    rows = [cell("a", page.READABLE, seed, 2.0) for seed in range(2)]
    rows += [cell("a", "LightGBM", 0, 1.0, 0.5), cell("a", "XGBoost", 2, 1.0)]
    rows += [cell("b", page.READABLE, 0, 0.8, binary=True), cell("b", "LightGBM", 0, 0.7, 0.5, binary=True)]
    wide = page.tables_of(page.gaps_of(pd.DataFrame(rows))).set_index(["table", "model"])
    assert wide.loc[("a", "LightGBM"), "ahead"] == pytest.approx(0.5)
    assert wide.loc[("a", "LightGBM"), "splits"] == 1
    assert ("a", "XGBoost") not in wide.index
    assert wide.loc[("b", "LightGBM"), "ahead"] == pytest.approx(-0.1)
    assert wide.loc[("b", "LightGBM"), "seconds_over"] == 0.5


def test_a_page_tells_where_ours_is_behind_and_what_was_not_measured():
    rows = [cell("a", page.READABLE, 0, 2.0), cell("a", "LightGBM", 0, 1.0), cell("a", "XGBoost", 0, 1.5)]
    rows += [cell("b", page.READABLE, 0, 0.8, binary=True), cell("b", "CatBoost", 0, None, binary=True, error="Alas.")]
    text = "\n".join(page.lines(pd.DataFrame(rows)))
    assert "| a | **2** | -50.0% | -25.0% |" in text
    assert "ahead by more than 0.5% RMSE on 1 of 1 tables" in text
    assert "- b, CatBoost, split 1: `Alas.`" in text
    assert "P, one of 2 cores: numba 1." in text
    assert "- 1 of all tables: ours, triples" in text
    assert "- 1 of a: LightGBM; XGBoost" in text
    assert "- not measured: ours, curves; ours, pairs; ours, smooth; EBM; CatBoost;" in text
    assert page.lines(pd.DataFrame()) == ["", "Nothing is measured yet.", ""]


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        (lambda f: f, True),
        (lambda f: f.head(900), False),
        (lambda f: f.assign(y=np.arange(len(f)) % 3), False),
        (lambda f: f.assign(x0=f["y"] ** 3), False),
        (lambda f: f.drop(columns="x0"), False),
    ],
)
def test_a_table_fits_by_its_rows_features_and_target(change, fits, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1500, 6)), columns=["y", *(f"x{j}" for j in range(5))])
    frame = frame.assign(log_y=frame["y"], id=range(1500), name=[f"n{i}" for i in range(1500)], same=1.0)
    monkeypatch.setattr(tables, "read_stranger", lambda stranger: change(frame))
    table = tables.as_table(Stranger("p", "t"), {"target": "y|log_y", "id": "id"})
    assert (table is not None) == fits
    if table is not None:
        assert list(table.X) == [f"x{j}" for j in range(5)]


def test_the_command_writes_a_page_of_what_is_there_and_goes_on_from_its_packed_cells(tmp_path):
    doc = tmp_path / "page.md"

    def page_of(folder):
        command_line = [sys.executable, "-m", "benchmarks.readability", "--data", tmp_path, "--json", tmp_path / folder]
        done = subprocess.run([*command_line, "--minutes", "0", "--doc", doc], cwd=ROOT, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return doc.read_text()

    assert "Nothing is measured yet." in page_of("cells")
    for seed in range(2):
        keep(tmp_path / "cells" / f"a-ours-{seed}.json", cell("a", page.READABLE, seed, 2.0))
    first = page_of("cells")
    assert "2 fits of 1 tables." in first
    keep(tmp_path / "others" / "a-ours-1.json", cell("a", page.READABLE, 1, 4.0))
    assert "| a | **3** |" in page_of("others")  # what the folder has is newer than what is packed
    assert load(tmp_path / "others" / "a-ours-0.json") == load(tmp_path / "cells" / "a-ours-0.json")
