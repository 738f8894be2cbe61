"""A database on the page Data, through streamlit's AppTest: a look, a table, its next versions, and what is refused."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from shapewise.access.permissions import Person
from shapewise.databases.queries import source_of
from shapewise.training.derived import keep
from shapewise.ui.session import deployment, state
from tests.support.pages import button, captions, open_page

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.slow

QUERY = "SELECT id, age, good FROM customers ORDER BY id"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Declare a file of DuckDB; return what runs statements in it."""
    path = tmp_path / "shop.duckdb"

    def run(*statements):
        with duckdb.connect(str(path)) as opened:
            for statement in statements:
                opened.execute(statement)

    run("CREATE TABLE customers AS SELECT k AS id, 20 + k % 50 AS age, k % 3 = 0 AS good FROM range(400) t(k)")
    declared = {"shop": f"duckdb:///{path}", "payroll": {"url": f"duckdb:///{path}", "role": "admin"}}
    monkeypatch.setattr(deployment, "section", lambda name: declared if name == "databases" else {})
    return run


def asked(app, text, label, name=""):
    next(one for one in app.text_area if one.label == "Query").input(text)
    if name:
        next(one for one in app.text_input if one.label == "Name of the table").input(name)
    app.run()
    button(app, label).click().run()
    assert not app.exception
    return app


def in_the_dialog(table):
    """The dialog alone, as AppTest knows no runs of a dialog without its page."""

    def script():
        from shapewise.databases.queries import SavedQuery
        from shapewise.ui.data import queries
        from shapewise.ui.session import current

        table = current.in_view().table
        queries.dialog(SavedQuery(**table.query), table)

    app = AppTest.from_function(script, default_timeout=60)
    app.query_params["table"] = table.id
    return app.run()


def test_where_nothing_is_declared_nothing_is_offered(space):
    assert not open_page("data").text_area


def test_a_look_shows_rows_and_stores_nothing(space, shop):
    app = asked(open_page("data"), QUERY, "Preview")
    assert not app.error
    assert app.dataframe[0].value["age"].tolist()[:3] == [20, 21, 22]
    assert "The first 50 rows." in captions(app)
    assert space.tables.listed() == []
    app = asked(app, "SELECT nope FROM customers", "Preview")
    assert "line 1, character 8" in app.error[0].value
    assert not app.dataframe


def test_rows_are_loaded_shown_with_their_query_and_refreshed(space, shop):
    asked(open_page("data"), QUERY, "Load the rows")
    (first,) = space.tables.listed()
    assert first.name == "customers"
    app = open_page("data", table=first.id)
    assert [one.value for one in app.code] == [QUERY]
    assert "From the database shop" in " ".join(one.value for one in app.markdown)
    button(app, "Refresh").click().run()
    assert "the same table as this version" in app.error[0].value
    shop("INSERT INTO customers SELECT k, 90, true FROM range(400, 500) t(k)")
    button(app, "Refresh").click().run()
    assert not app.exception
    assert not app.error
    second, _ = space.tables.listed()
    assert (second.rows, second.replaces, second.name) == (500, first.id, "customers")
    assert second.query == first.query
    button(open_page("data", table=first.id), "Refresh").click().run()  # an older version: it has no new rows either
    assert len(space.tables.listed()) == 2


def test_a_version_with_computed_columns_is_refreshed_with_them(space, shop):
    from shapewise.columns.steps import Computed

    asked(open_page("data"), QUERY, "Load the rows")
    (first,) = space.tables.listed()
    made, _ = keep(space, first, [Computed("older", "age + 1")])
    shop("DELETE FROM customers WHERE id < 100")
    button(open_page("data", table=made.id), "Refresh").click().run()
    latest = space.tables.listed()[0]
    assert (latest.rows, latest.steps) == (300, made.steps)
    assert space.tables.read(latest.id)["older"].tolist()[:2] == [21, 22]
    assert source_of(space.tables.listed(), latest) is not None


def test_a_column_that_has_gone_is_said_and_the_query_changed(space, shop):
    asked(open_page("data"), QUERY, "Load the rows", name="people")
    (first,) = space.tables.listed()
    shop("ALTER TABLE customers DROP COLUMN age")
    app = open_page("data", table=first.id)
    button(app, "Refresh").click().run()
    assert '"age" not found' in app.error[0].value
    assert "line 1, character 12" in app.error[0].value
    button(app, "Change the query").click().run()
    assert app.text_area[0].value == QUERY
    app = in_the_dialog(first)
    app.text_area[0].input("SELECT id, good FROM customers ORDER BY id").run()
    button(app, "Load the rows").click().run()
    assert not app.exception
    second = space.tables.listed()[0]
    assert (second.name, second.columns, second.replaces) == ("people", 2, first.id)
    assert second.query["text"] == "SELECT id, good FROM customers ORDER BY id"


def test_people_ask_what_their_role_allows(space, shop, monkeypatch):
    assert open_page("data").selectbox[0].options == ["shop", "payroll"]
    monkeypatch.setattr(state.signin, "person", lambda space: Person("ann", "Ann", "editor"))
    assert open_page("data").selectbox[0].options == ["shop"]
    monkeypatch.setattr(state.signin, "person", lambda space: Person("ann", "Ann", "viewer"))
    assert not open_page("data").text_area


def test_a_database_that_is_declared_no_more_is_said(space, shop, monkeypatch):
    asked(open_page("data"), QUERY, "Load the rows")
    (first,) = space.tables.listed()
    monkeypatch.setattr(deployment, "section", lambda name: {})
    app = open_page("data", table=first.id)
    button(app, "Refresh").click().run()
    assert "knows no database 'shop'" in app.error[0].value


def test_a_file_of_the_allowed_folder_needs_no_declaration(space, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    with duckdb.connect(str(folder / "mine.duckdb")) as opened:
        opened.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
    monkeypatch.setenv("GAMCORE_DATA_FOLDER", str(folder))
    app = open_page("data")
    assert next(one for one in app.selectbox if one.label == "Database").options == ["mine.duckdb"]
    asked(app, "SELECT * FROM t", "Load the rows")
    assert [table.name for table in space.tables.listed()] == ["t"]
