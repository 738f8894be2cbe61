"""What is left after a kill, on a full disk, and with a changed byte: the version of before, or the new one, whole."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from benchmarks import faults
from gamcore.workspace import backup, meta
from gamcore.workspace.store import Workspace
from tests.test_workspace import frame, spec_of


def test_kills_at_random_instants_leave_nothing_half():
    assert faults.kill(20, seed=1) == 0


def test_the_look_after_a_kill_sees_what_is_wrong(tmp_path):
    """The benchmark would find each of these: it is not content with everything."""
    template = faults.make_template(tmp_path / "template")
    model = sorted(template.models)[0]

    def spoil(name, harm):
        shutil.copytree(template.now, tmp_path / name)
        space = Workspace(tmp_path / name)
        harm(space)
        found = list(faults.problems(space.root, template, "save"))
        meta.forget(space.root)
        return found

    assert spoil("nothing", lambda space: None) == []
    assert "a model is gone" in spoil("gone", lambda space: space.delete("models", model))
    lost = spoil("half", lambda space: space.table_path(template.table).write_bytes(b"PAR1"))
    assert any("lost or was changed" in problem for problem in lost)


PROGRAM = """
import resource, signal, sys
from pathlib import Path
import pandas as pd
from gamcore.workspace.store import StoreError, Workspace
space = Workspace(Path(sys.argv[1]))
if sys.argv[2] == "limit":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
import numpy as np
try:
    for k in range(100):
        space.add_table(pd.DataFrame({"x": np.random.default_rng(k).normal(size=200_000)}), "large")
except StoreError as error:
    print(error)
"""


def full_disk(root, how):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(root), how], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_is_told_and_changes_nothing(tmp_path):
    """No file may grow over a megabyte, which is how a full disk looks to a write."""
    space = Workspace(tmp_path / "space")
    table = space.add_table(frame(), "before")
    assert "disk of the workspace is full" in full_disk(space.root, "limit")
    assert space.tables() == [table]
    assert list(backup.check(space)) == []
    assert not list(space.root.glob(".*.tmp"))
    space.add_table(frame().assign(a=0.0), "after")


def test_a_small_disk_that_fills_up(tmp_path):
    """A disk of eight megabytes, where this machine lets us make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("a disk of our own cannot be mounted here: it needs the rights of root")
    try:
        space = Workspace(disk / "space")
        table = space.add_table(frame(), "before")
        assert "disk of the workspace is full" in full_disk(space.root, "tmpfs")
        again = Workspace(space.root)
        assert again.table(table.id) == table
        assert list(backup.check(again)) == []
        for one in again.tables():
            assert len(again.read_table(one.id)) == one.rows
        meta.forget(space.root)
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_every_object_with_a_changed_byte_is_found(tmp_path):
    from gamcore.workspace.training import train

    space = Workspace(tmp_path / "space")
    table = space.add_table(frame(), "mine")
    train(space, spec_of(table.id))
    for digest in list(space.objects.digests()):
        path = space.objects.path(digest)
        whole = path.read_bytes()
        path.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        assert len(list(backup.check(space))) == 1
        path.write_bytes(whole)
    assert list(backup.check(space)) == []
