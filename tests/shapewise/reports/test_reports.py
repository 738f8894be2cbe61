"""Reports, recipes and model cards: made in this process and by a worker, and read back."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pptx import Presentation
from pypdf import PdfReader
from sklearn.metrics import roc_auc_score

from gamcore.estimators.saved import from_saved
from gamcore.model.losses import LOSSES
from gamcore.viz import files as export
from gamcore.viz.files.parts import Report, ReportPart
from gamcore.viz.files.tidy import tidy
from shapewise.access.quotas import Limits
from shapewise.jobs import process as child
from shapewise.reports import card, recipes
from shapewise.reports import file_jobs as packs
from shapewise.reports.recipes import ReportItem
from shapewise.reports.review import MAKERS, review_of
from shapewise.scoring.held_out import HeldOutPredictions, held_out
from shapewise.store import people
from shapewise.store.workspace import StoreError
from shapewise.training.spec import Spec
from shapewise.training.train import train
from tests.support import kinds
from tests.support.kinds import FOREIGN, FORMULA, LONG, MARKUP
from tests.support.packs import kept, wait


@pytest.fixture(scope="module")
def hostile():
    """A report of names as hostile as they get."""
    every = kinds.every()
    table = [[MARKUP, "n"], *([FORMULA, str(k)] for k in range(40))]
    parts = (ReportPart(MARKUP, [f"{FORMULA}\n{FOREIGN} {LONG}"], table=table),
             ReportPart(plot=every["curve of 0"], comment=MARKUP), ReportPart(plot=every["surface"], text=[FOREIGN]),
             ReportPart(plot=every["reach"]))  # fmt: skip
    return Report(
        MARKUP, f"{LONG} {FOREIGN}", parts, (ReportPart("Card", table=[["", ""], ["Model", MARKUP]]),), MARKUP
    )


@pytest.fixture(scope="module")
def archive(hostile):
    """All files of that report, and the shares of the work that were told on the way."""
    shares = []
    content = export.to_report(hostile, "zip", lambda share, words: shares.append(share))
    return zipfile.ZipFile(io.BytesIO(content)), shares


def report_in(archive, ending):
    """The one report with an ending in an archive, as a file."""
    (name,) = (name for name in archive.namelist() if name.endswith(ending) and not name.startswith("plots/"))
    return io.BytesIO(archive.read(name))


@pytest.mark.slow
def test_slides_have_the_decision_first_and_a_chart_each(archive):
    deck = Presentation(report_in(archive[0], ".pptx"))
    slides = list(deck.slides)
    titles = [slide.shapes.title.text for slide in slides[1:]]
    assert titles[0].startswith(MARKUP[:40])
    assert titles[-1] == "Card"
    charts = [any(shape.has_chart for shape in slide.shapes) for slide in slides]
    assert sum(charts) == 2  # the heat map is a picture beside its table
    cells = [cell.text for slide in slides for shape in slide.shapes if shape.has_table
             for row in shape.table.rows for cell in row.cells]  # fmt: skip
    assert cells.count(FORMULA) == 40
    for slide in slides:
        for shape in slide.shapes:
            assert shape.top + shape.height <= deck.slide_height + 10


@pytest.mark.slow
def test_a_pdf_is_a4_landscape_with_its_fonts(archive):
    found = PdfReader(report_in(archive[0], ".pdf"))
    assert len(found.pages) >= 6
    text = ""
    for page in found.pages:
        assert [round(float(side) / 72, 1) for side in page.mediabox[2:]] == [11.7, 8.3]
        text += page.extract_text()
        for font in page["/Resources"]["/Font"].values():  # of many figures, fonts are written at the very end
            assert font.get_object()["/Subtype"] in ("/Type0", "/TrueType")
    assert "<script>" in text
    assert text.count("HYPERLINK") >= 40


@pytest.mark.slow
def test_a_page_runs_its_own_scripts_only(hostile):
    page = export.to_report(hostile, "html").decode()
    assert "default-src 'none'" in page
    assert page.count("<script>") == 2  # plotly once, and the few lines that draw
    assert MARKUP not in page
    assert "<img" not in page.split("</style>")[1].split("<script>")[0]
    assert 'src="http' not in page
    assert "&lt;script&gt;window.hacked=1" in page


@pytest.mark.slow
def test_an_archive_has_everything(archive):
    found, _ = archive
    names = found.namelist()
    assert sum(name.startswith("plots/") for name in names) == 3 * 5
    assert {name.rpartition(".")[2] for name in names} == {"pptx", "pdf", "html", "png", "svg", "csv", "xlsx", "txt"}
    assert found.testzip() is None
    assert not any(".." in name or name.startswith("/") for name in names)


@pytest.mark.slow
def test_steps_are_told_and_may_stop_a_report(hostile, archive):
    _, shares = archive
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] < 1

    def stop(share, words):
        raise child.StoppedError("Cancelled.")

    for kind in export.KINDS:
        with pytest.raises(child.StoppedError):
            export.to_report(hostile, kind, stop)


def everything(space, made):
    """A recipe of all that there is."""
    model = space.models.about(made.read().strategies[0].model)
    items = [ReportItem(kind) for kind in MAKERS if kind not in ("curve", "pair", "residuals", "lift", "why")]
    items += [ReportItem("curve", ("balance",), "Look here"), ReportItem("curve", ("not there",))]
    return model, recipes.save(space, recipes.Recipe("", "A review", "", tuple(items), "of step", made.id))


@pytest.mark.slow
def test_a_recipe_is_carried_out_and_says_what_it_left_out(acted):
    space, _, made = acted
    model, recipe = everything(space, made)
    space.models.set_note(model.id, "balance", "Agreed with sales")
    report = review_of(space, recipe, model.id)
    headings = [part.heading for part in report.parts]
    assert "How to read it" in headings
    curve = next(part for part in report.parts if part.plot is not None and part.plot.name == "balance")
    assert curve.comment == "Look here\nNote: Agreed with sales"
    left = next(part for part in report.appendix if part.title.startswith("Left out"))
    assert any("not there" in line and "not in the model" in line for line in left.text)
    names = [one.name for one in made.read().strategies]
    assert report.parts[0].title.startswith("Test A, then C, then B: ")
    who = next(part for part in report.parts if "get a strategy" in part.title)
    assert [row[1] for row in who.table[1:]] == names
    for kind in ("pptx", "pdf", "html"):
        assert len(export.to_report(report, kind)) > 10_000


@pytest.mark.slow
def test_next_month_the_same_recipe_goes_over_another_model(acted):
    space, _table, made = acted
    others = [one for one in space.models.listed() if one.id != made.read().strategies[0].model]
    _model, recipe = everything(space, made)
    again = recipes.recipe(space, recipe.id)
    assert again == recipe
    for other in others:
        assert len(review_of(space, again, other.id).parts) > 5
    changed = recipes.save(space, replace(again, name="Renamed", items=again.items[:2]))
    assert recipes.recipe(space, recipe.id) == changed
    space.delete("reports", recipe.id)
    assert recipes.recipes(space) == []
    for bad in ({}, [], {"items": [{}]}, {"items": 3}, None):
        with pytest.raises(StoreError):
            recipes.from_dict(bad)


@pytest.mark.slow
def test_the_card_says_what_how_and_how_surely(acted):
    space, table, made = acted
    model = space.models.about(made.read().strategies[0].model)
    told = dict(card.card(space, model.id).rows)
    assert table.id in told["Table"]
    assert told["Rows"].startswith(f"{model.rows['training']:,} for training")
    assert "95%" in told["Held-out AUC"]
    assert "Shapewise" in told["Made with"]
    assert model.name in card.line(model)
    assert "not causes" in card.card(space, model.id).text()
    found = held_out(space, model.id)
    assert f"{roc_auc_score(found.y, found.predicted):.3f}" in told["Held-out AUC"]


@pytest.mark.slow
def test_an_interval_of_an_auc_covers_it():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        y = np.repeat([0, 1], [60, 40])
        score = rng.normal(size=100) + 1.0 * y
        low, high = card.auc_interval(roc_auc_score(y, score), 40, 60)
        inside += low <= 0.76025 <= high  # Phi(1 / sqrt 2)
    assert 0.92 <= inside / 400 <= 0.985


@pytest.mark.slow
def test_a_worker_makes_a_report_and_a_scored_table(acted):
    space, table, made = acted
    model, recipe = everything(space, made)
    first = packs.start_report(space, recipe, model.id, "pptx")
    second = packs.start_scores(space, model.id, table.id, "parquet", 2)
    found = wait(space, first)
    assert (found.state, found.message) == ("done", "")
    assert len(Presentation(io.BytesIO(packs.content(space, first))).slides) > 10
    assert found.name.endswith(".pptx")
    found = wait(space, second)
    scores = pd.read_parquet(io.BytesIO(packs.content(space, second)))
    estimator = from_saved(space.models.load(model.id))
    expected = estimator.predict_proba(space.tables.read(table.id)[list(estimator.feature_names_in_)])[:, 1]
    np.testing.assert_array_equal(scores["prediction"], expected)
    assert {"score (log-odds)", "reason 1", "effect 1 (log-odds)", "reason 2", "effect 2 (log-odds)"} <= set(
        scores.columns
    )
    assert [one.id for one in packs.packs(space, "report")] == [first]


@pytest.mark.slow
def test_a_pack_is_cancelled_and_a_failure_is_told(acted):
    space, _table, made = acted
    model, recipe = everything(space, made)
    identifier = packs.start_report(space, recipe, model.id, "zip")
    packs.cancel(space, identifier)
    assert wait(space, identifier).state == "cancelled"
    with pytest.raises(StoreError, match="create it again"):
        packs.content(space, identifier)
    space.models.path(model.id).write_bytes(b"no model")
    failed = wait(space, packs.start_report(space, recipe, model.id, "pptx"))
    assert failed.state == "failed"
    assert "changed or damaged" in failed.message


@pytest.mark.slow
def test_only_so_many_packs_are_kept(acted, monkeypatch):
    space, table, made = acted
    monkeypatch.setattr(packs, "MOST_KEPT", 1)
    model = made.read().strategies[0].model
    few = space.tables.add(space.tables.read(table.id).head(100), "few")
    listed = []
    for _ in range(2):
        listed.append(packs.start_scores(space, model, few.id, "csv"))
        wait(space, listed[-1])
    assert [one.id for one in packs.packs(space)] == listed[1:]


@pytest.mark.slow
def test_files_count_as_what_their_owner_keeps_until_they_are_deleted(acted):
    space, table, made = acted
    before = kept(space)
    done = wait(space, packs.start_scores(space, made.read().strategies[0].model, table.id, "csv"))
    assert kept(space) == before + done.size > before
    space.limits = Limits(bytes=kept(space))
    with pytest.raises(StoreError, match="delete what you no longer need"):
        space.tables.add(space.tables.read(table.id).iloc[1:], "more")
    packs.delete(space, done.id)
    assert kept(space) == before
    assert (packs.packs(space), done.path.parent.exists()) == ([], False)
    assert people.log(space, 1)[0].action == "delete"


LATER = ("audience", "test", "start", "next_step", "template")


def test_a_recipe_is_plain_json(acted):
    space, _table, made = acted
    _, recipe = everything(space, made)
    told = json.loads(json.dumps(space.thing("reports", recipe.id).about))
    assert recipes.from_dict(told) == recipe
    told["items"].append({"kind": "of the future", "of": [], "comment": ""})
    assert recipes.from_dict(told | {"new": 1}) == recipe
    before = {name: value for name, value in told.items() if name not in LATER}  # as it was written before audiences
    assert recipes.from_dict(before).audience == "analyst"
    assert recipes.from_dict(told | {"audience": "of the future"}).audience == "analyst"


@pytest.mark.slow
def test_long_comments_are_there_to_the_last_word(hostile):
    words = " ".join(f"word{k}" for k in range(330))
    plot = kinds.every()["ratio"]
    report = Report("Long", "", (ReportPart(plot=plot, comment=words), ReportPart("Text", [words])))
    paper = "".join(page.extract_text() for page in PdfReader(io.BytesIO(export.to_report(report, "pdf"))).pages)
    deck = Presentation(io.BytesIO(export.to_report(report, "pptx")))
    slides = " ".join(shape.text_frame.text for slide in deck.slides for shape in slide.shapes if shape.has_text_frame)
    for found in (paper, slides):
        for k in (0, 150, 329):
            assert len(re.findall(rf"word{k}\b", found)) == 2, k


@pytest.mark.slow
def test_a_part_that_breaks_does_not_cost_the_others(acted, monkeypatch):
    space, _, made = acted
    model, recipe = everything(space, made)

    def broken(review, item):
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(MAKERS, "calibration", broken)
    report = review_of(space, recipe, model.id)
    left = next(part for part in report.appendix if part.title.startswith("Left out"))
    assert any("a bug" in line for line in left.text)
    assert len(report.parts) > 5
    monkeypatch.setattr("gamcore.viz.files.pptx_report.add_plot", broken)
    assert len(Presentation(io.BytesIO(export.to_report(report, "pptx"))).slides) > 10


@pytest.mark.slow
def test_the_board_stays_with_the_recipe_on_another_table(acted):
    space, table, made = acted
    frame = space.tables.read(table.id).iloc[:20_000]
    newer = space.tables.add(frame, "next month")
    old = space.models.about(made.read().strategies[0].model)
    spec = replace(Spec.from_dict(old.spec), table=newer.id, seed=7)
    other = train(space, spec)
    _, recipe = everything(space, made)
    report = review_of(space, recipe, other.id)
    reach = next(part.plot for part in report.parts if part.plot is not None and part.plot.name == "reach")
    assert f"{made.read().ledger(frame).eligible:,}" in reach.title  # of next month's table
    assert dict(card.card(space, other.id).rows)["Seed"] == "7"


def test_a_weighted_auc_is_as_sure_as_its_rows_are_many():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400).astype(float)
    said = np.clip(0.3 * y + rng.uniform(0.2, 0.6, 400), 0.01, 0.99)
    flat = dict(card.intervals(HeldOutPredictions(y, said, None, 0.5, LOSSES["logistic"])))["Held-out AUC"]
    few = dict(
        card.intervals(HeldOutPredictions(y, said, np.where(np.arange(400) < 20, 1000.0, 1.0), 0.5, LOSSES["logistic"]))
    )["Held-out AUC"]
    wide = [float(b) - float(a) for a, b in (re.findall(r"95%: ([.\d]+) to ([.\d]+)", told)[0] for told in (flat, few))]
    assert wide[1] > 2 * wide[0]


MARKED = "a\ufefftext"


@pytest.mark.slow
def test_the_mark_of_a_file_s_beginning_anywhere_breaks_nothing():
    """It came out of a spreadsheet with the text: PDFs broke at it."""
    model = kinds.model()[0]
    plot = model.explain_shape("age").describe(target=MARKED)
    plain = Report("Report", "subtitle", (ReportPart("Section", ["text"]),))
    reports = [
        replace(plain, title=MARKED), replace(plain, subtitle=MARKED), replace(plain, about=MARKED),
        replace(plain, parts=(ReportPart(MARKED, [MARKED], comment=MARKED, table=[[MARKED, "n"], ["x", MARKED]]),)),
        replace(plain, parts=(ReportPart(plot=plot, comment=MARKED),)),
        replace(plain, parts=(ReportPart(plot=tidy(replace(plot, title=MARKED)),),)),
    ]  # fmt: skip
    for report in reports:
        for form in ("pdf", "pptx", "html"):
            assert export.to_report(report, form)
    for form in export.FORMATS:
        assert export.to_bytes(replace(plot, title=MARKED), form, MARKED)


@pytest.mark.slow
def test_a_report_of_an_effect_shows_what_following_it_is_worth(moved):
    space, _, about = moved
    items = [ReportItem(kind) for kind in ("reading", "importance", "uplift", "card")]
    items.append(ReportItem("curve", ("days_away",)))
    assert recipes.quality_of(about) == ["uplift"]
    recipe = recipes.save(space, recipes.Recipe("", "Email", "", tuple(items)))
    report = review_of(space, recipe, about.id)
    titles = [part.plot.title for part in report.parts if part.plot is not None]
    assert any(title.startswith("Measured effect: +") for title in titles)
    assert any(title.startswith("Qini +") for title in titles)
    reading = " ".join(next(part for part in report.parts if part.heading == "How to read it").text)
    assert "Effects are those of the treatment" in reading
    assert "associations in the training rows" not in reading
    details = " ".join(part.plot.detail for part in report.parts if part.plot is not None)
    assert "added to the mean effect of email on returned (points)" in details
    assert "Effects are those of the treatment" in card.card(space, about.id).text()
    assert len(export.to_report(report, "html")) > 10_000
