"""A PostgreSQL server for tests, with a user that owns a database and one that may only read it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import free_port

PLACES = (*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/local/bin"))
PASSWORD = "p@ss/word%1"  # has to be written as %40, %2F and %25 in a URL
WRITTEN = "p%40ss%2Fword%251"


@dataclass(frozen=True)
class Postgres:
    """A running server. owner, reader : URLs of the one database, for who may do anything in it and who may read."""

    port: int
    folder: Path

    def url(self, user: str = "reader", password: str = WRITTEN, database: str = "shop") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str, database: str = "shop") -> list[Any]:
        """Run statements as the owner; return the rows of the last."""
        import psycopg

        with psycopg.connect(self.url("keeper", database=database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def postgres_folder() -> Path | None:
    """Return the folder of the server's programs, if it is installed."""
    path = shutil.which("initdb")
    return next((place for place in PLACES if (place / "initdb").exists()), Path(path).parent if path else None)


def needed() -> Path:
    """Return the folder of the server's programs, or skip; in CI a missing one is a failure."""
    folder = postgres_folder()
    if folder is None and os.environ.get("CI") == "true":
        pytest.fail("No PostgreSQL: CI installs Debian's postgresql.")
    if folder is None:
        pytest.skip("No PostgreSQL on this machine: install it to run the tests of databases.")
    return folder


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Start a server on an empty folder; end it, and remove all."""
    programs, port = needed(), free_port()
    with tempfile.TemporaryDirectory(prefix="pg") as place:
        folder = Path(place)
        (folder / "secret").write_text(PASSWORD)
        if os.getuid() == 0:  # a server does not run as root
            shutil.chown(folder, "nobody")
            shutil.chown(folder / "secret", "nobody")
        initial = ["-D", folder / "data", "-A", "scram-sha-256", "-U", "keeper", f"--pwfile={folder / 'secret'}"]
        made = _as_nobody([programs / "initdb", *initial, "-E", "UTF8", "--locale=C", "--no-sync"], folder)
        assert made.wait() == 0, (folder / "log").read_text()
        server = _as_nobody(
            [programs / "postgres", "-D", folder / "data", "-p", str(port), "-k", folder, "-h", "127.0.0.1", "-F"],
            folder,
        )
        try:
            _wait(programs, port)
            running = Postgres(port, folder)
            running.run("CREATE DATABASE shop", database="postgres")
            running.run(
                f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'", "GRANT pg_read_all_data TO reader",
            )  # fmt: skip
            yield running
        finally:
            server.terminate()
            server.wait(30)


def _as_nobody(command: list[Any], folder: Path) -> subprocess.Popen[bytes]:
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([str(word) for word in command], cwd=folder, stdout=log, stderr=log, **user)


def _wait(programs: Path, port: int) -> None:
    ready = [str(programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(port), "-t", "60", "-q"]
    for _ in range(600):
        if subprocess.run(ready, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError("PostgreSQL does not answer")
