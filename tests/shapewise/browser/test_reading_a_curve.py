"""On a common laptop the plot comes first, a click reads, and no number stands beside another that contradicts it."""

from __future__ import annotations

import re

import pytest

from tests.support.serving import settle
from tests.support.steps import in_sight, row

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser

CUT = """() => [...document.querySelectorAll('[class*=st-key-headline] h5, [class*=st-key-headline] p')].filter(
    e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1 || e.innerText.includes('…')
).map(e => e.innerText)"""


def headline(page, words):
    return page.locator("[class*=st-key-headline]", has_text=words).first


def test_a_click_on_a_feature_reads_it_and_changes_nothing(reader, renewal):
    reader.goto(f"/shapes?model={renewal.model}")
    headline(reader, "held-out AUC").wait_for()
    settle(reader)
    plot = reader.locator(".js-plotly-plot").first
    assert in_sight(reader, plot)
    assert in_sight(reader, plot.locator(".xtitle, .xaxislayer-above").first)
    before = reader.locator(".st-key-in-view").inner_text()
    title = headline(reader, "held-out AUC").inner_text()
    row(reader, 1)
    reader.wait_for_url(re.compile("feature="))
    assert headline(reader, "held-out AUC").inner_text().split("\n")[0] != title.split("\n")[0]
    assert reader.locator(".st-key-in-view").inner_text() == before
    assert len(renewal.space.models.about(renewal.model).spec["features"]) == 12


def test_leaving_a_feature_out_is_measured_for_a_model_with_pairs_too(reader, renewal):
    reader.goto(f"/shapes?model={renewal.model}&feature=position_clicks")
    headline(reader, "position_clicks").wait_for()
    settle(reader)
    reader.get_by_test_id("stButtonGroup").get_by_text("What if it were left out").click()
    reader.get_by_text(re.compile("the held-out AUC (falls|rises|stays)")).wait_for()
    settle(reader)
    reader.get_by_text("Of one refit: the model in view").wait_for()  # why its AUC is not the one of the plot
    reader.get_by_role("button", name="Train the model without it").wait_for()


def test_headlines_are_whole_and_say_where_the_curve_moves(reader, renewal):
    reader.goto(f"/shapes?model={renewal.model}&feature=balance")
    headline(reader, "balance").wait_for()
    settle(reader)
    said = headline(reader, "balance").inner_text().split("\n")[0]
    ends = [float(text.replace(",", "")) for text in re.findall(r"\d[\d,]*\.?\d*", said)]
    assert max(ends) < 100_000  # the thin tail above is no part of the finding
    assert "% of rows" in said
    assert reader.evaluate(CUT) == []
    reader.goto(f"/compare?model={renewal.model}")
    headline(reader, "minus").wait_for()
    settle(reader)
    finding = headline(reader, "minus").inner_text().split("\n")[0]
    assert re.search("no clear difference| (rises|falls|goes|is) ", finding)
    assert reader.evaluate(CUT) == []


def test_one_base_rate_and_one_auc_on_every_page(reader, renewal):
    rates, aucs = set(), set()
    for path in ("shapes", "pairs", "overview", "rows", "models"):
        reader.goto(f"/{path}?model={renewal.model}")
        reader.locator(".st-key-in-view", has_text="AUC").wait_for()
        settle(reader)
        said = reader.inner_text("body")
        rates |= set(re.findall(r"[Bb]ase rate(?: of the training rows is)?\s+([\d.]+%)", said))
        aucs |= set(re.findall(r"(?<!Held-out )AUC\s+(0\.\d{3})\b", said))
        assert ("Held-out AUC" in said) == ("Of one refit: the model in view" in said)  # why it is another
    assert len(rates) == 1
    assert len(aucs) == 1


def test_cuts_are_typed_as_a_list_or_in_a_table(reader, renewal):
    reader.goto(f"/shapes?model={renewal.model}&feature=age")
    headline(reader, "age").wait_for()
    settle(reader)
    reader.get_by_test_id("stButtonGroup").get_by_text("Try other settings").click()
    field = reader.get_by_role("textbox", name="Bins begin at")
    field.fill("25, 35")
    field.press("Enter")
    reader.get_by_text("rows lie below the first").wait_for()
    settle(reader)
    table = reader.get_by_test_id("stDataFrame").last
    table.scroll_into_view_if_needed()
    table.dblclick(position={"x": 120, "y": 35 + 17})  # the first cut
    cell = reader.locator(".gdg-input, .gdg-style textarea, .gdg-style input").first
    cell.fill("28")
    cell.press("Enter")
    expect(field).to_have_value("28, 35")
    settle(reader)
    reader.get_by_text("one refit with these settings").first.wait_for()
