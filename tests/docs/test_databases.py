"""Databases are declared as docs/deploy/databases.md says: its blocks start a server, and their databases are asked."""

from __future__ import annotations

import tomllib

import pytest

from shapewise.databases import connections as databases
from shapewise.databases.queries import load
from shapewise.store.workspace import Workspace
from tests.support.pages_of_docs import DOCS, blocks
from tests.support.postgres import postgres
from tests.support.serving import Server, sound

pytestmark = pytest.mark.slow

PAGE = DOCS / "deploy" / "databases.md"


def block(language, words):
    """Return the one block of a language that has some words."""
    (code,) = (code for _, code in blocks(PAGE, language) if words in code)
    return code


def starts_and_answers(text, name, tmp_path):
    """Start a server with a secrets file; ask the database that it declares; return the stored rows."""
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(text)
    space = Workspace(tmp_path / "space")
    with sound(Server(space.root, {"STREAMLIT_SECRETS_FILES": str(secrets)}, bare=True)) as server:
        server.ready()
    section = tomllib.loads(text)["databases"]
    assert databases.misconfigured(section) == []
    connection = databases.named(databases.declared(section), name, space.person)
    table = load(
        space, connection, "SELECT id, name FROM customers ORDER BY id", "customers", lambda share, words: None
    )
    return space.tables.read(table.id)


def test_postgresql(tmp_path):
    with postgres() as server:
        server.run("CREATE TABLE customers AS SELECT 1 AS id, 'Ann' AS name UNION SELECT 2, 'Bob'")
        server.run(*block("sql", "CREATE ROLE").split(";")[:-1])
        text = block("toml", "warehouse").replace("db.example.org:5432", f"127.0.0.1:{server.port}")
        rows = starts_and_answers(text, "warehouse", tmp_path)
        assert rows["name"].tolist() == ["Ann", "Bob"]
        payroll = tomllib.loads(block("toml", "payroll"))["databases"]
        assert databases.misconfigured(payroll) == []
        assert databases.declared(payroll)[0].role == "admin"


def test_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE customers AS SELECT 1 AS id, 'Ann' AS name")
    text = block("toml", "shop.duckdb").replace("/srv/shapewise/shop.duckdb", str(path))
    rows = starts_and_answers(text, "shop", tmp_path)
    assert rows["name"].tolist() == ["Ann"]


def test_a_server_does_not_start_with_a_database_that_it_cannot_ask(tmp_path):
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('[databases]\nshop = "mysql://shapewise:hunter2@db/shop"\n')
    server = Server(Workspace(tmp_path / "space").root, {"STREAMLIT_SECRETS_FILES": str(secrets)}, bare=True)
    assert server.process.wait(120) == 2
    said = (server.space / "server.log").read_text()
    assert "[databases], 'shop': it is neither PostgreSQL nor DuckDB" in said
    assert "hunter2" not in said
