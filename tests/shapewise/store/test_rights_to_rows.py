"""What is kept of rows beside a model needs the right to the table: counts, and what was expected of each row."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from shapewise.access.permissions import Person
from shapewise.store import people
from shapewise.store.models import ModelAbout
from shapewise.store.workspace import StoreError, Workspace, new_id
from shapewise.training.adding import add_rows
from shapewise.training.train import train
from tests.support.spaces import frame, spec_of


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Ann's table and counted model, as she, Bob and an administrator see them."""
    space = Workspace(tmp_path_factory.mktemp("rights") / "space")
    who = [Person("a", "Ann", "editor"), Person("b", "Bob", "editor"), Person("c", "Cy", "admin")]
    for person in who:
        people.arrive(space, person.id, person.name)
    ann, bob, admin = (space.seen_by(person) for person in who)
    table = ann.tables.add(frame(binary=False), "hers")
    model = train(ann, spec_of(table.id, positive=None, keep_counts=True, bands=0))
    about = ModelAbout(**asdict(ann.models.about(model.id)) | {"id": new_id()})
    ann.models.add(ann.models.load(model.id), about, ann.models.tables(model.id), expected=np.arange(3.0))
    return ann, bob, admin, table.id, about.id


def reads(space, model):
    """Which of the two this person reads."""
    read = []
    for name, act in (("counts", space.models.tables), ("expected", space.models.expected)):
        try:
            act(model)
            read.append(name)
        except StoreError as error:
            refusals = "see its table", "There is no such model"
            if not any(words in str(error) for words in refusals):
                raise
    return read


@pytest.mark.parametrize("level", [None, "view", "edit"])
@pytest.mark.parametrize("of_table", [None, "view"])
def test_counts_need_the_right_to_the_table(shared, level, of_table):
    ann, bob, admin, table, model = shared
    ann.sharing.share("models", model, "Bob", level)
    ann.sharing.share("tables", table, "Bob", of_table)
    both = ["counts", "expected"]
    assert reads(bob, model) == (both if level and of_table else [])
    assert reads(ann, model) == reads(admin, model) == both
    if level and not of_table:
        own = bob.tables.add(frame(300, binary=False), "his")
        with pytest.raises(StoreError, match="see its table"):
            add_rows(bob, spec_of(own.id, positive=None, keep_counts=True, bands=0), model)
    ann.sharing.share("models", model, "Bob", None)
    ann.sharing.share("tables", table, "Bob", None)
    assert reads(bob, model) == []


def test_what_somebody_has_set_is_theirs_and_no_change_of_the_thing(shared):
    ann, bob, _, table, _ = shared
    before = ann.thing("tables", table)
    ann.drafts.keep("tables", table, {"target": "a secret"})
    with pytest.raises(StoreError, match="no such table"):
        bob.drafts.keep("tables", table, {})
    ann.sharing.share("tables", table, "Bob", "view")
    assert bob.drafts.read("tables", table) is None
    bob.drafts.keep("tables", table, {"target": "his"})
    assert Workspace(ann.root, ann.person).drafts.read("tables", table) == {"target": "a secret"}
    bob.drafts.keep("tables", table, None)
    ann.sharing.share("tables", table, "Bob", None)
    with pytest.raises(StoreError, match="no such table"):
        bob.drafts.read("tables", table)
    assert ann.drafts.read("tables", table) == {"target": "a secret"}
    assert ann.thing("tables", table) == before


def test_once_the_table_is_gone_the_counts_are_the_models_owners(shared):
    ann, bob, admin, table, model = shared
    ann.sharing.share("models", model, "Bob", "edit")
    ann.delete("tables", table)
    assert reads(ann, model) == reads(admin, model) == ["counts", "expected"]
    assert reads(bob, model) == []
