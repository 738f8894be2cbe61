"""What columns are for: what people chose wins, guesses have a reason, and thin evidence becomes a question."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from shapewise.columns.arms_found import control_among
from shapewise.columns.roles import Roles, as_role, roles_of
from shapewise.doctor.examine import examine


def read(frame, name="", computed=(), **chosen):
    table = Table.of(frame)
    return roles_of(table, examine(table), chosen, name, computed)


def e_mails(n=6_000, seed=0):
    """A test of three e-mails, as Hillstrom's."""
    rng = np.random.default_rng(seed)
    history = rng.gamma(1, 240, n).round(2)
    segment = rng.choice(["Mens E-Mail", "Womens E-Mail", "No E-Mail"], n)
    visit = (rng.random(n) < 0.1 + 0.05 * (segment != "No E-Mail")).astype(int)
    return pd.DataFrame({
        "recency": rng.integers(1, 13, n),
        "history_segment": pd.cut(history, [-1, 100, 200, 350, 500, 1e9]).astype(str),
        "history": history, "mens": rng.integers(0, 2, n), "newbie": rng.integers(0, 2, n),
        "channel": rng.choice(["Web", "Phone", "Multichannel"], n, p=[0.44, 0.44, 0.12]), "segment": segment,
        "visit": visit, "conversion": visit * rng.integers(0, 2, n),
        "spend": np.where(visit == 1, rng.gamma(1, 90, n).round(2), 0.0),
    })  # fmt: skip


def policies(n=5_000, seed=1):
    """A claims table that ends with coordinates."""
    rng = np.random.default_rng(seed)
    expo = np.where(rng.random(n) < 0.7, 1.0, rng.uniform(0.01, 1, n).round(3))
    claims = rng.poisson(0.12 * expo)
    return pd.DataFrame({
        "policy_id": np.arange(n) * 7 + 1000, "expo": expo,
        "coverage": rng.choice(["TPL", "PO", "FO"], n),
        "nclaims": claims,
        "ageph": rng.integers(18, 96, n), "bm": rng.integers(0, 23, n), "long": rng.normal(4.5, 0.9, n),
        "lat": rng.normal(50.7, 0.4, n),
    })  # fmt: skip


def test_the_arm_is_what_was_drawn_by_lot_and_outcomes_are_no_features():
    roles = read(e_mails())
    assert roles.column("arm") == "segment"
    assert "No E-Mail" in roles.why["segment"]
    assert roles.by_column["history_segment"] == "leave out"
    meant = [roles.by_column[name] for name in ("visit", "conversion", "spend")]
    assert set(meant) <= {"target", "outcome"}
    assert roles.targets[0].column in ("visit", "conversion", "spend")
    assert read(e_mails(), visit="target").columns("outcome") == ["conversion", "spend"]


def test_claims_are_the_target_and_years_the_exposure():
    roles = read(policies())
    assert roles.targets[0].column == "nclaims"
    assert roles.column("exposure") == "expo"
    assert roles.by_column["policy_id"] == "id"
    renamed = read(policies().rename(columns={"expo": "dur"}))
    assert renamed.column("exposure") == "dur"  # it ends at 1, which most rows have
    assert "1, the whole of a period" in renamed.why["dur"]
    days = policies().assign(expo=lambda t: (t["expo"] * 365).round().clip(1)).rename(columns={"expo": "Exppdays"})
    assert read(days).column("exposure") == "Exppdays"
    assert read(policies(), ageph="target").column("exposure") == "expo"
    assert read(policies(), coverage="target").column("exposure") is None  # no count, and no amount


def test_the_number_that_counts_are_of_is_asked_about():
    rng = np.random.default_rng(4)
    of = rng.integers(5, 40, 200)
    herds = pd.DataFrame({
        "region": rng.choice(["N", "S"], 200), "herd_size": of, "hall_size": rng.integers(1, 9, 200),
        "age": rng.integers(30, 60, 200), "calm": rng.integers(1, 40, 200), "cases": rng.binomial(of, 0.4),
    })  # fmt: skip
    question = read(herds, cases="target").question("exposure")
    assert [answer.column for answer in question.answers] == ["herd_size"]
    assert "never below cases" in question.answers[0].why
    herds.loc[0, "cases"] = herds.loc[0, "herd_size"] + 1
    assert read(herds, cases="target").question("exposure") is None


@pytest.mark.parametrize("name", [
    "churn", "Kündigung", "defaulted", "SeriousDlqin2yrs", "SalePrice", "hr_wage", "y", "Kundigung", "Ku\u0308ndigung",
    "loyer", "Décès", "deces", "huurprijs", "Sprzedaz",
])  # fmt: skip
def test_a_name_that_says_so_is_the_target_wherever_it_stands(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"region": rng.choice(list("ab"), 300), name: rng.integers(0, 2, 300),
                          "x1": rng.normal(size=300), "lat": rng.normal(size=300)})  # fmt: skip
    assert read(frame).column("target") == name


def test_thin_evidence_is_a_question():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "b", "c", "d"])
    roles = read(frame)
    assert roles.column("target") is None
    answers = [guess.column for guess in roles.question("target").answers]
    assert set(answers) == {"d", "a", "b"}
    assert all(guess.why for guess in roles.question("target").answers)
    chosen = read(frame, c="target")
    assert chosen.question("target") is None
    assert chosen.column("target") == "c"


def test_what_was_chosen_wins_and_a_guess_gives_way():
    frame = policies()
    roles = read(frame, lat="target", ageph="exposure", nclaims="leave out", policy_id="feature")
    assert [roles.by_column[name] for name in ("lat", "ageph", "nclaims", "policy_id")] == [
        "target", "exposure", "leave out", "feature",
    ]  # fmt: skip
    assert roles.columns("target") == ["lat"]
    assert roles.columns("exposure") == ["ageph"]
    assert isinstance(read(frame, gone="target"), Roles)  # a column of an older version


def test_computed_columns_are_no_targets_by_themselves():
    frame = policies().assign(churn=lambda t: t["nclaims"] * 2 + t["bm"])
    assert read(frame).targets[0].column == "churn"
    assert read(frame, computed=("churn",)).targets[0].column == "nclaims"


def test_former_names_of_roles_are_read():
    assert (as_role("ignore"), as_role("target"), as_role("what no code of ours wrote")) == (
        "leave out", "target", "feature")  # fmt: skip


@pytest.mark.parametrize(
    ("levels", "control"),
    [
        (["No E-Mail", "Mens E-Mail"], "No E-Mail"), (["control", "b", "c"], "control"), (["gate_30", "gate_40"], None),
        (["none", "no"], None), (["0", "1"], "0"), (["Baseline", "New"], "Baseline"),
        (["small", "regular", "regular+aide"], "regular"), (["standard A", "standard B"], None),
        (["control", "exposed"], "control"), (["new", "old"], "old"), (["baseline", "new"], "baseline"),
        (["A", "B"], "A"),
        (["campaign", "holdout"], "holdout"), (["x", "y"], None), (["test", "treated"], None),
        (["False", "True"], "False"),
        (["control", "something"], "control"), (["new", "something"], "something"), (["plan", "plan plus"], None),
    ],
)  # fmt: skip
def test_the_control_is_told_by_its_name(levels, control):
    assert control_among(levels) == control


def test_an_outcome_is_never_proposed_as_the_arm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "test_conversion": rng.integers(0, 2, 400)})
    roles = read(frame)
    assert roles.column("arm") is None
    assert roles.question("arm") is None


@pytest.mark.parametrize("seed", range(8))
def test_columns_that_depend_on_others_are_no_arms_without_a_name(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2_000, 4))
    frame = pd.DataFrame(x, columns=list("abcd")).assign(kind=np.where(x.sum(axis=1) > 0, "p", "q"))
    assert read(frame).column("arm") is None


@pytest.mark.parametrize(("name", "levels", "is_arm"), [
    ("owner", ["no", "yes"], False), ("size", ["A", "D"], False), ("tobacco", ["0-9g", "10-19g"], False),
    ("offer", ["control", "voucher"], True), ("sent", ["No E-Mail", "E-Mail"], True),
    ("tobacco", ["no", "low", "high", "low"], False), ("dose", ["no", "low", "high", "low"], True),
])  # fmt: skip
def test_a_no_beside_a_yes_is_no_control(name, levels, is_arm):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1_000, 4)), columns=list("klmn")).assign(**{name: (levels * 500)[:1_000]})
    assert (read(frame).column("arm") == name) == is_arm


def test_of_several_columns_that_look_like_arms_one_is_asked_for():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1_000, 4)), columns=list("klmn"))
    frame = frame.assign(bed_group=["a", "b"] * 500, acre_group=["c", "c", "d", "d"] * 250)
    roles = read(frame)
    assert roles.column("arm") is None
    assert {guess.column for guess in roles.question("arm").answers} == {"bed_group", "acre_group"}


@pytest.mark.parametrize("name", ["race", "gender", "region"])
def test_parts_of_exactly_the_same_size_are_asked_for_also_where_they_say_who_a_row_is(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1_000, 4)), columns=list("klmn"))
    roles = read(frame.assign(**{name: rng.permutation(["f", "m"] * 500)}))
    assert roles.column("arm") is None
    assert [guess.column for guess in roles.question("arm").answers] == [name]
    roles = read(frame.assign(**{name: rng.choice(["f", "m"], 1_000, p=[0.48, 0.52])}))
    assert roles.question("arm") is None


def test_weeks_of_exposure_beside_how_many_were_exposed_are_a_question():
    rng = np.random.default_rng(0)
    many = rng.integers(20, 60, 300)
    frame = pd.DataFrame(
        {"z": rng.normal(size=300), "deaths": rng.binomial(many, 0.2), "exposure": rng.integers(1, 5, 300)}
    )
    assert read(frame).column("exposure") == "exposure"
    roles = read(frame.assign(N=many))
    assert roles.column("exposure") is None
    assert {guess.column for guess in roles.question("exposure").answers} == {"exposure", "N"}


def test_what_happened_is_no_arm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(82, 4)), columns=list("klmn")).assign(failure=[0, 1] * 41)
    roles = read(frame)
    assert roles.column("arm") is None
    assert roles.question("arm") is None


def test_a_year_of_each_row_is_no_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"year": range(1920, 2015), "unit": range(95), "y": rng.normal(size=95)})
    roles = read(frame)
    assert roles.by_column["year"] == "feature"
    assert roles.by_column["unit"] == "id"


@pytest.mark.parametrize("name", ["numbids", "avgwage", "ncases", "totclaims"])
def test_how_something_was_counted_or_summed_up_is_no_other_word(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 4)), columns=list("abcd"))
    frame.insert(2, name, rng.integers(0, 400, 500))
    assert read(frame).targets[0].column == name
    assert read(frame.rename(columns={name: "numother"})).targets[0].column != "numother"


@pytest.mark.parametrize("quantity", ["consumption", "sales", "quantity_sold"])
@pytest.mark.parametrize("is_first", [False, True])
def test_what_is_bought_depends_on_its_price(quantity, is_first):
    rng = np.random.default_rng(0)
    columns = {name: rng.gamma(5, 2, 400) for name in ("price", quantity)}
    names = ["price", quantity] if is_first else [quantity, "price"]
    frame = pd.DataFrame({"state": rng.choice(list("abcdefg"), 400), **{name: columns[name] for name in names}})
    assert read(frame).targets[0].column == quantity
    assert read(frame.drop(columns=quantity)).targets[0].column == "price"


def test_the_kind_of_what_was_measured_is_the_target_also_where_as_many_of_each_were_collected():
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(3), 50)
    frame = pd.DataFrame({f"{part} {of}": rng.normal(kind, 1).round(2)
                          for part in ("petal", "sepal") for of in ("length", "width")})  # fmt: skip
    frame["species"] = np.array(["a", "b", "c"])[kind]
    assert read(frame).targets[0].column == "species"


def test_a_sum_comes_before_its_numbered_parts():
    rng = np.random.default_rng(0)
    parts = {f"deaths{ages}": rng.poisson(9, 400) for ages in ("1517", "1820", "2124")}
    frame = pd.DataFrame(
        {"rain": rng.normal(size=400), "speed": rng.normal(size=400), **parts, "deaths": sum(parts.values())}
    )
    ranked = [guess.column for guess in read(frame).targets]
    assert all(ranked.index("deaths") < ranked.index(part) for part in parts)
    others = read(frame.rename(columns={"deaths": "accidents"})).targets
    assert {guess.column: guess.score for guess in others}["deaths1517"] > next(
        guess.score for guess in read(frame).targets if guess.column == "deaths1517"
    )


def test_a_level_that_is_another_with_more_is_asked_about_as_an_arm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(900, 4)), columns=list("klmn"))
    total = frame.sum(axis=1)
    parts = np.searchsorted(total.quantile([0.31, 0.64]), total)
    assert read(frame.assign(cltype=np.array(["p", "q", "r"])[parts])).question("arm") is None
    question = read(frame.assign(cltype=np.array(["p", "q", "p+r"])[parts])).question("arm")
    assert [guess.column for guess in question.answers] == ["cltype"]
    assert "p+r" in question.answers[0].why


def test_who_a_row_is_of_comes_behind_other_answers_about_the_arm():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1_000, 4)), columns=list("klmn")).assign(
        race=rng.permutation(["f", "m"] * 500), repeal=rng.permutation([0] * 900 + [1] * 100)
    )
    roles = read(frame.assign(k=frame["k"] + 3 * frame["repeal"], l=frame["l"] - 3 * frame["repeal"]))
    assert [guess.column for guess in roles.question("arm").answers] == ["repeal", "race"]
