"""The slide that decides: measured before assumed, figures as by hand, and never more than six slides."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pptx import Presentation
from pypdf import PdfReader

from gamcore.common.numbers import estimate
from gamcore.decide.arms import ArmsTest
from gamcore.decide.rules import Range
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.viz import files as export
from shapewise.decisions import arm_tests, boards, money
from shapewise.decisions import guided_example as example
from shapewise.decisions.plans import form_of, proposed
from shapewise.reports import recipes
from shapewise.reports.recipes import AUDIENCES, MOST_SLIDES, ReportItem
from shapewise.reports.review import review_of
from shapewise.training.spec import Spec, Treatment
from shapewise.training.train import train


def text_of(part):
    return " ".join([part.title, *part.text, *(f"{word} {said}" for word, said in part.lines),
                     *(f"{one.value} {one.interval} {one.label}" for one in part.figures)])  # fmt: skip


def figures(part):
    return [float(one.value.split()[0].replace(",", "")) for one in part.figures]


@pytest.fixture
def tested(acted):
    space, _, made = acted
    outcomes = example.load(space, example.OUTCOME)
    board = boards.change(space, made.id, plan=example.plan_of(made), outcome=example.outcome_of(outcomes))
    return space, board


def usual(space, board, audience="director", **changes):
    model = space.models.about(board.read().strategies[0].model)
    return replace(recipes.usual(model, ["balance"], board, None, audience), **changes), model.id


@pytest.mark.slow
def test_what_was_measured_comes_before_what_is_assumed(tested):
    space, board = tested
    recipe, model = usual(space, board, start="2026-12-01")
    report = review_of(space, recipe, model)
    first = report.parts[0]
    assert first.title == "Roll out A, then C, then B: 8,894 of 10,666 customers"
    assert "assumed" not in text_of(first)
    lines = dict(first.lines)
    assert "test of 59,507 customers" in lines["Measured"]
    assert "A uses sex" in lines["Risk"]
    assert lines["Next"].startswith("Roll out A, C and B on 1 December 2026; keep 10% as a control, and read again on ")
    reach, gap = np.array([6_894, 918, 1_082]), np.array([0.040724, 0.036210, 0.052469])
    monthly = 65_000 / 7 * 30 / 10_666 * reach
    assert figures(first)[0] == pytest.approx(monthly @ gap, rel=0.005)
    net = float((monthly * gap) @ [30.0, 24.0, 20.0] - 0.05 * monthly.sum())
    assert figures(first)[1] == pytest.approx(net, rel=0.005)
    assert "EUR" in first.figures[1].value
    assert "95% interval" in first.figures[0].interval
    boards.change(space, board.id, money={"amount": 100.0})
    dearer = review_of(space, recipe, model).parts[0]
    assert figures(dearer)[1] == pytest.approx(100 * (monthly @ gap) - 0.05 * monthly.sum(), rel=0.005)


@pytest.mark.slow
def test_before_a_test_it_is_called_assumed_and_the_next_step_is_the_test(acted):
    space, _, board = acted
    recipe, model = usual(space, board)
    first = review_of(space, recipe, model).parts[0]
    assert first.title.startswith("Test A, then C, then B")
    assert all(one.label.startswith("assumed") for one in first.figures)
    assert "95%" not in text_of(first)
    assert "nothing has been measured" in dict(first.lines)["Next"]
    planned = boards.change(space, board.id, plan=example.plan_of(board))
    recipe, _ = usual(space, planned)
    lines = dict(review_of(space, recipe, model).parts[0].lines)
    assert lines["Next"].startswith("Test A, C and B for 11 days (control 50%, treated 50%)")
    looked_at = boards.change(space, board.id, plan=example.plan_of(board) | {"looks": True})
    recipe, _ = usual(space, looked_at)
    lines = dict(review_of(space, recipe, model).parts[0].lines)
    assert "for at most 18 days (control 50%, treated 50%); look whenever you like" in lines["Next"]


@pytest.mark.slow
def test_a_director_gets_six_slides_whatever_is_asked_for(tested):
    space, board = tested
    recipe, model = usual(space, board)
    many = replace(
        recipe, items=(*recipe.items, ReportItem("reach", (), "word " * 300), ReportItem("curve", ("none",)))
    )
    for one in (recipe, many):
        report = review_of(space, one, model)
        assert len(report.every) <= MOST_SLIDES
        assert len(Presentation(io.BytesIO(export.to_report(report, "pptx"))).slides) <= MOST_SLIDES
    assert len(PdfReader(io.BytesIO(export.to_report(report, "pdf"))).pages) <= MOST_SLIDES
    assert "none" in " ".join(report.parts[-1].text)  # what is left out is said


@pytest.mark.slow
def test_curves_are_those_of_the_models_that_strategies_were_read_off(tested):
    space, board = tested
    for audience in AUDIENCES:
        recipe, _ = usual(space, board, audience)
        other = board.read().strategies[2].model  # the model in view is none of the first two
        report = review_of(space, recipe, other)
        details = [part.plot.detail for part in report.every if part.plot is not None]
        assert not [part for part in report.every if part.title.startswith("Left out")]
        if audience != "audit":
            for one in board.read().strategies:
                assert any(f"model {one.scenario}" in detail for detail in details), one.name
        if audience != "director":
            cards = [part.title for part in report.every if part.title.startswith("Model card")]
            assert cards == [f"Model card: {one.scenario}" for one in board.read().strategies]
    gone = board.read().strategies[1].model
    space.delete("models", gone)
    recipe, model = usual(space, board)
    report = review_of(space, recipe, model)
    left = " ".join(report.parts[-1].text)
    assert "The model that C was read off (other assets against drop) is no longer there" in left


@pytest.mark.slow
def test_a_test_with_arms_of_the_wrong_sizes_decides_nothing(tested):
    space, board = tested
    frame = space.tables.read(board.outcome["rows"]["table"])
    keep = (frame["arm"] == "control") | (np.arange(len(frame)) % 3 > 0)
    cut = space.tables.add(frame[keep], "cut")
    board = boards.change(space, board.id, outcome={"rows": board.outcome["rows"] | {"table": cut.id}})
    recipe, model = usual(space, board)
    report = review_of(space, recipe, model)
    assert report.parts[0].title.startswith("Do not decide on this test")
    assert not report.parts[0].figures


@pytest.mark.slow
def test_plans_read_as_people_write(tested):
    space, board = tested
    recipe, model = usual(space, board, "analyst")
    plan = next(part for part in review_of(space, recipe, model).parts if part.title == "The test takes 11 days")
    row = plan.table[1]
    assert row[3:6] == ["22.0%", "15%", "6,002"]
    assert row[6] == "4,332"


def test_the_best_of_several_arms_is_told_with_a_wider_interval(space):
    rng = np.random.default_rng(0)
    arm = rng.choice(["none", "a", "b"], 9_000)
    chance = pd.Series({"none": 0.2, "a": 0.23, "b": 0.27})[arm].to_numpy()
    table = space.tables.add(pd.DataFrame({"arm": arm, "sold": rng.random(9_000) < chance}), "mail")
    test = arm_tests.keep(space, table.id, "Mail", ArmsTest("arm", "none", {"sold": "primary"}))
    report = review_of(space, recipes.usual(None, [], None, test, "analyst"))
    first = report.parts[0]
    assert first.title.startswith("Choose b: sold")
    low, high = (float(end) for end in first.figures[0].interval.split("interval ")[1].split(" to "))
    row = next(row for part in report.parts for row in part.table if row[0] == "b")
    plain = [10 * float(end) for end in row[6].split("(")[1].rstrip(")").split(" to ")]
    assert low < plain[0]
    assert high > plain[1]
    assert "The best of several arms" in dict(first.lines)["Risk"]
    money.keep(space, table.id, {"sold": 12.0}, cost=0.25, currency="$")
    gained, net = review_of(space, recipes.usual(None, [], None, test, "analyst")).parts[0].figures
    assert net.value.startswith("$")
    assert float(net.value[1:]) == pytest.approx(12 * float(gained.value) - 250, rel=0.01)
    assert net.label == "worth per 1,000 customers, costs deducted"


NUMBERS = {1_243.0: "1,240", 0.12345: "0.123", 8.755: "8.76", 99.96: "100", -15.27: "-15.3", 0.0: "0", 1e6: "1,000,000",
           float("inf"): "∞"}  # fmt: skip


@pytest.mark.parametrize(("value", "said"), NUMBERS.items())
def test_numbers_have_three_digits_and_no_exponent(value, said):
    assert estimate(value) == said


@pytest.mark.slow
def test_lifts_that_a_test_measured_are_never_called_assumed(acted):
    space, _, board = acted

    def with_tested(n_measured):
        def changed(made):
            listed = [replace(one, tested=4_635 if k < n_measured else 0) for k, one in enumerate(made.strategies)]
            return replace(made, strategies=tuple(listed))

        return boards.change(space, board.id, strategies=changed)

    recipe, model = usual(space, with_tested(3))
    first = review_of(space, recipe, model).parts[0]
    assert first.title.startswith("Roll out A, then C, then B")
    assert not any(
        word in text_of(first).lower() for word in ("assumed", "nothing has been", "no lift", "plan the test")
    )
    assert "measured among 4,635 customers of a test" in dict(first.lines)["Measured"]
    assert all("95% interval" in one.interval for one in first.figures)
    recipe, _ = usual(space, with_tested(1))
    mixed = review_of(space, recipe, model).parts[0]
    lines = dict(mixed.lines)
    assert lines["Measured"].startswith("A moves ")
    assert lines["Assumed"].startswith("No lift of C and B has been measured")
    assert all(one.label.startswith("assumed") for one in mixed.figures)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("fall", "accepted"), [(0.0, 0.05), (0.0, 0.0), (0.4, 0.05)])
def test_a_lift_is_not_rolled_out_beside_a_guardrail_that_its_test_leaves_open(space, fall, accepted):
    """A board alone: its lift was measured by a test that watched another outcome, too."""
    rng = np.random.default_rng(0)
    n = 4_000
    frame = pd.DataFrame({"arm": rng.choice(["none", "mail"], n), "age": rng.integers(20, 80, n)})
    treated = frame["arm"] == "mail"
    frame["back"] = (rng.random(n) < 0.2 + 0.2 * treated).astype(int)
    frame["stays"] = (rng.random(n) < 0.9 - fall * treated).astype(int)
    table = space.tables.add(frame, "mailing")
    roles = {"back": "primary", "stays": "guardrail"}
    arms = ArmsTest("arm", "none", roles, accepted={"stays": accepted} if accepted else {})
    arm_tests.keep(space, table.id, "Mailing", arms)
    quick = {"max_rounds": 5, "outer_bags": 1, "interactions": 0}
    spec = Spec(table.id, "back", "Effect", ["age"], goal="number", changes=quick,
                treatment=Treatment("arm", "mail", "none", 0.5, percent=True))  # fmt: skip
    model = train(space, spec)
    one = Strategy("A", Range("age", low=20.0), "mail", metric="back", base=0.2, lift=(0.8, 1.0, 1.2), model=model.id,
                   tested=n)  # fmt: skip
    board = boards.add_board(space, StrategySet("Who gets it", (one,)), table.id)
    first = review_of(space, recipes.usual(None, [], board, None, "director")).parts[0]
    is_open = fall > 0 or not accepted
    lines = dict(first.lines)
    assert first.title.startswith("Look into stays before rolling out A" if is_open else "Roll out A")
    assert ("does not rule out a fall of stays" in lines["Risk"]) == is_open
    assert lines["Next"].startswith("Read stays in the test" if is_open else "Roll out A")


@pytest.mark.parametrize(("role", "moved"), [("expected null", 5.0), ("guardrail", -5.0), ("guardrail", 0.0)])
def test_what_moved_beside_a_lift_is_a_risk_and_few_customers_are_one(space, role, moved):
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"arm": np.repeat(["none", "a"], n), "hit": np.r_[np.arange(n) < 30, np.arange(n) < 90]})
    frame["age"] = 40 + rng.normal(0, 9, 2 * n) + moved * (frame["arm"] == "a")
    table = space.tables.add(frame.assign(hit=frame["hit"].astype(int)), "beside", [])
    test = arm_tests.keep(space, table.id, "Beside", ArmsTest("arm", "none", {"hit": "primary", "age": role}))
    first = review_of(space, recipes.usual(None, [], None, test, "director")).parts[0]
    assert first.title.startswith("Choose no arm yet")
    assert "age" in dict(first.lines)["Risk"]
    alone = replace(test.test(), metrics={"hit": "primary"})
    test = arm_tests.keep(space, table.id, "Beside", alone, test.id)
    first = review_of(space, recipes.usual(None, [], None, test, "director")).parts[0]
    assert first.title.startswith("Choose a")
    assert dict(first.lines)["Risk"] == "a was tested on 600 customers only."


def test_an_arm_that_did_nothing_is_no_risk_of_the_one_that_is_chosen(space):
    """And clusters are no customers: the slide says which of both it counts."""
    rng = np.random.default_rng(0)
    arm = np.repeat(["none", "a", "b"], 900)
    frame = pd.DataFrame({"arm": arm, "hit": np.tile(np.arange(900) % 10 < 1, 3), "home": np.arange(2700) // 3})
    frame["spend"] = rng.gamma(2, 20, 2700)
    frame["hit"] |= (arm == "a") & (np.arange(2700) % 10 < 3)
    table = space.tables.add(frame.assign(hit=frame["hit"].astype(int)), "homes", [])
    roles = {"hit": "primary", "spend": "guardrail"}
    asked = ArmsTest("arm", "none", roles, cluster="home", accepted={"spend": 0.4})
    test = arm_tests.keep(space, table.id, "Homes", replace(asked, accepted={}))
    first = review_of(space, recipes.usual(None, [], None, test, "director")).parts[0]
    assert first.title.startswith("Choose no arm yet")
    assert "b: " not in dict(first.lines)["Risk"]
    test = arm_tests.keep(space, table.id, "Homes", asked, test.id)
    report = review_of(space, recipes.usual(None, [], None, test, "director"))
    first = report.parts[0]
    assert report.about.startswith("Homes · table homes")  # by default a test is called one: "Test Test on homes"
    assert first.title.startswith("Choose a")
    assert "b: " not in dict(first.lines)["Risk"]
    assert dict(first.lines)["Measured"] == "In a test of 900 clusters (home), 3 arms against each other."


def test_gains_of_different_metrics_are_not_added_up(space):
    frame = pd.DataFrame({"age": np.arange(100) % 10})
    table = space.tables.add(frame, "hundred", [])
    first = Strategy("A", Range("age", high=3.0), metric="sold", base=0.2, lift=(0.1, 0.1, 0.1), value=5.0)
    other = Strategy("B", Range("age", low=5.0), metric="visits", base=40.0, lift=(0.5, 0.5, 0.5), value=2.0)
    board = boards.add_board(space, StrategySet("Two", (first, replace(other, is_rate=False))), table.id)
    report = review_of(space, recipes.usual(None, [], board, None, "director"))
    sold, visits, worth = report.parts[0].figures
    assert (sold.value, sold.label) == ("0.600", "assumed: more customers with sold among these customers")
    assert (visits.value, visits.label) == ("1,000", "assumed: more of visits among these customers")
    assert worth.value == "2,000"


@pytest.mark.parametrize("a_day", [1.0, 400.0])
def test_nobody_is_told_to_test_for_years(space, a_day):
    table = space.tables.add(pd.DataFrame({"age": np.arange(100) % 10}), "hundred", [])
    one = Strategy("A", Range("age", high=3.0), metric="sold", base=0.2)
    board = boards.add_board(space, StrategySet("One", (one,)), table.id)
    form = form_of({"a_day": a_day}, proposed(board.read()))
    board = boards.change(space, board.id, plan=form)
    first = review_of(space, recipes.usual(None, [], board, None, "director")).parts[0]
    step = dict(first.lines)["Next"]
    assert step.startswith("Test A for " if a_day > 1 else "Plan another test")
    assert "leave out" in step or int(step.split()[3]) < 365
