"""The benchmarks' arithmetic and the page they make, on invented cells."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from benchmarks.boosting import pairs, peers, standing
from benchmarks.harness import cells, contenders, machine
from benchmarks.harness.all import MODULES, commands
from benchmarks.multitask import methods as multitask
from benchmarks.multitask import report as tasks_report
from benchmarks.multitask import studies as tasks_studies
from tests.support.places import ROOT

pytestmark = pytest.mark.slow


def test_benchmarks_are_imported_without_the_libraries_they_compare():
    modules = sorted(
        f"{path.parent.name}.{path.stem}"
        for path in (ROOT / "benchmarks").glob("*/*.py")
        if path.parent.name != "tests"
    )
    assert len(modules) > 40
    code = (
        "import importlib, sys\n"
        "for gone in ('interpret', 'lightgbm', 'xgboost', 'pygam'): sys.modules[gone] = None\n"
        f"for name in {modules}:\n"
        "    print(name, flush=True)\n"
        "    importlib.import_module(f'benchmarks.{name}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert not done.returncode, f"{done.stdout.split()[-1]}: {done.stderr}"


def cell(table, model, seed, seconds, metric):
    at = f"2026-01-01T00:{10 * seed + len(model) % 7:02}:00+00:00"
    return {
        "table": table, "model": model, "seed": seed, "seconds": seconds, "metric": metric, "predict_seconds": 0.002,
        "memory_mib": 10.0, "rounds": [3, 5], "others_cores": 0.0, "at": at,
        "machine": {"processor": "P", "cores": 2, "numba": "1"},
    }  # fmt: skip


@pytest.fixture
def invented():
    rows = []
    for seed, slower in enumerate((1.0, 3.0, 2.0)):
        for table, factor, sign in (("pole", 20.0, 1), ("adult", 80.0, -1)):
            rows.append(cell(table, standing.BASE, seed, slower, 10.0 + seed))
            rows.append(cell(table, "ours-fast-2", seed, slower / 4, 10.0 + seed + sign * 0.5))
            rows.append(cell(table, "ebm", seed, factor * slower, 10.0 + seed + sign * 0.25))
            rows.append(cell(table, "lightgbm-additive", seed, 2.0, 10.0 + seed + sign * 0.25))
    rows.append({**cell("pole", "pygam", 0, 1.0, None), "error": "ValueError: no\nmore"})
    return pd.DataFrame(rows)


def test_ratios_are_taken_within_a_seed_and_averaged_geometrically(invented):
    ratios = standing.ratios(invented)
    assert ratios.loc["pole", "ebm"] == pytest.approx(20.0)
    assert ratios.loc["adult", "ebm"] == pytest.approx(80.0)
    assert ratios.loc[standing.MEAN_ROW, "ebm"] == pytest.approx(40.0)
    spread = standing.spans(invented).loc["ebm"]
    assert spread[[standing.MEAN_ROW, "least", "most", "tables"]].tolist() == pytest.approx([40.0, 20.0, 80.0, 2])


def test_parity_is_paired_and_knows_which_way_is_better(invented):
    parity = standing.parity(invented)
    assert parity["peer"].tolist() == ["ebm", "lightgbm-additive"] * 2
    parity = parity[parity["peer"] == "ebm"]
    assert parity.loc["pole", "ours - peer's"] == pytest.approx(-0.25)  # RMSE: less is better
    assert parity.loc["adult", "ours - peer's"] == pytest.approx(0.25)  # AUC: more is better
    assert parity["ours is"].tolist() == ["better", "better"]
    assert standing.verdict(-0.0001, 0.9, True) == "same"
    assert standing.verdict(-0.01, 0.9, True) == "worse"


def test_only_splits_that_both_were_measured_on_are_compared(invented):
    without = invented[~((invented["model"] == "lightgbm-additive") & (invented["seed"] == 1))]
    without = without[~((without["table"] == "adult") & (without["model"] == standing.BASE) & (without["seed"] == 0))]
    additive = standing.paired(without, (standing.ADDITIVE,))
    assert additive["splits"].tolist() == [2, 1]
    assert additive["peer's seconds / ours"].tolist() == [1.5, 1.0]  # of seeds 0 and 2, of seed 2
    assert additive["ours - peer's"].tolist() == pytest.approx([-0.25, 0.25])
    short = standing.short_of_seeds(without)
    assert short.loc["adult"].to_numpy().tolist() == [["lightgbm-additive", 2], [standing.BASE, 2]]


def test_the_time_between_compared_fits_is_known(invented):
    assert standing.minutes_apart(invented) == 2.0  # those without a metric, and those of other splits, do not count
    assert np.isnan(standing.minutes_apart(invented.drop(columns="at")))


def test_cells_of_other_code_or_parameters_are_measured_again():
    ours = contenders.contenders("pole")["ours-balanced-2"]
    fresh = peers.known("pole", "ours-balanced-2", 0, ours)
    assert peers.up_to_date(fresh, ours)
    assert not peers.up_to_date(fresh | {"code": "older"}, ours)
    assert not peers.up_to_date(fresh | {"parameters": {"n_jobs": 1}}, ours)
    assert not peers.up_to_date({}, contenders.contenders("pole")["ebm"])


def test_the_code_is_that_of_all_rooms(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CORE", tmp_path)
    source = tmp_path / "boosting" / "refit" / "loop.py"
    source.parent.mkdir(parents=True)
    known = set()
    for text in ("a = 1", "a = 2"):
        source.write_text(text)
        known.add(machine.code.__wrapped__())
    assert len(known) == 2


def test_errors_and_noise_are_told(invented):
    assert standing.faults(invented)["error"].tolist() == ["ValueError: no"]
    loud = invented.assign(others_cores=0.5)
    assert len(standing.disturbed(loud)) == len(standing.measured(loud))
    assert not len(standing.disturbed(invented))


def test_a_noisy_cell_is_measured_again_and_the_quietest_stays():
    attempts = iter([{"others_cores": 0.9, "seconds": 1.0}, {"others_cores": 0.0, "seconds": 2.0}])
    assert cells.quietest(lambda: next(attempts))["seconds"] == 2.0
    assert cells.quietest(lambda: {"others_cores": 0.9, "seconds": 0.01})["seconds"] == 0.01  # too short to judge


def test_every_contender_of_ours_is_made_with_its_preset():
    for name, contender in contenders.contenders("compact").items():
        if name.startswith("ours"):
            estimator = contender.make(True, 7)
            assert estimator.random_state == 7
            assert estimator.n_jobs == int(name[-1])


def test_a_library_that_needs_hours_is_given_up_and_said_to_be(tmp_path, monkeypatch):
    asked = argparse.Namespace(data=tmp_path, json=tmp_path, limit=3600.0)
    limits = []
    monkeypatch.setattr(peers, "run_module", lambda module, cell, limit: limits.append(limit) or "Took too long.")
    for name in ("gpgam", "ebm"):
        cell = peers.in_own_process(asked, "pole", name, 0, tmp_path / "one.json")
        assert cell["error"] == "Took too long."
    assert limits == [contenders.PATIENT, 3600.0]
    assert "gpgam" not in contenders.contenders("adult")  # it knows numbers only


def test_the_page_says_only_what_was_measured(invented, tmp_path):
    report = importlib.import_module("benchmarks.boosting.report")
    folder = tmp_path / "peers"
    for record in invented.replace({np.nan: None}).to_dict("records"):
        known = {name: value for name, value in record.items() if value is not None}
        cells.keep(folder / f"{record['table']}-{record['model']}-{record['seed']}.json", known)
    nothing = {
        "steps": tmp_path / "steps.json",
        "scale": tmp_path / "scale.json",
        "live": tmp_path / "live.json",
    }
    asked = argparse.Namespace(peers=folder, doc=tmp_path / "docs" / "benchmarks.md", **nothing)
    asked.doc.parent.mkdir()
    page = "\n".join(report.page(asked))
    assert "P, 2 cores" in page
    assert "40.0" in page
    assert "## One step" not in page
    assert (tmp_path / "docs" / "benchmarks" / "seconds.svg").stat().st_size > 1000


def test_models_with_pairs_are_compared_within_a_split():
    rows = []
    for seed, slower in enumerate((1.0, 3.0)):
        for table, sign in (("bike", 1), ("magic", -1)):
            rows.append({**cell(table, "ours", seed, slower, 1.0 + sign * 0.1), "rounds": [7]})
            rows.append({**cell(table, "ebm", seed, 50.0 * slower, 1.0), "rounds": [9]})
    rows_by_model = pairs.standing(pd.DataFrame(rows)).set_index("model", append=True)
    assert rows_by_model["times faster"].tolist() == [50.0, 1.0, 50.0, 1.0]
    assert rows_by_model.loc[("bike", "ours"), "worse by"] == "+10.00%"  # RMSE
    assert rows_by_model.loc[("magic", "ours"), "worse by"] == "+0.1000 AUC"
    assert rows_by_model["pairs"].tolist() == [7, 9, 7, 9]
    assert "at most 1 minutes apart" in pairs.provenance(pd.DataFrame(rows))


def test_rankings_are_told_by_width():
    seconds = {"ours, 1 thread": 0.01, "whole call": 0.05, "interpret": 0.2}
    timings = [
        {"p": p, "binary": binary, "agreement": 0.9, "seconds": seconds} for p in (20, 10) for binary in (True, False)
    ]
    rankings = pairs.rankings(pd.DataFrame(timings))
    assert rankings.index.tolist() == [10, 10, 20, 20]
    assert rankings["times faster"].tolist() == pytest.approx([20.0] * 4)
    assert rankings["times faster, whole call"].tolist() == pytest.approx([4.0] * 4)
    assert rankings["pairs"].tolist() == [45, 45, 190, 190]


def test_both_rankings_agree():
    pytest.importorskip("interpret")
    ranking = pairs.rank_one(10, True)
    assert ranking["agreement"] > 0.98


def test_multitask_differences_are_paired_by_run():
    rows = []
    for seed, level in enumerate((1.0, 3.0, 2.0)):
        for name, more in (("default", 0.0), ("global", 0.2 + 0.1 * seed), ("independent", -0.1)):
            rows.append({"seed": seed, "model": name, "small": level + more, "big": level + more, "seconds": 1.0})
    table = pd.DataFrame(rows)
    differences = tasks_report.against(table, "small", "default")
    assert differences.index.tolist() == ["default", "independent", "global"]
    assert differences.loc["global", ["mean", "gap"]].tolist() == pytest.approx([2.3, 0.3])
    assert differences.loc["global", "se"] == pytest.approx(0.1 / np.sqrt(3))
    parts = tasks_report.parts_table({"outlier": table}, [("outlier", "small")], ["default", "global"])
    assert parts["outlier, small"].tolist() == ["2.000", "+0.300 (5.2)"]
    once = tasks_report.standing(table[table["seed"] == 0], ["small"], "default")
    assert once.iloc[:, 1].tolist() == ["+0.000", "-0.100", "+0.200"]  # of a single run no error is known


def test_every_study_of_tasks_is_measured_and_told(tmp_path, monkeypatch):
    def small(folder, seed):
        family = tasks_studies.imbalanced(0.5, [100, 60], seed)
        return tasks_studies.Trial(*(tasks_studies.Rows(s.X, s.y, s.task) for s in (family.train, family.test)), False)

    monkeypatch.setitem(tasks_studies.STUDIES, "unrelated", tasks_studies.Study(small, 2, {"first": "a"}))
    asked = argparse.Namespace(data=tmp_path, json=tmp_path, runs=None, models=None)
    monkeypatch.setattr(multitask, "contenders", lambda study: ["default", "independent", "global", "ridge", "dirty"])
    multitask.measure_study(asked, "unrelated")
    measured = multitask.read_cells(tmp_path, "unrelated")
    assert len(measured) == 10
    assert measured["first"].between(0.5, 3.0).all()
    of_one = {"unrelated": measured}
    page = "\n".join([*tasks_report.page(of_one), *tasks_report.other_families(of_one)])
    assert "ridge, a column per task" in page


def test_all_runs_modules_that_exist(tmp_path):
    names = commands(tmp_path, tmp_path, tmp_path)
    assert all(find_spec(MODULES.get(name, f"benchmarks.boosting.{name}")) for name in names)
