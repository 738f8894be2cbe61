"""A shared server, and people in browsers of their own: what is not shared with somebody is not there for them."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

from gamcore.decide.strategies import StrategySet
from shapewise.access.permissions import LOCAL
from shapewise.decisions import boards as board
from shapewise.store import people
from shapewise.store.workspace import Workspace
from shapewise.training import runs
from shapewise.training.train import train
from tests.support.proxies import proxy
from tests.support.serving import CALM, Server, settle, sound, walk, window
from tests.support.spaces import frame, spec_of

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECRET = "p" * 40
SHARED = {
    "GAMCORE_MODE": "shared", "GAMCORE_ADMINS": "boss@x.org", "GAMCORE_PROXY_SECRET": SECRET,
    "STREAMLIT_SERVER_COOKIE_SECRET": "s" * 40, "STREAMLIT_SERVER_ALLOWED_HOSTS": "localhost",
    "STREAMLIT_SERVER_TRUSTED_USER_HEADERS": '{"X-Forwarded-Email": "email"}',
}  # fmt: skip
NAME = "Quarterly secrets"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for all tests of the file: each has people of its own."""
    with sound(Server(Workspace(tmp_path_factory.mktemp("team") / "space").root, SHARED)) as taken:
        taken.ready()
        yield taken


@contextmanager
def person(chromium, server, name, secret=SECRET):
    """A browser of somebody whom the proxy names."""
    headers = {"X-Proxy-Secret": secret} | ({"X-Forwarded-Email": name} if name else {})
    with proxy(int(server.address.rpartition(":")[2]), headers) as address:
        context = window(chromium, base_url=address, viewport={"width": 1280, "height": 1400}, **CALM)
        page = context.new_page()

        def show(path):
            page.goto(path)
            settle(page)
            return page

        yield show
        context.close()


def test_neither_sees_what_is_the_others(chromium, server):
    """By lists, by addresses with ids, by a run's id, by a cache that is warm, or by a table of the same content."""
    space = Workspace(server.space)
    with person(chromium, server, "ann@x.org") as ann, person(chromium, server, "bob@x.org") as bob:
        page = ann("/data")
        assert "Or try a sample" in page.inner_text("body")
        hers = space.seen_by(people.now(space, "ann@x.org"))
        table = hers.tables.add(frame().rename(columns={"a": "secret column"}), NAME)
        spec = spec_of(table.id, name=NAME, features=["secret column", "b", "c"])
        model = train(hers, spec)
        made = board.add_board(hers, StrategySet(NAME), table.id)
        run = runs.start(hers, spec, 1)
        ids = f"?table={table.id}&model={model.id}&board={made.id}&run={run}"
        addresses = [f"/{name}{ids}" for name in ("data", "train", "models", "shapes", "strategies", "report")]
        for _ in walk(page, addresses):  # every cache has what is hers
            assert "no such" not in page.inner_text("body")
        assert NAME in ann("/models").inner_text("body")
        page = bob("/home")
        for _ in walk(page, addresses):
            text = page.inner_text("body") + page.content()
            assert NAME not in text
            assert "secret column" not in text
        for address in (f"/shapes?model={model.id}", f"/data?table={table.id}"):
            page = bob(address)
            page.get_by_text("or it is not shared with you").wait_for()
            page.get_by_role("link", name="Go to Home").wait_for()
            assert page.locator(".js-plotly-plot").count() == 0
        his = space.seen_by(people.now(space, "bob@x.org"))
        same = his.tables.add(hers.tables.read(table.id), "his own")
        page = bob("/data")
        page.get_by_test_id("stMetric").first.wait_for()
        text = page.inner_text("body")
        assert re.search(r"Rows\s+800", text)
        assert NAME not in text
        assert same.id != table.id
        # Shared in the app, by name, to be viewed
        page = ann(f"/models?model={model.id}")
        page.get_by_role("button", name="Model", exact=True).click()
        page.get_by_role("button", name="Share", exact=False).first.click()
        page.get_by_label("With whom").fill("bob@x.org")
        page.get_by_role("button", name="Share the model").click()
        page.get_by_text("may view it").wait_for()
        page = bob(f"/models?model={model.id}")
        page.get_by_text("Shared with you by").wait_for()
        assert NAME in page.inner_text("body")
        page.get_by_role("button", name="Model", exact=True).click()
        page.get_by_role("button", name="Download", exact=False).first.wait_for()
        assert page.get_by_role("button", name="Delete").count() == 0
        assert page.get_by_role("button", name="Rename").count() == 0
        bob(f"/shapes?model={model.id}").get_by_text("secret column").first.wait_for(state="attached")
        assert bob(f"/data?table={table.id}").get_by_text("Shared with you by").count() == 1
        hers.sharing.share("models", model.id, "bob@x.org", None)
        hers.sharing.share("tables", table.id, "bob@x.org", None)  # it was shared with its model
        assert NAME not in bob(f"/models?model={model.id}").inner_text("body")
        runs.cancel(hers, run)
        # What he could see and she deleted: he learns what and by whom, and is shown nothing else in its place
        hers.sharing.share("models", model.id, "bob@x.org", "view")
        hers.delete("models", model.id)
        page = bob(f"/shapes?model={model.id}")
        gone = page.get_by_text("was deleted on").inner_text()
        assert NAME in gone
        assert "ann" in gone
        page.get_by_role("button", name="Open his own").wait_for()
        assert page.locator(".js-plotly-plot").count() == 0


def test_nobody_gets_in_unnamed_or_past_the_proxy(chromium, server):
    before = people.members(Workspace(server.space))
    for name, secret in (("", SECRET), ("ann@x.org", "wrong" * 8), ("ann@x.org", "")):
        with person(chromium, server, name, secret) as stranger:
            for path in ("/data", "/models", "/people"):
                text = stranger(path).inner_text("body")
                assert "Sign in to see your work" in text
                assert "sample" not in text
    assert people.members(Workspace(server.space)) == before


def test_roles_are_given_on_the_page_people(chromium, server):
    space = Workspace(server.space)
    before = space.seen_by(LOCAL).tables.listed()
    with person(chromium, server, "boss@x.org") as boss, person(chromium, server, "carl@x.org") as carl:
        assert "Team" not in carl("/data").inner_text("[data-testid=stSidebar]")
        page = carl("/people")
        page.get_by_text("There is no page at this address.").wait_for()  # for him
        assert "Who is here" not in page.inner_text("body")
        page = boss("/people")
        page.get_by_role("combobox", name="Person").click()
        page.get_by_role("option", name="carl@x.org").click()
        settle(page)
        page.get_by_role("button", name="viewer", exact=True).or_(
            page.get_by_role("radio", name="viewer")
        ).first.click()
        settle(page)
        page.get_by_role("button", name="Set the role").click()
        settle(page)
        assert people.now(space, "carl@x.org").role == "viewer"
        page = carl("/data")
        page.get_by_role("button", name="Load housing").click()
        page.get_by_text("You may view what is shared with you").wait_for()
        assert space.seen_by(LOCAL).tables.listed() == before
        page = boss("/people")
        page.get_by_role("tab", name="Audit log").click()
        assert [row.detail for row in people.log(space) if row.action == "role"] == ["editor to viewer"]
