"""The page Report, and a model put to work on the page Models."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from pptx import Presentation

from gamcore.decide.arms import ArmsTest
from gamcore.decide.rules import EVERYBODY
from gamcore.decide.strategies import Strategy, StrategySet
from gamcore.viz.files.report import to_report
from shapewise.decisions import arm_tests, boards, money
from shapewise.decisions import guided_example as example
from shapewise.reports import file_jobs as packs
from shapewise.reports import recipes
from shapewise.reports.review import review_of
from shapewise.ui.report.recipe import candidates
from tests.support.hostile import EVIL
from tests.support.pages import button, choose, open_page

pytestmark = pytest.mark.usefixtures("space")


def kinds(app):
    return [found.value.split("**")[1] for found in app.markdown if found.value[:1].isdigit() and "**" in found.value]


def is_told(app, name):
    return any(name in found.value.replace("\\", "") for found in app.markdown)


def named(elements, label):
    return next(element for element in elements if element.label == label)


def ended(space):
    for _ in range(600):
        if all(not one.goes_on for one in packs.packs(space)):
            return packs.packs(space)
        time.sleep(0.1)
    raise AssertionError("It did not end.")


def test_the_usual_report_begins_with_the_decision(acted):
    _, _, made = acted
    app = open_page("report", model=made.read().strategies[0].model)
    assert not app.exception
    listed = kinds(app)
    assert listed[0].startswith("The decision")
    assert [label for label in listed if label.startswith("Why")] == ["Why A", "Why C", "Why B"]
    assert named(app.text_input, "Title").value == made.name
    choose(app, "For", "analyst")
    assert kinds(app)[:3] == ["The decision", "Who gets what", "How to read it"]
    choose(app, "For", "audit")
    assert "The rules as code, run and compared" in kinds(app)
    assert "Model card" in kinds(app)


@pytest.mark.slow
def test_a_director_gets_no_seventh_slide(acted):
    space, table, made = acted
    outcomes = example.load(space, example.OUTCOME)
    boards.change(space, made.id, plan=example.plan_of(made), outcome=example.outcome_of(outcomes))
    app = open_page("report", table=table.id)
    assert len(kinds(app)) == recipes.MOST_SLIDES
    assert named(app.multiselect, "Add").disabled
    assert any("at most 6 slides" in one.value for one in app.caption)
    next(b for b in app.button if b.key and b.key.startswith("Remove-") and b.key.endswith("-who-")).click().run()
    assert not named(app.multiselect, "Add").disabled


def test_what_an_outcome_is_worth_is_asked_for_once(acted):
    space, _, made = acted
    app = open_page("report", model=made.read().strategies[0].model)
    assert named(app.text_input, "Currency").value == "EUR"
    named(app.number_input, "Worth of one more outcome").set_value(75.0).run()
    named(app.text_input, "Currency").set_value("CHF").run()
    assert boards.board(space, made.id).money == {"amount": 75.0}
    assert money.of_table(space, made.table).currency == "CHF"
    again = open_page("report", model=made.read().strategies[1].model)
    assert named(again.number_input, "Worth of one more outcome").value == 75.0
    named(again.text_input, "Next step").set_value("Ask legal").run()
    named(again.date_input, "Next step begins on").set_value(date(2026, 12, 1)).run()
    button(again, "Save as a recipe").click().run()
    (kept,) = recipes.recipes(space)
    assert (kept.audience, kept.next_step, kept.start) == ("director", "Ask legal", "2026-12-01")


def test_a_test_without_a_board_or_a_model_has_a_report(space):
    rng = np.random.default_rng(0)
    arm = rng.choice(["control", "new"], 4_000)
    frame = pd.DataFrame({"arm": arm, "sold": rng.random(4_000) < np.where(arm == "new", 0.3, 0.2)})
    table = space.tables.add(frame, "mailing")
    arm_tests.keep(space, table.id, "Mailing", ArmsTest("arm", "control", {"sold": "primary"}))
    app = open_page("report", table=table.id)
    assert kinds(app) == ["The decision", "Measured lifts", "Rates of the arms"]
    named(app.number_input, "Worth of one more outcome").set_value(20.0).run()
    (test,) = arm_tests.tests(space, {table.id})
    first = review_of(space, recipes.usual(None, [], None, test, "director")).parts[0]
    assert first.title.startswith("Choose new: sold 29.7% instead of 20.4%")
    assert [one.label for one in first.figures][1] == "worth per 1,000 customers"
    assert 1_500 < float(first.figures[1].value.replace(",", "")) < 2_500


def test_items_are_added_moved_commented_and_removed(acted):
    space, _, made = acted
    app = open_page("report", model=made.read().strategies[0].model)
    first = kinds(app)
    named(app.multiselect, "Add").set_value(["How rules overlap"]).run()
    button(app, "Add").click().run()
    assert kinds(app) == [*first, "How rules overlap"]
    next(b for b in app.button if b.key and b.key.startswith("Up-") and b.key.endswith("-overlap-")).click().run()
    assert kinds(app) == [*first[:-1], "How rules overlap", first[-1]]
    next(t for t in app.text_input if t.key and t.key.endswith("-overlap-")).set_value("Few").run()
    next(b for b in app.button if b.key and b.key.startswith("Remove-") and b.key.endswith("-decision-")).click().run()
    assert kinds(app)[-2:] == ["How rules overlap", first[-1]]
    button(app, "Save as a recipe").click().run()
    (kept,) = recipes.recipes(space)
    assert kept.items[0].kind == "who"
    assert next(item.comment for item in kept.items if item.kind == "overlap") == "Few"
    named(app.selectbox, "Recipe").set_value(kept.id).run()
    assert not app.exception
    assert kinds(app)[-2:] == ["How rules overlap", first[-1]]


@pytest.mark.slow
def test_two_who_edit_one_recipe_both_keep_what_they_did(acted):
    space, _, made = acted
    model = made.read().strategies[0].model
    first = recipes.save(space, recipes.Recipe("", "Review", "", (recipes.ReportItem("importance"),)))
    app = open_page("report", model=model)
    named(app.selectbox, "Recipe").set_value(first.id).run()
    theirs = recipes.save(space, replace(first, subtitle="theirs"), first)
    named(app.text_input, "Subtitle").set_value("mine").run()
    button(app, "Save as a recipe").click().run()
    assert any("next to the version that somebody else saved" in one.value for one in app.caption)
    mine, other = recipes.recipes(space)
    assert (mine.subtitle, other) == ("mine", theirs)
    assert named(app.selectbox, "Recipe").value == mine.id
    named(app.text_input, "Subtitle").set_value("mine again").run()
    button(app, "Save as a recipe").click().run()
    assert not any("beside" in one.value for one in app.caption)
    assert [one.subtitle for one in recipes.recipes(space)] == ["mine again", "theirs"]
    named(app.selectbox, "Recipe").set_value(first.id).run()
    assert named(app.text_input, "Subtitle").value == "theirs"


def test_a_recipe_that_somebody_changed_can_be_opened_anew(acted):
    space, _, made = acted
    first = recipes.save(space, recipes.Recipe("", "Review", "", (recipes.ReportItem("importance"),)))
    app = open_page("report", model=made.read().strategies[0].model)
    named(app.selectbox, "Recipe").set_value(first.id).run()
    assert "Open theirs" not in [b.label for b in app.button]
    theirs = recipes.save(space, replace(first, subtitle="theirs"), first)
    named(app.text_input, "Title").set_value("Mine").run()
    assert named(app.text_input, "Subtitle").value == ""
    button(app, "Open theirs").click().run()
    assert (named(app.text_input, "Title").value, named(app.text_input, "Subtitle").value) == ("Review", "theirs")
    named(app.text_input, "Title").set_value("Ours").run()
    button(app, "Save as a recipe").click().run()
    assert recipes.recipes(space) == [replace(theirs, name="Ours")]


@pytest.mark.slow
def test_a_report_is_made_and_handed_out(acted):
    space, _, made = acted
    app = open_page("report", model=made.read().strategies[0].model)
    button(app, "Make the report").click().run()
    (pack,) = ended(space)
    assert pack.state == "done"
    app.run()
    assert is_told(app, pack.name)
    next(one for one in app.button if one.key == f"delete-pack-{pack.id}").click().run()
    assert not app.exception
    assert packs.packs(space) == []
    assert not is_told(app, pack.name)


def test_a_report_without_a_board_or_a_table(full):
    space, table, _, model = full
    app = open_page("report", model=model.id)
    assert not app.exception
    assert not any("decision" in label for label in kinds(app))
    space.delete("tables", table.id)
    app = open_page("report", model=model.id)
    assert not app.exception


@pytest.mark.slow
def test_a_table_is_scored_on_the_page(acted):
    space, table, made = acted
    app = open_page("models", model=made.read().strategies[0].model)
    assert not app.exception
    assert not any(box.label == "Table" for box in app.selectbox)  # folded, it reads no table
    app.session_state["score"] = True
    app.run()
    named(app.selectbox, "Table").set_value(table.id).run()
    button(app, "Score the table").click().run()
    (pack,) = ended(space)
    assert (pack.state, pack.work) == ("done", "scores")
    app.run()
    assert not app.exception


def test_a_note_is_pinned_to_a_curve(acted):
    space, _, made = acted
    model = made.read().strategies[0].model
    app = open_page("shapes", model=model, feature="balance")
    named(app.text_area, "Note").set_value("Agreed *with* sales").run()
    assert space.models.about(model).notes == {"balance": "Agreed *with* sales"}
    assert any("Agreed \\*with\\* sales" in found.value for found in app.caption)
    named(app.text_area, "Note").set_value("").run()
    assert space.models.about(model).notes == {}


def test_a_comment_and_a_move_in_one_turn_are_both_kept(acted):
    _, _, made = acted
    app = open_page("report", model=made.read().strategies[0].model)
    next(t for t in app.text_input if t.key and t.key.endswith("-who-")).set_value("Said first")
    next(b for b in app.button if b.key and b.key.startswith("Up-") and b.key.endswith("-who-")).click().run()
    items = app.session_state[f"items-new-director-{made.read().strategies[0].model}"]
    assert (items[0][0], items[0][2]) == ("who", "Said first")


def test_parts_follow_the_board_or_test_that_is_chosen(space):
    rng = np.random.default_rng(0)
    arm = rng.choice(["control", "new"], 4_000)
    frame = pd.DataFrame({"arm": arm, "sold": rng.random(4_000) < np.where(arm == "new", 0.3, 0.2)})
    table = space.tables.add(frame, "mailing")
    arm_tests.keep(space, table.id, "Mailing", ArmsTest("arm", "control", {"sold": "primary"}))
    boards.add_board(space, StrategySet("Who gets it", (Strategy("A", EVERYBODY, "a letter"),)), table.id)
    app = open_page("report", table=table.id)
    assert kinds(app) == ["The decision", "Who gets what"]
    choice = named(app.selectbox, "Board or test that decides")
    assert len(choice.options) == 3  # the board, the test, or both; there is no model to report on
    choice.set_value(next(one for one in choice.options if one.startswith("Mailing"))).run()
    assert kinds(app) == ["The decision", "Measured lifts", "Rates of the arms"]
    assert named(app.text_input, "Title").value == "Mailing"
    assert "Who gets what" not in named(app.multiselect, "Add").options
    choice = named(app.selectbox, "Board or test that decides")
    choice.set_value(next(one for one in choice.options if " and " in one)).run()
    assert kinds(app) == ["The decision", "Who gets what", "Measured lifts"]
    assert not app.exception


@pytest.mark.slow
def test_a_triple_is_a_part_of_a_report(three_way):
    space, _, model = three_way
    recipe = recipes.Recipe("", "Three", "", (recipes.ReportItem("triple", ("north", "east", EVIL)),))
    report = review_of(space, recipe, model.id)
    (part,) = (part for part in report.parts if part.plot is not None)
    assert "north" in part.plot.title
    assert {"north", "east", EVIL} < set(part.plot.numbers.columns)
    assert recipe.items[0] in candidates(recipe, model)
    brief = replace(recipe, audience="director", items=(*recipe.items, recipes.ReportItem("curve", ("north",))))
    deck = Presentation(io.BytesIO(to_report(review_of(space, brief, model.id), "pptx")))
    shapes = [shape for slide in deck.slides for shape in slide.shapes]
    assert "…" not in " ".join(shape.text_frame.text for shape in shapes if shape.has_text_frame)  # nothing was cut
    (table,) = (shape.table for shape in shapes if shape.has_table)
    head, *lines = ([cell.text for cell in row.cells] for row in table.rows)
    assert {"north", "east", EVIL, "score", "rows"} == set(head)
    assert all(line[-1].isdigit() for line in lines)
