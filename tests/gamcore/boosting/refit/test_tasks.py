"""A refit is plain data: pickled and boosted in another process, it gives bitwise the same result."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from types import ModuleType

import numpy as np
import pytest

from gamcore import GAMClassifier, GAMRegressor, MultiTaskTreesClassifier, add_bands
from gamcore.boosting.refit import loop
from gamcore.boosting.running.executor import Serial, run_task


def table(n=800, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)


def never_stop(progress):
    return False


class Pickled(Serial):
    """An executor that pickles and unpickles each task before running it."""

    def submit(self, task, tell):
        return super().submit(pickle.loads(pickle.dumps(task)), tell)


class Elsewhere(Serial):
    """An executor that refits in a child process, as a cluster's executor would."""

    def __init__(self, pool):
        self.pool = pool

    def submit(self, task, tell):
        done = Future()
        done.set_result(self.pool.submit(run_task, task, never_stop).result())
        return done


@pytest.fixture(params=["pickled", "another process"])
def executor(request, monkeypatch):
    if request.param == "pickled":
        yield Pickled()
        return
    # A page that was tested before stays the main module, which a child would run.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield Elsewhere(pool)


def fits():
    X, y = table()
    few = {"outer_bags": 2, "max_rounds": 30, "random_state": 0}
    return {
        "main effects": GAMRegressor(**few).fit(X, y),
        "classes": GAMClassifier(**few, boosting="mart").fit(X, y > 0),
        "pairs and bands": GAMRegressor(**few, interactions=2, bands=10, joint=True).fit(X, y),
        "tasks": MultiTaskTreesClassifier(**few).fit(X, y > 0, task=np.where(X[:, 2] > 0, "a", "b")),
    }


def scores(models):
    X, _ = table(100, 1)
    for name, model in models.items():
        yield name, model.explain_rows(X, task="a") if name == "tasks" else model.explain_rows(X)


@pytest.mark.slow
def test_refits_that_travel_are_the_same_to_the_bit(monkeypatch, executor):
    here = dict(scores(fits()))
    begun = []

    def elsewhere(n_workers, inside=1):
        begun.append(n_workers)
        return executor

    monkeypatch.setattr(loop, "make_executor", elsewhere)
    for name, rows in scores(fits()):
        assert rows.scores.tobytes() == here[name].scores.tobytes(), name
        assert rows.contributions.tobytes() == here[name].contributions.tobytes(), name
    assert len(begun) >= 6  # of main effects twice, pairs frozen and joint, bands, tasks


def test_a_task_of_bands_boosted_twice_is_the_same(monkeypatch):
    tasks = []

    class Kept(Serial):
        def submit(self, task, tell):
            tasks.append(task)
            return super().submit(task, tell)

    monkeypatch.setattr(loop, "make_executor", lambda n_workers, inside=1: Kept())
    X, y = table()
    model = GAMRegressor(outer_bags=1, max_rounds=20, random_state=0).fit(X, y)
    tasks.clear()
    add_bands(model, X, y, n_refits=10)
    once, twice = (run_task(tasks[3], never_stop).main.curves for _ in range(2))
    assert once.tobytes() == twice.tobytes()


@pytest.mark.parametrize("answer", [True, False])
def test_a_task_stops_where_it_is_told_to(answer):
    X, y = table()
    rounds = []

    def tell(progress):
        rounds.append(progress.round)
        return answer

    tasks = []

    class Kept(Serial):
        def submit(self, task, tell):
            tasks.append(task)
            return super().submit(task, tell)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "make_executor", lambda n_workers, inside=1: Kept())
        GAMRegressor(outer_bags=1, max_rounds=200, validation_fraction=0.0, random_state=0).fit(X, y)
    run_task(tasks[0], tell)
    assert (rounds[-1] < 200) is answer
