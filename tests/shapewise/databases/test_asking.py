"""Queries against a real PostgreSQL and real files of DuckDB: what is stored, what is refused, what is ended."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from shapewise.access.quotas import Limits
from shapewise.databases import queries
from shapewise.databases.connections import Connection
from shapewise.databases.queries import PREVIEW_ROWS, Asking, load, preview
from shapewise.ingest.common import ReaderError
from shapewise.ingest.supervisor import ReadLimits
from shapewise.processes import ABOUT, read_end
from shapewise.store.atomic_files import write_json
from tests.support.forks import Program, failures
from tests.support.postgres import PASSWORD, WRITTEN, postgres
from tests.support.spaces import until

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("psycopg")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    with postgres() as running:
        running.run(
            "CREATE TABLE customers (id int PRIMARY KEY, age int, region text, balance numeric(10, 2))",
            "INSERT INTO customers SELECT k, 20 + k % 60, CASE k % 3 WHEN 0 THEN 'north' ELSE 'south' END, k / 4.0 "
            "FROM generate_series(1, 3000) k",
            "CREATE SEQUENCE numbers", "CREATE TYPE mood AS ENUM ('sad', 'fine')",
        )  # fmt: skip
        yield running


@dataclass(frozen=True)
class Kind:
    """One of the databases: how it is reached, and what it calls things."""

    connection: Connection
    run: Any


@pytest.fixture(params=["postgresql", "duckdb"])
def kind(request, server, tmp_path):
    if request.param == "postgresql":
        return Kind(Connection("shop", server.url()), server.run)
    path = tmp_path / "shop.duckdb"

    def run(*statements):
        with duckdb.connect(str(path)) as opened:
            return [opened.execute(statement).fetchall() for statement in statements][-1]

    run(
        "CREATE TABLE customers AS SELECT k::INT AS id, (20 + k % 60)::INT AS age, CASE k % 3 WHEN 0 THEN 'north' ELSE "
        "'south' END AS region, (k / 4.0)::DECIMAL(10, 2) AS balance FROM range(1, 3001) t(k)",
        "CREATE SEQUENCE numbers",
    )  # fmt: skip
    return Kind(Connection("shop", f"duckdb:///{path}"), run)


def nothing(share, words):
    """Take a report of progress."""


ASK = """
import json, os, sys
from pathlib import Path

from shapewise.databases.child import main
from shapewise.processes import ABOUT

about = Path(sys.argv[1], ABOUT)
about.write_text(json.dumps({**json.loads(about.read_text()), "server": os.getppid()}))
end, beginning = os.pipe()  # it stays open: somebody waits for the rows
os.write(beginning, sys.argv[2].encode() + b"\\n")
os.dup2(end, 0)
main(sys.argv[1])
"""
"""The child of a query, with what its server would tell it."""


def refusals(connection, texts, place):
    """What is said of each text, asked by a child as `preview` has it asked; all children are forks of one process."""
    programs = []
    for number, text in enumerate(texts):
        folder, limits = place / f"asked-{number}", ReadLimits()
        folder.mkdir()
        asking = Asking(connection, text, folder, limits, nothing, rows=PREVIEW_ROWS, cut=True)
        write_json(folder / ABOUT, {**asking._job(), "memory": limits.memory, "table": limits.table})
        programs.append(Program(f"{number}: {text}", ASK, str(folder), (str(folder), connection.url)))
    libraries = ["duckdb", "psycopg", "shapewise.databases.child"]
    assert failures(programs, libraries, ARROW_DEFAULT_MEMORY_POOL="system") == {}
    ends = [read_end(place / f"asked-{number}") for number in range(len(texts))]
    assert [text for text, end in zip(texts, ends, strict=True) if end["state"] != "failed"] == []
    return [in_a_sentence(end["message"]) for end in ends]


def refusal(space, connection, text):
    with pytest.raises(ReaderError) as caught:
        preview(space, connection, text, nothing)
    return in_a_sentence(str(caught.value))


def in_a_sentence(said):
    assert said.endswith(".")
    assert "\n" not in said
    assert PASSWORD not in said
    assert WRITTEN not in said
    return said


def test_rows_are_stored_with_their_query(kind, space):
    text = "SELECT id, age, region, balance FROM customers WHERE age < 40 ORDER BY id;  -- the young"
    table = load(space, kind.connection, text, "young", nothing)
    assert (table.name, table.columns, table.query) == (
        "young", 4, {"connection": "shop", "text": text, "by": "you"},
    )  # fmt: skip
    rows = space.tables.read(table.id)
    expected = np.arange(1, 3001)[(20 + np.arange(1, 3001) % 60) < 40]
    assert rows["id"].tolist() == expected.tolist()
    assert rows["balance"].tolist() == pytest.approx((expected / 4.0).round(2).tolist(), abs=0.0051)
    assert set(rows["region"]) == {"north", "south"}
    record = (space.root / "meta.sqlite").read_bytes()
    assert WRITTEN.encode() not in record
    assert b"duckdb:///" not in record


def test_a_look_takes_the_first_rows_alone(kind, space):
    frame, notes = preview(space, kind.connection, "SELECT * FROM customers ORDER BY id", nothing)
    assert frame["id"].tolist() == list(range(1, 51))
    assert notes == []
    assert space.tables.listed() == []


NO_QUERIES = [
    "INSERT INTO customers VALUES (-1, 1, 'x', 1)",
    "INSERT INTO customers VALUES (-1, 1, 'x', 1) RETURNING *",
    "UPDATE customers SET age = 0", "DELETE FROM customers", "DROP TABLE customers",
    "CREATE TABLE more AS SELECT 1 AS a", "CREATE TEMP TABLE more AS SELECT 1 AS a",
    "SELECT 1; DROP TABLE customers", "SELECT 1; COMMIT; DELETE FROM customers", "COMMIT", "BEGIN", "",
    "-- nothing", "SELECT nextval('numbers')", "EXPLAIN SELECT 1", "COPY customers TO '/dev/null'",
]  # fmt: skip


def test_what_is_not_a_query_that_reads_is_refused_and_changes_nothing(kind, tmp_path):
    before = kind.run("SELECT count(*), min(id), sum(age) FROM customers")
    refusals(kind.connection, NO_QUERIES, tmp_path)
    assert kind.run("SELECT count(*), min(id), sum(age) FROM customers") == before


WAYS_AROUND = [
    "WITH gone AS (DELETE FROM customers RETURNING *) SELECT * FROM gone",
    "SELECT set_config('transaction_read_only', 'off', true), nextval('numbers')",
    "SELECT * FROM customers FOR UPDATE", "SELECT * INTO more FROM customers",
    "DO $$ BEGIN DELETE FROM customers; END $$",
    "SELECT $1::int",
]  # fmt: skip


def test_no_way_around_it_in_postgresql(server, tmp_path):
    owner = Connection("shop", server.url("keeper"))  # who may do anything but for the session
    refusals(owner, WAYS_AROUND, tmp_path)
    assert server.run("SELECT count(*) FROM customers") == [(3000,)]


OUTSIDE = [
    "SELECT * FROM read_csv('{secret}')", "SELECT * FROM '{secret}'", "SELECT * FROM glob('/*')",
    "ATTACH '{secret}' AS other", "SET enable_external_access = true", "INSTALL httpfs", "LOAD httpfs",
    "SELECT getenv('HOME')", "SELECT content FROM read_text('{secret}')", "EXPORT DATABASE '{secret}'",
]  # fmt: skip


def test_duckdb_reaches_nothing_beside_its_file(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    duckdb.connect(str(tmp_path / "shop.duckdb")).close()
    shop = Connection("shop", f"duckdb:///{tmp_path / 'shop.duckdb'}")
    refusals(shop, [text.format(secret=secret) for text in OUTSIDE], tmp_path)


WRONG = {
    "SELEC 1": "line 1, character 1",
    "SELECT id,\n  incom FROM customers": "line 2, character 3",
    "SELECT id\nFROM nowhere": "line 2, character 6",
    "SELECT id FROM customers WHERE false": "gives no rows",
    "SELECT CAST('x' AS INT)": "cannot run the query",
}  # fmt: skip


def test_what_is_wrong_with_a_query_is_said_with_its_place(kind, tmp_path):
    for words, refused in zip(WRONG.values(), refusals(kind.connection, list(WRONG), tmp_path), strict=True):
        assert words in refused


def test_who_cannot_be_reached_is_said_without_the_password(server, space):
    def said(url):
        return refusal(space, Connection("shop", url), "SELECT 1")

    assert "refuses the user or the password" in said(server.url(password="wrong%40secret"))
    assert "wrong" not in said(server.url(password="wrong%40secret"))
    assert 'database "nowhere" does not exist' in said(server.url(database="nowhere"))
    assert "cannot be reached at 127.0.0.1, port 1 (" in said(f"postgresql://reader:{WRITTEN}@127.0.0.1:1/shop")
    assert "cannot be reached at no.such.host" in said(f"postgresql://reader:{WRITTEN}@no.such.host/shop")


def test_a_file_that_is_gone_damaged_or_in_use_is_said(space, tmp_path):
    def said(path):
        return refusal(space, Connection("shop", f"duckdb:///{path}"), "SELECT 1")

    assert "is not there" in said(tmp_path / "gone.duckdb")
    (tmp_path / "damaged.duckdb").write_bytes(b"no database" * 1000)
    assert "cannot be opened" in said(tmp_path / "damaged.duckdb")
    with duckdb.connect(str(tmp_path / "used.duckdb")):
        assert "another program has it open to write" in said(tmp_path / "used.duckdb")


def test_a_table_that_may_not_be_read_is_said(server, space):
    server.run("CREATE ROLE stranger LOGIN PASSWORD 'x'")
    assert "does not let this app read that" in refusal(
        space, Connection("shop", server.url("stranger", "x")), "SELECT * FROM customers"
    )


def test_a_team_does_not_ask_as_a_user_who_may_do_anything(server, space, monkeypatch):
    preview(space, Connection("shop", server.url("keeper")), "SELECT 1 AS a", nothing)
    monkeypatch.setattr(queries, "is_shared", lambda: True)
    assert "may do anything to the server" in refusal(space, Connection("shop", server.url("keeper")), "SELECT 1")
    preview(space, Connection("shop", server.url()), "SELECT 1 AS a", nothing)


def test_more_rows_than_allowed_are_refused_and_nothing_is_stored(kind, space, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_QUERY_ROWS", "2999")
    with pytest.raises(ReaderError, match="more than 2,999 rows"):
        load(space, kind.connection, "SELECT * FROM customers", "all", nothing)
    assert space.tables.listed() == []
    monkeypatch.setenv("SHAPEWISE_QUERY_ROWS", "3000")
    assert load(space, kind.connection, "SELECT * FROM customers", "all", nothing).rows == 3000


LONG = {
    "postgresql": "SELECT count(*) FROM generate_series(1, 100000000000) a",
    "duckdb": "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 3",
}


def name_of(kind):
    return kind.connection.url.partition(":")[0]


def running(server):
    return server.run("SELECT pid FROM pg_stat_activity WHERE state = 'active' AND usename = 'reader'")


def test_a_query_that_takes_too_long_is_ended(kind, space, server, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_QUERY_SECONDS", "2")
    assert "took more than 2 seconds" in refusal(space, kind.connection, LONG[name_of(kind)])
    until(lambda: not running(server))


def test_a_query_that_is_ended_on_its_way_is_said_to_take_too_long(kind, space, monkeypatch):
    monkeypatch.setenv("SHAPEWISE_QUERY_SECONDS", "3")
    monkeypatch.setenv("SHAPEWISE_QUERY_ROWS", "10000000000")
    of = "generate_series(1, 10000000000)" if name_of(kind) == "postgresql" else "range(10000000000)"
    with pytest.raises(ReaderError, match="took more than 3 seconds"):
        load(space, kind.connection, f"SELECT * FROM {of} AS t(k)", "long", nothing)


def test_what_duckdb_cannot_hold_is_said(space, tmp_path, monkeypatch):
    path = tmp_path / "shop.duckdb"
    duckdb.connect(str(path)).close()
    space.limits = Limits(memory=200 * 2**20, bytes=10 * 2**20)
    text = "SELECT k, hash(k) AS h, repeat(md5(k::TEXT), 8) AS m FROM range(5000000) t(k) ORDER BY m DESC"
    with pytest.raises(
        ReaderError, match=r"more memory than it may take|more than 200 MiB of memory|that you may still keep"
    ):
        load(space, Connection("shop", f"duckdb:///{path}"), text, "large", nothing)
    assert space.tables.listed() == []


def test_a_query_is_told_of_from_the_beginning_and_ends_on_its_server_when_nobody_waits(kind, space, server):
    class LeftError(Exception):
        pass

    heard: list[str] = []
    before = {child.pid for child in psutil.Process().children()}

    def tell(share, words):
        heard.append(words)
        if words.startswith("The query runs"):
            raise LeftError

    with pytest.raises(LeftError):
        load(space, kind.connection, LONG[name_of(kind)], "long", tell)
    assert heard[0].startswith("Connecting")
    until(lambda: not running(server))
    assert {child.pid for child in psutil.Process().children()} <= before


def test_a_query_ends_on_its_server_when_the_child_is_killed(server, space):
    def ask():
        with pytest.raises(ReaderError, match="reader stopped"):
            preview(space, Connection("shop", server.url()), LONG["postgresql"], nothing)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: running(server))
    for child in psutil.Process().children():
        if any("shapewise.databases.child" in word for word in child.cmdline()):
            child.kill()
    thread.join()
    until(lambda: not running(server))


def test_every_type_is_stored_right_or_left_out_in_words(server, space):
    text = """SELECT 7::int2 AS small, 9007199254740993::int8 AS big, 1.25::numeric AS exact, 'NaN'::numeric AS nan,
      12345678901234567.89::numeric AS long, 'Infinity'::float8 AS infinite, true AS yes, '2024-02-29'::date AS day,
      '0044-03-15 BC'::date AS ides, 'infinity'::timestamp AS never, '20000-01-01'::date AS far,
      '2024-05-01 10:00:00.5+02'::timestamptz AS moment, '0001-01-01'::timestamp AS first, interval '1 day' AS span,
      time '10:00' AS clock, '\\xff'::bytea AS picture, '{"a": 1}'::jsonb AS json, ARRAY[1, 2] AS several,
      '11111111-2222-3333-4444-555555555555'::uuid AS id, NULL AS nothing, 'fine'::mood AS mood,
      '[1,5)'::int4range AS range, 'ab '::char(5) AS padded, ROW(1, 2) AS pair, 1 AS twice, 2 AS twice, '' AS empty,
      'é "%s" {}' AS odd, 3 AS "  " """
    frame, notes = preview(space, Connection("shop", server.url()), text, nothing)
    row = frame.iloc[0]
    missing = {"nan", "infinite", "ides", "never", "far", "nothing"}
    assert set(frame.columns[frame.isna().all()]) == missing
    assert (row["small"], row["big"], row["exact"], row["long"]) == (7, 9007199254740993, 1.25, 12345678901234567.89)
    assert bool(row["yes"])
    assert row["day"] == pd.Timestamp("2024-02-29")
    assert row["moment"] == pd.Timestamp("2024-05-01 08:00:00.5")
    assert str(row["first"]) == "0001-01-01 00:00:00"
    assert row["json"] == '{"a": 1}'
    assert row["id"] == "11111111-2222-3333-4444-555555555555"
    assert (row["mood"], row["range"], row["padded"]) == ("fine", "[1,5)", "ab")
    assert (row["twice"], row["twice (2)"], row["empty"], row["odd"]) == (1, 2, "", 'é "%s" {}')
    said = " ".join(notes)
    for name in ("span", "clock", "picture", "several", "pair"):
        assert name not in frame
        assert name in said
    for name in ("big", "long", "infinite", "ides", "never", "far", "moment", "range", "twice (2)"):
        assert name in said


def test_every_type_of_duckdb_is_stored_right_or_left_out_in_words(space, tmp_path):
    path = tmp_path / "types.duckdb"
    duckdb.connect(str(path)).close()
    text = """SELECT 7::UTINYINT AS small, 9007199254740993::BIGINT AS big, 1.25::DECIMAL(10, 2) AS exact,
      'nan'::DOUBLE AS nan, 'inf'::DOUBLE AS infinite, true AS yes, '2024-02-29'::DATE AS day,
      'infinity'::TIMESTAMP AS never,
      '-infinity'::DATE AS ever, '2024-05-01 10:00:00.5+02'::TIMESTAMPTZ AS moment, '2024-05-01'::TIMESTAMP_NS AS fine,
      INTERVAL 1 DAY AS span,
      TIME '10:00' AS clock, 'a'::BLOB AS picture, '{"a": 1}'::JSON AS json, [1, 2] AS several, {'a': 1} AS pair,
      '11111111-2222-3333-4444-555555555555'::UUID AS id, NULL AS nothing, 'x'::ENUM('x', 'y') AS mood, 1 AS twice, 2 AS
      twice, '' AS empty, 12::HUGEINT AS huge"""
    frame, notes = preview(space, Connection("types", f"duckdb:///{path}"), text, nothing)
    row = frame.iloc[0]
    assert set(frame.columns[frame.isna().all()]) == {"nan", "infinite", "never", "ever", "nothing"}
    assert (row["small"], row["big"], row["exact"], row["huge"]) == (7, 9007199254740993, 1.25, 12)
    assert row["day"] == pd.Timestamp("2024-02-29")
    assert row["moment"] == pd.Timestamp("2024-05-01 08:00:00.5")
    assert (row["json"], row["mood"], row["twice"], row["twice (2)"]) == ('{"a": 1}', "x", 1, 2)
    assert row["id"] == "11111111-2222-3333-4444-555555555555"
    said = " ".join(notes)
    for name in ("span", "clock", "picture", "several", "pair"):
        assert name not in frame
        assert name in said
    for name in ("big", "infinite", "never", "ever", "moment", "twice (2)"):
        assert name in said


def test_a_table_too_large_for_memory_gets_a_sample(kind, space):
    space.limits = Limits(table_memory=20_000)
    table = load(space, kind.connection, "SELECT id, age FROM customers ORDER BY id", "many", nothing)
    assert table.rows == 3000
    assert 0 < table.sampled < 600
    shown = space.tables.read(table.id)
    assert shown["id"].is_monotonic_increasing
    assert len(pd.read_parquet(space.tables.path(table.id))) == 3000
