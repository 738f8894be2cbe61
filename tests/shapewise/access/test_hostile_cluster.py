"""A cluster that lies, hangs or speaks another language: the app says so in a sentence, and goes on."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gamcore.distributed import client as connection
from gamcore.distributed.pieces import pieces_of
from shapewise.access import cluster
from shapewise.datasets.dataset import load_dataset
from shapewise.errors import StoreError
from shapewise.ingest.common import ReaderError
from tests.support.certificates import answer_of, certificates_of
from tests.support.pieces import bare_cluster, files_of, mixed_table


@pytest.fixture
def at(monkeypatch):
    """Ask for the workers at an address, with little patience; what is said instead."""
    monkeypatch.setattr(cluster, "WAIT_SECONDS", 1.0)

    def ask(address):
        monkeypatch.setenv("SHAPEWISE_CLUSTER", address)
        with pytest.raises(StoreError) as refused:
            cluster.workers()
        return str(refused.value)

    return ask


@contextmanager
def listening(answer):
    """A port at which somebody listens who answers each connection like this."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve():
            while True:
                try:
                    one, _ = server.accept()
                except OSError:
                    return
                held.append(one)
                with suppress(OSError):  # who asked has gone
                    answer(one)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for one in held:
            one.close()


ANSWERS = {
    "never": lambda one: None, "hangs up": lambda one: one.close(), "garbage": lambda one: one.sendall(b"\xff" * 4096),
    "HTTP": lambda one: one.sendall(b"HTTP/1.1 200 OK\r\n\r\n"),
    "a frame of 2^60 bytes": lambda one: one.sendall((2**60).to_bytes(8, "little") * 2),
}  # fmt: skip


def loops():
    """The threads of Dask's clients."""
    return {thread for thread in threading.enumerate() if thread.name == "IO loop"}


@pytest.mark.slow
@pytest.mark.parametrize("answer", ANSWERS)
def test_who_is_no_scheduler_is_told_in_a_sentence(answer, at):
    """Nothing of the attempt is left: what is collected later may end in the thread of another, which then hangs."""
    before = loops()
    with listening(ANSWERS[answer]) as port:
        said = at(f"tcp://127.0.0.1:{port}")
    assert said.startswith(f"The cluster at tcp://127.0.0.1:{port} does not answer")
    assert len(said) < 600
    assert loops() <= before


@pytest.mark.slow
@pytest.mark.parametrize("question", ["_check_versions", "workers", "who_has"])
def test_a_scheduler_that_hangs_is_not_waited_for_for_ever(question, at, tmp_path, monkeypatch):
    """It was connected to, and then stops to answer: whichever question comes next ends in a sentence."""
    with bare_cluster(tmp_path, 1) as there:
        made = connection.Connection(there.client)
        future = made.shared(1)
        made.finish([future])
        os.kill(there.scheduler.pid, signal.SIGSTOP)
        monkeypatch.setattr(connection, "ANSWER_SECONDS", 1.0)
        monkeypatch.setattr(connection, "GRACE_SECONDS", 1.0)
        try:
            ask = {"who_has": lambda: made.who_has([future])}.get(question) or getattr(made, question)
            with pytest.raises(connection.ClusterError, match="does not answer"):
                ask()
            made.stop("a name")  # a training that is cancelled goes on, too
            assert at(there.client.scheduler.address).startswith("The cluster at tcp://")
        finally:
            os.kill(there.scheduler.pid, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")
def test_wrong_tls_is_told_in_a_sentence(tmp_path):
    ours, theirs = certificates_of(tmp_path / "ours", "cluster"), certificates_of(tmp_path / "theirs", "stranger")
    half = {name: path for name, path in ours.items() if "KEY" not in name}
    nowhere = {name: f"{path}.gone" for name, path in ours.items()}
    (tmp_path / "run").mkdir()
    with bare_cluster(tmp_path / "run", 1, ours) as there:
        address = there.client.scheduler.address
        assert answer_of(address, ours, seconds=3.0).strip() == "1"
        for wrong in (theirs, half, nowhere, {}):
            said = answer_of(address, wrong, seconds=3.0)
            assert "does not answer" in said, (wrong, said)
            assert "Traceback" not in said
        assert "does not answer" in answer_of(address.replace("tls://", "tcp://"), {}, seconds=3.0)


@dataclass(frozen=True)
class Crew:
    """Workers that tell what a test lets them tell: of their pieces, and of the rows of a sample."""

    tell_pieces: object = staticmethod(lambda pieces: pieces)
    tell_rows: object = staticmethod(lambda table: table)

    def pieces(self, place):
        return self.tell_pieces(pieces_of(place))

    def sketch(self, of, pieces, starts, tell):
        made = [of(start, piece) for start, piece in zip(starts, pieces, strict=True)]
        return [(self.tell_rows(one[0]), one[1]) if isinstance(one, tuple) else one for one in made]


def counted(n):
    """A lie about the rows of the first piece."""

    def tell(pieces):
        return [replace_rows(pieces[0], n), *pieces[1:]]

    return tell


def replace_rows(piece, n):
    return replace(piece, n_rows=n)


LIES = {
    "fewer rows": Crew(counted(1)), "more rows": Crew(counted(10**6)), "rows below none": Crew(counted(-5)),
    "rows beyond all": Crew(counted(10**15)), "half a row": Crew(counted(1.5)), "no number": Crew(counted(None)),
    "a text": Crew(counted("many")), "not a number": Crew(counted(float("nan"))),
    "rows left out": Crew(tell_rows=lambda table: table.slice(1)),
    "rows twice": Crew(tell_rows=lambda table: pa.concat_tables([table, table])),
    "a column less": Crew(tell_rows=lambda table: table.drop_columns([table.column_names[0]])),
    "another type": Crew(tell_rows=lambda table: table.set_column(0, table.column_names[0], [["x"] * len(table)])),
    "another name": Crew(tell_rows=lambda table: table.rename_columns(["x", *table.column_names[1:]])),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_worker_that_lies_about_rows_is_told_in_a_sentence_and_nothing_is_stored(lie, space, tmp_path, monkeypatch):
    url = files_of(Path(tmp_path) / "lake", mixed_table(2000))
    monkeypatch.setenv("SHAPEWISE_DATASETS", str(tmp_path))
    monkeypatch.setenv("SHAPEWISE_CLUSTER", "tcp://scheduler:8786")
    with pytest.raises((ReaderError, StoreError)) as refused:
        load_dataset(space, url, LIES[lie], lambda share, words: None)
    assert "worker" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert space.tables.listed() == []
    assert not list(space.root.glob(".*.tmp"))


def test_workers_that_tell_the_truth_are_believed(space, tmp_path, monkeypatch):
    url = files_of(Path(tmp_path) / "lake", mixed_table(2000))
    monkeypatch.setenv("SHAPEWISE_DATASETS", str(tmp_path))
    made = load_dataset(space, url, Crew(), lambda share, words: None)
    assert made.rows == 2000
    assert isinstance(space.tables.read(made.id), pd.DataFrame)
    assert np.isfinite(made.sampled)
