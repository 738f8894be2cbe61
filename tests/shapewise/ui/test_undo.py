"""What was deleted is brought back from the page where that happened, or from a list."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from gamcore.decide.arms import ArmsTest
from shapewise.decisions import arm_tests, boards
from shapewise.store.cleanup import sweep
from shapewise.store.deletions import deletions
from shapewise.ui.widgets import undo
from tests.support.pages import button, open_page


def after_deleting(page, kind, thing, name, where="", **query):
    """Open a page as a session that has deleted something there, or where it was first offered back."""
    app = open_page(page, **query)
    app.session_state[undo.LAST] = undo._Last(kind, thing, name, where)
    return app.run()


def offered(app):
    return "Undo" in [one.label for one in app.button]


@pytest.mark.slow
def test_a_deletion_is_undone_above_the_page_and_the_thing_is_in_view_again(acted):
    space, table, made = acted
    space.delete("boards", made.id)
    app = after_deleting("strategies", "boards", made.id, made.name, table=table.id)
    assert any(one.value.endswith("Board **Renewal\\: three messages** was deleted.") for one in app.markdown)
    button(app, "Undo").click().run()
    assert not app.exception
    assert deletions(space) == []
    assert app.query_params["board"] in (made.id, [made.id])


def test_the_last_change_of_a_board_is_undone(acted):
    space, table, made = acted
    app = open_page("strategies", table=table.id, board=made.id)
    assert "Undo last change" not in [one.label for one in app.button]
    next(one for one in app.button if one.key == f"remove-{made.id}-0").click().run()
    assert len(boards.board(space, made.id).read().strategies) == 2
    button(app, "Undo last change").click().run()
    assert not app.exception
    assert boards.board(space, made.id).strategies == made.strategies
    assert "Undo last change" not in [one.label for one in app.button]


def test_the_last_change_of_how_a_test_is_set_up_is_undone(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"arm": rng.choice(["none", "a"], 500), "hit": rng.integers(0, 2, 500),
                          "spend": rng.gamma(2, 3, 500)})  # fmt: skip
    table = space.tables.add(frame, "mails", [])
    kept = arm_tests.keep(space, table.id, "Mails", ArmsTest("arm", "none", {"hit": "primary"}))
    app = open_page("experiment", table=table.id)
    assert "Undo last change" not in [one.label for one in app.button]
    outcomes = next(one for one in app.multiselect if one.label == "Outcomes")
    outcomes.set_value(["hit", "spend"]).run()
    assert set(arm_tests.test(space, kept.id).metrics) == {"hit", "spend"}
    button(app, "Undo last change").click().run()
    assert not app.exception
    assert not [one for one in app.info if "another tab" in one.value]
    assert arm_tests.test(space, kept.id).test() == kept.test()
    assert next(one for one in app.multiselect if one.label == "Outcomes").value == ["hit"]
    assert "Undo last change" not in [one.label for one in app.button]


def test_the_offer_ends_on_another_page_or_by_its_close_button(full):
    space, table, number = full[:3]
    space.delete("models", number.id)
    gone = ("models", number.id, number.name)
    app = after_deleting("models", *gone, table=table.id)
    assert offered(app.run())  # until somebody decides
    assert not offered(after_deleting("data", *gone, where="another page", table=table.id))
    next(one for one in app.button if one.key == "undo-close").click().run()
    assert not offered(app)
    assert [one.id for one in deletions(space)] == [number.id]


def test_home_lists_what_was_deleted_also_where_nothing_is_left(full):
    space, table = full[:2]
    for model in space.models.listed():
        space.delete("models", model.id)
    space.delete("tables", table.id)
    app = open_page("home")
    assert len([one for one in app.button if one.label == "Restore"]) == 3
    button(app, "Restore").click().run()
    assert not app.exception
    assert [one.id for one in space.tables.listed()] == [table.id]
    assert app.query_params["table"] in (table.id, [table.id])


def test_what_a_sweep_has_taken_meanwhile_is_said(full):
    space, table, number = full[:3]
    space.delete("models", number.id)
    app = after_deleting("models", "models", number.id, number.name, table=table.id)
    sweep(space, timedelta(0))
    button(app, "Undo").click().run()
    assert "restore it from a backup" in " ".join(one.value for one in app.error)
