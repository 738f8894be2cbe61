"""What a table's columns mean in a test: guesses that are never outcomes, and tests that are kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from gamcore.decide.arms import ArmsTest
from shapewise.decisions import arm_tests
from shapewise.store.workspace import Workspace


def table(**columns):
    n = 60
    known = {
        "client_id": np.arange(n), "segment": np.resize(["No E-Mail", "Mens E-Mail", "Womens E-Mail"], n),
        "mens": np.resize([0, 1], n), "visit": np.resize([0, 0, 1], n), "conversion": np.resize([0, 1, 1], n),
        "spend": np.linspace(0, 9, n), "history": np.linspace(5, 500, n),
    }  # fmt: skip
    return Table.of(pd.DataFrame({**known, **{name: np.resize(values, n) for name, values in columns.items()}}))


def test_the_arm_is_told_by_its_name_and_its_levels():
    assert arm_tests.likely_arm(table()) == "segment"
    assert next(iter(arm_tests.possible_arms(table()))) == "segment"
    assert arm_tests.likely_arm(table(variant=["A", "B"])) == "variant"
    offers = Table.of(table().frame.drop(columns="segment").assign(offer=np.resize(["none", "ten", "twenty"], 60)))
    assert arm_tests.likely_arm(offers) == "offer"  # by its control


def test_an_outcome_is_never_proposed_as_the_arm():
    only = Table.of(table().frame.drop(columns="segment"))
    assert arm_tests.likely_arm(only) is None
    assert "conversion" in arm_tests.possible_arms(only)  # one may still choose it
    named = table(test_conversion=[0, 1])
    assert arm_tests.likely_arm(Table.of(named.frame.drop(columns="segment"))) is None


@pytest.mark.parametrize(
    ("levels", "control"),
    [
        (["No E-Mail", "Mens E-Mail"], "No E-Mail"), (["control", "b", "c"], "control"), (["gate_30", "gate_40"], None),
        (["none", "no"], None), (["0", "1"], "0"), (["Baseline", "New"], "Baseline"),
    ],
)  # fmt: skip
def test_the_control_is_told_by_its_name(levels, control):
    assert arm_tests.likely_control(levels) == control


def test_outcomes_are_told_by_their_names():
    assert arm_tests.likely_outcomes(table(), "segment") == ["visit", "conversion", "spend"]
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
