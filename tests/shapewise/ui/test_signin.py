"""Signing in by OIDC in a browser, with a provider that really runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from shapewise.store import people
from shapewise.store.workspace import Workspace
from tests.support.serving import CALM, Server, answers, free_port, settle, sound, window

pytest.importorskip("playwright.sync_api")
for needed in ("authlib", "httpx", "oidc_provider_mock"):
    if find_spec(needed) is None:  # not imported here: the provider has a process of its own, and warns
        pytest.skip(f"{needed} is not installed.", allow_module_level=True)
pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECRETS = """
[auth]
redirect_uri = "{server}/oauth2callback"
cookie_secret = "{secret}"
client_id = "shapewise"
client_secret = "of no weight here"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""
ANN = {"sub": "ann-1", "email": "ann@x.org", "email_verified": True, "name": "Ann"}
EVE = {"sub": "eve-7", "email": "boss@x.org", "email_verified": False, "name": "Eve"}
BOSS = {"sub": "boss-2", "email": "boss@x.org", "email_verified": True, "name": "Boss"}


@pytest.fixture(scope="module")
def provider():
    """The address of a provider that knows some people."""
    port = free_port()
    known = [word for person in (ANN, EVE, BOSS) for word in ("--user-claims", json.dumps(person))]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), *known]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        assert answers(process, f"{address}/.well-known/openid-configuration")
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory, provider):
    """A server that the provider's people come to, one test after the other."""
    place = tmp_path_factory.mktemp("signin")
    port, secrets = free_port(), place / "secrets.toml"
    secrets.write_text(SECRETS.format(server=f"http://localhost:{port}", secret="c" * 40, provider=provider))
    changes = {
        "GAMCORE_MODE": "shared", "GAMCORE_ADMINS": "boss@x.org", "STREAMLIT_SECRETS_FILES": str(secrets),
        "STREAMLIT_SERVER_COOKIE_SECRET": "s" * 40, "STREAMLIT_SERVER_ALLOWED_HOSTS": "localhost",
    }  # fmt: skip
    with sound(Server(Workspace(place / "space").root, changes, port)) as taken:
        taken.ready()
        yield taken


@pytest.fixture
def page(chromium, server):
    context = window(chromium, base_url=server.address, viewport={"width": 1280, "height": 900}, **CALM)
    yield context.new_page()
    context.close()


def sign_in(page, sub, answer="Authorize"):
    page.get_by_role("button", name="Sign in").click()
    page.locator("input[name=sub]").fill(sub)
    page.get_by_role("button", name=answer).click()


def sign_out(page):
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/end_session?**")  # the provider's own page
    page.goto("/data")
    page.get_by_text("Sign in to see your work").wait_for()
    settle(page)


def here_as(page, words):
    """Wait for who is here; the page makes no link of an address, by a sign that is not seen."""
    page.get_by_text(re.compile(re.escape(words).replace("@", "@\u2060?"))).wait_for()


def test_somebody_signs_in_stays_and_signs_out(page, server):
    page.goto("/data")
    settle(page)
    assert "sample" not in page.inner_text("body")
    sign_in(page, ANN["sub"])
    here_as(page, "ann@x.org · editor")
    page.get_by_text("Or try a sample").wait_for()
    page.goto("/models")  # a session of its own: the cookie tells who it is
    here_as(page, "ann@x.org · editor")
    space = Workspace(server.space)
    (ann,) = (one.person for one in people.members(space) if one.person.name == "ann@x.org")
    assert ann.id.endswith("#ann-1")
    assert [deed.action for deed in people.log(space) if deed.person == ann.id] == ["sign in"]
    sign_out(page)
    assert "editor" not in page.inner_text("body")


def test_an_address_that_is_not_verified_makes_no_administrator(page, server):
    page.goto("/data")
    settle(page)
    sign_in(page, EVE["sub"])
    here_as(page, "boss@x.org [eve-7] · editor")
    sign_out(page)
    sign_in(page, BOSS["sub"])
    here_as(page, "boss@x.org · admin")


def test_somebody_whom_the_provider_refuses_stays_outside(page, server):
    space = Workspace(server.space)
    before = people.members(space)
    page.goto("/data")
    settle(page)
    sign_in(page, ANN["sub"], "Deny")
    page.goto("/data")
    page.get_by_text("Sign in to see your work").wait_for()
    assert people.members(space) == before
