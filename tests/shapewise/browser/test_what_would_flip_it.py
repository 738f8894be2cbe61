"""The change that is proposed for a row is one that customers like it have made, and never of what nobody chooses."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.support.serving import settle

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


def test_no_rare_value_and_no_sensitive_feature_is_proposed(reader, renewal):
    """The row with most clicks: its curve ends in bins of a few rows, with bands as wide as the plot."""
    clicks = renewal.space.tables.read(renewal.table)["position_clicks"]
    reader.goto(f"/rows?model={renewal.model}")
    reader.get_by_text("What would flip it").wait_for()
    settle(reader)
    sides = []
    for order in ("highest prediction", "lowest prediction"):
        reader.get_by_role("combobox", name="In order of").click()
        reader.get_by_role("option", name=order).click()
        settle(reader)
        said = reader.get_by_text("The answer is").first.inner_text()
        sides.append(re.search("answer is (yes|no)", said)[1])
        for low in re.findall(r"position_clicks ([\d.]+)", said.split("closest change")[-1]):
            assert np.count_nonzero(clicks >= float(low)) >= 30
        assert not re.search(r"\bsex\b", said)
    assert sides == ["yes", "no"]
    reader.get_by_text("What may change").click()
    fixed = reader.get_by_test_id("stMultiSelect").filter(has_text="Hold fixed")
    assert {"sex", "age"} <= set(fixed.inner_text().split("\n"))
