"""What is left after a kill, on a full disk, and with a changed byte: the version of before, or the new one, whole."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from shapewise.errors import FULL, StoreError
from shapewise.ingest import supervisor as loader
from shapewise.ingest.common import ReaderError
from shapewise.store import backup
from shapewise.store.cleanup import sweep
from shapewise.store.database import forget
from shapewise.store.workspace import Workspace
from shapewise.training import runs
from shapewise.ui.session import errors
from tests.support import kills, lost_records
from tests.support.spaces import LONG, fill, frame, spec_of, until, wait

pytestmark = pytest.mark.slow


def test_kills_at_random_instants_leave_nothing_half():
    assert kills.kill(10, seed=1) == 0


def test_records_lost_in_any_way_lose_nothing():
    assert lost_records.lose(2, seed=1) == 0


def test_the_look_after_a_kill_sees_what_is_wrong(tmp_path):
    """The benchmark would find each of these: it is not content with everything."""
    template = kills.make_template(tmp_path / "template")
    model = sorted(template.models)[0]

    def spoil(name, harm):
        shutil.copytree(template.now, tmp_path / name)
        space = Workspace(tmp_path / name)
        harm(space)
        found = list(kills.problems(space.root, template, "save"))
        forget(space.root)
        return found

    assert spoil("nothing", lambda space: None) == []
    assert "a model is gone" in spoil("gone", lambda space: space.delete("models", model))
    lost = spoil("half", lambda space: space.tables.path(template.table).write_bytes(b"PAR1"))
    assert any("missing or was changed" in problem for problem in lost)


PROGRAM = """
import resource, signal, sys
from pathlib import Path
import pandas as pd
from shapewise.store.database import forget
from shapewise.store.workspace import StoreError, Workspace
space = Workspace(Path(sys.argv[1]))
if sys.argv[2] == "limit":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
import numpy as np
try:
    for k in range(100):
        space.tables.add(pd.DataFrame({"x": np.random.default_rng(k).normal(size=200_000)}), "large")
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
    table = space.tables.add(frame(), "before")
    assert "disk of the workspace is full" in full_disk(space.root, "limit")
    assert space.tables.listed() == [table]
    assert list(backup.check(space)) == []
    assert not list(space.root.glob(".*.tmp"))
    space.tables.add(frame().assign(a=0.0), "after")


def test_a_small_disk_that_fills_up(small_disk):
    space = Workspace(small_disk / "space")
    table = space.tables.add(frame(), "before")
    assert "disk of the workspace is full" in full_disk(space.root, "tmpfs")
    again = Workspace(space.root)
    assert again.tables.about(table.id) == table
    assert list(backup.check(again)) == []
    for one in again.tables.listed():
        assert len(again.tables.read(one.id)) == one.rows


def test_a_job_on_a_full_disk_says_so(small_disk):
    space = Workspace(small_disk / "space")
    table = space.tables.add(frame(), "before")
    run = runs.start(space, spec_of(table.id, **LONG), 1)
    until(lambda: (space.root / "jobs" / run / "progress.jsonl").is_file())
    filler = fill(small_disk)
    found = wait(space, run)
    assert (found.state, found.message) == ("failed", FULL)
    filler.unlink()
    again = wait(space, runs.start(space, spec_of(table.id, changes={"max_rounds": 5}, bands=0), 1))
    assert (again.state, again.message) == ("done", "")
    assert list(backup.check(space)) == []


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder", "large csv"])
def test_a_file_is_not_blamed_for_a_full_disk(kind, small_disk, tmp_path):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(150_000, 8))).rename(columns="x{}".format)
    path = tmp_path / f"rows.{kind[-7:].rpartition(' ')[2]}"
    if kind == "folder":
        path.mkdir()
        rows.to_parquet(path / "part.parquet", index=False)
    else:
        rows.to_csv(path, index=False) if "csv" in kind else rows.to_parquet(path, index=False)
    limits = loader.ReadLimits(memory=300 * 2**20, table=2**22) if kind == "large csv" else loader.ReadLimits()
    with pytest.raises(ReaderError, match="disk of the workspace is full"):
        loader.load(path, path.name, small_disk / "into", limits)
    assert list(small_disk.rglob("*")) == []
    with pytest.raises(ReaderError, match="1 MB that you may still keep"):
        loader.load(path, path.name, small_disk / "into", replace(limits, disk=10**6))
    assert list(small_disk.rglob("*")) == []


def test_every_object_with_a_changed_byte_is_found(tmp_path):
    from shapewise.training.train import train

    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    train(space, spec_of(table.id))
    for digest in list(space.objects.digests()):
        path = space.objects.path(digest)
        whole = path.read_bytes()
        path.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        assert len(list(backup.check(space))) == 1
        path.write_bytes(whole)
    assert list(backup.check(space)) == []


def test_a_changed_bit_of_a_table_is_not_read_as_other_numbers(tmp_path):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    path = space.tables.path(table.id)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(whole), 60):
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(StoreError, match="changed or damaged"):
            space.tables.read(table.id)
    path.write_bytes(whole)
    assert space.tables.read(table.id).shape == frame().shape


def test_changes_are_refused_once_the_folder_is_gone(tmp_path):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    space.root.rename(tmp_path / "moved")
    for act in (
        lambda: space.tables.change_roles(table.id, {"w": "weight"}),
        space.tables.listed,
        lambda: space.note("look"),
    ):
        with pytest.raises(StoreError, match="removed or replaced"):
            act()
    shutil.copytree(tmp_path / "moved", space.root)  # another folder of the same name is not the one that is open
    with pytest.raises(StoreError, match="removed or replaced"):
        space.tables.change_roles(table.id, {"w": "weight"})
    shutil.rmtree(space.root)
    (tmp_path / "moved").rename(space.root)
    space.tables.change_roles(table.id, {"w": "weight"})
    assert Workspace(space.root).tables.about(table.id).roles == {"w": "weight"}


def test_a_read_only_workspace_says_so(small_disk):
    space = Workspace(small_disk / "space")
    table = space.tables.add(frame(), "mine")
    forget(space.root)
    remount(small_disk, "ro")
    try:
        with pytest.raises(StoreError, match="cannot be written to"):
            Workspace(small_disk / "space")
        for act in (
            lambda: space.tables.change_roles(table.id, {"w": "weight"}),
            lambda: space.delete("tables", table.id),
        ):
            with pytest.raises(StoreError):
                act()
    finally:
        remount(small_disk, "rw")
    assert Workspace(small_disk / "space").tables.listed() == [table]


@pytest.mark.parametrize(("number", "words"), [
    (errno.ENOSPC, "disk of the workspace is full"), (errno.EDQUOT, "disk of the workspace is full"),
    (errno.EROFS, "cannot be written to"),
])  # fmt: skip
def test_a_full_disk_is_told_in_words_wherever_it_is_met(number, words, monkeypatch):
    """Also where nobody expected it: no page asks for a look at the log because of a disk."""
    shown = []
    monkeypatch.setattr(errors.st, "error", lambda text, **_: shown.append(text))
    assert errors.tell(OSError(number, "as the system calls it"))
    assert words in shown[0]
    assert errors.tell(OSError(errno.EIO, "a disk that fails"))
    assert "Something went wrong (error" in shown[1]


def remount(disk, how):
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def test_a_workspace_that_is_a_file_says_so(tmp_path):
    (tmp_path / "file").write_text("x")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="points to a file"):
            Workspace(root)


def test_room_can_be_made_on_a_full_disk(small_disk):
    space = Workspace(small_disk / "space")
    big = space.tables.add(pd.DataFrame({"x": np.random.default_rng(0).normal(size=200_000)}), "big")
    kept = space.tables.add(frame(), "kept")
    sweep(space)
    fill(small_disk)
    with pytest.raises(StoreError, match="full"):
        space.tables.add(pd.DataFrame({"x": np.random.default_rng(1).normal(size=200_000)}), "more")
    space.delete("tables", big.id)
    sweep(space, timedelta(0), at_once=True)
    assert space.tables.listed() == [kept]
    assert shutil.disk_usage(small_disk).free > big.bytes - 2**18  # the records took some
    space.tables.add(pd.DataFrame({"x": np.random.default_rng(1).normal(size=100_000)}), "more")
