"""Whatever table comes, it is examined, and each thing that is said of it is so: by brute force, cell by cell."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pytest

from gamcore.data.table import Table
from shapewise.columns.roles import ONCE, roles_of
from shapewise.doctor.examine import examine
from shapewise.doctor.leaks import leaks
from tests.support.refuting import holds, leak_holds

N = 400
SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 60))]
DAYS = pd.date_range("2019-01-01", "2024-12-31")


def a_column(rng, n, kind, others):
    """A column of a kind that strangers' tables have; some are made from another that is there."""
    number = next((x for x in others if x.dtype.kind == "f" and np.isfinite(x).all()), rng.normal(size=n))
    text = next((x for x in others if x.dtype == object), rng.choice(list("abcd"), n))
    spike = np.where(rng.random(n) < 0.05, rng.choice([96.0, 98.0], n), rng.poisson(0.4, n))
    return {
        "number": lambda: rng.normal(size=n), "count": lambda: rng.poisson(2, n), "zeros": lambda: np.where(
            rng.random(n) < 0.8, 0.0, rng.lognormal(3, 1, n).round(2)),
        "coded": lambda: spike, "below": lambda: np.where(rng.random(n) < 0.1, -1, rng.integers(0, 9, n)),
        "age": lambda: np.where(rng.random(n) < 0.01, 0, rng.integers(21, 90, n)),
        "likert": lambda: np.where(rng.random(n) < 0.1, 9, rng.integers(1, 6, n)),
        "marks": lambda: rng.choice(np.array(["?", "a", "b", None], object), n), "text": lambda: text,
        "copy": lambda: number.copy(), "nearly": lambda: np.where(np.arange(n) == 3, 99.5, number.round(1)),
        "classes": lambda: np.digitize(number, [-0.5, 0.5]), "names": lambda: pd.cut(
            number, [-np.inf, 0, np.inf], labels=["low", "high"]).astype(object),
        "zero one": lambda: (number > 1).astype(int), "event": lambda: np.where(number > 1, "yes", "no").astype(object),
        "later": lambda: np.where((number > 1) & (rng.random(n) < 0.7), "gone", None).astype(object),
        "row": lambda: np.arange(n), "client_id": lambda: rng.integers(0, n // 3, n) * 37 + 1000,
        "zip": lambda: rng.choice([10115, 20095, 80331], n), "label": lambda: [f"C{k}" for k in rng.permutation(n)],
        "day": lambda: rng.choice(DAYS.strftime("%Y%m%d").astype(int), n), "date": lambda: rng.choice(DAYS, n),
        "open end": lambda: np.where(rng.random(n) < 0.3, np.datetime64("9999-12-31", "us"), rng.choice(
            DAYS.to_numpy("datetime64[us]"), n)),
        "first day": lambda: np.where(rng.random(n) < 0.1, np.datetime64("0001-01-01", "us"), rng.choice(
            DAYS.to_numpy("datetime64[us]"), n)),
        "constant": lambda: np.full(n, 7), "gaps": lambda: np.where(rng.random(n) < 0.7, np.nan, 1.0),
        "gone": lambda: np.full(n, np.nan), "nested": lambda: pd.Series([[1, 2]] * n), "none": lambda: [None] * n,
        "infinite": lambda: np.where(np.arange(n) == 1, np.inf, 1.0), "huge": lambda: rng.integers(2**53, 2**60, n),
        "decimal": lambda: pd.Series([decimal.Decimal(k % 7) for k in range(n)], dtype=object),
        "bytes": lambda: pd.Series([b"x", b"y"] * (n // 2) + [b"z"] * (n % 2), dtype=object),
        "categorical": lambda: pd.Categorical(rng.choice(["a", "b"], n), ["b", "a", "gone"]),
        "boolean": lambda: pd.array(rng.choice([True, False, None], n), "boolean"),
        "step": lambda: np.where(number > 1, rng.choice(["filed", "sent"], n), None).astype(object),
        "mixed": lambda: pd.Series([1, "a"] * (n // 2) + [2] * (n % 2), dtype=object),
        "durations": lambda: pd.to_timedelta(rng.integers(0, 9, n), "D"), "sum": lambda: 2 * number + 1,
    }[kind]()  # fmt: skip


KINDS = (
    "number", "count", "zeros", "coded", "below", "age", "likert", "marks", "text", "copy", "nearly", "classes",
    "names", "zero one", "event", "later", "row", "client_id", "zip", "label", "day", "date", "open end", "first day",
    "constant", "gaps", "gone", "nested", "none", "infinite", "huge", "decimal", "bytes", "categorical", "boolean",
    "mixed", "durations", "sum", "step",
)  # fmt: skip


def a_table(seed, n=N):
    rng = np.random.default_rng(seed)
    columns = {}
    for kind in ["number", *rng.choice(KINDS, int(rng.integers(3, 9)), replace=False)]:
        columns[kind] = a_column(rng, n, kind, [np.asarray(x) for x in columns.values()])
    return pd.DataFrame(columns)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_that_the_doctor_says_holds(seed):
    frame = a_table(seed, (N, 60, 7, 1)[0 if seed < 45 else seed % 4])
    reports = examine(frame)
    assert [r.name for r in reports] == list(frame)
    for report in reports:
        for finding in report.findings:
            assert holds(finding, frame), finding.words()
    roles = roles_of(Table.of(frame), reports, name="strangers")
    assert list(roles.by_column) == list(frame)
    assert all(sum(one == role for one in roles.by_column.values()) <= 1 for role in ONCE)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_that_is_said_of_what_comes_later_holds(seed):
    frame, rng = a_table(seed), np.random.default_rng(seed)
    usable = [r.name for r in examine(frame) if r.kind not in (None, "date") and r.distinct > 1]
    for target in usable:
        series = frame[target]
        is_number = series.dtype.kind in "fiu"
        positive = None if is_number else [str(rng.choice(series.dropna().astype(str).unique()))]
        for leak in leaks(frame, target, positive, list(frame)).values():
            assert leak_holds(leak, frame, positive), f"{target} by {leak.column}: {leak.words()}"


def test_nearly_always_is_not_always():
    rng = np.random.default_rng(0)
    n = 12_000
    paid = (rng.random(n) < 0.3).astype(int)
    cost = np.where(paid == 1, rng.lognormal(6, 1, n).round(2), 0.0)
    wrong = np.flatnonzero(cost > 0)[:9]
    frame = pd.DataFrame({"cost": cost, "paid": paid})
    frame.loc[wrong, "paid"] = 0
    frame.loc[frame["cost"] == 0, "paid"] = (rng.random(int((cost == 0).sum())) < 0.1).astype(int)  # not yet booked
    said = leaks(frame, "paid", ["1"], ["cost"])["cost"].words()
    assert "always" not in said
    assert f"where it is not 0, paid is 1 in all but 9 of {int((cost > 0).sum()):,} rows" in said


def test_amounts_that_are_the_target_in_most_rows_are_left_out_and_strong_ones_doubted():
    rng = np.random.default_rng(1)
    n = 4_000
    claims = rng.poisson(0.1, n) + (rng.random(n) < 0.01)
    average = np.where(claims > 0, rng.lognormal(6, 1, n).round(2), 0.0)
    frame = pd.DataFrame({"average": average, "amount": average * claims, "age": rng.integers(18, 90, n)})
    found = leaks(frame, "average", None, ["amount", "age"])
    assert set(found) == {"amount"}
    assert found["amount"].sure
    assert "equals average in" in found["amount"].words()
    x = rng.normal(size=n)
    strong = leaks(pd.DataFrame({"x": x, "y": np.exp(2 * x + 0.1 * rng.normal(size=n))}), "y", None, ["x"])["x"]
    assert not strong.sure
    assert "rank correlation" in strong.words()


def test_a_number_in_classes_is_left_out_and_coordinates_are_not():
    rng = np.random.default_rng(2)
    places = rng.normal(size=(60, 2))
    at = rng.integers(0, 60, 3_000)
    history = rng.gamma(1, 240, 3_000).round(2)
    frame = pd.DataFrame({
        "history": history, "history_segment": pd.cut(history, [0, 100, 200, 350, 500, 750, 1000, 1e9]).astype(str),
        "lat": places[at, 0], "long": places[at, 1], "town": [f"T{k}" for k in at], "y": rng.normal(size=3_000),
    })  # fmt: skip
    reports = {r.name: r for r in examine(frame)}
    assert reports["history_segment"].role == "leave out"
    assert "history cut into 7 classes" in reports["history_segment"].warnings[0]
    assert reports["lat"].role == reports["long"].role == "feature"
    assert reports["town"].role == "leave out"  # its numbers say the same, and have an order


@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_a_number_that_was_rounded_after_it_was_cut_is_still_one_in_classes(decimals):
    """Two classes have rows on their border then: `lowbirthweight` of 5.50 pounds in the births of openintro."""
    rng = np.random.default_rng(3)
    exact = rng.normal(72, 20, 2_000)
    classes = np.array(["low", "middle", "high"])[np.digitize(exact, [60.25, 90.0])]
    frame = pd.DataFrame({"weight": exact.round(decimals), "class": classes, "other": rng.normal(size=2_000)})
    (finding,) = [finding for report in examine(frame) for finding in report.findings if finding.kind == "cut"]
    assert (finding.column, finding.of, bool(finding.rows)) == ("class", "weight", decimals < 2)
    assert holds(finding, frame)
    assert leaks(frame, "weight", None, ["class", "other"]).keys() == {"class"}
    often = frame.assign(weight=np.where(rng.random(2_000) < 0.1, 60.0, frame["weight"]))  # in all classes
    assert not any(report.has("cut") for report in examine(often))


CODES = {
    "numbers": (np.r_[np.arange(17).repeat(40), [96] * 5, [98] * 218], ("96", "98")),
    "percent": (np.r_[np.tile(np.arange(90.0), 8), [-9.0] * 6], ("-9",)),
    "age": (np.r_[np.arange(21, 90).repeat(9), [0]], ("0",)),
    "income": (np.r_[np.linspace(1_000, 90_000, 600), [999_999] * 12], ("999999",)),
    "likert": (np.r_[np.tile([1, 2, 3, 4, 5], 90), [9] * 25], ("9",)),
    "late": (np.r_[np.arange(40).repeat(12), [99] * 60], ("99",)),
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_codes_for_missing_are_found_by_name_and_distance(name):
    values, codes = CODES[name]
    frame = pd.DataFrame({name: values})
    found = [finding for report in examine(frame) for finding in report.findings if finding.kind == "missing code"]
    assert [finding.values for finding in found] == [codes]
    assert holds(found[0], frame)


@pytest.mark.parametrize("seed", range(20))
def test_ordinary_numbers_have_no_codes_for_missing(seed):
    rng = np.random.default_rng(seed)
    n = 2_000
    frame = pd.DataFrame({
        "score": rng.integers(0, 100, n), "age": rng.integers(0, 99, n), "money": np.where(
            rng.random(n) < 0.6, 0.0, rng.lognormal(5, 2, n).round(2)), "heavy": rng.standard_t(1.2, n),
        "count": rng.poisson(3, n), "gain": rng.normal(0, 50, n).round(), "cylinders": rng.choice([3, 4, 5, 6, 8], n),
    })  # fmt: skip
    said = [f.words() for report in examine(frame) for f in report.findings if f.kind == "missing code"]
    assert not said


def test_question_marks_days_codes_and_groups():
    rng = np.random.default_rng(3)
    n = 4_000
    frame = pd.DataFrame({
        "weight": np.where(rng.random(n) < 0.97, "?", "heavy"), "patient_nbr": rng.integers(0, 2_800, n) * 13,
        "admission_type_id": rng.integers(1, 9, n), "postcode": rng.choice(rng.integers(1_000, 9_999, 583), n),
        "day": rng.choice(DAYS.strftime("%Y%m%d").astype(int), n), "womens": rng.integers(0, 2, n),
        "until": np.where(rng.random(n) < 0.4, "9999-12-31", "2024-05-01"),
    })  # fmt: skip
    frame["until"] = frame["until"].astype("datetime64[us]").where(rng.random(n) < 0.9, pd.Timestamp("2023-03-03"))
    frame.loc[:5, "until"] = pd.date_range("2022-01-01", periods=6).to_numpy()
    reports = {r.name: r for r in examine(frame)}
    kinds = {name: [finding.kind for finding in r.findings] for name, r in reports.items()}
    assert kinds == {
        "weight": ["missing code"], "patient_nbr": ["group"], "admission_type_id": ["levels"], "postcode": ["levels"],
        "day": ["days"], "womens": ["yes or no"], "until": ["open end"],
    }  # fmt: skip
    assert reports["patient_nbr"].role == "group"
    assert [r.as_levels for r in reports.values()] == [False, False, True, True, False, True, False]
