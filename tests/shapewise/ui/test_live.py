"""Live training: one refit at once, compared with the one before."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import PRESETS
from gamcore.data.columns import TableError
from gamcore.viz import plotly_figures as figures
from shapewise.training import live, runs
from shapewise.training.dataset import read_data
from shapewise.training.spec import Spec
from shapewise.training.train import train
from shapewise.ui.train import live as page_live
from tests.support.pages import button, chart, choose, open_page

pytestmark = pytest.mark.usefixtures("space")

TABLE = "0123456789abcdef"


def data(n=2000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y"], n), "noise": rng.normal(size=n)})
    frame["y"] = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * frame["a"])), "yes", "no")
    spec = Spec(TABLE, "y", "live", ["a", "b", "noise"], positive=["yes"])
    return frame, spec


def test_a_draft_is_one_refit_measured_on_held_out_rows():
    frame, spec = data()
    found = live.draft(read_data(frame, spec), spec)
    assert found.estimator.model_.n_refits == 1
    assert found.complete
    assert 0.6 < found.metrics["auc"] < 1
    worse = replace(spec, features=["b", "noise"])
    assert live.draft(read_data(frame, worse), worse).metrics["auc"] < found.metrics["auc"] - 0.1


def test_a_draft_is_kept_in_few_bytes_and_comes_back_as_it_was():
    frame, spec = data()
    frame["b"] = np.random.default_rng(1).normal(size=len(frame))
    found = live.draft(read_data(frame, spec), replace(spec, changes={"interactions": [["a", "b"], ["b", "noise"]]}))
    held = sum(pair.counts.nbytes + pair.scores.nbytes for pair in found.estimator.model_.pairs)
    packed = found.packed()
    assert len(packed.model) < held / 10
    back = packed.draft()
    assert (back.metrics, back.seconds, back.complete) == (found.metrics, found.seconds, found.complete)
    assert back.estimator.get_params() == found.estimator.get_params()
    rows = frame[spec.features]
    np.testing.assert_array_equal(back.estimator.predict_proba(rows), found.estimator.predict_proba(rows))
    for name in spec.features:
        np.testing.assert_array_equal(*(d.estimator.explain_shape(name).scores for d in (back, found)))
    for ask in ("scores", "counts"):
        np.testing.assert_array_equal(*(getattr(d.estimator.explain_pair("a", "b"), ask) for d in (back, found)))


def test_a_draft_that_takes_long_is_stopped_and_says_so(monkeypatch):
    monkeypatch.setattr(live, "MOST_SECONDS", 0.0)
    frame, spec = data()
    slow = replace(spec, changes={"learning_rate": 0.001, "early_stopping_rounds": 1000})
    found = live.draft(read_data(frame, slow), slow)
    assert not found.complete
    assert found.estimator.n_rounds_ < 100


def test_the_estimate_grows_with_rows_and_slow_presets():
    _, spec = data()
    assert live.seconds_of(39_000, 14, spec) < live.LIVE_SECONDS < live.seconds_of(3_000_000, 14, spec)
    assert live.seconds_of(39_000, 14, replace(spec, preset="paper")) > live.LIVE_SECONDS


def test_other_threads_go_on_while_a_draft_is_fitted():
    frame, spec = data(60_000)
    slow = replace(spec, changes={"learning_rate": 0.02, "coarse_leaves": None})
    read = read_data(frame, slow)
    live.draft(read, slow)  # compiled
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.002)

    other = threading.Thread(target=tick)
    other.start()
    live.draft(read, slow)
    done.set()
    other.join()
    assert ticks > 5


@pytest.mark.parametrize("feature", ["a", "b"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_curve_before_is_drawn_faint(feature, mode):
    frame, spec = data()
    now, past = (
        live.draft(read_data(frame, s), s).estimator.explain_shape(feature)
        for s in (spec, replace(spec, changes={"learning_rate": 0.02, "max_rounds": 3}))
    )
    drawn = figures.draw(now.describe("y", "", before=past), mode)
    (faint,) = [trace for trace in drawn.data if trace.name == "before"]
    if feature == "a":
        np.testing.assert_allclose(np.unique(faint.y), np.unique(past.scores))
    else:
        assert sorted(faint.y) == sorted(past.scores)
    assert "before" not in {trace.name for trace in figures.draw(now.describe("y", ""), mode).data}


def trying(model):
    """The page Shapes with other settings to try."""
    return choose(open_page("shapes", model=model.id), "What next", "settings")


def settle_on(app, label, value):
    control = next(control for control in [*app.slider, *app.select_slider] if control.label == label)
    return control.set_value(value).run()


def names_drawn(app):
    return [trace.get("name") for trace in chart(app)["data"]]


def test_a_feature_can_be_left_out(full):
    number = full[2]
    app = open_page("shapes", model=number.id)
    first = app.dataframe[0].value["feature"][0]
    before = chart(app)["data"]
    choose(app, "What next", "left")
    assert not app.exception
    said = next(one.value for one in app.markdown if one.value.startswith("Without "))
    assert re.search(rf"{first}.*held-out RMSE rises from [0-9.,]+ to [0-9.,]+\.", said.replace("\\", ""))
    assert chart(app)["data"] == before  # the curve of the model, not of the refit
    assert "Train the model without it" in [b.label for b in app.button]


def test_the_only_feature_cannot_be_left_out(full):
    space, _, number, _ = full
    alone = train(space, replace(Spec.from_dict(number.spec), features=["area_sqm"]))
    app = choose(open_page("shapes", model=alone.id), "What next", "left")
    assert any("nothing to learn from" in one.value for one in app.caption)


@pytest.mark.slow
def test_leaves_and_smoothing_move_the_curve(full):
    app = trying(full[2])
    assert not app.metric
    before = chart(app)["data"]
    settle_on(app, "Smoothing rounds", 200)
    assert not app.exception
    assert chart(app)["data"] != before
    assert "before" in names_drawn(app)
    assert app.metric[0].label == "Held-out RMSE"
    assert app.metric[0].delta
    assert "Train the full model" in [b.label for b in app.button]
    app = trying(full[2])
    settle_on(app, "Leaves per tree", 6)
    assert not app.exception
    assert app.metric[0].delta


def test_a_refit_stopped_for_time_is_not_compared(full, monkeypatch):
    app = trying(full[2])
    monkeypatch.setattr(live, "MOST_SECONDS", 0.0)
    settle_on(app, "Leaves per tree", 5)
    assert any("stopped early" in caption.value for caption in app.caption)
    assert not app.metric[0].delta
    monkeypatch.setattr(live, "MOST_SECONDS", 60.0)
    settle_on(app, "Leaves per tree", 4)
    assert not app.metric[0].delta  # nothing whole to compare with
    settle_on(app, "Leaves per tree", 6)
    assert app.metric[0].delta


def test_while_a_refit_goes_on_nothing_old_is_shown(full, monkeypatch):
    """Neither the curve nor the numbers of the settings before."""
    app = trying(full[2])
    fitted, begun, end = live.draft, threading.Event(), threading.Event()

    def slow(data, spec):
        begun.set()
        assert end.wait(60)
        return fitted(data, spec)

    monkeypatch.setattr(live, "draft", slow)
    monkeypatch.setattr("shapewise.ui.train.refits.PATIENCE", 0.01)
    settle_on(app, "Leaves per tree", 5)
    assert begun.wait(60)
    assert any("being redrawn" in caption.value for caption in app.caption)
    assert not app.metric
    assert not app.get("plotly_chart")
    end.set()
    monkeypatch.setattr("shapewise.ui.train.refits.PATIENCE", 60.0)
    app.run()
    assert "before" in names_drawn(app)
    assert app.metric[0].delta


def test_settings_that_cannot_be_fitted_do_not_stand_in_the_way_of_the_next(full, monkeypatch):
    app = trying(full[2])
    fitted = live.draft

    def refuse(data, spec):
        if spec.changes.get("max_leaves") == 7:
            raise TableError("These cannot be fitted.")
        return fitted(data, spec)

    monkeypatch.setattr(live, "draft", refuse)
    settle_on(app, "Leaves per tree", 7)
    assert [error.value for error in app.error] == ["These cannot be fitted\\."]
    settle_on(app, "Leaves per tree", 8)
    assert not app.error
    assert app.metric[0].delta


def test_a_model_starts_with_the_settings_it_was_trained_with(full, monkeypatch):
    monkeypatch.setitem(PRESETS, "fast", {**PRESETS["fast"], "learning_rate": 0.1, "smoothing_rounds": 200})
    app = trying(full[2])
    assert next(s for s in app.select_slider if s.label == "Learning rate").value == 0.4
    assert "Train the full model" not in [b.label for b in app.button]


def test_a_model_outside_the_usual_range_starts_as_it_is(full):
    store, _, number, _ = full
    changes = {"max_leaves": 12, "subsample": 0.1, "smoothing_rounds": 25, "max_rounds": 10}
    spec = replace(Spec.from_dict(number.spec), name="wide", changes=changes)
    app = trying(train(store, spec))
    assert "Train the full model" not in [b.label for b in app.button]  # nothing is changed yet
    assert "before" not in names_drawn(app)


def test_live_is_off_where_a_refit_takes_long(full, monkeypatch):
    monkeypatch.setattr(page_live, "MOST_LIVE", 0.0)
    monkeypatch.setattr(page_live, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(live, "draft", lambda *_: pytest.fail("nothing may be refitted"))
    app = open_page("train", table=full[1].id)
    (toggle,) = [t for t in app.toggle if t.label == "Live"]
    assert not toggle.value
    assert not toggle.disabled
    assert any("A refit takes" in caption.value for caption in app.caption)


def test_what_was_tried_is_trained_in_full(full, monkeypatch):
    app = settle_on(trying(full[2]), "Leaves per tree", 5)
    started = []
    monkeypatch.setattr(runs, "start", lambda store, spec, jobs: started.append(spec) or "0" * 16)
    button(app, "Train the full model").click().run()
    assert started[0].changes["max_leaves"] == 5
    assert started[0].name == full[2].name


def test_train_shows_the_shape_of_its_form(full):
    app = open_page("train", model=full[2].id)
    assert [m.label for m in app.metric] == ["Held-out RMSE"]
    first = app.metric[0].value
    leave_out = next(control for control in app.multiselect if control.label == "Leave out")
    strongest = next(s for s in app.selectbox if s.label == "Feature, by importance").value
    leave_out.set_value([*leave_out.value, strongest]).run()
    assert not app.exception
    assert app.metric[0].value != first
    assert app.metric[0].delta
    next(control for control in app.selectbox if control.label == "Predict").set_value("balcony").run()
    assert not app.exception
    assert not app.metric[0].delta  # another target: nothing to compare with


def test_without_its_table_a_model_is_not_refitted(full):
    store, table, number, _ = full
    store.delete("tables", table.id)
    app = trying(number)
    assert not app.exception
    assert not app.metric
    assert any("needs the table" in caption.value for caption in app.caption)
