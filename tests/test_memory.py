"""What the server has freed is the system's again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.serving import ROOT

CODE = """
import os
import numpy as np
import psutil
from pages.shared import memory

memory.settle()
held = psutil.Process().memory_info().rss
for _ in range(3):  # the C library learns from what comes and goes
    np.ones(24 * 2**17)
arrays, small = [], []
for _ in range(64):
    arrays.append(np.ones(2 * 2**17))
    small.append(np.ones(2**9))  # kept, between what is freed
del arrays
print((psutil.Process().memory_info().rss - held) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only the C library of Linux keeps what is freed")
def test_arrays_that_are_dropped_are_given_back_at_once():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 20.0  # of 128
