"""A workspace that is refused says so at every address, and nothing else."""

from __future__ import annotations

import pytest

from shapewise.store.workspace import Workspace
from tests.support.serving import CALM, serving, settle, window

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATHS = ("/", "/shapes", "/people")


def test_every_address_says_why_and_no_more(chromium, tmp_path):
    space = Workspace(tmp_path / "space")
    space.tables.listed()
    (space.root / "meta.sqlite").write_bytes(b"not records" * 1000)
    with serving(space.root) as address:  # its log has the refusal, with a traceback
        page = window(chromium, base_url=address, **CALM).new_page()
        for path in PATHS:
            page.goto(path)
            settle(page)
            page.get_by_text("The workspace's records").first.wait_for()
            assert page.get_by_test_id("stAlert").count() == 1, path
            assert page.get_by_role("dialog").count() == 0, path
        page.context.close()
