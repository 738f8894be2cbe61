"""The queue of jobs: slots, places, owners, caps, and what a crash leaves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from copy import copy
from dataclasses import asdict, replace

import psutil
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from shapewise.access.permissions import LOCAL, Person
from shapewise.access.quotas import Limits
from shapewise.errors import DeniedError, FullError, StoreError
from shapewise.jobs import process as child
from shapewise.jobs import queue as jobs
from shapewise.jobs import scheduler as keeper
from shapewise.store import people
from shapewise.store.atomic_files import read_json, write_json
from shapewise.store.database import job
from shapewise.store.workspace import Workspace
from shapewise.training import runs
from shapewise.training.cost import Estimate
from tests.support.gears import mostly_slow
from tests.support.places import ROOT
from tests.support.spaces import LONG, frame, spec_of, until, wait

ANN, BOB = Person("a", "Ann", "editor"), Person("b", "Bob", "editor")
ONE = Limits(slots=1, slots_each=1, queue_each=3, threads=1)
AT_ONCE = "tests.support.done"


@pytest.fixture
def waiting(monkeypatch):
    """Jobs that only wait until they are cancelled: the queue does not know what a job does."""
    monkeypatch.setitem(keeper.MODULES, "runs", "tests.support.waiting")


@pytest.fixture
def at_once(monkeypatch):
    """Jobs that are done as soon as they have begun."""
    monkeypatch.setitem(keeper.MODULES, "runs", AT_ONCE)


@pytest.fixture
def team(tmp_path):
    """A workspace with one slot, as Ann and Bob see it, and a specification of Ann's that takes long."""
    space = Workspace(tmp_path / "space", LOCAL, ONE)
    for person in (ANN, BOB):
        people.arrive(space, person.id, person.name)
    ann, bob = space.seen_by(ANN), space.seen_by(BOB)
    table = ann.tables.add(frame(), "hers")
    ann.sharing.share("tables", table.id, "Bob", "view")
    yield ann, bob, spec_of(table.id, **LONG)
    for one in (ann, bob):
        for identifier in jobs.ids(one, "runs", active=True):
            runs.cancel(one, identifier)
            wait(one, identifier)


@pytest.mark.slow
def test_jobs_wait_for_a_slot_in_their_order(team):
    ann, bob, spec = team
    first = runs.start(ann, spec, 1)
    second, third = runs.start(bob, spec, 1), runs.start(ann, replace(spec, changes={"max_rounds": 5}), 1)
    states = [(runs.read(space, run).state, runs.read(space, run).place) for space, run in
              ((ann, first), (bob, second), (ann, third))]  # fmt: skip
    assert states == [("running", 0), ("queued", 1), ("queued", 2)]
    runs.cancel(bob, second)  # it never starts
    assert runs.read(bob, second).state == "cancelled"
    assert not (bob.root / "jobs" / second / "process.json").exists()
    assert runs.read(ann, third).place == 1
    runs.cancel(ann, first)
    assert wait(ann, third).state == "done"
    assert len(ann.models.listed()) == 1
    assert ann.models.listed()[0].id not in {model.id for model in bob.models.listed()}


@pytest.mark.slow
@pytest.mark.usefixtures("waiting")
def test_the_page_tells_what_trains_from_what_waits(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMCORE_WORKSPACE", str(tmp_path / "space"))
    monkeypatch.setenv("GAMCORE_SLOTS", "1")
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "rows")
    begun = [runs.start(space, spec_of(table.id, name=name, **LONG), 1) for name in ("first", "second")]
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    bars = [one.proto.text for one in app.sidebar.get("progress")]
    assert any(text.startswith("Training first: ") and "waiting" not in text for text in bars), bars
    assert "Training second: waiting, next" in bars
    for run in begun[::-1]:
        runs.cancel(space, run)
        wait(space, run)


@pytest.mark.slow
@pytest.mark.usefixtures("waiting")
def test_one_person_does_not_take_all_slots(team):
    ann, bob, spec = team
    keeper._keepers.pop(str(ann.root.resolve()), None)
    two = Limits(slots=2, slots_each=1)
    ann.limits = bob.limits = two
    first, second = runs.start(ann, spec, 1), runs.start(ann, spec, 1)
    third = runs.start(bob, spec, 1)
    assert [runs.read(ann, one).state for one in (first, second)] == ["running", "queued"]
    assert runs.read(bob, third).state == "running"


@pytest.mark.usefixtures("waiting")
def test_nobody_queues_without_end(team):
    ann, bob, spec = team
    for _ in range(3):
        runs.start(ann, spec, 1)
    with pytest.raises(StoreError, match="already have 3 jobs"):
        runs.start(ann, spec, 1)
    runs.start(bob, spec, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("waiting")
def test_nobody_queues_more_at_once_than_one_by_one(team):
    ann, _, spec = team
    few = replace(ann.limits, queue_each=2, slots=1)
    outcomes = []

    def submit():
        mine = copy(ann)
        mine.limits = few
        try:
            outcomes.append(runs.start(mine, spec, 1))
        except StoreError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = [one for one in outcomes if re.fullmatch("[0-9a-f]{16}", one)]
    assert len(accepted) == 2
    assert sorted(path.name for path in (ann.root / "jobs").glob("[0-9a-f]*")) == sorted(accepted)
    for run in accepted:
        runs.cancel(ann, run)


@pytest.mark.usefixtures("waiting")
def test_jobs_are_their_owners_and_administrators(team):
    ann, bob, spec = team
    run = runs.start(ann, spec, 1)
    for way in (runs.read, runs.cancel, runs.again, lambda *of: jobs.log_of(of[0], "runs", of[1])):
        with pytest.raises(StoreError, match="no such training"):
            way(bob, run)
    assert runs.listing(bob) == []
    with pytest.raises(DeniedError):
        list(jobs.everyones(bob))
    everything = ann.seen_by(LOCAL)
    assert [(row[0], row[2], row[4]) for row in jobs.everyones(everything)] == [(run, "a", "running")]
    runs.cancel(everything, run)
    assert wait(ann, run).state == "cancelled"


def test_what_is_too_large_is_refused_before_it_begins(team):
    ann, _, spec = team
    ann.limits = replace(ONE, memory=10**9, seconds=3600)
    with pytest.raises(StoreError, match=r"1\.4 GB of memory, more than the 1\.0 GB"):
        runs.start(ann, spec, 1, cost=Estimate(1.0, 10**9, 0))
    with pytest.raises(StoreError, match=r"2\.0 hours"):
        runs.start(ann, spec, 1, cost=Estimate(7200, 1, 0))
    with pytest.raises(StoreError, match="allowed per job"):
        runs.start(ann, replace(spec, changes={"n_bags": 10**6, "max_rounds": 10**6}), 1)  # by its own estimate
    ann.limits = replace(ONE, bytes=ann.tables.about(spec.table).bytes + 10_000)
    with pytest.raises(StoreError, match="delete what you no longer need"):  # hours later would be too late
        runs.start(ann, spec, 1)
    assert jobs.ids(ann, "runs") == []
    viewer = ann.seen_by(Person("b", "Bob", "viewer"))
    with pytest.raises(DeniedError):
        runs.start(viewer, spec, 1)


@pytest.mark.slow
def test_bands_of_a_model_are_for_those_who_may_change_it(team):
    ann, bob, spec = team
    quick = replace(spec, changes={"max_rounds": 5, "n_bags": 8})
    run = wait(ann, runs.start(ann, quick, 1))
    ann.sharing.share("models", run.model, "Bob", "view")
    with pytest.raises(DeniedError):
        runs.start(bob, replace(quick, bands=2), 1, run.model)


def test_how_work_ended_is_said_once_and_not_where_it_is_gone(tmp_path):
    child.write_end(tmp_path, {"state": "done"})
    child.write_end(tmp_path, child.CANCELLED)
    assert read_json(tmp_path / "end.json") == {"state": "done"}
    child.write_end(tmp_path / "gone", child.CANCELLED)
    assert not (tmp_path / "gone").exists()


@pytest.mark.slow
def test_a_worker_knows_the_limits_that_it_is_held_to(team, monkeypatch):
    """It plans by them: how much of a table larger than memory a refit reads."""
    ann, _, spec = team
    monkeypatch.setenv("GAMCORE_MEMORY", str(10**10))
    monkeypatch.setitem(keeper.MODULES, "runs", "tests.support.telling")
    keeper._keepers.pop(str(ann.root.resolve()), None)
    ann.limits = replace(ONE, memory=7 * 10**9, table_memory=10**8, seconds=77)
    run = runs.start(ann, spec, 1, cost=Estimate(1.0, 1, 0))
    wait(ann, run)
    told = jobs.end_of(ann, "runs", run)
    assert {name: told[name] for name in asdict(ann.limits)} == asdict(ann.limits)


@pytest.mark.slow
def test_a_worker_over_its_memory_is_stopped_in_words(team, monkeypatch):
    ann, _, spec = team
    monkeypatch.setattr(jobs, "OWN", 0)  # the estimate would refuse it before
    keeper._keepers.pop(str(ann.root.resolve()), None)
    ann.limits = replace(ONE, memory=100 * 2**20)  # less than the libraries take
    run = wait(ann, runs.start(ann, spec, 1))
    assert run.state == "failed"
    assert "0.1 GB of memory" in run.message
    assert "fewer rows" in run.message


@pytest.mark.slow
@pytest.mark.usefixtures("waiting")
def test_a_worker_over_its_time_is_stopped_in_words(team):
    ann, _, spec = team
    keeper._keepers.pop(str(ann.root.resolve()), None)
    ann.limits = replace(ONE, seconds=1)
    run = wait(ann, runs.start(ann, spec, 1, cost=Estimate(0.5, 1, 0)))
    assert run.state == "failed"
    assert "hours that a job may take" in run.message


@pytest.mark.slow
@pytest.mark.usefixtures("waiting")
def test_a_worker_uses_the_threads_it_is_given(team):
    ann, _, spec = team
    run = runs.start(ann, spec, 1)
    until(lambda: child.process_of(jobs.folder(ann, "runs", run)) is not None)
    environment = child.process_of(jobs.folder(ann, "runs", run)).environ()
    assert {environment[name] for name in child.POOLS} == {"1"}


def test_an_unexpected_failure_has_a_number_that_the_log_knows(tmp_path):
    write_json(tmp_path / "about.json", {})
    code = (
        "import sys; from pathlib import Path; from shapewise.jobs import process as child\n"
        "sys.exit(child.work_on(Path(sys.argv[1]), lambda: {}['secret'], (ValueError,), 'Training'))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    message = read_json(tmp_path / "end.json")["message"]
    assert done.returncode == 1
    assert "secret" not in message
    assert "Traceback" in done.stderr
    number = message.split("error ")[1].split(",")[0]
    assert f"error {number}" in done.stderr


@pytest.mark.slow
def test_the_next_server_ends_what_was_going_on_and_starts_what_waits(team):
    """The server here is a child that queues two trainings on one slot and dies."""
    ann, _, spec = team
    quick = json.dumps(replace(spec, changes={"max_rounds": 5, "n_bags": 8}).to_dict())
    code = (
        "import json, os, sys, time; from pathlib import Path\n"
        "from shapewise.training import runs; from shapewise.store.workspace import Workspace\n"
        "from shapewise.jobs import process as child, queue as jobs\n"
        "from shapewise.access.quotas import Limits; from shapewise.training.spec import Spec\n"
        "from shapewise.access.permissions import Person\n"
        "space = Workspace(Path(sys.argv[1]), Person('a', 'Ann', 'editor'), Limits(slots=1))\n"
        "first = runs.start(space, Spec.from_dict(json.loads(sys.argv[2])), 1)\n"
        "second = runs.start(space, Spec.from_dict(json.loads(sys.argv[3])), 1)\n"
        "while not len(runs.read(space, first).standing.points): time.sleep(0.05)\n"
        "worker = child.process_of(jobs.folder(space, 'runs', first))\n"
        "worker.kill(); print(first, second, flush=True); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(ann.root), json.dumps(spec.to_dict()), quick],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == -9
    first, second = done.stdout.split()
    keeper._keepers.pop(str(ann.root.resolve()), None)
    keeper.keeper(ann).wake()
    until(lambda: runs.read(ann, first).state == "interrupted")  # a killed process takes a moment to end
    assert wait(ann, second).state == "done"

    def ended():
        with ann.meta.reading() as connection:
            return set(connection.execute(sa.select(job.c.state)).scalars()) == {"ended"}

    until(ended)
    again = runs.again(ann, first)
    assert runs.read(ann, again).spec == spec


SERVER = """
import subprocess, sys, time
from pathlib import Path
import sqlalchemy as sa
from shapewise.jobs import process as child
from shapewise.jobs import scheduler as keeper
from shapewise.access.quotas import Limits
from shapewise.store.database import job
from shapewise.store.workspace import Workspace

space = Workspace(Path(sys.argv[1]), limits=Limits(slots=2))

def begin(folder, module, limits):  # work that is not done, but takes a moment
    with space.meta.reading() as connection:
        going = connection.execute(sa.select(sa.func.count()).where(job.c.state == "running")).scalar_one()
    print(folder.name, going, flush=True)
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"])

child.begin = begin
print("ready", flush=True)
sys.stdin.readline()
own = keeper.keeper(space)
own.wake()
while own._thread is not None:
    time.sleep(0.05)
"""


class Later:
    """The keeper of a process that queues jobs for others to start."""

    def wake(self):
        pass


@pytest.fixture
def left(team, monkeypatch):
    """A run that another process queued."""
    ann, _, spec = team
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(jobs, "keeper", lambda _space: Later())
        return ann, runs.start(ann, spec, 1)


def test_who_only_reads_jobs_starts_none(left):
    """Else a script that waits for a job would start it with its own settings, not the server's."""
    ann, run = left
    assert [runs.read(ann, run).state, *(other.state for other in runs.listing(ann))] == ["queued", "queued"]
    assert str(ann.root.resolve()) not in keeper._keepers
    runs.cancel(ann, run)
    assert runs.read(ann, run).state == "cancelled"


@pytest.mark.usefixtures("waiting")
def test_a_server_starts_what_another_one_left_when_somebody_asks_for_it(left):
    ann, run = left
    keeper.keeper(ann)
    runs.read(ann, run)
    assert runs.read(ann, run).state == "running"
    runs.cancel(ann, run)
    assert wait(ann, run).state == "cancelled"


@pytest.mark.slow
def test_two_servers_share_a_workspace_s_slots_and_start_each_job_once(team, monkeypatch):
    ann, _, spec = team
    ann.limits = replace(ONE, queue_each=0)
    monkeypatch.setattr(jobs, "keeper", lambda _space: Later())
    queued = {runs.start(ann, spec, 1) for _ in range(8)}
    command = [sys.executable, "-c", SERVER, str(ann.root)]
    servers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)
    ]
    for server in servers:
        assert server.stdout.readline() == "ready\n"
    for server in servers:  # from here on at the same time
        server.stdin.write("\n")
        server.stdin.flush()
    told = [line.split() for server in servers for line in server.communicate(timeout=60)[0].splitlines()]
    assert sorted(identifier for identifier, _ in told) == sorted(queued)
    assert max(int(going) for _, going in told) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_keeper_has_no_thread_when_there_is_nothing_to_keep(team):
    ann, _, spec = team
    run = wait(ann, runs.start(ann, replace(spec, changes={"max_rounds": 5, "n_bags": 8}), 1))
    assert run.state == "done"
    own = keeper.keeper(ann)
    until(lambda: own._thread is None)
    assert runs.read(ann, run.id).state == "done"


def test_a_job_that_cannot_be_started_says_so(team, monkeypatch):
    ann, _, spec = team

    def refuse(*_of):
        raise OSError("no more processes")

    monkeypatch.setattr(keeper.child, "begin", refuse)
    run = wait(ann, runs.start(ann, spec, 1))
    assert run.state == "failed"
    assert "no more processes" in run.message


@pytest.mark.parametrize(
    "error", mostly_slow([FullError("The disk is full"), OSError("no room"), psutil.NoSuchProcess(1)], 1)
)
@pytest.mark.parametrize("also_its_end", mostly_slow([False, True], 1))
@pytest.mark.usefixtures("waiting")
def test_a_job_that_could_not_be_started_is_not_running(team, monkeypatch, error, also_its_end):
    """Its worker is ended, its slot is free, and it can neither end well nor make anything later."""
    ann, _, spec = team
    begun = []

    def fail(path, content):
        if path.name == "process.json":
            begun.append(int(content["name"].partition("x")[0]))
            raise error
        write_json(path, content)

    def fail_to_end(folder, end):
        raise FullError("The disk is full")

    monkeypatch.setattr(child, "write_json", fail)
    if also_its_end:
        monkeypatch.setattr(child.processes, "write_end", fail_to_end)
    quick = replace(spec, changes={"max_rounds": 5}, preset="fast")
    run = runs.start(ann, quick, 1)
    until(lambda: begun)
    assert not psutil.pid_exists(begun[0])
    until(lambda: not jobs.ids(ann, "runs", active=True))
    monkeypatch.undo()
    monkeypatch.setitem(keeper.MODULES, "runs", AT_ONCE)
    if not also_its_end:
        assert runs.read(ann, run).state == "failed"
    assert ann.models.listed() == []
    assert wait(ann, runs.start(ann, quick, 1)).state == "done"  # the slot is free
