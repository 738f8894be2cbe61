"""A run of a page reads few records, and what it has read not again."""

from __future__ import annotations

import shutil
import threading
from collections import Counter

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from gamcore.data.column_names import ColumnNames, Names
from shapewise.store.database import reading_once
from shapewise.training import runs
from shapewise.ui.session import state
from tests.support.pages import captions
from tests.support.places import ROOT

PAGES = ("home", "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "tasks", "strategies",
         "experiment", "report")  # fmt: skip
MOST = 8


@pytest.fixture
def statements():
    """The statements that a database is sent, but for the beginnings of transactions, and what keepers of jobs look up:
    earlier tests may have begun some."""
    sent = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if not threading.current_thread().name.startswith("keeper-") and not statement.startswith(("BEGIN", "PRAGMA")):
            sent.append((" ".join(statement.split()), str(parameters)))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield sent
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


def begun(place, **query):
    """The app, whose runs read once what they read; `open_page` runs pages alone."""
    shutil.copy(ROOT / "app.py", place)  # beside a folder of pages, AppTest would run those alone
    app = AppTest.from_file(str(place / "app.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def test_bands_that_are_measured_while_a_page_is_drawn_come_into_view(full, monkeypatch, tmp_path):
    """By a worker, after the page has read the model and before it asks who works on it."""
    space, _, model, _ = full
    app = begun(tmp_path, model=model.id)

    def ends(*asked):
        change = lambda about: about | {"bands": 30}  # noqa: E731
        worker = threading.Thread(target=space.edit, args=("models", model.id, change))
        worker.start()
        worker.join()

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(runs, "working_on", ends)
        app.switch_page(str(ROOT / "pages" / "shapes.py")).run()
    assert "There is no band yet" not in captions(app)
    assert "Measure bands" not in [button.label for button in app.button]
    assert "Bands from 30 refits" in captions(app.run())  # as the timer of what waits has the page drawn again


@pytest.mark.slow
def test_no_page_sends_more_than_a_few_statements(acted, statements, tmp_path):
    _, table, board = acted
    app = begun(tmp_path, table=table.id, board=board.id)
    counts, twice = {}, {}
    for name in PAGES:
        app.switch_page(str(ROOT / "pages" / f"{name}.py")).run()
        assert not app.exception, name
        statements.clear()
        app.run()
        counts[name] = len(statements)
        twice[name] = [sent for sent, times in Counter(statements).items() if times > 1]
    assert {name: count for name, count in counts.items() if count > MOST} == {}, twice


def test_what_is_read_once_is_read_again_after_a_change(sure, statements):
    space, table, model, _ = sure
    with reading_once():
        assert {one.id for one in space.models.listed()} >= {model.id}
        statements.clear()
        assert space.models.about(model.id).name == model.name
        space.tables.about(table.id), space.tables.about(table.id)
        assert len(statements) == 1
        space.models.rename(model.id, "another")
        assert space.models.about(model.id).name == "another"
        assert [one.name for one in space.models.listed() if one.id == model.id] == ["another"]
        space.models.about(model.id).spec["features"].append("nobody's")
        assert "nobody's" not in space.models.about(model.id).spec["features"]
    statements.clear()
    space.models.about(model.id), space.models.about(model.id)
    assert len(statements) == 2


def test_what_a_run_has_read_is_read_anew_once_it_writes(full):
    """Names and lists of things, which a run of a page asks for again and again."""
    space, table, *_ = full
    column, *_ = space.tables.columns(table.id)
    with reading_once():
        assert state.names(table.id).column(column) == column
        before = len(state.workspace().tables.listed())
        assert state.workspace() is state.workspace()
        state.set_names(table.id, Names({column: ColumnNames("Named anew")}))
        state.workspace().tables.add(space.tables.read(table.id).head(9), "another")
        assert state.names(table.id).column(column) == "Named anew"
        assert len(state.workspace().tables.listed()) == before + 1
