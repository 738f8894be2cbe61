"""From the CSV of a test to effect curves, a strategy of those who are moved, the deck that decides, and a letter of
reasons. One number at each station."""

from __future__ import annotations

import io
import zipfile

import pandas as pd
import pytest
from python_calamine import CalamineWorkbook

from sample_data.winback import effect
from shapewise.decisions import boards
from tests.support.places import ROOT
from tests.support.prepared import winback
from tests.support.report_texts import texts_in
from tests.support.serving import settle, turn
from tests.support.steps import options, press, upload

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _saved(page, act):
    with page.expect_download() as waiting:
        act()
    return waiting.value.path().read_bytes()


def _cells(book):
    rows = CalamineWorkbook.from_filelike(io.BytesIO(book)).get_sheet_by_index(0).to_python()
    return pd.DataFrame(rows[1:], columns=rows[0])


def _report(page, address):
    """Make the director's report, and return the archive with all its files."""
    turn(page, address)
    page.get_by_text("All (ZIP)", exact=True).click()
    settle(page)
    press(page, "Make the report")
    page.get_by_role("button", name="Download the file").wait_for(timeout=300_000)
    settle(page)
    return zipfile.ZipFile(io.BytesIO(_saved(page, lambda: press(page, "Download the file"))))


def test_from_a_test_to_those_who_are_moved_and_their_letters(page, space):
    page.goto("/")
    settle(page)
    upload(page, ROOT / "sample_data" / "winback.csv")
    page.wait_for_url("**/data?table=*")
    settle(page)
    turn(page, f"/experiment?table={page.url.split('table=')[1].split('&')[0]}")
    page.get_by_text("email and letter work").wait_for()
    settle(page)
    options(page)
    table = pd.read_csv(io.BytesIO(_saved(page, lambda: press(page, "CSV"))))
    page.keyboard.press("Escape")
    rows = (table["metric"] == "returned") & (table["against"] == "none") & (table["scale"] == "difference")
    lifts = table[rows].set_index("arm")["shown"].str.removeprefix("'")  # of a file that spreadsheets open
    verdict = page.get_by_text("email and letter work").inner_text()
    assert all(f"{lifts[arm]} with {arm}" in verdict for arm in ("email", "letter"))
    press(page, "Find out who is moved")
    page.get_by_text("What moves the effect:").wait_for()
    page.get_by_text("Bands from 30 refits").wait_for()
    settle(page)
    main = page.get_by_test_id("stMain")
    assert "Nothing known before the test tells the arms apart" in main.inner_text()
    assert "days_away, app" in main.inner_text()

    press(page, "Open on Shapes")
    page.wait_for_url("**/shapes?*feature=days_away*")
    page.get_by_text("added to the mean effect of email on returned (points)").wait_for()
    settle(page)
    [about] = [model for model in space.models.listed() if model.spec.get("treatment")]

    turn(page, f"/experiment?model={about.id}")
    page.get_by_text("Those whose effect is clearly above the mean").wait_for()
    settle(page)
    for label, typed in (
        ("Worth of one more outcome", "40"),
        ("Cost per customer reached", "0.5"),
        ("Currency", "EUR"),
    ):
        page.get_by_label(label).last.fill(typed)
        page.keyboard.press("Enter")
        settle(page)
    press(page, "Make the strategy")
    page.wait_for_url("**/strategies?*")
    page.get_by_text("Measured effect").first.wait_for()
    settle(page)
    [board] = boards.boards(space, about.table)
    [strategy] = board.read().strategies
    customers = winback()
    inside = strategy.rule.holds(customers)
    assert effect(customers[inside], "email").mean() > effect(customers, "email").mean() + 0.03
    numbers = {name: page.get_by_test_id("stMetric").filter(has=page.get_by_text(name, exact=True)).last
               for name in ("Measured effect", "Worth", "Worth of all")}  # fmt: skip
    shown = {name: tile.get_by_test_id("stMetricValue").inner_text() for name, tile in numbers.items()}
    ends = {name: tile.get_by_test_id("stMetricDelta").inner_text() for name, tile in numbers.items()}
    options(page)
    book = _cells(_saved(page, lambda: press(page, "XLSX")))
    archive = _report(page, f"/report?table={about.table}&board={board.id}")
    whole = book[book["strategy"] == "(all)"].iloc[0]
    assert whole["shown"] == f"{shown['Worth of all']} ({ends['Worth of all']})"
    assert (whole["source"], whole["unit"]) == ("measured", "EUR")
    gap = book[book["number"] == "difference"].iloc[0]
    assert gap["shown"].split(" (")[0] == shown["Measured effect"]
    assert gap["source"] == "measured"
    deck, pdf, books = (texts_in(archive, ending) for ending in ("pptx", "pdf", "xlsx"))
    for station in (deck, pdf):
        assert shown["Worth of all"] in station
        assert ends["Worth of all"] in station
        assert gap["shown"] in station
    for station in (deck, pdf, books):
        assert all(lifts[arm] in station for arm in ("email", "letter"))
    assert "No lift" not in deck

    turn(page, f"/rows?model={about.id}")
    page.get_by_text("Why it is decided so").wait_for()
    settle(page)
    page.get_by_text("Letter, and what is told in it").click()
    template = page.get_by_role("textbox", name="Template")
    template.wait_for()
    template.fill("The answer is {decision}.\n{reasons}\nYou were away for {days_away} days.")
    template.press("Control+Enter")
    settle(page)
    page.get_by_label("Which answer is good for the person?").get_by_text("yes", exact=True).click()
    settle(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download", exact=True).last.click()
    letter = waiting.value.path().read_text()
    assert letter.startswith("The answer is ")
    assert "1. " in letter
    assert "You were away for " in letter
    assert "{" not in letter
    kept = space.models.about(about.id).reasons["letter"]
    assert kept.startswith("The answer is {decision}")
