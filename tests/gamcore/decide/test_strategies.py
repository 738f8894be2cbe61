"""Ordered strategies: the rows reached in total do not depend on the order."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamcore.data.table import Table
from gamcore.decide.fairness import ANY, GROUP, ROWS, parity, sensitive
from gamcore.decide.rules import EVERYBODY, AnyOf, Levels, Missing, Not, Range, RuleError
from gamcore.decide.strategies import MOST_STRATEGIES, Matches, Strategy, StrategySet


@given(data=st.data())
def test_everybody_is_reached_once_or_not_at_all(data):
    k, n = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    gate, matched = rng.random(n) < 0.7, list(rng.random((k, n)) < rng.random((k, 1)))
    order = data.draw(st.permutations(range(k)))
    found = Matches.of(gate, matched).ledger(order)
    taken = np.full(n, -1)
    for place, rule in enumerate(order):
        taken[gate & matched[rule] & (taken < 0)] = place
    assert found.exclusive.sum() + found.remainder == found.eligible == gate.sum()
    assert found.exclusive.tolist() == [int((taken == place).sum()) for place in range(k)]
    assert found.raw.tolist() == [int((gate & matched[rule]).sum()) for rule in order]
    assert (found.lost == found.raw - found.exclusive).all()
    assert (found.lost_to.sum(axis=1) == found.lost).all()
    for i, one in enumerate(order):
        for j, other in enumerate(order):
            assert found.overlap[i, j] == (gate & matched[one] & matched[other]).sum()
            lost = 0 if i <= j else (gate & matched[one] & (taken == j)).sum()
            assert found.lost_to[i, j] == lost


def some():
    who = AnyOf((Levels("sex", ("female",)), Range("clicks", None, 3.0, high_in=True)))
    a = Strategy("A", who, "skip the overview",
                 "click rate", 0.2, (0.1, 0.19, 0.3), 12.0, 0.1, "renew", "0123")  # fmt: skip
    c = Strategy("C", Range("visits", 4.0), "offer funds")
    b = Strategy("B", Range("balance", 12_000.0), "offer a deposit")
    return StrategySet("Renewal", (a, c, b), Not(Missing("visits")))


def customers(n=500):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], n), "clicks": rng.integers(0, 9, n),
            "balance": rng.lognormal(9, 1, n),
            "visits": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 9, n)), "age": rng.integers(18, 80, n),
        }
    )  # fmt: skip


def test_rows_are_assigned_as_the_ledger_counts():
    made, frame = some(), customers()
    assigned, ledger = made.assign(frame), made.ledger(frame)
    assert [(assigned == k).sum() for k in range(3)] == ledger.exclusive.tolist()
    assert ((assigned == -1).sum(), (assigned == -2).sum()) == (ledger.remainder, ledger.rows - ledger.eligible)
    moved = made.moved(2, 0)
    assert [one.name for one in moved.strategies] == ["B", "A", "C"]
    assert moved.ledger(frame).exclusive.sum() == ledger.exclusive.sum()
    assert made.matches(frame).ledger([2, 0, 1]).exclusive.tolist() == moved.ledger(frame).exclusive.tolist()
    assert made.moved(0, -1) == made
    assert made.moved(2, 9) == made


def test_json_there_and_back():
    made = some()
    assert StrategySet.from_dict(json.loads(json.dumps(made.to_dict()))) == made


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "other"}, "schema"), ({"strategies": {}}, "list"),
        ({"strategies": [{"name": ""}]}, r"strategies\[0\]"),
        ({"strategies": [{"name": "A", "rule": {"column": "x"}}]}, r"strategies\[0\] \(A\): rule"),
        ({"strategies": [{"name": "A", "rule": {"all": []}, "lift": [1]}]}, "low, mid and high"),
        ({"strategies": [{"name": "A", "rule": {"all": []}, "value": "much"}]}, "value"),
        ({"strategies": [{"name": "A", "rule": {"all": []}, "action": 3}]}, "action"),
        ({"strategies": [{"name": "A", "rule": {"all": []}}] * 2}, "A"),
        ({"strategies": [{"name": str(k), "rule": {"all": []}} for k in range(MOST_STRATEGIES + 1)]}, "at most"),
        ({"gate": 3}, "rule is 3"), ({"strategies": [{"name": "A\nB", "rule": {"all": []}}]}, "A"),
        ({"strategies": [{"name": "A\ud800", "rule": {"all": []}}]}, "name"),
        ({"strategies": [{"name": "A", "rule": {"all": []}, "base": -1}]}, "base"),
        ({"strategies": [{"name": "A", "rule": {"all": []}, "value": 10**400}]}, "value"),
        ({"strategies": [{"name": "A", "rule": {"all": []}, "lift": [0.3, 0.2, 0.1]}]}, "do not increase"),
    ],
)  # fmt: skip
def test_a_bad_set_is_refused_by_place(change, words):
    with pytest.raises(RuleError, match=words):
        StrategySet.from_dict(some().to_dict() | change)


def test_scenario_value_is_arithmetic():
    low, mid, high = some().strategies[0].worth(1_000)
    assert low == pytest.approx(1_000 * (0.2 * 0.1 * 12 - 0.1))
    assert mid == pytest.approx(1_000 * (0.2 * 0.19 * 12 - 0.1))
    assert high == pytest.approx(1_000 * (0.2 * 0.3 * 12 - 0.1))


def test_sensitive_columns_are_known_by_the_words_in_their_names():
    found = sensitive(
        ["sex", "customerAge", "page_views", "usage", "marital-status", "ZIP", "SeniorCitizen", "message"]
    )
    assert set(found) == {"sex", "customerAge", "marital-status", "ZIP", "SeniorCitizen"}
    assert not sensitive(["credit_union", "partner_bank", "average", "stage"])


def test_parity_counts_who_is_reached_in_each_group():
    frame = customers()
    made = replace(some(), gate=EVERYBODY)
    assigned = made.assign(frame)
    found = parity(Table.of(frame), "sex", assigned, ["A", "C", "B"])
    women = found.set_index(GROUP).loc["female"]
    assert women[ROWS] == (frame["sex"] == "female").sum()
    assert women["A"] == 1.0
    men = (assigned[(frame["sex"] == "male").to_numpy()] == 0).mean()
    assert found.attrs["ratio"]["A"] == pytest.approx(men)
    assert found.attrs["ratio"][ANY] > found.attrs["ratio"]["A"]
    ages = parity(Table.of(frame.assign(age=frame["age"].where(frame["age"] > 20))), "age", assigned, ["A", "C", "B"])
    assert len(ages) == 5
    assert "missing" in set(ages[GROUP])


def test_parity_that_cannot_be_told_is_not_told():
    frame = pd.DataFrame({"sex": ["f"] * 25 + ["m"] * 250, "gifts": [0.0] * 230 + [float(k) for k in range(45)]})
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(275), unit="D")
    assigned = np.where(frame["sex"] == "m", 0, -1)
    assert np.isnan(parity(Table.of(frame), "sex", assigned, ["A"]).attrs["ratio"]["A"])  # under 30 women
    zeros = parity(Table.of(frame), "gifts", assigned, ["A"])
    assert set(zeros[GROUP]) == {"0", "other values"}
    days = parity(Table.of(frame.assign(day=frame["day"].dt.date)), "day", assigned, ["A"])
    assert len(days) == 4
    assert days[GROUP][0].startswith("2024-01-01 to ")


def test_parity_leaves_out_who_is_not_eligible():
    frame, made = customers(), some()
    found = parity(Table.of(frame), "sex", made.assign(frame), ["A", "C", "B"])
    assert found[ROWS].sum() == made.ledger(frame).eligible
