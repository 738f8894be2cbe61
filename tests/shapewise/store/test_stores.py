"""The optional stores behind the same interface: PostgreSQL for the records, S3 for the objects, on real servers.

GAMCORE_TEST_POSTGRES_URL names an empty database, GAMCORE_TEST_S3_URL a bucket (with the AWS_* variables that say where
and who). Objects behind a URL are tried on a folder by fsspec wherever there is no server.
"""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
import sqlalchemy as sa

from gamcore.decide.strategies import StrategySet
from gamcore.estimators.saved import from_saved
from shapewise.access.permissions import LOCAL, Person
from shapewise.decisions import boards as board
from shapewise.errors import StoreError
from shapewise.store import database as meta
from shapewise.store import migrations, people
from shapewise.store.cleanup import sweep
from shapewise.store.deletions import bring_back
from shapewise.store.object_store import Folder, Remote
from shapewise.store.workspace import Workspace
from shapewise.training import runs
from shapewise.training.train import train
from tests.support.spaces import frame, spec_of, wait

pytestmark = pytest.mark.slow

POSTGRES, S3 = os.environ.get("GAMCORE_TEST_POSTGRES_URL", ""), os.environ.get("GAMCORE_TEST_S3_URL", "")
ANN, BOB = Person("a", "Ann", "editor"), Person("b", "Bob", "editor")


def empty(url):
    """Take everything out of a database of tests."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()


@pytest.fixture
def postgres(monkeypatch):
    if not POSTGRES:
        pytest.skip("GAMCORE_TEST_POSTGRES_URL names no database: PostgreSQL is not tried")
    empty(POSTGRES)
    monkeypatch.setenv("GAMCORE_META_URL", POSTGRES)
    yield POSTGRES
    meta.open_meta(None, POSTGRES).close()


@pytest.fixture(params=["folder", "s3"])
def objects_url(request, monkeypatch, tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is not installed: objects behind a URL are not tried")
    if request.param == "s3" and not S3:
        pytest.skip("GAMCORE_TEST_S3_URL names no bucket: S3 is not tried")
    url = f"{S3}/{tmp_path.name}" if request.param == "s3" else f"file://{tmp_path / 'elsewhere'}"
    monkeypatch.setenv("GAMCORE_OBJECTS_URL", url)
    return url


def go_through(tmp_path):
    """A table, a model, a training by a worker, sharing, changes at once, deletion, and the sweep."""
    space = Workspace(tmp_path / "space")
    for person in (ANN, BOB):
        people.arrive(space, person.id, person.name)
    ann, bob = space.seen_by(ANN), space.seen_by(BOB)
    table = ann.tables.add(frame(), "hers")
    model = train(ann, spec_of(table.id))
    assert bob.models.listed() == []
    ann.sharing.share("models", model.id, "Bob", "view")
    X = frame()[["a", "b", "c"]]
    first, second = (from_saved(one.models.load(model.id)).predict_proba(X) for one in (ann, bob))
    np.testing.assert_array_equal(first, second)
    run = wait(ann, runs.start(ann, spec_of(table.id), 1))
    assert run.state == "done", run.message
    made = board.add_board(ann, StrategySet("x"), table.id)
    threads = [threading.Thread(target=lambda k=k: board.change(ann, made.id, outcome={str(k): 1})) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(board.board(ann, made.id).outcome) == 8
    with pytest.raises(StoreError):
        bob.delete("models", model.id)
    ann.delete("models", model.id)
    everything = space.seen_by(LOCAL)
    sweep(everything)
    bring_back(everything, model.id)
    assert model.id in {one.id for one in ann.models.listed()}
    assert people.log(everything)[0].action == "bring back"
    return space


def test_records_in_postgresql(postgres, tmp_path):
    space = go_through(tmp_path)
    assert not (space.root / meta.FILE).exists()
    with pytest.raises(sa.exc.DatabaseError, match="added to"), space.meta.writing() as connection:
        connection.execute(sa.delete(meta.audit))
    with space.meta.reading() as connection:
        assert migrations.version(connection) == len(migrations.STEPS)
    again = Workspace(tmp_path / "space", ANN)
    assert len(again.models.listed()) == 2


def test_objects_behind_a_url(objects_url, tmp_path):
    space = go_through(tmp_path)
    assert not (space.root / "objects").exists()
    ann = space.seen_by(ANN)
    table = ann.tables.listed()[0]
    digest = ann.tables.path(table.id).name
    cache = Folder(space.root / "cache")
    cache.remove(digest)
    assert len(ann.tables.read(table.id)) == 800  # read anew from where it is
    cache.path(digest).write_bytes(b"changed")
    assert len(ann.tables.read(table.id)) == 800  # and again, where the copy is not what it was
    assert isinstance(space.objects, Remote)
    assert sorted(space.objects.digests()) == sorted({d for d in space.objects.digests() if space.objects.has(d)})


def test_a_damaged_object_behind_a_url_is_not_taken(tmp_path, monkeypatch):
    pytest.importorskip("fsspec", reason="fsspec is not installed: objects behind a URL are not tried")
    monkeypatch.setenv("GAMCORE_OBJECTS_URL", f"file://{tmp_path / 'elsewhere'}")
    space = Workspace(tmp_path / "space")
    table = space.tables.add(frame(), "mine")
    digest = space.tables.path(table.id).name
    Folder(space.root / "cache").remove(digest)
    (tmp_path / "elsewhere" / digest[:2] / digest).write_bytes(b"PAR1 changed")
    with pytest.raises(StoreError, match="damaged"):
        space.tables.read(table.id)
    assert not list((space.root / "cache").glob("??/*"))
    (tmp_path / "elsewhere" / digest[:2] / digest).unlink()
    with pytest.raises(StoreError, match="is missing"):
        space.tables.read(table.id)


def test_a_database_that_cannot_be_reached_is_told(tmp_path, monkeypatch):
    pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tried")
    monkeypatch.setenv("GAMCORE_META_URL", "postgresql+psycopg://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreError, match="cannot be reached"):
        Workspace(tmp_path / "space")
