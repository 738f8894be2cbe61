"""The gears of the suite, and workspaces that several tests of pages begin with.

`pytest` runs what a change is likely to break; tests marked `slow`, and all but every n-th case of those marked
`one_in(n)`, are left out, unless their file is named. `pytest --all` runs everything, `pytest --rest` what `pytest`
leaves out.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from streamlit import config
from streamlit.components.v2 import manifest_scanner

from shapewise.store.database import forget
from shapewise.store.workspace import Workspace
from shapewise.ui.session import deployment
from shapewise.ui.train import refits
from tests.support import prepared
from tests.support.prepared import Made
from tests.support.serving import browser_path, browsing

LONGEST = (
    "test_main_flows.py", "test_prepared_project.py", "test_team.py", "test_project_in_view.py", "test_mutants.py",
    "test_reports.py", "test_lost_workers.py", "test_jobs.py", "test_on_cluster.py", "test_widths.py",
    "test_load.py", "test_distribution.py", "test_conformance.py", "test_asking.py", "test_from_a_database.py",
)  # fmt: skip
"""Files that take over a minute, and long ones that would come last: they begin first, the longest of all, so that no
process waits at the end."""

# A test that is slow on a busy machine has not failed: nothing here is judged by the clock.
patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=30, **patient)
settings.register_profile("ci", max_examples=200, derandomize=True, **patient)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "dev")

# AppTest looks for components in every installed package, for each page anew: half of the time of a test of a page.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser):
    gears = parser.getgroup("gears")
    gears.addoption("--all", action="store_true", help="run every test, also those marked slow")
    gears.addoption("--rest", action="store_true", help="run only the tests marked slow")


def pytest_configure(config):
    config.stash[LEFT_OUT] = 0


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays: to look for garbage among that, now or in each test, finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    _thin_out(items)
    asked = {Path(str(name).partition("::")[0]).resolve() for name in config.invocation_params.args}
    kept, left = [], []
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        wanted = slow if config.option.rest else not slow or item.path in asked
        (kept if wanted or config.option.all else left).append(item)
    config.stash[LEFT_OUT] = len(left)
    config.hook.pytest_deselected(items=left)
    items[:] = _in_turn(kept)


def _thin_out(items):
    """Mark slow what `one_in(n)` leaves to the landing: of a test's cases that are not slow, all but every n-th."""
    seen = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None and item.get_closest_marker("slow") is None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[test] += 1


def _in_turn(items):
    """Tests in the order in which they begin: the longest files, then a file of the library and one of another room in
    turn. Two processes that go through the library side by side would both compile what the other compiles."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    place = {name: k for k, name in enumerate(LONGEST)}
    first = sorted((path for path in files if path.name in place), key=lambda path: place[path.name])
    library = [path for path in files if path not in first and "gamcore" in path.parts[:-1]]
    others = [path for path in files if path not in first and path not in library]
    turns = chain.from_iterable(zip_longest(library, others))
    return [item for path in (*first, *filter(None, turns)) for item in files[path]]


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take over the count of a process of pytest-xdist: every one of them has collected all tests."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_terminal_summary(terminalreporter, config):
    count = config.stash[LEFT_OUT]
    if count and not config.option.rest:
        terminalreporter.write_line(
            f"{count:,} slow tests were left out: pytest --rest runs these, pytest --all everything."
        )


@pytest.fixture(autouse=True)
def own_main():
    """Streamlit's tests leave a page's script as `__main__`, which a process that a later test spawns would run."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture
def space(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMCORE_WORKSPACE", str(tmp_path / "space"))
    monkeypatch.setenv("GAMCORE_WARM_UP", "0")  # a page would leave out what waits for a compilation
    monkeypatch.setattr(deployment, "stop_server", lambda: None)  # it would end the process of all tests
    monkeypatch.setattr(refits, "PATIENCE", 60.0)  # AppTest runs no fragment that would look again
    refits.all_refits.clear()
    # AppTest keeps the page's own callables in the session; the browser tests run with this check on.
    option = "runner.enforceSerializableSessionState"
    before = config.get_option(option)
    config.set_option(option, False)
    yield Workspace(tmp_path / "space")
    config.set_option(option, before)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Workspaces that are made once per session, by their name: each test has a copy."""
    return Made(tmp_path_factory.mktemp("made"))


@pytest.fixture
def full(space, made):
    return space, *made.copy(space, prepared.full)


@pytest.fixture
def paired(space, made):
    return space, *made.copy(space, prepared.paired)


@pytest.fixture
def three_way(space, made):
    return space, *made.copy(space, prepared.three_way)


@pytest.fixture
def tasked(space, made):
    return space, *made.copy(space, prepared.tasked)


@pytest.fixture
def sure(space, made):
    return space, *made.copy(space, prepared.sure)


@pytest.fixture
def moved(space, made):
    return space, *made.copy(space, prepared.moved)


@pytest.fixture
def acted(space, made):
    return space, *made.copy(space, prepared.acted)


@pytest.fixture
def large(space, made, monkeypatch):
    monkeypatch.setattr("shapewise.store.batches.MOST_ROWS", 300)
    return space, *made.copy(space, prepared.large)


@pytest.fixture(scope="module")
def client():
    """A client of a cluster of two workers, for the tests of a file."""
    from tests.support.pieces import cluster

    with cluster() as made:
        yield made.client


@pytest.fixture
def lake(client, space, tmp_path, monkeypatch):
    """A folder of datasets that the app may load, by the workers of a cluster."""
    monkeypatch.setenv("SHAPEWISE_CLUSTER", client.scheduler.address)
    monkeypatch.setenv("SHAPEWISE_DATASETS", str(tmp_path / "lake"))
    (tmp_path / "lake").mkdir()
    return tmp_path / "lake"


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
