"""The search of every page leads to a thing of each kind, and shows nobody what is not theirs."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from gamcore.data.column_names import ColumnNames, Names
from gamcore.decide.rules import Range
from gamcore.decide.strategies import StrategySet
from gamcore.io.checks import ModelFileError
from shapewise.access.permissions import Person
from shapewise.decisions import boards
from shapewise.store import people
from shapewise.ui.session import state
from tests.support.pages import choose, headlines, open_page
from tests.support.spaces import frame


def sidebar():
    from shapewise.ui.frame.page import navigation

    navigation()


def places(asked, **query):
    """What a search shows, in its order: the page and the query of each link by its label."""
    app = AppTest.from_function(sidebar, default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.session_state["find-asked"] = asked
    app.run()
    menu = len(app.get("page_link"))
    app.button(key="find-open").click().run()
    assert not app.exception
    links = [link.proto for link in app.get("page_link")][menu:]
    return {link.label: (link.page, dict(parse_qsl(link.query_string))) for link in links}


def opened(asked, **query):
    """The page that the first result leads to, and its query."""
    page, there = next(iter(places(asked, **query).values()))
    return open_page(page, **there), page, there


@pytest.mark.slow
def test_a_page_opens_with_what_is_in_view(full):
    table, number = full[1:3]
    app, page, there = opened("rows", table=table.id, model=number.id)
    assert page == "rows"
    assert there == {"table": table.id, "model": number.id}
    assert not app.error


def test_a_feature_is_found_by_the_name_people_gave_it_and_by_its_column(full):
    space, table, number = full[:3]
    space.tables.set_names(table.id, Names({"year_built": ColumnNames("Größe des Jahrgangs")}))
    for asked in ("GROSSE D", "grosse jahr", "year_b"):
        app, page, there = opened(asked, model=number.id)
        assert (page, there) == ("shapes", {"model": number.id, "feature": "year_built"})
        assert "Größe des Jahrgangs" in headlines(app)[0]


@pytest.mark.slow
def test_a_feature_of_a_model_of_tasks_opens_there(tasked):
    model = tasked[2]
    app, page, _ = opened("debt", model=model.id)
    assert page == "tasks"
    chosen = next(box for box in app.selectbox if box.label == "Feature")
    assert chosen.value == "debt_ratio"
    chosen.set_value("income").run()
    assert app.query_params["feature"] == "income"


def test_a_model_and_a_project_are_found_from_another(full):
    space, _, number, choice = full
    other = space.tables.add(frame(), "Größere Kunden")
    app, page, _ = opened("prices", table=other.id)
    assert page == "overview"
    assert app.query_params["model"] == number.id
    app, page, _ = opened("grossere", model=choice.id)
    assert page == "data"
    assert app.query_params["table"] == other.id
    assert not app.error


def test_a_segment_and_a_board_open_in_their_project(full):
    space, table, number = full[:3]
    boards.add_segment(space, "old houses", Range("year_built", None, 1930), table.id, (number.id, number.name), None)
    board = boards.add_board(space, StrategySet("Spring offers"), table.id)
    boards.add_board(space, StrategySet("Autumn offers"), table.id)
    other = space.tables.add(frame(), "customers")
    for asked in ("old ho", "built year", "spring"):
        app, page, there = opened(asked, table=other.id)
        assert page == "strategies"
        assert there["table"] == table.id
        assert not app.error
        assert "old houses" in " ".join(text.value for text in app.markdown)
    assert app.query_params["board"] == board.id


def test_a_link_to_a_segment_opens_the_list_that_has_it(full):
    space, table, number = full[:3]
    boards.add_segment(space, "old houses", Range("year_built", None, 1930), table.id, (number.id, number.name), None)
    boards.add_board(space, StrategySet("Spring offers"), table.id)
    app = choose(open_page("strategies", table=table.id), "More", "files")
    assert "old houses" not in " ".join(text.value for text in app.markdown)
    ((page, there),) = places("old houses", table=table.id).values()
    for name, value in there.items():
        app.query_params[name] = value
    app.run()
    assert page == "strategies"
    assert "old houses" in " ".join(text.value for text in app.markdown)


def test_nobody_finds_what_is_not_theirs(full):
    space, table = full[:2]
    ann = Person("a", "Ann", "editor")
    people.arrive(space, ann.id, ann.name)
    hers = space.seen_by(ann)
    secret = hers.tables.add(frame(), "secret table").id
    boards.add_board(hers, StrategySet("secret board"), secret)
    boards.add_segment(hers, "secret segment", Range("a", 0.0), secret, ("", ""), None)
    assert places("secret", table=table.id) == {}


def test_what_cannot_be_read_does_not_stop_the_search(full, monkeypatch):
    """A model's file that is damaged has no features to list; all else is there."""

    def refuse(_):
        raise ModelFileError("This file is damaged.")

    monkeypatch.setattr(state, "additive", refuse)
    assert places("prices", model=full[2].id)
