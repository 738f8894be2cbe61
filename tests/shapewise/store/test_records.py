"""The records of a workspace: who may do what, what is never half there, backups, migrations, the sweep."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from datetime import timedelta
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from gamcore.decide.strategies import StrategySet
from gamcore.estimators.saved import from_saved
from shapewise.__main__ import main
from shapewise.access import deployment
from shapewise.access.deployment import missing
from shapewise.access.permissions import ACTIONS, LOCAL, ROLES, Person, may
from shapewise.access.quotas import Limits
from shapewise.decisions.boards import add_board, board, change
from shapewise.errors import DeniedError, StoreError
from shapewise.store import backup, migrations, people
from shapewise.store import database as meta
from shapewise.store.atomic_files import write_json
from shapewise.store.cleanup import Swept, sweep
from shapewise.store.database import reading_once
from shapewise.store.deletions import bring_back, deletions
from shapewise.store.process_names import own_name
from shapewise.store.workspace import Workspace, new_id
from shapewise.training.train import train, train_parts
from shapewise.ui.session.signin import is_from_proxy
from tests.support.places import ROOT
from tests.support.spaces import frame, spec_of

A, B = Person("a", "Ann", "editor"), Person("b", "Bob", "editor")


@pytest.fixture
def space(tmp_path):
    return Workspace(tmp_path / "space")


@pytest.fixture
def team(space):
    """The same workspace as Ann and as Bob see it; Ann has a table and a model."""
    for person in (A, B):
        people.arrive(space, person.id, person.name)
    ann, bob = space.seen_by(A), space.seen_by(B)
    table = ann.tables.add(frame(), "hers")
    return ann, bob, table, train(ann, spec_of(table.id))


def test_what_one_person_has_read_another_does_not_see(team):
    ann, bob, table, _ = team
    with reading_once():
        assert [one.id for one in ann.tables.listed()] == [table.id]
        assert ann.tables.about(table.id).id == table.id
        assert not bob.may("view", "tables", table.id)
        ann.sharing.share("tables", table.id, "Bob", "view")
        assert [one.id for one in bob.tables.listed()] == [table.id]
        ann.sharing.share("tables", table.id, "Bob", None)
        assert not bob.may("view", "tables", table.id)


# Who may do what: role x action x what the thing is to them

ALLOWED = {
    # (role, own, shared to view, shared to edit): what they may do with it
    ("viewer", "own"): {"view"},
    ("viewer", "other's"): set(),
    ("viewer", "view"): {"view"},
    ("viewer", "edit"): {"view"},
    ("editor", "own"): {"view", "change", "delete", "share"},
    ("editor", "other's"): set(),
    ("editor", "view"): {"view"},
    ("editor", "edit"): {"view", "change"},
    **{("admin", how): set(ACTIONS) for how in ("own", "other's", "view", "edit")},
}
CREATES = {"viewer": False, "editor": True, "admin": True}
ON_A_THING = [action for action in ACTIONS if action not in ("create", "administer")]


@pytest.mark.parametrize(
    ("role", "how", "action"), list(product(ROLES, ("own", "other's", "view", "edit"), ON_A_THING))
)
def test_the_matrix_of_roles_and_actions(role, how, action):
    owner = "me" if how == "own" else "somebody"
    level = how if how in ("view", "edit") else None
    assert may(Person("me", "me", role), action, owner, level) == (action in ALLOWED[role, how])
    assert not may(None, action, owner, level)


@pytest.mark.parametrize("role", ROLES)
def test_who_may_make_things_and_administer(role):
    assert may(Person("me", "me", role), "create") == CREATES[role]
    assert may(Person("me", "me", role), "administer") == (role == "admin")
    assert not may(None, "create")
    assert not may(None, "administer")


# Every way into the workspace, as each of them


def calls(space, table, model):
    """All that can be done with Ann's things, by the action that it needs."""
    return {
        "view": [
            lambda: space.tables.about(table), lambda: space.tables.read(table), lambda: space.tables.path(table),
            lambda: space.models.about(model), lambda: space.models.load(model), lambda: space.models.path(model),
            lambda: space.thing("models", model), lambda: space.part("tables", table, "table"),
            lambda: space.sharing.owner_name("models", model),
        ],
        "change": [
            lambda: space.tables.change_roles(table, {"w": "weight"}), lambda: space.models.rename(model, "other"),
            lambda: space.models.set_note(model, "a", "said"), lambda: space.models.set_headline(model, "a", "said"),
            lambda: space.models.set_bands(model, space.models.load(model), 3),
        ],
        "share": [
            lambda: space.sharing.share("models", model, "Cid", "view"), lambda: space.sharing.people("models", model),
        ],
        "delete": [lambda: space.delete("models", model), lambda: space.delete("tables", table)],
    }  # fmt: skip


@pytest.mark.parametrize("level", [None, "view", "edit"])
@pytest.mark.parametrize("role", ROLES)
def test_every_way_in_asks(team, role, level):
    ann, _, table, model = team
    people.arrive(ann, "c", "Cid")
    for kind, identifier in (("tables", table.id), ("models", model.id)):
        if level:
            ann.sharing.share(kind, identifier, "Bob", level)
    bob = ann.seen_by(Person("b", "Bob", role))
    allowed = ALLOWED[role, level or "other's"]
    for action, ways in calls(bob, table.id, model.id).items():
        for way in ways:
            if action in allowed:
                way()
            else:
                with pytest.raises(StoreError) as refused:
                    way()
                # What they may not even see is refused as what is not there: nothing can be guessed.
                assert ("no such" in str(refused.value)) == (level is None)
    if role != "admin":
        assert [m.id for m in bob.models.listed()] == ([model.id] if level else [])
        assert [t.id for t in bob.tables.listed()] == ([table.id] if level else [])


def test_viewers_make_nothing(team):
    ann, _, table, model = team
    viewer = ann.seen_by(Person("b", "Bob", "viewer"))
    for way in (
        lambda: viewer.tables.add(frame(), "x"), lambda: add_board(viewer, StrategySet("x"), table.id),
        lambda: viewer.models.bring_in(ann.models.path(model.id).read_bytes(), "x"),
    ):  # fmt: skip
        with pytest.raises(DeniedError, match="not add"):
            way()
    assert not list((ann.root).glob(".new*"))


def test_the_same_table_of_two_people_is_two_things_and_one_file(team):
    ann, bob, table, _ = team
    same = bob.tables.add(frame(), "his")
    assert same.id != table.id
    assert same.name == "his"
    assert bob.tables.path(same.id) == ann.tables.path(table.id)
    bob.delete("tables", same.id)
    sweep(ann.seen_by(LOCAL), timedelta(0))
    pd.testing.assert_frame_equal(ann.tables.read(table.id), frame(), check_dtype=False, check_freq=False)


@pytest.mark.slow
def test_parts_of_a_model_go_with_it(team):
    ann, bob, _, model = team
    made = train_parts(ann, model.id, "c")
    assert bob.models.parts(model.id) == []
    ann.sharing.share("models", model.id, "bob", "view")
    assert {part.id for part in bob.models.parts(model.id)} == {part.id for part in made}
    with pytest.raises(DeniedError):
        bob.delete("models", made[0].id)
    ann.delete("models", model.id)
    for part in made:
        with pytest.raises(StoreError):
            ann.models.about(part.id)


def test_sharing_names_people_who_came(team):
    ann, bob, table, _ = team
    for who, words in (("Nobody", "signed in"), ("Ann", "theirs already")):
        with pytest.raises(StoreError, match=words):
            ann.sharing.share("tables", table.id, who, "view")
    ann.sharing.share("tables", table.id, "BOB", "edit")
    assert ann.sharing.people("tables", table.id) == {"b": ("Bob", "edit")}
    with pytest.raises(DeniedError):
        bob.sharing.share("tables", table.id, "Bob", None)
    ann.sharing.share("tables", table.id, "b", None)
    assert bob.tables.listed() == []


def test_somebody_who_takes_anothers_name_is_not_them(space):
    people.arrive(space, "https://id#1", "ann@x.org")
    people.arrive(space, "https://other#7", "ann@x.org")
    owner = people.arrive(space, "https://id#2", "bob@x.org")
    table = space.seen_by(owner).tables.add(frame(), "his")
    with pytest.raises(StoreError, match="signed in"):  # two have this name: neither is meant
        space.seen_by(owner).sharing.share("tables", table.id, "ann@x.org", "view")


# People


def test_people_are_known_by_what_does_not_change():
    verified = {"sub": "1", "iss": "https://id", "email": "a@x", "email_verified": True}
    assert people.told_by(verified) == ("https://id#1", "a@x")
    assert people.told_by({"email": "A@x"}) == ("a@x", "A@x")
    assert people.told_by({"email": " ", "name": None}) is None
    assert people.told_by({"email": "a\x00b"}) is None


PARTS = st.text("ix#%235 /", min_size=1, max_size=4).filter(str.strip)


@given(st.tuples(PARTS, PARTS), st.tuples(PARTS, PARTS))
def test_two_people_of_any_issuers_have_two_ids(one, other):
    ids = {people.told_by({"iss": issuer, "sub": subject})[0] for issuer, subject in (one, other)}
    assert len(ids) == len({one, other})


@pytest.mark.parametrize("sub", ["", " ", None, 0, 1, True, ["x"], "a\x00b", "a\u202eb"])
def test_who_signs_in_without_a_subject_is_nobody_whatever_they_are_called(sub):
    """Else they would be whom a proxy calls by that name."""
    assert people.told_by({"iss": "i", "sub": sub, "email": "kate@x.org", "email_verified": False}) is None
    assert people.told_by({"iss": "i", "email": "kate@x.org"}) is None


def test_only_a_verified_address_makes_an_administrator(space, monkeypatch):
    monkeypatch.setenv("GAMCORE_ADMINS", "kate@x.org")
    claims = {"sub": "evil", "iss": "i", "email": "kate@x.org"}
    for said in (False, "false", "False", 0, "no", "", [], "1", 1):
        told = people.told_by({**claims, "email_verified": said})
        assert people.arrive(space, *told).role == "editor", said
    for said in (True, "true", "True"):
        assert people.arrive(space, *people.told_by({**claims, "email_verified": said})).role == "admin"
    assert people.arrive(space, *people.told_by(claims)).role == "editor"  # the provider does not say
    monkeypatch.setenv("GAMCORE_TRUST_EMAIL", "1")
    assert people.arrive(space, *people.told_by(claims)).role == "admin"
    assert people.arrive(space, *people.told_by({**claims, "email_verified": False})).role == "editor"


@pytest.mark.parametrize("name", ["\u212aate@x.org", "kate@x.org\u00a0", "kate@x.org\u2003", "\u017fam@x.org"])
def test_letters_that_look_or_fold_alike_make_no_administrator(space, name, monkeypatch):
    monkeypatch.setenv("GAMCORE_ADMINS", "kate@x.org,sam@x.org")
    for claims in ({"email": name}, {"sub": "1", "iss": "i", "email": name, "email_verified": True}):
        told = people.told_by(claims)
        assert told is None or people.arrive(space, *told).role == "editor"
    assert people.arrive(space, *people.told_by({"email": "KATE@x.org "})).role == "admin"


def test_long_names_are_not_one(space):
    long = "a" * 250
    first, second = (people.told_by({"email": f"{long}{k}@x.org"}) for k in (1, 2))
    assert first[0] != second[0]
    first, second = (people.told_by({"sub": f"{long}{k}", "iss": "i", "name": "A"}) for k in (1, 2))
    assert first[0] != second[0]
    assert people.told_by({"email": "a" * 1001}) is None


@pytest.mark.parametrize("name", ["local", "LOCAL ", "Local"])
def test_nobody_is_the_owner_of_before_by_their_name(name):
    assert people.told_by({"email": name}) is None
    assert people.told_by({"sub": "local", "iss": "i", "name": name})[0] == "i#local"


def test_a_secret_of_any_letters_is_compared(monkeypatch):
    monkeypatch.setenv("GAMCORE_PROXY_SECRET", "s\u00e9cret")
    assert is_from_proxy("s\u00e9cret")
    assert not any(map(is_from_proxy, ("", "s\u00e8cret", "secret", "\udcff", "\U0001f600")))
    monkeypatch.delenv("GAMCORE_PROXY_SECRET")
    assert is_from_proxy("")


def test_roles_are_given_by_administrators_only(team, monkeypatch):
    ann, bob, _, _ = team
    monkeypatch.setenv("GAMCORE_ADMINS", "boss@x, other")
    boss = ann.seen_by(people.arrive(ann, "boss", "Boss@x"))
    assert boss.person.role == "admin"
    for way in (
        lambda: people.set_role(ann, "b", "viewer"), lambda: people.members(ann), lambda: people.log(ann),
        lambda: people.hand_over(ann, "b", "a"),
    ):  # fmt: skip
        with pytest.raises(DeniedError):
            way()
    people.set_role(boss, "b", "viewer")
    assert people.now(ann, "b").role == "viewer"
    assert people.arrive(ann, "b", "Bob").role == "viewer"  # signing in again changes no role
    with pytest.raises(StoreError, match="Your own"):
        people.set_role(boss, "boss", "viewer")
    assert {one.person.name: one.things for one in people.members(boss)} == {"Ann": 2, "Bob": 0, "Boss@x": 0}
    assert people.hand_over(boss, "a", "b") == 2
    assert len(bob.tables.listed()) == 1


def test_what_was_deleted_can_be_brought_back_for_a_while(team):
    ann, _, table, model = team
    ann.delete("tables", table.id)
    ann.delete("models", model.id)
    everything = ann.seen_by(LOCAL)
    assert {one.what for one in deletions(everything)} == {"table", "model"}
    sweep(everything)
    bring_back(everything, model.id)
    assert [m.id for m in ann.models.listed()] == [model.id]
    assert ann.models.load(model.id)
    assert sweep(everything, timedelta(0)).purged == 1
    with pytest.raises(StoreError, match="backup"):
        bring_back(everything, table.id)


def test_people_bring_back_what_is_their_own_and_nothing_else(team):
    ann, bob, table, model = team
    ann.sharing.share("models", model.id, "Bob", "edit")
    ann.delete("models", model.id)
    ann.delete("tables", table.id)
    assert [(one.what, one.name) for one in deletions(ann)] == [("table", "hers"), ("model", model.name)]
    viewer = ann.seen_by(Person("a", "Ann", "viewer"))
    for other in (bob, viewer):
        assert deletions(other) == []
        with pytest.raises(StoreError, match="backup"):
            bring_back(other, model.id)
    bring_back(ann, model.id)
    assert [one.id for one in bob.models.listed()] == [model.id]  # and so is its sharing
    assert [one.id for one in deletions(ann)] == [table.id]
    bring_back(ann, model.id)  # it is there, from another tab
    assert [one.id for one in ann.models.listed()] == [model.id]
    bring_back(ann, table.id)
    for kind, alone in product(("boards", "segments", "tests"), (False, True)):
        owner_of_it = ann.seen_by(LOCAL) if alone else ann
        identifier = new_id()
        owner_of_it.add(kind, identifier, {"id": identifier, "name": kind, "table": table.id})
        owner_of_it.delete(kind, identifier)
        sweep(owner_of_it)  # not before seven days
        assert deletions(bob) == []
        bring_back(owner_of_it, identifier)
        assert owner_of_it.thing(kind, identifier).about["name"] == kind


def test_what_is_brought_back_fits_into_the_quota_of_its_owner(team):
    ann, _, table, model = team
    ann.delete("models", model.id)
    ann.limits = Limits(bytes=table.bytes + 1)
    with pytest.raises(StoreError, match="delete what you no longer need"):
        bring_back(ann, model.id)
    assert [one.id for one in deletions(ann)] == [model.id]
    ann.limits = Limits()
    bring_back(ann, model.id)
    assert deletions(ann) == []


# The audit log


def test_every_deed_is_one_row(team):
    ann, _, _, model = team
    ann.models.rename(model.id, "other")
    ann.models.rename(model.id, "other")  # nothing changes: nothing was done
    ann.sharing.share("models", model.id, "Bob", "view")
    ann.note("export", detail="x.png")
    ann.delete("models", model.id)
    rows = people.log(ann.seen_by(LOCAL))[::-1]
    assert [(row.person, row.action, row.kind) for row in rows] == [
        ("a", "sign in", ""), ("b", "sign in", ""), ("a", "create", "tables"), ("a", "change", "tables"),
        ("a", "create", "models"), ("a", "change", "models"), ("a", "share", "models"), ("a", "export", ""),
        ("a", "delete", "models"),
    ]  # fmt: skip
    renamed = rows[5]
    assert renamed.before
    assert renamed.after
    assert renamed.before != renamed.after
    assert rows[8].before == renamed.after


def test_the_log_is_only_added_to(team):
    ann = team[0]
    for statement in (sa.update(meta.audit).values(person="x"), sa.delete(meta.audit)):
        with pytest.raises(sa.exc.DatabaseError, match="added to"), ann.meta.writing() as connection:
            connection.execute(statement)
    assert len(people.log(ann.seen_by(LOCAL))) == 5


# Limits


def test_rows_of_the_log_cannot_be_replaced(team):
    ann, _, _, _ = team
    replace = (
        "INSERT OR REPLACE INTO audit SELECT 1, at, person, 'nothing', kind, thing, before, after, detail FROM audit"
    )
    with pytest.raises(sa.exc.DatabaseError, match="added to"), ann.meta.writing() as connection:
        connection.exec_driver_sql(f"{replace} LIMIT 1")
    assert people.log(ann.seen_by(LOCAL))[-1].action != "nothing"


def test_a_quota_is_kept_before_anything_is_written(tmp_path):
    space = Workspace(tmp_path / "space", A, Limits(bytes=30_000, rows=900))
    table = space.tables.add(frame(), "small")
    assert table.bytes < 30_000
    for make, words in ((lambda: frame(900, binary=False), "of your 30 KB"), (lambda: frame(901), "more than 900")):
        with pytest.raises(StoreError, match=words):
            space.tables.add(make(), "more")
    assert [t.id for t in space.tables.listed()] == [table.id]
    assert space.left() == 30_000 - table.bytes
    space.limits = Limits(bytes=table.bytes)
    with pytest.raises(StoreError, match=r"all of your \d+ KB: delete"):
        space.left()
    space.limits = Limits()
    assert space.left() == 0
    sweep(space)
    assert len(list(space.objects.digests())) == 1


def test_limits_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("GAMCORE_SLOTS", "3")
    assert Limits.configured().slots == 3
    monkeypatch.setenv("GAMCORE_SLOTS", "many")
    with pytest.raises(StoreError, match="GAMCORE_SLOTS"):
        Limits.configured()
    monkeypatch.setenv("GAMCORE_SLOTS", "")
    monkeypatch.setenv("GAMCORE_MEMORY", str(2 * 2**30))
    assert Limits.configured().table_memory == 2**29
    monkeypatch.setenv("GAMCORE_MEMORY", "0")
    assert Limits.configured().table_memory == 2**31
    monkeypatch.setenv("GAMCORE_MODE", "shared")
    assert Limits.configured().slots_each == 1
    assert Limits.configured().bytes > 0


# Changes at the same time


def test_changes_at_the_same_time_are_all_kept(space):
    table = space.tables.add(frame(), "mine")
    made = add_board(space, StrategySet("x"), table.id)

    def work(k):
        for j in range(10):
            change(Workspace(space.root), made.id, outcome={f"{k}-{j}": 1})

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(board(space, made.id).outcome) == 60


def test_a_locked_database_is_waited_for_and_then_told(space, monkeypatch):
    table = space.tables.add(frame(), "mine")
    meta.forget(space.root)
    monkeypatch.setattr(meta, "BUSY_SECONDS", 0.2)
    other = sqlite3.connect(space.root / meta.FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreError, match="busy with another change"):
            space.tables.change_roles(table.id, {"w": "weight"})
        assert space.tables.about(table.id).roles == {}  # those who read are not kept waiting
    finally:
        other.execute("ROLLBACK")
        other.close()
    space.tables.change_roles(table.id, {"w": "weight"})
    assert space.tables.about(table.id).roles == {"w": "weight"}


def test_damaged_records_are_said_to_be(space):
    space.tables.add(frame(), "mine")
    meta.forget(space.root)
    path = space.root / meta.FILE
    path.write_bytes(path.read_bytes()[:1000] + bytes(1000) + path.read_bytes()[2000:])
    with pytest.raises(StoreError, match="backup"):
        sweep(Workspace(space.root))
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="damaged"):
        Workspace(space.root)


# Migrations


def test_each_migration_has_a_backup_before_it(space, monkeypatch):
    table = space.tables.add(frame(), "mine")

    def add(connection, root, objects):
        connection.exec_driver_sql("ALTER TABLE person ADD COLUMN mail TEXT")

    monkeypatch.setattr(migrations, "STEPS", [*migrations.STEPS, add])
    again = Workspace(space.root)
    assert again.tables.about(table.id) == table
    kept = list((space.root / "backups").glob(f"before-{len(migrations.STEPS)}-*.sqlite"))
    assert len(kept) == 1
    before = sqlite3.connect(kept[0])
    assert before.execute("PRAGMA user_version").fetchone() == (len(migrations.STEPS) - 1,)
    assert before.execute("SELECT count(*) FROM thing").fetchone() == (1,)
    before.close()
    monkeypatch.undo()
    with pytest.raises(StoreError, match="later version"):
        Workspace(space.root)


def test_edits_that_models_kept_of_people_become_their_drafts(team):
    ann, _, _, model = team
    edits = {"a": [{"on": ["x"], "operation": "remove", "where": [{}], "reason": "zu teuer für 18-Jährige"}], "b": []}
    before = ann.models.about(model.id)
    with ann.meta.writing() as connection:  # as version 3 kept them
        about = json.loads(connection.execute(sa.select(meta.thing.c.about).filter_by(id=model.id)).scalar())
        text = json.dumps(about | {"drafts": edits})
        connection.execute(sa.update(meta.thing).filter_by(id=model.id).values(about=text))
        connection.execute(meta.thing.insert().values(
            id="z" * 12, kind="models", owner="a", created=model.created, about='["drafts":', parent="",
        ))  # fmt: skip
        connection.exec_driver_sql("PRAGMA user_version = 3")
    again = Workspace(ann.root, A)
    assert again.drafts.read("models", model.id) == edits["a"]
    assert again.models.about(model.id) == before
    again.sharing.share("models", model.id, "Bob", "view")
    assert again.seen_by(B).drafts.read("models", model.id) == []
    with again.meta.reading() as connection:
        texts = connection.execute(sa.select(meta.thing.c.about).filter_by(kind="models")).scalars().all()
    assert sorted(texts) == sorted([json.dumps(about, ensure_ascii=False, separators=(",", ":")), '["drafts":'])


def test_a_migration_that_fails_changes_nothing(space, monkeypatch):
    space.tables.add(frame(), "mine")

    def fail(connection, root, objects):
        connection.exec_driver_sql("ALTER TABLE person ADD COLUMN mail TEXT")
        raise RuntimeError("half way")

    monkeypatch.setattr(migrations, "STEPS", [*migrations.STEPS, fail])
    with pytest.raises(RuntimeError):
        Workspace(space.root)
    monkeypatch.undo()
    again = Workspace(space.root)
    with again.meta.reading() as connection:
        assert migrations.version(connection) == len(migrations.STEPS)
        assert "mail" not in {column["name"] for column in sa.inspect(connection).get_columns("person")}


# Sweep, check, backup and restore


def test_the_sweep_takes_what_a_crash_left_and_nothing_else(space):
    table = space.tables.add(frame(), "mine")
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    dead = int(ended.stdout)
    half = space.root / "jobs" / f".x.{dead}x1-{'0' * 8}.tmp"
    half.mkdir(parents=True)
    own = space.root / f".new.{own_name()}-{'0' * 8}.tmp"
    for path in (half / "part", space.root / f".new.{dead}x1-{'1' * 8}.tmp", own):
        path.write_bytes(b"half")
    lost = space.root / "objects" / "aa" / ("aa" * 32)
    lost.parent.mkdir(exist_ok=True)
    lost.write_bytes(b"nobody's")
    os.utime(lost, (0, 0))
    wanted = space.root / "objects" / "aa" / ("ab" * 32)
    wanted.write_bytes(b"somebody's")
    job = space.root / "jobs" / "00000000000000aa"
    job.mkdir()
    write_json(job / "about.json", {"by": f"{dead}x1"})
    with space.objects.marked("ab" * 32):
        assert list(backup.check(space)) == [
            f"objects/{'aa' * 6}: no record refers to it: a crash left it behind, or the records are older than "
            "the files"
        ]
        assert sweep(space) == Swept(temporary=2, objects=1, jobs=1)
        assert sweep(space) == Swept()
    assert own.exists()
    assert wanted.exists()
    assert space.tables.read(table.id).shape == frame().shape


def test_check_names_what_was_changed(team):
    ann, _, table, model = team
    space = ann.seen_by(LOCAL)
    assert list(backup.check(space)) == []
    path = space.tables.path(table.id)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    space.models.path(model.id).unlink()
    found = list(backup.check(space))
    assert found == [
        f"models/{model.id}: its model is missing or was changed",
        f"tables/{table.id}: its table is missing or was changed",
    ]  # fmt: skip
    with pytest.raises(StoreError, match="backup"):
        space.models.load(model.id)


def test_a_backup_comes_back_whole_by_the_command(team, tmp_path, capsys):
    ann, _, _, model = team
    told = ["--workspace", str(ann.root)]
    assert main([*told, "backup", str(tmp_path / "copy")]) == 0
    assert main([*told, "backup", str(tmp_path / "copy")]) == 1
    ann.models.rename(model.id, "after the backup")
    assert main(["--workspace", str(tmp_path / "new"), "restore", str(tmp_path / "copy")]) == 0
    assert main(["--workspace", str(tmp_path / "new"), "check"]) == 0
    assert "complete and undamaged" in capsys.readouterr().out
    back = Workspace(tmp_path / "new", A)
    assert back.models.about(model.id).name == "a model"
    X = frame()[["a", "b", "c"]]
    first, second = (from_saved(one.models.load(model.id)).predict_proba(X) for one in (ann, back))
    np.testing.assert_array_equal(first, second)
    assert [row.action for row in people.log(back.seen_by(LOCAL))] == [
        "create",
        "change",
        "create",
        "sign in",
        "sign in",
    ]


def test_a_backup_inside_the_workspace_is_none(team, capsys):
    ann, _, _, _ = team
    for place in (ann.root / "copy", ann.root / "objects" / ".." / "copy"):
        assert main(["--workspace", str(ann.root), "backup", str(place)]) == 1
        assert "inside the workspace" in capsys.readouterr().err
        assert not place.exists()


def test_a_damaged_backup_is_refused_and_leaves_nothing(team, tmp_path):
    ann = team[0]
    backup.backup(ann, tmp_path / "copy")
    one = next((tmp_path / "copy" / "objects").glob("??/*"))
    data = one.read_bytes()
    one.unlink()
    one.write_bytes(data[:-1] + b"x")
    with pytest.raises(StoreError, match="damaged"):
        backup.restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert list(backup.check(ann.seen_by(LOCAL))) == []  # the workspace is not the backup's hostage
    with pytest.raises(StoreError, match="not a backup"):
        backup.restore(tmp_path, tmp_path / "new")


# What a shared deployment must be given

GOOD = {
    "server.trustedUserHeaders": {"X-Forwarded-Email": "email"}, "server.address": "localhost",
    "server.cookieSecret": "s" * 32, "server.allowedHosts": ["shapewise.example.org"],
}  # fmt: skip
OIDC = dict.fromkeys(("client_id", "client_secret", "server_metadata_url", "redirect_uri"), "x")


@pytest.mark.parametrize(
    ("options", "auth", "is_set", "words"),
    [
        (GOOD, {}, True, None),
        (GOOD | {"server.trustedUserHeaders": {}}, {**OIDC, "cookie_secret": "c" * 32}, True, None),
        (GOOD | {"server.trustedUserHeaders": {}}, {"cookie_secret": "c" * 32, "google": OIDC}, True, "sign in"),
        (GOOD | {"server.trustedUserHeaders": {}}, {"cookie_secret": "c" * 32}, True, "sign in"),
        (GOOD | {"server.trustedUserHeaders": {}}, {**OIDC, "cookie_secret": "short"}, True, "auth.cookie_secret"),
        (GOOD | {"server.trustedUserHeaders": {"X": "team"}}, {}, True, "names nobody"),
        (GOOD | {"server.address": "0.0.0.0"}, {}, True, "without the proxy"),
        (GOOD | {"server.address": None}, {}, True, "without the proxy"),
        (GOOD | {"server.address": "0.0.0.0", "proxy_secret": "p" * 32}, {}, True, None),
        (GOOD, {}, False, "cookieSecret"),
        (GOOD | {"server.cookieSecret": "short"}, {}, True, "cookieSecret"),
        (GOOD | {"server.allowedHosts": []}, {}, True, "allowedHosts"),
        (GOOD | {"server.allowedHosts": ["*"]}, {}, True, "allowedHosts"),
        (GOOD | {"server.enableXsrfProtection": False}, {}, True, "leave both on"),
    ],
)  # fmt: skip
def test_what_a_shared_deployment_lacks(options, auth, is_set, words):
    found = missing(options, auth, is_set)
    assert found == [] if words is None else len(found) == 1 and words in found[0]


def test_a_sign_in_needs_its_libraries(monkeypatch):
    monkeypatch.setattr(deployment, "LIBRARIES", ("authlib", "no_such_library"))
    assert missing(GOOD, {}, True) == []  # a proxy needs none
    (words,) = missing(GOOD | {"server.trustedUserHeaders": {}}, {**OIDC, "cookie_secret": "c" * 32}, True)
    assert "pip install" in words


def test_a_shared_server_refuses_to_start_without_them(tmp_path):
    environment = {**os.environ, "GAMCORE_MODE": "shared", "GAMCORE_WORKSPACE": str(tmp_path)}
    root = ROOT
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "sign in" in done.stderr
    assert "allowedHosts" in done.stderr


# What a cold reading found


def test_names_that_people_choose_themselves_make_nobody_an_administrator(space, monkeypatch):
    monkeypatch.setenv("GAMCORE_ADMINS", "boss@x.org")
    for claims in ({"name": "boss@x.org"}, {"preferred_username": "boss@x.org"},
                   {"email": "boss@x.org", "email_verified": False}):  # fmt: skip
        told = people.told_by({"sub": "7", "iss": "https://id", **claims})
        assert people.arrive(space, *told).role == "editor"
    told = people.told_by({"sub": "1", "iss": "https://id", "email": "boss@x.org", "email_verified": True})
    assert people.arrive(space, *told).role == "admin"
    monkeypatch.delenv("GAMCORE_ADMINS")
    assert people.now(space, told[0]).role == "editor"  # the environment gave it, and takes it
    assert people.arrive(space, *told).role == "editor"


def test_a_slip_in_the_mode_opens_nothing(monkeypatch):
    from shapewise.access.quotas import is_shared

    for told, shared in (("", False), ("single", False), ("Shared ", True)):
        monkeypatch.setenv("GAMCORE_MODE", told)
        assert is_shared() == shared
    monkeypatch.setenv("GAMCORE_MODE", "team")
    with pytest.raises(StoreError, match="single or shared"):
        is_shared()


def test_two_of_one_name_are_shared_with_apart(team):
    ann, bob, table, _ = team
    ann.sharing.share("tables", table.id, "Bob", "view")
    people.arrive(ann, "b2", "Bob")
    with pytest.raises(StoreError, match="several people"):
        ann.sharing.share("tables", table.id, "Bob", "edit")
    assert ann.sharing.people("tables", table.id) == {"b": ("Bob", "view")}
    ann.sharing.share("tables", table.id, "b", None)
    assert bob.tables.listed() == []


def test_viewers_do_not_fix_what_is_held_out(team):
    ann, _, _, _ = team
    fresh = ann.tables.add(frame().assign(a=1.0), "fresh")
    ann.sharing.share("tables", fresh.id, "Bob", "view")
    viewer = ann.seen_by(Person("b", "Bob", "viewer"))
    with pytest.raises(DeniedError, match="not train"):
        train(viewer, spec_of(fresh.id))
    assert ann.tables.about(fresh.id).held_out_by is None


def test_roles_are_changed_one_by_one(team):
    ann, bob, table, _ = team
    ann.sharing.share("tables", table.id, "Bob", "edit")
    ann.tables.change_roles(table.id, {"w": "weight"})
    bob.tables.change_roles(table.id, {"who": "group"})
    ann.tables.change_roles(table.id, {"w": None})
    assert ann.tables.about(table.id).roles == {"who": "group"}


@pytest.mark.slow
def test_parts_are_of_whose_the_whole_is(team):
    ann, bob, table, model = team
    for kind, identifier in (("tables", table.id), ("models", model.id)):
        ann.sharing.share(kind, identifier, "Bob", "edit")
    train_parts(ann, model.id, "c")
    made = train_parts(bob, model.id, "c")  # in place of hers
    assert {one.id for one in ann.models.parts(model.id)} == {one.id for one in made}
    ann.delete("models", model.id)
    assert [one.id for one in deletions(ann)] == [model.id]  # the parts come with it
    bring_back(ann, model.id)
    assert {one.id for one in ann.models.parts(model.id)} == {one.id for one in made}  # not those that were replaced


def test_what_was_handed_over_can_be_loaded_again(team):
    ann, bob, table, _ = team
    assert people.hand_over(ann.seen_by(LOCAL), "a", "b") == 2
    again = ann.tables.add(frame(), "hers again")
    assert again.id != table.id
    assert [one.name for one in bob.tables.listed()] == ["hers"]


def test_owners_of_before_the_team_are_there_to_be_handed_over(space):
    space.tables.add(frame(), "of one person")
    people.arrive(space, "a", "Ann")
    assert {one.person.id: one.things for one in people.members(space)} == {"a": 0, "local": 1}
    assert people.hand_over(space, "local", "a") == 1
    assert len(space.seen_by(A).tables.listed()) == 1


def test_a_backup_names_what_is_damaged_and_has_the_rest(team, tmp_path, capsys):
    ann, _, table, model = team
    path = ann.tables.path(table.id)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    told = ["--workspace", str(ann.root)]
    assert main([*told, "backup", str(tmp_path / "copy")]) == 1
    assert path.name[:12] in capsys.readouterr().err
    new = ["--workspace", str(tmp_path / "new")]
    assert main([*new, "restore", str(tmp_path / "copy")]) == 1
    assert "--partly" in capsys.readouterr().err
    assert main([*new, "restore", "--partly", str(tmp_path / "copy")]) == 1
    assert f"tables/{table.id}" in capsys.readouterr().out
    assert Workspace(tmp_path / "new", A).models.load(model.id)


def test_loading_again_mends_a_damaged_table(team):
    ann, _, table, _ = team
    ann.tables.path(table.id).write_bytes(b"PAR1")
    ann.delete("tables", table.id)
    again = ann.tables.add(frame(), "again")
    assert ann.tables.read(again.id).shape == frame().shape


def test_others_may_not_read_the_folder_of_a_team(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMCORE_MODE", "shared")
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(StoreError, match="chmod 700"):
        Workspace(tmp_path / "open")
    space = Workspace(tmp_path / "closed")
    assert (space.root / meta.FILE).stat().st_mode & 0o077 == 0
