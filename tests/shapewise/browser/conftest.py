"""Two servers per process, one to work on and one to read from; pages fail a test where the browser complains."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from shapewise.decisions import guided_example as example
from shapewise.store.items import KINDS
from shapewise.store.workspace import StoreError, Workspace
from shapewise.training.train import add_bands, train
from tests.support.serving import LOG, Server, opened, sound, visiting


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A server for all tests of a process: a start takes as long as a short test."""
    server = Server(Workspace(tmp_path_factory.mktemp("space") / "space").root)
    yield server
    server.stop()


@pytest.fixture
def space(shared):
    """The workspace of the shared server, empty: a table that is loaded again has its former id, and would have the
    boards that another test made of it."""
    space = Workspace(shared.space)
    for kind in KINDS:
        for identifier in space.ids(kind):
            with suppress(StoreError):  # a part, which went with its model
                space.delete(kind, identifier)
    return space


@pytest.fixture
def server(shared, space):
    """The shared server on an empty workspace; a traceback in its log fails the test that caused it."""
    log = shared.space / LOG
    before = log.stat().st_size
    yield shared
    assert b"Traceback" not in log.read_bytes()[before:]


@pytest.fixture(scope="module")
def visitor(chromium, shared):
    with visiting(chromium, shared, viewport={"width": 1400, "height": 1200}) as visitor:
        yield visitor


@pytest.fixture
def page(visitor, server):
    with opened(visitor) as page:
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


@pytest.fixture(scope="module")
def laptop(chromium, renewal):
    """A visitor of the prepared workspace, with a screen of the commonest size."""
    with visiting(chromium, renewal.server, viewport={"width": 1440, "height": 900}) as visitor:
        yield visitor


@pytest.fixture
def reader(laptop):
    """A page on the prepared workspace. What a test changes, others see."""
    with opened(laptop) as page:
        yield page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """A browser test that failed tells what its page showed."""
    report = yield
    page = item.funcargs.get("page") or item.funcargs.get("reader")
    if report.when == "call" and report.failed and page is not None:
        report.sections.append(("the page", f"{page.url}\n{page.inner_text('body')}"))
    return report
