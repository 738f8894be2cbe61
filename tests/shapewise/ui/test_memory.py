"""What the server has freed is the system's again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import psutil
import pytest

from shapewise.ui.session import state
from tests.support import sessions as protocol
from tests.support.places import ROOT
from tests.support.serving import Server, sound

pytestmark = pytest.mark.slow

ARRAYS = """
for _ in range(3):  # the C library learns from what comes and goes
    np.ones(24 * 2**17)
arrays = []
for _ in range(64):
    arrays.append(np.ones(2 * 2**17))
    kept.append(np.ones(2**9))  # between what is dropped
del arrays
"""

ARROW = """
def rerun():
    many = [pa.array(np.ones(2 * 2**12)[::2]) for _ in range(200)]
    kept.append(many[::10])

threads = [threading.Thread(target=rerun) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
memory.give_back()
"""

AROUND = """
import threading
import numpy as np
import pandas
import psutil
import pyarrow as pa
from shapewise.ui.session import memory

memory.settle(lambda: None)
kept, held = [], psutil.Process().memory_info().rss
{}
print((psutil.Process().memory_info().rss - held) / 2**20)
"""


FIGURES = """
import gc
from shapewise.memory import give_back
from shapewise.ui.session import state

def drawn(key):
    points = np.random.default_rng(key).normal(size=(2, 3000))
    return {"data": [{"x": points[0], "y": points[1].tolist(), "text": [str(one) for one in points[0, :500]]}]}

drawn.__module__ = "figures"  # as a module's, not a script's
figure = state.shared(max_entries=400)(drawn)
figure(300)
held = psutil.Process().memory_info().rss  # with all that is imported
for key in range(300):
    figure(key)
taken = psutil.Process().memory_info().rss - held
assert taken > 30 * 2**20, taken
state.forget_all()
gc.collect()
give_back()
held += taken // 4
"""


def growth(code: str) -> float:
    """MiB that a settled server has more after some code."""
    settled = [sys.executable, "-c", AROUND.format(code)]
    done = subprocess.run(settled, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only the C library of Linux keeps what is freed")
def test_arrays_that_are_dropped_are_given_back_at_once():
    assert growth(ARRAYS) < 20.0  # of 128


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system may keep what is freed")
def test_what_threads_took_by_arrow_is_given_back_but_for_what_they_keep():
    assert growth(ARROW) < 25.0  # of 100, where 10 are kept


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system may keep what is freed")
def test_what_was_computed_is_given_back_when_it_is_forgotten():
    assert growth(FIGURES) < 0.0  # beyond a quarter of what was taken: holes between small objects


def test_an_idle_server_lets_sessions_go_that_left(tmp_path):
    """Each held three descriptors until others left: a server that was used for a day came near to its limit."""
    changes = {"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "1"}
    with sound(Server(tmp_path, changes)) as server:
        address = server.ready()
        process = psutil.Process(server.process.pid)
        asyncio.run(visit(address, 1))
        before = process.num_fds()
        asyncio.run(visit(address, 15))
        left = process.num_fds()
        assert left >= before + 30
        until = time.monotonic() + 90
        while process.num_fds() > before + 6 and time.monotonic() < until:
            time.sleep(1)
        assert process.num_fds() <= before + 6


async def visit(address, sessions):
    """So many sessions come, see a page, and leave."""
    every = [protocol.Session(address) for _ in range(sessions)]
    for session in every:
        await session.open("data")
    for session in every:
        await session.leave()


@pytest.mark.parametrize("keep", [state.kept, state.shared])
def test_nothing_of_a_page_s_script_is_kept(keep):
    """A script is run anew each time: a server that kept its functions kept whatever each run had made."""

    def computed(model):
        return model

    computed.__module__ = "__main__"
    with pytest.raises(RuntimeError, match="define it in a module"):
        keep()(computed)
