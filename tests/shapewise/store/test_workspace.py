"""The store, training from a specification, and runs in child processes."""

from __future__ import annotations

import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

from gamcore import PRESETS, GAMRegressor, ModelFileError, MultiTaskTreesRegressor, TableError
from gamcore.boosting.counts.bin_pairs import TABLE_GROUPS, table_bytes
from gamcore.boosting.refit.subagging import membership
from gamcore.data.sampling import subsamples
from gamcore.decide.rules import Levels, Range
from gamcore.estimators.saved import from_saved
from gamcore.kernels.layout import CodedTable
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.jobs import scheduler as keeper
from shapewise.store import database as meta
from shapewise.store.atomic_files import new_folder, write_bytes, write_json
from shapewise.store.names import MAX_NAME, clean_name
from shapewise.store.process_names import own_name
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training import runs
from shapewise.training import train as training
from shapewise.training.cost import Estimate, estimate, estimate_bands, estimate_tasks, roughly
from shapewise.training.dataset import held_out_rows, read_data
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.spaces import LONG, frame, spec_of, until, wait

# The store


@pytest.fixture
def space(tmp_path):
    return Workspace(tmp_path / "space")


def test_a_table_is_stored_once_and_read_back(space):
    first = space.tables.add(frame(), "mine", ["a note"])
    again = space.tables.add(frame(), "another name")
    assert (first.id, first.name, again.name) == (again.id, "mine", "mine")
    assert [t.id for t in space.tables.listed()] == [first.id]
    pd.testing.assert_frame_equal(space.tables.read(first.id), frame(), check_dtype=False, check_freq=False)
    assert first.notes == ["a note"]
    assert space.tables.add(frame().assign(a=0.0), "other").id != first.id


def test_roles_are_remembered(space):
    table = space.tables.add(frame(), "mine")
    space.tables.change_roles(table.id, {"w": "weight"})
    assert Workspace(space.root).tables.about(table.id).roles == {"w": "weight"}


@pytest.mark.parametrize("bad", ["", "../tables", "/etc", "x" * 16, "0123456789abcdef", "0123456789ABCDEF", "..%2f"])
def test_ids_from_outside_are_no_paths(space, bad):
    for call in (space.tables.about, space.models.about, space.tables.path, space.models.load):
        with pytest.raises(StoreError, match="no such"):
            call(bad)
    with pytest.raises(StoreError):
        space.delete("tables", bad)
    with pytest.raises(StoreError):
        runs.read(space, bad)


def test_empty_tables_are_refused(space):
    with pytest.raises(StoreError, match="empty"):
        space.tables.add(pd.DataFrame(), "none")


def test_names_are_cleaned():
    assert clean_name("  a\tb\n\u202ec\x00 ") == "a b c"
    assert clean_name("\n") == "unnamed"
    assert len(clean_name("x" * 500)) == MAX_NAME


def test_models_are_renamed_deleted_exported_and_brought_back(space):
    table = space.tables.add(frame(), "mine")
    model = train(space, spec_of(table.id))
    space.models.rename(model.id, "better <b>name</b>")
    assert space.models.about(model.id).name == "better <b>name</b>"
    copy = space.models.bring_in(space.models.path(model.id).read_bytes(), "copy")
    assert copy.target == "y"
    original, brought = (from_saved(space.models.load(m.id)) for m in (model, copy))
    np.testing.assert_array_equal(
        original.predict_proba(frame()[["a", "b", "c"]]), brought.predict_proba(frame()[["a", "b", "c"]])
    )
    assert {m.id for m in space.models.listed()} == {model.id, copy.id}
    space.delete("models", model.id)
    assert [m.id for m in space.models.listed()] == [copy.id]
    with pytest.raises(ModelFileError):
        space.models.bring_in(b"not a model", "x")
    assert len(space.models.listed()) == 1


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    def half():
        with new_folder(tmp_path / "a") as folder:
            write_bytes(folder / "x", b"1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert list(tmp_path.iterdir()) == []
    for content in (b"first", b"second"):
        with new_folder(tmp_path / "a") as folder:
            write_bytes(folder / "x", content)
    assert (tmp_path / "a" / "x").read_bytes() == b"first"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_json(tmp_path / "x", {"a": 1})
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match="disk of the workspace is full"):
        write_json(tmp_path / "x", {"a": 2})
    assert json.loads((tmp_path / "x").read_text()) == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


# Rows and targets


def test_a_fifth_is_held_out_and_always_the_same():
    table = frame()
    held = held_out_rows(table, "0123456789abcdef")
    assert held.sum() == 160
    np.testing.assert_array_equal(held, held_out_rows(table, "0123456789abcdef"))
    assert (held != held_out_rows(table, "1123456789abcdef")).any()


def test_whole_groups_or_the_latest_rows_are_held_out():
    table = frame()
    by_group = held_out_rows(table, "01", group="who")
    assert set(table["who"][by_group]).isdisjoint(table["who"][~by_group])
    assert 100 < by_group.sum() <= 160
    by_time = held_out_rows(table, "01", when="when")
    assert by_time.sum() == 160
    assert table["when"][by_time].min() > table["when"][~by_time].max()


def test_scenarios_choose_rows_and_levels():
    table = pd.DataFrame({"x": np.arange(100.0), "y": (["renew", "drop", "later", None] * 25)})
    chosen = Spec("01", "y", "m", ["x"], ["renew"], ["drop"], [Range("x", 10, 89, high_in=True)])
    data = read_data(table, chosen)
    assert set(table["y"][data.X.index]) == {"renew", "drop"}
    assert data.X["x"].between(10, 89).all()
    assert data.y.tolist() == (table["y"][data.X.index] == "renew").astype(int).tolist()
    everyone = read_data(table, Spec("01", "y", "m", ["x"], ["renew"]))
    assert set(table["y"][everyone.X.index]) == {"renew", "drop", "later"}
    assert everyone.dropped == 25
    levels = read_data(table, Spec("01", "y", "m", ["x"], ["renew"], None, [Levels("y", ("renew", "later"))]))
    assert len(levels.X) == 50


def test_held_out_rows_are_the_same_for_every_scenario():
    table = frame()
    one = read_data(table, spec_of("01"))
    other = read_data(table, spec_of("01", conditions=[Range("a", 0.0)]))
    shared = other.X.index
    np.testing.assert_array_equal(pd.Series(one.held_out, one.X.index)[shared], other.held_out)


def test_conditions_in_words():
    assert Range("age", 20, 30, high_in=True).words() == "age at least 20 and at most 30"
    assert Levels("sex", ("f", "m")).words() == "sex is f or m"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"target": "z"}, "no column 'z'"),
        ({"features": []}, "No features"),
        ({"features": ["a", "gone"]}, "no column 'gone'"),
        ({"positive": None}, "not a number"),
        ({"positive": ["maybe"]}, "negative"),
        ({"conditions": [Range("a", 1e9)]}, "No row is left"),
        ({"conditions": [Range("gone", 1)]}, "row filter names"),
        ({"weight": "b"}, "weights in 'b'"),
    ],
)
def test_specifications_that_cannot_be_trained_are_refused(changes, word):
    with pytest.raises(TableError, match=word):
        read_data(frame(), spec_of("01", **changes))


def test_no_fit_sees_a_held_out_row(space, monkeypatch):
    table = space.tables.add(frame(), "mine")
    seen = {}
    fit = training.GAMClassifier.fit

    def spy(self, X, y, **rest):
        seen["rows"] = set(X.index)
        return fit(self, X, y, **rest)

    monkeypatch.setattr(training.GAMClassifier, "fit", spy)
    model = train(space, spec_of(table.id))
    held = np.flatnonzero(held_out_rows(frame(), table.id))
    assert seen["rows"].isdisjoint(held)
    assert model.rows["held_out"] == len(held)


@pytest.mark.parametrize("binary", [True, False])
def test_metrics_are_those_of_the_held_out_rows(space, binary):
    table = space.tables.add(frame(binary=binary), "mine")
    model = train(space, spec_of(table.id, positive=["yes"] if binary else None, weight="w", group="who"))
    data = read_data(space.tables.read(table.id), Spec.from_dict(model.spec))
    estimator = from_saved(space.models.load(model.id))
    X, y = data.X[data.held_out], data.y[data.held_out]
    if binary:
        scores = estimator.decision_function(X)
        pairs = (scores[y == 1][:, None] > scores[y == 0]).mean()
        assert model.metrics["auc"] == pytest.approx(pairs, abs=0.01)
        assert model.metrics["log_loss"] < model.metrics["baseline_log_loss"]
    else:
        assert model.metrics["rmse"] == pytest.approx(np.sqrt(np.mean((estimator.predict(X) - y) ** 2)))
        assert model.metrics["rmse"] < model.metrics["baseline_rmse"]
    assert Spec.from_dict(json.loads(json.dumps(model.spec))) == Spec.from_dict(model.spec)


def test_the_memory_of_row_level_bags_is_estimated():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 200, (3, 20_000)).astype(np.uint8)
    table = CodedTable(codes, np.array([0, 20_000]), np.full(3, 200), np.zeros(3, bool), np.arange(3))
    every = np.arange(20_000)
    held = membership(table, every, subsamples(every, 100, 0.65, 0))
    size = sum(array.nbytes for array in (*held.by_bin, *held.words, held.ends))
    paper = {**PRESETS["paper"], "outer_bags": 1}
    more = estimate(20_000, 3, paper, 1).memory - estimate(20_000, 3, {"outer_bags": 1}, 1).memory
    assert size < 1.1 * more < 4 * size


def test_the_estimate_grows_with_the_work():
    small = estimate(1000, 5, {"outer_bags": 1}, 1)
    assert estimate(100_000, 5, {"outer_bags": 1}, 1).seconds > small.seconds
    assert estimate(1000, 50, {"outer_bags": 1}, 1).seconds > small.seconds
    assert estimate(1000, 5, {"outer_bags": 8}, 1).seconds > estimate(1000, 5, {"outer_bags": 8}, 2).seconds
    assert estimate(100_000, 5, {"ensemble": "subagging"}, 1).seconds > estimate(100_000, 5, {}, 1).seconds


def test_the_estimate_knows_several_classes():
    one, ten = (estimate(3_000, 6, {"bands": 10}, 1, n_scores=n) for n in (1, 10))
    assert ten.seconds == pytest.approx(10 * one.seconds)
    assert ten.disk == 10 * one.disk
    once = estimate_bands(3_000, 6, {}, 10, 1, n_scores=1)
    assert estimate_bands(3_000, 6, {}, 10, 1, n_scores=10) == pytest.approx(10 * once)


def test_a_timed_refit_takes_the_place_of_the_guess():
    guess = estimate(9_000, 16, {}, 2)
    assert guess.after(3.0, {}, 2).seconds == 12.0  # eight refits, two at a time
    assert guess.after(3.0, {"outer_bags": 1}, 4).seconds == 3.0


def test_few_seconds_are_not_told_apart():
    assert {roughly(seconds) for seconds in (0.03, 0.7, 4.9, 12.2)} == {"a few seconds"}
    assert roughly(42.2) == "about 42 s"


def test_a_guess_that_may_be_long_is_told_as_a_range_until_a_refit_is_timed():
    short, long = (Estimate(seconds, 0, 0, times=12) for seconds in (0.4, 2.0))
    assert short.words() == "a few seconds"
    assert long.words(start=2.0) == "a few seconds to 26 s"
    assert Estimate(60.0, 0, 0, times=12).words() == "60 s to 12 min"
    assert long.after(5.0, {}, 1).words() == "about 40 s"
    assert estimate_tasks(1_000_000, 20, 8, {}, 1, compare=False).words().startswith("about ")


def test_a_category_of_many_levels_is_not_learnt_from_counts_of_bin_pairs():
    few, many = (estimate(1_000_000, 12, {}, 2, "squared", levels=levels).seconds for levels in (200, 4_000))
    assert few < 0.3 * many


def test_the_estimate_knows_counts_of_bin_pairs():
    rows, counts = (estimate(1_000_000, 12, {}, 2, loss) for loss in ("logistic", "squared"))
    assert counts.seconds < 0.3 * rows.seconds
    assert counts.memory == rows.memory + table_bytes([255] * 12, TABLE_GROUPS, wide=False)
    assert estimate(50_000, 12, {}, 2, "squared") == estimate(50_000, 12, {}, 2, "logistic")
    twice = estimate(2_000_000, 12, {}, 2, "squared")
    assert counts.seconds < twice.seconds < 1.5 * counts.seconds


def test_the_estimate_knows_pairs():
    none, five, auto = (estimate(20_000, 12, {"interactions": wanted}, 2) for wanted in (0, 5, "auto"))
    named = estimate(20_000, 12, {"interactions": [["a", "b"]] * 5}, 2)
    joint = estimate(20_000, 12, {"interactions": 5, "joint": True}, 2)
    assert none.seconds < five.seconds < joint.seconds < auto.seconds
    assert none.memory < five.memory < joint.memory
    assert named == five
    assert estimate(20_000, 3, {"interactions": 1000}, 2) == estimate(20_000, 3, {"interactions": 3}, 2)
    assert estimate(20_000, 1, {"interactions": "auto"}, 2) == estimate(20_000, 1, {}, 2)


@pytest.mark.parametrize("changes", [{}, {"bands": 10}, {"interactions": 2}, {"interactions": 2, "bands": 10}])
def test_the_bytes_of_a_model_are_known_before_it_is_trained(changes, tmp_path):
    rng = np.random.default_rng(0)
    X, parameters = rng.normal(size=(2_000, 4)), {"outer_bags": 3, "max_rounds": 10, **changes}
    GAMRegressor(random_state=0, **parameters).fit(X, X[:, 0] * X[:, 1]).save(tmp_path / "one.gamx")
    size = (tmp_path / "one.gamx").stat().st_size
    assert size / 1.2 < estimate(1_700, 4, parameters, 1).disk < 1.5 * size


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, 6])
def test_the_bytes_of_trees_are_known_about(depth, tmp_path):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(6_000, 4)), rng.choice(["a", "b", "c"], 6_000)
    parameters = {"outer_bags": 2, "max_depth": depth}
    model = MultiTaskTreesRegressor(random_state=0, **parameters)
    model.fit(X, X[:, 0] * X[:, 1] + rng.normal(size=6_000), task).save(tmp_path / "one.gamx")
    size = (tmp_path / "one.gamx").stat().st_size
    assert size / 3 < estimate_tasks(5_000, 4, 3, parameters, 1, False).disk < 3 * size


def test_few_or_large_groups_still_hold_something_out():
    for groups in (2, 4, 3):
        table = frame().assign(who=np.arange(800) % groups)
        held = held_out_rows(table, "01", group="who")
        assert 0 < held.sum() < 800
        assert set(table["who"][held]).isdisjoint(table["who"][~held])
    with pytest.raises(TableError, match="one value"):
        held_out_rows(frame().assign(who=1), "01", group="who")


def test_the_first_training_fixes_what_is_held_out(space):
    table = space.tables.add(frame(), "mine")
    train(space, spec_of(table.id))
    first = read_data(frame(), spec_of(table.id), space.tables.about(table.id).held_out_by).held_out
    later = train(space, spec_of(table.id, group="who", time="when"))
    again = read_data(frame(), Spec.from_dict(later.spec), space.tables.about(table.id).held_out_by).held_out
    np.testing.assert_array_equal(first, again)


def test_weights_that_are_text_or_miss_a_part_are_refused():
    with pytest.raises(TableError, match="not numbers"):
        read_data(frame(), spec_of("01", weight="c"))
    table = frame()
    table["w"] = held_out_rows(table, "01").astype(float)
    with pytest.raises(TableError, match="all zero"):
        read_data(table, spec_of("01", weight="w"))


def test_one_unreadable_description_hides_no_other(space):
    table = space.tables.add(frame(), "mine")
    model = train(space, spec_of(table.id))
    space.edit("models", model.id, lambda about: about | {"from_the_future": 1})
    for k, kind in enumerate(("tables", "models")):
        space.add(kind, f"00000000000000a{k}", {})
    odd = space.root / "jobs" / "00000000000000ab"
    odd.mkdir(parents=True)
    (odd / "about.json").write_text("{}")
    with space.meta.writing() as connection:
        told = {"id": odd.name, "kind": "runs", "owner": "local", "created": "", "state": "running"}
        connection.execute(meta.job.insert().values(**told))
    assert [t.id for t in space.tables.listed()] == [table.id]
    assert [m.id for m in space.models.listed()] == [model.id]
    assert runs.listing(space) == runs.active(space) == []


# Runs


def begin_long(space):
    """A run that is surely going on, and would for minutes."""
    table = space.tables.add(frame(), "mine")
    identifier = runs.start(space, spec_of(table.id, **LONG), 1)
    for _ in range(600):
        if len(runs.read(space, identifier).standing.points):
            return identifier
        time.sleep(0.1)
    raise AssertionError("the run did not begin")


def begin_waiting(space, monkeypatch):
    """The process of a run that goes on and does nothing, and the run: how it ends is not about what it does."""
    monkeypatch.setitem(keeper.MODULES, "runs", "tests.support.waiting")
    table = space.tables.add(frame(), "mine")
    identifier = runs.start(space, spec_of(table.id), 1)
    folder = jobs.folder(space, "runs", identifier)
    until(lambda: child.process_of(folder) is not None)
    return child.process_of(folder), identifier


def test_a_run_trains_reports_and_stores(space):
    table = space.tables.add(frame(), "mine")
    identifier = runs.start(space, spec_of(table.id, changes={"max_rounds": 60}, bands=0), 2)
    assert [run.id for run in runs.active(space)] == [identifier]
    run = wait(space, identifier)
    assert run.state == "done", run.message
    assert run.standing.n_refits == 2
    assert run.standing.points.shape[1] == 4
    assert run.standing.points[0, 1] == 1
    here = train(space, spec_of(table.id, changes={"max_rounds": 60}))
    assert space.models.about(run.model).metrics == here.metrics
    assert runs.active(space) == []
    assert [r.id for r in runs.listing(space)] == [identifier]


@pytest.mark.slow
def test_bands_follow_a_training_and_come_alone_when_asked_for(space):
    table = space.tables.add(frame(), "mine")
    run = wait(space, runs.start(space, spec_of(table.id, bands=10), 2))
    assert run.state == "done", run.message
    assert run.standing.stage == "bands"
    assert space.models.about(run.model).bands == 10
    halves = space.models.load(run.model).model.halves
    assert halves.n_refits == 10
    alone = train(space, spec_of(table.id, bands=10))
    assert alone.bands == 0
    later = wait(space, runs.start(space, spec_of(table.id, bands=10), 1, alone.id))
    assert later.model == alone.id
    assert runs.working_on(space, alone.id) is None
    assert runs.last_failure(space, alone.id) == ""
    np.testing.assert_array_equal(space.models.load(alone.id).model.halves.terms[0].refits, halves.terms[0].refits)
    space.models.set_headline(alone.id, "a", " Older  is better ")
    space.models.rename(alone.id, "another")
    about = space.models.about(alone.id)
    assert (about.bands, about.headlines, about.name) == (10, {"a": "Older is better"}, "another")


@pytest.mark.slow
def test_bands_that_cannot_be_made_leave_the_model_and_say_why(space):
    table = space.tables.add(frame(160).assign(who=np.arange(160) % 4), "four groups, one of them held out")
    run = wait(space, runs.start(space, spec_of(table.id, group="who"), 1))
    assert run.state == "failed"
    assert "Bands need at least 4 groups" in run.message
    assert space.models.about(run.model).bands == 0  # the model is there
    assert run.message in runs.last_failure(space, run.model)


@pytest.mark.slow
def test_stopping_the_bands_keeps_the_model(space):
    table = space.tables.add(frame(), "mine")
    spec = spec_of(table.id, preset="paper", changes={"n_bags": 500}, bands=1_000)
    model = train(space, spec)
    identifier = runs.start(space, spec, 1, model.id)
    for _ in range(600):
        if runs.read(space, identifier).standing.stage == "bands":
            break
        time.sleep(0.1)
    assert runs.working_on(space, model.id).id == identifier
    runs.cancel(space, identifier)
    run = wait(space, identifier)
    assert run.model == model.id
    assert space.models.about(model.id).bands == 0
    assert runs.working_on(space, model.id) is None


@pytest.mark.slow
def test_settings_are_searched_in_a_run_and_kept_when_it_is_stopped(space):
    table = space.tables.add(frame(1500), "mine")
    budget = {"candidates": 6, "seconds": 60.0}
    run = wait(space, runs.start(space, spec_of(table.id), 2, budget=budget))
    assert run.state == "done", run.message
    assert run.model is None
    assert len(run.tuned) == 6
    assert {trial["stage"] for trial in run.tuned} <= {0, 1}
    assert run.tuned[0]["loss"] <= min(t["loss"] for t in run.tuned if t["stage"] == run.tuned[0]["stage"])
    identifier = runs.start(space, spec_of(table.id, changes={"max_rounds": 3000}), 1, budget={"candidates": 60})
    for _ in range(600):
        if len(runs.read(space, identifier).standing.points) > 1:
            break
        time.sleep(0.05)
    runs.cancel(space, identifier)
    stopped = wait(space, identifier)
    assert stopped.state == "cancelled"
    assert len(stopped.tuned) >= 1


@pytest.mark.slow
def test_parts_are_fitted_in_a_run(space):
    table = space.tables.add(frame(900), "mine")
    model = train(space, spec_of(table.id, bands=10))
    column = next(name for name in frame(10).columns if name != "y")
    run = wait(space, runs.start(space, spec_of(table.id, bands=10), 2, model.id, column))
    assert run.state == "done", run.message
    parts = space.models.parts(model.id)
    assert len(parts) >= 2
    assert [about.id for about in space.models.listed()] == [model.id]
    assert sum(part.rows["training"] for part in parts) <= model.rows["training"]
    assert all(part.part and part.bands == 10 for part in parts)


@pytest.mark.slow
def test_a_run_that_cannot_be_trained_says_why(space):
    table = space.tables.add(frame(), "mine")
    run = wait(space, runs.start(space, spec_of(table.id, positive=["maybe"]), 1))
    assert run.state == "failed"
    assert "negative" in run.message


@pytest.mark.slow
def test_cancel_stops_a_run_and_nothing_is_stored(space):
    identifier = begin_long(space)
    runs.cancel(space, identifier)
    run = wait(space, identifier)
    assert run.state == "cancelled"
    assert space.models.listed() == []


@pytest.mark.slow
def test_a_worker_that_does_not_listen_is_terminated(space, monkeypatch):
    monkeypatch.setattr(child, "GRACE_SECONDS", 0.5)
    process, identifier = begin_waiting(space, monkeypatch)
    process.send_signal(signal.SIGSTOP)
    runs.cancel(space, identifier)
    process.wait(20)
    assert wait(space, identifier).state == "cancelled"


@pytest.mark.slow
def test_a_killed_worker_is_noticed(space, monkeypatch):
    process, identifier = begin_waiting(space, monkeypatch)
    process.kill()
    run = wait(space, identifier)
    assert run.state == "interrupted"
    assert "ended unexpectedly" in run.message


@pytest.mark.slow
def test_a_worker_stops_when_its_server_is_gone(space, tmp_path):
    """The server here is a child that starts a run and dies."""
    import subprocess
    import sys

    table = space.tables.add(frame(), "mine")
    told = json.dumps(spec_of(table.id, **LONG).to_dict())
    code = (
        "import json, os, sys, time; from pathlib import Path\n"
        "from shapewise.training import runs; from shapewise.store.workspace import Workspace\n"
        "from shapewise.training.train import Spec\n"
        "space = Workspace(Path(sys.argv[1])); run = runs.start(space, Spec.from_dict(json.loads(sys.argv[2])), 1)\n"
        "while not len(runs.read(space, run).standing.points): time.sleep(0.1)\n"
        "print(run, flush=True); os._exit(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(space.root), told], capture_output=True, text=True, check=False
    )
    run = wait(space, done.stdout.strip())
    assert run.state == "interrupted"
    assert "server" in run.message


def test_a_process_id_given_to_another_is_not_the_worker(space):
    folder = space.root / "jobs" / "00000000000000aa"
    folder.mkdir(parents=True)
    write_json(folder / "process.json", {"name": own_name()[:-1]})
    assert child.process_of(folder) is None


def test_a_run_whose_worker_never_came_is_not_running_for_ever(space, monkeypatch):
    table = space.tables.add(frame(), "mine")
    folder = space.root / "jobs" / "00000000000000ac"
    folder.mkdir(parents=True)
    write_json(folder / "about.json", {"spec": spec_of(table.id).to_dict(), "created": "2024-01-01T00:00:00+00:00"})
    with space.meta.writing() as connection:
        told = {"id": folder.name, "kind": "runs", "owner": "local", "created": "2024", "state": "running"}
        connection.execute(meta.job.insert().values(**told))
    assert runs.read(space, folder.name).state == "running"
    monkeypatch.setattr(child, "START_SECONDS", -1)
    assert runs.read(space, folder.name).state == "interrupted"
