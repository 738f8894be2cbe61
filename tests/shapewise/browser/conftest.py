"""Servers, a fresh one for each test and one to read from, and pages that fail a test where the browser complains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from shapewise.decisions import guided_example as example
from shapewise.store.workspace import Workspace
from shapewise.training.train import add_bands, train
from tests.support.serving import Server, opened, sound


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Fresh servers, each on an empty workspace; the next one starts while a test is busy with its own."""

    def fresh():
        return Server(Workspace(tmp_path_factory.mktemp("space") / "space").root)

    spare = [fresh()]

    def take():
        taken = spare.pop()
        spare.append(fresh())
        return taken

    yield take
    spare.pop().stop()


@pytest.fixture
def server(servers):
    with sound(servers()) as taken:
        yield taken


@pytest.fixture
def space(server):
    return Workspace(server.space)


@pytest.fixture
def page(chromium, server):
    with opened(chromium, server, viewport={"width": 1400, "height": 1200}) as page:
        yield page


@dataclass(frozen=True)
class Prepared:
    """A served workspace that many tests only read: the sample renewal, the guided example's models and board, and a
    model with pairs, which was trained last."""

    server: Server
    space: Workspace
    table: str
    model: str
    board: str


@pytest.fixture(scope="session")
def renewal(tmp_path_factory):
    space = Workspace(tmp_path_factory.mktemp("renewal") / "space")
    table = example.load(space, example.FUNNEL)
    columns = [str(name) for name in space.tables.read(table.id).columns]
    while example.train_next(space, table, columns, 2):
        pass
    board = example.make_board(space, table)
    renew = example.spec(table, columns, example.PARTS[0])
    model = train(space, replace(renew, name="renew", preset="fast", changes={"interactions": 3}))
    add_bands(space, model.id)
    with sound(Server(space.root)) as server:
        yield Prepared(server, space, table.id, model.id, board.id)


@pytest.fixture
def reader(chromium, renewal):
    """A page on the prepared workspace, of the size of a common laptop. What a test changes, others see."""
    with opened(chromium, renewal.server, viewport={"width": 1440, "height": 900}) as page:
        yield page
