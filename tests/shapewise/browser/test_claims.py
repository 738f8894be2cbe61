"""From a CSV of claims to a curve of factors, SQL that predicts the same, a workbook of relativities, and a report."""

from __future__ import annotations

import io

import duckdb
import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.saved import from_saved
from gamcore.io.gamx import from_bytes
from tests.support.places import ROOT
from tests.support.serving import settle, turn
from tests.support.steps import press, upload

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

CLAIMS = ROOT / "sample_data" / "claims.csv"


def saved(page, press_it):
    """Press what downloads a file, and return its bytes."""
    with page.expect_download() as waiting:
        press_it()
    return waiting.value.path().read_bytes()


def test_from_a_csv_of_claims_to_sql(page):
    page.goto("/")
    settle(page)
    upload(page, CLAIMS)
    press(page, "Train on this table")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    settle(page)
    assert page.get_by_role("combobox", name="Predict").input_value() == "claims"
    assert page.get_by_role("combobox", name="Treat it as").input_value() == "A count"
    assert page.get_by_role("combobox", name="Per unit of").input_value() == "exposure_years"
    page.get_by_text("Fast", exact=True).click()
    settle(page)
    press(page, "Train")
    page.get_by_role("button", name="Read the curves").wait_for()
    settle(page)
    press(page, "Read the curves")
    page.wait_for_url("**/shapes?*")
    settle(page)
    page.get_by_text("factor of the mean").first.wait_for()
    assert "per exposure_years" in page.get_by_test_id("stMain").inner_text()

    page.get_by_text("Mark a segment").click()
    page.get_by_text("Bands from").first.wait_for()  # segments are suggested by curves whose bands are measured
    model = page.url.split("model=")[1].split("&")[0]
    turn(page, f"/strategies?model={model}")
    assert page.get_by_test_id("stAlertContentError").count() == 0
    page.get_by_text("Rates are per unit of exposure_years").wait_for()
    segments = pd.read_csv(io.BytesIO(saved(page, lambda: press(page, "CSV"))))
    inside, gap = (segments[segments["number"] == name] for name in ("inside", "opportunity"))
    assert inside["value"].between(0.02, 1.0).all()  # claims per year: the truth has .12 in all
    assert (gap["lower"] <= gap["value"]).all()

    turn(page, f"/models?model={model}")
    press(page, "Model")
    file = saved(page, lambda: press(page, "Download"))
    page.keyboard.press("Escape")
    page.get_by_text("Use it in other programs").click()
    settle(page)
    sql = saved(page, lambda: press(page, "SQL")).decode()
    book = saved(page, lambda: press(page, "Relativities"))
    columns = {
        str(cell)
        for sheet in pd.read_excel(io.BytesIO(book), sheet_name=None, engine="openpyxl").values()
        for cell in sheet
    }
    assert {"rows (training)", "exposure (training)", "exposure (held-out)", "observed (held-out)"} <= columns
    fitted, rows = from_saved(from_bytes(file)), pd.read_csv(CLAIMS)
    with duckdb.connect() as base:
        base.register("given", rows.convert_dtypes(dtype_backend="numpy_nullable"))
        base.execute('CREATE TABLE "claims" AS SELECT * FROM given')
        said, features = base.execute(sql).fetchdf(), rows[fitted.feature_names_in_]
    np.testing.assert_allclose(said["rate"], fitted.predict(features), rtol=0, atol=1e-9)
    total = fitted.predict(features, exposure=rows["exposure_years"])
    np.testing.assert_allclose(said["expected"], total, rtol=0, atol=1e-9)

    turn(page, f"/report?model={model}")
    page.get_by_text("Web page", exact=True).click()
    settle(page)
    press(page, "Make the report")
    page.get_by_role("button", name="Download the file").wait_for()
    report = saved(page, lambda: press(page, "Download the file")).decode()
    assert "claims per exposure_years" in report
    assert "factor of the mean" in report
