"""Projects group versions and models; what has gone is told to those who may know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gamcore import GAMRegressor
from gamcore.estimators.base import to_saved
from shapewise.access.permissions import Person
from shapewise.store import records
from shapewise.store.history import Departed, departed
from shapewise.store.models import ModelAbout
from shapewise.store.projects import projects
from shapewise.store.workspace import Workspace
from shapewise.training import carry_over
from shapewise.training.train import train
from tests.support.fits import friendly
from tests.support.spaces import frame, spec_of


@pytest.fixture
def space(tmp_path):
    return Workspace(tmp_path / "space")


def grouped(space):
    return projects(space.tables.listed(), space.models.listed())


def add_version(space, of, rows):
    made, _ = carry_over.add_version(space, of, lambda: space.tables.add(frame(rows), "newer"))
    return made


def test_versions_and_their_models_are_one_project(space):
    first = space.tables.add(frame(300), "customers")
    other = space.tables.add(frame(310).rename(columns={"a": "z"}), "other")
    second = add_version(space, first, 320)
    old, new = train(space, spec_of(first.id)), train(space, spec_of(second.id))
    by_id = {project.id: project for project in grouped(space)}
    assert set(by_id) == {first.id, other.id}
    mine = by_id[first.id]
    assert [table.id for table in mine.tables] == [second.id, first.id]
    assert {model.id for model in mine.models} == {old.id, new.id}
    assert (mine.version(first.id), mine.version(second.id), mine.name) == (1, 2, "customers")
    assert grouped(space)[0] is not None
    assert grouped(space)[0].id == first.id  # its models are the newest things


@pytest.mark.slow
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_project_survives_the_deletion_of_any_version(space, gone):
    versions = [space.tables.add(frame(300), "customers")]
    for rows in (310, 320):
        versions.append(add_version(space, versions[-1], rows))
    models = [train(space, spec_of(version.id)) for version in versions]
    carry_over.delete(space, versions[gone].id)
    (project,) = grouped(space)
    assert project.id == versions[0].id
    assert {model.id for model in project.models} == {model.id for model in models}
    assert len(project.tables) == 2


def test_models_without_a_table_are_a_project(space):
    table = space.tables.add(frame(300), "customers")
    model = train(space, spec_of(table.id))
    space.delete("tables", table.id)
    (project,) = grouped(space)
    assert (project.id, project.name, project.tables) == (table.id, "customers", ())
    space.models.bring_in(space.models.path(model.id).read_bytes(), "from elsewhere")
    assert {one.name for one in grouped(space)} == {"customers", "Imported models"}


def test_a_circle_of_versions_ends(space):
    tables = [space.tables.add(frame(300 + k), f"t{k}") for k in range(2)]
    for one, other in (tables, tables[::-1]):
        space.edit("tables", one.id, lambda about, other=other: about | {"replaces": other.id})
    assert len(projects(space.tables.listed(), [])) >= 1


def test_what_was_deleted_is_told(space):
    X, y = friendly(200, binary=False)
    saved = to_saved(GAMRegressor(max_rounds=3).fit(X, y))
    about = ModelAbout("0" * 15 + "1", "churn", "", "", "y", "regressor", "2026-01-01", 1.0)
    space.models.add(saved, about)
    space.models.rename(about.id, "churn, final")
    assert departed(space, "models", about.id) == Departed("models")  # it is there
    space.delete("models", about.id)
    told = departed(space, "models", about.id)
    assert (told.name, told.by, told.what) == ("churn, final", "you", "model")
    assert told.deleted.startswith("20")
    assert departed(space, "models", "f" * 16) == Departed("models")
    assert departed(space, "models", "no id") == Departed("models")
    assert departed(space, "boards", about.id) == Departed("boards")


def test_only_those_who_knew_a_thing_learn_what_became_of_it(space):
    people = {name: Person(name, name.title(), "editor") for name in ("ann", "bob", "cid")}
    with space.meta.writing() as connection:
        for person in people.values():
            records.put_person(connection, person)
    ann, bob, cid = (space.seen_by(person) for person in people.values())
    table = ann.tables.add(frame(300), "secret")
    model = train(ann, replace(spec_of(table.id), name="secret model"))
    ann.sharing.share("models", model.id, "Bob", "view")
    ann.delete("models", model.id)
    assert departed(ann, "models", model.id).by == "you"
    assert (departed(bob, "models", model.id).name, departed(bob, "models", model.id).by) == ("secret model", "Ann")
    assert departed(cid, "models", model.id) == Departed("models")
    boss = space.seen_by(Person("boss", "Boss", "admin"))
    assert departed(boss, "models", model.id).by == "Ann"


def test_who_is_no_longer_shared_with_learns_nothing(space):
    ann, bob = Person("ann", "Ann", "editor"), Person("bob", "Bob", "editor")
    with space.meta.writing() as connection:
        for person in (ann, bob):
            records.put_person(connection, person)
    hers, his = space.seen_by(ann), space.seen_by(bob)
    table = hers.tables.add(frame(300), "secret")
    hers.sharing.share("tables", table.id, "Bob", "view")
    hers.sharing.share("tables", table.id, "Bob", None)
    hers.delete("tables", table.id)
    assert departed(his, "tables", table.id) == Departed("tables")
