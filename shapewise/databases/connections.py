"""The databases that may be asked: what runs the server declares them, by name, with an address that nobody sees.

They are declared in the section [databases] of the deployment's secrets: `name = "URL"`, or a table of its own with
`url` and `role`, the least role that may use it. Files of DuckDB in the folder of the server's files need no name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from gamcore.common.extras import extra
from shapewise.access.permissions import ROLES, Person, Role
from shapewise.errors import DeniedError, StoreError

if TYPE_CHECKING:
    from sqlalchemy import URL

SECTION: Final = "databases"
LIBRARIES: Final = {"postgresql": ("sqlalchemy", "psycopg"), "duckdb": ("sqlalchemy", "duckdb")}
"""The databases whose sessions can be made to read only, and what connects to them."""

HOST: Final = re.compile(r"[A-Za-z0-9._:%-]*")
NAME: Final = re.compile(r"[^\W\s][\w .()/-]{0,59}")
ROWS, SECONDS = "SHAPEWISE_QUERY_ROWS", "SHAPEWISE_QUERY_SECONDS"
MOST: Final = {ROWS: 10_000_000, SECONDS: 600}


@dataclass(frozen=True)
class Connection:
    """A database under its name. url : with the password, so never shown. role : the least that may use it."""

    name: str
    url: str = field(repr=False)
    role: Role = "editor"


def declared(section: Mapping[str, Any]) -> list[Connection]:
    """Return the connections that a deployment declares, those left out that `misconfigured` names."""
    return [_connection(name, entry) for name, entry in section.items() if not _wrong_with(name, entry)]


def in_folder(top: Path | None) -> list[Connection]:
    """Return the files of DuckDB in a resolved folder, by their paths below it; links out of it are left out."""
    if top is None:
        return []
    files = [path for path in top.rglob("*.duckdb") if path.is_file() and path.resolve().is_relative_to(top)]
    return [Connection(str(path.relative_to(top)), f"duckdb:///{quote(str(path.resolve()))}") for path in sorted(files)]


def usable(connections: list[Connection], person: Person) -> list[Connection]:
    """Return the connections that a person may use."""
    return [connection for connection in connections if ROLES.index(person.role) >= ROLES.index(connection.role)]


def named(connections: list[Connection], name: str, person: Person) -> Connection:
    """Return the connection of a name; StoreError where there is none, or where this person may not use it."""
    connection = next((known for known in connections if known.name == name), None)
    if connection is None:
        raise StoreError(
            f"This server knows no database {name!r}: ask whoever runs it to declare it, or choose another one."
        )
    if connection not in usable([connection], person):
        raise DeniedError(f"Only people of the role {connection.role} may ask the database {name!r}.")
    return connection


def misconfigured(section: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the settings, as sentences that show no address."""
    wrong = [
        f"[{SECTION}], {name[:60]!r}: {why}" for name, entry in section.items() if (why := _wrong_with(name, entry))
    ]
    return wrong + [f"{name} is {text[:30]!r}: set it to a whole number above 0." for name, text in _limits().items()
                    if not (text.isascii() and text.isdigit() and int(text))]  # fmt: skip


def most(setting: str) -> int:
    """Return the most rows (ROWS) or seconds (SECONDS) of a query."""
    return int(_limits()[setting])


def _limits() -> dict[str, str]:
    return {name: os.environ.get(name, "").strip() or str(usual) for name, usual in MOST.items()}


def address(connection: Connection) -> URL:
    """Return the parts of a connection's URL; ImportError where the libraries are missing."""
    with extra("databases"):
        from sqlalchemy import make_url

    return make_url(connection.url)


def _connection(name: str, entry: Any) -> Connection:
    if isinstance(entry, str):
        return Connection(name, entry)
    return Connection(name, entry["url"], cast(Role, entry.get("role", "editor")))


def _wrong_with(name: str, entry: Any) -> str:
    """Return why a database cannot be asked, without its URL; empty if it can."""
    if not NAME.fullmatch(name):
        return "give it a name of at most 60 letters, digits, blanks and dashes."
    plain = {"url": entry} if isinstance(entry, str) else dict(entry) if isinstance(entry, Mapping) else {}
    if set(plain) - {"url", "role"} or not isinstance(plain.get("url"), str):
        return 'it is neither a URL nor a table with url and role: write name = "postgresql://...".'
    if plain.get("role", "editor") not in ("editor", "admin"):
        return "its role is neither editor nor admin: viewers load nothing."
    kind = plain["url"].partition(":")[0].partition("+")[0]
    if kind not in LIBRARIES:
        return (
            "it is neither PostgreSQL nor DuckDB, the two whose sessions can be made to read only: export its table as "
            "Parquet, or reach it through one of them."
        )
    if not all(map(find_spec, LIBRARIES[kind])):
        return 'it needs more libraries: pip install "shapewise[databases]".'
    return _wrong_with_url(plain["url"])


def _wrong_with_url(text: str) -> str:
    from sqlalchemy.exc import ArgumentError

    try:
        url = address(Connection("", text))
        if not text.isprintable():
            raise ValueError
    except (ArgumentError, ValueError):
        return "its URL cannot be read: write marks within the password as %40 (@), %2F (/) and so on."
    if url.get_backend_name() == "duckdb":
        path = url.database or ""
        return "" if Path(path).is_absolute() and ":memory:" not in path and not url.query else (
            "it is not the absolute path of a file: write duckdb:////srv/warehouse.duckdb."
        )  # fmt: skip
    if not HOST.fullmatch(url.host or "") or not url.database:
        return "its URL lacks a host or a database, or has marks in its password: write these as %40 (@), %2F (/)."
    return ""
