"""The main flows in a real browser against a real server. Each walk asserts at its stations; the one from a CSV to a
strategy is in `test_csv_to_strategy.py`."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gamcore.viz.files.html_report import to_html
from gamcore.viz.files.parts import ReportPart
from shapewise.decisions import boards as board
from shapewise.store.workspace import Workspace
from shapewise.training import runs
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train
from tests.support import kinds
from tests.support.measuring import faults_at_rest
from tests.support.serving import LOG, Server, opened, settle, sound, turn, visiting, walk, window
from tests.support.steps import drag_along, options, press, row, small_model, upload

pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = [
    "home", "data", "train", "models", "overview", "shapes", "pairs", "rows", "compare", "tasks", "strategies",
    "experiment", "report",
]  # fmt: skip


SLOW_DISK = """
import sys, time
from pathlib import Path

class SlowDisk:
    def find_spec(name, path=None, target=None):
        while name == "gamcore.data.table" and not Path(__file__).with_name("read").exists():
            time.sleep(0.1)

sys.meta_path.insert(0, SlowDisk)
"""


def test_cold_links_and_the_menu_from_there(chromium, tmp_path):
    """On a slow disk, here one that waits for the sentence to be read, the first visitor reads that libraries load:
    from a fast one they load before a browser has drawn it, and nobody needs it. Then come links to a page of each
    section of the menu, each in a session of its own. From the last one the menu leads on, and a reload stays."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    space = Workspace(tmp_path / "space")
    small_model(space)
    slow = {"PYTHONPATH": str(tmp_path)}
    with sound(Server(space.root, slow)) as server, visiting(chromium, server) as visitor:
        with opened(visitor) as page:
            page.goto("/shapes", wait_until="commit")
            page.get_by_text("Starting Shapewise").wait_for()
            (tmp_path / "read").touch()
            leads_to(page, "shapes")
        for path in ("", "data", "report"):
            with opened(visitor) as page:
                page.goto(f"/{path}")
                leads_to(page, path)
        with opened(visitor) as page:
            page.goto("/trian")
            page.get_by_text("There is no page at this address.").wait_for()
            assert page.get_by_role("dialog").count() == 0
            page.goto("/train")
            settle(page)
            page.get_by_role("link", name="Models", exact=True).click()
            page.get_by_role("button", name="Explore").wait_for()
            page.get_by_role("link", name="Shapes", exact=True).click()
            for _ in range(2):
                page.locator(".js-plotly-plot").first.wait_for()
                page.reload()
                settle(page)


def leads_to(page, path):
    """Check that a link shows its page, with the whole menu beside it."""
    settle(page)
    page.get_by_role("heading", name=path.capitalize() or "Home", exact=True).first.wait_for()
    assert page.url.split("?")[0].endswith(f"/{path or 'home'}")
    assert page.get_by_role("dialog").count() == 0
    for name in PAGES:
        link = page.get_by_role("link", name=name.capitalize(), exact=True)
        link.first.wait_for()  # links are drawn after the head
        assert link.count() == 1


def test_three_clicks_to_a_shape_then_bands_on_every_scale(page, space):
    """From nothing to a sentence that the band supports; bands come while the curve is already there."""
    page.goto("/")
    settle(page)
    press(page, "Load renewal")
    press(page, "Train on this table")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    settle(page)
    press(page, "Train")
    page.get_by_role("button", name="Read the curves").wait_for()
    page.locator(".js-plotly-plot .scatterlayer path.js-line").first.wait_for()
    page.locator("[class*=st-key-headline]", has_text="position_clicks").first.wait_for()
    press(page, "Read the curves")
    page.locator(".js-plotly-plot").first.wait_for()
    settle(page)
    row(page, 1)
    page.locator("[class*=st-key-headline]", has_text="sex").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.locator("[class*=st-key-headline]", has_text="coupon").first.wait_for()
    page.get_by_text("Bands from 30 refits").wait_for()
    (model,) = space.models.listed()
    assert model.bands == 30

    page.goto(f"/shapes?model={model.id}&feature=position_clicks")
    settle(page)
    page.locator("[class*=st-key-headline]", has_text=re.compile("position_clicks: .*(falls|up and down)")).wait_for()
    legend = page.locator(".js-plotly-plot .legendtext")
    legend.get_by_text("95% band, whole curve").wait_for()
    page.locator('[data-testid="stCaptionContainer"]', has_text="Bands from 30 refits").get_by_role("button").hover()
    page.get_by_text("What they do not say").wait_for()
    page.keyboard.press("Escape")
    options(page)
    page.get_by_role("radio", name="Odds ratio").click()
    page.locator(".ytitle", has_text="odds ratio").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Pairs", exact=True).click()
    page.get_by_role("heading", name="Pairs", exact=True).wait_for()
    settle(page)
    options(page)
    page.get_by_role("radio", name="Odds ratio").wait_for()
    assert page.get_by_role("radio", name="Odds ratio").is_checked()  # the same on every page


def test_a_reload_finds_the_run_and_cancel_stops_it(page, space):
    small_model(space)
    table = space.tables.listed()[0].id
    page.goto(f"/train?table={table}")
    settle(page)
    page.get_by_text("Paper", exact=True).click()
    settle(page)
    page.get_by_text("All settings").click()
    for label, value in (("Refits", "100"), ("Most rounds", "100000"), ("Patience, in rounds", "1000")):
        box = page.get_by_role("spinbutton", name=label)
        box.fill(value)
        box.press("Enter")
        settle(page)
    press(page, "Train")
    bar = page.get_by_test_id("stBottom").get_by_text("rounds per second")
    bar.wait_for()
    page.reload()
    bar.wait_for()
    other = window(page.context.browser, base_url=page.url.split("/train")[0]).new_page()
    other.goto("/train")
    other.get_by_test_id("stSidebar").get_by_role("link", name="Watch").click()
    other.get_by_test_id("stBottom").get_by_text("rounds per second").wait_for()
    other.context.close()
    press(page, "Cancel")
    page.get_by_text("cancelled").wait_for()
    assert len(space.models.listed()) == 1
    assert runs.active(space) == []
    press(page, "Close")
    settle(page)
    assert "run=" not in page.url


DRAWN = "document.querySelector('.js-plotly-plot').data.map(t => `${t.name} ${JSON.stringify(t.y)}`).join()"


def test_a_setting_redraws_the_curve_and_a_feature_is_left_out(page, space):
    """Both are tried on one refit, and both lead to the full model."""
    model = small_model(space, rounds=5000)
    page.goto("/shapes")
    settle(page)
    page.locator(".js-plotly-plot").first.wait_for()
    before = page.evaluate(DRAWN)
    segment(page, "Try other settings")
    settle(page)
    page.get_by_test_id("stSlider").filter(has_text="Leaves per tree").get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"was => document.querySelector('.js-plotly-plot') && {DRAWN} !== was", arg=before)
    page.wait_for_function(f"() => {DRAWN}.includes('before')")
    settle(page)
    assert page.get_by_test_id("stMetricDelta").count() == 1
    press(page, "Train the full model")
    page.get_by_role("button", name="Read the curves").wait_for()
    assert page.url.split("?")[0].endswith("/train")
    (newest, _) = space.models.listed()
    assert newest.spec["changes"]["max_leaves"] == 3
    assert newest.name == model.name

    turn(page, f"/shapes?model={model.id}")
    segment(page, "What if it were left out")
    page.get_by_text("the held-out RMSE").wait_for()
    press(page, "Train the model without it")
    page.get_by_role("button", name="Read the curves").wait_for()
    newest = space.models.listed()[0]
    assert len(newest.spec["features"]) == len(model.spec["features"]) - 1
    page.locator(".st-key-in-view", has_text="without").wait_for()


def crossed_model(space):
    """A model without pairs, on a table with one strong interaction."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 4)), columns=list("abcd"))
    frame["y"] = np.sign(frame["a"]) * np.sign(frame["b"]) + frame["c"] + 0.3 * rng.normal(size=4000)
    table = space.tables.add(frame, "crossed", [])
    return train(space, Spec(table.id, "y", "crossed", list("abcd"), preset="fast"))


def drag(page, plot, start, end):
    """Drag over the heat map of a figure; places are shares of its width and height."""
    area = plot.locator(".subplot.x3y3 .bg, .draglayer .x3y3 .nsewdrag").last.bounding_box()
    points = [(area["x"] + fx * area["width"], area["y"] + fy * area["height"]) for fx, fy in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=12)
    page.mouse.up()


def test_rank_choose_refit_read_select_and_download(page, space):
    model = crossed_model(space)
    page.goto(f"/pairs?model={model.id}")
    settle(page)
    page.get_by_text("more than chance would produce").wait_for()
    page.locator("[class*=st-key-headline]", has_text="a × b, one refit with these pairs").wait_for()
    press(page, "Train the full model")
    page.get_by_role("button", name="Read the curves").wait_for()
    (newest, _) = space.models.listed()
    assert newest.n_pairs == 1
    turn(page, f"/pairs?model={newest.id}")
    page.get_by_text("Bands from 30 refits").wait_for()  # the page is drawn anew when they come
    settle(page)
    heat = page.locator(".js-plotly-plot").nth(1)
    heat.scroll_into_view_if_needed()
    for _ in range(3):  # a first drag may meet a figure that is still being drawn
        drag(page, heat, (0.55, 0.05), (0.95, 0.45))
        settle(page)
        if page.get_by_text("Joint effect, mean").count():
            break
    assert page.get_by_text(re.compile("^Rows where a at least .* and b at least ")).count() == 1
    value = page.get_by_test_id("stMetric").filter(has_text="Joint effect").get_by_test_id("stMetricValue").inner_text()
    assert float(value.replace("−", "-")) > 0.5  # both above their middle
    assert page.get_by_test_id("stMetric").filter(has_text="Mean inside").count() == 1
    press(page, "Save as segment")
    page.get_by_text("It is on the page Strategies").wait_for()
    assert set(board.segments(space, newest.table)[0].read().columns) == {"a", "b"}
    options(page, 1)
    with page.expect_download() as waiting:
        press(page, "CSV")
    table = pd.read_csv(waiting.value.path(), encoding="utf-8-sig")
    assert {"a", "b", "(score)", "(lower)", "(upper)", "(rows)"} <= set(table.columns)
    assert table["(rows)"].sum() == 3200
    with page.expect_download() as waiting:
        press(page, "HTML")
    assert "heatmap" in Path(waiting.value.path()).read_text()


def test_a_model_file_comes_back_and_what_is_ticked_is_deleted(page, space, tmp_path):
    first = small_model(space)
    second = train(space, Spec.from_dict(first.spec))
    space.models.rename(first.id, "the first")
    space.models.rename(second.id, "the second")
    page.goto(f"/models?model={first.id}")
    settle(page)
    press(page, "Model")
    with page.expect_download() as waiting:
        press(page, "Download")
    file = tmp_path / "brought.gamx"
    file.write_bytes(Path(waiting.value.path()).read_bytes())
    page.get_by_text("Import a model file").click()
    upload(page, file)
    page.get_by_role("heading", name="brought").wait_for()
    assert len(space.models.listed()) == 3
    (tmp_path / "bad.gamx").write_bytes(b"no model")
    settle(page)
    if not page.locator('[data-testid="stFileUploaderDropzone"]').is_visible():
        press(page, "Model")
        page.get_by_text("Import a model file").click()
    upload(page, tmp_path / "bad.gamx")
    page.get_by_text("not a complete .gamx model file").wait_for()
    assert len(space.models.listed()) == 3

    page.goto(f"/models?model={first.id}")
    settle(page)
    page.get_by_role("heading", name="the first").wait_for()
    for name, left in (("the second", {"brought", "the second"}), ("", {"brought"})):
        press(page, "Model")
        press(page, "Delete")
        page.get_by_role("button", name="Delete model").click()
        shown = page.get_by_role("heading", name=name) if name else page.get_by_text("There is no model of housing yet")
        shown.wait_for()
        settle(page)
        assert {model.name for model in space.models.listed()} == left
    turn(page, f"/data?table={first.table}")
    press(page, "Delete")
    page.get_by_role("button", name="Delete table").click()
    page.get_by_text("Or try a sample").wait_for()
    assert space.tables.listed() == []


def test_hostile_names_make_no_element(page, space):
    evil = '<img src=x onerror="window.hacked=1">[link](http://evil.test)'
    frame = pd.DataFrame(
        {evil: range(200), "b": [f"{evil}{k % 3}" for k in range(200)], "y": [k % 7 * 1.0 for k in range(200)]}
    )
    table = space.tables.add(frame, evil, [f"a note on {evil}"])
    spec = Spec(table.id, "y", evil, [evil, "b"], preset="fast", changes={"max_rounds": 5})
    train(space, spec)
    train(space, replace(spec, features=[evil], kind="tasks", task="b"))
    for _ in walk(page, [f"/{path}" for path in PAGES]):
        assert page.locator('img[src="x"]').count() == 0
        assert page.locator('a[href*="evil.test"]').count() == 0
    assert page.evaluate("window.hacked") is None


def test_loans_of_two_kinds_from_three_clicks_to_one_row(page):
    """Watch tasks quit; read their table, what is common and what is not, a feature over them, and a row."""
    page.goto("/")
    settle(page)
    press(page, "Load loans")
    press(page, "Train on this table")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    settle(page)
    page.get_by_text("Accurate", exact=True).click()  # longer to watch
    settle(page)
    press(page, "Train")
    page.get_by_text("Tasks that quit the common trees").wait_for()
    page.get_by_role("button", name="Read the tasks").wait_for()
    settle(page)
    press(page, "Read the tasks")
    page.get_by_role("heading", name="The tasks", exact=True).wait_for()
    page.get_by_text("On held-out rows, learning together").wait_for()
    settle(page)
    bars = page.locator(".js-plotly-plot").first
    bars.locator(".legendtext").nth(1).wait_for()
    assert bars.locator(".legendtext").all_text_contents() == ["in the trees that tasks share", "in trees of one task"]
    for task in ("boat", "card"):
        page.locator(f"img[alt*='{task}']").first.wait_for()
    page.get_by_text("agrees with the common curve").first.wait_for()
    page.get_by_label("Held-out row, of").fill("2")
    page.keyboard.press("Enter")
    settle(page)
    page.get_by_text("this row", exact=True).wait_for()
    page.get_by_text("The parts add up exactly").wait_for()
    page.get_by_text("AUC", exact=True).click()
    page.get_by_text("Together, alone, one for all: AUC").wait_for()
    page.reload()
    settle(page)
    page.get_by_role("heading", name="One feature over the tasks").wait_for()


def test_a_row_moves_with_its_sliders_and_two_models_are_compared(page, space):
    first = small_model(space)
    add_bands(space, first.id)
    second = small_model(space, rounds=5)
    add_bands(space, second.id)
    space.models.rename(second.id, "shorter")
    page.goto(f"/rows?model={first.id}")
    settle(page)
    prediction = page.get_by_test_id("stMetric").filter(has_text="Prediction").get_by_test_id("stMetricValue")
    before = prediction.inner_text()
    page.get_by_test_id("stSlider").filter(has_text="area_sqm").get_by_role("slider").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.get_by_test_id("stMetric").filter(has_text="Prediction then").wait_for()
    settle(page)
    assert prediction.inner_text() != before
    assert page.locator(".js-plotly-plot .barlayer .trace").count()
    page.get_by_text("What would flip it").wait_for()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.locator("[class*=st-key-headline]", has_text="area_sqm").wait_for()
    settle(page)
    names = page.locator(".js-plotly-plot .legendtext").all_text_contents()
    assert {"prices", "shorter", "difference"} <= set(names)
    page.get_by_text("Held-out metrics").wait_for()


def segment(page, name):
    """Press a part of a segmented control."""
    parts = page.get_by_test_id("stButtonGroup")
    parts.get_by_role("radio", name=name, exact=True).or_(parts.get_by_role("button", name=name, exact=True)).or_(
        parts.get_by_text(name, exact=True)
    ).first.click()


def names_in_order(page):
    """The strategies on the board, the highest first."""
    found = page.locator("strong").filter(has_text=re.compile(r"^\d+ · "))
    return [text.split(" · ")[1] for text in found.all_inner_texts()]


def test_from_curves_to_messages_to_a_measured_lift(page, space):
    page.goto("/strategies")
    settle(page)
    for label in ("Load renewal", "Train three models", "Make the board"):
        press(page, label)
        settle(page)
    page.get_by_text("add up to the eligible").wait_for()
    assert names_in_order(page) == ["A", "C", "B"]
    (table,) = space.tables.listed()
    (made,) = board.boards(space, table.id)

    # a fourth strategy: a range that is dragged over a curve, kept, and taken onto the board
    model = made.read().strategies[0].model
    turn(page, f"/shapes?model={model}&feature=age")
    plot = page.locator(".js-plotly-plot").first
    for _ in range(3):  # a first drag may meet a figure that is still being drawn
        drag_along(page, plot, 0.7, 0.95)
        if page.get_by_test_id("stMetric").filter(has_text="Opportunity").count():
            break
    assert page.get_by_text(re.compile("^Rows where age at least ")).count() == 1
    size = page.viewport_size
    page.set_viewport_size({"width": 1440, "height": 900})
    assert faults_at_rest(page) == []  # the cards of a segment, on the commonest laptop
    page.set_viewport_size(size)
    page.get_by_label("Name of the segment").fill("Older customers")
    press(page, "Save as segment")
    page.get_by_text("It is on the page Strategies").wait_for()
    assert board.segments(space, table.id)[-1].name == "Older customers"
    turn(page, f"/strategies?table={table.id}&board={made.id}")
    press(page, "Add a strategy")
    dialog = page.get_by_role("dialog")
    assert "Older customers" in dialog.get_by_label("From").input_value()
    dialog.get_by_label("Action, in words").fill("Call them")
    dialog.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").wait_for(state="detached")
    settle(page)
    assert names_in_order(page) == ["A", "C", "B", "D"]
    page.keyboard.press("Alt+4")  # one up
    settle(page)
    assert names_in_order(page) == ["A", "C", "D", "B"]
    assert [one.name for one in board.board(space, made.id).read().strategies] == ["A", "C", "D", "B"]
    page.locator(f".st-key-acts-{made.id}-2 button").first.click()
    page.locator(f".st-key-remove-{made.id}-2 button").first.click()
    settle(page)

    # out, and back in
    segment(page, "Export")
    settle(page)
    with page.expect_download() as waiting:
        press(page, "JSON")
    exported = waiting.value.path()
    press(page, "Check them on this table")
    page.get_by_text("rows has the same strategy on the board").wait_for()
    press(page, "Board")
    press(page, "Import")
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        [{"name": "set.json", "mimeType": "application/json", "buffer": Path(exported).read_bytes()}]
    )
    settle(page)
    assert len(board.boards(space, table.id)) == 2
    assert board.boards(space, table.id)[1].read() == board.board(space, made.id).read()

    # plan and read-out
    page.goto(f"/strategies?table={table.id}&board={made.id}")
    settle(page)
    page.get_by_text("Guided example:").first.click()
    settle(page)  # it opens by and by, and what is pressed meanwhile is not pressed
    press(page, "Open the plan")
    page.get_by_text("shows after").first.wait_for()
    settle(page)
    page.get_by_text("Guided example:").first.click()
    settle(page)
    press(page, "Read the experiment")
    page.get_by_text("Nothing moved that should not").wait_for()
    settle(page)
    assert page.get_by_text(re.compile("Flat as expected|No change detected")).count() == 3
    page.reload()
    settle(page)
    segment(page, "Read-out")
    page.get_by_text("Nothing moved that should not").wait_for()


def test_a_report_is_put_together_and_its_page_runs_without_a_network(page, space, chromium, tmp_path):
    """From the page Report to a web page that draws itself offline, with hostile names in it."""
    model = small_model(space)
    space.models.rename(model.id, '<img src=x onerror="window.hacked=1">')
    space.models.set_note(model.id, "area_sqm", "<script>window.hacked=1</script>")
    page.goto(f"/report?model={model.id}")
    settle(page)
    page.get_by_placeholder("What should the reader take away?").nth(1).fill("<b>Size</b> first")
    page.keyboard.press("Enter")
    settle(page)
    page.get_by_role("radio", name="Web page").click()
    settle(page)
    press(page, "Make the report")
    page.get_by_role("button", name="Download the file").wait_for()
    with page.expect_download() as waiting:
        press(page, "Download the file")
    file = tmp_path / "report.html"
    file.write_bytes(Path(waiting.value.path()).read_bytes())
    with offline(chromium, file) as opened:
        assert opened.locator(".js-plotly-plot").count() > 5
        assert opened.get_by_text("<b>Size</b> first").count() == 1


@contextmanager
def offline(chromium, file):
    """A file in a browser without a network: it asks nobody for anything, runs nothing of its names, has no error."""
    context = window(chromium, offline=True)
    opened, asked, errors = context.new_page(), [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(file.as_uri())
    opened.locator(".js-plotly-plot .plot-container").first.wait_for()
    yield opened
    assert opened.locator("img, script[src], iframe, a[href^=http]").count() == 0
    assert opened.evaluate("window.hacked") is None
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_every_kind_of_plot_draws_itself_without_a_network(chromium, tmp_path):
    every = kinds.every()
    parts = [ReportPart(plot=plot) for plot in every.values()]
    drawn = "document.querySelectorAll('.js-plotly-plot .main-svg').length"
    for mode in ("light", "dark"):
        file = tmp_path / f"{mode}.html"
        file.write_bytes(to_html(kinds.MARKUP, parts, kinds.MARKUP, mode))
        with offline(chromium, file) as opened:
            opened.wait_for_function(f"{drawn} >= {len(every)}")
            assert opened.locator(".js-plotly-plot").count() == len(every)
            assert len(opened.locator("section h2").all_text_contents()) == len(every)


def test_what_should_not_fail_has_a_number_that_only_the_log_explains(chromium, shared, space):
    """A page, and a callback that runs without it; what is refused is said in its own words."""
    table = space.tables.add(pd.DataFrame({"a": range(50), "b": list("xy") * 25}), "damaged")
    path = space.tables.path(table.id)
    whole = path.read_bytes()
    path.write_bytes(b"PAR1 no table")
    context = window(chromium, base_url=shared.ready())
    page = context.new_page()
    page.goto(f"/data?table={table.id}")
    page.get_by_text("changed or damaged").wait_for()
    path.unlink()
    page.reload()
    page.get_by_text("restore it from a backup").wait_for()
    path.write_bytes(whole)
    space.edit("tables", table.id, lambda about: about | {"roles": 5})  # what no code of ours writes
    page.reload()
    page.get_by_text("Something went wrong").wait_for()
    shown = page.inner_text("body")
    number = re.search(r"error ([0-9a-f]{8})", shown)[1]
    assert "Traceback" not in shown
    assert "attribute" not in shown.lower()
    log = (shared.space / LOG).read_text(encoding="utf-8")
    assert f"error {number}" in log
    assert "Traceback" in log
    context.close()
    space.edit("tables", table.id, lambda about: about | {"roles": {}})
