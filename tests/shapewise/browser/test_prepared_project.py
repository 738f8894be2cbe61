"""On a common laptop the plot comes first, a click reads, and no number stands beside another that contradicts it. All
walk over one prepared workspace."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shapewise.decisions import boards
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support.measuring import faults_at_rest
from tests.support.serving import CALM, settle, turn, walk, window
from tests.support.steps import in_sight, options, press, row

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

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
    turn(reader, f"/compare?model={renewal.model}")
    headline(reader, "minus").wait_for()
    settle(reader)
    finding = headline(reader, "minus").inner_text().split("\n")[0]
    assert re.search("no clear difference| (rises|falls|goes|is) ", finding)
    assert reader.evaluate(CUT) == []


EXPLAINED = """() => {
    const said = document.body.innerText;
    return said.includes('Held-out AUC') === said.includes('Of one refit: the model in view');
}"""
"""Whether it is said why the AUC of a refit is another; refits come by and by."""


def test_one_base_rate_and_one_auc_on_every_page(reader, renewal):
    rates, aucs = set(), set()
    pages = ("shapes", "pairs", "overview", "rows", "models")
    for _ in walk(reader, [f"/{path}?model={renewal.model}" for path in pages]):
        reader.locator(".st-key-in-view", has_text="AUC").wait_for()
        settle(reader)
        reader.wait_for_function(EXPLAINED)
        said = reader.inner_text("body")
        rates |= set(re.findall(r"[Bb]ase rate(?: of the training rows is)?\s+([\d.]+%)", said))
        aucs |= set(re.findall(r"(?<!Held-out )AUC\s+(0\.\d{3})\b", said))
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


def test_no_rare_value_and_no_sensitive_feature_is_proposed(reader, renewal):
    """The row with most clicks: its curve ends in bins of a few rows, with bands as wide as the plot."""
    clicks = renewal.space.tables.read(renewal.table)["position_clicks"]
    reader.goto(f"/rows?model={renewal.model}")
    reader.get_by_text("What would flip it").wait_for()
    settle(reader)
    sides = []
    for order in ("highest prediction", "lowest prediction"):
        options(reader)
        reader.get_by_role("combobox", name="In order of").click()
        reader.get_by_role("option", name=order).click()
        settle(reader)
        reader.keyboard.press("Escape")
        said = reader.get_by_text("The answer is").first.inner_text()
        sides.append(re.search("answer is (yes|no)", said)[1])
        for low in re.findall(r"position_clicks ([\d.]+)", said.split("closest change")[-1]):
            assert np.count_nonzero(clicks >= float(low)) >= 30
        assert not re.search(r"\bsex\b", said)
    assert sides == ["yes", "no"]
    reader.get_by_text("What may change").click()
    fixed = reader.get_by_test_id("stMultiSelect").filter(has_text="Hold fixed")
    assert {"sex", "age"} <= set(fixed.inner_text().split("\n"))


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


def seen(page):
    """The project and model in view, and the first headline."""
    settle(page)
    page.locator(".js-plotly-plot").first.wait_for()
    headline = page.locator("[class*=st-key-headline]").first.inner_text()
    return page.locator(".st-key-in-view").inner_text(), headline


def test_a_colleague_sees_the_same_model_table_and_feature(chromium, reader, renewal):
    reader.goto(f"/shapes?model={renewal.model}")
    seen(reader)
    row(reader, 2)
    reader.wait_for_url("**feature=*")
    mine = seen(reader)
    context = window(chromium, viewport={"width": 1440, "height": 900}, **CALM)
    theirs = context.new_page()
    theirs.goto(reader.url)
    assert seen(theirs) == mine
    for name in ("Overview", "Data", "Strategies"):
        theirs.get_by_role("link", name=name, exact=True).click()
        theirs.get_by_role("heading", name=name, exact=True).first.wait_for()
        settle(theirs)
        assert theirs.locator(".st-key-in-view").inner_text() == mine[0]
    context.close()


BOTH_IN_SIGHT = """() => {
    const cancel = [...document.querySelectorAll('button')].find(e => e.innerText.includes('Cancel'));
    return [cancel, document.querySelector('[data-testid=stProgress]')].every(
        e => e && e.getBoundingClientRect().top >= 0 && e.getBoundingClientRect().bottom <= innerHeight);
}"""
"""Whether the progress and the button that stops it are: asked at once, as a run may end at any moment."""


def test_button_progress_and_result_are_in_sight(reader, renewal):
    reader.goto(f"/train?table={renewal.table}")
    settle(reader)
    button = reader.get_by_role("button", name="Train", exact=True).first
    assert in_sight(reader, button)
    assert in_sight(reader, reader.get_by_role("combobox", name="Predict").first)
    assert in_sight(reader, reader.locator(".js-plotly-plot").first)
    press(reader, "Tune")
    reader.get_by_role("spinbutton", name="Settings to try").fill("5")
    reader.keyboard.press("Enter")
    settle(reader)
    press(reader, "Search")
    reader.get_by_text("5 settings were tried").wait_for()
    settle(reader)
    assert not reader.get_by_role("button", name="Search", exact=True).is_visible()  # the form has closed
    assert in_sight(reader, reader.get_by_role("button", name="Use the best"))
    assert faults_at_rest(reader) == []
    press(reader, "Close")
    settle(reader)
    reader.get_by_text("Accurate", exact=True).click()  # long enough for a run of its own
    settle(reader)
    button.click()
    reader.wait_for_function(BOTH_IN_SIGHT)
    onward = reader.get_by_role("button", name="Read the curves")
    onward.wait_for()
    settle(reader)
    assert in_sight(reader, onward)
    assert in_sight(reader, reader.locator(".js-plotly-plot").first)
    press(reader, "Read the curves")
    reader.wait_for_url("**/shapes?*")


FOCUSED = """() => {
    const at = document.activeElement, box = at.getBoundingClientRect();
    if (at.tagName === 'BODY') return {name: '', what: '', seen: true};
    const labels = [...at.labels ?? [], document.getElementById(at.getAttribute('aria-labelledby'))];
    const names = [at.ariaLabel, ...labels.map(label => label?.innerText), at.innerText, at.title, at.placeholder,
                   at.closest('[data-testid="stDataFrame"]') && 'a table'];
    return {name: names.find(name => name?.trim()) ?? '', seen: box.width > 1 && box.height > 1,
            what: `${at.tagName} ${at.dataset.testid ?? ''} in ${at.closest('[class*=st-key]')?.className ?? ''}`};
}"""
"""What has the focus: the name that a reader of the screen says, whether it is in sight, and what it is."""

MOST_TABS = 400


def test_tab_goes_round_every_page(reader, renewal):
    """From the title through all controls, and back to the link at the top: no list or table keeps the focus, and each
    control has a name and is in sight while it has the focus."""
    kept, faults = {}, set()
    pages = ("home", "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "strategies",
             "experiment", "report")  # fmt: skip
    for name in walk(reader, [f"/{path}?model={renewal.model}" for path in pages]):
        reader.get_by_role("heading").first.click()
        for _ in range(MOST_TABS):
            reader.keyboard.press("Tab")
            focused = reader.evaluate(FOCUSED)
            if "Skip to main content" in focused["name"]:
                break
            if focused["what"] and not (focused["name"] and focused["seen"]):
                faults.add((name, focused["what"], focused["name"]))
        else:
            kept[name] = focused
    assert (kept, faults) == ({}, set())


def test_what_differs_between_models_is_said_before_there_are_bands(reader, renewal):
    """Also, the number of a what-if is written as in the chart beside it."""
    quick = train(renewal.space, replace(Spec.from_dict(renewal.space.models.about(renewal.model).spec), name="quick"))
    reader.goto(f"/compare?model={quick.id}")
    said = headline(reader, "differs most from")
    said.wait_for()
    assert re.search(r"differs most from .* at .*, by [+-]?[\d.]+", said.inner_text().replace("−", "-"))
    turn(reader, f"/rows?model={renewal.model}")
    for slider in reader.get_by_test_id("stSlider").all():
        assert not re.search(r"\d{4}", slider.get_by_test_id("stSliderThumbValue").first.inner_text())
    renewal.space.delete("models", quick.id)
