"""Workspaces under test: small tables, specifications, and waiting for jobs."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pandas as pd

from shapewise.training import runs
from shapewise.training.spec import Spec
from tests.support.fits import friendly


def frame(n=800, binary=True):
    X, y = friendly(n, binary=binary)
    return X.assign(
        who=np.arange(n) // 8, when=pd.date_range("2024-01-01", periods=n, freq="h"), w=1.0,
        y=np.where(y == 1, "yes", "no") if binary else y,
    )  # fmt: skip


def spec_of(table, **changes):
    told = {
        "table": table, "target": "y", "name": "a model", "features": ["a", "b", "c"], "positive": ["yes"],
        "preset": "fast", "changes": {"max_rounds": 20},
    } | changes  # fmt: skip
    return Spec(**told)


def wait(space, identifier, seconds=90):
    for _ in range(int(seconds / 0.1)):
        run = runs.read(space, identifier)
        if not run.goes_on:
            return run
        time.sleep(0.1)
    raise AssertionError("the run did not end")


LONG = {
    "preset": "paper", "changes": {"max_rounds": 10**6, "early_stopping_rounds": 10**6, "learning_rate": 1e-5},
}  # fmt: skip
"""Settings of a fit that would go on for minutes: steps so small that its loss goes on falling."""


def until(condition, seconds=30):
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def fill(disk):
    """Fill a disk to the last byte; return the filler's path."""
    path = disk / "filler"
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    return path
