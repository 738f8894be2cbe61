"""What a newly loaded table is offered on Train: a target that is no id, and no feature that is known only later."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.support.serving import settle
from tests.support.steps import press, upload

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_target_proposed_is_no_id_and_no_constant(page, tmp_path):
    rows = ["age,visits,bought,country,client_id"]
    rows += [f"{20 + k % 50},{k % 5},{'yes' if k % 7 < 3 else 'no'},X,{100_000 + 37 * k}" for k in range(400)]
    (tmp_path / "clients.csv").write_text("\n".join(rows))
    page.goto("/")
    settle(page)
    upload(page, tmp_path / "clients.csv")
    press(page, "Train on this table")
    button = page.get_by_role("button", name="Train", exact=True)
    button.wait_for()
    settle(page)
    assert page.get_by_role("combobox", name="Predict").input_value() == "bought"
    assert page.get_by_test_id("stAlertContentError").count() == 0
    assert button.is_enabled()


def test_what_is_known_only_after_the_outcome_starts_left_out(page, tmp_path):
    """Who spent has visited: *visit* is a step on the way to *spend*, and `recency_copy` another name for a column."""
    rng = np.random.default_rng(0)
    recency, visit = rng.integers(1, 13, 3000), rng.random(3000) < 0.3
    frame = pd.DataFrame({"recency": recency, "recency_copy": recency, "income": rng.lognormal(8, 1, 3000).round(),
                          "visit": visit.astype(int), "spend": (visit * rng.gamma(2, 30, 3000)).round(2)})  # fmt: skip
    frame.to_csv(tmp_path / "emails.csv", index=False)
    page.goto("/")
    settle(page)
    upload(page, tmp_path / "emails.csv")
    press(page, "Train on this table")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    settle(page)
    page.get_by_role("combobox", name="Predict").click()
    page.get_by_role("option", name="spend", exact=True).click()
    settle(page)
    left = page.get_by_test_id("stMultiSelect").filter(has_text="Leave out").inner_text().split("\n")
    assert {"visit", "recency_copy"} <= set(left)
    assert not {"recency", "income"} & set(left)
