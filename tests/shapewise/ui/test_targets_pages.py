"""Pages of counts per exposure and of several classes: each reads them as what they are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.common.numbers import exact, number
from shapewise.decisions import boards
from shapewise.reports import recipes
from shapewise.reports.recipes import ReportItem
from shapewise.reports.review import review_of
from shapewise.scoring.score_file import KINDS, Wanted, expected_bytes, scoring_estimator, write
from shapewise.scoring.score_rows import Scorer
from shapewise.store.atomic_files import size_of
from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, read_all, train
from shapewise.ui.explain import elsewhere, expected_range
from shapewise.ui.session import state
from shapewise.ui.train import settings
from tests.support.gears import mostly_slow
from tests.support.pages import button, charts, choose, headlines, open_page, open_tab
from tests.support.places import ROOT

PAGES = ["overview", "shapes", "pairs", "rows", "compare", "strategies", "models", "report"]
MODELS = {"claims": ("claims", "count", "exposure_years"), "choice": ("plan", "classes", None)}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A workspace with a model of claims per year and one of four plans, both with a pair and bands."""
    space, made = Workspace(tmp_path_factory.mktemp("targets")), {}
    for name, (target, goal, exposure) in MODELS.items():
        frame = pd.read_csv(ROOT / "sample_data" / f"{name}.csv").head(3000)
        table = space.tables.add(frame, name)
        left = {target, exposure, "claim_amount", "customer_id", "policy_id"}
        changes = {"outer_bags": 2, "max_rounds": 20, "interactions": 1}
        features = [column for column in frame.columns if column not in left]
        spec = Spec(table.id, target, name, features, goal=goal, exposure=exposure, changes=changes, bands=10)
        made[name] = add_bands(space, train(space, spec).id)
    return space, made


@pytest.fixture(autouse=True)
def there(trained, space, monkeypatch):
    monkeypatch.setenv("GAMCORE_WORKSPACE", str(trained[0].root))  # in place of the empty one


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", mostly_slow(MODELS, 1))
@pytest.mark.parametrize("page", PAGES)
def test_every_page_reads_them(trained, name, page):
    assert not open_page(page, model=trained[1][name].id).error


def test_counts_are_read_as_factors_and_rates(trained):
    model = trained[1]["claims"].id
    app = open_page("overview", model=model)
    assert [tab.label for tab in app.tabs] == ["Lift by tenth", "Calibration", "Concentration"]
    assert "Mean rate" in [one.label for one in app.metric]
    app = open_tab(app, f"quality-{model}", "Concentration")
    (gini,) = (float(re.match(r"Gini (0\.\d{3})", line)[1]) for line in headlines(app) if line.startswith("Gini"))
    assert 0.05 < gini < 0.6
    app = open_page("shapes", model=model)
    assert any("factor of the mean" in one.value for one in app.caption)
    assert any("per unit of exposure" in one.value for one in app.caption)


@pytest.mark.slow
def test_rows_have_the_rate_and_the_total_of_scored_files(trained):
    space, made = trained
    model = made["claims"]
    spec = Spec.from_dict(model.spec)
    estimator, data = scoring_estimator(space, model.id), read_all(space, spec)
    rows = space.tables.read(spec.table).loc[data.X.index]
    scores = Scorer(estimator, 0, (), spec.exposure)(rows).assign(was=data.y.to_numpy())[data.held_out]
    app = open_page("rows", model=model.id)
    order = next(one for one in app.selectbox if one.label == "In order of")
    assert order.options == ["table", "highest rate", "lowest rate", "largest error"]
    firsts = {
        "table": scores.iloc[0], "highest rate": scores.loc[scores["rate"].idxmax()],
        "largest error": scores.loc[(scores["expected"] - scores["was"]).abs().idxmax()],
    }  # fmt: skip
    for name, first in firsts.items():
        app = open_page("rows", model=model.id)
        next(one for one in app.selectbox if one.label == "In order of").set_value(name).run()
        assert not app.exception
        shown = {one.label: one.value for one in app.metric}
        assert list(shown)[:3] == ["Rate", "Expected", "It was"]
        assert shown["Rate"] == number(first["rate"]), name
        assert shown["Expected"] == number(first["expected"]), name
        assert shown["It was"] == exact(first["was"]), name
    app = open_page("models", model=model.id)
    app.session_state["elsewhere"] = True
    app.run()
    assert not app.exception
    assert any("`rate`, per unit of exposure" in one.value.replace("\\", "") for one in app.caption)
    sql = elsewhere._written(model.id, "sql", "", "", "€")
    assert 'AS "rate"' in sql
    assert 'AS "expected"' in sql
    assert "prediction" not in sql


@pytest.mark.slow
def test_a_class_is_chosen_once_for_all_pages(trained):
    model = trained[1]["choice"].id
    app = open_page("shapes", model=model, feature="age")
    picked = next(box for box in app.selectbox if box.label == "Class")
    names = picked.options
    assert (len(names), picked.value) == (4, "flex")  # the most frequent one, which comes third in order
    before = headlines(app)
    next(box for box in app.selectbox if box.label == "Class").select(names[0]).run()
    assert not app.exception
    assert headlines(app) != before
    choose(app, "What next", "segment")
    next(field for field in app.number_input if field.label == "At least").set_value(30.0).run()
    button(app, "Save as segment").click().run()
    (kept,) = boards.segments(trained[0], trained[1]["choice"].table)
    assert kept.metric == f"plan = {names[0]}"
    next(toggle for toggle in app.toggle if toggle.label == "All classes").set_value(True).run()
    assert not app.exception
    drawn = {trace.get("name") for trace in charts(app)[-1]["data"]}
    assert set(names) <= drawn


def test_a_row_has_a_range_of_its_own_exposure_in_whole_numbers(trained):
    app = open_page("rows", model=trained[1]["claims"].id)
    words = [one.value for one in app.markdown if "of the outcomes of such rows" in one.value]
    assert len(words) == 1
    assert "over this row's exposure" in words[0]
    ends = re.findall(r"\*\*(.*?)\*\*", words[0])
    assert ends
    assert all(re.fullmatch(r"[\d,]+", end) for end in ends)
    assert "What makes the outcome uncertain" not in [one.label for one in app.expander]
    app = open_page("rows", model=trained[1]["choice"].id)
    assert not [one for one in app.markdown if "of the outcomes of such rows" in one.value]


def test_a_range_is_said_as_it_is():
    def say(low, high):
        return expected_range.sentence(0.9, " over 2 years", low, high, lambda value: f"{value:g}")

    assert say(0.0, 3.0) == "At least 90% of the outcomes of such rows over 2 years lie between **0** and **3**."
    assert say(0.0, 0.0) == "At least 90% of the outcomes of such rows over 2 years are **0**."
    assert say(1.0, np.inf).endswith("are **1** or more: no upper end holds so often.")


def test_classes_have_a_confusion_and_their_rankings(trained):
    app = open_page("overview", model=trained[1]["choice"].id)
    assert [tab.label for tab in app.tabs] == ["Confusion", "Each class against the rest"]
    assert "Right class" in [one.label for one in app.metric]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "label"), [("claims", "A count"), ("choice", "One of several")])
def test_train_proposes_the_kind(trained, name, label):
    app = open_page("train", table=trained[1][name].table)
    assert not app.error
    kind = next(box for box in app.selectbox if box.label == "Treat it as")
    assert kind.value in ("count", "classes")
    assert label in kind.options
    assert any("Suggested, since" in one.value for one in app.caption)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scores"), [("claims", 1), ("choice", 4)])
def test_bands_of_several_classes_are_estimated_for_each_class(trained, monkeypatch, name, scores):
    asked = []
    monkeypatch.setattr(settings, "estimate_bands", lambda *_, n_scores: asked.append(n_scores) or 1.0)
    assert not open_page("train", table=trained[1][name].table).error
    assert set(asked) == {scores}


@pytest.mark.slow
def test_nothing_is_said_of_a_class_that_needs_the_others(trained):
    """A class's score is beside the average class: no observed mean and no line to cross is on that scale."""
    model = trained[1]["choice"]
    assert "Observed" not in [toggle.label for toggle in open_page("shapes", model=model.id).toggle]
    app = open_page("rows", model=model.id)
    assert "What would flip it" not in [one.value for one in app.subheader]
    assert any("score of this class" in one.value for one in app.caption)
    claims = trained[1]["claims"].id
    assert "Observed" in [toggle.label for toggle in open_page("shapes", model=claims).toggle]
    assert "What would flip it" in [one.value for one in open_page("rows", model=claims).subheader]


@pytest.mark.parametrize(
    ("name", "scales"), [("claims", ["Factor", "Units", "Log"]), ("choice", ["Odds ratio", "Log-odds"])]
)
def test_a_report_is_read_on_the_scales_of_its_model(trained, name, scales):
    app = open_page("report", model=trained[1][name].id)
    offered = next(group for group in app.get("button_group") if group.label == "Scale")
    assert offered.options == scales


def test_a_report_of_several_classes_shows_all_of_them(trained):
    space, model = trained[0], trained[1]["choice"]
    names = state.class_names(model.id)
    feature = model.spec["features"][0]
    usual = recipes.usual(model, [feature], None, audience="analyst", of_class=names[1])
    assert ReportItem("classes") in usual.items
    asked = replace(usual, items=(ReportItem("chances", (feature,)), ReportItem("classes")))
    chances, confusion, rankings = (part.plot for part in review_of(space, asked, model.id).parts)
    assert set(names) <= set(chances.numbers)
    assert confusion.numbers["class"].tolist() == [*(f"was {name}" for name in names), "precision"]
    assert set(rankings.numbers["class"]) == set(names)
    offered = next(box for box in open_page("report", model=model.id).multiselect if box.label == "Add").options
    assert f"Chances of all classes: {feature}" in offered
    left = review_of(space, asked, trained[1]["claims"].id).appendix[-1]
    assert all("does not predict one of several classes" in line for line in left.text)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_of_a_scored_file_count_intervals_and_chances(trained, name, kind, tmp_path):
    space, model = trained[0], trained[1][name]
    scorer = Scorer(scoring_estimator(space, model.id), 0, (), model.spec.get("exposure"))
    assert scorer.n_numbers == {"claims": 5, "choice": 6}[name]  # with a total and two ends; with four chances
    frame = space.tables.read(model.table)
    keep = (frame.columns[0],)
    exposure = model.spec.get("exposure")
    wanted = Wanted(space, model.table, kind, 0, keep=keep, exposure=exposure, numbers=scorer.n_numbers)
    write(wanted, scoring_estimator(space, model.id), tmp_path / "scored", "", lambda share: None)
    real = size_of(tmp_path / "scored")
    assert real / 2 < expected_bytes(wanted) < 2 * real
