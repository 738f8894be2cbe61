"""What a deployment declares of its databases: read right, or refused without showing it."""

from __future__ import annotations

import pytest

from shapewise.access.permissions import Person
from shapewise.databases import connections as databases
from shapewise.databases.child import hidden
from shapewise.databases.queries import SavedQuery, source_of
from shapewise.errors import DeniedError, StoreError
from shapewise.store.tables import TableAbout

SECRET = "hunter2"
GOOD = {
    "warehouse": f"postgresql://shapewise:{SECRET}@db.example.org:5432/shop?sslmode=require",
    "other driver": f"postgresql+psycopg2://shapewise:{SECRET}@10.0.0.7/shop",
    "a slash": f"postgresql://a:p/{SECRET}@db/shop",
    "pay roll": {"url": f"postgresql://shapewise:{SECRET}@[::1]/pay", "role": "admin"},
    "local": "duckdb:////srv/shop.duckdb",
}
WRONG = {
    "mysql": f"mysql://a:{SECRET}@db/shop",
    "no url": {"role": "admin"},
    "other key": {"url": f"postgresql://a:{SECRET}@db/shop", "people": "x"},
    "viewers": {"url": f"postgresql://a:{SECRET}@db/shop", "role": "viewer"},
    "a number": 7,
    "bare at": f"postgresql://a:p@{SECRET}@db/shop",
    "no database": f"postgresql://a:{SECRET}@db",
    "port": f"postgresql://a:b@db:{SECRET}/shop",
    "memory": "duckdb:///:memory:",
    "relative": "duckdb:///shop.duckdb",
    "cloud": f"duckdb:///md:shop?motherduck_token={SECRET}",
    "words": SECRET,
    "lines": f"postgresql://a:{SECRET}\n@db/shop",
    "": f"postgresql://a:{SECRET}@db/shop",
    "x" * 61: f"postgresql://a:{SECRET}@db/shop",
}


def person(role):
    return Person("ann@example.org", "Ann", role)


def test_connections_are_read_and_never_show_their_addresses():
    known = databases.declared(GOOD)
    assert [one.name for one in known] == list(GOOD)
    assert [one.role for one in known] == ["editor", "editor", "editor", "admin", "editor"]
    assert databases.misconfigured(GOOD) == []
    assert SECRET not in repr(known)


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_asked_stops_the_start_in_a_sentence_without_its_address(name):
    (said,) = databases.misconfigured({name: WRONG[name]})
    assert said.startswith("[databases], ")
    assert said.endswith((".", ")."))
    assert SECRET not in said.replace(repr(name), "")
    assert databases.declared({name: WRONG[name]} | GOOD) == databases.declared(GOOD)


@pytest.mark.parametrize(("text", "fine"), [("", True), ("5", True), ("0", False), ("-1", False), ("many", False)])
@pytest.mark.parametrize("setting", [databases.ROWS, databases.SECONDS])
def test_limits_are_whole_numbers(setting, text, fine, monkeypatch):
    monkeypatch.setenv(setting, text)
    assert (databases.misconfigured({}) == []) == fine
    if fine:
        assert databases.most(setting) == int(text or databases.MOST[setting])


def test_a_role_decides_which_connections_there_are():
    known = databases.declared(GOOD)
    assert databases.usable(known, person("viewer")) == []
    assert [one.name for one in databases.usable(known, person("editor"))] == [
        "warehouse",
        "other driver",
        "a slash",
        "local",
    ]
    assert databases.usable(known, person("admin")) == known
    assert databases.named(known, "pay roll", person("admin")).name == "pay roll"
    with pytest.raises(DeniedError, match="Only people of the role admin"):
        databases.named(known, "pay roll", person("editor"))
    with pytest.raises(StoreError, match="knows no database 'gone'"):
        databases.named(known, "gone", person("admin"))


def test_files_of_duckdb_are_offered_from_the_folder_alone(tmp_path):
    allowed = tmp_path / "allowed"
    (allowed / "deep").mkdir(parents=True)
    odd = "50% of 2?#@:é.duckdb"
    for path in (
        allowed / "a.duckdb",
        allowed / "deep" / "b.duckdb",
        tmp_path / "secret.duckdb",
        allowed / "c.csv",
        allowed / odd,
    ):
        path.write_bytes(b"")
    (allowed / "way out.duckdb").symlink_to(tmp_path / "secret.duckdb")
    assert [one.name for one in databases.in_folder(allowed)] == [odd, "a.duckdb", "deep/b.duckdb"]
    assert databases.address(databases.in_folder(allowed)[0]).database == str(allowed / odd)
    assert databases.in_folder(None) == []


@pytest.mark.parametrize("url", ["postgresql://a:p%40ss%2F@db/x", "postgresql://a@db/x?password=p%40ss%2F"])
def test_a_password_is_hidden_wherever_it_is_said(url):
    said = hidden(f"cannot connect with 'p@ss/' to {url}", url)
    assert "p@ss/" not in said
    assert "p%40ss%2F" not in said
    assert said.startswith("cannot connect with '***'")
    assert hidden("no table named password", "postgresql://a:a@db/x?connect_timeout=10") == "no table named password"


def table(identifier, **more):
    return TableAbout(identifier, identifier, rows=1, columns=1, bytes=1, created="", **more)


def test_versions_know_the_query_of_those_they_come_from():
    query = {"connection": "warehouse", "text": "SELECT 1", "by": "Ann"}
    first, computed = table("a", query=query), table("b", made_of="a", replaces="a")
    uploaded, other = table("c", replaces="b"), table("d")
    tables = [first, computed, uploaded, other]
    assert [source_of(tables, one) for one in tables] == [first, first, first, None]
    assert source_of([computed], computed) is None
    assert SavedQuery(**query).by == "Ann"
