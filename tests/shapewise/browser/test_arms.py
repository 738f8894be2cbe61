"""A test of three arms, from a CSV to its read-out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from tests.support.serving import settle
from tests.support.steps import options, press, upload

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_an_email_test_of_three_arms_is_read_in_two_steps(page, tmp_path):
    """A file, and a press on Experiment: the arm, the control and the outcomes are told by their names. Two more fetch
    the numbers, which are those of statsmodels and SciPy."""
    rng = np.random.default_rng(0)
    arm = rng.choice(["No E-Mail", "Mens E-Mail", "Womens E-Mail"], 9000)
    visit = (rng.random(9000) < np.where(arm == "Mens E-Mail", 0.18, 0.1)).astype(int)
    frame = pd.DataFrame({"recency": rng.integers(1, 13, 9000), "segment": arm, "visit": visit,
                          "spend": (visit * rng.gamma(2, 30, 9000)).round(2)})  # fmt: skip
    frame.to_csv(tmp_path / "emails.csv", index=False)
    page.goto("/")
    settle(page)
    upload(page, tmp_path / "emails.csv")
    page.get_by_role("button", name="Train on this table").wait_for()
    page.get_by_role("link", name="Experiment", exact=True).click()
    page.get_by_text("Mens E-Mail works").wait_for()
    page.get_by_test_id("stDataFrame").first.wait_for()
    page.get_by_text("Holm over all arms and outcomes").wait_for()
    with page.expect_download() as download:
        options(page)
        press(page, "CSV")
    numbers = pd.read_csv(download.value.path()).set_index(["arm", "metric", "scale"]).sort_index()
    control = numbers[numbers["against"].isin(["No E-Mail"]) | numbers["against"].isna()]
    for (name, metric, _), row in control.xs("level", level="scale", drop_level=False).iterrows():
        reached = frame.loc[frame["segment"] == name, metric]
        assert (row["n"], row["value"], row["source"]) == (len(reached), pytest.approx(reached.mean()), "observed")
    treated = control.xs("difference", level="scale")
    for (name, metric), row in treated.iterrows():
        a, b = (frame.loc[frame["segment"] == side, metric] for side in (name, "No E-Mail"))
        ends = row["lower"], row["upper"]
        if metric == "visit":
            sums = (a.sum(), len(a), b.sum(), len(b))
            assert row["p"] == pytest.approx(proportions_ztest(sums[::2], sums[1::2])[1])
            assert ends == pytest.approx(confint_proportions_2indep(*sums, method="newcomb"))
            ratio, relative = (
                confint_proportions_2indep(*sums, compare="ratio", method="log"),
                control.loc[name, metric],
            )
            assert tuple(relative.loc["relative", ["lower", "upper"]] + 1) == pytest.approx(ratio)
        else:
            welch = stats.ttest_ind(a, b, equal_var=False)
            assert row["p"] == pytest.approx(welch.pvalue)
            assert ends == pytest.approx(tuple(welch.confidence_interval()))
    holm = multipletests(treated["p"], method="holm")[1]
    assert treated["p, adjusted"].tolist() == pytest.approx(holm.tolist())
    assert (len(control), len(treated), len(numbers)) == (14, 4, 18)  # and both mails against each other
