"""Threads that fit and predict concurrently: no crash, and results bitwise equal to those of a single thread."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import concurrent_fits as threads

pytestmark = pytest.mark.slow


def test_eight_threads_make_what_one_makes():
    told = threads.run(8, times=12)
    assert told["ended"] == 0, told["errors"]
    assert told["fits"] == 96
    assert told["jobs"] == told["models"] == len(threads.JOBS)  # each job is done, and no two are the same model
    assert told["differ"] == []


def test_a_model_that_differs_is_told(monkeypatch):
    """The comparison finds a job whose result differs each time it is run."""
    made = iter(range(1000))
    monkeypatch.setattr(threads, "JOBS", [("regressor", 0)])
    monkeypatch.setattr(threads, "do", lambda job, data: str(next(made)))
    before = sys.getswitchinterval()
    try:
        told = threads.at_once(2, 3)
    finally:
        sys.setswitchinterval(before)
    assert told["fits"] == 6
    assert told["differ"] == ["regressor, seed 0"]


def test_an_abort_is_told(monkeypatch):
    real = subprocess.run
    code = "import faulthandler, os; faulthandler.enable(); os.abort()"
    monkeypatch.setattr(subprocess, "run", lambda command, **how: real([sys.executable, "-c", code], **how))
    told = threads.run(1, 1)
    assert told["ended"] != 0
    assert "Fatal Python error: Aborted" in told["errors"]
