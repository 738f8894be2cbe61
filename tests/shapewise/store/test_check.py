"""What `check` calls damaged is, and only that: each part of a thing is judged by what it is, also on a disk that can
only be read."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from dataclasses import asdict

import numpy as np
import pytest
import sqlalchemy as sa

from gamcore.decide.unseen import Unseen
from shapewise.__main__ import main
from shapewise.errors import StoreError
from shapewise.reports import templates
from shapewise.store import backup
from shapewise.store.database import forget, part
from shapewise.store.object_store import digest_of
from shapewise.store.parts import READERS
from shapewise.store.workspace import Workspace, new_id
from shapewise.training.train import train
from tests.support.spaces import frame, spec_of


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A workspace with a part of each kind that there is."""
    space = Workspace(tmp_path_factory.mktemp("all") / "space")
    table = space.tables.add(frame(binary=False), "rows")
    model = train(space, spec_of(table.id, positive=None, keep_counts=True, bands=0))
    experiment = space.models.load(model.id)
    about = space.models.about(model.id)
    type(space.models).add(
        space.models, experiment, type(about)(**asdict(about) | {"id": new_id(), "counted": False}),
        expected=np.arange(800.0), unseen=Unseen(np.arange(800) % 3, np.arange(800.0), {"age": np.ones(800)}),
    )  # fmt: skip
    big = space.root / "big.parquet"
    frame(50).to_parquet(big)
    shutil.copyfile(big, space.root / "sample.parquet")
    frame(20).to_parquet(space.root / "sample.parquet")
    space.tables.add_file(big, "large", 50, frame().shape[1], sample=(space.root / "sample.parquet", 20))
    frame(30).to_parquet(space.root / "drawn.parquet")
    space.tables.add_dataset("s3://lake/x", 30, (space.root / "drawn.parquet", 30), 1_000, 6, "far", [])
    from pptx import Presentation

    Presentation().save(space.root / "house.pptx")
    templates.add(space, "house.pptx", (space.root / "house.pptx").read_bytes())
    forget(space.root)
    return space.root


@pytest.fixture
def space(template, tmp_path):
    shutil.copytree(template, tmp_path / "space")
    made = Workspace(tmp_path / "space")
    yield made
    forget(made.root)


def parts_of(space):
    with space.meta.reading() as connection:
        return connection.execute(sa.select(part.c.thing, part.c.name, part.c.object)).all()


def test_a_healthy_workspace_is_called_so_whatever_it_keeps(space, tmp_path, capsys):
    assert {name for _, name, _ in parts_of(space)} == {name for _, name in READERS}
    assert list(backup.check(space)) == []
    at = ["--workspace", str(space.root)]
    assert main(["check", *at]) == 0
    assert main(["adopt", *at]) == 0
    assert main(["backup", str(tmp_path / "copy"), *at]) == 0
    assert main(["restore", str(tmp_path / "copy"), "--workspace", str(tmp_path / "restored")]) == 0
    forget(tmp_path / "restored")
    assert "damaged:" not in "".join(capsys.readouterr())


HARMS = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-10]),
    "a bit": lambda path: path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1])),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARMS)
def test_every_damaged_part_is_named(space, harm):
    for thing, name, digest in parts_of(space):
        path = space.objects.path(digest)
        kept = path.read_bytes()
        HARMS[harm](path)
        told = list(backup.check(space))
        same = sum(one == digest for _, _, one in parts_of(space))  # two models may be one file
        assert sum(f": its {name} is missing or was changed" in one for one in told) == len(told) == same, (name, told)
        assert any(f"/{thing}: " in one for one in told)
        path.write_bytes(kept)
    assert list(backup.check(space)) == []


@pytest.mark.slow
def test_a_part_that_is_whole_but_another_part_is_named(space):
    """Each part in the place of each other one: what it is said to be is not what it is."""
    known = parts_of(space)
    kinds = {"model": "gamx", "tables": "counts", "expected": "npy", "unseen": "npy", "table": "parquet",
             "sample": "parquet", "template": "pptx"}  # fmt: skip
    for thing, name, digest in known:
        for _, other, wrong in known:
            if kinds[other] == kinds[name]:
                continue
            of_this = part.c.thing == thing, part.c.name == name
            with space.meta.writing() as connection:
                connection.execute(sa.update(part).where(*of_this).values(object=wrong))
            told = [one for one in backup.check(space) if f"/{thing}: " in one]
            with space.meta.writing() as connection:
                connection.execute(sa.update(part).where(*of_this).values(object=digest))
            assert len(told) == 1, (name, other, told)
            assert "\n" not in told[0]
            assert len(told[0]) < 300
    assert list(backup.check(space)) == []


def test_a_thing_that_lacks_a_part_is_named(space):
    for thing, name, digest in parts_of(space):
        of_this = part.c.thing == thing, part.c.name == name
        with space.meta.reading() as connection:
            row = connection.execute(sa.select(part).where(*of_this)).one()._asdict()
        with space.meta.writing() as connection:
            connection.execute(sa.delete(part).where(*of_this))
        told = [one for one in backup.check(space) if f"/{thing}: " in one]
        assert bool(told) == (name != "expected"), (name, told)  # nothing says that an experiment kept them
        with space.meta.writing() as connection:
            connection.execute(part.insert().values(**row))
        assert digest == row["object"]


def test_a_part_of_a_later_version_is_judged_by_its_hash_alone(space):
    (space.root / "new").write_bytes(b"what nobody knows yet")
    digest = digest_of(space.root / "new")
    space.objects.put(space.root / "new", digest)
    thing = space.tables.listed()[0].id
    with space.meta.writing() as connection:
        connection.execute(part.insert().values(thing=thing, name="later", object=digest, bytes=21))
    assert list(backup.check(space)) == []
    space.objects.path(digest).write_bytes(b"what nobody knows yet!")
    assert [one.endswith("its later is missing or was changed") for one in backup.check(space)] == [True]


@pytest.fixture
def read_only(space, tmp_path):
    """The workspace on a disk that is mounted read-only after its server was killed, records still in their log."""
    disk = tmp_path / "disk"
    disk.mkdir()
    table = space.tables.listed()[0].id
    space.tables.change_roles(table, {"w": "weight"})  # in the write-ahead log only
    shutil.copytree(space.root, disk / "space")
    if not (
        shutil.which("mount") and subprocess.run(["mount", "--bind", str(disk), str(disk)], check=False).returncode == 0
    ):
        pytest.skip("a disk of our own cannot be mounted here: it needs the rights of root")  # fmt: skip
    subprocess.run(["mount", "-o", "remount,ro,bind", str(disk)], check=True)
    yield disk / "space"
    forget(disk / "space")
    subprocess.run(["umount", "--lazy", str(disk)], check=False)


def test_a_disk_that_can_only_be_read_is_checked_and_backed_up(read_only, tmp_path, capsys):
    at = ["--workspace", str(read_only)]
    assert main(["check", *at]) == 0, capsys.readouterr()
    assert main(["backup", str(tmp_path / "copy"), *at]) == 0, capsys.readouterr()
    assert main(["restore", str(tmp_path / "copy"), "--workspace", str(tmp_path / "restored")]) == 0
    restored = Workspace(tmp_path / "restored")
    assert any(one.roles == {"w": "weight"} for one in restored.tables.listed())
    forget(restored.root)


def test_what_must_write_says_what_still_works_there(read_only, capsys):
    before = sorted(path.name for path in read_only.rglob("*"))
    for command in ("adopt", "sweep"):
        assert main([command, "--workspace", str(read_only)]) == 1
        assert "shapewise backup" in capsys.readouterr().err
    with pytest.raises(StoreError, match="cannot be written to"):
        Workspace(read_only)
    assert sorted(path.name for path in read_only.rglob("*")) == before


@pytest.mark.slow
def test_damage_is_found_on_a_disk_that_can_only_be_read(space, read_only, capsys):
    disk = read_only.parent
    subprocess.run(["mount", "-o", "remount,rw,bind", str(disk)], check=True)
    known = {name: read_only / "objects" / digest[:2] / digest for _, name, digest in parts_of(space)}
    known["table"].write_bytes(b"x")
    trashed = known["model"]
    (read_only / "objects" / "trash").mkdir(exist_ok=True)
    trashed.rename(read_only / "objects" / "trash" / f"20260101T000000-{trashed.name}")
    subprocess.run(["mount", "-o", "remount,ro,bind", str(disk)], check=True)
    assert main(["check", "--workspace", str(read_only)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1  # what is in the trash comes back when it is asked for: nothing is missing
    assert lines[0].endswith("is missing or was changed")


@pytest.mark.slow
def test_a_backup_on_a_disk_that_can_only_be_read_is_restored(space, tmp_path, capsys):
    copy = tmp_path / "copy"
    backup.backup(space, copy)
    if not (
        shutil.which("mount") and subprocess.run(["mount", "--bind", str(copy), str(copy)], check=False).returncode == 0
    ):
        pytest.skip("a disk of our own cannot be mounted here: it needs the rights of root")  # fmt: skip
    subprocess.run(["mount", "-o", "remount,ro,bind", str(copy)], check=True)
    try:
        assert main(["restore", str(copy), "--workspace", str(tmp_path / "restored")]) == 0, capsys.readouterr()
    finally:
        subprocess.run(["umount", "--lazy", str(copy)], check=False)
    forget(tmp_path / "restored")


def test_pieces_of_a_zip_are_read(space):
    """A model's counts with one cell changed and a right checksum do not add up, and are named."""
    thing, digest = next((thing, digest) for thing, name, digest in parts_of(space) if name == "tables")
    path, changed = space.objects.path(digest), space.root / "changed"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(changed, "w") as copy:
        for entry in archive.infolist():
            content = bytearray(archive.read(entry))
            if entry.filename.startswith("pair_"):
                content[-1] ^= 1
            copy.writestr(entry.filename, bytes(content))
    wrong = digest_of(changed)
    space.objects.put(changed, wrong)
    with space.meta.writing() as connection:
        connection.execute(sa.update(part).where(part.c.thing == thing, part.c.name == "tables").values(object=wrong))
    assert any("tables" in one and "do not add up" in one for one in backup.check(space))
