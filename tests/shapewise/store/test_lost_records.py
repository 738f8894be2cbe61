"""Records that are lost, empty, older, cut off or another deployment's: whatever opens next, no file of the workspace
goes, one sentence says what to bring back, and once the records are back all is as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from shapewise.__main__ import main
from shapewise.errors import StoreError
from shapewise.store import backup
from shapewise.store import database as meta
from shapewise.store.cleanup import TRASH_DAYS, sweep
from shapewise.store.object_store import Folder
from shapewise.store.workspace import Workspace
from tests.support.spaces import frame

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys
from pathlib import Path
from shapewise.store.workspace import Workspace
from tests.support.spaces import frame
space = Workspace(Path(sys.argv[1]))
for k in range(3):
    space.tables.add(frame().assign(a=float(k)), f"table {k}")
os._exit(9)  # as if killed: what was not yet written back to the main file is in the write-ahead log
"""


@pytest.fixture(scope="module", params=["folder", "url"])
def victim(request, tmp_path_factory):
    """The folder of a workspace of three tables whose server was killed, its files in its folder or behind a URL."""
    place = tmp_path_factory.mktemp(request.param)
    changes = {}
    if request.param == "url":
        pytest.importorskip("fsspec", reason="fsspec is not installed: objects behind a URL are not tried")
        changes["GAMCORE_OBJECTS_URL"] = f"file://{place / 'store'}"
    command = [sys.executable, "-c", PROGRAM, str(place / "space")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | changes, check=False)
    assert done.returncode == 9, done.stderr
    return place


@pytest.fixture
def killed(victim, tmp_path, monkeypatch):
    """A copy of that workspace: nothing in it knows its place."""
    shutil.copytree(victim, tmp_path, dirs_exist_ok=True)
    if (tmp_path / "store").is_dir():
        monkeypatch.setenv("GAMCORE_OBJECTS_URL", f"file://{tmp_path / 'store'}")
    return tmp_path / "space"


def objects_of(root):
    """Names of all files under their hash, wherever they are kept: trash and copies apart."""
    place = root / "objects" if (root / "objects").is_dir() else root.parent / "store"
    return sorted(path.name for path in place.glob("??/*"))


def whole(root):
    space = Workspace(root)
    tables = space.tables.listed()
    assert sorted(table.name for table in tables) == ["table 0", "table 1", "table 2"]
    assert all(len(space.tables.read(table.id)) == len(frame()) for table in tables)
    assert list(backup.check(space)) == []
    meta.forget(root)


def records_aside(root):
    """Move the records away, so that they can be brought back."""
    aside = root.parent / "aside"
    aside.mkdir()
    for path in root.glob(f"{meta.FILE}*"):
        path.rename(aside / path.name)
    return aside


def bring_back(aside, root):
    meta.forget(root)
    for path in root.glob(f"{meta.FILE}*"):
        path.unlink()
    for path in aside.iterdir():
        shutil.copy(path, root / path.name)


def refused(root, words, capsys):
    """The next start and the look at the workspace: refused in one sentence, with nothing taken."""
    before = objects_of(root)
    assert len(before) >= 3
    with pytest.raises(StoreError, match=words) as caught:
        sweep(Workspace(root))
    assert "\n" not in str(caught.value)
    capsys.readouterr()
    assert main(["--workspace", str(root), "check"]) == 1
    out, errors = capsys.readouterr()
    assert "Everything" not in out
    assert str(caught.value) in errors
    assert objects_of(root) == before


@pytest.mark.parametrize("what", ["all", "not the log", "emptied", "emptied, not the log"])
def test_missing_or_empty_records(killed, what, capsys):
    aside = records_aside(killed)
    log = f"{meta.FILE}-wal"
    assert (aside / log).stat().st_size
    if "log" in what:
        shutil.copy(aside / log, killed / log)
    if "emptied" in what:
        (killed / meta.FILE).touch()
    refused(killed, "records", capsys)
    if "log" in what:
        assert (killed / log).read_bytes() == (aside / log).read_bytes()
    bring_back(aside, killed)
    whole(killed)


def test_a_copy_without_the_write_ahead_log(killed, capsys):
    """`cp -r` of a workspace whose server lives or was killed, but for the log: the records speak of no table."""
    aside = records_aside(killed)
    shutil.copy(aside / meta.FILE, killed / meta.FILE)
    refused(killed, "older than its files", capsys)
    bring_back(aside, killed)
    whole(killed)


def nothing_is_swept(root, capsys):
    """Records that know less than there is: they open, and neither a start nor a look takes what they do not know."""
    before = objects_of(root)
    swept = sweep(Workspace(root))
    assert swept.objects == 0
    assert "restore newer records" in swept.stopped
    assert main(["--workspace", str(root), "check"]) == 1
    out = capsys.readouterr().out
    assert "no record refers to it" in out
    assert "Everything" not in out
    assert objects_of(root) == before


def test_another_database_that_is_empty(killed, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GAMCORE_META_URL", f"sqlite:///{tmp_path / 'typo.sqlite'}")
    refused(killed, "records", capsys)
    assert not (tmp_path / "typo.sqlite").exists()
    monkeypatch.delenv("GAMCORE_META_URL")
    whole(killed)


def test_another_deployments_records(killed, monkeypatch, tmp_path, capsys):
    url = os.environ.get("GAMCORE_OBJECTS_URL")
    monkeypatch.delenv("GAMCORE_OBJECTS_URL", raising=False)
    other = Workspace(tmp_path / "other")
    other.tables.add(frame(), "theirs")
    if url:
        monkeypatch.setenv("GAMCORE_OBJECTS_URL", url)
    monkeypatch.setenv("GAMCORE_META_URL", meta.url_of(other.root))
    refused(killed, "different workspaces", capsys)
    monkeypatch.delenv("GAMCORE_META_URL")
    whole(killed)


def test_two_deployments_on_one_store(tmp_path, monkeypatch):
    pytest.importorskip("fsspec", reason="fsspec is not installed: objects behind a URL are not tried")
    monkeypatch.setenv("GAMCORE_OBJECTS_URL", f"file://{tmp_path / 'store'}")
    first = Workspace(tmp_path / "first")
    table = first.tables.add(frame(), "hers")
    with pytest.raises(StoreError, match="records"):
        Workspace(tmp_path / "second")
    assert not (tmp_path / "second" / meta.FILE).exists()
    assert len(first.tables.read(table.id)) == len(frame())


def test_a_store_that_is_another_place(killed, monkeypatch, tmp_path):
    """A typo in the address of the files: the records know of files, and there are none."""
    pytest.importorskip("fsspec", reason="fsspec is not installed: objects behind a URL are not tried")
    monkeypatch.setenv("GAMCORE_OBJECTS_URL", f"file://{tmp_path / 'typo'}")
    with pytest.raises(StoreError, match="files"):
        Workspace(killed)


def test_an_older_copy_of_the_records(killed, capsys):
    """A copy of Monday's records, and tables of Tuesday: they are kept, whatever their age."""
    space = Workspace(killed)
    older = killed.parent / "older.sqlite"
    sqlite3.connect(killed / meta.FILE).execute("VACUUM INTO ?", (str(older),))
    for k in range(5):
        space.tables.add(frame().assign(b=float(k)), f"later {k}")
    meta.forget(killed)
    aside = records_aside(killed)
    shutil.copy(older, killed / meta.FILE)
    refused(killed, "older than its files", capsys)
    assert main(["--workspace", str(killed), "adopt"]) == 1  # for those who have no newer records
    nothing_is_swept(killed, capsys)  # younger than a day
    age_all(killed, 3)
    nothing_is_swept(killed, capsys)  # more than half
    bring_back(aside, killed)
    refused(killed, "different workspaces", capsys)
    main(["--workspace", str(killed), "adopt"])
    assert len(Workspace(killed).tables.listed()) == 8


def age_all(root, days):
    """Make files look as if they had been stored so many days ago."""
    place = root / "objects" if (root / "objects").is_dir() else root.parent / "store"
    when = time.time() - days * 86_400
    for path in place.glob("??/*"):
        os.utime(path, (when, when))


def test_what_a_sweep_takes_is_in_the_trash_for_a_week(killed):
    space = Workspace(killed)
    older = killed.parent / "older.sqlite"
    sqlite3.connect(killed / meta.FILE).execute("VACUUM INTO ?", (str(older),))
    table = space.tables.add(frame().assign(b=1.0), "later")
    meta.forget(killed)
    aside = records_aside(killed)
    shutil.copy(older, killed / meta.FILE)
    age_all(killed, 3)
    behind = sweep(Workspace(killed))  # a crash, or a copy of just before the last file: nobody knows
    assert (behind.objects, "last change" in behind.stopped) == (0, True)
    main(["--workspace", str(killed), "adopt"])
    assert sweep(Workspace(killed)).objects == 1  # one of four, and older than a day
    assert len(objects_of(killed)) == 3
    sweep(Workspace(killed))
    bring_back(aside, killed)
    main(["--workspace", str(killed), "adopt"])
    again = Workspace(killed)
    assert len(again.tables.read(table.id)) == len(frame())  # out of the trash
    assert list(backup.check(again)) == []
    again.delete("tables", table.id)
    age_all(killed, 3)
    sweep(again, timedelta(0))
    assert len(objects_of(killed)) == 3
    assert again.objects.empty_trash(datetime.now(UTC) - timedelta(days=TRASH_DAYS)) == 0
    assert again.objects.empty_trash(datetime.now(UTC) + timedelta(minutes=1)) == 1


@pytest.mark.parametrize("garbage", [b"\xff" * 50_000, bytes(50_000)])
def test_a_write_ahead_log_of_garbage(killed, garbage, capsys):
    aside = records_aside(killed)
    shutil.copy(aside / meta.FILE, killed / meta.FILE)
    (killed / f"{meta.FILE}-wal").write_bytes(garbage)
    refused(killed, "older than its files", capsys)
    bring_back(aside, killed)
    whole(killed)


def test_the_records_are_never_a_file_without_tables(tmp_path):
    """Not even where the write-ahead log is lost right after the first start."""
    Workspace(tmp_path / "space")
    shutil.copy(tmp_path / "space" / meta.FILE, tmp_path / "copy.sqlite")
    copy = sqlite3.connect(tmp_path / "copy.sqlite")
    assert copy.execute("SELECT count(*) FROM workspace").fetchone() == (1,)
    copy.close()


def test_a_backup_while_a_server_writes_is_whole(tmp_path):
    space = Workspace(tmp_path / "space")
    stop = threading.Event()

    def write():
        k = 0
        while not stop.is_set():
            made = space.tables.add(frame().assign(a=float(k)), f"table {k}")
            if k % 3 == 0:
                space.delete("tables", made.id)
            k += 1

    space.tables.add(frame(), "first")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for k in range(5):
            assert main(["--workspace", str(space.root), "backup", str(tmp_path / f"copy {k}")]) == 0
    finally:
        stop.set()
        writer.join()
    for k in range(5):
        assert main(["--workspace", str(tmp_path / f"back {k}"), "restore", str(tmp_path / f"copy {k}")]) == 0
        back = Workspace(tmp_path / f"back {k}")
        assert len(back.tables.listed()) == len(list(back.ids("tables"))) > 0
        assert sweep(back).stopped == ""


def test_a_look_at_nothing_makes_nothing(tmp_path, capsys):
    assert main(["--workspace", str(tmp_path / "typo"), "check"]) == 1
    assert "no workspace" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()


def test_a_look_takes_nothing(tmp_path, capsys):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    lost = space.root / "objects" / "aa" / ("aa" * 32)
    lost.parent.mkdir(exist_ok=True)
    lost.write_bytes(b"nobody's")
    os.utime(lost, (0, 0))
    half = space.root / f".new.{2**22 + 1}x1-{'0' * 8}.tmp"
    half.write_bytes(b"half")
    space.delete("tables", table.id)
    main(["--workspace", str(space.root), "check"])
    assert lost.exists()
    assert half.exists()


def test_people_who_delete_most_of_what_they_have_get_the_room_back(tmp_path):
    """What was deleted, or replaced, is no sign of lost records, however much it is."""
    space = Workspace(tmp_path / "space")
    tables = [space.tables.add(frame().assign(a=float(k)), f"table {k}") for k in range(4)]
    for table in tables[:3]:
        space.delete("tables", table.id)
    swept = sweep(space, timedelta(0))
    assert (swept.purged, swept.objects, swept.stopped) == (3, 3, "")
    assert len(space.tables.read(tables[3].id)) == len(frame())


def test_what_was_deleted_can_go_at_once(tmp_path, capsys):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    size = space.tables.path(table.id).stat().st_size
    space.delete("tables", table.id)
    assert main(["--workspace", str(space.root), "sweep"]) == 0
    assert main(["--workspace", str(space.root), "sweep", "--now"]) == 0
    assert sum(path.stat().st_size for path in (space.root / "objects").rglob("*")) < size
    assert "purged things: 1" in capsys.readouterr().out


def test_a_sweep_that_stopped_can_be_told_to_go_on(tmp_path, capsys):
    space = Workspace(tmp_path / "space")
    space.tables.add(frame(), "mine")
    lost = space.root / "objects" / "aa" / ("aa" * 32)
    lost.parent.mkdir(exist_ok=True)
    lost.write_bytes(b"nobody's")
    assert main(["--workspace", str(space.root), "sweep"]) == 1
    assert "--anyway" in capsys.readouterr().err
    assert main(["--workspace", str(space.root), "sweep", "--anyway"]) == 0
    assert not lost.exists()
    assert isinstance(space.objects, Folder)
    assert space.objects.has("aa" * 32)  # out of the trash


def test_a_copy_of_the_records_that_goes_its_own_way_is_noticed(tmp_path, monkeypatch):
    """A staging server that began with a copy of the records, on the same files: what either stores, the other sees."""
    pytest.importorskip("fsspec", reason="fsspec is not installed: objects behind a URL are not tried")
    monkeypatch.setenv("GAMCORE_OBJECTS_URL", f"file://{tmp_path / 'store'}")
    first = Workspace(tmp_path / "first")
    tables = [first.tables.add(frame().assign(a=float(k)), f"table {k}") for k in range(4)]
    meta.forget(first.root)
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    copy = Workspace(tmp_path / "copy")
    for table in tables[:3]:
        copy.delete("tables", table.id)
    age_all(first.root, 3)
    assert sweep(copy, timedelta(0)).objects == 3
    copy.tables.add(frame().assign(a=9.0), "of the copy")
    with pytest.raises(StoreError, match="another deployment"):
        first.tables.add(frame().assign(a=8.0), "of the first")
    with pytest.raises(StoreError, match="another deployment"):
        Workspace(tmp_path / "first")
    shutil.rmtree(tmp_path / "first" / "cache")
    assert all(len(first.tables.read(table.id)) == len(frame()) for table in tables)  # out of the trash


def test_files_whose_label_is_lost_get_it_again(tmp_path):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    (space.root / "objects" / "workspace").unlink()
    assert len(Workspace(space.root).tables.read(table.id)) == len(frame())
    assert (space.root / "objects" / "workspace").is_file()


def test_a_new_workspace_has_no_backup_of_nothing(tmp_path):
    Workspace(tmp_path / "space")
    assert not (tmp_path / "space" / "backups").exists()


def test_a_restored_workspace_is_its_owner_s_alone(tmp_path, monkeypatch):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    assert main(["--workspace", str(space.root), "backup", str(tmp_path / "copy")]) == 0
    monkeypatch.setenv("GAMCORE_MODE", "shared")
    assert main(["--workspace", str(tmp_path / "back"), "restore", str(tmp_path / "copy")]) == 0
    for root in ("copy", "back"):
        assert (tmp_path / root).stat().st_mode & 0o077 == 0
    back = Workspace(tmp_path / "back")
    back.tables.add(frame().assign(a=1.0), "more")
    assert len(back.tables.read(table.id)) == len(frame())


def test_jobs_of_records_that_may_be_older_are_left(tmp_path):
    space = Workspace(tmp_path / "space")
    space.tables.add(frame(), "mine")
    job = space.root / "jobs" / "00000000000000aa"
    job.mkdir(parents=True)
    (job / "out.csv").write_text("a,b")
    lost = space.root / "objects" / "aa" / ("aa" * 32)
    lost.parent.mkdir(exist_ok=True)
    lost.write_bytes(b"nobody's")
    assert sweep(space).jobs == 0
    assert (job / "out.csv").exists()
    lost.unlink()
    assert sweep(space).jobs == 1


def test_many_readers_bring_one_file_back_from_the_trash(tmp_path):
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    digest = space.tables.path(table.id).name
    for _ in range(30):
        space.objects.copy_to_trash(digest)
        space.objects.remove(digest)
        seen = []
        readers = [threading.Thread(target=lambda seen=seen: seen.append(space.objects.has(digest))) for _ in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert seen == [True] * 4


def test_a_look_at_another_folder_makes_no_workspace_of_it(tmp_path, capsys):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("x")
    assert main(["--workspace", str(tmp_path / "notes"), "check"]) == 1
    assert "no workspace" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["a.txt"]
