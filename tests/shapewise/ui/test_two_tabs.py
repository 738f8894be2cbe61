"""Two tabs: what one has changed, the other says at its next press, shows, and does not write over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from gamcore.decide.arms import ArmsTest
from gamcore.decide.rules import Range
from shapewise.decisions import arm_tests, boards, plans
from shapewise.decisions import guided_example as example
from shapewise.store import people
from shapewise.ui.widgets import meanwhile
from tests.support.pages import button, choose, open_page

CHANGED = "was changed in another tab"


def news(app):
    assert not app.exception
    return [one.value.replace("\\", "") for one in app.info if one.icon == meanwhile.ICON]


def keyed(elements, key):
    return next(one for one in elements if one.key == key)


@pytest.fixture
def tested(space):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"arm": rng.choice(["none", "a", "b"], 3000), "hit": rng.integers(0, 2, 3000),
                          "spend": rng.gamma(2, 3, 3000)})  # fmt: skip
    table = space.tables.add(frame, "mails", [])
    return table, arm_tests.keep(space, table.id, "Mails", ArmsTest("arm", "none", {"hit": "primary"}))


@pytest.mark.slow
def test_a_board_that_another_tab_changed_keeps_both_changes(acted):
    space, table, made = acted
    one, other = (open_page("strategies", table=table.id, board=made.id) for _ in range(2))
    first, *_, last = (strategy.name for strategy in made.read().strategies)
    keyed(other.button, f"remove-{made.id}-0").click().run()
    assert news(other) == []  # its own
    keyed(one.button, f"Higher-{made.id}-2").click().run()
    assert news(one) == [f"The board **{made.name}** {CHANGED}. This is how it is now."]
    names = [strategy.name for strategy in boards.board(space, made.id).read().strategies]
    assert first not in names
    assert names[0] == last
    assert news(one.run()) == []
    assert len(news(other.run())) == 1


def test_the_last_change_is_undone_only_where_it_was_seen(acted):
    space, table, made = acted
    one = open_page("strategies", table=table.id, board=made.id)
    keyed(one.button, f"remove-{made.id}-0").click().run()
    now = boards.change(space, made.id, strategies=lambda those: replace(those, name="Another"))
    keyed(one.button, f"undo-{made.id}").click().run()
    assert boards.board(space, made.id).strategies == now.strategies
    assert len(news(one)) == 1
    keyed(one.button, f"undo-{made.id}").click().run()
    assert boards.board(space, made.id).name == made.name


def changing():
    """The dialog of a board's first strategy, drawn at each run as a fragment is."""
    from shapewise.decisions import boards
    from shapewise.ui.decide import board as deck
    from shapewise.ui.session import state

    (board,) = boards.boards(state.workspace())
    deck.change(board, board.read().strategies[0].name)


def test_a_strategy_that_another_tab_changed_is_not_written_over(acted):
    space, _, made = acted
    app = AppTest.from_function(changing, default_timeout=60).run()
    name = made.read().strategies[0].name
    next(one for one in app.text_input if one.label == "Action, in words").set_value("Mine").run()

    def theirs(now):
        first, *others = now.strategies
        return replace(now, strategies=(replace(first, action="Theirs", base=0.3), *others))

    boards.change(space, made.id, strategies=theirs)
    button(app, "Save").click().run()
    assert any(line.startswith(f"{name} was changed elsewhere while this was open") for line in news(app))
    assert next(one for one in app.text_input if one.label == "Action, in words").value == "Theirs"
    assert boards.board(space, made.id).read().strategies[0].action == "Theirs"
    next(one for one in app.text_input if one.label == "Action, in words").set_value("Ours").run()
    button(app, "Save").click().run()
    first = boards.board(space, made.id).read().strategies[0]
    assert (first.action, first.base) == ("Ours", 0.3)


def test_a_board_that_another_tab_deleted_is_missed(acted):
    space, table, made = acted
    app = open_page("strategies", table=table.id, board=made.id)
    space.delete("boards", made.id)
    keyed(app.button, f"Lower-{made.id}-0").click().run()
    assert news(app) == [f"The board **{made.name}** was deleted in another tab. This is what there is now."]
    assert button(app, "New board")


def test_segments_that_another_tab_saved_or_deleted_are_named(acted):
    space, table, made = acted
    kept = boards.segments(space, table.id)
    app = open_page("strategies", table=table.id, board=made.id)
    column = next(name for name in space.tables.read(table.id).columns)
    boards.add_segment(space, "New here", Range(column, 1.0), table.id, scenario=("", ""), evidence=None)
    space.delete("segments", kept[0].id)
    app.run()
    assert news(app) == ["The segment **New here** was saved elsewhere.",
                         f"The segment **{kept[0].name}** was deleted elsewhere."]  # fmt: skip
    keyed(app.button, f"forget-{kept[1].id}").click().run()
    assert news(app) == []
    assert len(boards.segments(space, table.id)) == len(kept) - 1


@pytest.mark.parametrize("press", ["another outcome", "the other scale"])
def test_a_test_that_another_tab_set_up_otherwise_stays_so(space, tested, press):
    table, kept = tested
    app = open_page("experiment", table=table.id)
    arm_tests.keep(space, table.id, "", ArmsTest("arm", "b", {"spend": "guardrail"}), kept.id)
    if press == "another outcome":
        keyed(app.multiselect, f"arms-outcomes-{table.id}-arm").set_value(["hit", "spend"]).run()
    else:
        next(one for one in app.segmented_control if one.label == "Lifts as").set_value("relative").run()
    (said,) = news(app)
    assert said.startswith(f"The test **Mails** {CHANGED}. The form begins with that")
    now = arm_tests.test(space, kept.id)
    assert (now.control, now.metrics) == ("b", {"spend": "guardrail"})
    assert keyed(app.selectbox, f"arms-control-{table.id}-1-arm").value == "b"
    keyed(app.multiselect, f"arms-outcomes-{table.id}-1-arm").set_value(["spend", "hit"]).run()
    assert news(app) == []
    assert set(arm_tests.test(space, kept.id).metrics) == {"spend", "hit"}


@pytest.mark.slow
def test_a_plan_that_another_tab_changed_is_not_written_over(acted):
    space, _, made = acted
    app = open_page("experiment", board=made.id)
    form = plans.form_of({}, plans.proposed(made.read()))
    boards.change(space, made.id, plan={**form, "a_day": 7000.0})
    keyed(app.slider, f"power-{made.id}").set_value(90).run()
    assert len(news(app)) == 1
    assert keyed(app.number_input, f"a-day-{made.id}-1").value == 7000.0
    assert boards.board(space, made.id).plan["a_day"] == 7000.0
    keyed(app.slider, f"power-{made.id}-1").set_value(90).run()
    assert news(app) == []
    plan = boards.board(space, made.id).plan
    assert (plan["a_day"], plan["power"]) == (7000.0, 0.9)


def test_a_test_is_not_begun_with_a_board_that_nobody_here_has_seen(acted):
    space, _, made = acted
    app = open_page("experiment", board=made.id)
    boards.change(space, made.id, strategies=lambda now: now.moved(0, 2))
    button(app, "Start test").click().run()
    assert len(news(app)) == 1
    assert "tested" not in boards.board(space, made.id).plan
    button(app, "Start test").click().run()
    assert boards.board(space, made.id).plan["tested"] == boards.board(space, made.id).strategies


@pytest.mark.slow
def test_the_source_of_a_read_out_stays_as_another_tab_chose_it(acted):
    space, _, made = acted
    source = example.load(space, example.OUTCOME)
    boards.change(space, made.id, plan=example.plan_of(made), outcome=example.outcome_of(source))
    app = open_page("experiment", board=made.id)
    choose(app, "Show", "read")
    rows = boards.board(space, made.id).outcome["rows"]
    shares = {"control": 1.0, "treated": 2.0}
    boards.change(space, made.id, outcome={"rows": {**rows, "shares": shares}})
    app.run()
    assert len(news(app)) == 1
    assert boards.board(space, made.id).outcome["rows"]["shares"] == shares


def test_the_name_of_a_model(full):
    space, table, model = full[:3]
    app = open_page("models", table=table.id, model=model.id)
    space.models.rename(model.id, "Another name")
    assert news(app.run()) == [f"The model **Another name** {CHANGED}. This is how it is now."]


@pytest.fixture
def ann(space):
    """Somebody else, with a share of things: the workspace as she sees it."""
    people.arrive(space, "ann-1", "Ann *Lee*")

    def seen_of(**kinds):
        for kind, identifier in kinds.items():
            space.sharing.share(kind, identifier, "ann-1", "edit")
        return space.seen_by(people.now(space, "ann-1"))

    return seen_of


@pytest.mark.slow
def test_another_person_is_named(acted, ann):
    """Whatever the page shows of hers, once."""
    space, table, made = acted
    model = made.read().strategies[0].model
    kept = arm_tests.keep(space, table.id, "Mails", ArmsTest("sex", "f", {"age": "primary"}))
    hers = ann(boards=made.id, models=model, tests=kept.id)
    pages = {
        "board": open_page("strategies", table=table.id, board=made.id),
        "model": open_page("models", table=table.id, model=model),
        "test": choose(open_page("experiment", table=table.id), "Begin with", "test"),
    }
    boards.change(hers, made.id, strategies=lambda now: now.moved(0, 2))
    hers.models.rename(model, made.name)
    arm_tests.keep(hers, table.id, "", ArmsTest("sex", "m", {"age": "primary"}), kept.id)
    for what, app in pages.items():
        (said,) = news(app.run())
        name = "Mails" if what == "test" else made.name
        assert said.startswith(f"The {what} **{name}** was changed by Ann *Lee*. "), what
        assert news(app.run()) == []
