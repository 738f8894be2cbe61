"""What becomes of a fit whose workers are lost, added, or told to stop."""

from __future__ import annotations

import threading
import time
from operator import add

import numpy as np
import pytest
from distributed import Client

from gamcore import GAMClassifier, GAMRegressor
from gamcore.distributed import client as connection
from gamcore.distributed.client import ClusterError
from gamcore.distributed.cluster import OnCluster
from gamcore.distributed.crew import StoppedError
from gamcore.distributed.machine import OneMachine
from tests.support.pieces import bare_cluster, cluster, cut, mixed_table, same_bits

pytestmark = pytest.mark.slow

SETTINGS = {"random_state": 0, "max_rounds": 150, "outer_bags": 4, "max_bins": 256, "early_stopping_rounds": 150}
COLUMNS = ["a", "b", "c", "k"]


@pytest.fixture(scope="module")
def processes():
    """The cluster of most tests, whose workers are replaced where they are killed."""
    with cluster() as made:
        yield made


@pytest.fixture
def client(processes):
    return processes.client


class At:
    """A callback that does something once, when a stage is reached for the n-th time."""

    def __init__(self, stage, act, n=1):
        self.stage, self.act, self.n, self.seen, self.stages = stage, act, n, 0, []

    def __call__(self, progress):
        self.stages.append(progress.stage)
        self.seen += progress.stage == self.stage
        return self.once() if self.seen == self.n else False

    def once(self):
        act, self.act = self.act, None
        return act() if act else False


PHASES = {
    "sketching": ("reading the table", 2, GAMClassifier, "good"),
    "coding": (None, 1, GAMClassifier, "good"),
    "counting": ("counting", 1, GAMRegressor, "number"),
    "refits": ("main effects", 2, GAMClassifier, "good"),
    "pairs": ("pairs", 1, GAMClassifier, "good"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_worker_killed_in_any_phase_changes_no_bit(phase, processes, counts, monkeypatch):
    client = processes.client
    stage, n, estimator, target = PHASES[phase]
    table = mixed_table()[[*COLUMNS, target]]
    settings = SETTINGS | {"interactions": 2 * (phase == "pairs")}
    one = estimator(**settings).fit([table], target, client=OneMachine(2, 3_000))
    killing = At(stage, processes.replace_one, n)
    if phase == "coding":

        def code(crew, coding, pieces, starts, tell, made=OnCluster.code):
            return made(crew, coding, pieces, starts, lambda done, of: killing.once())

        monkeypatch.setattr(OnCluster, "code", code)
    other = estimator(**settings, callback=killing).fit(cut(table, 6), target, client=OnCluster(client, 3_000))
    assert killing.act is None, killing.stages
    assert same_bits(one, other)
    client.wait_for_workers(2)


def test_a_worker_added_in_the_middle_changes_no_bit():
    table = mixed_table()[[*COLUMNS, "good"]]
    one = GAMClassifier(**SETTINGS).fit([table], "good", client=OneMachine(2, 3_000))
    with cluster(1) as made:
        adding = At("reading the table", lambda: made.add() and None, 2)
        crew = OnCluster(made.client, 3_000)
        other = GAMClassifier(**SETTINGS, callback=adding).fit(cut(table, 6), "good", client=crew)
        assert adding.act is None
    assert same_bits(one, other)


LOST = {"workers": "All workers of the cluster are gone: start", "scheduler": "The cluster's scheduler is gone, or"}


@pytest.mark.parametrize("stage", ["reading the table", "main effects"])
@pytest.mark.parametrize("who", LOST)
def test_where_all_are_gone_a_sentence_says_so(who, stage, monkeypatch, tmp_path):
    monkeypatch.setattr(connection, "GRACE_SECONDS", 5.0)
    table = mixed_table()[[*COLUMNS, "good"]]
    with bare_cluster(tmp_path) as processes:

        def leave():
            for process in processes.workers if who == "workers" else [processes.scheduler]:
                process.kill()

        model = GAMClassifier(**SETTINGS, callback=At(stage, leave, 2))
        with pytest.raises(ClusterError, match=f"{LOST[who]} .* then train again"):
            model.fit(cut(table, 6), "good", client=OnCluster(processes.client, 3_000))


class Scheduler:
    """A client of a scheduler that answers as it is told to; its workers come after `after` looks."""

    status = "running"

    def __init__(self, after=0, error=None):
        self.after, self.error, self.scheduler = after, error, self

    def run(self, function, on_error, callback_timeout):
        return {"tcp://a": function()}

    def sync(self, function, callback_timeout, **asked):
        return function(**asked)

    def ncores(self):
        if self.error:
            raise self.error
        return {}

    def identity(self, n_workers):
        self.after -= 1
        return {"workers": {} if self.after >= 0 else {"tcp://a": {"nthreads": 2, "memory_limit": 0}}}


@pytest.mark.parametrize(("error", "said"), [
    (OSError("closed"), connection.NO_SCHEDULER), (TimeoutError(), connection.NO_SCHEDULER),
    (None, connection.NO_WORKERS),
])  # fmt: skip
def test_a_scheduler_that_does_not_answer_is_not_one_without_workers(error, said, monkeypatch):
    """Its client says for a while that it runs."""
    monkeypatch.setattr(connection, "GRACE_SECONDS", -1.0)
    looking = connection.Connection(Scheduler(error=error))
    with pytest.raises(ClusterError, match=said[:30]):
        looking.check_alive()


def test_workers_that_are_away_for_a_moment_are_waited_for(monkeypatch):
    monkeypatch.setattr(connection, "POLL_SECONDS", 0.0)
    assert connection.Connection(Scheduler(after=3)).workers() == [(2, connection.UNLIMITED)]
    monkeypatch.setattr(connection, "GRACE_SECONDS", -1.0)
    with pytest.raises(ClusterError, match="All workers of the cluster are gone"):
        connection.Connection(Scheduler(after=9)).workers()


def tasks_of(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def idle(client):
    """Wait a minute for a cluster to have no task; return whether it has none."""
    end = time.monotonic() + 60
    while tasks_of(client) and time.monotonic() < end:
        time.sleep(0.1)
    return not tasks_of(client)


@pytest.mark.parametrize("stage", ["reading the table", "main effects"])
def test_a_stop_leaves_no_task(stage, client):
    table = mixed_table()[[*COLUMNS, "good"]]
    model = GAMClassifier(**SETTINGS | {"max_rounds": 20_000, "early_stopping_rounds": 20_000}, n_jobs=1)
    model.set_params(callback=At(stage, lambda: True))
    if stage == "reading the table":
        with pytest.raises(StoppedError):
            model.fit(cut(table, 6), "good", client=client)
    else:
        model.fit(cut(table, 6), "good", client=client)
        assert 0 < model.n_rounds_ < 20_000
    assert idle(client)


def test_an_error_in_the_callback_leaves_no_task(client):
    def fail():
        raise KeyError("mine")

    table = mixed_table()[[*COLUMNS, "good"]]
    model = GAMClassifier(**SETTINGS | {"max_rounds": 20_000}, callback=At("main effects", fail))
    with pytest.raises(KeyError, match="mine"):
        model.fit(cut(table, 6), "good", client=client)
    assert idle(client)


def test_a_fit_leaves_no_task(client, counts):
    for estimator, target in ((GAMClassifier, "good"), (GAMRegressor, "number")):
        estimator(**SETTINGS).fit(cut(mixed_table()[[*COLUMNS, target]], 3), target, client=client)
        assert idle(client)


def test_work_is_let_go_of_without_an_error_of_the_scheduler(client):
    before = errors(client)
    link = connection.Connection(client)
    first = link.submit(float, 1)
    last = link.submit(add, link.submit(add, first, 1), 1)  # nobody holds what is between
    assert link.finish([last]) == [3.0]
    link.close()
    assert idle(client)
    assert errors(client) == before
    assert client.submit(float, 2).result(timeout=60) == 2.0


def errors(client):
    """The errors that a scheduler has logged, those of workers that other tests killed among them."""
    return {words for level, words in client.get_scheduler_logs() if level == "ERROR"}


def test_no_more_counts_are_held_than_workers_need(client, counts):
    held = []

    def look(progress):
        if progress.stage == "counting":
            held.append(client.run_on_scheduler(in_memory, name="_count_onto"))

    table = mixed_table()[[*COLUMNS, "number"]]
    GAMRegressor(**SETTINGS, callback=look).fit(cut(table, 12), "number", client=client)
    assert len(held) > 6
    assert max(held) <= 4


def in_memory(dask_scheduler, name):
    return sum(task.state == "memory" and str(task.key).startswith(name) for task in dask_scheduler.tasks.values())


def test_a_result_that_takes_long_to_come_is_asked_for_once(client, monkeypatch):
    monkeypatch.setattr(connection, "POLL_SECONDS", 0.001)
    asked, made = [], Client.gather

    def gather(self, futures, **options):
        asked.append(len(futures))
        return made(self, futures, **options)

    monkeypatch.setattr(Client, "gather", gather)
    link = connection.Connection(client)
    large = link.submit(np.zeros, 10**7)
    assert link.finish([large])[0].size == 10**7
    assert asked == [1]


def test_two_people_may_train_at_once(client, counts):
    table, made = mixed_table(), {}
    targets = {"good": GAMClassifier, "number": GAMRegressor}

    def train(target):
        with Client(client.scheduler.address) as own:
            X = cut(table[[*COLUMNS, target]], 4)
            made[target] = targets[target](**SETTINGS).fit(X, target, client=OnCluster(own, 3_000))

    threads = [threading.Thread(target=train, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for target, estimator in targets.items():
        one = estimator(**SETTINGS).fit([table[[*COLUMNS, target]]], target, client=OneMachine(2, 3_000))
        assert same_bits(one, made[target])


def test_the_rounds_of_all_refits_are_told(client):
    table, told = mixed_table()[[*COLUMNS, "good"]], []
    settings = SETTINGS | {"max_rounds": 3_000, "early_stopping_rounds": 3_000}
    GAMClassifier(**settings, callback=told.append).fit(cut(table, 3), "good", client=client)
    rounds = [one for one in told if one.stage == "main effects"]
    assert {one.refit for one in rounds} == {0, 1, 2, 3}
    assert all(one.n_refits == 4 and one.valid_loss > 0 for one in rounds)
    assert told[0].stage == "reading the table"
