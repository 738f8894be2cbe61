"""Trainings on a cluster: of tables that are stored here, and of datasets that only its workers read."""

from __future__ import annotations

import numpy as np
import pytest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.estimators.saved import from_saved
from shapewise.access import cluster as access
from shapewise.access.quotas import Limits
from shapewise.datasets.dataset import load_dataset
from shapewise.errors import StoreError
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.training import runs
from shapewise.training import train as training
from shapewise.training.cost import Estimate
from shapewise.training.on_cluster import ClusterPlace, fit_on_cluster
from shapewise.training.spec import Spec
from tests.support.pieces import files_of, mixed_table, same_bits
from tests.support.spaces import until, wait

pytestmark = pytest.mark.slow

FEATURES = ["a", "b", "c", "yes", "day", "k"]
KINDS = {
    "a number": {"target": "number", "goal": "number"},
    "yes or no": {"target": "good", "goal": "binary", "positive": ["good"]},
    "weights and groups": {"target": "good", "goal": "binary", "positive": ["good"], "weight": "w", "group": "who"},
    "events by exposure": {"target": "events", "goal": "count", "exposure": "years"},
    "three classes": {"target": "kind", "goal": "classes"},
    "the latest held out": {"target": "good", "goal": "binary", "positive": ["good"], "time": "day"},
}


def spec_of(table, **changes):
    told = {"table": table, "name": "a model", "features": FEATURES, "preset": "fast", "bands": 0,
            "changes": {"max_rounds": 30}}  # fmt: skip
    return Spec(**(told | changes))


def loaded(space, url):
    with access.connected() as crew:
        return load_dataset(space, url, crew, lambda share, words: None)


def fitted(space, model):
    return from_saved(space.models.load(model.id))


@pytest.mark.parametrize("kind", ["yes or no", "events by exposure", "three classes", "the latest held out"])
def test_the_cluster_trains_the_model_that_this_machine_does(kind, lake, space):
    table = space.tables.add(mixed_table(3000), "mixed")
    spec = spec_of(table.id, **KINDS[kind])
    here, there = training.train(space, spec), training.train(space, spec, on_cluster=True)
    assert there.on_cluster
    assert not here.on_cluster
    assert {name: here.rows[name] for name in ("training", "held_out")}.items() <= there.rows.items()
    assert there.metrics == pytest.approx(here.metrics, rel=1e-12)
    one, other = fitted(space, here), fitted(space, there)
    assert same_curves(one, other)


def same_curves(one, other):
    """Whether two models have the same bins and curves to the bit; intercepts may differ in the last."""
    terms = [
        [term for model in getattr(of.model_, "models", [of.model_]) for term in model.terms] for of in (one, other)
    ]
    return all(np.array_equal(mine.scores, theirs.scores) for mine, theirs in zip(*terms, strict=True))


@pytest.mark.parametrize("more", [{}, {"weight": "w", "group": "who"}], ids=["plain", "weights and groups"])
def test_the_cluster_trains_multi_task_trees(more, lake, space):
    frame = mixed_table(2000).assign(shop=np.random.default_rng(0).choice(["north", "south"], 2000))
    table = space.tables.add(frame, "mixed")
    spec = spec_of(table.id, **KINDS["yes or no"], kind="tasks", task="shop", compare=False, **more)
    here, there = training.train(space, spec), training.train(space, spec, on_cluster=True)
    assert there.on_cluster
    assert there.metrics == pytest.approx(here.metrics, rel=0.02 if more else 1e-12)
    assert [task["auc"] for task in there.tasks] == pytest.approx([task["auc"] for task in here.tasks], rel=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_trains_the_model_of_the_same_rows_stored_here(kind, lake, space):
    frame = mixed_table(4000)
    space.limits = Limits(table_memory=400_000)
    dataset = loaded(space, files_of(lake / "mixed", frame))
    assert 100 < dataset.sampled < 2000
    assert dataset.rows == 4000
    stored = space.tables.add(frame, "mixed")
    spec = training.with_present_codes(space, spec_of(dataset.id, **KINDS[kind]))
    sample = space.tables.read(dataset.id)
    basis = {name: column for name, column in (("group", spec.group), ("time", spec.time)) if column}
    with access.connected() as crew:
        made = [fit_on_cluster(ClusterPlace(crew, space, of), sample, spec, basis) for of in (dataset.id, stored.id)]
    assert same_bits(made[0][0], made[1][0])
    assert made[0][2] == made[1][2]
    assert made[0][2]["training"] + made[0][2]["set_aside"] == 4000


def test_the_rows_of_the_sample_are_those_that_the_workers_take_for_it(lake, space):
    """No held-out row is trained on: with a column that names rows, the levels learnt are those of other rows."""
    frame = mixed_table(2000).assign(row=np.arange(2000))
    space.limits = Limits(table_memory=200_000)
    dataset = loaded(space, files_of(lake / "rows", frame, 3))
    sample = space.tables.read(dataset.id)
    np.testing.assert_array_equal(frame.loc[sample["row"], "a"], sample["a"])
    model = training.train(space, spec_of(dataset.id, target="good", positive=["good"], goal="binary"))
    data = training.read_all(space, Spec.from_dict(model.spec))
    assert model.rows["set_aside"] == data.held_out.sum() == model.rows["held_out"]
    assert model.rows["training"] == 2000 - data.held_out.sum()


def test_a_job_on_the_cluster_from_the_queue_to_the_model(lake, space, client):
    table = space.tables.add(mixed_table(3000), "mixed")
    spec = spec_of(table.id, **KINDS["yes or no"], changes={"max_rounds": 30, "interactions": 2})
    run = runs.start(space, spec, 1, cluster_threads=2)
    assert runs.read(space, run).threads == 2
    ended = wait(space, run)
    assert (ended.state, ended.message) == ("done", "")
    assert space.models.about(ended.model).on_cluster
    assert space.models.about(ended.model).n_pairs == 2
    until(lambda: not any(client.run(held).values()))


def held(dask_worker):
    return len(dask_worker.data)


LONG = {
    "preset": "paper",
    "changes": {"outer_bags": 4, "learning_rate": 1e-4, "early_stopping_rounds": 10_000, "max_rounds": 10**6},
}


def executing(client):
    return sum(len(keys) for keys in client.processing().values())


def test_a_cancelled_job_leaves_no_task(lake, space, client):
    table = space.tables.add(mixed_table(6000), "mixed")
    run = runs.start(space, spec_of(table.id, **KINDS["yes or no"] | LONG), 1, cluster_threads=2)
    until(lambda: len(runs.read(space, run).standing.points), 90)
    runs.cancel(space, run)
    assert wait(space, run).state == "cancelled"
    until(lambda: executing(client) == 0)


def test_the_workers_stop_when_the_driver_is_killed(lake, space, client):
    table = space.tables.add(mixed_table(6000), "mixed")
    run = runs.start(space, spec_of(table.id, **KINDS["yes or no"] | LONG), 1, cluster_threads=2)
    until(lambda: len(runs.read(space, run).standing.points), 90)
    child.process_of(jobs.folder(space, "runs", run)).kill()
    assert wait(space, run).state == "interrupted"
    until(lambda: not any(client.run(busy).values()))


def busy(dask_worker):
    return dask_worker.state.executing_count > 0


def test_a_job_that_takes_too_long_is_stopped_on_the_cluster_too(lake, space, client):
    space.limits = Limits(seconds=8)
    table = space.tables.add(mixed_table(6000), "mixed")
    cost = Estimate(seconds=1.0, memory=0, disk=0)
    run = runs.start(space, spec_of(table.id, **KINDS["yes or no"] | LONG), 1, cluster_threads=2, cost=cost)
    ended = wait(space, run)
    assert "hours that a job may" in ended.message
    until(lambda: not any(client.run(busy).values()))


def test_without_a_cluster_one_sentence_says_so(lake, space, monkeypatch):
    dataset = loaded(space, files_of(lake / "mixed", mixed_table(500)))
    spec = spec_of(dataset.id, **KINDS["yes or no"])
    monkeypatch.setattr(access, "WAIT_SECONDS", 0.5)
    monkeypatch.setenv("SHAPEWISE_CLUSTER", "tcp://127.0.0.1:1")
    with pytest.raises(StoreError, match=r"The cluster at tcp://127.0.0.1:1 does not answer \(.*\): see that"):
        training.train(space, spec)
    monkeypatch.delenv("SHAPEWISE_CLUSTER")
    with pytest.raises(StoreError, match="There is no cluster: set SHAPEWISE_CLUSTER"):
        training.train(space, spec)


def test_a_dataset_that_changed_or_may_no_longer_be_loaded(lake, space, monkeypatch):
    url = files_of(lake / "mixed", mixed_table(500))
    dataset = loaded(space, url)
    spec = spec_of(dataset.id, **KINDS["yes or no"])
    mixed_table(100).to_parquet(lake / "mixed" / "part-9.parquet", index=False)
    with pytest.raises(StoreError, match="has 600 rows now, and had 500 when it was loaded: load it again"):
        training.train(space, spec)
    monkeypatch.setenv("SHAPEWISE_DATASETS", str(lake / "other"))
    with pytest.raises(StoreError, match="may not be loaded here: give a dataset below"):
        training.train(space, spec)


def test_what_cannot_be_trained_there_is_refused_first(lake, space):
    dataset = loaded(space, files_of(lake / "mixed", mixed_table(500)))
    kept = spec_of(dataset.id, **KINDS["a number"], keep_counts=True)
    run = runs.start(space, kept, 1, cluster_threads=2)
    assert "Counts of rows are kept of tables in memory" in wait(space, run).message


def test_a_piece_that_cannot_be_read_is_named(lake, space):
    dataset = loaded(space, files_of(lake / "mixed", mixed_table(900)))
    bad = mixed_table(225).assign(years=0.0)
    bad.to_parquet(lake / "mixed" / "part-3.parquet", index=False)
    run = runs.start(space, spec_of(dataset.id, **KINDS["events by exposure"]), 1, cluster_threads=2)
    assert "part-3.parquet: The exposure 'years' is missing or not above 0 in" in wait(space, run).message


def test_codes_for_missing_are_read_by_the_workers(lake, space):
    frame = mixed_table(2000)
    frame["a"] = frame["a"].round(1).where(np.arange(2000) % 5 > 0, -999.0)
    space.limits = Limits(table_memory=200_000)
    dataset = loaded(space, files_of(lake / "mixed", frame))
    space.tables.set_names(dataset.id, Names({"a": ColumnNames(missing=("-999",))}))
    model = training.train(space, spec_of(dataset.id, **KINDS["a number"]))
    bins = fitted(space, model).model_.bins[0]
    assert bins.low > -900
