"""A report begins with what to do: not with the inside of a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapewise.decisions import boards
from tests.support.serving import settle
from tests.support.steps import press

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


def test_the_first_thing_a_report_says_is_what_to_do(reader, renewal, tmp_path):
    strategies = boards.board(renewal.space, renewal.board).read().strategies
    reader.goto(f"/report?model={strategies[0].model}&board={renewal.board}")
    settle(reader)
    reader.get_by_role("radio", name="Analyst").click()
    settle(reader)
    reader.get_by_role("radio", name="Web page").click()
    settle(reader)
    press(reader, "Make the report")
    reader.get_by_role("button", name="Download the file").wait_for()
    with reader.expect_download() as waiting:
        press(reader, "Download the file")
    file = tmp_path / "report.html"
    file.write_bytes(Path(waiting.value.path()).read_bytes())
    reader.goto(file.as_uri())
    sections = [text.lower() for text in reader.locator("section").all_inner_texts()]
    decides = next(k for k, text in enumerate(sections) if any(one.action.lower() in text for one in strategies))
    inside = next(k for k, text in enumerate(sections) if "importance" in text or "model card" in text)
    assert decides <= 1  # behind the cover, if there is one
    assert inside > decides
    first = sections[decides]
    assert re.search(r"\d,?\d* more|customers|€|eur", first)
    assert re.search(r"\d to \D?\d", first)  # with an interval
    assert "\nnext\n" in first
    assert "\nrisk\n" in first
    assert not any("(continued)" in text for text in sections)
