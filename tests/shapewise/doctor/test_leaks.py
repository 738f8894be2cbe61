"""What the doctor says of copies, and of columns that are known only after the outcome."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from gamcore.data.table import as_table
from shapewise.columns.roles import roles_of
from shapewise.doctor.copies import copies
from shapewise.doctor.examine import examine
from shapewise.doctor.leaks import auc_of, leaks
from tests.support.places import DATA
from tests.support.refuting import holds, leak_holds


def e_mails(n=20_000, seed=0):
    """A test of e-mails: some visit, some of these buy, and those spend."""
    rng = np.random.default_rng(seed)
    visit = (rng.random(n) < 0.147).astype(int)
    bought = visit * (rng.random(n) < 0.0615).astype(int)
    return pd.DataFrame({
        "recency": rng.integers(1, 13, n), "history": rng.gamma(1, 240, n).round(2), "mens": rng.integers(0, 2, n),
        "zip": rng.choice(["Urban", "Rural", "Suburban"], n), "visit": visit, "conversion": bought,
        "spend": np.where(bought == 1, 30 + rng.gamma(1.2, 90, n).round(2), 0.0),
    })  # fmt: skip


def flagged(frame, target, positive=None):
    """What starts left out, and why."""
    found = leaks(frame, target, positive, [name for name in frame if name != target])
    assert all(leak_holds(leak, frame, positive) for leak in found.values())
    return {name: leak.words() for name, leak in found.items() if leak.sure}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [4_000, 20_000])
def test_steps_on_the_way_to_an_outcome_are_flagged_with_the_reason(n):
    frame = e_mails(n)
    assert set(flagged(frame, "spend")) == {"visit", "conversion"}
    assert "where it is 0, spend is always 0" in flagged(frame, "spend")["visit"]
    assert "where it is 1, spend is never 0" in flagged(frame, "spend")["conversion"]
    assert set(flagged(frame, "visit", ["1"])) == {"conversion", "spend"}
    assert "where it is not 0, visit is always 1" in flagged(frame, "visit", ["1"])["spend"]
    assert set(flagged(frame, "conversion", ["1"])) == {"visit", "spend"}


def test_what_is_filled_in_later_is_flagged():
    rng = np.random.default_rng(1)
    left = rng.random(3_000) < 0.2
    reasons = np.where(left & (rng.random(3_000) < 0.5), rng.choice(["price", "moved"], 3_000), None)
    frame = pd.DataFrame({
        "why": reasons,
        "closed": pd.Series(pd.Timestamp("2024-01-01"), range(3_000)).where(left & (rng.random(3_000) < 0.6)),
        "gaps": rng.normal(size=3_000), "state": np.where(left & (rng.random(3_000) < 0.4), "ended", "runs"),
        "left": np.where(left, "yes", "no"),
    })  # fmt: skip
    frame.loc[rng.random(3_000) < 0.3, "gaps"] = np.nan
    said = flagged(frame, "left", ["yes"])
    assert set(said) == {"why", "closed", "state"}
    assert said["why"].endswith("where it is filled, left is always yes")
    assert said["state"].endswith("where it is ended, left is always yes")
    assert set(flagged(frame, "left", ["no"])) == {"why", "closed", "state"}


def test_parts_of_a_sum_are_flagged():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.integers(0, 90, 900), "b": rng.integers(0, 90, 900), "c": rng.normal(size=900)})
    assert set(flagged(frame.assign(y=frame["a"] + 2.5 * frame["b"]), "y")) == {"a", "b"}
    assert not flagged(frame.assign(y=frame["a"] + frame["b"] + rng.normal(0, 0.01, 900)), "y")


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_total_and_its_rate_are_told_and_stay_features(gaps):
    rng = np.random.default_rng(3)
    quantity, price = rng.integers(0, 40, 900), np.round(rng.gamma(2, 9, 900) + 1, 2)
    frame = pd.DataFrame({"z": rng.normal(size=900), "quantity": quantity, "price": price,
                          "total": np.round(quantity * price, 1)})  # fmt: skip
    frame.loc[rng.random(900) < gaps, "price"] = np.nan
    for target, side in (("total", "times"), ("price", "over"), ("quantity", "over")):
        made = leaks(frame, target, None, [name for name in frame if name != target])
        pair = {"total", "price", "quantity"} - {target}
        assert {name for name, leak in made.items() if leak.kind == "product"} == pair, made
        assert all(leak_holds(leak, frame, None) and not leak.sure for leak in made.values())
        assert all(f" {side} " in made[name].words() for name in pair)
    noise = frame.assign(total=quantity * price * np.exp(rng.normal(0, 0.05, 900)))
    assert not leaks(noise, "total", None, ["z", "quantity", "price"])
    constant = frame.assign(quantity=7.0, total=7 * price)
    assert not any(
        leak.kind == "product" for leak in leaks(constant, "total", None, ["z", "quantity", "price"]).values()
    )


@pytest.mark.parametrize("seed", range(10))
def test_chance_flags_nothing(seed):
    rng = np.random.default_rng(seed)
    n = 2_000
    frame = pd.DataFrame({
        "rare": (rng.random(n) < 0.01).astype(int), "zeros": np.where(rng.random(n) < 0.9, 0, rng.normal(size=n)),
        "level": rng.choice(["a", "b", "c"], n, p=[0.9, 0.08, 0.02]), "steep": rng.normal(size=n),
        "gone": np.where(rng.random(n) < 0.97, None, "x"),
    })  # fmt: skip
    y = rng.random(n) < 1 / (1 + np.exp(-3 * frame["steep"] - 2))
    assert not flagged(frame.assign(y=np.where(y, "yes", "no")), "y", ["yes"])
    assert not flagged(frame.assign(y=np.where(y, rng.gamma(1, 1, n), 0.0)), "y")


def known(frame):
    table = as_table(frame)
    found = copies(table, table.names, table)
    assert all(holds(finding, frame) for finding in found.values())
    return found


def test_copies_are_found_also_under_other_names():
    rng = np.random.default_rng(0)
    level = rng.choice(list("abcd"), 2_000)
    frame = pd.DataFrame({
        "level": level, "again": level, "coded": pd.Series(level).map({"a": 4, "b": 1, "c": 9, "d": 0}),
        "merged": pd.Series(level).replace("d", "c"), "n": rng.integers(0, 60, 2_000).astype(float),
        "id": np.arange(2_000), "other id": rng.permutation(2_000),
    })  # fmt: skip
    frame["n too"] = frame["n"].where(np.arange(2_000) != 7, 61.0)
    frame["fahrenheit"] = frame["n"] * 1.8 + 32
    said = known(frame)
    assert set(said) == {"again", "coded", "n too", "fahrenheit"}
    assert said["again"].cure == "leave out"
    assert not said["again"].relabelled
    assert said["coded"].relabelled
    assert (said["n too"].of, said["n too"].rows, said["n too"].cure) == ("n", 1_999, None)
    assert (said["fahrenheit"].of, said["fahrenheit"].cure) == ("n", "leave out")


def test_rare_events_are_no_near_copies():
    rng = np.random.default_rng(0)
    assert not known(pd.DataFrame((rng.random((5_000, 6)) < 0.002).astype(int), columns=list("abcdef")))


def test_columns_that_are_nearly_always_missing_are_no_copies_by_chance():
    weeks = pd.DataFrame({"k": np.arange(300) % 7, "w1": np.nan, "w2": np.nan})
    weeks.loc[:7, "w1"] = [1, 2, 3, 4, 5, 6, 7, 8]
    weeks.loc[:7, "w2"] = [9, 12, 13, 14, 15, 16, 17, 18]
    assert not any(r.has("copy") for r in examine(weeks))
    often = weeks.assign(w1=weeks["k"], w2=weeks["k"] * 10)
    assert [r.name for r in examine(often) if r.has("copy")] == ["w1", "w2"]


def test_what_is_said_of_each_animal_is_no_number_of_it_in_classes():
    frame = pd.DataFrame({"rat_id": np.repeat(np.arange(16), 20), "diet": np.repeat([1, 1, 2, 3], 80)})
    frame["weight"] = np.random.default_rng(0).normal(size=320)
    assert not any(r.has("cut") for r in examine(frame))


def test_another_form_of_the_target_reveals_it():
    wage = np.random.default_rng(0).lognormal(2, 1, 600).round(2)
    frame = pd.DataFrame(
        {"wage": wage, "lwage": np.log(wage), "tenth": wage + np.random.default_rng(1).gamma(1, 9, 600)}
    )
    found = leaks(frame, "wage", None, ["lwage", "tenth"])
    assert found["lwage"].sure
    assert "tenth" not in found


def test_missing_cells_are_part_of_a_copy():
    rng = np.random.default_rng(0)
    a = pd.Series(rng.integers(0, 5, 900).astype(float)).mask(rng.random(900) < 0.3)
    assert known(pd.DataFrame({"a": a, "b": a}))["b"].cure
    assert not known(pd.DataFrame({"a": a, "b": a.fillna(2)}))


def test_a_copy_starts_left_out_but_never_the_target():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, 900)
    y = rng.integers(0, 2, 900)
    frame = pd.DataFrame({"x": x, "x2": x, "label": np.where(y == 1, "won", "lost"), "y": y, "call duration": x + y})
    reports = {r.name: r for r in examine(frame)}
    roles = roles_of(as_table(frame), list(reports.values()))
    assert roles.by_column["x2"] == "leave out"
    assert "copy of x" in " ".join(reports["x2"].warnings)
    assert roles.targets[0].column == "label"
    assert roles_of(as_table(frame), list(reports.values()), {"y": "target"}).by_column["y"] == "target"
    assert "copy of label" in " ".join(reports["y"].warnings)
    assert reports["call duration"].has("later")


USUAL = {
    "adult": ("income", [">50K"]), "bank": ("y", ["yes"]), "calhousing_ocean": ("median_house_value", None),
    "compact": ("usr", None), "letter": ("lettr", list("ABCDEFGHIJKLM")), "magic": ("class", ["g"]),
    "pole": ("y", None), "telco_churn": ("Churn", ["Yes"]), "titanic": ("Survived", ["1"]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="no real tables")
@pytest.mark.parametrize("name", USUAL)
def test_no_false_alarm_on_real_tables(name):
    assert not flagged(pd.read_parquet(DATA / f"{name}.parquet"), *USUAL[name])


@pytest.mark.skipif(not DATA.is_dir(), reason="no real tables")
def test_riders_of_a_bike_scheme_are_parts_of_their_count():
    assert set(flagged(pd.read_parquet(DATA / "bike.parquet"), "cnt")) == {"casual", "registered"}


def test_a_number_may_have_no_number_among_its_features():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue"], 300), "price": rng.normal(10, 2, 300)})
    assert not leaks(frame, "price", None, ["colour"])


@pytest.mark.parametrize("seed", range(20))
def test_how_well_a_column_ranks_is_the_auc_ties_and_all(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(200) < rng.integers(1, 199)).astype(float)
    for x in (rng.normal(size=200) + y, rng.integers(0, 4, 200) - y, np.where(y == 1, 1e300, -1e300)):
        assert auc_of(y, x) == pytest.approx(roc_auc_score(y, x), abs=1e-12)
