"""The page Pairs: ranking, choosing and refitting, heat map, rectangle, slices."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest

from gamcore.estimators.saved import from_saved
from shapewise.store.root import default_root
from shapewise.store.workspace import Workspace
from shapewise.training.spec import Spec
from shapewise.training.train import train
from shapewise.ui.explain import pair as joint
from shapewise.ui.explain import pair_ranking
from shapewise.ui.train import live
from tests.support.hostile import EVIL
from tests.support.pages import button, captions, choose, headlines, open_page

pytestmark = pytest.mark.usefixtures("space")


def charts(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def widget(elements, label):
    return next(element for element in elements if element.label == label)


def test_the_ranking_and_the_heat_map_of_a_model(paired):
    _, _, model = paired
    app = open_page("pairs", model=model.id)
    assert not app.error
    assert not app.markdown[0].value.startswith("Rows of")  # streamlit shows a bare text as a paragraph
    ranking, heat, slices = charts(app)
    assert ranking["layout"]["yaxis"]["ticktext"][0] in ("a × b", "b × &lt;img src=x onerror=alert(1)&gt; [a](h…")
    assert len(ranking["data"]) == 2
    gains = np.array(ranking["data"][1]["x"], float)
    gains = gains[np.isfinite(gains)]
    assert len(gains) == 2
    assert min(gains) > 0.1
    assert heat["layout"]["coloraxis"]["cmin"] == -heat["layout"]["coloraxis"]["cmax"]
    assert heat["layout"]["xaxis"]["range"] == heat["layout"]["xaxis3"]["range"]
    assert heat["layout"]["yaxis3"]["range"] == heat["layout"]["yaxis4"]["range"]
    assert "heatmap" in [trace["type"] for trace in heat["data"]]
    assert slices["data"]
    assert any("more than chance would produce" in caption.value for caption in app.caption)
    assert any("a missing" in caption.value for caption in app.caption)


def test_a_pair_that_is_kept_for_accuracy_and_one_that_is_of_no_use_are_named(paired, monkeypatch):
    """A model may keep more pairs than chance explains: what each is good for is said, and no headline denies it."""
    rank = pair_ranking.ranked_pairs

    def weak(model):
        ranking, worth, rows = (copy.deepcopy(part) for part in rank(model))
        ranking.attrs["chance"] = 2 * ranking["strength"].max()
        return ranking, worth.assign(worth=[0.1, -0.1], low=[0.05, -0.2]), rows

    monkeypatch.setattr(pair_ranking, "ranked_pairs", weak)
    app = open_page("pairs", model=paired[2].id)
    helps, does_not = (one.replace("\\", "") for one in app.selectbox(key="pair").options)
    caption = captions(app).replace("\\", "")
    assert "0 of 6 pairs interact more than chance" in caption
    assert f"Of the model's 2 pairs, 1 is not beyond chance and kept for accuracy: {helps}" in caption
    assert does_not.startswith("b × ")  # of a hostile name, which is escaped
    assert "** does not help there: leave it out" in caption
    assert not any("no clear effect" in line for line in headlines(app))


def test_names_from_data_are_not_markup(paired):
    app = open_page("pairs", model=paired[2].id, pair=f"b × {EVIL}")
    assert app.selectbox(key="pair").value == f"b × {EVIL}"
    for element in [*app.markdown, *app.caption, *app.title, *app.subheader]:
        assert EVIL not in element.value
    for drawn in app.get("plotly_chart"):
        assert "<img" not in drawn.proto.spec


def test_nothing_is_refitted_while_nothing_is_tried(paired, monkeypatch):
    refits = []
    monkeypatch.setattr(live, "shown", lambda *settings: refits.append(settings))
    app = open_page("pairs", model=paired[2].id)
    assert not app.exception
    assert not refits
    widget(app.slider, "How many").set_value(1).run()
    assert refits


@pytest.mark.slow
def test_other_pairs_are_tried_live_and_the_full_model_follows(paired):
    space, _, model = paired
    app = open_page("pairs", model=model.id)
    assert "Train the full model" not in [b.label for b in app.button]
    widget(app.slider, "How many").set_value(1).run()
    assert not app.exception
    assert "Train the full model" in [b.label for b in app.button]
    assert len(app.selectbox(key="pair").options) == 1
    assert "one refit" in captions(app)
    (metric,) = [m for m in app.metric if m.label.startswith("Held-out R")]
    assert float(metric.delta.lstrip("+")) > 0  # one interaction less: a larger error
    widget(app.radio, "Pairs in the model").set_value("auto").run()
    assert not app.exception
    assert len(app.selectbox(key="pair").options) == 2
    widget(app.radio, "Pairs in the model").set_value("chosen").run()
    widget(app.multiselect, "Which").set_value(["a × lone"]).run()
    assert app.selectbox(key="pair").options == ["a × lone"]
    assert len(space.models.listed()) == 1


def test_no_pairs_at_all(paired):
    _, _, model = paired
    app = open_page("pairs", model=model.id)
    widget(app.slider, "How many").set_value(0).run()
    assert not app.exception
    assert any("has no pairs" in info.value for info in app.info)


def test_a_dragged_rectangle_is_one_of_whole_bins_of_the_heat_map(paired):
    estimator = from_saved(Workspace(default_root()).models.load(paired[2].id))
    found = estimator.explain_pair("a", "b")
    heat = {"xref": "x3", "yref": "y3", "x": [5.0, 0.0], "y": [-5.0, 0.0]}
    margin = {"xref": "x", "yref": "y", "x": [0.0, 1.0], "y": [0.0, 1.0]}
    chosen = joint.rectangle_of([heat, margin], found)
    assert chosen.rows[1] == found.first.size
    assert chosen.columns[0] == 0
    assert abs(found.first.edges[chosen.rows[0]]) < 0.5
    assert found.mean(chosen) < -0.5
    assert joint.rectangle_of([margin], found) is None
    assert joint.rectangle_of([], found) is None


@pytest.mark.slow
def test_who_is_in_a_rectangle(paired):
    app = open_page("pairs", model=paired[2].id, pair="a × b")
    sides = {slider.label: slider for slider in app.select_slider}
    half = {name: len(slider.options) // 2 for name, slider in sides.items()}
    sides["a"].set_range(half["a"], len(sides["a"].options) - 1).run()
    widget(app.select_slider, "b").set_range(0, half["b"] - 1).run()
    assert not app.exception
    told = {m.label: m for m in app.metric}
    assert float(told["Joint effect, mean"].value) < -0.5
    assert int(told["Held-out rows inside"].value) == pytest.approx(600 * 0.25 * 8 / 9, rel=0.4)
    value, interval = (text.replace("\\", "") for text in (told["Opportunity"].value, told["Opportunity"].delta))
    assert float(value) < -0.5  # the mean inside against the rest
    assert float(interval.split(" to ")[1]) < 0
    assert sum(shape["type"] == "rect" for shape in charts(app)[1]["layout"]["shapes"]) == 2  # empty cells, and it
    words = next(m.value for m in app.markdown if m.value.startswith("**Rows where**"))
    assert "a at least" in words
    assert "and b below" in words


def test_a_typed_rectangle_and_the_whole_again(paired):
    app = open_page("pairs", model=paired[2].id, pair="a × b")
    slider = widget(app.select_slider, "a")
    options = slider.options
    slider.set_range(2, 3).run()
    assert not app.exception
    assert any(m.label == "Held-out rows inside" for m in app.metric)
    widget(app.select_slider, "a").set_range(0, len(options) - 1).run()
    assert not any(m.label == "Held-out rows inside" for m in app.metric)


def test_a_rectangle_is_forgotten_on_another_pair(paired):
    app = open_page("pairs", model=paired[2].id, pair="a × b")
    widget(app.select_slider, "a").set_range(2, 4).run()
    assert any(m.label == "Held-out rows inside" for m in app.metric)
    app.selectbox(key="pair").set_value(f"b × {EVIL}").run()
    assert not app.exception
    assert not any(m.label == "Held-out rows inside" for m in app.metric)


@pytest.mark.slow
def test_the_page_shows_the_model_until_other_pairs_are_chosen(paired):
    """Also where more pairs were asked for than there are, and where chosen ones are in another order."""
    space, table, model = paired
    for wanted in (100, [["lone", "b"], ["b", "a"]], "auto"):
        spec = Spec(table.id, "y", "asked", model.spec["features"], preset="fast", changes={"interactions": wanted})
        found = train(space, spec)
        app = open_page("pairs", model=found.id)
        assert "Train the full model" not in [b.label for b in app.button]
        assert "one refit, no band" not in captions(app)
        assert len(app.selectbox(key="pair").options) == found.n_pairs


def test_a_feature_of_a_pair_can_be_left_out(paired):
    space, table, model = paired
    pairs = [["a", "b"], ["b", "lone"]]
    spec = Spec(table.id, "y", "chosen", model.spec["features"], preset="fast", changes={"interactions": pairs})
    app = open_page("shapes", model=train(space, spec).id, feature="a")
    choose(app, "What next", "left")
    assert not app.exception
    assert not app.error
    assert any(one.value.startswith("Without **a**, the held-out RMSE rises") for one in app.markdown)


def test_a_table_where_nothing_varies(space):
    frame = pd.DataFrame({"a": np.arange(300.0), "one": 1.0})
    frame["y"] = frame["a"] % 7
    table = space.tables.add(frame, "flat", [])
    model = train(space, Spec(table.id, "y", "flat", ["a", "one"], preset="fast"))
    app = open_page("pairs", model=model.id)
    assert any("no pair to rank" in info.value for info in app.info)


def test_slices_turn_with_their_feature(paired):
    app = open_page("pairs", model=paired[2].id, pair="a × b")
    along = next(control for control in app.get("button_group") if control.label == "Slices along")
    assert any("Along a" in one for one in headlines(app))
    along.set_value("b").run()
    assert not app.exception
    assert any("Along b" in one for one in headlines(app))


def test_a_model_without_its_table_still_shows_its_pairs(paired):
    space, table, model = paired
    space.delete("tables", table.id)
    app = open_page("pairs", model=model.id)
    assert len(charts(app)) == 2
    assert any("needs the table" in caption.value for caption in app.caption)


def test_one_feature_has_no_pairs(paired):
    space, table, _ = paired
    model = train(space, Spec(table.id, "y", "one", ["a"], preset="fast"))
    app = open_page("pairs", model=model.id)
    assert any("needs two" in info.value for info in app.info)


def test_pairs_in_overview_and_models(paired):
    app = open_page("overview", model=paired[2].id)
    names = charts(app)[0]["layout"]["yaxis"]["ticktext"]
    assert "a × b" in names
    app = open_page("models", model=paired[2].id)
    assert app.dataframe[0].value["Pairs"].tolist() == [2]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["auto", "number"])
def test_training_with_pairs(paired, way):
    space, table, model = paired
    app = open_page("train", table=table.id)
    next(control for control in app.get("button_group") if control.label == "Pairs of features").set_value(way).run()
    if way == "number":
        widget(app.number_input, "Pairs, the strongest").set_value(1).run()
    next(control for control in app.get("button_group") if control.label == "Preset").set_value("fast").run()
    button(app, "Train").click().run()
    assert not app.exception
    (newest,) = [other for other in space.models.listed() if other.id != model.id]
    assert newest.spec["changes"]["interactions"] == ("auto" if way == "auto" else 1)
    assert newest.n_pairs == (2 if way == "auto" else 1)
    assert np.isfinite(newest.metrics["rmse"])


@pytest.mark.slow
def test_triples_are_drawn_below_and_judged_on_held_out_rows(three_way):
    app = open_page("pairs", model=three_way[2].id)
    assert not app.error
    picked = app.selectbox(key="triple")
    assert picked.options[0] == f"north × east × {EVIL}"
    (maps,) = (chart for chart in charts(app) if sum(trace["type"] == "heatmap" for trace in chart["data"]) > 1)
    assert "<img" not in json.dumps(maps)
    assert "lowers the squared error of held-out rows" in captions(app)
    assert "It may be chance" not in captions(app)
    assert EVIL not in captions(app)
    (split,) = (c for c in app.get("button_group") if c.label == "A heat map for each part of")
    split.set_value("north").run()
    assert not app.exception
    (again,) = (chart for chart in charts(app) if sum(trace["type"] == "heatmap" for trace in chart["data"]) > 1)
    assert again["layout"] != maps["layout"]
    widget(app.radio, "Pairs in the model").set_value("number").run()
    widget(app.slider, "How many").set_value(1).run()
    assert not app.exception
    assert len(app.selectbox(key="triple").options) == 1  # with other pairs, too
    assert headlines(app)[-1].endswith("one refit")
