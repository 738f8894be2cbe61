"""What a table's columns mean in a test: guesses that are never outcomes, and tests that are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest
from shapewise.columns.roles import roles_of
from shapewise.decisions import arm_tests
from shapewise.doctor.examine import examine
from shapewise.store.workspace import Workspace


def table(**columns):
    n = 60
    known = {
        "client_id": np.arange(n), "segment": np.resize(["No E-Mail", "Mens E-Mail", "Womens E-Mail"], n),
        "mens": np.resize([0, 1], n), "visit": np.resize([0, 0, 1], n), "conversion": np.resize([0, 1, 1], n),
        "spend": np.linspace(0, 9, n), "history": np.linspace(5, 500, n),
    }  # fmt: skip
    return Table.of(pd.DataFrame({**known, **{name: np.resize(values, n) for name, values in columns.items()}}))


def roles(of):
    return roles_of(of, examine(of))


def test_the_likely_arm_comes_first_among_the_possible():
    named = roles(table()).column("arm")
    assert named == "segment"
    assert next(iter(arm_tests.possible_arms(table(), [named]))) == "segment"
    assert "conversion" in arm_tests.possible_arms(table())  # one may still choose it


def test_outcomes_are_those_with_the_role_or_by_their_names():
    assert arm_tests.likely_outcomes(table(), roles(table()), "segment") == ["visit", "conversion", "spend"]
    chosen = roles_of(table(), examine(table()), {"history": "outcome", "segment": "arm", "visit": "feature"})
    assert arm_tests.likely_outcomes(table(), chosen, "segment") == ["conversion", "spend", "history"]
    assert "history" in arm_tests.possible_outcomes(table(), "segment")
    assert "segment" not in arm_tests.possible_outcomes(table(), "segment")


def test_a_test_is_kept_as_it_was_set_up(tmp_path):
    space = Workspace(tmp_path / "space")
    of = space.tables.add(table().frame, "emails")
    setup = ArmsTest("segment", "No E-Mail", {"visit": "primary", "spend": "guardrail"}, shares=None, before=None)
    made = arm_tests.keep(space, of.id, "E-mails", setup)
    assert arm_tests.tests(space, {of.id})[0].test() == setup
    changed = ArmsTest("segment", "No E-Mail", {"visit": "primary"}, shares={"No E-Mail": 2.0, "Mens E-Mail": 1.0},
                       before={"visit": "mens"}, adjustment="Dunnett")  # fmt: skip
    arm_tests.keep(space, of.id, "E-mails", changed, made.id)
    (kept,) = arm_tests.tests(space, {of.id})
    assert (kept.id, kept.test()) == (made.id, changed)
    assert arm_tests.tests(space, {"0" * 16}) == []
