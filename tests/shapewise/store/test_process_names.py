"""Names of processes: a process that lives is not taken for one that has ended, whatever the clock does."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from shapewise.store import process_names
from shapewise.store.process_names import is_alive, own_name, process_name, process_named


@pytest.mark.skipif(not psutil.LINUX, reason="Only Linux counts the start of a process from its own.")
@pytest.mark.parametrize("seconds", [-86_400, -1, 1, 3_600])
def test_a_process_keeps_its_name_when_the_clock_is_set(monkeypatch, seconds):
    """A laptop that wakes, or a machine whose time is corrected: what a living process writes is not left behind."""
    name = own_name()
    booted = psutil.boot_time()
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: booted + seconds)
    assert psutil.boot_time() == booted + seconds
    assert process_name(os.getpid()) == name
    assert is_alive(name)
    assert process_named(name) == psutil.Process()


def test_a_process_has_a_name_where_the_system_tells_none_of_its_start(monkeypatch, tmp_path):
    monkeypatch.setattr(process_names, "BOOT_ID", tmp_path / "boot_id")
    process_names._boot.cache_clear()
    try:
        assert is_alive(process_name(os.getpid()))
    finally:
        process_names._boot.cache_clear()


def test_a_process_that_has_ended_has_no_name_and_lends_none():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        name = process_name(child.pid)
        assert is_alive(name)
        child.communicate(b"\n")
    assert not is_alive(name)
    with pytest.raises(psutil.NoSuchProcess):
        process_name(child.pid)


def test_the_number_of_a_process_alone_is_not_its_name():
    number, _, rest = own_name().partition("x")
    assert number == str(os.getpid())
    for other in (number, f"{number}x", f"{number}x0", f"1x{rest}", f"x{rest}", "", "nobody"):
        assert not is_alive(other)
