"""Live training: one refit at once, compared with the one before."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore import PRESETS
from gamcore.data.table import TableError
from gamcore.viz import plotly_figures as figures
from gamcore.viz import plots
from shapewise.training import live, runs
from shapewise.training.dataset import read_data
from shapewise.training.spec import Spec
from shapewise.training.train import train
from shapewise.ui.train import live as page_live
from tests.support.pages import button, chart, open_page

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
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    other = threading.Thread(target=tick)
    other.start()
    live.draft(read, slow)
    done.set()
    other.join()
    assert len(ticks) > 5
    assert np.quantile(np.diff(ticks), 0.9) < 0.05


@pytest.mark.parametrize("feature", ["a", "b"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_curve_before_is_drawn_faint(feature, mode):
    frame, spec = data()
    now, past = (
        live.draft(read_data(frame, s), s).estimator.explain_shape(feature)
        for s in (spec, replace(spec, changes={"learning_rate": 0.02, "max_rounds": 3}))
    )
    drawn = figures.draw(plots.curve(now, "y", "", before=past), mode)
    (faint,) = [trace for trace in drawn.data if trace.name == "before"]
    if feature == "a":
        np.testing.assert_allclose(np.unique(faint.y), np.unique(past.scores))
    else:
        assert sorted(faint.y) == sorted(past.scores)
    assert "before" not in {trace.name for trace in figures.draw(plots.curve(now, "y", ""), mode).data}


def pills(app):
    return next(control for control in app.get("button_group") if control.label == "Features in the model")


def test_a_switch_moves_the_curve_and_tells_the_metric(full):
    number = full[2]
    app = open_page("shapes", model=number.id)
    (held_out,) = app.metric
    assert held_out.label == "Held-out RMSE"
    assert not held_out.delta
    assert "before" not in [trace.get("name") for trace in chart(app)["data"]]
    names = app.selectbox(key="feature").options
    pills(app).set_value([name for name in pills(app).value if name != names[1]]).run()
    assert not app.exception
    assert "before" in [trace.get("name") for trace in chart(app)["data"]]
    assert app.metric[0].delta
    assert "Train the full model" in [b.label for b in app.button]
    app.selectbox(key="feature").set_value(names[1]).run()  # one that is off
    assert any("is turned off" in caption.value for caption in app.caption)
    pills(app).set_value([]).run()
    assert [error.value for error in app.error] == ["Turn on at least one feature."]


def test_leaves_and_smoothing_move_the_curve(full):
    app = open_page("shapes", model=full[2].id)
    before = chart(app)["data"]
    next(slider for slider in app.slider if slider.label == "Smoothing rounds").set_value(200).run()
    assert not app.exception
    assert chart(app)["data"] != before
    app = open_page("shapes", model=full[2].id)
    two = app.metric[0].value
    next(slider for slider in app.slider if slider.label == "Leaves per tree").set_value(6).run()
    assert not app.exception
    assert app.metric[0].value != two


def settle_on(app, label, value):
    control = next(control for control in [*app.slider, *app.select_slider] if control.label == label)
    return control.set_value(value).run()


def test_a_refit_stopped_for_time_is_not_remembered_and_not_compared(full, monkeypatch):
    app = open_page("shapes", model=full[2].id)
    monkeypatch.setattr(live, "MOST_SECONDS", 0.0)
    settle_on(app, "Leaves per tree", 5)
    assert any("stopped early" in caption.value for caption in app.caption)
    assert not app.metric[0].delta
    monkeypatch.setattr(live, "MOST_SECONDS", 60.0)
    settle_on(app, "Leaves per tree", 4)
    assert not app.metric[0].delta  # nothing whole to compare with
    settle_on(app, "Leaves per tree", 5)
    assert not any("stopped early" in caption.value for caption in app.caption)
    assert app.metric[0].delta


def test_settings_that_make_a_refit_long_turn_live_off(full, monkeypatch):
    spec = replace(Spec.from_dict(full[2].spec), changes={})
    whole = train(full[0], spec)
    n_features = len(spec.features)
    monkeypatch.setattr(page_live, "LIVE_SECONDS", 2 * live.seconds_of(whole.rows["training"], n_features, spec))
    app = open_page("shapes", model=whole.id)
    (toggle,) = app.toggle
    assert toggle.value
    settle_on(app, "Learning rate", 0.01)
    (toggle,) = app.toggle
    assert toggle.disabled
    assert not toggle.value
    assert "Train the full model" in [b.label for b in app.button]


def test_settings_that_cannot_be_fitted_do_not_stand_in_the_way_of_the_next(full, monkeypatch):
    app = open_page("shapes", model=full[2].id)
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
    app = open_page("shapes", model=full[2].id)
    assert next(s for s in app.select_slider if s.label == "Learning rate").value == 0.4
    assert "Train the full model" not in [b.label for b in app.button]


def test_a_model_outside_the_usual_range_starts_as_it_is(full):
    store, _, number, _ = full
    changes = {"max_leaves": 12, "subsample": 0.1, "smoothing_rounds": 25, "max_rounds": 10}
    spec = replace(Spec.from_dict(number.spec), name="wide", changes=changes)
    wide = train(store, spec)
    app = open_page("shapes", model=wide.id)
    assert "Train the full model" not in [b.label for b in app.button]  # nothing is changed yet
    assert "before" not in [trace.get("name") for trace in chart(app)["data"]]


def test_above_the_limit_live_is_off_and_explained(full, monkeypatch):
    monkeypatch.setattr("shapewise.ui.train.live.LIVE_SECONDS", 0.0)
    monkeypatch.setattr(live, "draft", lambda *_: pytest.fail("nothing may be refitted"))
    for page in ("shapes", "train"):
        app = open_page(page, model=full[2].id, table=full[1].id)
        (toggle,) = [t for t in app.toggle if t.label == "Live"]
        assert toggle.disabled
        assert not toggle.value
        assert any("Off: one refit takes about" in caption.value for caption in app.caption)
    app = open_page("shapes", model=full[2].id)
    pills(app).set_value(pills(app).value[:-1]).run()
    started = []
    monkeypatch.setattr(runs, "start", lambda store, spec, jobs: started.append(spec) or "0" * 16)
    button(app, "Train the full model").click().run()
    assert len(started[0].features) == len(full[2].spec["features"]) - 1


def test_train_shows_the_shape_of_its_form(full):
    app = open_page("train", table=full[1].id)
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
    app = open_page("shapes", model=number.id)
    assert not app.exception
    assert not app.metric
    assert any("needs the table" in caption.value for caption in app.caption)
